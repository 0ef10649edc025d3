/* check.c -- `parley check`: is this configuration right, and what does it mean? */
#include <string.h>

#include "cli.h"

static const char **flag_slot(const char *word, const char *allowed, struct config_flags *out)
{
    if (strcmp(word, "--config") == 0 && strchr(allowed, 'c')) return &out->path;
    if (strcmp(word, "--listen") == 0 && strchr(allowed, 'l')) return &out->listen;
    if (strcmp(word, "--store") == 0 && strchr(allowed, 's')) return &out->store;
    return NULL;
}

bool cli_flags(int argc, char **argv, const char *allowed, struct config_flags *out)
{
    *out = (struct config_flags){ 0 };
    for (int i = 0; i < argc; i += 2) {
        const char **slot = flag_slot(argv[i], allowed, out);
        if (!slot) { fprintf(stderr, "parley: \"%s\" is not an option here; parley --help lists them.\n", argv[i]); return false; }
        if (i + 1 >= argc) { fprintf(stderr, "parley: %s needs a value after it.\n", argv[i]); return false; }
        *slot = argv[i + 1];
    }
    return true;
}

int cli_check(int argc, char **argv)
{
    struct config_flags flags;
    struct config_error e = { 0 };
    struct config       c;
    if (!cli_flags(argc, argv, "c", &flags)) return 2;
    if (config_load_flags(&c, &flags, &e)) {
        config_error_print(&e, stderr);
        return 1;
    }
    config_explain(&c, stdout);
    config_done(&c);
    return 0;
}
