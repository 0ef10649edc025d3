/* inbox.c -- `parley approvals [URL]`: what waits for a person on a running server, and on a
 * terminal a y or n to each.
 *
 * Words of models, tools and people are shown so that all of them is seen and none of them does
 * anything to the terminal (glyph_show). What is typed before a question is on the screen does not
 * count as an answer to it, and only a whole "y" or "yes" is a yes. The server decides whether the
 * answer counts; this asks by the same door as everybody.
 */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/glyph.h"
#include "base/json.h"
#include "cli/cli.h"
#include "loop/curl.h"

#define DEFAULT_URL "http://127.0.0.1:8000"
#define ANSWER_MAX  (64u * 1024 * 1024) /* of the server; 500 requests with large inputs fit */
#define WAIT_MS     30000L
#define LIST        "/v1/approvals?status=pending&limit=500"

struct desk {
    struct str   base;   /* the server's address, no slash at its end */
    bool         screen; /* somebody is there to answer, and sees colours */
    struct arena arena;
    unsigned     troubles;
};

/* --- asking the server ------------------------------------------------------------ */

static size_t keep(char *bytes, size_t size, size_t count, void *ctx)
{
    struct buf *b = ctx;

    buf_add(b, bytes, size * count);
    return b->err ? 0 : size * count;
}

/* PARLEY_KEY: a bearer key, or the token of the start. Not an argument: others see those. */
static struct curl_slist *headers(struct desk *k)
{
    const char        *key = getenv("PARLEY_KEY");
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

    if (list && key && *key) {
        struct str line = arena_printf(&k->arena, "Authorization: Bearer %s", key);
        if (line.ptr) curl_slist_append(list, line.ptr);
    }
    return list;
}

/* The server's answer as a tree, also when it is a refusal; NULL: said why. `body` NULL: GET. */
static struct jv *ask(struct desk *k, const char *path, const char *body, long *status)
{
    char               why[CURL_ERROR_SIZE] = "out of memory";
    struct str         url = arena_printf(&k->arena, STR_FMT "%s", STR_ARG(k->base), path);
    CURL              *h = curl_easy_new(false);
    struct curl_slist *list = headers(k);
    struct buf         answer;
    struct jv         *tree = NULL;
    CURLcode           e = CURLE_OUT_OF_MEMORY;

    buf_init(&answer, ANSWER_MAX);
    if (h && list && url.ptr) {
        why[0] = '\0';
        curl_easy_setopt(h, CURLOPT_URL, url.ptr);
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
        fprintf(stderr, "parley: " STR_FMT " does not answer: %s\n", STR_ARG(k->base),
                why[0] ? why : curl_easy_strerror(e));
    else if (json_parse(&k->arena, text, &tree, NULL) || !jv_is(tree, JSON_OBJECT)) {
        tree = NULL;
        fprintf(stderr, "parley: " STR_FMT " answered %ld, not as a parley does.\n",
                STR_ARG(k->base), *status);
    }
    buf_done(&answer);
    curl_slist_free_all(list);
    curl_easy_cleanup(h);
    return tree;
}

/* --- showing ---------------------------------------------------------------------- */

static void put(FILE *out, struct str s, enum glyph_way way)
{
    struct buf safe;

    buf_init(&safe, 0);
    glyph_show(&safe, s, way);
    if (safe.err) fputs("(out of memory)", out);
    else fwrite(safe.ptr ? safe.ptr : "", 1, safe.len, out);
    buf_done(&safe);
}

static void put_line(const char *name, struct str s, enum glyph_way way)
{
    if (!s.len) return;
    printf("  %-9s", name);
    put(stdout, s, way);
    putchar('\n');
}

static void show(const struct desk *k, const struct jv *a, size_t number, size_t all)
{
    const struct jv *input = jv_get(a, "input");
    bool             high = str_is(jv_str_at(a, "risk"), "high");

    printf("%zu of %zu  ", number, all);
    put(stdout, jv_str_at(a, "tool"), GLYPH_LINE);
    if (high) fputs(k->screen ? "  \033[31mhigh risk\033[0m" : "  high risk", stdout);
    fputs(k->screen ? "\n  \033[1m" : "\n  ", stdout);
    put(stdout, jv_str_at(a, "ask"), GLYPH_LINE);
    puts(k->screen ? "\033[0m" : "");
    if (input) put_line("input", input->raw, GLYPH_LINE);
    put_line("said", jv_str_at(a, "said"), GLYPH_QUOTED);
    put_line("thread", jv_str_at(a, "thread"), GLYPH_LINE);
    put_line("id", jv_str_at(a, "id"), GLYPH_LINE);
}

/* --- answering -------------------------------------------------------------------- */

enum choice { YES, NO, LATER, END };

static enum choice choose(void)
{
    char line[64];

