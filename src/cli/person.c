/* person.c -- `parley people export|erase NAME`: what a person may ask for.
 *
 * Export reads the store itself, also while a server runs. Erase is asked of the server, which has
 * conversations in memory and tools under way; it goes on from where it was when it is asked again.
 */
#include <string.h>

#include "audit/export.h"
#include "cli/cli.h"
#include "cli/desk.h"

static bool write_line(void *ctx, struct str line)
{
    (void)ctx;
    return desk_json(line);
}

static int export(const struct cli_line *line)
{
    struct config       config;
    struct config_error problems = { 0 };
    struct export x = { .person = str_c(line->words[1]), .line = write_line, .far = cli_far };
    struct arena arena;
    struct str   why;

    if (config_load_flags(&config, &line->flags, &problems)) {
        config_error_print(&problems, stderr);
        return 1;
    }
    arena_init(&arena, 0);
    enum err e = export_store(&x, config.store, &arena, &why);
    cli_far_end();
    if (e && e != ERR_CLOSED) cli_fail("the store could not be read: " STR_FMT ".", STR_ARG(why));
    arena_done(&arena);
    config_done(&config);
    return e ? 1 : 0;
}

/* One part of it. False: it did not work, and was said why. */
static bool erase_some(struct desk *server, const char *path, int64_t *logs, int64_t *stubs,
                       bool *left)
{
    long       status = 0;
    struct jv *answer = desk_ask(server, path, "{}", &status);

    if (!answer) return false;
    if (status != 200) {
        desk_refused(answer, status);
        return false;
    }
    *logs += jv_int_at(answer, "conversations", 0);
    *stubs += jv_int_at(answer, "stubs", 0);
    *left = !jv_true(jv_get(answer, "done"));
    return true;
}

/* Where they are erased. A name may be anything, also "corp/ann" or "..": it is one segment. NULL:
 * no memory. */
static const char *address(struct arena *a, const char *name)
{
    struct buf b;

    buf_init(&b, 0);
    buf_lit(&b, "/v1/people/");
    for (; *name; name++) buf_printf(&b, "%%%02X", (unsigned char)*name);
    buf_lit(&b, "/erase");
    struct str path = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return path.ptr;
}

static int erase(const struct cli_line *line)
{
    struct desk server;
    int64_t     logs = 0, stubs = 0;
    bool        left = true;

    desk_init(&server, line->count > 2 ? line->words[2] : NULL);
    const char *path = address(&server.arena, line->words[1]);
    bool        good = path != NULL;
    while (left && good) good = erase_some(&server, path, &logs, &stubs, &left);
    printf("%lld conversations deleted, the name taken out of %lld stubs%s\n", (long long)logs,
           (long long)stubs, good ? "" : "; it is not done: the same command goes on");
    desk_done(&server);
    return good ? 0 : 1;
}

/* "" would be everybody's or nobody's, and neither was meant. */
static bool is_name(const char *name)
{
    if (config_principal_fits(str_c(name))) return true;
    fprintf(stderr,
            "parley: nobody can be called that: a name has 1 to %d bytes of UTF-8 and no control "
            "characters.\n",
            PRINCIPAL_MAX);
    return false;
}

int cli_people(int argc, char **argv)
{
    struct cli_line line;

    if (!cli_read(argc, argv, "cs", 3, &line)) return 2;
    const char *what = line.count ? line.words[0] : "";
    bool        exports = strcmp(what, "export") == 0 && line.count == 2;
    bool        erases =
        strcmp(what, "erase") == 0 && line.count >= 2 && !line.flags.path && !line.flags.store;
    if (exports || erases)
        return !is_name(line.words[1]) ? 2 : exports ? export(&line) : erase(&line);
    fprintf(stderr, "parley: people takes \"export NAME\" or \"erase NAME [URL]\"; parley --help "
                    "shows how.\n");
    return 2;
}
