/* config_help.c -- see config_help.h. */
#include "config_help.h"

#include <stdlib.h>

struct config       c;
struct config_error e;

void quiet_env(void)
{
    static const char *const NAMES[] = {
        "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "GEMINI_API_KEY",
        "GEMINI_BASE_URL",   "GEMINI_MODEL",       "OPENAI_API_KEY",  "OPENAI_BASE_URL",
        "OPENAI_MODEL",      "PARLEY_TEST_KEY",
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) unsetenv(NAMES[i]);
}

enum err config_read(const char *text)
{
    return config_load_text(&c, str_c(text), "t.json", NULL, &e);
}

bool config_says(unsigned line, const char *part)
{
    for (size_t i = 0; i < e.count; i++)
        if ((!line || e.problem[i].line == line) && strstr(e.problem[i].text, part)) return true;
    config_error_print(&e, stdout);
    return false;
}

bool config_warns(const char *part)
{
    for (size_t i = 0; i < c.warnings.count; i++)
        if (str_find(c.warnings.list[i], str_c(part)) >= 0) return true;
    return false;
}

bool config_refused(const char *text, unsigned line, const char *part)
{
    quiet_env();
    if (config_read(text) == OK) {
        config_done(&c);
        return false;
    }
    return e.count == 1 ? config_says(line, part) : (config_error_print(&e, stdout), false);
}

void config_good(const char *text)
{
    quiet_env();
    if (config_read(text) != OK) config_error_print(&e, stdout);
    REQUIRE(e.count == 0);
}

const char *config_path(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", test_dir(), name);
    return path;
}

const char *config_file(const char *name, const char *text)
{
    const char *path = config_path(name);
    FILE       *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs(text, f);
    fclose(f);
    return path;
}
