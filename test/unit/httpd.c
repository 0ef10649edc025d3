/* httpd.c -- a very small HTTP server for tests. */
#include "httpd.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "base/arena.h"

struct httpd_conn {
    uv_tcp_t      tcp;
    struct httpd *server;
    struct buf    in;
    bool          asked, closing;
    void         *mark;
};

static void freed(uv_handle_t *h)
{
    struct httpd_conn *c = h->data;
    buf_done(&c->in);
    mem_free(c);
}

static void conn_close(struct httpd_conn *c)
{
    if (c->closing) return;
    c->closing = true;
    uv_close((uv_handle_t *)&c->tcp, freed);
}

struct str httpd_header(struct str head, const char *name)
{
    struct str line, rest = head;
    size_t     n = strlen(name);
    while (str_split(&rest, '\n', &line))
        if (line.len > n && line.ptr[n] == ':' && str_eq_nocase(str_cut(line, n), str_c(name)))
            return str_trim(str_from(line, n + 1));
    return STR_NONE;
}

static void look(struct httpd_conn *c)
{
    struct str all = buf_view(&c->in), head, body;
    ptrdiff_t  end = str_find(all, STR("\r\n\r\n"));
    uint64_t   want = 0;

    if (end < 0 || c->asked) return;
    head = str_cut(all, (size_t)end);
    body = str_from(all, (size_t)end + 4);
    (void)str_to_u64(httpd_header(head, "content-length"), &want);
    if (body.len < want) return;
    c->asked = true;
    c->server->requests++;
    buf_clear(&c->server->last);
    buf_str(&c->server->last, all);
    c->server->on_request(c->server, c, head, body);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *b)
{
    static char room[65536];
    *b = uv_buf_init(room, sizeof room);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct httpd_conn *c = s->data;
    if (n < 0) conn_close(c);
    else {
        buf_add(&c->in, b->base, (size_t)n);
        look(c);
    }
}

static void on_connection(uv_stream_t *s, int status)
{
    struct httpd_conn *c = mem_alloc(sizeof *c);
    c->server = s->data;
    buf_init(&c->in, 0);
    uv_tcp_init(s->loop, &c->tcp);
    c->tcp.data = c;
    if (uv_accept(s, (uv_stream_t *)&c->tcp)) conn_close(c);
    else uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

void httpd_open(struct httpd *h, struct loop *l,
                void (*on_request)(struct httpd *, struct httpd_conn *, struct str, struct str))
{
    struct sockaddr_in a;
    int                n = sizeof a;

    *h = (struct httpd){ .loop = l, .on_request = on_request };
    buf_init(&h->last, 0);
    uv_ip4_addr("127.0.0.1", 0, &a);
    uv_tcp_init(&l->uv, &h->listener);
    h->listener.data = h;
    must(uv_tcp_bind(&h->listener, (void *)&a, 0) == 0);
    must(uv_listen((uv_stream_t *)&h->listener, 64, on_connection) == 0);
    must(uv_tcp_getsockname(&h->listener, (void *)&a, &n) == 0);
    h->port = ntohs(a.sin_port);
}

static void listener_closed(uv_handle_t *h)
{
    ((struct httpd *)h->data)->closed = true;
}

void httpd_close(struct httpd *h)
{
    uv_close((uv_handle_t *)&h->listener, listener_closed);
    while (!h->closed) uv_run(&h->loop->uv, UV_RUN_NOWAIT);
    for (int i = 0; i < 20; i++) uv_run(&h->loop->uv, UV_RUN_NOWAIT);
    buf_done(&h->last);
}

struct out {
    uv_write_t req;
    bool       end;
    char       data[];
};

static void written(uv_write_t *r, int status)
{
    struct out        *o = LIST_ITEM(r, struct out, req);
    struct httpd_conn *c = r->handle->data;
    bool               end = o->end;
    mem_free(o);
    if (end) conn_close(c);
}

void httpd_say(struct httpd_conn *c, const char *bytes, bool end)
{
    size_t      n = strlen(bytes);
    struct out *o = mem_alloc(sizeof *o + n + 1);
    uv_buf_t    b = uv_buf_init(o->data, (unsigned)n);
    memcpy(o->data, bytes, n);
    o->end = end;
    if (uv_write(&o->req, (uv_stream_t *)&c->tcp, &b, 1, written)) mem_free(o);
}

void httpd_json(struct httpd_conn *c, int status, const char *more_headers, const char *body)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b,
               "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: "
               "%zu\r\nConnection: close\r\n%s\r\n%s",
               status, strlen(body), more_headers, body);
    buf_chr(&b, 0);
    httpd_say(c, b.ptr, true);
    buf_done(&b);
}

void httpd_kept(struct httpd_conn *c, const char *body)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b,
               "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
               strlen(body), body);
    buf_chr(&b, 0);
    buf_clear(&c->in);
    c->asked = false;
    httpd_say(c, b.ptr, false);
    buf_done(&b);
}

void *httpd_mark(struct httpd_conn *c, void *mark)
{
    void *before = c->mark;
    c->mark = mark;
    return before;
}
