/* check.c -- `parley check`: is this configuration right, and what does it mean?
 *
 * It looks at the machine as `serve` does, too (is the program there, can the keys be read), and
 * starts nothing.
 */
#include "cli/assembly.h"
#include "cli/cli.h"

/* What exec tools lack here, also where they go on without it: by the machine, or by the limits
 * that this very process was started with (a unit file, a container). */
static void say_lacks(const struct buf *lacks)
{
    struct str rest = buf_view(lacks), line;

    while (str_split(&rest, '\n', &line))
        if (line.len) printf("%-10s " STR_FMT "\n", "warning", STR_ARG(line));
}

int cli_check(int argc, char **argv)
{
    struct cli_line     line;
    struct config_error e = { 0 };
    struct config       c;
    if (!cli_read(argc, argv, "cs", 0, &line)) return 2;
    if (config_load_flags(&c, &line.flags, &e)) {
        config_error_print(&e, stderr);
        return 1;
    }
    struct buf lacks;
    buf_init(&lacks, 4096);
    bool good = assembly_try(&c, &e, &lacks);
    if (good) {
        config_explain(&c, stdout);
        assembly_absent(&c, stdout);
        say_lacks(&lacks);
    } else config_error_print(&e, stderr);
    buf_done(&lacks);
    config_done(&c);
    return good ? 0 : 1;
}
