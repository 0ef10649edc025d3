/* move.c -- `parley move --from URL --to URL`: every conversation into another store.
 *
 * An address may be env:NAME or file:PATH, because one with a password does not belong into a
 * command line, which others can see.
 */
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "store/store.h"

#define TELL_MS 5000 /* between two lines in a log file */

struct telling {
    bool        shown; /* a line on the terminal that is written over */
    const char *what;
    uint64_t    told_ms;
};

static void show(void *ctx, const char *what, uint64_t done, uint64_t all)
{
    struct telling *t = ctx;
    unsigned        percent = all ? (unsigned)(done >= all ? 100 : done * 100 / all) : 100;
    bool            screen = isatty(STDERR_FILENO);

    if (!screen && t->what == what && clock_mono_ms() - t->told_ms < TELL_MS) return;
    fprintf(stderr, "%s%llu of %llu rows %s, %u %%%s",
            screen ? "\r" : "parley: ", (unsigned long long)done, (unsigned long long)all, what,
            percent, screen ? "   " : "\n");
    t->shown = screen;
    t->what = what;
    t->told_ms = clock_mono_ms();
}

/* False: said why. */
static bool address(struct config *c, const char *option, const char *word, struct str *out)
{
    struct config_error problems;

    if (!word)
        fprintf(stderr,
                "parley: move needs --from and --to, as in parley move --from sqlite:parley.db "
                "--to env:PARLEY_STORE.\n");
    else if (config_address(c, option, word, out, &problems)) config_error_print(&problems, stderr);
    else return true;
    return false;
}

static void tell_end(const struct store_moved *did)
{
    printf("%llu conversations of " STR_FMT " are in " STR_FMT "%s:\n",
           (unsigned long long)did->lists[0].rows, STR_ARG(did->from), STR_ARG(did->to),
           did->before    ? ", as an earlier move left them"
           : did->resumed ? ", after a move that was cut off"
                          : "");
    for (int i = 0; i < STORE_LISTS; i++)
        printf("  %-17s %10llu\n", did->lists[i].name, (unsigned long long)did->lists[i].rows);
    printf("  both read again and compared: digest %s\n", did->digest);
    if (did->damaged)
        printf("  damaged, as in the source: %llu facts or approvals\n",
               (unsigned long long)did->damaged);
    printf("The source is as it was. Start no server on it any more: what waits for a yes there "
           "waits here, too.\n");
}

static int run(struct store_move *move)
{
    struct arena       arena;
    struct store_moved did;
    struct telling     telling = { 0 };
    struct str         why = STR_NONE;

    arena_init(&arena, 0);
    move->far = show;
    move->ctx = &telling;
    enum err e = store_move(move, &arena, &did, &why);
    if (telling.shown) fprintf(stderr, "\r%60s\r", "");
    if (e) cli_fail("nothing was moved: " STR_FMT ".", STR_ARG(why));
    else tell_end(&did);
    arena_done(&arena);
    return e ? 1 : 0;
}

int cli_move(int argc, char **argv)
{
    static struct config from, to;
    struct cli_line      line;
    int                  status = 2;

    if (!cli_read(argc, argv, "ftna", 0, &line)) return 2;
    struct store_move move = { .anew = line.anew, .anyway = line.anyway };
    if (address(&from, "--from", line.from, &move.from) && address(&to, "--to", line.to, &move.to))
        status = run(&move);
    config_done(&from);
    config_done(&to);
    return status;
}
