/* check.c -- `parley check`: is this configuration right, and what does it mean?
 *
 * It looks at the machine as `serve` does, too (is the program there, can the keys be read), and
 * starts nothing.
 */
#include "cli/assembly.h"
#include "cli/cli.h"

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
    bool good = assembly_try(&c, &e);
    if (good) {
        config_explain(&c, stdout);
        assembly_absent(&c, stdout);
    } else config_error_print(&e, stderr);
    config_done(&c);
    return good ? 0 : 1;
}
