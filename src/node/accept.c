/* accept.c -- the end of a link that was dialled by another node. See link.h.
 *
 * A WebSocket like any other, whose texts are pulled from the feeds as the socket takes them.
 */
#include "base/id.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "node/node_int.h"
#include "run/feed.h"

struct accepted {
    struct list    node;
    struct source  source;
    struct ws_peer peer;
    struct links  *links;
    struct conn   *conn;
    struct feeds  *feeds; /* NULL: not proven yet */
    struct buf     text;  /* the message on its way */
    size_t         sent;  /* of it */
    char           nonce[LINK_NONCE_LEN + 1];
};

static void wake(void *ctx)
{
    source_wake(&((struct accepted *)ctx)->source);
}

static enum pull pull(struct source *s, struct buf *out, size_t room)
{
    struct accepted *k = LIST_ITEM(s, struct accepted, source);
    size_t           end = out->len + room;
    for (;;) {
        if (k->sent == k->text.len) {
            k->sent = 0;
            buf_shrink(&k->text, 64 * 1024);
            if (!k->feeds || !feeds_next(k->feeds, &k->text)) {
                buf_clear(&k->text);
                return PULL_WAIT;
            }
            if (k->text.err) return PULL_END; /* they come again */
        }
        size_t left = k->text.len - k->sent, space = end - out->len;
        if (space <= WS_FRAME_HEAD) return PULL_MORE;
        size_t n = left < space - WS_FRAME_HEAD ? left : space - WS_FRAME_HEAD;
        ws_frame_part(s, out, str_n(k->text.ptr + k->sent, n), k->sent == 0, n == left);
        k->sent += n;
    }
}

static void source_gone(struct source *s)
{
    struct accepted *k = LIST_ITEM(s, struct accepted, source);
    if (k->feeds) feeds_free(k->feeds);
    k->feeds = NULL;
}

static void gone(struct ws_peer *p)
{
    struct accepted *k = LIST_ITEM(p, struct accepted, peer);
    struct links    *l = k->links;
    list_remove(&k->node);
    l->accepted_count--;
    buf_done(&k->text);
    mem_free(k);
    links_check_closed(l);
}

static void turn_away(struct accepted *k, const char *why)
{
    log_line(LOG_SECURITY, "node.refused", "why", why, "peer", log_str(conn_peer(k->conn)), NULL);
    conn_ws_close(k->conn, 1008, why);
}

static void welcome(struct accepted *k, struct str dialler, struct str nonce)
{
    char         proof[LINK_PROOF_LEN + 1];
    struct buf   text;
    struct jsonw w;

    link_proof(&k->links->key, "accept", dialler, k->links->self, str_c(k->nonce), nonce, proof);
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    jw_obj(&w);
    jw_kstrz(&w, "m", "welcome");
    jw_kstrz(&w, "proof", proof);
    jw_end_obj(&w);
    conn_ws_send(k->conn, buf_view(&text));
    buf_done(&text);
}

static void on_hello(struct accepted *k, struct str text)
{
    char         want[LINK_PROOF_LEN + 1];
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    if (json_parse(&a, text, &v, NULL) != OK) v = NULL;
    struct str node = jv_str_at(v, "node"), nonce = jv_str_at(v, "nonce");
    link_proof(&k->links->key, "dial", node, k->links->self, str_c(k->nonce), nonce, want);
    if (!node.len || !nonce.len || !str_eq_secret(jv_str_at(v, "proof"), str_c(want)))
        turn_away(k, "the cluster key differs");
    else if (!(k->feeds = feeds_new(k->links->hub, wake, k)))
        conn_ws_close(k->conn, 1013, "out of memory");
    else {
        conn_stranger(k->conn, false);
        conn_ws_limit(k->conn, LINK_MESSAGE_MAX);
        welcome(k, node, nonce);
        log_line(LOG_INFO, "node.linked", "node", log_str(node), "by", "them", NULL);
    }
    arena_done(&a);
}

static void message(struct ws_peer *p, struct str text, bool binary)
{
    struct accepted *k = LIST_ITEM(p, struct accepted, peer);
    if (binary) conn_ws_close(k->conn, 1003, "texts only");
    else if (!k->feeds) on_hello(k, text);
    else if (!feeds_message(k->feeds, text)) conn_ws_close(k->conn, 1011, "not understood");
}

static void greet(struct accepted *k)
{
    struct buf   text;
    struct jsonw w;

    id_letters(k->nonce, LINK_NONCE_LEN);
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    jw_obj(&w);
    jw_kstrz(&w, "m", "hello");
    jw_kstr(&w, "node", k->links->self);
    jw_kstrz(&w, "nonce", k->nonce);
    jw_end_obj(&w);
    conn_ws_send(k->conn, buf_view(&text));
    buf_done(&text);
}

void links_accept(struct links *l, struct request *q)
{
    struct accepted *k = mem_alloc(sizeof *k);
    if (!k) {
        conn_error(q->conn, 503, "out_of_memory", "The server is out of memory; try again.");
        return;
    }
    k->links = l;
    k->conn = q->conn;
    k->source = (struct source){ .pull = pull, .gone = source_gone };
    k->peer = (struct ws_peer){ .message = message, .gone = gone };
    buf_init(&k->text, 0);
    conn_stranger(q->conn, true);
    if (!conn_upgrade(q->conn, STR_NONE, &k->source, &k->peer)) {
        mem_free(k);
        return;
    }
    list_add(&l->accepted, &k->node);
    l->accepted_count++;
    greet(k);
}
