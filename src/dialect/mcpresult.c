/* mcpresult.c -- see mcpresult.h. */
#include "dialect/mcpresult.h"

#include "base/clock.h"
#include "base/utf8.h"

#define FORM_MAX 2048 /* bytes of arguments that a form shows */
#define POLL_MS  2000

/* --- where a call stands --------------------------------------------------------------------- */

static bool by(const struct fact *f, uint64_t committed)
{
    return f && f->seq <= committed;
}

enum mcp_stage mcp_stage_of(const struct call *c, uint64_t committed)
{
    if (!c) return MCP_STARTING;
    if (by(c->finished, committed)) return MCP_OVER;
    if (by(c->started, committed)) {
        bool asks = by(c->question, committed) && !by(c->answered, committed);
        return asks ? MCP_QUESTION : MCP_RUNNING;
    }
    return by(c->asked, committed) && !by(c->decided, committed) ? MCP_ASKED : MCP_STARTING;
}

bool mcp_is_unknown(const struct call *c)
{
    return c->finished && c->finished->outcome == WORD_UNKNOWN && !c->settled;
}

bool mcp_is_unclaimed(const struct call *c)
{
    const struct fact *last = c->settled ? c->settled : c->finished;
    bool               taken_back = c->decided && c->decided->outcome == WORD_CANCELLED;
    if (!last || taken_back || mcp_is_unknown(c)) return false;
    if (c->settled && c->settled->outcome != WORD_DONE) return false; /* it is to be done anew */
    return (c->asked || c->settled) && !(c->handed && c->handed->seq > last->seq);
}

/* --- texts ------------------------------------------------------------------------------------ */

void mcp_link(struct buf *out, const struct call *c, const struct mcp_shape *s)
{
    const struct fact *gate = call_gate(c);
    buf_str(out, s->base);
    buf_lit(out, "/approvals/");
    if (gate || c->asked) buf_str(out, gate ? gate->id : c->asked->id);
    else {
        buf_lit(out, "confirmation-");
        buf_str(out, c->id);
    }
}

static void text_item(struct jsonw *w, struct str text)
{
    jw_obj(w);
    jw_kstrz(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_end_obj(w);
}

static void text_content(struct jsonw *w, struct str text, size_t max)
{
    struct buf b;
    jw_key(w, "content");
    jw_arr(w);
    if (max && text.len > max) {
        buf_init(&b, 0);
        buf_str(&b, str_cut(text, utf8_cut(text, max)));
        buf_printf(&b, "\n[cut: the first %zu of %zu bytes]", utf8_cut(text, max), text.len);
        text_item(w, b.err ? STR("") : buf_view(&b));
        buf_done(&b);
    } else text_item(w, text);
    jw_end_arr(w);
}

/* --- what was done ---------------------------------------------------------------------------- */

static bool is_item(const struct jv *v)
{
    static const char *const TYPES[] = { "text", "image", "audio", "resource", "resource_link" };
    struct str               type = jv_str_at(v, "type");
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(type, TYPES[i])) return true;
    return false;
}

/* {"content":[items],"structuredContent"?} as an MCP server would say it. */
static bool is_content(const struct jv *v)
{
    const struct jv *items = jv_get(v, "content");
    if (!jv_is(items, JSON_ARRAY) || !items->count) return false;
    if (v->count > 1u + (jv_get(v, "structuredContent") != NULL)) return false;
    JV_EACH (item, items)
        if (!is_item(item)) return false;
    return true;
}

static void write_value(struct jsonw *w, const struct jv *v, struct str text,
                        const struct mcp_shape *s)
{
    if (v && is_content(v)) {
        const struct jv *structured = jv_get(v, "structuredContent");
        jw_kraw(w, "content", jv_get(v, "content")->raw);
        if (structured && (s->modern || structured->type == JSON_OBJECT))
            jw_kraw(w, "structuredContent", structured->raw);
        return;
    }
    text_content(w, text, s->text_max);
    /* one that is cut would be another value */
    if (v && (s->modern || v->type == JSON_OBJECT) && v->raw.len <= s->text_max)
        jw_kraw(w, "structuredContent", v->raw);
}

