/* certs.c -- see certs.h. */
#include "http/certs.h"

#include <string.h>
#include <sys/stat.h>

#include "base/log.h"

struct certs {
    struct tls_pair  *pair;
    uint8_t           print[SHA256_LEN];
    uint8_t           refused[SHA256_LEN]; /* what was complained about last */
    const char       *cert, *key;          /* behind the struct */
    uv_fs_poll_t      polls[2];
    struct loop_timer pause;
    uint64_t          stamps[2]; /* of the files when they were read first */
    bool              looked;    /* at them since */
    unsigned          open;      /* handles */
    void (*done)(void *ctx);
    void *ctx;
};

static void day(int64_t s, char out[11])
{
    time_t    t = (time_t)s;
    struct tm tm;

    if (!gmtime_r(&t, &tm) || !strftime(out, 11, "%Y-%m-%d", &tm)) memcpy(out, "?", 2);
}

/* The same complaint every time somebody touches the files would bury the others. */
static void complain(struct certs *c, const char *why)
{
    uint8_t print[SHA256_LEN];

    sha256_of(str_c(why), print);
    if (memcmp(print, c->refused, sizeof print) == 0) return;
    memcpy(c->refused, print, sizeof print);
    log_line(LOG_ERROR, "tls.refused", "why", why, "note", "the certificate before it stays", NULL);
}

void certs_read(struct certs *c)
{
    struct tls_facts facts;
    struct tls_pair *pair;
    char             until[11];

    if (tls_pair_read(c->cert, c->key, &facts, &pair)) {
        complain(c, facts.why);
        return;
    }
    memset(c->refused, 0, sizeof c->refused);
    tls_pair_free(c->pair);
    c->pair = pair;
    if (memcmp(c->print, facts.print, sizeof c->print) == 0) return;
    memcpy(c->print, facts.print, sizeof c->print);
    day(facts.ends_s, until);
    log_line(LOG_INFO, "tls.renewed", "cert", c->cert, "until", until, NULL);
}

static uint64_t stamp_of(const char *path)
{
    struct stat st;

    if (stat(path, &st)) return 0;
    return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec + st.st_ino;
}

/* The polls tell what differs from their own first look, a moment after the pair was read: what
 * changed in between is found by the stamps, once. */
static void on_pause(struct loop_timer *t)
{
    struct certs *c = LIST_ITEM(t, struct certs, pause);
    bool          first = !c->looked;

    c->looked = true;
    if (first && stamp_of(c->cert) == c->stamps[0] && stamp_of(c->key) == c->stamps[1]) return;
    certs_read(c);
}

/* `status` < 0: it is not there now; the reading says so. */
static void on_change(uv_fs_poll_t *h, int status, const uv_stat_t *before, const uv_stat_t *now)
{
    struct certs *c = h->data;

    (void)status;
    (void)before;
    (void)now;
    loop_timer_set(&c->pause, CERTS_PAUSE_MS);
}

static struct certs *make(struct loop *l, struct str cert, struct str key)
{
    struct certs *c = mem_alloc(sizeof *c + cert.len + key.len + 2);

    if (!c) return NULL;
    char *at = memcpy((char *)(c + 1), cert.ptr, cert.len);
    c->cert = at;
    c->key = memcpy(at + cert.len + 1, key.ptr, key.len);
    for (size_t i = 0; i < 2; i++) {
        must(uv_fs_poll_init(&l->uv, &c->polls[i]) == 0);
        c->polls[i].data = c;
    }
    loop_timer_init(l, &c->pause, on_pause);
    c->open = 3;
    return c;
}

enum err certs_new(struct loop *l, const char *cert, const char *key, struct tls_facts *facts,
                   struct certs **out)
{
    struct tls_pair *pair;
    uint64_t         stamps[2] = { stamp_of(cert), stamp_of(key) };
    enum err         e = tls_pair_read(cert, key, facts, &pair);

    if (e) return e;
    struct certs *c = make(l, str_c(cert), str_c(key));
    if (!c) {
        tls_pair_free(pair);
        return ERR_NOMEM;
    }
    c->pair = pair;
    memcpy(c->print, facts->print, sizeof c->print);
    memcpy(c->stamps, stamps, sizeof stamps);
    loop_timer_set(&c->pause, CERTS_LOOK_MS);
    *out = c;
    if (uv_fs_poll_start(&c->polls[0], on_change, c->cert, CERTS_LOOK_MS) ||
        uv_fs_poll_start(&c->polls[1], on_change, c->key, CERTS_LOOK_MS))
        log_line(LOG_WARN, "tls.unwatched", "note", "SIGHUP reads the certificate anew", NULL);
    return OK;
}

struct tls_pair *certs_pair(const struct certs *c)
{
    return c->pair;
}

static void closed_one(struct certs *c)
{
    if (--c->open) return;
    void (*done)(void *) = c->done;
    void *ctx = c->ctx;
    tls_pair_free(c->pair);
    mem_free(c);
    done(ctx);
}

static void on_poll_closed(uv_handle_t *h)
{
    closed_one(h->data);
}
static void on_pause_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct certs, pause));
}

void certs_free(struct certs *c, void (*done)(void *ctx), void *ctx)
{
    if (!c) {
        done(ctx);
        return;
    }
    c->done = done;
    c->ctx = ctx;
    uv_close((uv_handle_t *)&c->polls[0], on_poll_closed);
    uv_close((uv_handle_t *)&c->polls[1], on_poll_closed);
    loop_timer_close(&c->pause, on_pause_closed);
}
