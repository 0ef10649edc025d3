/* spoken.c -- see spoken.h: reading what a person wrote. What the server says is in notice.c. */
#include "run/spoken.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/glyph.h"
#include "base/utf8.h"
#include "run/spelling.h"

#define REASON_MAX 4096

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Any digit and any blank as a plain one; 0: it stays as it is. */
static char plain_char(uint32_t cp)
{
    int digit = glyph_digit(cp);
    return digit >= 0 ? (char)('0' + digit) : spelling_blank(cp) ? ' ' : 0;
}

static struct str plain_text(struct arena *a, struct str s)
{
    struct buf b = { 0 };
    uint32_t   cp;
    for (struct str rest = s; rest.len;) {
        unsigned n = utf8_decode(rest, &cp);
        char     c = plain_char(cp);
        if (c) buf_chr(&b, c);
        else buf_str(&b, str_cut(rest, n));
        rest = str_from(rest, n);
    }
    struct str out = arena_dup(a, buf_view(&b));
    if (b.err) a->failed = true;
    buf_done(&b);
    return out;
}

/* --- one line --------------------------------------------------------------------------------- */

static bool peel(struct str *s, struct str open, struct str close)
{
    if (s->len < open.len + close.len || !str_starts(*s, open) || !str_ends(*s, close))
        return false;
    *s = str_trim(str_n(s->ptr + open.len, s->len - open.len - close.len));
    return true;
}

static struct str unquoted(struct str s)
{
    s = str_trim(s);
    while (peel(&s, STR("`"), STR("`")) || peel(&s, STR("\""), STR("\"")) ||
           peel(&s, STR("'"), STR("'")) || peel(&s, STR("\u201c"), STR("\u201d")) ||
           peel(&s, STR("\u201e"), STR("\u201c")) || peel(&s, STR("\u300c"), STR("\u300d")))
        ;
    return s;
}

static bool word_then(struct str *s, const char *word)
{
    size_t n = strlen(word);
    if (s->len <= n || !str_eq_nocase(str_cut(*s, n), str_c(word)) || s->ptr[n] != ' ')
        return false;
    *s = str_trim(str_from(*s, n));
    return true;
}

static bool read_code(struct str *s, struct spoken_answer *out)
{
    struct spelled x;
    if (!spelling_first(*s, &x)) return false;
    snprintf(out->code, sizeof out->code, "%04u", x.number % SPELLING_COUNT);
    out->grouped = x.grouped;
    *s = str_from(*s, x.len);
    return true;
}

static bool read_line(struct str line, struct spoken_answer *out)
{
    struct str s = unquoted(line);
    *out = (struct spoken_answer){ .yes = true };
    if (!word_then(&s, "yes")) {
        out->yes = false;
        if (!word_then(&s, "no")) return false;
    }
    if (!read_code(&s, out)) return false;
    if (str_is(str_trim(s), ".")) return true;
    if (!s.len) return true;
    /* nothing may follow the code of a yes */
    if (out->yes || (s.ptr[0] != ' ' && s.ptr[0] != ',' && s.ptr[0] != ':' && s.ptr[0] != '.' &&
                     s.ptr[0] != '\t'))
        return false;
    out->reason = str_trim(str_from(s, s.ptr[0] == ' ' || s.ptr[0] == '\t' ? 0 : 1));
    out->reason = str_cut(out->reason, utf8_cut(out->reason, REASON_MAX));
    return true;
}

/* "yes 4821" and "no 4821" at once. */
static bool contradicts(const struct spoken_answer *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(list[i].code, list[k].code) == 0 && list[i].yes != list[k].yes) return true;
    return false;
}

/* Every line an answer; false: it is not of that form. */
static bool read_lines(struct str text, struct spoken_answer list[SPOKEN_MAX], size_t *count)
{
    struct str line;
    *count = 0;
    while (str_split(&text, '\n', &line)) {
        if (!str_trim(line).len) continue;
        if (*count == SPOKEN_MAX || !read_line(line, &list[*count])) return false;
        ++*count;
    }
    return *count > 0;
}

/* --- in the light of the log ------------------------------------------------------------------ */

static bool waits(const struct call *c)
{
    return c->state == CALL_ASKED && c->told && c->told->code.len;
}

/* A question that waits first; else the newest that had this code. */
static struct call *by_code(const struct fold *f, const char *code)
{
    struct call *old = NULL;
    for (size_t i = f ? f->call_count : 0; i-- > 0;) {
        struct call *c = f->calls[i];
        if (!c->told || !str_is(c->told->code, code) || c->step_seq < f->copied) continue;
        if (waits(c)) return c;
        if (!old) old = c;
    }
    return old;
}

static bool any_waits(const struct fold *f)
{
    for (size_t i = 0; f && run_live(f->run) && i < f->run->call_count; i++)
        if (call_pending(f->run->calls[i])) return true;
    return false;
}

bool spoken_fit(const struct call *c, struct str code)
{
    return waits(c) && c->tries < SPOKEN_TRIES && str_eq(c->told->code, code) &&
           str_eq(c->told->digest, c->asked->digest);
}

