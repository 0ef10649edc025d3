/* anthropic.c -- the Messages wire: request writer and decoder.
 *
 * What is kept as opaque JSON with a reasoning part:
 *     {"signature":"..."}    the part is a thinking block, its text is the part's
 *     {"block":{...}}        a block that is sent back as it came: redacted
 *                            thinking, server tools, whatever we do not know
 * Blocks are keyed by their index; the type is taken from the JSON, because
 * proxies drop event names.
 */
#include "model/wire.h"

#define VERSION     "2026-10-21"
#define VERSION_OLD "2023-06-01" /* the last one that takes sampling parameters */
#define MAX_TOKENS  8192         /* must be sent; every current model takes it */
#define BUDGET_MIN  1024         /* of thinking tokens, says the service */

/* --- request ----------------------------------------------------------------------- */

static void url(struct buf *out, struct str base, struct str model)
{
    buf_str(out, base);
    buf_lit(out, str_ends(base, STR("/v1")) ? "/messages" : "/v1/messages");
}

static void key_header(const struct model_config *c, const char **name, const char **prefix)
{
    *name = c->bearer ? "Authorization" : "x-api-key";
    *prefix = c->bearer ? "Bearer " : "";
}

static void write_mark(struct jsonw *w)
{
    jw_key(w, "cache_control");
    jw_obj(w);
    jw_kstrz(w, "type", "ephemeral");
    jw_end_obj(w);
}

static void write_text(struct jsonw *w, struct str text, bool mark)
{
    jw_obj(w);
    jw_kstrz(w, "type", "text");
    jw_kstr(w, "text", text);
    if (mark) write_mark(w);
    jw_end_obj(w);
}

static void write_source(struct jsonw *w, const struct msg_part *p)
{
    jw_key(w, "source");
    jw_obj(w);
    if (p->url.len) {
        jw_kstrz(w, "type", "url");
        jw_kstr(w, "url", p->url);
    } else {
        jw_kstrz(w, "type", "base64");
        jw_kstr(w, "media_type", p->media_type);
        jw_kstr(w, "data", p->text);
    }
    jw_end_obj(w);
}

static void write_file(struct jsonw *w, const struct msg_part *p, bool mark)
{
    jw_obj(w);
    jw_kstrz(w, "type", str_is(p->media_type, "application/pdf") ? "document" : "image");
    write_source(w, p);
    if (mark) write_mark(w);
    jw_end_obj(w);
}

static void write_call(struct jsonw *w, const struct msg_part *p)
{
    jw_obj(w);
    jw_kstrz(w, "type", "tool_use");
    jw_kstr(w, "id", p->id);
    jw_kstr(w, "name", p->name);
    jw_kraw(w, "input", p->input);
    jw_end_obj(w);
}

static void write_result(struct jsonw *w, const struct msg_part *p, bool mark)
{
    jw_obj(w);
    jw_kstrz(w, "type", "tool_result");
    jw_kstr(w, "tool_use_id", p->id);
    jw_kstr(w, "content", p->text);
    if (p->is_error) jw_kbool(w, "is_error", true);
    if (mark) write_mark(w);
    jw_end_obj(w);
}

/* A block we did not read ourselves goes back as it came, if it has the form of its kind. */
static bool is_block(const struct jv *block)
{
    static const char *const own[] = { "text",  "thinking", "tool_use", "tool_result",
                                       "image", "document", NULL };
    struct str               type = jv_str_at(block, "type");
    if (!type.len || !tidy_sound(block)) return false;
    for (size_t i = 0; own[i]; i++)
        if (str_is(type, own[i])) return false;
    return str_is(type, "redacted_thinking")
               ? jv_str_at(block, "data").len > 0
               : !jv_get(block, "input") || jv_is(jv_get(block, "input"), JSON_OBJECT);
}

