/* measure.c -- see measure.h. */
#include "base/measure.h"

#include <stdio.h>

/* Seconds; from what nobody notices to what everybody gives up on. */
static const double BOUNDS[MEASURE_SECONDS] = { 0.01, 0.05, 0.1, 0.25, 0.5, 1,  2.5,
                                                5,    10,   30,  60,   120, 300 };

void measure_observe(struct measure_seconds *h, double seconds)
{
    h->count++;
    h->sum += seconds;
    for (size_t i = 0; i < MEASURE_SECONDS; i++) h->bucket[i] += seconds <= BOUNDS[i];
}

void measure_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void measure_label(struct buf *out, const char *key, struct str value)
{
    buf_printf(out, "%s=\"", key);
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (c == '"' || c == '\\') buf_chr(out, '\\');
        if (c == '\n') buf_lit(out, "\\n");
        else buf_chr(out, c);
    }
    buf_chr(out, '"');
}

static void write_bucket(struct buf *out, const char *name, const char *key, struct str value,
                         const char *le, uint64_t n)
{
    buf_printf(out, "%s_bucket{", name);
    measure_label(out, key, value);
    buf_printf(out, ",le=\"%s\"} %llu\n", le, (unsigned long long)n);
}

void measure_seconds_write(struct buf *out, const char *name, const char *key, struct str value,
                           const struct measure_seconds *h)
{
    char le[32];
    for (size_t i = 0; i < MEASURE_SECONDS; i++) {
        snprintf(le, sizeof le, "%g", BOUNDS[i]);
        write_bucket(out, name, key, value, le, h->bucket[i]);
    }
    write_bucket(out, name, key, value, "+Inf", h->count);
    buf_printf(out, "%s_sum{", name);
    measure_label(out, key, value);
    buf_printf(out, "} %.3f\n%s_count{", h->sum, name);
    measure_label(out, key, value);
    buf_printf(out, "} %llu\n", (unsigned long long)h->count);
}
