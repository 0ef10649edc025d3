/* mcp_call.c -- one tools/call, with the questions a server may ask in the middle of it.
 *
 *   start ──▶ tools/call ──▶ result ──▶ finish
 *     ▲         ▲   │ elicitation/create (legacy): ask, then answer that request
 *     │         └───┘
 *     │  input_required (modern): finish with TOOL_ASKS; what the server gave us to carry, the
 *     └─ answers so far and the questions left are in `resume`, and the answer starts a new call
 *        with it
 *
 * What becomes of it is the table in docs/outcomes.md: failed only when the server said so or the
 * request certainly never left, done when it gave a result, and unknown otherwise. It is sent once;
 * nothing here sends it again.
 *
 * With "oauth" a call first wants its person's token: mcp_account.c.
 *
 * Questions are asked one at a time. Everything ends in mcp_call_end(), which only notes the
 * outcome; the job is told at the end of the turn, so never from inside start() or cancel().
 */
#include "tool/mcp/mcp_call.h"
#include "base/clock.h"
#include "base/log.h"
#include "tool/http.h"
#include "tool/identity.h"
#include "tool/policy.h"
#include "tool/schema.h"

#define QUESTIONS_MAX 16
#define VALUE_MAX     (4u << 20)
/* 8,000 bytes, should each of them have to be shown as an escape */
#define MESSAGE_MAX (72 * 1024)
#define SCHEMA_MAX  (64 * 1024)
#define CARRIED_MAX (1u << 20)
#define NOTE_MAX    4000

struct question { /* legacy: the server waits for our reply */
    struct list node;
    struct buf  id; /* the server's request id, raw */
    struct buf  message, schema;
    bool        asked;
};

static void send_call(struct mcp_call *c);

/* --- ending ----------------------------------------------------------------------------------- */

void mcp_call_end(struct mcp_call *c, enum tool_outcome outcome)
{
    if (c->ended) return;
    c->ended = true;
    c->outcome = outcome;
    loop_mark(c->m->host.loop, &c->dirty);
}

void mcp_call_end_with(struct mcp_call *c, enum tool_outcome outcome, const char *sentence,
                       struct str more)
{
    if (c->ended) return;
    buf_clear(&c->said.text);
    buf_lit(&c->said.text, sentence);
    text_clean(&c->said.text, more, 2000);
    c->said.has_value = false;
    mcp_call_end(c, outcome);
}

/* It may have happened, and the words say so. */
static void end_unknown(struct mcp_call *c, const char *sentence, struct str more)
{
    if (c->ended) return;
    mcp_call_end_with(c, TOOL_UNKNOWN, sentence, more);
    if (!str_ends(buf_view(&c->said.text), STR("."))) buf_chr(&c->said.text, '.');
    buf_lit(&c->said.text, " Whether it had an effect is not known.");
}

void mcp_call_unsent(struct mcp_call *c, const char *sentence, struct str more)
{
    if (c->left) end_unknown(c, sentence, more);
    else mcp_call_end_with(c, TOOL_FAILED, sentence, more);
}

static void free_question(struct question *q)
{
    list_remove(&q->node);
    buf_done(&q->id);
    buf_done(&q->message);
    buf_done(&q->schema);
    mem_free(q);
}

/* A server that still waits for an answer gets one: an unanswered request stalls it. */
static void drop_questions(struct mcp_call *c)
{
    while (!list_empty(&c->questions)) {
        struct question *q = LIST_ITEM(c->questions.next, struct question, node);
        if (c->m->state != MCP_DOWN && c->m->state != MCP_STOPPING)
            mcp_answer(c->m, buf_view(&q->id), STR("{\"action\":\"cancel\"}"));
        free_question(q);
    }
    c->question_count = 0;
}

static void pace_closed(struct pace *p)
{
    struct mcp_call *c = LIST_ITEM(p, struct mcp_call, pace);
    buf_done(&c->responses);
    buf_done(&c->request_state);
    buf_done(&c->resume);
    buf_done(&c->said.text);
    buf_done(&c->said.value);
    buf_done(&c->note);
    arena_done(&c->memory);
    mem_free(c);
}

