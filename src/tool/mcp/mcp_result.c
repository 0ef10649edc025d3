/* mcp_result.c -- what a tool answered, as text for the model and as a value for the card.
 *
 * Only text goes to the model; the rest is named in brackets. The card gets the
 * structured content when there is some and the rest is text, the whole
 * result when there are images or resources in it, and else nothing beyond the text.
 */
#include "tool/mcp/mcp_int.h"

#define OTHER_MAX 2000 /* of a content item we do not know */

static size_t base64_bytes(struct str b64)
{
    size_t pad = 0;
    while (pad < 2 && pad < b64.len && b64.ptr[b64.len - 1 - pad] == '=') pad++;
    return b64.len / 4 * 3 - (b64.len >= 4 ? pad : 0);
}

static void blob(struct buf *out, const char *what, struct str type, struct str data)
{
    buf_printf(out, "[%s ", what);
    text_clean(out, type.ptr ? type : STR("of unknown type"), 100);
    buf_printf(out, ", %zu bytes]", base64_bytes(data));
}

static void resource(struct buf *out, const struct jv *r)
{
    struct str text = jv_str_at(r, "text");
    if (text.ptr) {
        text_clean(out, text, text.len);
        return;
    }
    blob(out, "resource", jv_str_at(r, "mimeType"), jv_str_at(r, "blob"));
    buf_chr(out, ' ');
    text_clean(out, jv_str_at(r, "uri"), 500);
}

static void resource_link(struct buf *out, const struct jv *item)
{
    buf_lit(out, "[link ");
    text_clean(out, jv_str_at(item, "name"), 200);
    buf_lit(out, "] ");
    text_clean(out, jv_str_at(item, "uri"), 2000);
}

/* True: plain text. */
static bool content(struct buf *out, const struct jv *item)
{
    struct str type = jv_str_at(item, "type");

    if (str_is(type, "text")) {
        struct str text = jv_str_at(item, "text");
        text_clean(out, text, text.len);
        return true;
    }
    if (str_is(type, "image"))
        blob(out, "image", jv_str_at(item, "mimeType"), jv_str_at(item, "data"));
    else if (str_is(type, "audio"))
        blob(out, "audio", jv_str_at(item, "mimeType"), jv_str_at(item, "data"));
    else if (str_is(type, "resource")) resource(out, jv_get(item, "resource"));
    else if (str_is(type, "resource_link")) resource_link(out, item);
    else text_clean(out, item->raw, OTHER_MAX);
    return false;
}

static void whole_value(struct buf *out, const struct jv *items, const struct jv *structured)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_key(&w, "content");
    jw_raw(&w, items->raw);
    if (structured) {
        jw_key(&w, "structuredContent");
        jw_raw(&w, structured->raw);
    }
    jw_end_obj(&w);
}

void mcp_result_read(const struct jv *result, struct mcp_said *out)
{
    const struct jv *items = jv_get(result, "content"),
                    *structured = jv_get(result, "structuredContent");
    bool all_text = true, any_text = false;

    if (!jv_is(result, JSON_OBJECT)) { /* not as agreed, but an answer */
        if (!jv_is(result, JSON_NULL)) text_clean(&out->text, result->raw, result->raw.len);
        return;
    }
    out->is_error = jv_true(jv_get(result, "isError"));
    if (!jv_is(items, JSON_ARRAY)) items = NULL;
    JV_EACH (item, items) {
        bool plain;
        if (out->text.len) buf_chr(&out->text, '\n');
        plain = content(&out->text, item);
        all_text = all_text && plain;
        any_text = any_text || plain;
    }
    if (structured && !any_text) {
        if (out->text.len) buf_chr(&out->text, '\n');
        buf_str(&out->text, structured->raw);
    }
    if (!all_text) whole_value(&out->value, items, structured);
    else if (structured) buf_str(&out->value, structured->raw);
    out->has_value = out->value.len > 0;
}
