/* desk.c -- see desk.h. */
#include <curl/curl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/guise.h"
#include "base/order.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/desk.h"
#include "cli/keys.h"
#include "cli/trust.h"
#include "loop/curl.h"

#define DEFAULT_URL "http://127.0.0.1:8000"
#define ANSWER_MAX  (64u * 1024 * 1024) /* of the server; 500 requests with large inputs fit */
#define CHOICE_MAX  64                  /* of what is typed; no answer is as long */
#define WAIT_MS     30000L
#define ROW_AT      11 /* the column where a row's words begin, behind its name */
#define COLUMNS     80 /* of a screen that does not say */

void desk_init(struct desk *k, const char *url)
{
    const char *plain = getenv("NO_COLOR");

    *k = (struct desk){ .base = str_c(url ? url : DEFAULT_URL) };
    k->screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    k->colours = k->screen && !(plain && *plain);
    while (str_ends(k->base, STR("/"))) k->base.len--;
    arena_init(&k->arena, 0);
}

void desk_done(struct desk *k)
{
    arena_done(&k->arena);
}

/* --- asking the server ------------------------------------------------------------ */

static size_t keep(char *bytes, size_t size, size_t count, void *ctx)
{
    struct buf *b = ctx;

    buf_add(b, bytes, size * count);
    return b->err ? 0 : size * count;
}

struct curl_slist *desk_headers(struct desk *k)
{
    const char        *key = getenv("PARLEY_KEY");
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

    if (list && key && *key) {
        struct str line = arena_printf(&k->arena, "Authorization: Bearer %s", key);
        if (line.ptr) curl_slist_append(list, line.ptr);
    }
    return list;
}

struct jv *desk_ask(struct desk *k, const char *path, const char *body, long *status)
{
    char               why[CURL_ERROR_SIZE] = "out of memory";
    struct str         url = arena_printf(&k->arena, STR_FMT "%s", STR_ARG(k->base), path);
    CURL              *h = trust_curl();
    struct curl_slist *list = desk_headers(k);
    struct buf         answer;
    struct jv         *tree = NULL;
    CURLcode           e = CURLE_OUT_OF_MEMORY;

    buf_init(&answer, ANSWER_MAX);
    if (h && list && url.ptr) {
        why[0] = '\0';
        curl_easy_setopt(h, CURLOPT_URL, url.ptr);
        curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L); /* a name in it may be dots */
        curl_easy_setopt(h, CURLOPT_HTTPHEADER, list);
        curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, WAIT_MS);
        curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, keep);
        curl_easy_setopt(h, CURLOPT_WRITEDATA, &answer);
        curl_easy_setopt(h, CURLOPT_ERRORBUFFER, why);
        curl_once(h); /* an answer is sent once */
        if (body) curl_easy_setopt(h, CURLOPT_COPYPOSTFIELDS, body);
        e = curl_easy_perform(h);
        curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, status);
    }
    struct str text = arena_dup(&k->arena, buf_view(&answer));
    if (e != CURLE_OK)
        cli_fail(STR_FMT " does not answer: %s", STR_ARG(address_shown(&k->arena, k->base)),
                 why[0] ? why : curl_easy_strerror(e));
    else if (json_parse(&k->arena, text, &tree, NULL) || !jv_is(tree, JSON_OBJECT)) {
        tree = NULL;
        cli_fail(STR_FMT " answered %ld, not as a parley does.",
                 STR_ARG(address_shown(&k->arena, k->base)), *status);
    }
    buf_done(&answer);
    curl_slist_free_all(list);
    curl_easy_cleanup(h);
    return tree;
}

void desk_refused(const struct jv *answer, long status)
{
    fputs("parley: ", stderr);
    desk_put(stderr, jv_str_at(jv_get(answer, "error"), "message"), GLYPH_LINE);
    fprintf(stderr, " (%ld)%s\n", status, status == 401 ? " Set PARLEY_KEY to your key." : "");
}

/* --- showing ---------------------------------------------------------------------- */

/* Terminals that write from right to left would turn what stands beside such letters around: each
 * stretch of them is isolated (RLI, PDI). */
static void put_ordered(FILE *out, struct str s)
{
    while (s.len) {
        size_t plain = order_plain(s), back = order_stretch(str_from(s, plain));
        fprintf(out, STR_FMT, STR_ARG(str_cut(s, plain)));
        s = str_from(s, plain);
        if (back) fprintf(out, "\u2067" STR_FMT "\u2069", STR_ARG(str_cut(s, back)));
        s = str_from(s, back);
    }
}

/* What is no screen takes lines of any length. */
static size_t width_of(FILE *out)
{
    struct winsize w;

    if (!isatty(fileno(out))) return SIZE_MAX;
    if (ioctl(fileno(out), TIOCGWINSZ, &w) != 0 || !w.ws_col) return COLUMNS;
    return w.ws_col > 2 * ROW_AT ? w.ws_col : 2 * ROW_AT;
}

