/* web.c -- serves the embedded page: pre-compressed, cached by content hash, under a
 * policy that lets nothing in from elsewhere. The page's own addresses stand in routes.c; anything
 * that is neither they nor a file is 404. */
#include "door/web.h"

#include "door/app.h"

static const char POLICY[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src "
                             "'self' data: blob:; connect-src 'self'; "
                             "font-src 'self'; frame-src 'self' blob:; media-src 'self' blob:; "
                             "manifest-src 'self'; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors 'none'";

/* Artifacts are pages that a model wrote. Their frame may run its own inline script and
 * nothing else: no origin, nothing loaded, nothing sent. */
static const char FRAME_POLICY[] =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; img-src data: blob:; "
    "font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'self'";

static const char NO_PAGE[] = "<!doctype html><meta charset=utf-8><title>parley</title><p>parley "
                              "is running. This build has no page inside; "
                              "<code>make build</code> makes one. The doors are open: <code>curl "
                              "-N localhost:8000/v1/chat/stream -d "
                              "'{\"message\":\"hello\"}'</code>";

static const struct web_file *find(struct str path)
{
    for (const struct web_file *f = web_files; f->path; f++)
        if (str_is(path, f->path)) return f;
    return NULL;
}

/* Does the browser have it already? Proxies that compress make a tag weak. */
static bool has_it(const struct request *q, const char *etag)
{
    struct str rest = request_header(q, "if-none-match"), item;
    while (str_split(&rest, ',', &item)) {
        item = str_trim(item);
        if (str_starts(item, STR("W/"))) item = str_from(item, 2);
        if (str_is(item, etag) || str_is(item, "*")) return true;
    }
    return false;
}

static void send_packed(struct request *q, const struct web_file *f, struct str encoding,
                        const char *from, const char *end)
{
    conn_header(q->conn, "Content-Encoding", encoding);
    conn_reply_static(q->conn, 200, f->type, str_n(from, (size_t)(end - from)));
}

static void send_file(struct request *q, const struct web_file *f)
{
    bool hashed = str_starts(str_c(f->path), STR("/assets/"));
    bool framed = strcmp(f->path, "/frame.html") == 0;
    conn_header(q->conn, "Content-Security-Policy", str_c(framed ? FRAME_POLICY : POLICY));
    conn_header(q->conn, "Cache-Control",
                hashed ? STR("public, max-age=31536000, immutable") : STR("no-cache"));
    conn_header(q->conn, "ETag", str_c(f->etag));
    conn_header(q->conn, "Vary", STR("Accept-Encoding"));
    if (has_it(q, f->etag)) {
        conn_reply(q->conn, 304, NULL, STR(""));
        return;
    }
    if (f->br && request_takes(q, STR("br"))) send_packed(q, f, STR("br"), f->br, f->br_end);
    else if (request_takes(q, STR("gzip"))) send_packed(q, f, STR("gzip"), f->gz, f->gz_end);
    else conn_reply_static(q->conn, 200, f->type, str_n(f->raw, (size_t)(f->raw_end - f->raw)));
}

void web_page(struct server *s, struct request *q)
{
    const struct web_file *f = find(STR("/index.html"));
    (void)s;
    if (f) send_file(q, f);
    else conn_reply_static(q->conn, 200, "text/html; charset=utf-8", str_c(NO_PAGE));
}

/* Programs ask under these, and read JSON. */
static bool is_for_programs(struct str path)
{
    static const char *const doors[] = { "/v1", "/api", "/functions" };
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        struct str rest = str_from(path, strlen(doors[i]));
        if (str_starts(path, str_c(doors[i])) && (!rest.len || rest.ptr[0] == '/')) return true;
    }
    return false;
}

void web_nothing(struct server *s, struct request *q)
{
    (void)s;
    if (is_for_programs(q->path))
        conn_error(q->conn, 404, "not_found", "There is nothing at this address.");
    else
        conn_reply(q->conn, 404, "text/plain; charset=utf-8",
                   STR("There is nothing at this address.\n"));
}

void web_file(struct server *s, struct request *q)
{
    const struct web_file *f = find(q->path);
    if (f) send_file(q, f);
    else web_nothing(s, q);
}
