/* openai.c -- the chat completions wire: request writer and decoder, with the
 * deviations of the servers that speak it.
 *
 * The wire never says that a call is complete: a call is closed when its input's
 * brackets are closed and something else begins, or by the finish reason. Fragments of parallel
 * calls may interleave, so a later call is held back (blocks.h) while an earlier one is open.
 * Nothing is told before the whole chunk has been read: a chunk that is
 * not valid JSON says nothing.
 */
#include "model/wire.h"

#define MOULD_MAX 1024 /* kept per answer being read */

/* --- request ---------------------------------------------------------------------- */

static void url(struct buf *out, struct str base, struct str model)
{
    buf_str(out, base);
    buf_lit(out, "/chat/completions");
}

static void key_header(const struct model_config *c, const char **name, const char **prefix)
{
    *name = "Authorization";
    *prefix = "Bearer ";
}

/* OpenAI itself has renamed fields and added some that compatible servers may refuse. */
static bool is_openai(const struct model_config *c)
{
    return !c->base_url.len || str_find(c->base_url, STR("://api.openai.com")) > 0;
}

static void write_text_part(struct jsonw *w, struct str text)
{
    jw_obj(w);
    jw_kstrz(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_end_obj(w);
}

static void write_image(struct jsonw *w, const struct msg_part *p)
{
    struct buf data;
    buf_init(&data, 0);
    if (!p->url.len) {
        buf_printf(&data, "data:" STR_FMT ";base64,", STR_ARG(p->media_type));
        buf_str(&data, p->text);
    }
    jw_obj(w);
    jw_kstrz(w, "type", "image_url");
    jw_key(w, "image_url");
    jw_obj(w);
    jw_kstr(w, "url", p->url.len ? p->url : buf_view(&data));
    jw_end_obj(w);
    jw_end_obj(w);
    if (data.err && !w->out->err) w->out->err = data.err;
    buf_done(&data);
}

static void write_user_part(struct jsonw *w, const struct msg_part *p)
{
    if (p->type == PART_TEXT) write_text_part(w, p->text);
    if (p->type == PART_FILE) write_image(w, p);
}

static size_t count(const struct msg *m, enum msg_part_type type)
{
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++) n += m->parts[i].type == type;
    return n;
}

static struct str first_text(const struct msg *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->parts[i].type == PART_TEXT) return m->parts[i].text;
    return STR_NONE;
}

/* One text is sent as a string: every server takes that, not every server takes parts. */
static void write_user(struct jsonw *w, const struct msg *m)
{
    size_t texts = count(m, PART_TEXT), files = count(m, PART_FILE);
    if (!texts && !files) return;
    jw_obj(w);
    jw_kstrz(w, "role", "user");
    if (texts == 1 && !files) {
        jw_kstr(w, "content", first_text(m));
    } else {
        jw_key(w, "content");
        jw_arr(w);
        for (size_t i = 0; i < m->count; i++) write_user_part(w, &m->parts[i]);
        jw_end_arr(w);
    }
    jw_end_obj(w);
}

static void write_joined(struct jsonw *w, const char *key, const struct msg *m,
                         enum msg_part_type type)
{
    struct buf all;
    buf_init(&all, 0);
    for (size_t i = 0; i < m->count; i++)
        if (m->parts[i].type == type) buf_str(&all, m->parts[i].text);
    if (all.len) jw_kstr(w, key, buf_view(&all));
    else if (type == PART_TEXT) {
        jw_key(w, key);
        jw_null(w); /* allowed beside calls only */
    }
    if (all.err && !w->out->err) w->out->err = all.err;
    buf_done(&all);
}

static void write_call(struct jsonw *w, const struct msg_part *p)
{
    jw_obj(w);
    jw_kstr(w, "id", p->id);
    jw_kstrz(w, "type", "function");
    jw_key(w, "function");
    jw_obj(w);
    jw_kstr(w, "name", p->name);
    jw_kstr(w, "arguments", p->input); /* a string that holds JSON */
    jw_end_obj(w);
    jw_end_obj(w);
}

