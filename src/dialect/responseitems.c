/* responseitems.c -- see responseitems.h. */
#include "dialect/responseitems.h"

#include "base/id.h"
#include "dialect/payload.h"
#include "run/approval.h"

/* --- what the door keeps ---------------------------------------------------------------------- */

static struct str raw_at(const struct jv *v, const char *key)
{
    const struct jv *x = jv_get(v, key);
    return x && x->type != JSON_NULL ? x->raw : STR_NONE;
}

void response_data(struct arena *a, const struct fact *response, struct response_data *out)
{
    struct jv *v = NULL;
    if (!response->data.len || json_parse_own(a, response->data, &v) != OK) v = NULL;
    *out = (struct response_data){ .form = jv_str_at(v, "form"),
                                   .store = jv_true(jv_get(v, "store")),
                                   .background = jv_true(jv_get(v, "background")),
                                   .summary = jv_true(jv_get(v, "summary")),
                                   .usage = jv_true(jv_get(v, "usage")),
                                   .model = jv_str_at(v, "model"),
                                   .instructions = jv_str_at(v, "instructions"),
                                   .metadata = raw_at(v, "metadata"),
                                   .tools = raw_at(v, "tools"),
                                   .tool_choice = raw_at(v, "tool_choice"),
                                   .input = raw_at(v, "input"),
                                   .max_output_tokens = jv_int_at(v, "max_output_tokens", 0),
                                   .link = jv_str_at(v, "link"),
                                   .tell = jv_get(v, "tell") };
}

bool response_kept(const struct fold *f, const struct fact *response)
{
    struct response_data d;
    struct arena         a;
    if (!response || response_forgotten(f, response->id)) return false;
    arena_init(&a, 0);
    response_data(&a, response, &d);
    bool kept = d.store;
    arena_done(&a);
    return kept;
}

/* --- items ------------------------------------------------------------------------------------ */

struct walk {
    const struct fold *f;
    const struct fact *response;
    bool (*each)(void *, const struct response_item *);
    void    *ctx;
    unsigned next;
    bool     on;
};

static void give(struct walk *k, struct response_item x)
{
    if (!k->on) return;
    x.index = k->next++;
    k->on = k->each(k->ctx, &x);
}

static void walk_step(struct walk *k, const struct fact *step, bool summary)
{
    for (size_t i = 0; i < step->parts_count; i++) {
        const struct part   *p = &step->parts[i];
        struct response_item x = { .text = p->text, .complete = p->complete, .seq = step->seq };
        if (p->type == STEP_CALL) continue;
        x.kind = p->type == STEP_TEXT ? ITEM_MESSAGE : ITEM_REASONING;
        if (p->type == STEP_TEXT || (summary && p->text.len)) give(k, x);
    }
}

static bool has_items(const struct response_data *d)
{
    return !str_is(d->form, "words");
}

static bool is_extension(const struct response_data *d)
{
    return str_is(d->form, "extension");
}

bool response_ends_call(const struct fact *response, const struct call *c)
{
    return !c->client && c->started && c->started->seq < response->seq &&
           str_eq(c->run->id, response->run);
}

const struct call *response_call(const struct fold *f, struct str id)
{
    const struct call *c = fold_call(f, id);
    while (c && call_gave_way(c)) c = c->replaced_by;
    return c;
}

static void walk_call(struct walk *k, const struct fact *x, const struct response_data *d)
{
    const struct call   *c = fold_call(k->f, x->call);
    struct response_item it = { .kind = ITEM_CALL, .call = c, .seq = x->seq, .complete = true };
    if (!c || c->gate == GATE_REPLY) return;
    if (x->kind == FACT_ASKED) {
        it.kind = ITEM_QUESTION;
        it.asked = x;
        if (has_items(d) && (!asked_by_tool(x) || is_extension(d))) give(k, it);
    } else if (x->kind == FACT_STARTED) {
        it.kind = c->client ? ITEM_FUNCTION : ITEM_CALL;
        give(k, it);
    } else if (!call_gave_way(c) && (!c->started || response_ends_call(k->response, c)))
        give(k, it); /* at once */
}

static void walk_fact(struct walk *k, const struct fact *x, const struct fact *response,
                      const struct response_data *d)
{
    if (x->kind == FACT_STEP) walk_step(k, x, d->summary);
    if (x->kind == FACT_ASKED || x->kind == FACT_STARTED || x->kind == FACT_FINISHED)
        walk_call(k, x, d);
    if (x->kind == FACT_TOLD && response->link.ptr)
        give(k, (struct response_item){
                    .kind = ITEM_MESSAGE, .text = x->text, .complete = true, .seq = x->seq });
}

