/* fuzz_schema.c -- a schema and a value, parted by the first line break; and the
 * schema's text as a pattern on the value's text. Must end, in bounded time, with a sentence or
 * none. */
#include <stdlib.h>

#include "tool/pattern.h"
#include "tool/schema.h"

static void try_pattern(struct str source, struct str text)
{
    struct arena    a;
    struct pattern *p;
    uint64_t        work = 200000;
    bool            found;
    arena_init(&a, 8u << 20);
    if (pattern_compile(&a, source, &p) == OK &&
        pattern_search(p, text, &work, &found) == ERR_NOMEM)
        abort();
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str   rest = str_n((const char *)data, size), schema;
    struct jv   *s, *v;
    struct arena a;
    struct buf   why;
    if (!str_split(&rest, '\n', &schema)) return 0;
    try_pattern(schema, rest);
    arena_init(&a, 0);
    buf_init(&why, 0);
    if (json_parse(&a, schema, &s, NULL) == OK && json_parse(&a, rest, &v, NULL) == OK) {
        struct budget turn = { BUDGET_TURN };
        enum err      e = schema_check(s, v, &turn, &why);
        if ((e == OK) != (why.len == 0) || why.len > 2000 || (e && e != ERR_TYPE && e != ERR_RANGE))
            abort();
    }
    buf_done(&why);
    arena_done(&a);
    return 0;
}
