/* person.c -- `parley people export|erase NAME`: what a person may ask for.
 *
 * Export reads the store itself, also while a server runs. Erase is asked of the server, which has
 * conversations in memory and tools under way; it goes on from where it was when it is asked again.
 */
#include <curl/curl.h>
#include <string.h>

#include "audit/export.h"
#include "cli/cli.h"
#include "cli/desk.h"

static bool write_line(void *ctx, struct str line)
{
    (void)ctx;
    return fwrite(line.ptr, 1, line.len, stdout) == line.len && putchar('\n') != EOF;
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
    if (e && e != ERR_CLOSED)
        fprintf(stderr, "parley: the store could not be read: " STR_FMT ".\n", STR_ARG(why));
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

static int erase(const struct cli_line *line)
{
    struct desk server;
    int64_t     logs = 0, stubs = 0;
    bool        left = true, good = true;
    char       *name = curl_easy_escape(NULL, line->words[1], 0);

    desk_init(&server, line->count > 2 ? line->words[2] : NULL);
    struct str path = arena_printf(&server.arena, "/v1/people/%s/erase", name ? name : "");
    while (name && path.ptr && left && good)
        good = erase_some(&server, path.ptr, &logs, &stubs, &left);
    printf("%lld conversations deleted, the name taken out of %lld stubs%s\n", (long long)logs,
           (long long)stubs, good ? "" : "; it is not done: the same command goes on");
    curl_free(name);
    desk_done(&server);
    return good ? 0 : 1;
}

int cli_people(int argc, char **argv)
{
    struct cli_line line;

    if (!cli_read(argc, argv, "cs", 3, &line)) return 2;
    const char *what = line.count ? line.words[0] : "";
    if (strcmp(what, "export") == 0 && line.count == 2) return export(&line);
    if (strcmp(what, "erase") == 0 && line.count >= 2 && !line.flags.path && !line.flags.store)
        return erase(&line);
    fprintf(stderr, "parley: people takes \"export NAME\" or \"erase NAME [URL]\"; parley --help "
                    "shows how.\n");
    return 2;
}
