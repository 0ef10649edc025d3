/* audit.c -- `parley audit verify|export|show`: the record, without a server, also while one
 * runs. */
#include <string.h>
#include <unistd.h>

#include "audit/export.h"
#include "audit/verify.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/assembly.h"
#include "cli/cli.h"
#include "cli/desk.h"

#define FILE_BYTES_MAX (1 << 30)
/* exit status, beside 0 (as recorded), 1 (not) and 2 (usage) */
#define UNREAD    3 /* nothing can be said */
#define UNCHECKED 4 /* nothing was found wrong, and something was not looked at */

struct inspection {
    struct cli_line     line;
    struct config       config;
    struct config_error problems;
    struct arena        arena;
};

/* --- what all share ------------------------------------------------------------------ */

static int unread(struct inspection *k, struct str why)
{
    cli_far_end();
    fputs("parley: the record could not be read: ", stderr);
    desk_put(stderr, why, GLYPH_LINE);
    fputs(".\n", stderr);
    return UNREAD;
}

static bool read_file(struct inspection *k, const char *path, struct str *out)
{
    struct buf b;

    buf_init(&b, FILE_BYTES_MAX);
    const char *why = file_read(path, &b);
    *out = why ? STR_NONE : arena_dup(&k->arena, buf_view(&b));
    buf_done(&b);
    if (!out->ptr) cli_fail("cannot read %s: %s", path, why ? why : "out of memory");
    return out->ptr != NULL;
}

/* --- verify -------------------------------------------------------------------------- */

static void on_found(void *ctx, struct str sentence)
{
    (void)ctx;
    cli_far_end();
    desk_put(stdout, sentence, GLYPH_LINE);
    putchar('\n');
}

static void on_doubt(void *ctx, struct str sentence)
{
    cli_far_end();
    fputs("note: ", stdout);
    on_found(ctx, sentence);
}

/* The keys of the file that was named, else the server's own. */
static bool read_keys(struct inspection *k, struct sign_keys *keys)
{
    const char *why;
    struct str  pem = k->config.audit.key;

    if (k->line.public && !read_file(k, k->line.public, &pem)) return false;
    if (!k->line.public && !pem.len) return true;
    if (sign_keys_read(keys, pem, &why) == OK) return true;
    cli_fail("the key of %s cannot be used: %s", k->line.public ? k->line.public : "\"audit.key\"",
             why);
    return false;
}

static unsigned note(bool so, const char *what)
{
    if (so) printf("note: %s\n", what);
    return so;
}

/* What was not looked at, though it is there or was asked for; how much of that there is. */
static unsigned tell_unchecked(const struct verify *v, const struct sign_keys *keys)
{
    bool     any = v->checkpoints || v->kept_count;
    unsigned n = 0;

    n += note(!v->logs && !v->stubs, "there is no conversation in the store: nothing was compared");
    n += v->unvouched > 0; /* told above */
    n += note(any && !keys->count,
              "no key was given, so no signature was looked at (--public, or \"audit.key\")");
    n += note(!any && keys->count, "there is no checkpoint, so no signature was looked at");
    return n;
}

static int tell(const struct verify *v, const struct sign_keys *keys)
{
    printf("%llu conversations with %llu facts, %llu removed ones, %llu checkpoints with %llu "
           "heads: ",
           (unsigned long long)v->logs, (unsigned long long)v->facts, (unsigned long long)v->stubs,
           (unsigned long long)v->checkpoints, (unsigned long long)v->heads);
    if (v->problems) printf("%llu problems\n", (unsigned long long)v->problems);
    else puts("all is as it was recorded");
    if (v->before)
        printf("note: before the chain began: %llu facts, not covered by it; their checksums were "
               "compared, and nothing ties them to those after them\n",
               (unsigned long long)v->before);
    if (v->trimmed > v->unvouched)
        printf("note: %llu facts lost words by their age (\"retention\"), as the server signed\n",
               (unsigned long long)(v->trimmed - v->unvouched));
    if (v->unvouched)
        printf("note: %llu facts lost words, and %s: whether parley took them out by their age or "
               "somebody who can write the store did, and what stood there, cannot be known\n",
               (unsigned long long)v->unvouched,
               keys->count ? "no signature says so (an earlier version signed none, nor does a "
                             "server without \"audit.key\")"
                           : "no key was given to look at signatures (--public, or \"audit.key\")");
    if (v->undated)
        printf("note: %llu erased conversations do not say when they were made (an earlier version "
               "of parley erased them); what the store says of that is not covered\n",
               (unsigned long long)v->undated);
    if (v->checkpoints && v->ahead)
        printf("note: %llu conversations went on since a checkpoint noted them, or none did yet: "
               "what is new in them is compared with its links alone\n",
               (unsigned long long)v->ahead);
    unsigned unchecked = tell_unchecked(v, keys);
    note(
        !v->kept_count,
        "no checkpoint from elsewhere was given (--checkpoint), so a store that was made anew as a "
        "whole would not be noticed");
    return v->problems ? 1 : unchecked ? UNCHECKED : 0;
}

/* Were there any in the file that was named? */
static bool holds_any(const struct inspection *k, bool any)
{
    if (k->line.checkpoint && !any) cli_fail("%s holds no checkpoint", k->line.checkpoint);
    return !k->line.checkpoint || any;
}

