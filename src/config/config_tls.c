/* config_tls.c -- "tls": the certificate. It is looked at here, so that every command says the same
 * of it; the server reads it once more when it starts, and whenever it changes (http/certs.h). */
#include <time.h>

#include "base/clock.h"
#include "config/config_private.h"
#include "http/tls.h"

static void say_day(int64_t s, char out[11])
{
    time_t    t = (time_t)s;
    struct tm tm;

    if (!gmtime_r(&t, &tm) || !strftime(out, 11, "%Y-%m-%d", &tm)) memcpy(out, "?", 2);
}

/* A server with an old certificate is better than none: its clients decide. */
static void check_days(struct config_build *b, const struct jv *at, const struct tls_facts *f)
{
    int64_t now = (int64_t)(clock_wall_ms() / 1000);
    char    begins[11], ends[11];

    say_day(f->begins_s, begins);
    say_day(f->ends_s, ends);
    if (f->begins_s > now)
        cfg_warn(b, at, "the certificate is not valid before %s; browsers refuse it until then",
                 begins);
    else if (f->ends_s < now)
        cfg_warn(b, at, "the certificate ended on %s; browsers refuse it: renew it", ends);
    else if (f->ends_s - now < TLS_SOON_S)
        cfg_warn(b, at, "the certificate ends on %s: renew it", ends);
}

static void check_pair(struct config_build *b, const struct jv *tls)
{
    struct arena    *a = &b->c->arena;
    struct str       cert = arena_dup(a, b->c->tls_cert), key = arena_dup(a, b->c->tls_key);
    struct tls_facts f;

    if (!cert.ptr || !key.ptr) return; /* the arena remembers */
    enum err e = tls_pair_read(cert.ptr, key.ptr, &f, NULL);
    if (e) {
        cfg_bad(b, jv_get(tls, f.of_key ? "key" : "cert"), "%s", f.why);
        return;
    }
    check_days(b, jv_get(tls, "cert"), &f);
    if (f.key_shared)
        cfg_warn(b, jv_get(tls, "key"),
                 "others on this machine may read or change " STR_FMT "; `chmod 600` it",
                 STR_ARG(key));
}

void cfg_read_tls(struct config_build *b)
{
    const struct jv *tls = jv_get(b->root, "tls");
    bool             cert = b->c->tls_cert.len, key = b->c->tls_key.len;

    if (!tls) return;
    if (!cert || !key) {
        cfg_bad(b, tls, "\"tls\" needs both: \"cert\" and \"key\", a file each");
        return;
    }
    if (b->c->cluster_url.len)
        cfg_bad(b, tls,
                "nodes of a cluster talk to each other by plain HTTP at the same port, so \"tls\" "
                "cannot be theirs: let the balancer in front of them have the certificate");
    check_pair(b, tls);
}