static void tell_end(struct loop_dirty *d)
{
    struct mcp_call   *c = LIST_ITEM(d, struct mcp_call, dirty);
    struct tool_result r = { .outcome = c->outcome,
                             .value = STR_NONE,
                             .note = c->note.len ? buf_view(&c->note) : STR_NONE };

    pace_flush(&c->pace);
    drop_questions(c);
    oauth_unwant(&c->want);
    list_remove(&c->node);
    mcp_line_unused(c->m);
    r.text = c->said.text.err ? STR("There was not enough memory for its answer.")
                              : buf_view(&c->said.text);
    if (c->said.has_value && !c->said.value.err) r.value = buf_view(&c->said.value);
    else if (c->said.value.err) r.note = STR("Its answer is too long to be shown in full.");
    if (c->outcome == TOOL_ASKS) {
        r.resume = buf_view(&c->resume);
        r.unbegun = c->unbegun;
    }
    c->job->runner = NULL;
    c->job->finish(c->job, &r);
    pace_close(&c->pace, pace_closed);
}

/* --- questions -------------------------------------------------------------------------------- */

static void pause_clock(struct mcp_call *c)
{
    if (c->q) c->q->deadline_ms = 0;
    mcp_rearm(c->m);
}

static void restart_clock(struct mcp_call *c)
{
    uint64_t next = clock_mono_ms() + c->m->call_ms;
    if (c->q) c->q->deadline_ms = next < c->until_ms ? next : c->until_ms;
    mcp_rearm(c->m);
}

static void ask_next(struct mcp_call *c)
{
    struct question *q;
    if (list_empty(&c->questions) || c->ended) return;
    q = LIST_ITEM(c->questions.next, struct question, node);
    if (q->asked) return;
    q->asked = true;
    c->job->ask(c->job, buf_view(&q->message), buf_view(&q->schema));
}

/* A person must see who asks: the words are the server's, not ours. */
static void write_question(struct mcp_call *c, const char *doubt, const struct jv *params,
                           struct buf *message, struct buf *schema)
{
    const struct jv *wanted = jv_get(params, "requestedSchema");
    buf_printf(message, "The server " STR_FMT " asks%s: ", STR_ARG(c->m->alias), doubt);
    text_reveal(message, jv_str_at(params, "message"), 8000);
    /* what stands for connecting an account is ours to say */
    bool own = jv_is(wanted, JSON_OBJECT) && !jv_get(wanted, MCP_CONNECT);
    buf_str(schema, own ? wanted->raw : STR("{\"type\":\"object\"}"));
}

static bool add_question(struct mcp_call *c, const char *doubt, struct str id,
                         const struct jv *params)
{
    struct question *q;

    if (c->question_count == QUESTIONS_MAX || !(q = mem_alloc(sizeof *q))) return false;
    buf_init(&q->id, 1024);
    buf_init(&q->message, MESSAGE_MAX);
    buf_init(&q->schema, SCHEMA_MAX);
    buf_str(&q->id, id);
    write_question(c, doubt, params, &q->message, &q->schema);
    list_add(&c->questions, &q->node);
    if (q->id.err || q->message.err || q->schema.err) {
        free_question(q);
        return false;
    }
    c->question_count++;
    return true;
}

static void nobodys(struct mcp *m, const char *why)
{
    if (!m->nobody_said)
        log_line(LOG_WARN, "mcp.question_of_nobody", "server", log_str(m->alias), "why", why, NULL);
    m->nobody_said = true; /* once for a connection: a server may ask as fast as it can */
}

/* The calls that could ask on this connection (under way, or given up: an honest server may ask for
 * one of those later) must all be of one person; then it is that person's newest, and the words say
 * what is in doubt. */
static struct mcp_call *only_persons(struct mcp *m, const char **doubt)
{
    struct mcp_call *newest = NULL;
    bool             several = m->given_up_several;

