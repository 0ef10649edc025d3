/* web.c -- serves the embedded page: pre-compressed, cached by content hash, under a
 * policy that lets nothing in from elsewhere. The page's own addresses stand in routes.c; anything
 * that is neither they nor a file is 404.
 *
 * index.html is dressed once, at the start: the product's name becomes its title, and what the
 * page must know of its look stands in it as JSON (a data block, which no policy has to allow), so
 * that the first thing painted is already right. */
#include "door/web.h"

#include "base/gzip.h"
#include "door/app.h"

static const char POLICY[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src "
                             "'self' data: blob:; connect-src 'self'; "
                             "font-src 'self'; frame-src 'self' blob:; media-src 'self' blob:; "
                             "manifest-src 'self'; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors";

/* Artifacts are pages that a model wrote. Their frame may run its own inline script and
 * nothing else: no origin, nothing loaded, nothing sent. */
static const char FRAME_POLICY[] =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; img-src data: blob:; "
    "font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'self'";

/* `policy` ends with those who may frame the file; the sites that embed us are added. Without
 * memory nobody may. */
static void send_policy(struct request *q, const char *policy, const char *otherwise)
{
    const struct strs *embed = &app_of(conn_server(q->conn))->embed;
    struct buf         b;

    buf_init(&b, 0);
    buf_str(&b, str_c(policy));
    if (!embed->count) buf_str(&b, str_c(otherwise));
    for (size_t i = 0; i < embed->count; i++) {
        buf_chr(&b, ' ');
        buf_str(&b, embed->list[i]);
    }
    conn_header(q->conn, "Content-Security-Policy",
                b.err ? STR("default-src 'none'; frame-ancestors 'none'") : buf_view(&b));
    buf_done(&b);
}

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

/* Nobody but a program by hand takes neither: not worth a plain copy of each large file. */
static void send_unpacked(struct request *q, const struct web_file *f)
{
    struct buf plain;
    buf_init(&plain, 0);
    if (gzip_unpack(&plain, str_n(f->gz, (size_t)(f->gz_end - f->gz))))
        conn_reply(q->conn, 200, f->type, buf_view(&plain));
    else
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
    buf_done(&plain);
}

static void send_file(struct request *q, const struct web_file *f)
{
    bool hashed = str_starts(str_c(f->path), STR("/assets/"));
    bool framed = strcmp(f->path, "/frame.html") == 0;
    if (framed) send_policy(q, FRAME_POLICY, "");
    else send_policy(q, POLICY, " 'none'");
    conn_header(q->conn, "Cache-Control",
                hashed ? STR("public, max-age=31536000, immutable") : STR("no-cache"));
    conn_header(q->conn, "ETag", str_c(f->etag));
    conn_header(q->conn, "Vary", STR("Accept-Encoding, Origin"));
    if (has_it(q, f->etag)) {
        conn_reply(q->conn, 304, NULL, STR(""));
        return;
    }
    if (f->br && request_takes(q, STR("br"))) send_packed(q, f, STR("br"), f->br, f->br_end);
    else if (f->gz && request_takes(q, STR("gzip")))
        send_packed(q, f, STR("gzip"), f->gz, f->gz_end);
    else if (f->raw)
        conn_reply_static(q->conn, 200, f->type, str_n(f->raw, (size_t)(f->raw_end - f->raw)));
    else send_unpacked(q, f);
}

/* --- the look ------------------------------------------------------------------------------- */

/* A logo can be an SVG file, and somebody may open it as a page: there it runs nothing. */
static const char LOGO_POLICY[] = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

static const char TITLE[] = "<title>parley</title>";
static const char DATA[] = "<script type=\"application/json\" id=\"page\">{}</script>";

static void add_html(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '<') buf_lit(b, "&lt;");
        else if (s.ptr[i] == '&') buf_lit(b, "&amp;");
        else buf_chr(b, s.ptr[i]);
    }
}

/* In JSON '<' stands in strings only; written so it ends no script. */
static void add_data(struct buf *b, struct str json)
{
    buf_lit(b, "<script type=\"application/json\" id=\"page\">");
    for (size_t i = 0; i < json.len; i++) {
        if (json.ptr[i] == '<') buf_lit(b, "\\u003c");
        else buf_chr(b, json.ptr[i]);
    }
    buf_lit(b, "</script>");
}

/* Of the content alone (FNV-1a): another process, another node, has the same tag for the same page,
 * which a hash that is keyed per process would not give. */
static uint64_t content_hash(struct str s)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < s.len; i++) h = (h ^ (unsigned char)s.ptr[i]) * UINT64_C(1099511628211);
    return h;
}

static void dress_page(struct page_look *l, struct str html)
{
    struct buf *b = &l->page;

    while (html.len) {
        ptrdiff_t at = str_find(html, STR("<"));
        if (at < 0) break;
        buf_str(b, str_cut(html, (size_t)at));
        html = str_from(html, (size_t)at);
        if (str_starts(html, str_c(TITLE))) {
            buf_lit(b, "<title>");
            add_html(b, l->name);
            buf_lit(b, "</title>");
            html = str_from(html, sizeof TITLE - 1);
        } else if (str_starts(html, str_c(DATA))) {
            add_data(b, l->json);
            html = str_from(html, sizeof DATA - 1);
        } else {
            buf_chr(b, '<');
            html = str_from(html, 1);
        }
    }
    buf_str(b, html);
}