void response_items(const struct fold *f, const struct fact *response,
                    const struct response_data *d, uint64_t                   seq,
                    bool (*each)(void *, const struct response_item *), void *ctx)
{
    struct walk k = { f, response, each, ctx, 0, true };
    JV_EACH (id, d->tell) {
        const struct call *c = response_call(f, jv_str(id));
        if (c)
            give(&k, (struct response_item){
                         .kind = ITEM_CALL, .call = c, .complete = true, .seq = response->seq });
    }
    if (response->text.ptr && response->text.len)
        give(&k, (struct response_item){ .kind = ITEM_MESSAGE,
                                         .text = response->text,
                                         .complete = true,
                                         .seq = response->seq });
    for (uint64_t s = response->seq + 1; s <= seq && k.on && !response->text.ptr; s++)
        walk_fact(&k, f->facts[s - 1], response, d);
}

struct str item_id(char out[ITEM_ID_MAX], const char *prefix, struct str response, unsigned index)
{
    struct str name = response.len > ID_LEN ? str_from(response, response.len - ID_LEN) : response;
    return id_join(out, ITEM_ID_MAX, prefix, '_', name, index);
}

/* --- one item --------------------------------------------------------------------------------- */

static bool known(const struct fact *f, uint64_t seq)
{
    return f && f->seq <= seq;
}

/* What a call came to, in words. */
static void call_words(struct buf *out, const struct call *c)
{
    struct jv   *v = NULL;
    struct arena a;
    arena_init(&a, 0);
    if (json_parse(&a, c->finished->text, &v, NULL) == OK && jv_str_at(v, "error").len) {
        buf_str(out, jv_str_at(v, "error"));
        if (jv_str_at(v, "reason").len)
            buf_printf(out, ": " STR_FMT, STR_ARG(jv_str_at(v, "reason")));
    } else buf_str(out, c->finished->text);
    arena_done(&a);
}

static const char *item_status(const struct call *c, uint64_t seq, bool left)
{
    if (!known(c->finished, seq)) return left ? "incomplete" : "in_progress";
    if (c->finished->outcome == WORD_DONE) return "completed";
    return c->finished->outcome == WORD_UNKNOWN ? "incomplete" : "failed";
}

static void put_outcome(struct jsonw *w, const struct call *c, uint64_t seq)
{
    bool       over = known(c->finished, seq), done = over && c->finished->outcome == WORD_DONE;
    struct buf why = { 0 };
    jw_key(w, "output");
    jw_str_or_null(w, done ? c->finished->text : STR_NONE);
    jw_key(w, "error");
    if (!over || done) {
        jw_null(w);
        return;
    }
    call_words(&why, c);
    jw_obj(w);
    jw_kstrz(w, "type", "mcp_tool_execution_error");
    jw_key(w, "content");
    jw_arr(w);
    jw_obj(w);
    jw_kstrz(w, "type", "text");
    jw_kbuf(w, "text", &why);
    jw_end_obj(w);
    jw_end_arr(w);
    jw_end_obj(w);
    buf_done(&why);
}

/* The server behind a tool: its name is what stands before the double underscore. */
static struct str server_label(const struct call *c)
{
    ptrdiff_t at = str_find(c->tool, STR("__"));
    return at > 0 ? str_cut(c->tool, (size_t)at) : STR("parley");
}

/* What a person made of a call and ran at once stands for the answer to that call's question. */
static struct str question_of(const struct call *c)
{
    while (call_is_inner(c)) c = c->instead_of;
    return c->asked ? c->asked->id : STR_NONE;
}

static void write_call(struct jsonw *w, struct str id, const struct response_item *x,
                       bool extension, uint64_t seq, bool open)
{
    const struct call *c = x->call;
    jw_kstrz(w, "type", extension ? "parley:tool_call" : "mcp_call");
    jw_kstr(w, "id", id);
    jw_kstrz(w, "status", open ? "in_progress" : item_status(c, seq, x->left));
    if (extension) jw_kstr(w, "call_id", c->id);
    else jw_kstr(w, "server_label", server_label(c));
    jw_kstr(w, "name", c->tool);
    jw_kstr(w, "arguments", open && !extension ? STR("") : c->input);
    if (open) {
        jw_key(w, "output");
        jw_null(w);
        jw_key(w, "error");
        jw_null(w);
    } else put_outcome(w, c, seq);
    jw_key(w, "approval_request_id");
    jw_str_or_null(w, question_of(c));
}

