/* gemini.c -- the streamGenerateContent wire: request writer and decoder.
 *
 * Signatures must come back beside the very part they came with. Kept as opaque JSON:
 *     call:              {"id":"fc1","thoughtSignature":"..."}    each only if it was given
 *     text, reasoning:   {"at":N,"thoughtSignature":"..."}        the signed part begins at byte N
 *     of the text
 *     a part of its own: {"part":{...}}                           sent back as it came (code
 * execution, ...) A call id of ours is never sent to Gemini: only ids it gave itself are.
 */
#include <stdlib.h>

#include "model/gemini_args.h"
#include "model/wire.h"

/* --- request ------------------------------------------------------------------------- */

static void write_path(struct buf *out, struct str s)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/@";
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] && strchr(plain, s.ptr[i])) buf_chr(out, s.ptr[i]);
        else buf_printf(out, "%%%02X", (unsigned char)s.ptr[i]);
    }
}

static void url(struct buf *out, struct str base, struct str model)
{
    if (str_starts(model, STR("models/"))) model = str_from(model, strlen("models/"));
    buf_str(out, base);
    buf_lit(out, "/models/");
    write_path(out, model);
    buf_lit(out, ":streamGenerateContent?alt=sse");
}

static void key_header(const struct model_config *c, const char **name, const char **prefix)
{
    *name = c->bearer ? "Authorization" : "x-goog-api-key";
    *prefix = c->bearer ? "Bearer " : "";
}

static const struct jv *kept(struct arena *a, const struct msg_part *p)
{
    struct jv *v = NULL;
    if (!p->opaque.len || json_parse(a, p->opaque, &v, NULL) != OK) return NULL;
    return v;
}

/* Parts that are not read here go back as they came, if they have the form of their kind. */
static bool is_part(const struct jv *part)
{
    static const char *const kinds[] = {
        "executableCode", "codeExecutionResult", "inlineData", "fileData",
        "toolCall",       "toolResponse",        NULL
    };
    if (!jv_is(part, JSON_OBJECT) || !tidy_sound(part)) return false;
    for (size_t i = 0; kinds[i]; i++)
        if (jv_is(jv_get(part, kinds[i]), JSON_OBJECT)) return true;
    return jv_is(jv_get(part, "text"), JSON_STRING) &&
           tidy_base64(jv_str_at(part, "thoughtSignature"));
}

static struct str opaque(struct arena *a, const struct msg_part *p)
{
    const struct jv *v = kept(a, p), *part = jv_get(v, "part"),
                    *signature = jv_get(v, "thoughtSignature"), *id = jv_get(v, "id");
    if (part) return is_part(part) ? p->opaque : STR_NONE;
    if (signature && !tidy_base64(jv_str(signature))) return STR_NONE; /* bytes on their side */
    if (p->type == PART_CALL) return signature || jv_str(id).len ? p->opaque : STR_NONE;
    return signature ? p->opaque : STR_NONE;
}

static void write_signature(struct jsonw *w, const struct jv *opaque)
{
    const struct jv *signature = jv_get(opaque, "thoughtSignature");
    if (jv_is(signature, JSON_STRING)) jw_kraw(w, "thoughtSignature", signature->raw);
}

static void write_text_part(struct jsonw *w, struct str text, bool thought, const struct jv *opaque)
{
    jw_obj(w);
    jw_kstr(w, "text", text);
    if (thought) jw_kbool(w, "thought", true);
    write_signature(w, opaque);
    jw_end_obj(w);
}

/* Reasoning goes back only if it is signed: the rest is a summary for people. */
static void write_text(struct jsonw *w, const struct msg_part *p)
{
    struct arena a;
    arena_init(&a, 0);
    const struct jv *opaque = kept(&a, p), *part = jv_get(opaque, "part");
    bool             thought = p->type == PART_REASONING;
    if (jv_is(part, JSON_OBJECT)) {
        jw_raw(w, part->raw);
    } else if (jv_get(opaque, "thoughtSignature")) {
        int64_t at = jv_int_at(opaque, "at", 0);
        if (at < 0 || (size_t)at > p->text.len) at = 0;
        if (at > 0) write_text_part(w, str_cut(p->text, (size_t)at), thought, NULL);
        write_text_part(w, str_from(p->text, (size_t)at), thought, opaque);
    } else if (!thought && p->text.len) {
        write_text_part(w, p->text, false, NULL);
    }
    arena_done(&a);
}

