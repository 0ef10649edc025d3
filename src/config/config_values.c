/* config_values.c -- what the table of keys says about values: defaults, where they are kept. */
#include <stdlib.h>

#include "config/config_rows.h"

static bool has_number(const struct key_row *r)
{
    return r->otherwise[0] >= '0' && r->otherwise[0] <= '9';
}

/* Whole seconds, upwards: 0 means "for ever" or "none", and what is only short must not become
 * that. */
static unsigned whole_seconds(double s)
{
    unsigned n = (unsigned)s;
    return n + ((double)n < s);
}

void cfg_keep_number(const struct key_row *r, struct config *c, double v)
{
    char *at = (char *)c + r->at;

    switch (r->keep) {
    case KEEP_UNSIGNED: *(unsigned *)(void *)at = (unsigned)v; return;
    case KEEP_SIZE: *(size_t *)(void *)at = (size_t)v; return;
    case KEEP_I64: *(int64_t *)(void *)at = (int64_t)v; return;
    case KEEP_MS: *(unsigned *)(void *)at = (unsigned)(v * 1000 + 0.5); return;
    case KEEP_S: *(unsigned *)(void *)at = whole_seconds(v); return;
    case KEEP_STR:
    case KEEP_NOT: return;
    }
}

static double kept_number(const struct key_row *r, const struct config *c)
{
    const char *at = (const char *)c + r->at;

    switch (r->keep) {
    case KEEP_S:
    case KEEP_UNSIGNED: return *(const unsigned *)(const void *)at;
    case KEEP_SIZE: return (double)*(const size_t *)(const void *)at;
    case KEEP_I64: return (double)*(const int64_t *)(const void *)at;
    case KEEP_MS: return *(const unsigned *)(const void *)at / 1000.0;
    case KEEP_STR:
    case KEEP_NOT: return 0;
    }
    must(!"keep");
    return 0;
}

void cfg_defaults(struct config *c)
{
    c->limits.ping_ms = NET_PING_MS; /* has no key */
    for (size_t i = 0; i < CFG_ROW_COUNT; i++) {
        const struct key_row *r = &CFG_ROWS[i];
        if (r->keep == KEEP_STR && r->otherwise[0] && r->otherwise[0] != '(')
            *(struct str *)(void *)((char *)c + r->at) = str_c(r->otherwise);
        else if (r->keep != KEEP_NOT && has_number(r))
            cfg_keep_number(r, c, strtod(r->otherwise, NULL));
    }
}

void cfg_changed(const struct config *c,
                 void (*each)(void *ctx, const char *path, double now, double otherwise), void *ctx)
{
    for (size_t i = 0; i < CFG_ROW_COUNT; i++) {
        const struct key_row *r = &CFG_ROWS[i];
        if (r->keep == KEEP_NOT || r->keep == KEEP_STR) continue;
        double now = kept_number(r, c), otherwise = strtod(r->otherwise, NULL);
        if (now != otherwise) each(ctx, r->path, now, otherwise);
    }
}

int64_t cfg_int(const char *path, const struct jv *v)
{
    int64_t               n;
    const struct key_row *r = cfg_row(path);

    must(r);
    if (jv_int(v, &n) && (double)n >= r->min && (double)n <= r->max) return n;
    return has_number(r) ? (int64_t)strtod(r->otherwise, NULL) : 0;
}

unsigned cfg_ms(const char *path, const struct jv *v)
{
    double                s;
    const struct key_row *r = cfg_row(path);

    must(r);
    if (!jv_f64(v, &s) || !(s >= r->min && s <= r->max)) s = strtod(r->otherwise, NULL);
    return (unsigned)(s * 1000 + 0.5);
}

unsigned cfg_s(const char *path, const struct jv *v, unsigned otherwise)
{
    double                s;
    const struct key_row *r = cfg_row(path);

    must(r);
    return jv_f64(v, &s) && s >= r->min && s <= r->max ? whole_seconds(s) : otherwise;
}
