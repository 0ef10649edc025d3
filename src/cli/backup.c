/* backup.c -- `parley backup FILE`: the store as it is now, in a file of its own, while the server
 * runs. */
#include "cli/cli.h"
#include "store/store.h"

static void show(void *ctx, unsigned done, unsigned all)
{
    cli_far(ctx, done, all);
}

int cli_backup(int argc, char **argv)
{
    struct cli_line        line;
    struct config          config;
    struct config_error    problems = { 0 };
    struct arena           arena;
    struct store_backed_up did;
    struct str             why = STR_NONE;

    if (!cli_read(argc, argv, "csa", 1, &line)) return 2;
    if (line.count != 1) {
        fprintf(stderr, "parley: backup needs the file to write; parley --help shows how.\n");
        return 2;
    }
    if (config_load_flags(&config, &line.flags, &problems)) {
        config_error_print(&problems, stderr);
        return 1;
    }
    arena_init(&arena, 0);
    struct store_watch watch = { show, NULL };
    enum err           e =
        store_backup(config.store, str_c(line.words[0]), line.anyway, &watch, &arena, &did, &why);
    cli_far_end();
    if (e) {
        cli_fail("no backup was made: " STR_FMT ".", STR_ARG(why));
    } else {
        printf("%llu conversations of " STR_FMT
               " are in %s (%llu bytes), read again and compared\n",
               (unsigned long long)did.threads, STR_ARG(did.from), line.words[0],
               (unsigned long long)did.bytes);
        if (did.damaged)
            printf("damaged in it, as in the store: %llu conversations or their approvals\n",
                   (unsigned long long)did.damaged);
    }
    arena_done(&arena);
    config_done(&config);
    return e ? 1 : 0;
}
