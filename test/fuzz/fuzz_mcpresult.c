/* fuzz_mcpresult.c -- any bytes as what a tool gave, told to an MCP client of either era; and as the
 * arguments of a call that waits. dictionary: json
 *
 * What is told (a tool's value was put on one line before) is one object of JSON on one line, says
 * how it ended, and has content.
 */
#include <stdint.h>

#include "base/utf8.h"
#include "dialect/mcpresult.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool fact(struct fold *f, const char *kind, struct str body)
{
    return fold_apply(f, &(struct stored_fact){ f->count + 1, 1, str_c(kind), body }) == OK;
}

/* {"a":b,"c":<text as it is, or as a string>} */
static struct str with(struct arena *a, const char *start, struct str value, bool quoted)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    buf_lit(&b, start);
    jsonw_init(&w, &b);
    if (quoted) jw_str(&w, value);
    else jw_raw(&w, value);
    struct str out = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

static struct str ended(struct arena *a, struct str s, const char *end)
{
    struct buf b;
    buf_init(&b, 0);
    buf_str(&b, s);
    buf_lit(&b, end);
    struct str out = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

static void is_told(struct arena *a, const struct buf *b, bool result)
{
    struct jv *v;
    must(!b->err && str_find(buf_view(b), STR("\n")) < 0);
    must(json_parse(a, buf_view(b), &v, NULL) == OK && v->type == JSON_OBJECT);
    if (!result) return;
    must(jv_is(jv_get(v, "content"), JSON_ARRAY) && jv_get(v, "content")->count > 0);
    must(jv_str_at(jv_get(v, "_meta"), "parley/outcome").len > 0);
}

static void tell(struct arena *a, const struct call *c, bool modern, bool over)
{
    struct mcp_shape s = { modern, 256, STR("http://h"), STR("mcp_1"), STR("pay") };
    struct buf       b;
    struct jsonw     w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    if (over) mcp_outcome(&w, c, &s);
    else mcp_waiting(&w, c, &s, NULL);
    jw_end_obj(&w);
    is_told(a, &b, true);
    buf_clear(&b);
    jsonw_init(&w, &b);
    if (!over && mcp_fits_form(c)) {
        mcp_elicit(&w, c, MCP_ASK_FORM, modern ? STR_NONE : STR("2025-11-25"), &s);
        is_told(a, &b, false);
    }
    buf_done(&b);
}

/* Was all of it told? */
static bool call_with(struct arena *a, struct str args, struct str value, bool text)
{
    struct fold f;
    fold_init(&f);
    struct str step =
        with(a,
             "{\"run\":\"r\",\"stop\":\"calls\",\"parts\":[{\"type\":\"call\",\"call\":"
             "\"c\",\"tool\":\"pay\",\"gate\":\"ask\",\"complete\":true,\"at_ms\":1,"
             "\"text\":",
             args, true);
    bool ok =
        fact(&f, "message", STR("{\"run\":\"r\",\"text\":\"x\"}")) &&
        fact(&f, "step", ended(a, step, "}]}")) &&
        fact(&f, "asked", STR("{\"call\":\"c\",\"id\":\"q\",\"ask\":\"Pay?\",\"digest\":\"d\"}"));
    struct call *c = ok ? fold_call(&f, STR("c")) : NULL;
    for (int modern = 0; c && modern < 2; modern++) tell(a, c, modern, false);
    bool over =
        c &&
        fact(&f, "decided",
             STR("{\"call\":\"c\",\"id\":\"q\",\"outcome\":\"approved\",\"by\":\"ann\"}")) &&
        fact(&f, "started", STR("{\"call\":\"c\"}")) &&
        fact(&f, "finished",
             ended(a,
                   with(a,
                        text ? "{\"call\":\"c\",\"outcome\":\"done\",\"text\":"
                             : "{\"call\":\"c\",\"outcome\":\"done\",\"value\":",
                        value, text),
                   "}"));
    for (int modern = 0; over && modern < 2; modern++) tell(a, c, modern, true);
    fold_done(&f);
    return over;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str   body = { (const char *)data, size };
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    if (utf8_valid(body)) {
        bool json = json_parse(&a, body, &v, NULL) == OK;
        must(call_with(&a, STR("{}"), body, true));
        if (json && str_find(body, STR("\n")) < 0) (void)call_with(&a, body, body, false);
    }
    arena_done(&a);
    return 0;
}