static int verify(struct inspection *k)
{
    struct sign_keys keys = { 0 };
    struct verify    v = {
           .keys = &keys, .found = on_found, .doubt = on_doubt, .far = cli_far, .ctx = k
    };
    struct str why;
    int        status = UNREAD;

    if ((k->line.checkpoint && !read_file(k, k->line.checkpoint, &v.kept)) || !read_keys(k, &keys))
        goto out;
    if (!holds_any(k, str_trim(v.kept).len > 0)) goto out;
    if (verify_store(&v, k->config.store, &k->arena, &why)) {
        status = unread(k, why);
        goto out;
    }
    cli_far_end();
    if (holds_any(k, v.kept_count > 0)) status = tell(&v, &keys);
out:
    sign_keys_done(&keys);
    return status;
}

/* --- export -------------------------------------------------------------------------- */

static bool write_line(void *ctx, struct str line)
{
    (void)ctx;
    return desk_json(line);
}

static int export(struct inspection *k)
{
    struct export x = { .line = write_line, .ctx = k };
    struct str why;
    enum err   e;

    if (k->line.count > 1) x.thread = str_c(k->line.words[1]);
    if (!isatty(STDOUT_FILENO)) x.far = cli_far;
    e = export_store(&x, k->config.store, &k->arena, &why);
    if (e == ERR_CLOSED) return 1; /* main says that the output could not be written */
    if (e) return unread(k, why);
    cli_far_end();
    if (k->line.count > 1 && !x.logs && !x.stubs) {
        cli_fail("there is no conversation %s", k->line.words[1]);
        return 1;
    }
    return 0;
}

/* --- show ---------------------------------------------------------------------------- */

static void show_stub(struct inspection *k, const struct jv *line)
{
    struct jv *body = NULL;
    char       at[CLOCK_RFC3339_LEN + 1];

    clock_rfc3339(jv_int_at(line, "removed_ms", 0), at);
    printf("%s at %s", str_is(jv_str_at(line, "kind"), "erased") ? "erased" : "removed", at);
    if (json_parse(&k->arena, jv_str_at(line, "body"), &body, NULL)) body = NULL;
    if (jv_str_at(body, "by").len)
        fputs(" by ", stdout), desk_put(stdout, jv_str_at(body, "by"), GLYPH_LINE);
    putchar('\n');
    JV_EACH (c, jv_get(body, "calls")) {
        printf("call\n");
        desk_members(c, "", 2);
    }
}

static bool show_line(void *ctx, struct str text)
{
    struct inspection *k = ctx;
    struct jv         *line = NULL;
    struct str         kept = arena_dup(&k->arena, text);
    struct str         type;

    if (!kept.ptr || json_parse(&k->arena, kept, &line, NULL)) return false;
    type = jv_str_at(line, "type");
    if (str_is(type, "log") || str_is(type, "stub")) {
        fputs("conversation ", stdout);
        desk_put(stdout, jv_str_at(line, "thread"), GLYPH_LINE);
        fputs(" of ", stdout);
        desk_put(stdout, jv_str_at(line, "owner"), GLYPH_LINE);
        printf(", %lld facts, head ", (long long)jv_int_at(line, "seq", 0));
        desk_put(stdout, jv_str_at(line, "head"), GLYPH_LINE);
        putchar('\n');
    }
    if (str_is(type, "stub")) show_stub(k, line);
    if (str_is(type, "call")) {
        puts("call");
        desk_members(line, "", 2);
    }
    arena_reset(&k->arena);
    return !ferror(stdout);
}

static int show(struct inspection *k)
{
    struct arena a;
    struct export x = { .thread = str_c(k->line.words[1]), .line = show_line, .ctx = k };
    struct str why;
    enum err   e;

    arena_init(&a, 0);
    e = export_store(&x, k->config.store, &a, &why);
    int status = e == ERR_CLOSED ? 1 : e ? unread(k, why) : x.logs || x.stubs ? 0 : 1;
    if (!e && status) cli_fail("there is no conversation %s", k->line.words[1]);
    arena_done(&a);
    return status;
}

/* ------------------------------------------------------------------------------------- */

static int usage(void)
{
    fprintf(stderr,
            "parley: audit takes \"verify\", \"export [THREAD]\" or \"show THREAD\"; parley "
            "--help shows how.\n");
    return 2;
}

int cli_audit(int argc, char **argv)
{
    static struct inspection k;
    int (*run)(struct inspection *) = NULL;

    if (!cli_read(argc, argv, "cshb", 2, &k.line)) return 2;
    const char *what = k.line.count ? k.line.words[0] : "";
    if (strcmp(what, "verify") == 0 && k.line.count == 1) run = verify;
    if (strcmp(what, "export") == 0) run = export;
    if (strcmp(what, "show") == 0 && k.line.count == 2) run = show;
    if (!run || ((k.line.checkpoint || k.line.public) && run != verify)) return usage();
    if (config_load_flags(&k.config, &k.line.flags, &k.problems)) {
        config_error_print(&k.problems, stderr);
        return UNREAD;
    }
    arena_init(&k.arena, 0);
    int status = run(&k);
    arena_done(&k.arena);
    config_done(&k.config);
    return status;
}
