/* show.c -- `parley show THREAD [STEP] [URL]`: why it did that. Every step of a conversation, from
 * the store (also while a server runs) or, with an address, from that server; with a number that
 * step alone and the request that the model was sent. */
#include <curl/curl.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/desk.h"
#include "run/basis.h"
#include "run/trace.h"
#include "store/walk.h"

struct showing {
    struct cli_line   line;
    struct str        thread;
    uint64_t          step;
    const char       *url;
    struct store_walk walk;
    struct arena      arena;
    struct fold       fold;
    struct log_name   log;
    struct str        basis_key, basis;
    enum err          err;
    bool              found;
};
#define SHOWING(w) LIST_ITEM(w, struct showing, walk)

/* --- from the store --------------------------------------------------------------------------- */

static bool on_log(struct store_walk *w, const struct walk_log *l)
{
    struct showing *k = SHOWING(w);
    /* the same name is another's conversation, too: what is shown is the newest */
    if (k->found) fold_done(&k->fold);
    fold_init(&k->fold);
    k->found = true;
    k->err = OK;
    k->log = (struct log_name){ arena_dup(&k->arena, l->log.owner),
                                arena_dup(&k->arena, l->log.thread) };
    return !k->arena.failed;
}

static bool on_fact(struct store_walk *w, const struct walk_log *l, const struct store_fact *f,
                    struct chain_mark m)
{
    struct showing *k = SHOWING(w);
    (void)l, (void)m;
    if (!k->err)
        k->err = fold_apply(&k->fold, &(struct stored_fact){ f->seq, f->at_ms, f->kind, f->body });
    return true;
}

static bool on_log_end(struct store_walk *w, const struct walk_log *l)
{
    struct showing    *k = SHOWING(w);
    const struct fact *x = k->step && !k->err ? trace_step(&k->fold, k->step) : NULL;
    (void)l;
    if (x && x->basis.len)
        k->basis_key = arena_printf(&k->arena, BASIS_KEY STR_FMT, STR_ARG(x->basis));
    return true;
}

static bool on_row(struct store_walk *w, struct str key, struct str body)
{
    struct showing *k = SHOWING(w);
    if (str_eq(key, k->basis_key)) k->basis = arena_dup(&k->arena, body);
    return true;
}

static bool complain(const char *what, struct str why)
{
    fprintf(stderr, "parley: %s", what);
    desk_put(stderr, why, GLYPH_LINE);
    fputc('\n', stderr);
    return false;
}

static bool read_store(struct showing *k, const struct config *c, struct buf *out)
{
    struct str why = STR_NONE;
    k->walk = (struct store_walk){ .thread = k->thread,
                                   .log = on_log,
                                   .fact = on_fact,
                                   .log_end = on_log_end,
                                   .rows = STR(BASIS_KEY),
                                   .row = on_row };
    if (store_walk(c->store, &k->walk, &k->arena, &why))
        return complain("the store could not be read: ", why);
    if (!k->found) return complain("there is no conversation ", k->thread);
    if (k->err) return complain("it is damaged in the store: ", k->thread);
    if (k->step && !trace_step(&k->fold, k->step))
        return complain("there is no such step in ", k->thread);
    trace_write(out, &k->fold, k->log, k->step, k->basis);
    return !out->err || complain("out of memory", STR_NONE);
}

/* --- showing ---------------------------------------------------------------------------------- */

static void show_said(const struct jv *said)
{
    JV_EACH (v, said)
        if (jv_str_at(v, "text").len) {
            printf("    %-18s ", "said");
            if (!str_is(jv_str_at(v, "type"), "text")) {
                putchar('(');
                desk_put(stdout, jv_str_at(v, "type"), GLYPH_LINE);
                fputs(") ", stdout);
            }
            desk_put(stdout, jv_str_at(v, "text"), GLYPH_LINE);
            putchar('\n');
        }
}