/* Its beginning that fits: whole characters with their marks, rather a column too many for each. */
static struct str cut_to(struct str s, size_t columns)
{
    size_t   at = 0, used = 0;
    unsigned n;

    for (uint32_t cp; at < s.len; at += n) {
        n = utf8_decode(str_from(s, at), &cp);
        if (!glyph_mark(cp)) used += cp < 0x80 ? 1 : 2;
        if (used > columns) break;
    }
    return str_cut(s, at);
}

/* From the column `at` on. What does not fit goes on below, where no row of ours begins: a terminal
 * that broke it itself would begin at the left, and words of a model stood there as rows. */
static void put_folded(FILE *out, struct str s, size_t at)
{
    size_t     width = width_of(out) - 1; /* some terminals go on by themselves after the last */
    struct str part = cut_to(s, width - at);

    put_ordered(out, part);
    while ((s = str_from(s, part.len)).len) {
        part = cut_to(s, width - ROW_AT);
        fprintf(out, "\n%*s", ROW_AT, "");
        put_ordered(out, part);
    }
}

/* In one line also without what pushes, and without disguise. */
static void show(struct buf *out, struct str s, enum glyph_way way)
{
    struct buf safe;

    buf_init(&safe, 0);
    glyph_show(way == GLYPH_TEXT ? out : &safe, s, way);
    if (way != GLYPH_TEXT) guise_name(out, buf_view(&safe));
    if (safe.err) out->err = safe.err;
    buf_done(&safe);
}

void desk_put(FILE *out, struct str s, enum glyph_way way)
{
    struct buf shown;

    buf_init(&shown, 0);
    show(&shown, s, way);
    if (shown.err) fputs("(out of memory)", out);
    else if (way == GLYPH_TEXT) fwrite(shown.ptr ? shown.ptr : "", 1, shown.len, out);
    else put_ordered(out, buf_view(&shown));
    buf_done(&shown);
}

/* How far nothing acts on a terminal. What is below this stands in JSON only between its values. */
static size_t calm(struct str s)
{
    uint32_t cp;
    size_t   at = 0;

    for (unsigned n; at < s.len; at += n) {
        n = utf8_decode(str_from(s, at), &cp);
        if (cp >= 0x7f && glyph_hidden(cp)) break;
    }
    return at;
}

bool desk_json(struct str json)
{
    while (json.len) {
        size_t   n = calm(json);
        uint32_t cp;
        fwrite(json.ptr, 1, n, stdout);
        json = str_from(json, n);
        if (!json.len) break;
        json = str_from(json, utf8_decode(json, &cp));
        if (cp > 0xffff) printf("\\u%04x", (unsigned)(0xd7c0 + (cp >> 10)));
        printf("\\u%04x", (unsigned)(cp > 0xffff ? 0xdc00 + (cp & 0x3ff) : cp));
    }
    putchar('\n');
    return !ferror(stdout);
}

static void put_row(FILE *out, struct str s, enum glyph_way way, size_t at)
{
    struct buf shown;

    buf_init(&shown, 0);
    show(&shown, s, way);
    if (shown.err) fputs("(out of memory)", out);
    else put_folded(out, buf_view(&shown), at);
    buf_done(&shown);
}

/* "  name     words"; nothing when there are none. */
static void line(FILE *out, const char *name, struct str s, enum glyph_way way)
{
    if (!s.len) return;
    fprintf(out, "  %-*s", ROW_AT - 2, name);
    put_row(out, s, way, ROW_AT);
    fputc('\n', out);
}

/* What is shown at a place of its own, where it is there (show.c). */
static bool has_place(struct str key)
{
    return str_is(key, "steps") || str_is(key, "calls") || str_is(key, "said") ||
           str_is(key, "request");
}

void desk_members(const struct jv *v, const char *under, int indent)
{
    JV_EACH (m, v) {
        char name[64];
        snprintf(name, sizeof name, "%s%s" STR_FMT, under, *under ? "." : "", STR_ARG(m->key));
        if (has_place(m->key)) continue;
        if (jv_is(m, JSON_OBJECT)) {
            desk_members(m, name, indent);
            continue;
        }
        printf("%*s%-18s ", indent, "", name);
        desk_put(stdout, jv_is(m, JSON_STRING) ? jv_str(m) : m->raw, GLYPH_LINE);
        putchar('\n');
    }
}

void desk_style(const struct desk *k, FILE *out, const char *code)
{
    if (k->colours) fputs(code, out);
}

static void put_level(const struct jv *level)
{
    printf("%lld of ", (long long)jv_int_at(level, "count", 1));
    desk_put(stdout, jv_str_at(level, "role"), GLYPH_LINE);
}

