/* fuzz_policy.c -- a policy and arguments, parted by the first line break. dictionary: json
 *
 *   - reading either refuses with words or stores; deciding ends, within its budget;
 *   - a condition on a member of the top asks when another member is alike;
 *   - names are alike both ways, and each to itself;
 *   - whatever a tool is called, models can be told its name. */
#include <stdlib.h>

#include "base/glyph.h"
#include "tool/policy.h"
#include "tool/registry.h"

static void require(bool ok)
{
    if (!ok) abort();
}

static bool has_twin(const struct jv *args, struct str name)
{
    JV_EACH (m, args) {
        require(glyph_alike(m->key, m->key) &&
                glyph_alike(m->key, name) == glyph_alike(name, m->key));
        if (!str_eq(m->key, name) && glyph_alike(m->key, name)) return true;
    }
    return false;
}

static void decide(const struct jv *confirm, const struct jv *args)
{
    struct tool   t = { 0 };
    struct budget turn = { 2 * BUDGET_CHECK };
    const char   *why = NULL;
    if (policy_read(&t, confirm, &why) != OK) {
        require(why);
        return;
    }
    bool asks = policy_asks(&t, args, &turn);
    require(turn.left >= BUDGET_CHECK);
    require(asks == policy_asks(&t, args, NULL));
    struct str pointer = jv_str_at(t.when, "pointer");
    if (t.confirm != CONFIRM_WHEN || !pointer.len || !jv_is(args, JSON_OBJECT)) return;
    pointer = str_from(pointer, 1);
    if (str_find(pointer, STR("/")) < 0 && str_find(pointer, STR("~")) < 0 &&
        has_twin(args, pointer))
        require(asks);
}

static void name(struct str text)
{
    struct registry r;
    registry_init(&r);
    struct tool *t = registry_tool(&r, text);
    enum err     e = registry_add(&r, t);
    require(e == (text.len ? OK : ERR_RANGE));
    for (size_t i = 0; !e && i < t->wire_name.len; i++) {
        char c = t->wire_name.ptr[i], l = (char)(c | 0x20);
        require((l >= 'a' && l <= 'z') || c == '_' || (i && ((c >= '0' && c <= '9') || c == '-')));
    }
    if (!e) require(t->wire_name.len && t->wire_name.len <= TOOL_WIRE_MAX);
    registry_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str   rest = str_n((const char *)data, size), confirm;
    struct jv   *c, *v;
    struct arena a;
    if (!str_split(&rest, '\n', &confirm)) return 0;
    name(confirm);
    arena_init(&a, 0);
    if (json_parse(&a, confirm, &c, NULL) == OK && json_parse(&a, rest, &v, NULL) == OK)
        decide(c, v);
    arena_done(&a);
    return 0;
}