static void write_done(struct jsonw *w, struct str text, struct str value,
                       const struct mcp_shape *s)
{
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    if (value.len && json_parse_own(&a, value, &v) != OK) v = NULL;
    write_value(w, v, text, s);
    arena_done(&a);
}

/* What went wrong, in words: some of our own are told to models as {"error": ...}. */
static struct str plain_words(struct arena *a, struct str text)
{
    struct jv *v;
    if (!text.len || text.ptr[0] != '{' || json_parse(a, text, &v, NULL) != OK) return text;
    struct str error = jv_str_at(v, "error");
    return error.len ? error : text;
}

static void sentence_of(struct buf *out, const struct call *c, const struct mcp_shape *s)
{
    const struct fact *d = c->decided;
    struct arena       a;
    arena_init(&a, 0);
    switch (c->finished->outcome) {
    case WORD_DENIED:
        buf_printf(out, "Denied by " STR_FMT, STR_ARG(d && d->by.len ? d->by : STR("somebody")));
        if (d && d->reason.len) buf_printf(out, ": " STR_FMT, STR_ARG(d->reason));
        break;
    case WORD_EXPIRED: buf_lit(out, "Nobody decided in time; nothing was done."); break;
    case WORD_CANCELLED:
        if (c->started) buf_str(out, plain_words(&a, c->finished->text));
        else buf_lit(out, "Withdrawn; nothing was done.");
        break;
    case WORD_UNKNOWN: {
        struct str why = str_trim(plain_words(&a, c->finished->text));
        while (str_ends(why, STR("."))) why.len--;
        buf_printf(out, "It is not known whether this happened: " STR_FMT, STR_ARG(why));
        buf_lit(out, ". Do not call it again. A person has to settle it: ");
        mcp_link(out, c, s);
        break;
    }
    default: buf_str(out, plain_words(&a, c->finished->text)); break;
    }
    arena_done(&a);
}

static const char *outcome_word(const struct call *c)
{
    if (c->settled) return c->settled->outcome == WORD_DONE ? "done" : "failed";
    return c->finished->outcome == WORD_CANCELLED && !c->started ? "withdrawn"
                                                                 : word_name(c->finished->outcome);
}

#define SERVER_INFO "{\"name\":\"parley\",\"version\":\"" PARLEY_VERSION "\"}"

