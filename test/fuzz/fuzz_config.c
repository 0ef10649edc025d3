/* fuzz_config.c -- any bytes as a configuration: an error or a configuration that can be explained.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -Isrc ... test/fuzz/fuzz_config.c
 *
 * What is refused must say why; what is accepted must hold what config.h promises.
 */
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct config *c)
{
    must(c->page_count > 0 && c->model.count > 0 && c->host.ptr && c->port <= 65535);
    must(config_page(c, STR_NONE) == &c->pages[0]);
    must(!config_is_public(c) || config_has_auth(c));
    for (size_t i = 0; i < c->page_count; i++) must(c->pages[i].models.count > 0);
    for (size_t i = 0; i < c->tool_count; i++)
        must((c->tools[i].runner == RUNNER_CLIENT) == !c->tools[i].run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config       c;
    static struct config_error e;
    static FILE               *out;

    if (!out) out = fopen("/dev/null", "w");
    if (!out) return 0;
    if (config_load_text(&c, str_n((const char *)data, size), "fuzz", NULL, &e) == OK) {
        check(&c);
        config_explain(&c, out);
        config_done(&c);
    } else {
        must(e.count > 0 && e.problem[0].text[0]);
        config_error_print(&e, out);
    }
    return 0;
}