static bool is_live_code(const struct fold *f, unsigned number)
{
    unsigned code;
    for (size_t i = 0; run_live(f->run) && i < f->run->call_count; i++)
        if (waits(f->run->calls[i]) && spelling_plain(f->run->calls[i]->told->code, &code) &&
            code == number)
            return true;
    return false;
}

bool spoken_has_code(const struct fold *f, struct str text)
{
    struct spelled x = { 0 };
    while (f && spelling_next(text, x.at + x.len, &x))
        if (is_live_code(f, x.number)) return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool begins_like_answer(struct str s)
{
    static const char *const WORDS[] = { "yes",      "no",       "ok",     "okay",    "approve",
                                         "approved", "deny",     "denied", "confirm", "confirmed",
                                         "reject",   "rejected", "accept", "allow",   "decline",
                                         "sure",     "yep",      "yeah",   "nope",    "proceed",
                                         "go",       "ja",       "nein",   "はい",    "いいえ" };
    if (word_then(&s, "please")) return begins_like_answer(s);
    if (word_then(&s, "i")) return begins_like_answer(s);
    size_t n = 0;
    while (n < s.len && is_letter(s.ptr[n])) n++;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_eq_nocase(str_cut(s, n), str_c(WORDS[i]))) return true;
    return false;
}

static size_t word_count(struct str s)
{
    size_t     n = 0;
    struct str word;
    while (str_split(&s, ' ', &word)) n += str_trim(word).len > 0;
    return n;
}

static bool has_digits(struct str s)
{
    size_t run = 0;
    for (size_t i = 0; i <= s.len; i++) {
        if (i < s.len && is_digit(s.ptr[i])) {
            run++;
            continue;
        }
        if (run >= 4 && run <= 6) return true;
        run = 0;
    }
    return false;
}

static bool looks_like_answer(const struct fold *f, struct str text)
{
    struct str s = unquoted(text);
    if (!any_waits(f)) return false;
    return spoken_has_code(f, s) ||
           (begins_like_answer(s) && (word_count(s) <= 3 || has_digits(s)));
}

/* Words that may be about anything else, too. */
static bool is_ambiguous(const struct fold *f, const struct spoken_answer *list, size_t count)
{
    bool told = false, reasons = false;
    for (size_t i = 0; f && i < f->call_count; i++)
        told |= f->calls[i]->told && f->calls[i]->told->code.len;
    for (size_t i = 0; i < count; i++) reasons |= list[i].reason.len > 0;
    return reasons && !told;
}

/* Digits in groups that are nobody's code: "yes 10 20" is about sizes, maybe. */
static bool is_grouped(const struct spoken_answer *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].grouped && !list[i].call) return true;
    return false;
}

enum spoken_kind spoken_read(struct arena *a, const struct fold *f, struct str text,
                             struct spoken_answer list[SPOKEN_MAX], size_t *count)
{
    struct str plain = plain_text(a, text);
    bool       known = true;
    *count = 0;
    if (!plain.ptr) return SPOKEN_UNCLEAR; /* nothing is decided by what could not be read */
    if (!read_lines(plain, list, count))
        return looks_like_answer(f, plain) ? SPOKEN_UNCLEAR : SPOKEN_MESSAGE;
    if (contradicts(list, *count)) return SPOKEN_UNCLEAR;
    for (size_t i = 0; i < *count; i++) known &= (list[i].call = by_code(f, list[i].code)) != NULL;
    if (known) return SPOKEN_ANSWERS;
    if (is_grouped(list, *count))
        return looks_like_answer(f, plain) ? SPOKEN_UNCLEAR : SPOKEN_MESSAGE;
    if (any_waits(f)) return SPOKEN_WRONG;
    return is_ambiguous(f, list, *count) ? SPOKEN_MESSAGE : SPOKEN_GONE;
}

/* --- codes that a client says were told ------------------------------------------------------- */

/* Without the blanks at its end. */
static struct str cut_blanks(struct str s)
{
    uint32_t cp;
    for (size_t at; s.len; s = str_cut(s, at)) {
        at = s.len - 1;
        while (at && ((unsigned char)s.ptr[at] & 0xc0) == 0x80) at--;
        utf8_decode(str_from(s, at), &cp);
        if (!spelling_blank(cp) && cp != '\n' && cp != '\r') break;
    }
    return s;
}

static bool is_code_word(struct str before)
{
    struct str words[] = { STR("yes"), STR("no") };
    before = cut_blanks(before);
    for (size_t i = 0; i < 2; i++) {
        struct str w = words[i];
        if (before.len < w.len || !str_eq_nocase(str_from(before, before.len - w.len), w)) continue;
        if (before.len == w.len || !is_letter(before.ptr[before.len - w.len - 1])) return true;
    }
    return false;
}

struct str spoken_masked(struct arena *a, struct str text)
{
    struct buf     b = { 0 };
    struct spelled x;
    size_t         from = 0, at = 0;
    for (; spelling_next(text, at, &x); at = x.at + x.len) {
        if (!is_code_word(str_cut(text, x.at))) continue;
        buf_str(&b, str_n(text.ptr + from, x.at - from));
        buf_lit(&b, SPELLING_BLANK);
        from = x.at + x.len;
    }
    buf_str(&b, str_from(text, from));
    struct str out = arena_dup(a, buf_view(&b));
    if (b.err) a->failed = true;
    buf_done(&b);
    return out;
}