    LIST_EACH (n, &m->calls) {
        struct mcp_call *c = LIST_ITEM(n, struct mcp_call, node);
        if (!c->q || c->ended) continue;
        if (newest) *doubt = ", and does not say for which of its calls";
        several = several || (newest && !str_eq(newest->job->owner, c->job->owner));
        newest = c;
    }
    if (newest && m->given_up_any) *doubt = ", perhaps for a call that was stopped before";
    if (!newest ||
        (!several && (!m->given_up_any || str_eq(newest->job->owner, buf_view(&m->given_up)))))
        return newest;
    nobodys(m, "calls of several people are under way or were given up, and it does not say which "
               "it is for");
    if (m->given_up_any && !m->renew_ms) m->renew_ms = clock_mono_ms() + MCP_RENEW_MS;
    mcp_rearm(m);
    return NULL;
}

/* Whose question it is. A yes must not come from the wrong person, so it must be certain who may
 * say it: it came on the call's own stream, or names its progress token, or all that could ask is
 * one person's, and nobody but us is on the line. */
static struct mcp_call *call_for(struct mcp *m, struct mcp_request *on, const struct jv *params,
                                 const char **doubt)
{
    const struct jv *token = jv_get(jv_get(params, "_meta"), "progressToken");

    *doubt = "";
    if (!on && token && !(on = mcp_by_token(m, token))) return NULL;
    if (on) return strcmp(on->method, "tools/call") == 0 ? on->ctx : NULL;
    if (m->transport->private_line(m)) return only_persons(m, doubt);
    nobodys(m, "it has no session, so the question may be for a call of somebody else");
    return NULL;
}

void mcp_call_given_up(struct mcp_request *q)
{
    struct mcp      *m = q->m;
    struct mcp_call *c = q->ctx;

    if (m->given_up_any && !str_eq(buf_view(&m->given_up), c->job->owner))
        m->given_up_several = true;
    buf_clear(&m->given_up);
    buf_str(&m->given_up, c->job->owner);
    if (m->given_up.err) m->given_up_several = true;
    m->given_up_any = true;
}

void mcp_calls_fresh(struct mcp *m)
{
    buf_clear(&m->given_up);
    m->given_up_any = m->given_up_several = false;
}

bool mcp_call_elicit(struct mcp *m, struct mcp_request *on, struct str id, const struct jv *params)
{
    const char      *doubt;
    struct mcp_call *c = call_for(m, on, params, &doubt);

    if (!c || c->ended || !add_question(c, doubt, id, params)) return false;
    pause_clock(c);
    ask_next(c);
    return true;
}

/* {"action":"accept","content":{...}} | {"action":"decline"} */
static void write_action(struct buf *b, bool accepted, struct str content)
{
    if (!accepted) buf_lit(b, "{\"action\":\"decline\"}");
    else {
        buf_lit(b, "{\"action\":\"accept\",\"content\":");
        buf_str(b, content.len ? content : STR("{}"));
        buf_chr(b, '}');
    }
}

static void on_answer(struct tool_job *job, bool accepted, struct str content)
{
    struct mcp_call *c = job->runner;
    struct question *q;
    struct buf       b;

    if (!c || c->ended || list_empty(&c->questions)) return;
    q = LIST_ITEM(c->questions.next, struct question, node);
    buf_init(&b, 0);
    write_action(&b, accepted, content);
    if (!b.err) mcp_answer(c->m, buf_view(&q->id), buf_view(&b));
    buf_done(&b);
    free_question(q);
    c->question_count--;
    if (!list_empty(&c->questions)) ask_next(c);
    else restart_clock(c);
}

/* --- questions that are carried --------------------------------------------------------------- */

/* {"rounds":1, "state":"…", "responses":{"key":{…}},
 *  "questions":[{"key":"…","message":"…","schema":{…}}]} */
