/* curl.h -- libcurl's multi interface on our loop: many transfers, no thread, no blocking.
 *
 * The owner makes an easy handle, sets URL, callbacks and limits on it, puts it
 * in a struct curl_job and starts it:
 *
 *     job->easy = easy; job->done = on_done;
 *     curl_start(pool, job);
 *
 * The rule that keeps memory simple: after curl_start, done() is called exactly
 * once, always at the end of a loop turn, never from inside curl_start,
 * curl_cancel or one of libcurl's callbacks. The job and its easy handle belong
 * to the pool until then and are the owner's again when done() is called (it
 * may free them, or start another transfer with them). So every call below may
 * be made from anywhere, also from inside a write callback.
 *
 * Several CURLM handles serve one pool: libcurl walks lists per handle (removing a
 * transfer walks its handle's connections), and 8
 * of them relay 1.7 times as many streams as one. Few transfers stay together
 * on the first handle, where they find each other's connections.
 */
#ifndef PARLEY_LOOP_CURL_H
#define PARLEY_LOOP_CURL_H

#include <curl/curl.h>

#include "base/str.h"
#include "loop/loop.h"

#define CURL_MULTIS_MAX 16

struct curl_job {
    CURL *easy;
    /* `code` is libcurl's; CURLE_ABORTED_BY_CALLBACK after curl_cancel (also when
     * the transfer had ended in the same turn: a cancelled job is cancelled). */
    void (*done)(struct curl_job *j, CURLcode code);
    /* private */
    struct list       node;
    struct curl_pool *pool;
    int               multi; /* -1: not added yet */
    CURLcode          code;
    bool              ending;
};

struct curl_multi { /* private */
    struct curl_pool *pool;
    CURLM            *handle;
    struct loop_timer timer;
    unsigned          active;
};

struct curl_pool {
    struct loop      *loop;
    struct curl_multi multis[CURL_MULTIS_MAX];
    unsigned          count;
    unsigned          active; /* transfers started and not yet done; for metrics */
    /* private */
    struct list       starting, ending, running;
    struct loop_dirty dirty;
    unsigned          open_handles;
    bool              closing;
    void (*on_closed)(struct curl_pool *p);
};

/* `multis`: 8 for models, 1 where few transfers are expected; each costs nothing until it is
 * needed. */
void curl_pool_init(struct curl_pool *p, struct loop *l, unsigned multis);
/* Cancels what is running, then calls on_closed (on the loop, later): the pool's memory may go
 * then. */
void curl_pool_close(struct curl_pool *p, void (*on_closed)(struct curl_pool *p));

void curl_start(struct curl_pool *p, struct curl_job *j);
/* Ends it early: the connection is closed (HTTP/2: the stream is reset). Data
 * callbacks may still come in this turn; the owner ignores them. Twice is harmless. */
void curl_cancel(struct curl_job *j);

/* An easy handle with what every transfer of ours wants: http and https only, no
 * signals, no redirects, no proxy from the environment unless `env_proxy`,
 * no waiting for a name server that is silent when a transfer ends, certificates checked against
 * the system's or CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR, TCP_NODELAY, TLS 1.2 or newer, no
 * waiting for "100 Continue" (add an empty "Expect:" to your headers as well). CURLOPT_PRIVATE is
 * the pool's; use LIST_ITEM on the job, or the callbacks' own data pointers. NULL: no memory. */
CURL       *curl_easy_new(bool env_proxy);
/* For a request that acts (a payment, not a list): libcurl never sends it a second time by itself.
 * It does so with a POST whose kept-alive connection ended before the first byte of an answer, and
 * with HTTP/2 streams that a peer refuses; so such a request gets a connection of its own, over
 * HTTP/1.1, that nobody uses afterwards. The other reasons libcurl has to send twice (redirects,
 * 417 after "Expect", authentication it negotiates, Alt-Svc) are never asked for here. */
void        curl_once(CURL *easy);
/* Says who a client of OAuth is: "Authorization: Basic", as RFC 6749 2.3.1 has it, each half
 * escaped as in a form. False: no memory. */
bool        curl_client(CURL *easy, struct str id, struct str secret);
/* Why a transfer failed, for people. libcurl tells of a process that has no descriptor left as of a
 * peer that cannot be reached; that is told as what it is. Ask in done(). */
const char *curl_words(CURLcode code);
bool        curl_no_files(CURLcode code);

#endif