static void write_manifest(struct page_look *l)
{
    struct jsonw w;

    jsonw_init(&w, &l->manifest);
    jw_obj(&w);
    jw_kstr(&w, "name", l->name);
    jw_kstr(&w, "short_name", l->name);
    jw_kstrz(&w, "id", "/");
    jw_kstrz(&w, "start_url", "/");
    jw_kstrz(&w, "display", "standalone");
    jw_kstrz(&w, "background_color", "#fbfbfa");
    jw_kstrz(&w, "theme_color", l->colour);
    jw_key(&w, "icons");
    jw_arr(&w);
    jw_obj(&w);
    jw_kstrz(&w, "src", "/logo");
    jw_kstrz(&w, "sizes", "any");
    jw_kstrz(&w, "type", l->logo_type ? l->logo_type : "image/svg+xml");
    jw_end_obj(&w);
    jw_end_arr(&w);
    jw_end_obj(&w);
}

enum err web_dress(struct page_look *l)
{
    const struct web_file *f = find(STR("/index.html"));

    buf_init(&l->page, 0);
    buf_init(&l->packed, 0);
    buf_init(&l->manifest, 0);
    dress_page(l, f ? str_n(f->raw, (size_t)(f->raw_end - f->raw)) : str_c(NO_PAGE));
    write_manifest(l);
    if (l->page.err || l->manifest.err) return ERR_NOMEM;
    (void)gzip_pack(&l->packed, buf_view(&l->page)); /* it also goes as it is */
    snprintf(l->etag, sizeof l->etag, "\"%016llx\"",
             (unsigned long long)content_hash(buf_view(&l->page)));
    return OK;
}

void web_undress(struct page_look *l)
{
    buf_done(&l->page);
    buf_done(&l->packed);
    buf_done(&l->manifest);
}

void web_page(struct server *s, struct request *q)
{
    const struct page_look *l = &app_of(s)->look;
    bool                    packed = l->packed.len && request_takes(q, STR("gzip"));

    send_policy(q, POLICY, " 'none'");
    conn_header(q->conn, "Cache-Control", STR("no-cache"));
    conn_header(q->conn, "ETag", str_c(l->etag));
    conn_header(q->conn, "Vary", STR("Accept-Encoding"));
    if (has_it(q, l->etag)) {
        conn_reply(q->conn, 304, NULL, STR(""));
        return;
    }
    if (packed) conn_header(q->conn, "Content-Encoding", STR("gzip"));
    conn_reply_static(q->conn, 200, "text/html; charset=utf-8",
                      buf_view(packed ? &l->packed : &l->page));
}

void web_logo(struct server *s, struct request *q)
{
    const struct page_look *l = &app_of(s)->look;
    const struct web_file  *f = find(STR("/logo.svg"));

    if (!l->logo_type && f) {
        send_file(q, f);
        return;
    }
    if (!l->logo_type) {
        web_nothing(s, q);
        return;
    }
    conn_header(q->conn, "Content-Security-Policy", str_c(LOGO_POLICY));
    conn_header(q->conn, "Cache-Control", STR("max-age=3600"));
    conn_reply_static(q->conn, 200, l->logo_type, l->logo);
}

/* Those that whoever asks may use. */
static void write_pages(struct app *a, const struct caller *who, struct jsonw *w)
{
    const struct hub_setup *h = hub_setup(a->hub);

    jw_key(w, "pages");
    jw_arr(w);
    for (size_t i = 0; i < h->page_count; i++)
        if (caller_has(who, h->pages[i].roles, h->pages[i].role_count)) jw_str(w, h->pages[i].name);
    jw_end_arr(w);
}

/* This door is open to strangers, too: they are told of the pages for everybody. */
void web_told(struct server *s, struct request *q)
{
    struct app   *a = app_of(s);
    struct caller who = { 0 };
    const char   *why;
    enum identity is = identify(a, q, &why);
    struct buf    b;
    struct jsonw  w;

    if (is == IDENTITY_ASKED) return;
    if (is == IDENTITY_KNOWN) who = caller_of_request(q);
    conn_header(q->conn, "Cache-Control", STR("no-cache"));
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    buf_str(&b, str_cut(a->look.json, a->look.json.len - 1)); /* all but its last brace */
    w.need_comma = true;
    write_pages(a, &who, &w);
    jw_end_obj(&w);
    json_reply(q->conn, 200, &b);
}

void web_manifest(struct server *s, struct request *q)
{
    conn_header(q->conn, "Cache-Control", STR("no-cache"));
    conn_reply(q->conn, 200, "application/manifest+json", buf_view(&app_of(s)->look.manifest));
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
    if (str_starts(q->path, STR("/v1/"))) openai_nothing(s, q);
    else if (is_for_programs(q->path))
        conn_error(q->conn, 404, "not_found", "There is nothing at this address.");
    else
        conn_reply(q->conn, 404, "text/plain; charset=utf-8",
                   STR("There is nothing at this address.\n"));
}

void web_file(struct server *s, struct request *q)
{
    const struct web_file *f = find(q->path);
    if (str_is(q->path, "/index.html")) web_page(s, q);
    else if (f) send_file(q, f);
    else web_nothing(s, q);
}
