/* cli.c -- reading a command's line: options anywhere, words in order. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/glyph.h"
#include "cli/cli.h"

void cli_fail(const char *fmt, ...)
{
    char      *text = NULL;
    va_list    args;
    struct buf safe;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    va_end(args);
    buf_init(&safe, 0);
    glyph_show(&safe, str_c(text ? text : "out of memory"), GLYPH_LINE);
    fprintf(stderr, "parley: %.*s\n", (int)safe.len, safe.ptr ? safe.ptr : "");
    buf_done(&safe);
    free(text);
}

static const char **flag_slot(const char *word, const char *allowed, struct cli_line *out)
{
    if (strcmp(word, "--config") == 0 && strchr(allowed, 'c')) return &out->flags.path;
    if (strcmp(word, "--listen") == 0 && strchr(allowed, 'l')) return &out->flags.listen;
    if (strcmp(word, "--store") == 0 && strchr(allowed, 's')) return &out->flags.store;
    if (strcmp(word, "--url") == 0 && strchr(allowed, 'u')) return &out->url;
    if (strcmp(word, "--page") == 0 && strchr(allowed, 'p')) return &out->page;
    if (strcmp(word, "--from") == 0 && strchr(allowed, 'f')) return &out->from;
    if (strcmp(word, "--to") == 0 && strchr(allowed, 't')) return &out->to;
    if (strcmp(word, "--as") == 0 && strchr(allowed, 'w')) return &out->as;
    if (strcmp(word, "--claims") == 0 && strchr(allowed, 'w')) return &out->claims;
    if (strcmp(word, "--checkpoint") == 0 && strchr(allowed, 'h')) return &out->checkpoint;
    if (strcmp(word, "--public") == 0 && strchr(allowed, 'b')) return &out->public;
    return NULL;
}

static bool *switch_slot(const char *word, const char *allowed, struct cli_line *out)
{
    if (strcmp(word, "--check") == 0 && strchr(allowed, 'k')) return &out->check;
    if (strcmp(word, "--anyway") == 0 && strchr(allowed, 'a')) return &out->anyway;
    if (strcmp(word, "--anew") == 0 && strchr(allowed, 'n')) return &out->anew;
    if (strcmp(word, "--json") == 0 && strchr(allowed, 'j')) return &out->json;
    return NULL;
}

static bool complain(const char *word, const char *what)
{
    cli_fail("\"%s\" %s; parley --help lists the commands and their options.", word, what);
    return false;
}

/* One option at argv[*i]; *i is left on its last word. */
static bool read_option(int argc, char **argv, int *i, const char *allowed, struct cli_line *out)
{
    const char *word = argv[*i];

    bool *said = switch_slot(word, allowed, out);
    if (said) return *said = true;
    const char **slot = flag_slot(word, allowed, out);
    if (!slot) return complain(word, "is not an option here");
    if (*slot) return complain(word, "stands twice");
    if (*i + 1 >= argc) return complain(word, "needs a value after it");
    *slot = argv[++*i];
    return true;
}

bool cli_read(int argc, char **argv, const char *allowed, int words_max, struct cli_line *out)
{
    bool words_only = false;

    *out = (struct cli_line){ .words = argv };
    for (int i = 0; i < argc; i++) {
        bool option = !words_only && argv[i][0] == '-' && argv[i][1];
        if (option && strcmp(argv[i], "--") == 0) words_only = true;
        else if (option && !read_option(argc, argv, &i, allowed, out)) return false;
        else if (!option && out->count == words_max)
            return complain(argv[i], "is one word too many");
        else if (!option) argv[out->count++] = argv[i];
    }
    return true;
}

static bool far_shown;

void cli_far(void *ctx, uint64_t done, uint64_t all)
{
    (void)ctx;
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r%3u %%", all ? (unsigned)(done * 100 / all) : 100);
    far_shown = true;
}

void cli_far_end(void)
{
    if (far_shown) fputs("\r     \r", stderr);
    far_shown = false;
}