static void show_calls(const struct jv *calls)
{
    JV_EACH (c, calls) {
        puts("    call");
        desk_members(c, "", 6);
    }
}

/* The bytes as they went out when they go into a file; on a screen nothing of them acts. */
static void show_request(const struct jv *step)
{
    const struct jv *q = jv_get(step, "request");
    if (!q) return;
    if (jv_is(q, JSON_NULL)) {
        puts("    request            not kept: the step is older than this, or a summary");
        return;
    }
    printf("    request            %s, %zu bytes\n",
           jv_true(jv_get(q, "sent")) ? "sent" : "not sent anywhere; in OpenAI's form",
           jv_str_at(q, "body").len);
    desk_put(stdout, jv_str_at(q, "body"), GLYPH_TEXT);
    putchar('\n');
}

static void show_run(const struct jv *run)
{
    puts("run");
    desk_members(run, "", 2);
    show_calls(jv_get(run, "calls"));
    JV_EACH (s, jv_get(run, "steps")) {
        puts("  step");
        desk_members(s, "", 4);
        show_said(jv_get(s, "said"));
        show_calls(jv_get(s, "calls"));
        show_request(s);
    }
}

static void show(const struct jv *trace)
{
    fputs("conversation ", stdout);
    desk_put(stdout, jv_str_at(trace, "id"), GLYPH_LINE);
    fputs(" of ", stdout);
    desk_put(stdout, jv_str_at(trace, "owner"), GLYPH_LINE);
    putchar('\n');
    JV_EACH (r, jv_get(trace, "runs")) show_run(r);
}

/* --- the command ------------------------------------------------------------------------------ */

static int from_server(struct showing *k)
{
    struct desk d;
    long        status = 0;
    char       *name = curl_easy_escape(NULL, k->thread.ptr, (int)k->thread.len);
    desk_init(&d, k->url);
    struct str path = arena_printf(&d.arena, "/v1/threads/%s/trace", name ? name : "");
    if (k->step)
        path = arena_printf(&d.arena, STR_FMT "?step=%llu", STR_ARG(path),
                            (unsigned long long)k->step);
    struct jv *answer = path.ptr ? desk_ask(&d, path.ptr, NULL, &status) : NULL;
    bool       good = answer && status == 200;
    if (answer && !good) desk_refused(answer, status);
    if (good && k->line.json) good = desk_json(answer->raw);
    else if (good) show(answer);
    curl_free(name);
    desk_done(&d);
    return good ? 0 : 1;
}

static int from_store(struct showing *k)
{
    struct config       config;
    struct config_error problems;
    struct buf          out;
    struct jv          *trace = NULL;
    if (config_load_flags(&config, &k->line.flags, &problems)) {
        config_error_print(&problems, stderr);
        return 1;
    }
    arena_init(&k->arena, 0);
    buf_init(&out, 0);
    bool good = read_store(k, &config, &out);
    if (good && k->line.json) good = desk_json(buf_view(&out));
    else if (good && json_parse_own(&k->arena, buf_view(&out), &trace) == OK) show(trace);
    if (k->found) fold_done(&k->fold);
    buf_done(&out);
    arena_done(&k->arena);
    config_done(&config);
    return good ? 0 : 1;
}

int cli_show(int argc, char **argv)
{
    struct showing k = { 0 };
    int            at = 1;
    if (!cli_read(argc, argv, "csj", 3, &k.line)) return 2;
    if (k.line.count) k.thread = str_c(k.line.words[0]);
    if (at < k.line.count && str_to_u64(str_c(k.line.words[at]), &k.step) && k.step) at++;
    if (at < k.line.count && strstr(k.line.words[at], "://")) k.url = k.line.words[at++];
    if (!k.thread.len || at < k.line.count) {
        fputs("parley: show takes THREAD, and then, if wanted, the number of a step and a server's "
              "address; parley --help shows how.\n",
              stderr);
        return 2;
    }
    return k.url ? from_server(&k) : from_store(&k);
}