/* Reasoning without a signature of this provider is not sent: it would be refused. */
static struct str opaque(struct arena *a, const struct msg_part *p)
{
    struct jv *v = NULL;
    if (p->type != PART_REASONING || json_parse(a, p->opaque, &v, NULL) != OK) return STR_NONE;
    return is_block(jv_get(v, "block")) || (!jv_get(v, "block") && jv_str_at(v, "signature").len)
               ? p->opaque
               : STR_NONE;
}

static void write_reasoning(struct jsonw *w, const struct msg_part *p)
{
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    const struct jv *block = json_parse(&a, p->opaque, &v, NULL) == OK ? jv_get(v, "block") : NULL;
    if (block) {
        jw_raw(w, block->raw);
    } else {
        const struct jv *signature = jv_get(v, "signature");
        jw_obj(w);
        jw_kstrz(w, "type", "thinking");
        jw_kstr(w, "thinking", p->text);
        jw_kraw(w, "signature", signature ? signature->raw : STR("\"\""));
        jw_end_obj(w);
    }
    arena_done(&a);
}

static void write_part(struct jsonw *w, const struct msg_part *p, bool mark)
{
    switch (p->type) {
    case PART_TEXT: write_text(w, p->text, mark); return;
    case PART_REASONING: write_reasoning(w, p); return;
    case PART_CALL: write_call(w, p); return;
    case PART_RESULT: write_result(w, p, mark); return;
    case PART_FILE: write_file(w, p, mark); return;
    }
}

/* Results must come before any other block of their message. */
static void write_parts(struct jsonw *w, const struct msg *m, const struct msg_part *marked)
{
    for (int results = 1; results >= 0; results--)
        for (size_t i = 0; i < m->count; i++)
            if ((m->parts[i].type == PART_RESULT) == results)
                write_part(w, &m->parts[i], &m->parts[i] == marked);
}

/* The last block of the last user turn: everything up to it is read from the cache by the next
 * request. */
static const struct msg_part *cache_point(const struct model_request *q)
{
    for (size_t i = q->msg_count; i-- > 0;) {
        const struct msg *m = &q->msgs[i];
        if (m->role != MSG_ASSISTANT && m->count) return &m->parts[m->count - 1];
    }
    return NULL;
}

/* Neighbours of the same role become one message, as the service would do. */
static void write_messages(struct jsonw *w, const struct model_config *c,
                           const struct model_request *q)
{
    const struct msg_part *marked = c->no_cache_marks ? NULL : cache_point(q);
    int                    open = -1;
    jw_key(w, "messages");
    jw_arr(w);
    for (size_t i = 0; i < q->msg_count; i++) {
        const struct msg *m = &q->msgs[i];
        int               role = m->role == MSG_ASSISTANT;
        if (role != open) {
            if (open >= 0) jw_end_arr(w), jw_end_obj(w);
            jw_obj(w);
            jw_kstrz(w, "role", role ? "assistant" : "user");
            jw_key(w, "content");
            jw_arr(w);
            open = role;
        }
        write_parts(w, m, marked);
    }
    if (open >= 0) jw_end_arr(w), jw_end_obj(w);
    jw_end_arr(w);
}

/* The service refuses to force a call while it thinks. */
static void write_choice(struct jsonw *w, const struct model_config *c,
                         const struct model_request *q)
{
    bool thinks = c->thinking && !wire_thinking_off(c->thinking);
    if (!q->no_calls && (q->choice == CHOICE_AUTO || thinks)) return;
    jw_key(w, "tool_choice");
    jw_obj(w);
    jw_kstrz(w, "type", q->no_calls ? "none" : q->choice == CHOICE_NAMED ? "tool" : "any");
    if (!q->no_calls && q->choice == CHOICE_NAMED) jw_kstr(w, "name", q->named);
    jw_end_obj(w);
}