void mcp_meta(struct jsonw *w)
{
    jw_kraw(w, "_meta", STR("{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO "}"));
}

static void write_meta(struct jsonw *w, const struct call *c, const struct mcp_shape *s,
                       const char *outcome)
{
    struct buf link;
    bool       links = c && (c->asked || call_pending(c) || mcp_is_unknown(c));
    jw_key(w, "_meta");
    jw_obj(w);
    if (c) jw_kstr(w, "parley/call", s->thread);
    jw_kstrz(w, "parley/outcome", outcome);
    if (links) {
        buf_init(&link, 0);
        mcp_link(&link, c, s);
        if (c->asked) jw_kstr(w, "parley/approval", c->asked->id);
        jw_kbuf(w, "parley/link", &link);
        buf_done(&link);
    }
    if (s->modern) jw_kraw(w, "io.modelcontextprotocol/serverInfo", STR(SERVER_INFO));
    jw_end_obj(w);
}

static void open_result(struct jsonw *w, const struct mcp_shape *s)
{
    jw_obj(w);
    if (s->modern) jw_kstrz(w, "resultType", "complete");
}

/* What a person, or its check, said of a call whose outcome nobody knew. */
static void write_settled(struct jsonw *w, const struct call *c, const struct mcp_shape *s)
{
    const struct fact *f = c->settled;
    bool               check = str_is(f->via, "check");
    struct str         text = check ? STR("Its own check has found that it happened.")
                                    : STR("A person has seen that it happened.");
    struct buf         words;
    if (f->outcome != WORD_DONE) {
        text_content(w,
                     check ? STR("Its own check has found that it did not happen.")
                           : STR("A person has seen that it did not happen."),
                     0);
        jw_kbool(w, "isError", true);
        return;
    }
    if (f->note.len) text = f->note;
    buf_init(&words, 0);
    buf_str(&words, f->value.len ? f->value : text);
    write_done(w, words.err ? text : buf_view(&words), f->value, s);
    buf_done(&words);
}

void mcp_outcome(struct jsonw *w, const struct call *c, const struct mcp_shape *s)
{
    struct buf b;
    open_result(w, s);
    if (c->settled) write_settled(w, c, s);
    else if (c->finished->outcome == WORD_DONE)
        write_done(w, c->finished->text, c->finished->value, s);
    else {
        buf_init(&b, 0);
        sentence_of(&b, c, s);
        text_content(w, b.err ? STR("It failed.") : buf_view(&b), s->text_max);
        buf_done(&b);
        jw_kbool(w, "isError", true);
    }
    write_meta(w, c, s, outcome_word(c));
}

/* --- waiting ---------------------------------------------------------------------------------- */

static struct str question_of(const struct call *c)
{
    const struct fact *gate = call_gate(c);
    return gate ? gate->ask : STR("");
}

void mcp_waiting(struct jsonw *w, const struct call *c, const struct mcp_shape *s, const char *why)
{
    const struct fact *gate = call_gate(c);
    char               until[CLOCK_RFC3339_LEN + 1];
    struct buf         b;
    buf_init(&b, 0);
    if (why) buf_printf(&b, "%s. ", why);
    if (gate) {
        buf_printf(&b,
                   "Not decided yet: " STR_FMT "\nA person has to %s it: ", STR_ARG(question_of(c)),
                   c->started ? "answer" : "approve");
        mcp_link(&b, c, s);
        buf_lit(&b, c->started ? "\nThe tool waits for this answer."
                               : "\nNothing has been done so far.");
    } else buf_lit(&b, "It has begun and is not through yet.");
    buf_printf(&b,
               " To get the result, call " STR_FMT " again with exactly the same arguments: it is "
               "the same request and will not run twice.",
               STR_ARG(s->tool.len ? s->tool : c->tool));
    if (gate && gate->expires_ms) {
        clock_rfc3339(gate->expires_ms, until);
        /* seconds are enough */
        buf_printf(&b, " The question is open until %.19sZ.", until);
    }
    open_result(w, s);
    text_content(w, b.err ? STR("Not decided yet.") : buf_view(&b), 0);
    jw_kbool(w, "isError", true);
    write_meta(w, c, s, "pending");
    buf_done(&b);
}

void mcp_sentence(struct jsonw *w, struct str sentence, bool is_error, const struct mcp_shape *s)
{
    open_result(w, s);
    text_content(w, sentence, 0);
    if (is_error) jw_kbool(w, "isError", true);
    write_meta(w, NULL, s, is_error ? "failed" : "done");
}

/* --- asking the client's person --------------------------------------------------------------- */

bool mcp_fits_form(const struct call *c)
{
    return c->input.len <= FORM_MAX;
}

static void form_message(struct buf *out, const struct call *c)
{
    struct jsonw w;
    buf_str(out, question_of(c));
    JV_EACH (v, c->args) {
        buf_chr(out, '\n');
        buf_str(out, v->key);
        buf_lit(out, ": ");
        jsonw_init(&w, out);
        jw_jv(&w, v);
    }
}

static void write_form(struct jsonw *w, const struct call *c)
{
    const struct fact *gate = call_gate(c);
    struct buf         b;
    if (c->started) { /* the tool's own question, with the tool's own form */
        jw_kstr(w, "message", gate->ask);
        jw_kraw(w, "requestedSchema",
                gate->schema.len ? gate->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
        return;
    }
    buf_init(&b, 0);
    form_message(&b, c);
    jw_kbuf(w, "message", &b);
    buf_done(&b);
    jw_kraw(w, "requestedSchema",
            STR("{\"type\":\"object\",\"properties\":{\"approve\":{\"type\":\"boolean\",\"title\":"
                "\"Approve\",\"default\":false}},\"required\":[\"approve\"]}"));
}

static void write_url(struct jsonw *w, const struct call *c, const struct mcp_shape *s)
{
    struct buf b;
    buf_init(&b, 0);
    buf_str(&b, question_of(c));
    buf_lit(&b, c->started ? " Answer it on this page." : " Approve or deny it on this page.");
    jw_kbuf(w, "message", &b);
    buf_clear(&b);
    mcp_link(&b, c, s);
    jw_kbuf(w, "url", &b);
    buf_done(&b);
}

void mcp_elicit(struct jsonw *w, const struct call *c, enum mcp_ask ask, struct str version,
                const struct mcp_shape *s)
{
    bool modes = !version.ptr || str_cmp(version, STR("2025-11-25")) >= 0;
    jw_obj(w);
    if (modes) jw_kstrz(w, "mode", ask == MCP_ASK_FORM ? "form" : "url");
    if (ask == MCP_ASK_FORM) write_form(w, c);
    else {
        write_url(w, c, s);
        if (version.ptr) jw_kstr(w, "elicitationId", call_gate(c)->id);
    }
    jw_end_obj(w);
}

void mcp_inputs(struct jsonw *w, const struct call *c, enum mcp_ask ask, const struct mcp_shape *s)
{
    jw_key(w, "inputRequests");
    jw_obj(w);
    jw_key(w, c->started ? "question" : "approval");
    jw_obj(w);
    jw_kstrz(w, "method", "elicitation/create");
    jw_key(w, "params");
    mcp_elicit(w, c, ask, STR_NONE, s);
    jw_end_obj(w);
    jw_end_obj(w);
}

/* --- as a task -------------------------------------------------------------------------------- */

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(ms, text);
    jw_kstrz(w, key, text);
}

static void write_status(struct jsonw *w, const struct call *c, const char *status,
                         enum mcp_stage stage, const struct mcp_shape *s)
{
    struct buf b;
    jw_kstrz(w, "status", status);
    if (stage == MCP_OVER) return;
    buf_init(&b, 0);
    if (stage == MCP_ASKED || stage == MCP_QUESTION) {
        buf_printf(&b, "Waiting for %s: " STR_FMT " ",
                   stage == MCP_ASKED ? "approval" : "an answer", STR_ARG(question_of(c)));
        mcp_link(&b, c, s);
    } else buf_lit(&b, "Running");
    jw_kbuf(w, "statusMessage", &b);
    buf_done(&b);
}

void mcp_task(struct jsonw *w, const struct fold *f, uint64_t committed, enum mcp_ask ask,
              bool whole, const struct mcp_shape *s)
{
    const struct call *c = fold_program_call(f);
    enum mcp_stage     stage = mcp_stage_of(c, committed);
    bool               waits = (stage == MCP_ASKED || stage == MCP_QUESTION) && ask != MCP_ASK_NOT;
    bool               withdrawn = stage == MCP_OVER && c->finished->outcome == WORD_CANCELLED;
    const char        *status = withdrawn           ? "cancelled"
                                : stage == MCP_OVER ? "completed"
                                : waits             ? "input_required"
                                                    : "working";
    jw_kstr(w, "taskId", s->thread);
    write_status(w, c, status, stage, s);
    write_time(w, "createdAt", f->facts[0]->at_ms);
    write_time(w, "lastUpdatedAt", f->facts[committed ? committed - 1 : 0]->at_ms);
    jw_key(w, "ttlMs");
    jw_null(w);
    jw_kint(w, "pollIntervalMs", POLL_MS);
    if (waits) mcp_inputs(w, c, ask, s);
    if (!whole || stage != MCP_OVER || withdrawn) return;
    jw_key(w, "result");
    mcp_outcome(w, c, s);
    jw_end_obj(w);
}
