/* check.c -- `parley check`: is this configuration right, and what does it mean?
 *
 * It looks at the machine as `serve` does, too (is the program there, can the keys be read), and starts nothing.
 */
#include "cli.h"
#include "kit.h"

static void on_freed(void *ctx) { loop_stop(ctx); }

/* False: noted in `e`. */
static bool can_start(const struct config *c, struct config_error *e)
{
    static struct kit kit;
    struct loop       loop;

    if (loop_init(&loop)) {
        config_error_add(e, c, NULL, "out of memory");
        return false;
    }
    kit_try(&kit, c, &loop, e);
    kit_free(&kit, on_freed, &loop);
    loop_run(&loop);
    loop_done(&loop);
    return e->count == 0;
}

int cli_check(int argc, char **argv)
{
    struct cli_line     line;
    struct config_error e = { 0 };
    struct config       c;
    if (!cli_read(argc, argv, "c", 0, &line)) return 2;
    if (config_load_flags(&c, &line.flags, &e)) {
        config_error_print(&e, stderr);
        return 1;
    }
    bool good = can_start(&c, &e);
    if (good) config_explain(&c, stdout);
    else config_error_print(&e, stderr);
    config_done(&c);
    return good ? 0 : 1;
}