    for (;;) {
        fputs("  yes or no? [y, n; s: later, q: end] ", stdout);
        fflush(stdout);
        (void)tcflush(STDIN_FILENO, TCIFLUSH); /* typed for something else */
        if (!fgets(line, sizeof line, stdin)) return END;
        size_t len = strcspn(line, "\n");
        if (!line[len]) { /* longer than any answer, and its end is none either */
            for (int c; (c = getchar()) != '\n' && c != EOF;) continue;
            continue;
        }
        line[len] = '\0';
        if (strcmp(line, "y") == 0 || strcmp(line, "yes") == 0) return YES;
        if (strcmp(line, "n") == 0 || strcmp(line, "no") == 0) return NO;
        if (strcmp(line, "s") == 0) return LATER;
        if (strcmp(line, "q") == 0) return END;
    }
}

static void decide(struct desk *k, struct str id, bool yes)
{
    char       *escaped = curl_easy_escape(NULL, id.ptr, (int)id.len);
    struct str  path = arena_printf(&k->arena, "/v1/approvals/%s", escaped ? escaped : "");
    const char *body = yes ? "{\"confirmed\":true}" : "{\"confirmed\":false}";
    long        status = 0;
    struct jv  *answer = path.ptr && escaped ? ask(k, path.ptr, body, &status) : NULL;

    curl_free(escaped);
    if (answer && status == 200) {
        put_line("now", jv_str_at(answer, "status"), GLYPH_LINE);
        return;
    }
    k->troubles++;
    if (answer) {
        fprintf(stderr, "  not taken: ");
        put(stderr, jv_str_at(jv_get(answer, "error"), "message"), GLYPH_LINE);
        fputc('\n', stderr);
    }
}

/* The oldest first: they have waited longest. */
static void go_through(struct desk *k, const struct jv *list)
{
    for (size_t i = list->count; i-- > 0;) {
        const struct jv *a = jv_at(list, i);
        show(k, a, list->count - i, list->count);
        if (!k->screen) continue;
        enum choice c = choose();
        if (c == END) return;
        if (c != LATER) decide(k, jv_str_at(a, "id"), c == YES);
    }
}

int cli_approvals(int argc, char **argv)
{
    struct cli_line line;
    struct desk     k = { .screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) };
    long            status = 0;

    if (!cli_read(argc, argv, "", 1, &line)) return 2;
    k.base = str_c(line.count ? line.words[0] : DEFAULT_URL);
    while (str_ends(k.base, STR("/"))) k.base.len--;
    arena_init(&k.arena, 0);
    struct jv       *answer = ask(&k, LIST, NULL, &status);
    const struct jv *list = jv_get(answer, "approvals");
    if (answer && !jv_is(list, JSON_ARRAY)) {
        fputs("parley: ", stderr);
        put(stderr, jv_str_at(jv_get(answer, "error"), "message"), GLYPH_LINE);
        fprintf(stderr, " (%ld)%s\n", status, status == 401 ? " Set PARLEY_KEY to your key." : "");
    } else if (answer && !list->count) puts("nothing waits");
    else if (answer) go_through(&k, list);
    bool good = jv_is(list, JSON_ARRAY) && !k.troubles; /* the list lives in the arena */
    arena_done(&k.arena);
    return good ? 0 : 1;
}
