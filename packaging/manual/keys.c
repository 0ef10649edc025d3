/* keys.c -- prints every key of the configuration as the middle of parley.json(5), from the table that
 * the program itself reads a configuration with (config/config_keys.c): the page cannot say less or
 * more than the program knows. Part of the build, not of the program; scripts/manual runs it. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"

/* A line of roff that says exactly these characters: no escape, no request, no clever quote. */
static void say(const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\') fputs("\\e", stdout);
        else if (*text == '-') fputs("\\-", stdout);
        else if (*text == '\'') fputs("\\(aq", stdout);
        else if (*text == '"') fputs("\\(dq", stdout);
        else putchar(*text);
    }
}

int main(void)
{
    for (size_t i = 0; i < config_doc_count(); i++) {
        struct config_doc d = config_doc_at(i);
        size_t            len = strlen(d.path);
        if (len > 2 && strcmp(d.path + len - 2, ".*") == 0) continue; /* a name, not a key */
        fputs(".TP\n.B ", stdout);
        say(d.path);
        fputs("\n", stdout);
        say(d.help);
        fputs("\n", stdout);
        say(d.type);
        if (*d.otherwise) fputs("; default: ", stdout);
        say(d.otherwise);
        fputs(".\n", stdout);
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
