/* log.c -- one line per event to stderr, in one write(), so that lines of
 * several threads do not mix.
 *
 * A log line must come out even when memory is short: then it is written with
 * its event name only.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/utf8.h"

#define LINE_MAX_LEN 65536     /* a longer one is a mistake of the caller */
#define SLOTS        16
#define SLOT_MAX     512

static atomic_int least_level = LOG_INFO;

void log_level(enum log_level least)
{
    atomic_store(&least_level, (int)least);
}

static const char *level_name(enum log_level l)
{
    switch (l) {
    case LOG_DEBUG:    return "debug";
    case LOG_INFO:     return "info";
    case LOG_WARN:     return "warn";
    case LOG_ERROR:    return "error";
    case LOG_SECURITY: return "security";
    }
    return "unknown";
}

static void put(const char *p, size_t n)
{
    while (n) {
        ssize_t done = write(STDERR_FILENO, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return;      /* there is nowhere to complain */
        p += done;
        n -= (size_t)done;
    }
}

/* --- for programs -------------------------------------------------------------- */

static void json_line_start(struct jsonw *w, enum log_level l, const char *at, const char *event)
{
    jw_obj(w);
    jw_kstrz(w, "at", at);
    jw_kstrz(w, "level", level_name(l));
    jw_kstrz(w, "event", event);
}

static void json_pairs(struct jsonw *w, va_list pairs)
{
    for (const char *key, *value; (key = va_arg(pairs, const char *)); ) {
        value = va_arg(pairs, const char *);
        jw_key_str(w, str_c(key));
        jw_strz(w, value);
        if (!value) return;      /* that was the end, one too early */
    }
}

/* --- for people ------------------------------------------------------------------ */

/* Would this move the cursor, change the colour, or turn the writing around? */
static bool harmful(unsigned len, uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7F && cp <= 0x9F)) return true;      /* C0, DEL, C1 */
    if (cp >= 0xD800 && cp <= 0xDFFF) return true;
    if (cp == 0x200E || cp == 0x200F || cp == 0x061C) return true; /* direction marks */
    if (cp >= 0x2028 && cp <= 0x202E) return true;                 /* line ends, overrides */
    if (cp >= 0x2066 && cp <= 0x2069) return true;                 /* isolates */
    return len == 1 && cp == 0xFFFD;                               /* a bad byte */
}

static void tame(struct buf *out, struct str s)
{
    while (s.len) {
        uint32_t cp;
        unsigned n = utf8_decode(s, &cp);
        if (harmful(n, cp)) buf_printf(out, "\\u%04x", (unsigned)cp);
        else {
            if (cp == '"' || cp == '\\') buf_chr(out, '\\');
            buf_add(out, s.ptr, n);
        }
        s = str_from(s, n);
    }
}

/* Plain ASCII without blanks needs no quotes around it. */
static bool one_word(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= ' ' || c >= 0x7F || c == '"' || c == '\\') return false;
    }
    return s.len > 0;
}

static void value_for_people(struct buf *out, struct str s)
{
    bool bare = one_word(s);
    if (!bare) buf_chr(out, '"');
    tame(out, s);
    if (!bare) buf_chr(out, '"');
}

static void text_pairs(struct buf *out, va_list pairs)
{
    for (const char *key, *value; (key = va_arg(pairs, const char *)); ) {
        value = va_arg(pairs, const char *);
        buf_chr(out, ' ');
        tame(out, str_c(key));
        buf_chr(out, '=');
        if (!value) return;
        value_for_people(out, str_c(value));
    }
}

/* "20:17:25.123 warn store.full path=/data" */
static void text_line_start(struct buf *out, enum log_level l, const char *at, const char *event)
{
    buf_add(out, at + 11, 12);
    buf_chr(out, ' ');
    buf_lit(out, level_name(l));
    buf_chr(out, ' ');
    tame(out, str_c(event));
}

/* --- both --------------------------------------------------------------------------- */

static void compose(struct buf *b, enum log_level l, const char *event, va_list pairs)
{
    char         at[CLOCK_RFC3339_LEN + 1];
    struct jsonw w;
    clock_rfc3339(clock_wall_ms(), at);
    if (isatty(STDERR_FILENO)) {
        text_line_start(b, l, at, event);
        text_pairs(b, pairs);
    } else {
        jsonw_init(&w, b);
        json_line_start(&w, l, at, event);
        json_pairs(&w, pairs);
        jw_end_obj(&w);
    }
    buf_chr(b, '\n');
}

static void put_short(enum log_level l, const char *event)
{
    char line[256];
    /* Event names are literals of ours: nothing in them needs escaping. */
    int  n = snprintf(line, sizeof line, "{\"level\":\"%s\",\"event\":\"%.150s\",\"cut\":\"true\"}\n",
                      level_name(l), event);
    if (n > 0) put(line, (size_t)n);
}

void log_line(enum log_level l, const char *event, ...)
{
    if (l != LOG_SECURITY && (int)l < atomic_load(&least_level)) return;
    int        saved = errno;      /* logging an error must not change it */
    struct buf b;
    va_list    pairs;
    buf_init(&b, LINE_MAX_LEN);
    va_start(pairs, event);
    compose(&b, l, event, pairs);
    va_end(pairs);
    if (b.err) put_short(l, event);
    else put(b.ptr, b.len);
    buf_done(&b);
    errno = saved;
}

static char *next_slot(void)
{
    static _Thread_local char     slots[SLOTS][SLOT_MAX + 1];
    static _Thread_local unsigned next;
    return slots[next++ % SLOTS];
}

const char *log_str(struct str s)
{
    char  *slot = next_slot();
    size_t n = utf8_cut(s, SLOT_MAX);
    for (size_t i = 0; i < n; i++) slot[i] = s.ptr[i] ? s.ptr[i] : '?';      /* a NUL would hide what follows */
    slot[n] = 0;
    return slot;
}

const char *log_int(int64_t v)
{
    char *slot = next_slot();
    snprintf(slot, SLOT_MAX, "%lld", (long long)v);
    return slot;
}