static void write_call(struct jsonw *w, const struct msg_part *p)
{
    struct arena a;
    arena_init(&a, 0);
    const struct jv *opaque = kept(&a, p), *id = jv_get(opaque, "id");
    jw_obj(w);
    jw_key(w, "functionCall");
    jw_obj(w);
    if (id) jw_kraw(w, "id", id->raw);
    jw_kstr(w, "name", p->name);
    jw_kraw(w, "args", p->input);
    jw_end_obj(w);
    write_signature(w, opaque);
    jw_end_obj(w);
    arena_done(&a);
}

/* `response` must be an object. */
static void write_response(struct jsonw *w, const struct msg_part *p)
{
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    jw_key(w, "response");
    bool plain = p->is_error && !wire_says_error(p->text);
    if (plain || json_parse(&a, p->text, &v, NULL) != OK || !tidy_sound(v) ||
        json_depth(p->text) > TIDY_DEPTH)
        v = NULL;
    if (v && v->type == JSON_OBJECT) {
        jw_raw(w, v->raw);
    } else {
        jw_obj(w);
        if (plain) jw_kstr(w, "error", p->text);
        else if (v && v->type == JSON_ARRAY) jw_kraw(w, "results", v->raw);
        else if (v) jw_kraw(w, "result", v->raw);
        else jw_kstr(w, "result", p->text);
        jw_end_obj(w);
    }
    arena_done(&a);
}

/* The call this result answers, in the message before it. */
static const struct msg_part *call_of(const struct msg *before, struct str id)
{
    for (size_t i = 0; before && i < before->count; i++)
        if (before->parts[i].type == PART_CALL && str_eq(before->parts[i].id, id))
            return &before->parts[i];
    return NULL;
}

static void write_result(struct jsonw *w, const struct msg_part *p, const struct msg *before)
{
    const struct msg_part *call = call_of(before, p->id);
    struct arena           a;
    arena_init(&a, 0);
    const struct jv *id = call ? jv_get(kept(&a, call), "id") : NULL;
    jw_obj(w);
    jw_key(w, "functionResponse");
    jw_obj(w);
    if (id) jw_kraw(w, "id", id->raw);
    jw_kstr(w, "name", p->name);
    write_response(w, p);
    jw_end_obj(w);
    jw_end_obj(w);
    arena_done(&a);
}

static void write_file(struct jsonw *w, const struct msg_part *p)
{
    jw_obj(w);
    if (p->url.len) {
        jw_key(w, "fileData");
        jw_obj(w);
        if (p->media_type.len) jw_kstr(w, "mimeType", p->media_type);
        jw_kstr(w, "fileUri", p->url);
    } else {
        jw_key(w, "inlineData");
        jw_obj(w);
        jw_kstr(w, "mimeType", p->media_type);
        jw_kstr(w, "data", p->text);
    }
    jw_end_obj(w);
    jw_end_obj(w);
}

static void write_part(struct jsonw *w, const struct msg_part *p, const struct msg *before)
{
    switch (p->type) {
    case PART_TEXT:
    case PART_REASONING: write_text(w, p); return;
    case PART_CALL: write_call(w, p); return;
    case PART_RESULT: write_result(w, p, before); return;
    case PART_FILE: write_file(w, p); return;
    }
}

/* Results stand in a content of their own: their number must equal that of the calls before. */
static void write_contents(struct jsonw *w, const struct model_request *q)
{
    int open = -1;
    jw_key(w, "contents");
    jw_arr(w);
    for (size_t i = 0; i < q->msg_count; i++) {
        const struct msg *m = &q->msgs[i];
        if (open != (int)m->role) {
            if (open >= 0) jw_end_arr(w), jw_end_obj(w);
            jw_obj(w);
            jw_kstrz(w, "role", m->role == MSG_ASSISTANT ? "model" : "user");
            jw_key(w, "parts");
            jw_arr(w);
            open = (int)m->role;
        }
        for (size_t k = 0; k < m->count; k++) write_part(w, &m->parts[k], i ? m - 1 : NULL);
    }
    if (open >= 0) jw_end_arr(w), jw_end_obj(w);
    jw_end_arr(w);
}