static void write_assistant(struct jsonw *w, const struct model_config *c, const struct msg *m)
{
    size_t calls = count(m, PART_CALL);
    if (!calls && !first_text(m).len) return;
    jw_obj(w);
    jw_kstrz(w, "role", "assistant");
    write_joined(w, "content", m, PART_TEXT);
    if (c->replay_reasoning) write_joined(w, "reasoning_content", m, PART_REASONING);
    if (calls) {
        jw_key(w, "tool_calls");
        jw_arr(w);
        for (size_t i = 0; i < m->count; i++)
            if (m->parts[i].type == PART_CALL) write_call(w, &m->parts[i]);
        jw_end_arr(w);
    }
    jw_end_obj(w);
}

/* There is no error flag on this wire: the text says it. */
static void write_result(struct jsonw *w, const struct msg_part *p)
{
    jw_obj(w);
    jw_kstrz(w, "role", "tool");
    jw_kstr(w, "tool_call_id", p->id);
    if (p->is_error && !str_starts(p->text, STR("Error")) && !wire_says_error(p->text)) {
        struct buf text;
        buf_init(&text, 0);
        buf_lit(&text, "Error: ");
        buf_str(&text, p->text);
        jw_kstr(w, "content", buf_view(&text));
        if (text.err && !w->out->err) w->out->err = text.err;
        buf_done(&text);
    } else {
        jw_kstr(w, "content", p->text);
    }
    jw_end_obj(w);
}

static void write_message(struct jsonw *w, const struct model_config *c, const struct msg *m)
{
    switch (m->role) {
    case MSG_ASSISTANT: write_assistant(w, c, m); return;
    case MSG_TOOLS:
        for (size_t i = 0; i < m->count; i++)
            if (m->parts[i].type == PART_RESULT) write_result(w, &m->parts[i]);
        write_user(w, m); /* images of results cannot stand in them */
        return;
    case MSG_USER: write_user(w, m); return;
    }
}

static void write_choice(struct jsonw *w, const struct model_request *q)
{
    if (!q->no_calls && q->choice == CHOICE_AUTO) return;
    if (q->no_calls || q->choice != CHOICE_NAMED) {
        jw_kstrz(w, "tool_choice", q->no_calls ? "none" : "required");
        return;
    }
    jw_key(w, "tool_choice");
    jw_obj(w);
    jw_kstrz(w, "type", "function");
    jw_key(w, "function");
    jw_obj(w);
    jw_kstr(w, "name", q->named);
    jw_end_obj(w);
    jw_end_obj(w);
}