static void write_question(struct jsonw *w, const struct response_item *x, bool extension,
                           struct str link)
{
    const struct call *c = x->call;
    struct buf         url = { 0 };
    jw_kstrz(w, "type", extension ? "parley:approval_request" : "mcp_approval_request");
    jw_kstr(w, "id", x->asked->id);
    if (!extension) jw_kstr(w, "server_label", server_label(c));
    else {
        jw_kstrz(w, "status", "completed");
        jw_kstr(w, "call_id", c->id);
    }
    jw_kstr(w, "name", c->tool);
    jw_kstr(w, "arguments", c->input);
    if (!extension) return;
    jw_kstr(w, "ask", x->asked->ask);
    jw_key(w, "risk");
    jw_str_or_null(w, x->asked->risk);
    payload_time(w, "expires_at", x->asked->expires_ms);
    jw_kstr(w, "arguments_sha256", x->asked->digest);
    buf_str(&url, link);
    buf_str(&url, x->asked->id);
    jw_kbuf(w, "url", &url);
    buf_done(&url);
    approval_write_terms(w, NULL, x->asked);
    jw_key(w, "decision");
    jw_null(w);
}

static void write_words(struct jsonw *w, struct str id, const struct response_item *x, bool open)
{
    bool words = x->kind == ITEM_MESSAGE;
    jw_kstrz(w, "type", words ? "message" : "reasoning");
    jw_kstr(w, "id", id);
    if (words) {
        jw_kstrz(w, "status", open ? "in_progress" : x->complete ? "completed" : "incomplete");
        jw_kstrz(w, "role", "assistant");
    }
    jw_key(w, words ? "content" : "summary");
    jw_arr(w);
    if (!open) {
        jw_obj(w);
        jw_kstrz(w, "type", words ? "output_text" : "summary_text");
        jw_kstr(w, "text", x->text);
        if (words) {
            jw_kraw(w, "annotations", STR("[]"));
            jw_kraw(w, "logprobs", STR("[]"));
        }
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

static void write_function(struct jsonw *w, struct str id, const struct call *c, bool open)
{
    jw_kstrz(w, "type", "function_call");
    jw_kstr(w, "id", id);
    jw_kstr(w, "call_id", c->id);
    jw_kstr(w, "name", c->tool);
    jw_kstr(w, "arguments", open ? STR("") : c->input);
    jw_kstrz(w, "status", open ? "in_progress" : "completed");
}

void item_write(struct jsonw *w, struct str response, const struct response_item *x,
                const struct response_data *d, uint64_t seq, bool open)
{
    static const char *const PREFIX[] = { "msg", "rs", "mcp", "fc", "q" };
    char                     room[ITEM_ID_MAX];
    struct str               id = item_id(room, PREFIX[x->kind], response, x->index);
    bool                     extension = is_extension(d);
    jw_obj(w);
    switch (x->kind) {
    case ITEM_MESSAGE:
    case ITEM_REASONING: write_words(w, id, x, open); break;
    case ITEM_CALL: write_call(w, id, x, extension, seq, open); break;
    case ITEM_FUNCTION: write_function(w, id, x->call, open); break;
    case ITEM_QUESTION: write_question(w, x, extension, d->link); break;
    }
    jw_end_obj(w);
}

/* --- the response ----------------------------------------------------------------------------- */

const char *response_status(const struct fold *f, const struct fact *response, uint64_t end)
{
    const struct run *r = fold_run(f, response->run);
    if (!end) return "in_progress";
    if (response->text.ptr || !r || !known(r->ended, end)) return "completed";
    if (r->ended->outcome == WORD_ERROR) return "failed";
    if (r->ended->outcome == WORD_CANCELLED) return "cancelled";
    return payload_cut(r) ? "incomplete" : "completed";
}

void response_usage(const struct fold *f, const struct fact *response, uint64_t seq, int64_t *in,
                    int64_t *out)
{
    *in = *out = 0;
    for (uint64_t s = response->seq; s <= seq && !response->text.ptr; s++) {
        const struct fact *x = f->facts[s - 1];
        if (x->kind != FACT_STEP) continue;
        *in += x->input_tokens;
        *out += x->output_tokens;
    }
}

struct output {
    struct jsonw               *w;
    const struct fact          *response;
    const struct response_data *d;
    uint64_t                    seq;
    bool                        over;
};

static bool put_item(void *ctx, const struct response_item *x)
{
    struct output       *o = ctx;
    struct response_item item = *x;
    item.left = o->over;
    item_write(o->w, o->response->id, &item, o->d, o->seq, false);
    return true;
}

static void put_usage(struct jsonw *w, const struct fold *f, const struct fact *response,
                      uint64_t end)
{
    int64_t in, out;
    jw_key(w, "usage");
    if (!end) {
        jw_null(w);
        return;
    }
    response_usage(f, response, end, &in, &out);
    jw_obj(w);
    jw_kint(w, "input_tokens", in);
    jw_kraw(w, "input_tokens_details", STR("{\"cached_tokens\":0}"));
    jw_kint(w, "output_tokens", out);
    jw_kraw(w, "output_tokens_details", STR("{\"reasoning_tokens\":0}"));
    jw_kint(w, "total_tokens", in + out);
    jw_end_obj(w);
}

static void put_failure(struct jsonw *w, const struct run *r, const char *status)
{
    jw_key(w, "error");
    if (strcmp(status, "failed") != 0) jw_null(w);
    else {
        jw_obj(w);
        jw_kstrz(w, "type", "server_error");
        jw_kstr(w, "code", r->ended->code.len ? r->ended->code : STR("server_error"));
        jw_kstr(w, "message", r->ended->text);
        jw_key(w, "param");
        jw_null(w);
        jw_end_obj(w);
    }
    jw_key(w, "incomplete_details");
    if (strcmp(status, "incomplete") != 0) jw_null(w);
    else {
        const char *cut = payload_cut(r);
        jw_obj(w);
        jw_kstrz(w, "reason",
                 cut && strcmp(cut, "length") == 0 ? "max_output_tokens" : "content_filter");
        jw_end_obj(w);
    }
}

static void put_echo(struct jsonw *w, const struct fact *response, const struct response_data *d)
{
    jw_kstr(w, "model", d->model.len ? d->model : STR("parley"));
    jw_key(w, "previous_response_id");
    jw_str_or_null(w, response->of.len ? response->of : STR_NONE);
    jw_key(w, "instructions");
    jw_str_or_null(w, d->instructions);
    jw_kraw(w, "tools", d->tools.len ? d->tools : STR("[]"));
    jw_kraw(w, "tool_choice", d->tool_choice.len ? d->tool_choice : STR("\"auto\""));
    jw_key(w, "max_output_tokens");
    if (d->max_output_tokens) jw_int(w, d->max_output_tokens);
    else jw_null(w);
    jw_kbool(w, "store", d->store);
    jw_kbool(w, "background", d->background);
    jw_kraw(w, "metadata", d->metadata.len ? d->metadata : STR("{}"));
}

static void put_constants(struct jsonw *w)
{
    static const char *const NULLS[] = { "max_tool_calls", "safety_identifier",
                                         "prompt_cache_key" };
    for (size_t i = 0; i < sizeof NULLS / sizeof *NULLS; i++) {
        jw_key(w, NULLS[i]);
        jw_null(w);
    }
    jw_kstrz(w, "truncation", "disabled");
    jw_kbool(w, "parallel_tool_calls", true);
    jw_kraw(w, "text", STR("{\"format\":{\"type\":\"text\"}}"));
    jw_kint(w, "top_p", 1);
    jw_kint(w, "temperature", 1);
    jw_kint(w, "presence_penalty", 0);
    jw_kint(w, "frequency_penalty", 0);
    jw_kint(w, "top_logprobs", 0);
    jw_kraw(w, "reasoning", STR("{\"effort\":null,\"summary\":null}"));
    jw_kstrz(w, "service_tier", "default");
}

void response_write(struct jsonw *w, const struct fold *f, struct str thread,
                    const struct fact *response, uint64_t seq, bool empty)
{
    struct arena         a;
    struct response_data d;
    uint64_t             end = empty ? 0 : response_end(f, response, seq);
    const char          *status = response_status(f, response, end);
    struct output        o = { w, response, &d, end ? end : seq, end > 0 };
    arena_init(&a, 0);
    response_data(&a, response, &d);
    jw_obj(w);
    jw_kstr(w, "id", response->id);
    jw_kstrz(w, "object", "response");
    jw_kint(w, "created_at", response->at_ms / 1000);
    jw_key(w, "completed_at");
    if (strcmp(status, "completed") == 0) jw_int(w, f->facts[end - 1]->at_ms / 1000);
    else jw_null(w);
    jw_kstrz(w, "status", status);
    put_failure(w, fold_run(f, response->run), status);
    put_echo(w, response, &d);
    jw_key(w, "output");
    jw_arr(w);
    if (!empty) response_items(f, response, &d, o.seq, put_item, &o);
    jw_end_arr(w);
    put_usage(w, f, response, end);
    put_constants(w);
    jw_key(w, "conversation");
    jw_obj(w);
    jw_kstr(w, "id", thread);
    jw_end_obj(w);
    jw_end_obj(w);
    arena_done(&a);
}
