/* log.c -- one line per event to stderr, in one write(), so that lines of
 * several threads do not mix.
 *
 * A log line must come out even when memory is short: then it is written with
 * its event name only.
 *
 * Whoever reads stderr may stop reading (a stalled pipe, Ctrl-S in the terminal), and a write would
 * then wait for that reader. A server must not: after log_waits(false) a line that does not fit is
 * counted and lost, and the next one that fits is preceded by how many. No queue of our own: pipes
 * and sockets are one. stderr itself is shared with others (the shell), so it is not made non-
 * blocking; the pipe or terminal behind it is opened once more.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/utf8.h"

#define LINE_MAX_LEN 65536 /* a longer one is a mistake of the caller */
#define SLOTS        16
#define SLOT_MAX     512
#define NUMBER_MAX   24 /* the longest of 64 bits, its sign and its end */

static atomic_int least_level = LOG_INFO;

void log_level(enum log_level least)
{
    atomic_store(&least_level, (int)least);
}

static const char *level_name(enum log_level l)
{
    switch (l) {
    case LOG_DEBUG: return "debug";
    case LOG_INFO: return "info";
    case LOG_WARN: return "warn";
    case LOG_ERROR: return "error";
    case LOG_SECURITY: return "security";
    }
    return "unknown";
}

/* --- writing ---------------------------------------------------------------------- */

/* WAY_PLAIN: waits; all others do not */
static enum way { WAY_PLAIN, WAY_OWN, WAY_SOCKET, WAY_LOOK } way;
/* WAY_OWN: the same pipe or terminal, non-blocking, ours alone */
static int             own = -1;
/* of all below: lines come from several threads */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long   lost;               /* lines, since one came through */
static char            rest[LINE_MAX_LEN]; /* of a line that went out in part */
static size_t          rest_len;

void log_waits(bool waits)
{
    struct stat st = { 0 };

    pthread_mutex_lock(&lock);
    if (own >= 0) close(own);
    own = -1;
    way = WAY_PLAIN; /* also for a file: nobody's reading holds it up */
    if (!waits) (void)fstat(STDERR_FILENO, &st);
    if (S_ISSOCK(st.st_mode)) way = WAY_SOCKET;
    else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
        own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        way = own >= 0 ? WAY_OWN : WAY_LOOK;
    }
    pthread_mutex_unlock(&lock);
}

/* What fits now; 0: nothing. A pipe that is ready takes PIPE_BUF without waiting. */
static size_t write_some(const char *p, size_t n)
{
    struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
    ssize_t       done;

    do {
        if (way == WAY_SOCKET) done = send(STDERR_FILENO, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        else if (way == WAY_OWN) done = write(own, p, n);
        else if (way == WAY_LOOK)
            done =
                poll(&ready, 1, 0) == 1 ? write(STDERR_FILENO, p, n < PIPE_BUF ? n : PIPE_BUF) : 0;
        else done = write(STDERR_FILENO, p, n);
    } while (done < 0 && errno == EINTR);
    return done > 0 ? (size_t)done : 0; /* there is nowhere to complain */
}

static size_t write_most(const char *p, size_t n)
{
    size_t done = 0;
    for (size_t some; done < n && (some = write_some(p + done, n - done)) > 0;) done += some;
    return done;
}

/* A line that began is ended before the next one begins. */
static bool finish_rest(void)
{
    size_t done = write_most(rest, rest_len);
    memmove(rest, rest + done, rest_len - done);
    rest_len -= done;
    return rest_len == 0;
}

static bool put_line(const char *p, size_t n)
{
    size_t done = write_most(p, n);
    if (done == 0 || way == WAY_PLAIN) return done == n;
    rest_len = n - done < sizeof rest ? n - done : sizeof rest;
    memcpy(rest, p + done, rest_len);
    return true;
}

static bool tell_lost(void)
{
    char line[128], at[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(clock_wall_ms(), at);
    int n = snprintf(line, sizeof line,
                     "{\"at\":\"%s\",\"level\":\"warn\",\"event\":\"log.lost\",\"lines\":%lu}\n",
                     at, lost);
    if (!put_line(line, (size_t)n)) return false;
    lost = 0;
    return true;
}

static void put(const char *p, size_t n)
{
    pthread_mutex_lock(&lock);
    bool free = finish_rest() && (!lost || tell_lost()) && rest_len == 0;
    if ((!free || !put_line(p, n)) && way != WAY_PLAIN) lost++;
    pthread_mutex_unlock(&lock);
}

/* --- for programs -------------------------------------------------------------- */

static void json_line_start(struct jsonw *w, enum log_level l, const char *at, const char *event)
{
    jw_obj(w);
    jw_kstrz(w, "at", at);
    jw_kstrz(w, "level", level_name(l));
    jw_kstrz(w, "event", event);
}

static _Thread_local char numbers[SLOTS][NUMBER_MAX];

/* Known by where it stands: a text that looks like a number stays a text. */
static bool is_number(const char *value)
{
    return (uintptr_t)value >= (uintptr_t)numbers &&
           (uintptr_t)value < (uintptr_t)numbers + sizeof numbers;
}

static void json_about(struct jsonw *w, const struct log_about *a)
{
    if (a->thread.len) jw_kstr(w, "thread", a->thread);
    if (a->run.len) jw_kstr(w, "run", a->run);
    if (a->principal.len) jw_kstr(w, "principal", a->principal);
    if (a->call.len) jw_kstr(w, "call", a->call);
}

static void json_pairs(struct jsonw *w, va_list pairs)
{
    for (const char *key, *value; (key = va_arg(pairs, const char *));) {
        value = va_arg(pairs, const char *);
        jw_key_str(w, str_c(key));
        if (value && is_number(value)) jw_raw(w, str_c(value));
        else jw_strz(w, value);
        if (!value) return; /* that was the end, one too early */
    }
}

/* --- for people ------------------------------------------------------------------ */

/* Would this move the cursor, change the colour, or turn the writing around? */
static bool harmful(unsigned len, uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7F && cp <= 0x9F)) return true; /* C0, DEL, C1 */
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

static void text_about(struct buf *out, const struct log_about *a)
{
    const struct {
        const char *key;
        struct str  value;
    } all[] = { { " thread=", a->thread },
                { " run=", a->run },
                { " principal=", a->principal },
                { " call=", a->call } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].value.len) continue;
        buf_lit(out, all[i].key);
        value_for_people(out, all[i].value);
    }
}