static void write_tools(struct jsonw *w, const struct model_request *q)
{
    if (!q->tool_count) return; /* an empty list is refused */
    jw_key(w, "tools");
    jw_arr(w);
    for (size_t i = 0; i < q->tool_count; i++) {
        jw_obj(w);
        jw_kstrz(w, "type", "function");
        jw_key(w, "function");
        jw_obj(w);
        jw_kstr(w, "name", q->tools[i].name);
        if (q->tools[i].description.len) jw_kstr(w, "description", q->tools[i].description);
        jw_key(w, "parameters");
        form_schema(w, &wire_openai.form, q->tools[i].schema);
        jw_end_obj(w);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    write_choice(w, q);
}

static void body(struct buf *out, const struct model_config *c, const struct model_request *q)
{
    static const char *const taken[] = { "model", "messages",    "stream", "stream_options",
                                         "tools", "tool_choice", NULL };
    struct jsonw             w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstr(&w, "model", c->model);
    jw_kbool(&w, "stream", true);
    jw_kraw(&w, "stream_options", STR("{\"include_usage\":true}"));
    int64_t max = model_max_tokens(c->max_tokens, q);
    if (max > 0) jw_kint(&w, is_openai(c) ? "max_completion_tokens" : "max_tokens", max);
    if (wire_effort(c->thinking).len) jw_kstr(&w, "reasoning_effort", wire_effort(c->thinking));
    wire_extra(&w, c->thinking, taken);
    if (is_openai(c) && q->thread.len) jw_kstr(&w, "prompt_cache_key", q->thread);
    wire_extra(&w, c->extra, taken);
    write_tools(&w, q);
    jw_key(&w, "messages");
    jw_arr(&w);
    if (q->system.len) {
        jw_obj(&w);
        jw_kstrz(&w, "role", "system");
        jw_kstr(&w, "content", q->system);
        jw_end_obj(&w);
    }
    for (size_t i = 0; i < q->msg_count; i++) write_message(&w, c, &q->msgs[i]);
    jw_end_arr(&w);
    jw_end_obj(&w);
}

/* --- errors ---------------------------------------------------------------------------- */

static enum fail from_word(struct str word)
{
    static const struct {
        const char *word;
        enum fail   fail;
    } table[] = {
        { "invalid_api_key", FAIL_AUTH },
        { "authentication_error", FAIL_AUTH },
        { "invalid_authentication_error", FAIL_AUTH },
        { "model_not_found", FAIL_MODEL },
        { "NotFoundError", FAIL_MODEL },
        { "context_length_exceeded", FAIL_CONTEXT },
        { "exceed_context_size_error", FAIL_CONTEXT },
        { "insufficient_quota", FAIL_QUOTA },
        { "billing_hard_limit_reached", FAIL_QUOTA },
        { "rate_limit_exceeded", FAIL_RATE },
        { "server_error", FAIL_SERVER },
        { "unavailable_error", FAIL_OVERLOADED },
        { "engine_overloaded", FAIL_OVERLOADED },
        { "permission_error", FAIL_FORBIDDEN },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(word, table[i].word)) return table[i].fail;
    return FAIL_NONE;
}

static void take_word(struct trouble *t, const struct jv *v)
{
    struct str word = jv_str(v);
    if (!word.len) return;
    enum fail f = from_word(word);
    if (f != FAIL_NONE || !t->word[0]) trouble_word(t, word);
    if (f != FAIL_NONE) trouble_set(t, f);
}

/* {"error":{...}}, {"error":"text"}, {"object":"error",...} or the error itself. */
static void read_error(struct trouble *t, const struct jv *v)
{
    const struct jv *error = jv_get(v, "error");
    if (!jv_is(error, JSON_OBJECT)) error = v;
    int status = wire_status(jv_get(error, "code"));
    if (status && !t->status) trouble_status(t, status);
    take_word(t, jv_get(error, "type"));
    take_word(t, jv_get(error, "code")); /* the finer of the two */
}

/* --- decoder ----------------------------------------------------------------------------- */

/* What one chunk brings; everything is read before anything is told. */
struct chunk {
    struct str content, content_list, reasoning, reasoning_content, refusal, finish, calls;
    struct str usage, groq, error, object;
    struct str spelled; /* content as it stands between its quotes */
};

static struct str string_or_none(struct json *r)
{
    if (json_peek(r) == JSON_STRING) return json_string(r);
    json_skip(r);
    return STR_NONE;
}

static void read_content(struct json *r, struct chunk *c)
{
    if (json_peek(r) == JSON_ARRAY) c->content_list = json_raw(r);
    else {
        const char *quote = r->at;
        c->content = string_or_none(r);
        if (c->content.len && !r->err) c->spelled = str_n(quote + 1, (size_t)(r->at - quote - 2));
    }
}

static void read_delta(struct json *r, struct chunk *c)
{
    struct str key;
    if (json_peek(r) != JSON_OBJECT) {
        json_skip(r);
        return;
    }
    json_object(r);
    while (json_key(r, &key)) {
        if (str_is(key, "content")) read_content(r, c);
        else if (str_is(key, "reasoning_content")) c->reasoning_content = string_or_none(r);
        else if (str_is(key, "reasoning")) c->reasoning = string_or_none(r);
        else if (str_is(key, "refusal")) c->refusal = string_or_none(r);
        else if (str_is(key, "tool_calls")) c->calls = json_raw(r);
        else json_skip(r);
    }
}

static void read_choice(struct json *r, struct chunk *c)
{
    struct str key;
    json_object(r);
    while (json_key(r, &key)) {
        if (str_is(key, "delta")) read_delta(r, c);
        else if (str_is(key, "finish_reason")) c->finish = string_or_none(r);
        else json_skip(r);
    }
}

static void read_choices(struct json *r, struct chunk *c)
{
    bool first = true;
    if (json_peek(r) != JSON_ARRAY) {
        json_skip(r);
        return;
    }
    json_array(r);
    while (json_item(r)) {
        if (first && json_peek(r) == JSON_OBJECT) read_choice(r, c);
        else json_skip(r);
        first = false;
    }
}

static struct str raw_or_none(struct json *r)
{
    bool       null = json_peek(r) == JSON_NULL;
    struct str raw = json_raw(r);
    return null ? STR_NONE : raw;
}

static bool read_chunk(struct decoder *d, struct str data, struct chunk *c)
{
    struct json r;
    struct str  key;
    json_init(&r, data, d->scratch);
    json_object(&r);
    while (json_key(&r, &key)) {
        if (str_is(key, "choices")) read_choices(&r, c);
        else if (str_is(key, "usage")) c->usage = raw_or_none(&r);
        else if (str_is(key, "x_groq")) c->groq = raw_or_none(&r);
        else if (str_is(key, "error")) c->error = raw_or_none(&r);
        else if (str_is(key, "object")) c->object = string_or_none(&r);
        else json_skip(&r);
    }
    return json_end(&r) == OK;
}

static const struct jv *tree(struct decoder *d, struct str text)
{
    struct jv *v = NULL;
    if (!text.len || json_parse(d->scratch, text, &v, NULL) != OK) return NULL;
    return v;
}

/* Mistral: content as a list of parts, thinking among them. */
static void tell_list(struct decoder *d, const struct jv *list)
{
    JV_EACH (part, list) {
        if (str_is(jv_str_at(part, "type"), "text"))
            blocks_say(&d->blocks, BLOCK_TEXT, jv_str_at(part, "text"));
        if (!str_is(jv_str_at(part, "type"), "thinking")) continue;
        const struct jv *thinking = jv_get(part, "thinking");
        if (jv_is(thinking, JSON_STRING)) blocks_say(&d->blocks, BLOCK_REASONING, thinking->str);
        if (jv_is(thinking, JSON_ARRAY))
            JV_EACH (piece, thinking)
                blocks_say(&d->blocks, BLOCK_REASONING, jv_str_at(piece, "text"));
    }
}

/* --- calls --- */

static bool is_another(const struct block *part, struct str id)
{
    return id.len && part->has_id && !str_eq(buf_view(&part->id), id);
}

/* One entry of `tool_calls`. */
struct call_piece {
    struct str id, name, arguments;
    int64_t    index;
    bool       has_index;
};

/* Without an id: a piece that brings a name and arguments after a call that is complete is another
 * call. */
static bool begins_anew(const struct block *part, const struct call_piece *x)
{
    if (x->id.len || !x->name.len || !part->name.len) return false;
    if (!x->has_index && !str_eq(buf_view(&part->name), x->name)) return true;
    return part->shape.complete && str_trim(x->arguments).len > 0;
}

/* Which open call does this piece belong to? NULL: none. Servers differ: Ollama numbers all calls
 * 0, Mistral none, Qwen repeats an empty id. The id decides where there is one. */
static struct block *call_of(struct decoder *d, const struct call_piece *x)
{
    int64_t       key = x->has_index ? x->index : d->u.openai.last_key;
    struct block *part = key < 0 ? NULL : blocks_find(&d->blocks, key);
    if (!part || part->kind != BLOCK_CALL || is_another(part, x->id) || begins_anew(part, x))
        return NULL;
    return part;
}

/* A call that was told and closed must not come to life a second time. */
static bool was_seen(struct decoder *d, struct str id)
{
    struct buf *ids = &d->u.openai.ids;
    uint64_t    hash = str_hash(id), old;
    for (size_t at = 0; at + sizeof old <= ids->len; at += sizeof old) {
        memcpy(&old, ids->ptr + at, sizeof old);
        if (old == hash) return true;
    }
    return false;
}

static struct block *new_call(struct decoder *d, const struct call_piece *x)
{
    int64_t  key = x->has_index ? x->index : d->u.openai.any_call ? d->u.openai.last_key + 1 : 0;
    uint64_t hash = str_hash(x->id);
    if (x->id.len) buf_add(&d->u.openai.ids, &hash, sizeof hash);
    d->u.openai.any_call = true;
    blocks_settle(&d->blocks);
    return blocks_open(&d->blocks, BLOCK_CALL, key);
}

static void tell_piece(struct decoder *d, const struct call_piece *x)
{
    struct block *part = call_of(d, x);
    if (!part && (x->id.len ? was_seen(d, x->id) : !x->name.len)) {
        /* More input for a call that is closed already: blanks after its last brace are harmless,
         * the rest is not. */
        if (str_trim(x->arguments).len) decoder_fail(d, FAIL_PROTOCOL);
        return;
    }
    if (!part) part = new_call(d, x);
    if (!part) return;
    d->u.openai.last_key = part->key;
    blocks_call(&d->blocks, part, x->id, x->name);
    blocks_delta(&d->blocks, part, x->arguments);
}

static void tell_call(struct decoder *d, const struct jv *call)
{
    const struct jv *function = jv_get(call, "function"),
                    *arguments = jv_get(function, "arguments");
    struct call_piece x = { .id = jv_str_at(call, "id"), .name = jv_str_at(function, "name") };
    x.has_index = jv_int(jv_get(call, "index"), &x.index) && x.index >= 0;
    if (jv_is(arguments, JSON_STRING)) x.arguments = arguments->str;
    else if (arguments && arguments->type != JSON_NULL)
        x.arguments = arguments->raw; /* an object, or what the judge shall see */
    tell_piece(d, &x);
}

/* --- the rest --- */

static void take_usage(struct decoder *d, const struct jv *usage)
{
    if (!jv_is(usage, JSON_OBJECT)) return;
    d->input_tokens = jv_int_at(usage, "prompt_tokens", d->input_tokens);
    d->output_tokens = jv_int_at(usage, "completion_tokens", d->output_tokens);
    blocks_usage(&d->blocks, d->input_tokens, d->output_tokens);
}

static void take_finish(struct decoder *d, struct str reason)
{
    if (!reason.len) return;
    if (str_is(reason, "error")) {
        decoder_fail(d, FAIL_SERVER);
        return;
    }
    blocks_close_all(&d->blocks);
    if (str_is(reason, "content_filter") || d->u.openai.refused) decoder_stop(d, STOP_REFUSAL);
    else if (str_is(reason, "length")) decoder_stop(d, STOP_LENGTH);
    else decoder_stop(d, STOP_END); /* calls win over `stop`: several servers say it beside calls */
}

static void tell_chunk(struct decoder *d, const struct chunk *c)
{
    const struct jv *calls = tree(d, c->calls);
    blocks_say(&d->blocks, BLOCK_REASONING,
               c->reasoning_content.len ? c->reasoning_content : c->reasoning);
    blocks_say(&d->blocks, BLOCK_TEXT, c->content);
    if (c->content_list.ptr) tell_list(d, tree(d, c->content_list));
    if (c->refusal.len) {
        d->u.openai.refused = true;
        blocks_say(&d->blocks, BLOCK_TEXT, c->refusal);
    }
    if (jv_is(calls, JSON_ARRAY))
        JV_EACH (call, calls) tell_call(d, call);
    take_finish(d, c->finish);
    if (c->usage.ptr) take_usage(d, tree(d, c->usage));
    if (c->groq.ptr) take_usage(d, jv_get(tree(d, c->groq), "usage"));
}

static void error_chunk(struct decoder *d, struct str data)
{
    const struct jv *v = tree(d, data);
    decoder_fail(d, FAIL_SERVER);
    if (v) read_error(&d->trouble, v);
}

/* --- the mould ---
 *
 * Nearly all chunks of an answer are the same text around another piece of content. Such a text was
 * read strictly once; with another JSON string in the same place it means the same, so only that
 * string is read. */

static bool only_text(const struct chunk *c)
{
    return c->spelled.ptr && !c->reasoning.ptr && !c->reasoning_content.ptr && !c->refusal.ptr &&
           !c->finish.ptr && !c->calls.ptr && !c->usage.ptr && !c->groq.ptr && !c->error.ptr;
}

static void keep_mould(struct decoder *d, const struct chunk *c, struct str data)
{
    struct buf *m = &d->u.openai.mould;
    if (!only_text(c) || data.len - c->spelled.len > MOULD_MAX) return;
    size_t hole = (size_t)(c->spelled.ptr - data.ptr);
    buf_clear(m);
    buf_str(m, str_cut(data, hole));
    buf_str(m, str_from(data, hole + c->spelled.len));
    d->u.openai.hole = hole;
    if (m->err) buf_clear(m);
}

/* The content of a chunk that fits the mould; STR_NONE: it does not. */
static struct str cast(struct decoder *d, struct str data)
{
    struct str  mould = buf_view(&d->u.openai.mould);
    size_t      hole = d->u.openai.hole, tail = mould.len - hole;
    struct json r;
    if (!mould.len || data.len < mould.len) return STR_NONE;
    if (memcmp(data.ptr, mould.ptr, hole) ||
        memcmp(data.ptr + data.len - tail, mould.ptr + hole, tail))
        return STR_NONE;
    /* with its quotes */
    json_init(&r, str_n(data.ptr + hole - 1, data.len - mould.len + 2), d->scratch);
    struct str text = json_string(&r);
    return json_end(&r) == OK ? text : STR_NONE;
}

static void event(struct decoder *d, struct str name, struct str data)
{
    struct chunk c = { 0 };
    struct str   text = name.len || d->stopped ? STR_NONE : cast(d, data);
    if (text.ptr) {
        blocks_say(&d->blocks, BLOCK_TEXT, text);
        return;
    }
    if (str_is(name, "error")) {
        error_chunk(d, data);
        return;
    }
    if (str_is(str_trim(data), "[DONE]")) {
        decoder_finish(d);
        return;
    }
    if (!read_chunk(d, data, &c)) {
        decoder_fail(d, FAIL_PROTOCOL);
        return;
    }
    if (c.error.ptr || str_is(c.object, "error")) {
        error_chunk(d, data);
    } else if (!d->stopped) {
        keep_mould(d, &c, data);
        tell_chunk(d, &c);
    } else if (c.usage.ptr)
        take_usage(d, tree(d, c.usage)); /* after the finish only the counts matter */
}

static void begin(struct decoder *d)
{
    d->u.openai.last_key = -1; /* 0 is the first call's */
}

static void done(struct decoder *d)
{
    buf_done(&d->u.openai.ids);
    buf_done(&d->u.openai.mould);
}

/* this wire signs nothing */
static struct str opaque(struct arena *a, const struct msg_part *p)
{
    return STR_NONE;
}

static const char *const FILES[] = { "image/png", "image/jpeg", "image/gif", "image/webp", NULL };
static const char *const SCHEMES[] = { "https://", "http://", NULL };

const struct wire wire_openai = {
    .base_url = "https://api.openai.com/v1",
    .form = { .whole = true },
    .taste = { .files = FILES,
               .schemes = SCHEMES,
               .file_max = 20u << 20,
               .files_max = 24u << 20,
               .file_count = 100,
               .id_max = 40,
               .tools_max = 128,
               .description_max = 1024,
               .ends_in_words = true,
               .bare_reasoning = true,
               .opaque = opaque },
    .url = url,
    .key_header = key_header,
    .body = body,
    .begin = begin,
    .event = event,
    .done = done,
    .error = read_error,
};
