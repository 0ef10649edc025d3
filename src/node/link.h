/* link.h -- connections between the nodes of one database: GET /node, upgraded to a WebSocket.
 *
 * A node dials each node whose threads it mirrors (run/mirror.h); the other end feeds them
 * (run/feed.h). Many threads share a link. Two nodes that mirror each other have two.
 *
 * Nobody is believed before both ends have shown that they know the cluster's key, which itself
 * never travels:
 *
 *   accepting  hello   {node: B, nonce: x}
 *   dialling   hello   {node: A, nonce: y, proof: HMAC(key, "dial" A B x y)}
 *   accepting  welcome {proof: HMAC(key, "accept" A B x y)}
 *
 * Then the texts of run/nodewords.h. What they say is believed: a node speaks for the people it has
 * authenticated. Links are not encrypted; they belong into a private network (docs/cluster.md).
 *
 * A dialled link is asked for a sign of life once a second and given up after LINK_SILENT_MS
 * without one: sooner than a lease ends, so that whoever waits is there when it does.
 */
#ifndef PARLEY_LINK_H
#define PARLEY_LINK_H

#include "base/secret.h"
#include "http/conn.h"
#include "run/hub.h"
#include "run/mirror.h"

#define LINK_PING_MS     1000
#define LINK_SILENT_MS   2500
#define LINK_DIAL_MS     2000
#define LINK_OUT_MAX     (64u << 20) /* unsent bytes of a peer that does not read */
#define LINK_MESSAGE_MAX (256u << 20)
#define CLUSTER_KEY_MIN  16

struct links {
    struct nodes      nodes; /* for the hub's setup */
    struct loop      *loop;
    struct hub       *hub;
    struct str        self; /* this node's id; borrowed */
    struct secret     key;
    struct list       dialled, accepted;
    unsigned          dialled_count, accepted_count;
    struct store_list roll; /* who is to be told good-bye */
    uint64_t          complained_ms;
    bool              closing;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* `key` is copied. `hub` and `self` are set by whoever makes them, before the first link.
 * ERR_NOMEM. */
MUST_CHECK enum err links_init(struct links *l, struct loop *loop, struct str key);
/* Hangs up everywhere; `closed` when the last one is gone, maybe from inside. */
void                links_close(struct links *l, void (*closed)(void *ctx), void *ctx);
void                links_done(struct links *l);
/* A node knocks. */
void                links_accept(struct links *l, struct request *q);
/* "http://HOST[:PORT]", without a path. False: *why says what is wrong with it. */
bool       link_url_parse(struct str url, struct str *host, unsigned *port, const char **why);
/* The one way to write it, because nodes are told apart by it: lower case, no slash at its end, no
 * port that goes without saying. ptr NULL: *why says what is wrong. */
struct str link_url_plain(struct arena *a, struct str url, const char **why);

/* --- proof.c ---------------------------------------------------------------------- */

#define LINK_NONCE_LEN 22
#define LINK_PROOF_LEN 64 /* hexadecimal */
/* `role` is "dial" or "accept". */
void link_proof(const struct secret *key, const char *role, struct str dialler, struct str acceptor,
                struct str nonce_a, struct str nonce_d, char out[LINK_PROOF_LEN + 1]);

#endif