static void write_tools(struct jsonw *w, const struct model_config *c,
                        const struct model_request *q)
{
    bool mark_last = !c->no_cache_marks && !q->system.len;
    if (!q->tool_count) return;
    jw_key(w, "tools");
    jw_arr(w);
    for (size_t i = 0; i < q->tool_count; i++) {
        jw_obj(w);
        jw_kstr(w, "name", q->tools[i].name);
        if (q->tools[i].description.len) jw_kstr(w, "description", q->tools[i].description);
        jw_key(w, "input_schema");
        form_schema(w, &wire_anthropic.form, q->tools[i].schema);
        if (mark_last && i + 1 == q->tool_count) write_mark(w);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    write_choice(w, c, q);
}

/* The budget counts against max_tokens, so it is added to them. */
static int64_t budget(const struct model_config *c)
{
    int64_t n = 0;
    if (!jv_int(c->thinking, &n) || n <= 0) return 0;
    return n < BUDGET_MIN ? BUDGET_MIN : n;
}

static void write_thinking(struct jsonw *w, const struct model_config *c)
{
    const struct jv *t = c->thinking;
    if (!t) return;
    jw_key(w, "thinking");
    if (t->type == JSON_OBJECT) {
        jw_jv(w, t);
        return;
    }
    jw_obj(w);
    jw_kstrz(w, "type", wire_thinking_off(t) ? "disabled" : budget(c) ? "enabled" : "adaptive");
    if (budget(c)) jw_kint(w, "budget_tokens", budget(c));
    jw_end_obj(w);
    if (t->type != JSON_STRING) return;
    jw_key(w, "output_config");
    jw_obj(w);
    jw_kstr(w, "effort", t->str);
    jw_end_obj(w);
}

static void body(struct buf *out, const struct model_config *c, const struct model_request *q)
{
    /* What this file writes itself; and, but for the old version, what the service answers 400
     * to. */
    static const char *const taken[] = { "temperature", "top_p",       "top_k",    "model",
                                         "max_tokens",  "stream",      "system",   "messages",
                                         "tools",       "tool_choice", "thinking", NULL };
    bool                     old = str_is(c->version, VERSION_OLD);
    struct jsonw             w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstr(&w, "model", c->model);
    jw_kint(&w, "max_tokens",
            model_max_tokens(c->max_tokens > 0 ? c->max_tokens : MAX_TOKENS, q) + budget(c));
    jw_kbool(&w, "stream", true);
    write_thinking(&w, c);
    wire_extra(&w, c->extra, old ? taken + 3 : taken);
    write_tools(&w, c, q);
    if (q->system.len) {
        jw_key(&w, "system");
        jw_arr(&w);
        write_text(&w, q->system, !c->no_cache_marks);
        jw_end_arr(&w);
    }
    write_messages(&w, c, q);
    jw_end_obj(&w);
}

/* --- errors ----------------------------------------------------------------------------- */

static enum fail from_type(struct str type)
{
    static const struct {
        const char *type;
        enum fail   fail;
    } table[] = {
        { "invalid_request_error", FAIL_REQUEST },
        { "authentication_error", FAIL_AUTH },
        { "billing_error", FAIL_QUOTA },
        { "permission_error", FAIL_FORBIDDEN },
        { "not_found_error", FAIL_MODEL },
        { "conflict_error", FAIL_SERVER },
        { "request_too_large", FAIL_TOO_LARGE },
        { "rate_limit_error", FAIL_RATE },
        { "api_error", FAIL_SERVER },
        { "timeout_error", FAIL_SLOW },
        { "overloaded_error", FAIL_OVERLOADED },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(type, table[i].type)) return table[i].fail;
    return FAIL_NONE;
}

/* Messages are not stable, but there is no type for this one. */
static bool speaks_of_context(struct str message)
{
    return str_find(message, STR("prompt is too long")) >= 0 ||
           str_find(message, STR("context window")) >= 0 ||
           str_find(message, STR("context limit")) >= 0;
}

static void read_error(struct trouble *t, const struct jv *v)
{
    const struct jv *error = jv_get(v, "error"), *details = jv_get(error, "details");
    struct str       type = jv_str_at(error, "type");
    enum fail        f = from_type(type);

    trouble_word(t, type);
    if (f != FAIL_NONE) trouble_set(t, f);
    if (t->kind == FAIL_REQUEST && speaks_of_context(jv_str_at(error, "message")))
        trouble_set(t, FAIL_CONTEXT);
    if (str_is(jv_str_at(details, "error_code"), "enforced_spend_limit_reached"))
        trouble_set(t, FAIL_QUOTA);
}

/* --- decoder ----------------------------------------------------------------------------- */

static const struct jv *tree(struct decoder *d, struct str text)
{
    struct jv *v = NULL;
    if (!text.len || json_parse(d->scratch, text, &v, NULL) != OK) return NULL;
    return v;
}

/* Counts are cumulative; what is null or absent keeps its value. */
static void take_usage(struct decoder *d, const struct jv *usage)
{
    int64_t n, cached = 0;
    if (!jv_is(usage, JSON_OBJECT)) return;
    if (jv_int(jv_get(usage, "input_tokens"), &n)) d->u.anthropic.fresh = n;
    if (jv_int(jv_get(usage, "output_tokens"), &n)) d->output_tokens = n;
    bool any = jv_int(jv_get(usage, "cache_creation_input_tokens"), &n);
    if (any) cached += n;
    if (jv_int(jv_get(usage, "cache_read_input_tokens"), &n)) cached += n, any = true;
    if (any) d->u.anthropic.cached = cached;
    if (__builtin_add_overflow(d->u.anthropic.fresh, d->u.anthropic.cached, &d->input_tokens))
        d->input_tokens = 0;
    blocks_usage(&d->blocks, d->input_tokens, d->output_tokens);
}

/* A second one is tolerated only as an echo of the first before anything came. */
static void message_start(struct decoder *d, const struct jv *message)
{
    uint64_t hash = str_hash(jv_str_at(message, "id"));
    if (d->u.anthropic.began) {
        if (hash != d->u.anthropic.id_hash || d->u.anthropic.any_block)
            decoder_fail(d, FAIL_PROTOCOL);
        return;
    }
    d->u.anthropic.began = true;
    d->u.anthropic.id_hash = hash;
    take_usage(d, jv_get(message, "usage"));
}

static void set_signature(struct block *part, struct str signature)
{
    struct jsonw w;
    if (!signature.len) return;
    buf_clear(&part->opaque); /* replaces, is not appended */
    jsonw_init(&w, &part->opaque);
    jw_obj(&w);
    jw_kstr(&w, "signature", signature);
    jw_end_obj(&w);
}

static enum block_kind block_kind(struct str type)
{
    if (str_is(type, "text")) return BLOCK_TEXT;
    if (str_is(type, "thinking")) return BLOCK_REASONING;
    if (str_is(type, "tool_use")) return BLOCK_CALL;
    return BLOCK_HIDDEN;
}

/* {} and "" stand for what is still to come; anything else is the input, also what no input should
 * be. */
static bool has_input(const struct jv *v)
{
    if (!v || v->type == JSON_NULL) return false;
    return v->type == JSON_OBJECT ? v->count > 0 : v->type != JSON_STRING || v->str.len > 0;
}

static void block_start(struct decoder *d, int64_t index, const struct jv *block)
{
    const struct jv *input = jv_get(block, "input");
    enum block_kind  kind = block_kind(jv_str_at(block, "type"));

    if (!jv_is(block, JSON_OBJECT) || blocks_find(&d->blocks, index)) {
        decoder_fail(d, FAIL_PROTOCOL);
        return;
    }
    struct block *part = blocks_open(&d->blocks, kind, index);
    if (!part) return;
    d->u.anthropic.any_block = true;
    switch (kind) {
    case BLOCK_TEXT: blocks_delta(&d->blocks, part, jv_str_at(block, "text")); return;
    case BLOCK_REASONING:
        set_signature(part, jv_str_at(block, "signature"));
        blocks_delta(&d->blocks, part, jv_str_at(block, "thinking"));
        return;
    case BLOCK_CALL:
        blocks_call(&d->blocks, part, jv_str_at(block, "id"), jv_str_at(block, "name"));
        if (has_input(input)) blocks_delta(&d->blocks, part, input->raw);
        return;
    case BLOCK_HIDDEN: buf_str(&part->opaque, block->raw); return;
    }
}

/* The members of `delta` in one pass: this runs for every token. */
struct delta {
    struct str type, text, json, thinking, signature;
};

static bool read_delta(struct decoder *d, struct str text, struct delta *out)
{
    struct json r;
    struct str  key;
    json_init(&r, text, d->scratch);
    json_object(&r);
    while (json_key(&r, &key)) {
        struct str *to = str_is(key, "type")           ? &out->type
                         : str_is(key, "text")         ? &out->text
                         : str_is(key, "partial_json") ? &out->json
                         : str_is(key, "thinking")     ? &out->thinking
                         : str_is(key, "signature")    ? &out->signature
                                                       : NULL;
        if (to && json_peek(&r) == JSON_STRING) *to = json_string(&r);
        else json_skip(&r);
    }
    return json_end(&r) == OK;
}

static void block_delta(struct decoder *d, int64_t index, struct str text)
{
    struct delta  delta = { 0 };
    struct block *part = blocks_find(&d->blocks, index);
    if (!part || !read_delta(d, text, &delta)) {
        decoder_fail(d, FAIL_PROTOCOL);
        return;
    }
    if (str_is(delta.type, "text_delta") && part->kind == BLOCK_TEXT)
        blocks_delta(&d->blocks, part, delta.text);
    else if (str_is(delta.type, "thinking_delta") && part->kind == BLOCK_REASONING)
        blocks_delta(&d->blocks, part, delta.thinking);
    else if (str_is(delta.type, "signature_delta") && part->kind == BLOCK_REASONING)
        set_signature(part, delta.signature);
    else if (str_is(delta.type, "input_json_delta") && part->kind != BLOCK_TEXT)
        blocks_delta(&d->blocks, part, delta.json);
    else if (part->kind == BLOCK_HIDDEN)
        part->lossy = true; /* something we do not know how to put together */
}

/* A block we only keep: wrapped, with its streamed input put in its place. */
static void seal_hidden(struct decoder *d, struct block *part)
{
    struct buf       sealed;
    struct jsonw     w;
    const struct jv *block = tree(d, buf_view(&part->opaque));
    const struct jv *input = part->held.len ? tree(d, buf_view(&part->held)) : NULL;
    if (!block || (part->held.len && !input)) {
        part->lossy = true;
        return;
    }
    buf_init(&sealed, part->opaque.max);
    jsonw_init(&w, &sealed);
    jw_obj(&w);
    jw_key(&w, "block");
    jw_obj(&w);
    JV_EACH (m, block) {
        jw_key_str(&w, m->key);
        jw_raw(&w, input && str_is(m->key, "input") ? input->raw : m->raw);
    }
    jw_end_obj(&w);
    jw_end_obj(&w);
    buf_done(&part->opaque);
    part->opaque = sealed;
    buf_clear(&part->held);
}

static void block_stop(struct decoder *d, int64_t index)
{
    struct block *part = blocks_find(&d->blocks, index);
    if (!part) return;
    if (part->kind == BLOCK_HIDDEN) seal_hidden(d, part);
    blocks_close(&d->blocks, part);
}

static enum model_stop stop_of(struct str reason)
{
    if (str_is(reason, "max_tokens") || str_is(reason, "model_context_window_exceeded"))
        return STOP_LENGTH;
    if (str_is(reason, "refusal")) return STOP_REFUSAL;
    if (str_is(reason, "tool_use")) return STOP_CALLS;
    /* end_turn, stop_sequence, pause_turn (we offer no server tools), and what may come */
    return STOP_END;
}

static void message_delta(struct decoder *d, const struct jv *delta, const struct jv *usage)
{
    struct str reason = jv_str_at(delta, "stop_reason");
    take_usage(d, usage);
    if (!reason.len) return;
    enum model_stop stop = stop_of(reason);
    if (stop == STOP_REFUSAL)
        blocks_say(&d->blocks, BLOCK_TEXT, jv_str_at(jv_get(delta, "stop_details"), "explanation"));
    decoder_stop(d, stop);
}

/* One pass over the event; the parts that matter for its type are read further. */
struct event {
    struct str type;
    int64_t    index;
    struct str delta, block, message, usage;
};

static bool read_event(struct decoder *d, struct str data, struct event *e)
{
    struct json r;
    struct str  key;
    json_init(&r, data, d->scratch);
    json_object(&r);
    while (json_key(&r, &key)) {
        if (str_is(key, "type") && json_peek(&r) == JSON_STRING) e->type = json_string(&r);
        else if (str_is(key, "index") && json_peek(&r) == JSON_NUMBER) e->index = json_int(&r);
        else if (str_is(key, "delta")) e->delta = json_raw(&r);
        else if (str_is(key, "content_block")) e->block = json_raw(&r);
        else if (str_is(key, "message")) e->message = json_raw(&r);
        else if (str_is(key, "usage")) e->usage = json_raw(&r);
        else json_skip(&r);
    }
    return json_end(&r) == OK;
}

static void error_event(struct decoder *d, struct str data)
{
    const struct jv *v = tree(d, data);
    decoder_fail(d, FAIL_SERVER);
    if (v) read_error(&d->trouble, v);
}

static void event(struct decoder *d, struct str name, struct str data)
{
    struct event e = { .index = -1 };
    if (!read_event(d, data, &e)) {
        decoder_fail(d, FAIL_PROTOCOL);
        return;
    }
    if (!e.type.len) e.type = name;
    /* after the stop only the counts matter */
    if (d->stopped && str_starts(e.type, STR("content_block"))) return;
    if (str_is(e.type, "content_block_delta")) block_delta(d, e.index, e.delta);
    else if (str_is(e.type, "content_block_start")) block_start(d, e.index, tree(d, e.block));
    else if (str_is(e.type, "content_block_stop")) block_stop(d, e.index);
    else if (str_is(e.type, "message_start")) message_start(d, tree(d, e.message));
    else if (str_is(e.type, "message_delta")) message_delta(d, tree(d, e.delta), tree(d, e.usage));
    else if (str_is(e.type, "message_stop")) decoder_finish(d);
    else if (str_is(e.type, "error")) error_event(d, data);
}

static const char *const FILES[] = { "image/png",  "image/jpeg",      "image/gif",
                                     "image/webp", "application/pdf", NULL };
static const char *const SCHEMES[] = { "https://", NULL };

/* No `finish`: a block that never stopped is not closed at the end of the body, so its call has no
 * end. */
const struct wire wire_anthropic = {
    .base_url = "https://api.anthropic.com",
    .version_header = "anthropic-version",
    .version = VERSION,
    .form = { .plain_keys = true },
    .taste = { .files = FILES,
               .schemes = SCHEMES,
               .file_max = 5u << 20,
               .files_max = 24u << 20,
               .file_count = 20,
               .id_max = 64,
               .tools_max = 1000,
               .description_max = 8192,
               .calls_need_tools = true,
               .ends_in_words = true,
               .opaque = opaque },
    .url = url,
    .key_header = key_header,
    .body = body,
    .event = event,
    .error = read_error,
};