/* A function without parameters has none at all: an object without properties is refused. */
static void write_parameters(struct jsonw *w, struct str schema)
{
    struct buf   out;
    struct jsonw own;
    buf_init(&out, 0);
    jsonw_init(&own, &out);
    size_t n = form_schema(&own, &wire_gemini.form, schema);
    if (n) jw_kraw(w, "parametersJsonSchema", buf_view(&out));
    if (out.err && !w->out->err) w->out->err = out.err;
    buf_done(&out);
}

static void write_choice(struct jsonw *w, const struct model_request *q)
{
    bool named = !q->no_calls && q->choice == CHOICE_NAMED;
    jw_key(w, "toolConfig");
    jw_obj(w);
    jw_key(w, "functionCallingConfig");
    jw_obj(w);
    jw_kstrz(w, "mode", q->no_calls ? "NONE" : q->choice == CHOICE_AUTO ? "AUTO" : "ANY");
    if (named) {
        jw_key(w, "allowedFunctionNames");
        jw_arr(w);
        jw_str(w, q->named);
        jw_end_arr(w);
    }
    jw_end_obj(w);
    jw_end_obj(w);
}

static void write_tools(struct jsonw *w, const struct model_request *q)
{
    if (!q->tool_count) return;
    jw_key(w, "tools");
    jw_arr(w);
    jw_obj(w);
    jw_key(w, "functionDeclarations");
    jw_arr(w);
    for (size_t i = 0; i < q->tool_count; i++) {
        jw_obj(w);
        jw_kstr(w, "name", q->tools[i].name);
        jw_kstr(w, "description", q->tools[i].description);
        write_parameters(w, q->tools[i].schema);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    jw_end_obj(w);
    jw_end_arr(w);
    write_choice(w, q);
}

static void write_thinking(struct jsonw *w, const struct jv *t)
{
    int64_t n;
    jw_key(w, "thinkingConfig");
    if (t->type == JSON_OBJECT) {
        jw_jv(w, t);
        return;
    }
    jw_obj(w);
    if (wire_thinking_off(t)) {
        jw_kint(w, "thinkingBudget", 0);
    } else {
        jw_kbool(w, "includeThoughts", true);
        if (jv_int(t, &n)) jw_kint(w, "thinkingBudget", n);
        if (t->type == JSON_STRING) jw_kstr(w, "thinkingLevel", t->str);
    }
    jw_end_obj(w);
}

static void write_settings(struct jsonw *w, const struct model_config *c, int64_t max_tokens)
{
    static const char *const taken[] = { "maxOutputTokens", "thinkingConfig", NULL };
    const struct jv         *extra = jv_get(c->extra, "generationConfig");
    if (max_tokens <= 0 && !c->thinking && !extra) return;
    jw_key(w, "generationConfig");
    jw_obj(w);
    if (max_tokens > 0) jw_kint(w, "maxOutputTokens", max_tokens);
    if (c->thinking) write_thinking(w, c->thinking);
    wire_extra(w, extra, taken);
    jw_end_obj(w);
}

static void body(struct buf *out, const struct model_config *c, const struct model_request *q)
{
    static const char *const taken[] = { "systemInstruction", "contents",         "tools",
                                         "toolConfig",        "generationConfig", NULL };
    struct jsonw             w;
    jsonw_init(&w, out);
    jw_obj(&w);
    if (q->system.len) {
        jw_key(&w, "systemInstruction");
        jw_obj(&w);
        jw_kstrz(&w, "role", "user");
        jw_key(&w, "parts");
        jw_arr(&w);
        write_text_part(&w, q->system, false, NULL);
        jw_end_arr(&w);
        jw_end_obj(&w);
    }
    write_contents(&w, q);
    write_tools(&w, q);
    write_settings(&w, c, model_max_tokens(c->max_tokens, q));
    wire_extra(&w, c->extra, taken);
    jw_end_obj(&w);
}

/* --- the same without signatures --- */

/* calls of the content before */
struct unsigned_body {
    struct jsonw    *w;
    const struct jv *calls[64];
    size_t           count, answered;
};

static void retell(struct unsigned_body *u, const struct jv *response)
{
    struct buf       text;
    const struct jv *said = jv_get(response, "response");
    const struct jv *args = u->answered < u->count ? jv_get(u->calls[u->answered++], "args") : NULL;
    buf_init(&text, 0);
    buf_printf(&text, "(The tool " STR_FMT " was called with ",
               STR_ARG(jv_str_at(response, "name")));
    buf_str(&text, args ? args->raw : STR("{}"));
    buf_lit(&text, ". It answered: ");
    buf_str(&text, said ? said->raw : STR("{}"));
    buf_chr(&text, ')');
    write_text_part(u->w, buf_view(&text), false, NULL);
    if (text.err && !u->w->out->err) u->w->out->err = text.err;
    buf_done(&text);
}

/* Calls are held back until their result tells of both; thoughts are nothing without their
 * signature. */
static void write_unsigned(struct unsigned_body *u, const struct jv *part)
{
    const struct jv *call = jv_get(part, "functionCall"),
                    *response = jv_get(part, "functionResponse");
    if (call) {
        if (u->count < sizeof u->calls / sizeof *u->calls) u->calls[u->count++] = call;
    } else if (response) {
        retell(u, response);
    } else if (!jv_get(part, "thought") &&
               (!jv_is(jv_get(part, "text"), JSON_STRING) || jv_get(part, "text")->str.len)) {
        jw_obj(u->w);
        JV_EACH (m, part)
            if (!str_is(m->key, "thoughtSignature")) jw_key_str(u->w, m->key), jw_raw(u->w, m->raw);
        jw_end_obj(u->w);
    }
}

static void write_content(struct unsigned_body *u, const struct jv *content)
{
    struct buf   parts;
    struct jsonw w, *out = u->w;
    struct str   role = jv_str_at(content, "role");
    buf_init(&parts, 0);
    jsonw_init(&w, &parts);
    if (str_is(role, "model")) u->count = u->answered = 0;
    u->w = &w;
    jw_arr(&w);
    JV_EACH (p, jv_get(content, "parts")) write_unsigned(u, p);
    jw_end_arr(&w);
    u->w = out;
    if (parts.err && !out->out->err) out->out->err = parts.err;
    if (parts.len > 2) { /* not [] */
        jw_obj(out);
        jw_kstr(out, "role", role);
        jw_kraw(out, "parts", buf_view(&parts));
        jw_end_obj(out);
    }
    buf_done(&parts);
}

/* Signatures of another model or key: calls of the current turn would be refused without them too,
 * so they become words. */
static void unsigned_body(struct buf *out, const struct jv *body)
{
    struct jsonw         w;
    struct unsigned_body u = { .w = &w };
    jsonw_init(&w, out);
    jw_obj(&w);
    JV_EACH (m, body) {
        jw_key_str(&w, m->key);
        if (!str_is(m->key, "contents")) {
            jw_raw(&w, m->raw);
            continue;
        }
        jw_arr(&w);
        JV_EACH (content, m) write_content(&u, content);
        jw_end_arr(&w);
    }
    jw_end_obj(&w);
}

/* --- errors ---------------------------------------------------------------------------------- */

static enum fail from_word(struct str word)
{
    static const struct {
        const char *word;
        enum fail   fail;
    } table[] = {
        { "INVALID_ARGUMENT", FAIL_REQUEST }, { "FAILED_PRECONDITION", FAIL_FORBIDDEN },
        { "UNAUTHENTICATED", FAIL_AUTH },     { "PERMISSION_DENIED", FAIL_FORBIDDEN },
        { "NOT_FOUND", FAIL_MODEL },          { "RESOURCE_EXHAUSTED", FAIL_RATE },
        { "INTERNAL", FAIL_SERVER },          { "UNKNOWN", FAIL_SERVER },
        { "UNAVAILABLE", FAIL_OVERLOADED },   { "DEADLINE_EXCEEDED", FAIL_SLOW },
        { "API_KEY_INVALID", FAIL_AUTH },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(word, table[i].word)) return table[i].fail;
    return FAIL_NONE;
}

/* "17s", "1.5s" */
static int64_t duration_ms(struct str s)
{
    char   text[24], *end;
    double seconds;
    if (s.len < 2 || s.len >= sizeof text || s.ptr[s.len - 1] != 's') return -1;
    memcpy(text, s.ptr, s.len - 1);
    text[s.len - 1] = '\0';
    seconds = strtod(text, &end);
    return *end || !(seconds >= 0 && seconds < 1e6) ? -1 : (int64_t)(seconds * 1000);
}

static void read_details(struct trouble *t, const struct jv *details)
{
    if (!jv_is(details, JSON_ARRAY)) return;
    JV_EACH (one, details) {
        int64_t wait = duration_ms(jv_str_at(one, "retryDelay"));
        if (wait >= 0) t->after_ms = wait;
        /* comes with status 400 */
        if (str_is(jv_str_at(one, "reason"), "API_KEY_INVALID")) trouble_set(t, FAIL_AUTH);
    }
}

static bool speaks_of_signature(struct str message)
{
    return str_find(message, STR("thought signature")) >= 0 ||
           str_find(message, STR("thought_signature")) >= 0 ||
           str_find(message, STR("Thought signature")) >= 0;
}

static void read_error(struct trouble *t, const struct jv *v)
{
    const struct jv *error = jv_get(v, "error");
    struct str       word = jv_str_at(error, "status"), message = jv_str_at(error, "message");
    int              status = wire_status(jv_get(error, "code"));
    enum fail        f = from_word(word);
    if (status && !t->status) trouble_status(t, status);
    trouble_word(t, word);
    if (f != FAIL_NONE) trouble_set(t, f);
    if (t->kind == FAIL_REQUEST && speaks_of_signature(message)) trouble_set(t, FAIL_SIGNATURE);
    if (t->kind == FAIL_REQUEST &&
        str_find(message, STR("exceeds the maximum number of tokens")) >= 0)
        trouble_set(t, FAIL_CONTEXT);
    read_details(t, jv_get(error, "details"));
}

/* --- decoder ---------------------------------------------------------------------------------- */

static void keep_signed(struct block *part, struct str signature, int64_t at)
{
    struct jsonw w;
    jsonw_init(&w, &part->opaque);
    jw_obj(&w);
    jw_kint(&w, "at", at);
    jw_kstr(&w, "thoughtSignature", signature);
    jw_end_obj(&w);
}

static void keep_part(struct decoder *d, const struct jv *part)
{
    struct buf   out;
    struct jsonw w;
    buf_init(&out, BLOCKS_INPUT_MAX);
    jsonw_init(&w, &out);
    jw_obj(&w);
    jw_kraw(&w, "part", part->raw);
    jw_end_obj(&w);
    if (out.err) d->blocks.err = out.err;
    else blocks_hidden(&d->blocks, buf_view(&out));
    buf_done(&out);
}

/* A signature closes its part: what follows belongs to another one. */
static void take_text(struct decoder *d, const struct jv *raw, struct str text)
{
    enum block_kind kind = jv_true(jv_get(raw, "thought")) ? BLOCK_REASONING : BLOCK_TEXT;
    struct str      signature = jv_str_at(raw, "thoughtSignature");
    struct block   *last = blocks_last(&d->blocks);
    bool            goes_on = last && last->kind == kind && !last->closed;
    int64_t         at = goes_on ? (int64_t)last->len : 0;

    blocks_say(&d->blocks, kind, text);
    if (!signature.len) return;
    last = blocks_last(&d->blocks);
    if (!last || last->kind != kind || last->closed) {
        keep_part(d, raw); /* an empty text that only carries the signature */
        return;
    }
    keep_signed(last, signature, at);
    blocks_close(&d->blocks, last);
}

/* --- calls --- */

static struct block *open_call(struct decoder *d, const struct jv *call, struct str signature)
{
    struct str   id = jv_str_at(call, "id"), name = jv_str_at(call, "name");
    struct jsonw w;
    blocks_settle(&d->blocks);
    struct block *part = blocks_open(&d->blocks, BLOCK_CALL, 0);
    if (!part) return NULL;
    if (id.len || signature.len) {
        jsonw_init(&w, &part->opaque);
        jw_obj(&w);
        if (id.len) jw_kstr(&w, "id", id);
        if (signature.len) jw_kstr(&w, "thoughtSignature", signature);
        jw_end_obj(&w);
    }
    blocks_call(&d->blocks, part, id.len ? id : STR_NONE, name);
    return part;
}

static void drop_args(struct decoder *d)
{
    gemini_args_free(d->u.gemini.args);
    d->u.gemini.args = NULL;
}

static void add_args(struct decoder *d, const struct jv *pairs)
{
    if (!jv_is(pairs, JSON_ARRAY)) return;
    if (!d->u.gemini.args) d->u.gemini.args = gemini_args_new();
    JV_EACH (pair, pairs) {
        enum err e = d->u.gemini.args ? gemini_args_add(d->u.gemini.args, pair) : ERR_NOMEM;
        if (!e) continue;
        decoder_fail(d, e == ERR_NOMEM ? FAIL_NOMEM : FAIL_PROTOCOL);
        return;
    }
}

static void close_call(struct decoder *d, struct block *part, const struct jv *args)
{
    struct buf out;
    if (args && args->type != JSON_NULL) {
        blocks_delta(&d->blocks, part, args->raw); /* an object, or what the judge shall see */
    } else if (d->u.gemini.args) {
        buf_init(&out, BLOCKS_INPUT_MAX);
        gemini_args_write(d->u.gemini.args, &out);
        if (out.err) d->blocks.err = out.err;
        else blocks_delta(&d->blocks, part, buf_view(&out));
        buf_done(&out);
    }
    drop_args(d);
    if (!d->blocks.err) blocks_close(&d->blocks, part);
}

/* Whole in one part, or begun with a name and continued without one while `willContinue`. */
static void take_call(struct decoder *d, const struct jv *raw, const struct jv *call)
{
    struct block *part = blocks_last(&d->blocks);
    bool          open = part && part->kind == BLOCK_CALL && !part->closed;
    if (jv_str_at(call, "name").len) {
        if (open) {
            decoder_fail(d, FAIL_PROTOCOL); /* the one before never ended */
            return;
        }
        part = open_call(d, call, jv_str_at(raw, "thoughtSignature"));
    } else if (!open) {
        return;
    }
    if (!part) return;
    add_args(d, jv_get(call, "partialArgs"));
    if (d->trouble.kind == FAIL_NONE && !jv_true(jv_get(call, "willContinue")))
        close_call(d, part, jv_get(call, "args"));
}

static void take_part(struct decoder *d, const struct jv *part)
{
    const struct jv *text = jv_get(part, "text"), *call = jv_get(part, "functionCall");
    if (jv_is(call, JSON_OBJECT)) take_call(d, part, call);
    else if (jv_is(text, JSON_STRING)) take_text(d, part, text->str);
    else if (jv_is(part, JSON_OBJECT) && part->count) keep_part(d, part);
}

/* --- the end --- */

static bool is_one_of(struct str s, const char *const *list)
{
    while (*list && !str_is(s, *list)) list++;
    return *list != NULL;
}

static void take_finish(struct decoder *d, struct str reason, struct str message)
{
    static const char *const refusal[] = { "SAFETY",
                                           "RECITATION",
                                           "BLOCKLIST",
                                           "PROHIBITED_CONTENT",
                                           "SPII",
                                           "LANGUAGE",
                                           "IMAGE_SAFETY",
                                           "IMAGE_PROHIBITED_CONTENT",
                                           "IMAGE_RECITATION",
                                           "MODEL_ARMOR",
                                           "JAILBREAK",
                                           NULL };
    static const char *const bad_call[] = { "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
                                            "TOO_MANY_TOOL_CALLS", NULL };
    if (!reason.len) return;
    if (is_one_of(reason, bad_call)) {
        decoder_fail(d, FAIL_BAD_CALL);
        trouble_word(&d->trouble, reason);
    } else if (is_one_of(reason, refusal)) {
        blocks_say(&d->blocks, BLOCK_TEXT, message);
        decoder_stop(d, STOP_REFUSAL);
    } else {
        decoder_stop(d, str_is(reason, "MAX_TOKENS") ? STOP_LENGTH : STOP_END);
    }
}

/* Repeated and growing: the last one counts. Thoughts are billed as output. */
static void take_usage(struct decoder *d, const struct jv *usage)
{
    int64_t in, out, thoughts;
    if (!jv_int(jv_get(usage, "promptTokenCount"), &in)) return;
    out = jv_int_at(usage, "candidatesTokenCount", 0);
    thoughts = jv_int_at(usage, "thoughtsTokenCount", 0);
    d->input_tokens = in;
    if (__builtin_add_overflow(out, thoughts, &d->output_tokens)) d->output_tokens = 0;
    blocks_usage(&d->blocks, d->input_tokens, d->output_tokens);
}

static void event(struct decoder *d, struct str name, struct str data)
{
    struct jv *v = NULL;
    if (json_parse(d->scratch, data, &v, NULL) != OK) {
        decoder_fail(d, FAIL_PROTOCOL);
        return;
    }
    if (jv_is(v, JSON_ARRAY)) v = v->child;
    if (jv_is(jv_get(v, "error"), JSON_OBJECT)) {
        decoder_fail(d, FAIL_SERVER);
        read_error(&d->trouble, v);
        return;
    }
    const struct jv *candidate = jv_at(jv_get(v, "candidates"), 0),
                    *parts = jv_get(jv_get(candidate, "content"), "parts");
    if (!d->stopped && jv_is(parts, JSON_ARRAY))
        JV_EACH (part, parts)
            if (d->trouble.kind == FAIL_NONE && !d->blocks.err) take_part(d, part);
    if (d->trouble.kind != FAIL_NONE) return;
    if (!d->stopped)
        take_finish(d, jv_str_at(candidate, "finishReason"), jv_str_at(candidate, "finishMessage"));
    if (!candidate) {
        struct str blocked = jv_str_at(jv_get(v, "promptFeedback"), "blockReason");
        if (blocked.len) decoder_stop(d, STOP_REFUSAL);
    }
    take_usage(d, jv_get(v, "usageMetadata"));
}

static void done(struct decoder *d)
{
    drop_args(d);
}

static const char *const FILES[] = {
    "image/png",  "image/jpeg", "image/webp", "image/heic",      "image/heif", "application/pdf",
    "audio/wav",  "audio/mp3",  "audio/mpeg", "audio/aiff",      "audio/aac",  "audio/ogg",
    "audio/flac", "video/mp4",  "video/mpeg", "video/quicktime", "video/webm", "text/plain",
    "text/html",  "text/css",   "text/csv",   "text/markdown",   "text/xml",   NULL
};
static const char *const SCHEMES[] = { "https://", "gs://", NULL };

static const char *const KEYWORDS[] = {
    "type",       "title",    "description", "format",  "enum",  "items", "prefixItems",
    "minItems",   "maxItems", "minimum",     "maximum", "anyOf", "oneOf", "additionalProperties",
    "properties", "required", NULL
};

const struct wire wire_gemini = {
    .base_url = "https://generativelanguage.googleapis.com/v1beta",
    .form = { .keywords = KEYWORDS, .no_refs = true, .whole = true },
    .taste = { .files = FILES,
               .schemes = SCHEMES,
               .file_max = 14u << 20,
               .files_max = 14u << 20,
               .file_count = 100,
               .id_max = 64,
               .tools_max = 512,
               .description_max = 8192,
               .calls_need_origin = true,
               .opaque = opaque },
    .url = url,
    .key_header = key_header,
    .body = body,
    .unsigned_body = unsigned_body,
    .event = event,
    .done = done,
    .error = read_error,
};
