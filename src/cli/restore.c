/* restore.c -- `parley restore FILE`: a backup takes the store's place, while no server runs. */
#include "cli/cli.h"
#include "store/store.h"

int cli_restore(int argc, char **argv)
{
    struct cli_line       line;
    struct config         config;
    struct config_error   problems = { 0 };
    struct arena          arena;
    struct store_restored did;
    struct str            why = STR_NONE;

    if (!cli_read(argc, argv, "csa", 1, &line)) return 2;
    if (line.count != 1) {
        fprintf(stderr, "parley: restore needs the backup's file; parley --help shows how.\n");
        return 2;
    }
    if (config_load_flags(&config, &line.flags, &problems)) {
        config_error_print(&problems, stderr);
        return 1;
    }
    arena_init(&arena, 0);
    enum err e = store_restore(config.store, str_c(line.words[0]), line.anyway, &arena, &did, &why);
    if (e) {
        cli_fail("cannot restore: " STR_FMT ".", STR_ARG(why));
    } else {
        printf("restored %llu conversations from %s to " STR_FMT "\n",
               (unsigned long long)did.threads, line.words[0], STR_ARG(did.path));
        if (did.damaged)
            printf(
                "damaged in it: %llu conversations or their approvals; they are answered as such\n",
                (unsigned long long)did.damaged);
        if (did.kept.ptr) printf("what was there is kept as " STR_FMT "\n", STR_ARG(did.kept));
        printf(
            "Approvals decided after the backup are pending again in it, effects carried out "
            "since then are free again, and grants have what was taken from them since (a revoked "
            "one is open again): check what was really done before you say yes or let anybody "
            "call.\n");
    }
    arena_done(&arena);
    config_done(&config);
    return e ? 1 : 0;
}