static void write_carried(struct mcp_call *c, struct jsonw *w)
{
    jsonw_init(w, &c->resume);
    buf_clear(&c->resume);
    jw_obj(w);
    jw_kint(w, "rounds", c->rounds);
    jw_kraw(w, "state", buf_view(&c->request_state));
    jw_kraw(w, "responses", buf_view(&c->responses));
    jw_key(w, "questions");
    jw_arr(w);
}

/* The question is the call's outcome, for now. */
static void rest(struct mcp_call *c, struct jsonw *w, struct str message, struct str schema)
{
    jw_end_arr(w);
    jw_end_obj(w);
    buf_clear(&c->said.text);
    buf_clear(&c->said.value);
    buf_str(&c->said.text, message);
    buf_str(&c->said.value, schema);
    c->said.has_value = true;
    if (c->resume.err || c->said.text.err || c->said.value.err)
        end_unknown(c, "What it asks is too long to be kept.", STR_NONE);
    else mcp_call_end(c, TOOL_ASKS);
}

static void add_response(struct mcp_call *c, const struct jv *before, struct str key)
{
    struct jsonw w;
    struct buf   action;
    buf_init(&action, 0);
    write_action(&action, c->accepted, c->content);
    buf_clear(&c->responses);
    jsonw_init(&w, &c->responses);
    jw_obj(&w);
    JV_EACH (r, before) {
        jw_key_str(&w, r->key);
        jw_raw(&w, r->raw);
    }
    jw_key_str(&w, key);
    jw_raw(&w, buf_view(&action));
    jw_end_obj(&w);
    if (action.err) c->responses.err = action.err;
    buf_done(&action);
}

/* A person answered the first of the questions that were carried: the next one is asked, or the
 * call is sent again. */