/* Where a rule asks: whom as it stands, and who of them has said yes. */
static void show_ballot(const struct jv *a)
{
    const struct jv *who = jv_get(a, "who"), *steps = jv_get(who, "escalate"),
                    *votes = jv_get(a, "votes");
    int64_t at;

    if (!who) return;
    printf("  %-9s", "decides");
    put_level(jv_get(who, "from"));
    JV_EACH (l, steps)
        if (clock_parse_rfc3339(jv_str_at(l, "at"), &at) && at <= clock_wall_ms()) {
            fputs(", or ", stdout);
            put_level(jv_get(l, "to"));
        }
    putchar('\n');
    JV_EACH (v, votes) {
        struct str by = jv_str_at(v, "by");
        line(stdout, jv_lists(jv_get(a, "lapsed"), by) ? "void yes" : "yes of", by, GLYPH_LINE);
    }
}

/* What somebody made of another request: by whom, and what that was. */
static void show_change(const struct jv *a)
{
    const struct jv *old = jv_get(a, "replaces"), *input = jv_get(old, "input");

    line(stdout, "changed", jv_str_at(old, "by"), GLYPH_LINE);
    if (input) line(stdout, "before", input->raw, GLYPH_LINE);
}

void desk_show(const struct desk *k, const struct jv *a, size_t number, size_t all)
{
    const struct jv *input = jv_get(a, "input");

    printf("%zu of %zu  ", number, all);
    desk_put(stdout, jv_str_at(a, "tool"), GLYPH_LINE);
    if (str_is(jv_str_at(a, "risk"), "high")) {
        fputs("  ", stdout);
        desk_style(k, stdout, "\033[31m");
        fputs("high risk", stdout);
        desk_style(k, stdout, "\033[0m");
    }
    fputs("\n  ", stdout);
    desk_style(k, stdout, "\033[1m");
    put_row(stdout, jv_str_at(a, "ask"), GLYPH_LINE, 2);
    desk_style(k, stdout, "\033[0m");
    putchar('\n');
    if (input) line(stdout, "input", input->raw, GLYPH_LINE);
    show_change(a);
    line(stdout, "asked by", jv_str_at(a, "owner"), GLYPH_LINE);
    show_ballot(a);
    line(stdout, "said", jv_str_at(a, "said"), GLYPH_QUOTED);
    line(stdout, "thread", jv_str_at(a, "thread"), GLYPH_LINE);
    line(stdout, "id", jv_str_at(a, "id"), GLYPH_LINE);
}

/* --- answering -------------------------------------------------------------------- */

static enum choice choice_of(struct str s)
{
    if (str_is(s, "y") || str_is(s, "yes")) return CHOICE_YES;
    if (str_is(s, "n") || str_is(s, "no")) return CHOICE_NO;
    if (str_is(s, "s")) return CHOICE_LATER;
    return str_is(s, "q") ? CHOICE_END : CHOICE_UNCLEAR;
}

enum choice desk_choose(void)
{
    struct buf  line;
    enum choice said = CHOICE_UNCLEAR;

    buf_init(&line, CHOICE_MAX);
    fflush(stdout); /* now the question is on the screen, and what is typed from here on counts */
    while (said == CHOICE_UNCLEAR) {
        keys_forget();
        fputs("  yes or no? [y, n; s: later, q: end] ", stdout);
        fflush(stdout);
        if (keys_line(&line) != KEYS_LINE) said = CHOICE_END;
        else if (!line.err) said = choice_of(buf_view(&line));
    }
    buf_done(&line);
    return said;
}

/* Of several that are needed: how many there are. */
static void show_votes(const struct jv *answer)
{
    const struct jv *votes = jv_get(answer, "votes"), *needed = jv_get(answer, "needed");

    if (!jv_is(votes, JSON_ARRAY) || !jv_is(needed, JSON_NUMBER)) return;
    printf("  %-9s%u of ", "yeses", votes->count);
    desk_put(stdout, needed->raw, GLYPH_LINE);
    putchar('\n');
}

bool desk_decide(struct desk *k, struct str id, bool yes)
{
    char       *escaped = curl_easy_escape(NULL, id.ptr, (int)id.len);
    struct str  path = arena_printf(&k->arena, "/v1/approvals/%s", escaped ? escaped : "");
    const char *body = yes ? "{\"confirmed\":true}" : "{\"confirmed\":false}";
    long        status = 0;
    struct jv  *answer = path.ptr && escaped ? desk_ask(k, path.ptr, body, &status) : NULL;

    curl_free(escaped);
    if (answer && status == 200) {
        line(stdout, "now", jv_str_at(answer, "status"), GLYPH_LINE);
        show_votes(answer);
        return !str_is(jv_str_at(answer, "status"), "pending");
    }
    k->troubles++;
    if (answer) {
        fprintf(stderr, "  not taken: ");
        desk_put(stderr, jv_str_at(jv_get(answer, "error"), "message"), GLYPH_LINE);
        fputc('\n', stderr);
    }
    return status == 404 || status == 409 || status == 410;
}