static void text_pairs(struct buf *out, va_list pairs)
{
    for (const char *key, *value; (key = va_arg(pairs, const char *));) {
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

static void compose(struct buf *b, enum log_level l, const struct log_about *about,
                    const char *event, va_list pairs)
{
    char         at[CLOCK_RFC3339_LEN + 1];
    struct jsonw w;
    clock_rfc3339(clock_wall_ms(), at);
    if (isatty(STDERR_FILENO)) {
        text_line_start(b, l, at, event);
        text_about(b, about);
        text_pairs(b, pairs);
    } else {
        jsonw_init(&w, b);
        json_line_start(&w, l, at, event);
        json_about(&w, about);
        json_pairs(&w, pairs);
        jw_end_obj(&w);
    }
    buf_chr(b, '\n');
}

static void put_short(enum log_level l, const char *event)
{
    char line[256];
    /* Event names are literals of ours: nothing in them needs escaping. */
    int  n = snprintf(line, sizeof line, "{\"level\":\"%s\",\"event\":\"%.150s\",\"cut\":true}\n",
                      level_name(l), event);
    if (n > 0) put(line, (size_t)n);
}

static void write_line(enum log_level l, const struct log_about *about, const char *event,
                       va_list pairs)
{
    if (l != LOG_SECURITY && (int)l < atomic_load(&least_level)) return;
    int        saved = errno; /* logging an error must not change it */
    struct buf b;
    buf_init(&b, LINE_MAX_LEN);
    compose(&b, l, about, event, pairs);
    if (b.err) put_short(l, event);
    else put(b.ptr, b.len);
    buf_done(&b);
    errno = saved;
}

void log_line(enum log_level l, const char *event, ...)
{
    static const struct log_about nothing;
    va_list                       pairs;
    va_start(pairs, event);
    write_line(l, &nothing, event, pairs);
    va_end(pairs);
}

void log_about(enum log_level l, const struct log_about *about, const char *event, ...)
{
    va_list pairs;
    va_start(pairs, event);
    write_line(l, about, event, pairs);
    va_end(pairs);
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
    /* a NUL would hide what follows */
    for (size_t i = 0; i < n; i++) slot[i] = s.ptr[i] ? s.ptr[i] : '?';
    slot[n] = 0;
    return slot;
}

const char *log_int(int64_t v)
{
    static _Thread_local unsigned next;
    char                         *slot = numbers[next++ % SLOTS];
    snprintf(slot, NUMBER_MAX, "%lld", (long long)v);
    return slot;
}