static void go_on(struct mcp_call *c, const struct jv *carried)
{
    const struct jv *questions = jv_get(carried, "questions"), *first = jv_at(questions, 0),
                    *state = jv_get(carried, "state");
    const struct jv *next = first ? first->next : NULL;
    struct jsonw     w;

    c->rounds = (unsigned)jv_int_at(carried, "rounds", ROUNDS_MAX);
    if (jv_is(state, JSON_STRING)) buf_str(&c->request_state, state->raw);
    add_response(c, jv_get(carried, "responses"), jv_str_at(first, "key"));
    if (!next) {
        send_call(c);
        return;
    }
    write_carried(c, &w);
    for (const struct jv *q = next; q; q = q->next) jw_raw(&w, q->raw);
    rest(c, &w, jv_str_at(next, "message"),
         jv_get(next, "schema") ? jv_get(next, "schema")->raw : STR("{}"));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void carry(struct mcp_call *c, struct jsonw *w, const struct jv *request,
                  struct buf *message, struct buf *schema)
{
    buf_clear(message);
    buf_clear(schema);
    write_question(c, "", jv_get(request, "params"), message, schema);
    jw_obj(w);
    jw_kstr(w, "key", request->key);
    jw_kbuf(w, "message", message);
    jw_kraw(w, "schema", buf_view(schema));
    jw_end_obj(w);
    if (schema->err) c->resume.err = schema->err;
}

static void input_required(struct mcp_call *c, const struct jv *result)
{
    const struct jv *requests = jv_get(result, "inputRequests"),
                    *state = jv_get(result, "requestState");
    struct buf   message, schema;
    struct jsonw w;

    if (++c->rounds > ROUNDS_MAX) {
        end_unknown(c, "It keeps asking for input and was given up.", STR_NONE);
        return;
    }
    buf_clear(&c->responses);
    buf_clear(&c->request_state);
    if (jv_is(state, JSON_STRING)) buf_str(&c->request_state, state->raw);
    if (!requests || !requests->count) {
        send_call(c); /* it only wanted its state back */
        return;
    }
    JV_EACH (r, requests) {
        if (str_is(jv_str_at(r, "method"), "elicitation/create") &&
            requests->count <= QUESTIONS_MAX)
            continue;
        end_unknown(c,
                    "It asks for something that this client cannot give: ", jv_str_at(r, "method"));
        return;
    }
    buf_init(&message, MESSAGE_MAX);
    buf_init(&schema, SCHEMA_MAX);
    write_carried(c, &w);
    JV_EACH (r, requests) carry(c, &w, r, &message, &schema);
    buf_clear(&message);
    buf_clear(&schema);
    write_question(c, "", jv_get(requests->child, "params"), &message, &schema);
    rest(c, &w, buf_view(&message), buf_view(&schema));
    buf_done(&message);
    buf_done(&schema);
}

static bool fits(struct mcp_call *c, const struct jv *result, struct buf *why)
{
    const struct jv *structured = jv_get(result, "structuredContent");
    if (!c->tool->output_schema || jv_true(jv_get(result, "isError"))) return true;
    if (!structured) {
        buf_lit(why, "there is no structured content");
        return false;
    }
    /* too large to be checked is no misfit */
    return schema_check(c->tool->output_schema, structured, NULL, why) != ERR_TYPE;
}

/* It said that it did it. That its answer is not what it promised is for the card. */
static void completed(struct mcp_call *c, const struct jv *result)
{
    struct buf why;

    buf_init(&why, 2000);
    buf_clear(&c->said.text);
    mcp_result_read(result, &c->said);
    if (!fits(c, result, &why)) {
        buf_lit(&c->note, "Its answer does not fit what it promises: ");
        text_clean(&c->note, buf_view(&why), NOTE_MAX / 2);
    }
    mcp_call_end(c, c->said.is_error ? TOOL_FAILED : TOOL_DONE);
    buf_done(&why);
}

/* The errors by which a server says that it did not begin. Of any other it may have done half of
 * it. */
static bool never_began(const struct mcp *m, const struct mcp_reply *r)
{
    if (r->http) return r->http >= 400 && r->http < 500;
    switch (r->code) {
    case MCP_NOT_READ:
    case MCP_BAD_REQUEST:
    case MCP_NO_METHOD:
    case MCP_BAD_PARAMS: return true;
    /* before, they mean whatever it likes */
    case MCP_HEADER_MISMATCH:
    case MCP_NO_CAPABILITY:
    case MCP_BAD_VERSION: return m->era == ERA_MODERN;
    case MCP_URL_WANTED: return m->era == ERA_LEGACY;
    default: return false;
    }
}

static void refused(struct mcp_call *c, const struct mcp_reply *r)
{
    bool        modern = c->m->era == ERA_MODERN;
    const char *sentence =
        r->http && !r->code ? "The server answered with " : "The server refused: ";
    struct str why = r->message.len ? r->message : STR("no reason given");

    /* Our idea of the tool is old. The next call, which is judged and asked about like any, will
     * know better. */
    if (r->code == MCP_BAD_PARAMS || (modern && r->code == MCP_HEADER_MISMATCH))
        mcp_list_soon(c->m);
    if (modern && r->code == MCP_NO_CAPABILITY) {
        sentence = "The server wants something of this client that it cannot do: ";
        if (jv_get(r->data, "requiredCapabilities"))
            why = jv_get(r->data, "requiredCapabilities")->raw;
    }
    if (never_began(c->m, r)) mcp_call_end_with(c, TOOL_FAILED, sentence, why);
    else end_unknown(c, sentence, why);
}

/* --- what it answered ------------------------------------------------------------------------- */

static void on_reply(struct mcp_request *q, const struct mcp_reply *r)
{
    struct mcp_call *c = q->ctx;
    struct str       type;

    c->q = NULL;
    if (c->ended || mcp_account_lacks(c, r)) return;
    if (r->lost && r->unsent)
        mcp_call_unsent(c, "The server could not be reached: ", str_c(r->lost));
    else if (r->lost) end_unknown(c, "There is no answer, ", str_c(r->lost));
    else if (!r->result) refused(c, r);
    else {
        c->left = true;
        type = jv_str_at(r->result, "resultType");
        if (!type.ptr || str_is(type, "complete")) completed(c, r->result);
        else if (str_is(type, "input_required")) input_required(c, r->result);
        else end_unknown(c, "It answered with a kind of result that is not known here: ", type);
    }
}

void mcp_call_progress(struct mcp_request *q, const struct jv *params)
{
    struct mcp_call     *c = q->ctx;
    struct tool_progress p = { STR_NONE, jv_str_at(params, "message"), -1, STR_NONE };
    double               done, total;

    if (!str_is(str_c(q->method), "tools/call") || c->ended) return;
    if (jv_f64(jv_get(params, "progress"), &done) && jv_f64(jv_get(params, "total"), &total) &&
        total > 0 && done >= 0)
        p.progress = done > total ? 1 : done / total;
    if (list_empty(&c->questions)) restart_clock(c);
    pace_tell(&c->pace, &p);
}

/* --- starting --------------------------------------------------------------------------------- */

static void write_params(struct mcp_call *c, struct buf *b)
{
    struct jsonw w;
    jsonw_init(&w, b);
    buf_lit(b, "\"name\":");
    jw_str(&w, c->tool->name);
    buf_lit(b, ",\"arguments\":");
    buf_str(b, c->job->input);
    if (c->responses.len)
        buf_printf(b, ",\"inputResponses\":" STR_FMT, STR_ARG(buf_view(&c->responses)));
    if (c->request_state.len)
        buf_printf(b, ",\"requestState\":" STR_FMT, STR_ARG(buf_view(&c->request_state)));
}

/* Whose call it is. A server on this machine serves everybody by one process, so it is told with
 * each call. */
static void write_identity(struct mcp_call *c, struct buf *b)
{
    const struct identity_way *k = c->job->tool->terms.identity;
    struct jsonw               w;
    struct buf                 token;
    jsonw_init(&w, b);
    buf_lit(b, "\"parley/identity\":");
    identity_object(c->job, &w);
    if (c->job->trace.len) jw_kstr(&w, "traceparent", c->job->trace);
    if (!identity_signs(k)) return;
    buf_init(&token, 0);
    if (identity_token(k, c->job, c->m->url_host.ptr ? c->m->url_host : c->m->alias,
                       clock_wall_ms() / 1000, &token))
        b->err = ERR_NOMEM;
    jw_kbuf(&w, "parley/token", &token);
    buf_done(&token);
}

/* NULL with *good: none are wanted. */
static struct curl_slist *call_headers(struct mcp_call *c, bool *good)
{
    const struct identity_way *k = c->job->tool->terms.identity;
    struct mcp                *m = c->m;
    struct curl_slist         *all = NULL;

    *good = true;
    if (m->transport != &mcp_http || (m->era != ERA_MODERN && !k)) return NULL;
    all = m->era == ERA_MODERN ? mcp_call_headers(c->tool, c->job->args) : NULL;
    if (k && (all || m->era != ERA_MODERN)) all = http_identity(all, c->job, k, m->url_host);
    *good = all != NULL;
    return all;
}

static void send_call(struct mcp_call *c)
{
    struct mcp     *m = c->m;
    struct mcp_send s = { .method = "tools/call",
                          .timeout_ms = m->call_ms,
                          .progress = true,
                          .done = on_reply,
                          .ctx = c };
    struct buf      b, meta;
    bool            good;

    if (m->state != MCP_READY && m->state != MCP_LISTING) {
        mcp_call_unsent(c, "The server is not connected: ", buf_view(&m->trouble));
        return;
    }
    buf_init(&b, 0);
    buf_init(&meta, 0);
    write_params(c, &b);
    write_identity(c, &meta);
    s.params = buf_view(&b);
    s.meta = buf_view(&meta);
    s.extra = call_headers(c, &good);
    if (good && !b.err && !meta.err) c->q = mcp_request(m, &s);
    else curl_slist_free_all(s.extra);
    if (!c->q) mcp_call_unsent(c, "There is not enough memory for this call.", STR_NONE);
    buf_done(&b);
    buf_done(&meta);
}

static void take_up(struct mcp_call *c)
{
    struct arena a;
    struct jv   *carried;
    arena_init(&a, 0);
    if (json_parse(&a, c->inner, &carried, NULL) == OK) go_on(c, carried);
    else mcp_call_unsent(c, "There is not enough memory to go on with this call.", STR_NONE);
    arena_done(&a);
}

void mcp_call_begin(struct mcp_call *c)
{
    if (c->inner.ptr) take_up(c);
    else send_call(c);
}

/* What the call had come to when its person was asked: by us, to connect, or by the server. False:
 * it ends here. */
static bool read_resume(struct mcp_call *c)
{
    struct tool_job *job = c->job;
    struct jv       *v;

    if (!job->resume.ptr) return true;
    if (json_parse(&c->memory, job->resume, &v, NULL) != OK) {
        end_unknown(c, "There is not enough memory to go on with this call.", STR_NONE);
        return false;
    }
    const struct jv *asked = jv_get(v, "connect"), *inner = jv_get(v, "inner");
    c->left = !asked || inner;
    c->accepted = asked ? jv_true(jv_get(v, "accepted")) : job->accepted;
    c->content = asked ? jv_get(v, "content") ? jv_get(v, "content")->raw : STR_NONE : job->content;
    c->inner = asked ? inner ? inner->raw : STR_NONE : job->resume;
    if (!asked) return true;
    c->asked = (unsigned)jv_int_at(v, "connect", ROUNDS_MAX);
    if (!job->accepted)
        mcp_call_unsent(c, "Their account was not connected: they did not want it.", STR_NONE);
    return job->accepted;
}

static enum err start(struct tool *t, struct tool_job *job)
{
    struct mcp_tool *tool = t->ctx;
    struct mcp_call *c;

    if (!tool->m) return ERR_GONE;
    if (!(c = mem_alloc(sizeof *c))) return ERR_NOMEM;
    c->m = tool->m;
    c->tool = tool;
    c->job = job;
    c->dirty.flush = tell_end;
    c->until_ms = clock_mono_ms() + MCP_CALL_MAX_MS;
    arena_init(&c->memory, 0);
    list_init(&c->questions);
    list_add(&c->m->calls, &c->node);
    buf_init(&c->responses, CARRIED_MAX);
    buf_init(&c->request_state, CARRIED_MAX);
    buf_init(&c->resume, CARRIED_MAX);
    buf_init(&c->said.text, 0);
    buf_init(&c->said.value, VALUE_MAX);
    buf_init(&c->note, NOTE_MAX);
    pace_init(&c->pace, c->m->host.loop, job);
    job->runner = c;
    if (c->m->list_expires_ms && c->m->list_expires_ms <= clock_mono_ms() &&
        c->m->state == MCP_READY)
        mcp_list_soon(c->m);
    if (!read_resume(c)) return OK;
    if (c->m->oauth) mcp_account_want(c, STR_NONE);
    else mcp_call_begin(c);
    return OK;
}

/* May the server have begun it? Who waits for an account, or for a line, has sent nothing. */
static bool may_have_begun(const struct mcp_call *c)
{
    return c->left || (c->q && (!c->m->transport->sent || c->m->transport->sent(c->q)));
}

static void cancel(struct tool_job *job)
{
    struct mcp_call *c = job->runner;
    bool             begun;

    if (!c || c->ended) return;
    begun = may_have_begun(c);
    if (c->q) mcp_cancel(c->q, "user");
    c->q = NULL;
    buf_clear(&c->said.text);
    c->said.has_value = false;
    mcp_call_end(c, policy_stopped(begun, &c->said.text));
}

void mcp_calls_done(struct mcp *m)
{
    while (!list_empty(&m->calls)) {
        struct mcp_call *c = LIST_ITEM(m->calls.next, struct mcp_call, node);
        if (may_have_begun(c)) end_unknown(c, "The server was stopped.", STR_NONE);
        else mcp_call_unsent(c, "It was not begun: the server was stopped.", STR_NONE);
        loop_undirty(&c->dirty);
        tell_end(&c->dirty);
    }
}

const struct tool_ops mcp_ops = { .start = start, .cancel = cancel, .answer = on_answer };
