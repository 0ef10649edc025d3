/* tlsconn.c -- what stands between the socket and a connection when the server has a certificate.
 *
 * In: bytes of the socket become plain ones, a record at a time, and go the way of all bytes
 * (conn_take). Out: what out.c would write goes through tls_write into the server's one wire buffer
 * and from there to the socket, with one system call as without TLS. What the socket does not take
 * is kept: the records, and of a long answer its plain rest, which becomes records only when those
 * are gone. So a slow reader costs what it costs without TLS, and PIECE more.
 *
 * The order of records is the order in which they were made. Those that come to be while the socket
 * is full (answers to a peer that changes its keys) wait in c->late; who has us make many and reads
 * none of them is ended.
 *
 * The wire buffer is empty whenever anybody else runs: it is sent before conn_take, whose handlers
 * may write on other connections.
 */
#include <ctype.h>

#include "base/log.h"
#include "http/conn_int.h"

enum {
    PIECE = 64 * 1024, /* plain bytes that become records at once */
    WIRE = 2 * PIECE + 8 * 1024,
};

bool tlsconn_init(struct server *s, struct certs *certs)
{
    buf_init(&s->wire, 0);
    s->certs = certs;
    if (!certs) return true;
    s->plain = mem_alloc(TLS_RECORD_MAX);
    return s->plain && buf_room(&s->wire, WIRE);
}

void tlsconn_done(struct server *s)
{
    buf_done(&s->wire);
    mem_free(s->plain);
}

void tlsconn_end(struct conn *c)
{
    tls_free(c->tls);
    c->tls = NULL;
    buf_done(&c->late);
}

/* --- out ---------------------------------------------------------------------------------- */

/* False: they do not wait, and it is doomed. */
static bool wait_for_room(struct conn *c, struct str records)
{
    struct buf rest = { 0 };

    buf_str(&rest, records);
    if (out_wait(c, &rest, 0) == OK) return true;
    conn_doom(c);
    return false;
}

static void write_wire(struct conn *c, struct str records)
{
    uv_buf_t all = uv_buf_init((char *)(uintptr_t)records.ptr, (unsigned)records.len);
    int      n = out_try(c, &all, 1);

    if (n < 0) conn_doom(c);
    else if ((size_t)n < records.len) (void)wait_for_room(c, str_from(records, (size_t)n));
}

static void send_wire(struct conn *c)
{
    struct buf *wire = &c->server->wire;

    if (wire->err) conn_doom(c);
    else if (wire->len && c->blocked) buf_str(&c->late, buf_view(wire));
    else if (wire->len) write_wire(c, buf_view(wire));
    if (c->late.err) conn_doom(c);
    buf_clear(wire);
}

/* Plain bytes become records. */
static bool seal(struct conn *c, struct str bytes)
{
    if (tls_write(c->tls, bytes) && !c->server->wire.err) return true;
    buf_clear(&c->server->wire);
    conn_doom(c);
    return false;
}

/* As much as the socket takes; true: all of it. */
static bool send_part(struct conn *c, struct str *part)
{
    while (part->len && !c->blocked && !c->doomed) {
        struct str piece = str_cut(*part, PIECE);
        if (!seal(c, piece)) return false;
        *part = str_from(*part, piece.len);
        if (c->server->wire.len >= PIECE) send_wire(c);
    }
    return !part->len;
}

/* The records wait already; the plain bytes behind them wait with them. */
static void keep_plain(struct conn *c, struct str first, const struct buf *more, struct str second)
{
    struct blocked *b = c->blocked;

    if (first.len) { /* as in out.c: a large answer is not copied again */
        b->at = c->out.len - first.len;
        buf_str(&c->out, buf_view(more));
        b->plain = c->out;
        buf_init(&c->out, 0);
    } else {
        b->at = 0;
        buf_init(&b->plain, 0);
        buf_str(&b->plain, second);
        buf_done(&c->out);
    }
    if (b->plain.err) conn_doom(c);
}

void tlsconn_write(struct conn *c, const struct buf *more)
{
    struct str first = buf_view(&c->out), second = buf_view(more);

    if (!c->tls || !c->shaken) { /* there is no way to say it */
        conn_doom(c);
        return;
    }
    bool all = send_part(c, &first) && send_part(c, &second);
    send_wire(c);
    if (c->doomed) return;
    if (!all) {
        keep_plain(c, first, more, second);
        return;
    }
    buf_done(&c->out);
    if (!c->blocked) out_unhold(c);
}

bool tlsconn_goes_on(struct conn *c)
{
    struct blocked *b = c->blocked;
    struct buf     *wire = &c->server->wire;

    if (!c->tls) return false;
    buf_str(wire, buf_view(&c->late));
    buf_done(&c->late);
    struct str piece = str_cut(str_from(buf_view(&b->plain), b->at), PIECE);
    if (!seal(c, piece)) return false;
    b->at += piece.len;
    if (b->at == b->plain.len) {
        buf_done(&b->plain);
        b->at = 0;
    }
    if (!wire->len) return false;
    bool waits = wait_for_room(c, buf_view(wire));
    buf_clear(wire);
    return waits;
}

void tlsconn_bye(struct conn *c)
{
    if (!c->tls) return;
    if (!c->blocked) {
        tls_bye(c->tls);
        send_wire(c);
    }
    tlsconn_end(c);
}

/* --- in ----------------------------------------------------------------------------------- */

/* The first byte of all: who speaks HTTP is told what to do, in the only way that they
 * understand. */
static bool begin(struct conn *c, unsigned char byte)
{
    if (byte == TLS_HELLO) {
        c->tls = tls_new(certs_pair(c->server->certs), &c->server->wire);
        if (!c->tls) conn_doom(c);
        return c->tls;
    }
    if (!isalpha(byte)) {
        conn_kill(c);
        return false;
    }
    c->secure = false;
    reply_words(c, 400, "This address speaks HTTPS: write https:// in front of it.\n");
    return false;
}

static void fail(struct conn *c)
{
    log_line(LOG_DEBUG, "tls.failed", "peer", log_str(conn_peer(c)), "why", tls_why(c->tls), NULL);
    tlsconn_end(c);
    if (c->blocked) conn_kill(c);
    else conn_linger(c); /* so that it reads the alert */
}

static void note_shaken(struct conn *c)
{
    if (c->shaken || !tls_ready(c->tls)) return;
    c->shaken = true;
    c->since_ms = conn_now(c); /* its time for a request begins */
    if (tls_h2(c->tls)) h2_begin(c);
}

/* False: there is nothing more to take now. */
static bool take_record(struct conn *c, struct str *in)
{
    size_t         n = 0;
    enum tls_event e = tls_feed(c->tls, in, c->server->plain, TLS_RECORD_MAX, &n);

    send_wire(c);
    note_shaken(c);
    switch (e) {
    case TLS_DATA: conn_take(c, c->server->plain, n); return true;
    case TLS_MORE: return false;
    case TLS_END: conn_ended(c); return false;
    case TLS_FAIL: fail(c); return false;
    }
    return false;
}

void tlsconn_read(struct conn *c, char *at, size_t len)
{
    struct str in = str_n(at, len);

    if (!c->tls && !begin(c, (unsigned char)at[0])) return;
    while (c->tls && !c->doomed && take_record(c, &in))
        ;
}
