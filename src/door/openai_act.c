/* openai_act.c -- what the tail of a request wants of its thread, as commands:
 *
 *   answers and outputs    all of them or none; a user message beside them has its turn after them
 *   an answer in words     read here, decided like any other (run/spoken.h)
 *   a message              goes on at the thread's head; where its place is continued already, in a
 *                          new thread that begins with a copy of the facts up to there
 *
 * What the client says about calls does nothing: names, arguments and outcomes are the log's. But
 * an answer beside a question that is not ours any more, as the client shows it, is no answer to
 * ours.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/jsonw.h"
#include "door/openai.h"
#include "run/declared.h"
#include "run/spoken.h"

#define BROUGHT_MAX (512u * 1024)
#define ANSWERS_MAX 64

/* --- the response that is wished for ---------------------------------------------------------- */

static void put_tools(struct jsonw *w, const struct oai_request *q)
{
    jw_key(w, "tools");
    jw_arr(w);
    for (size_t i = 0; i < q->function_count; i++) {
        const struct oai_function *f = &q->functions[i];
        jw_obj(w);
        jw_kstrz(w, "type", "function");
        jw_kstr(w, "name", f->name);
        jw_key(w, "description");
        jw_str_or_null(w, f->description);
        jw_kraw(w, "parameters", f->parameters.len ? f->parameters : STR("{}"));
        jw_kbool(w, "strict", f->strict);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

static bool is_told(const struct fold *f, const struct call *c)
{
    if (response_of_call(f, c)) return true;
    for (size_t i = 0; i < f->response_count; i++)
        if (str_find(f->responses[i]->data, c->id) >= 0) return true;
    return false;
}

static bool asked_within(const struct call *c, uint64_t first, uint64_t last)
{
    const struct confirmation *k = c->last;
    while (k && k->asked->seq > last) k = k->before;
    return k && k->asked->seq >= first;
}

/* Did a response up to there end with a question of the call? Words of the server may stand between
 * it and the place. */
static bool was_asked(const struct fold *f, const struct call *c, uint64_t upto)
{
    for (size_t i = 0; c->last && i < f->response_count; i++) {
        const struct fact *r = f->responses[i];
        uint64_t           end = str_eq(r->run, c->run->id) ? response_end(f, r, upto) : 0;
        if (end && asked_within(c, r->seq, end)) return true;
    }
    return false;
}

/* Questions up to the place that were decided by another door since. */
static void put_tell(struct jsonw *w, const struct fold *f, const struct fact *of,
                     struct str answered)
{
    uint64_t end = of ? response_end(f, of, f->count) : 0;
    jw_key(w, "tell");
    jw_arr(w);
    for (size_t i = 0; end && i < f->call_count; i++) {
        const struct call *c = f->calls[i];
        if (!c->finished || c->client || !was_asked(f, c, end) ||
            c->finished->outcome == WORD_CANCELLED || is_told(f, c))
            continue;
        /* what was made of it was asked about, so it is told as itself */
        if (c->replaced_by && !call_is_inner(c->replaced_by)) continue;
        jw_str(w, c->id);
    }
    if (answered.len) jw_str(w, answered);
    jw_end_arr(w);
}

static struct str data_of(struct openai_turn *t, const struct fold *f, const struct fact *of,
                          struct str answered)
{
    static const char *const  FORMS[] = { "both", "items", "extension", "words" };
    const struct oai_request *q = &t->q;
    struct buf                b = { 0 };
    struct jsonw              w;
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstrz(&w, "form", FORMS[q->form]);
    jw_kbool(&w, "store", q->store);
    jw_kbool(&w, "background", q->background);
    jw_kbool(&w, "summary", q->summary);
    jw_kbool(&w, "usage", q->usage);
    jw_kstr(&w, "model", q->model.len ? q->model : STR("parley"));
    if (q->instructions.ptr) jw_kstr(&w, "instructions", q->instructions);
    if (q->metadata.ptr) jw_kraw(&w, "metadata", q->metadata);
    if (q->function_count) put_tools(&w, q);
    if (q->choice_raw.ptr) jw_kraw(&w, "tool_choice", q->choice_raw);
    if (q->max_tokens) jw_kint(&w, "max_output_tokens", q->max_tokens);
    if (!q->chat) jw_kraw(&w, "input", q->input);
    jw_kstr(&w, "link", t->link);
    if (f) put_tell(&w, f, of, answered);
    jw_end_obj(&w);
    struct str s = b.err ? STR_NONE : arena_dup(turn_arena(t), buf_view(&b));
    buf_done(&b);
    return s;
}

static bool tells_words(const struct openai_turn *t)
{
    return t->q.form == OAI_FORM_WORDS || (t->q.form == OAI_FORM_BOTH && t->ask.app->openai.words);
}

static void wish(struct openai_turn *t, struct command *c, const struct fold *f,
                 const struct fact *of, struct str answered)
{
    struct response_wish w = { .id = id_new(turn_arena(t), RESPONSE_ID_PREFIX),
                               .of = of ? of->id : STR_NONE,
                               .codes = t->ask.app->openai.words && t->may_decide,
                               .chain = turn_chain(t, f, of),
                               .root = f ? STR_NONE : turn_root(t),
                               .data = data_of(t, f, of, answered),
                               .key = t->key,
                               .exchange = turn_exchange(t),
                               .quiet = t->q.chat };
    /* the server's own words may name the link, whatever the form; and what an item of OpenAI's
     * cannot ask (a form, an account) is in words in each but our own */
    w.items = !tells_words(t);
    if (t->q.form != OAI_FORM_EXTENSION || c->kind == CMD_RESPOND) w.link = t->link;
    if (!w.id.ptr || !w.data.ptr) c->arena.failed = true;
    t->told = w.id;
    c->response = response_wish_write(&c->arena, &w);
}

/* The one that was wished for, if there was anything to tell. */
static const struct fact *wished(const struct openai_turn *t, const struct receipt *a)
{
    return a->status < 400 && a->thread ? response_find(thread_fold(a->thread), t->told) : NULL;
}

/* --- what came of it -------------------------------------------------------------------------- */

static void refused(struct openai_turn *t, const struct receipt *a, struct str param)
{
    struct str m = arena_dup(turn_arena(t), str_c(a->message));
    bool       name = a->code && strcmp(a->code, "tool_name_reserved") == 0;
    t->first.retry_s = a->retry_s;
    if (name) param = STR("tools");
    turn_refuse(t, name ? 400 : a->status, a->code, m.ptr ? m.ptr : a->code, param);
}

static void on_done(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    const struct fact  *r = wished(t, a);
    if (r) turn_tell(t, a->thread, r);
    else if (a->status >= 400) refused(t, a, STR_NONE);
    else if (a->duplicate && c->kind == CMD_MESSAGE) turn_anew(t);
    else turn_refuse(t, 409, "already_decided", "This was already answered.", STR_NONE);
    command_free(c);
}

void turn_submit(struct openai_turn *t, struct command *c)
{
    if (c && !c->arena.failed) {
        hub_submit(t->ask.app->hub, c);
        return;
    }
    command_free(c);
    turn_no_memory(t);
}

static struct str brought(struct openai_turn *t, struct command *c);

/* Words of the server itself; without `f` they begin a thread, with what the client brought. */
static void respond(struct openai_turn *t, const struct fold *f, const struct fact *of, int what,
                    struct str text, struct str answered)
{
    struct command *c = turn_command(t, CMD_RESPOND, on_done);
    if (!c) {
        turn_no_memory(t);
        return;
    }
    c->create = !f;
    if (!f) c->respond.brought = brought(t, c);
    c->respond.what = what;
    c->respond.text = arena_dup(&c->arena, text);
    wish(t, c, f, of, answered);
    if (t->q.only_text) c->via = STR("words");
    turn_submit(t, c);
}

/* --- a message -------------------------------------------------------------------------------- */

static void put_line(struct jsonw *w, const char *role, struct str text)
{
    jw_obj(w);
    jw_kstrz(w, "role", role);
    jw_kstr(w, "text", text);
    jw_end_obj(w);
}

/* What the client says was said before: words, as context. Cut from its beginning. */
static struct str brought(struct openai_turn *t, struct command *c)
{
    const struct oai_request *q = &t->q;
    struct buf                b = { 0 };
    struct jsonw              w;
    size_t                    first = q->tail, size = 0, n = 0;
    while (first && size + q->items[first - 1].text.len < BROUGHT_MAX)
        size += q->items[--first].text.len;
    while (first && first < q->tail && q->items[first].kind != OAI_USER) first++;
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = first; i < q->tail; i++) {
        const struct oai_item *x = &q->items[i];
        if (!str_trim(x->text).len) continue;
        if (x->kind != OAI_USER && x->kind != OAI_ASSISTANT) continue;
        put_line(&w, x->kind == OAI_USER ? "user" : "assistant",
                 spoken_masked(turn_arena(t), x->text));
        n++;
    }
    jw_end_arr(&w);
    struct str s = n && !b.err ? arena_dup(&c->arena, buf_view(&b)) : STR_NONE;
    if (b.err) c->arena.failed = true;
    buf_done(&b);
    return s;
}

/* What the client brings for the run. False: refused. */
static bool declare(struct openai_turn *t, struct str *out)
{
    static const enum model_choice CHOICES[] = { CHOICE_AUTO, CHOICE_NONE, CHOICE_MUST,
                                                 CHOICE_NAMED };
    const struct oai_request      *q = &t->q;
    struct declared                d = { .system = q->system,
                                         .choice = CHOICES[q->choice],
                                         .named = q->named,
                                         .only = q->only,
                                         .only_count = q->only_count,
                                         .tool_count = q->function_count,
                                         .ask = q->ask_always,
                                         .max_tokens = q->max_tokens };
    size_t                         which;
    d.tools = arena_array(turn_arena(t), q->function_count + 1, sizeof *d.tools);
    for (size_t i = 0; d.tools && i < q->function_count; i++)
        d.tools[i] = (struct declared_tool){ q->functions[i].name, q->functions[i].description,
                                             q->functions[i].parameters };
    const char *bad = d.tools ? declared_bad(&d, OAI_TOOLS_MAX, &which) : NULL;
    if (bad) {
        turn_refuse(t, 400, "invalid_value", bad, arena_printf(turn_arena(t), "tools[%zu]", which));
        return false;
    }
    *out = declared_write(turn_arena(t), &d);
    return true;
}

static struct command *message(struct openai_turn *t, struct str declared)
{
    struct command *c = turn_command(t, CMD_MESSAGE, on_done);
    if (!c) return NULL;
    c->declared = arena_dup(&c->arena, declared);
    c->create = true;
    c->when_busy = BUSY_INTERRUPT;
    c->page = arena_dup(&c->arena, t->page);
    c->message.text = arena_dup(&c->arena, t->q.text);
    c->message.files = arena_dup(&c->arena, t->q.files);
    return c;
}

static void say(struct openai_turn *t, struct thread *at, const struct fact *of)
{
    const struct fold *f = at ? thread_fold(at) : NULL;
    uint64_t           end = of ? response_end(f, of, f->count) : 0;
    bool               fork = of && end && t->forks && response_after(f, of->id);
    const struct fact *twin = f ? response_going(f, t->key) : NULL;
    struct str         declared;
    if (twin) { /* sent again while it is answered: nobody knows yet what it will do */
        turn_tell(t, at, twin);
        return;
    }
    if (turn_is_second(t)) return;
    if (!declare(t, &declared)) return;
    if (fork && !(t->thread = id_new(turn_arena(t), "t_")).ptr) {
        turn_no_memory(t);
        return;
    }
    struct command *c = message(t, declared);
    if (c && fork) {
        c->message.copied = response_copy(&c->arena, f, end);
        c->message.family = arena_dup(&c->arena, response_family(f, thread_id(at)));
    }
    if (c && !at) c->message.brought = brought(t, c);
    if (c) wish(t, c, f, of, STR_NONE);
    if (c && !c->arena.failed && fork) turn_fork(t, c, thread_id(at));
    else if (c && !c->arena.failed && !at) turn_begin(t, c);
    else turn_submit(t, c);
}

/* Whoever left may have been a proxy that cut; the SDK behind it still wants its answer. What the
 * run did stays done: the words begin after its last outcome (begin_retry). While something of it
 * is still at work, that is waited for. */
void turn_again(struct openai_turn *t, struct thread *at, const struct fact *left)
{
    const struct fold *f = thread_fold(at);
    struct str         declared;
    if (turn_is_second(t) || !declare(t, &declared)) return;
    struct command *c = turn_command(t, CMD_RETRY, on_done);
    if (c) {
        c->declared = arena_dup(&c->arena, declared);
        c->page = arena_dup(&c->arena, t->page);
        c->when_busy = BUSY_QUEUE;
        c->retry.of = arena_dup(&c->arena, left->run);
        wish(t, c, f, left->of.len ? response_find(f, left->of) : NULL, STR_NONE);
    }
    turn_submit(t, c);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* What is recorded of a call that was answered, when no model has said it. */
static const char *recorded_words(const struct call *c)
{
    if (!c->finished) return "This was decided already; it is under way.";
    switch (c->finished->outcome) {
    case WORD_DONE: return "This was approved already, and it was done.";
    case WORD_FAILED: return "This was approved already; it was tried, and it failed.";
    case WORD_DENIED: return "This was already denied; nothing was run.";
    case WORD_UNKNOWN:
        return "This was approved already. It may or may not have happened; somebody has to look.";
    default: return "This was decided already, elsewhere.";
    }
}

/* The same was answered before: the response that told of it, or one that does so now. One whose
 * reader left before it said anything is said now. */
static void tell_again(struct openai_turn *t, struct thread *at, const struct fact *of,
                       const struct call *call)
{
    const struct fold *f = thread_fold(at);
    const struct fact *r = response_retold(f, response_of_call(f, call));
    bool               left = r && response_left(f, r);
    bool               denied = call->finished && call->finished->outcome == WORD_DENIED;
    struct buf         words = { 0 };
    if (r && !left) {
        turn_tell(t, at, r);
        return;
    }
    if (left && !denied && str_eq(f->run->id, r->run)) {
        turn_again(t, at, r);
        return;
    }
    for (uint64_t s = call->finished ? call->finished->seq : f->count; s < f->count; s++) {
        const struct fact *x = f->facts[s];
        if (x->kind != FACT_STEP || !str_eq(x->run, call->run->id)) continue;
        for (size_t i = 0; i < x->parts_count; i++)
            if (x->parts[i].type == STEP_TEXT) buf_str(&words, x->parts[i].text);
    }
    if (!words.len) buf_lit(&words, recorded_words(call));
    respond(t, f, of, RESPOND_SAY, buf_view(&words), call->finished ? call->id : STR_NONE);
    buf_done(&words);
}

static const struct jv *kept_tree(struct command *c, struct str text)
{
    struct jv *v = NULL;
    if (!text.ptr) return NULL;
    if (json_parse(&c->arena, arena_dup(&c->arena, text), &v, NULL) != OK) c->arena.failed = true;
    return v;
}

/* What the person was shown, if the request says it: for whoever takes the answer. Of several
 * copies one that is wrong counts. False: there is one. */
static bool put_shown(const struct openai_turn *t, const struct fold *f, struct command *c)
{
    const struct call *call = fold_confirmation(f, c->id);
    for (size_t i = 0; i < t->q.count; i++) {
        const struct oai_item *x = &t->q.items[i];
        if (!x->question || !str_eq(x->id, c->id)) continue;
        const struct jv *args = request_copied(&c->arena, jv_get(x->question, "arguments"));
        struct str       name = jv_str_at(x->question, "name");
        c->decide.echo_tool = name.ptr ? arena_dup(&c->arena, name) : STR_NONE;
        c->decide.echo_args = args ? kept_tree(c, args->raw) : NULL;
        if (call && !call_is_copied(call, c->decide.echo_tool, c->decide.echo_args)) return false;
    }
    return true;
}

static struct command *answer(struct openai_turn *t, const struct fold *f, const struct oai_item *x,
                              void (*done)(struct command *, const struct receipt *))
{
    struct command *c = turn_command(t, x->kind == OAI_OUTPUT ? CMD_RESULT : CMD_DECIDE, done);
    struct buf      b = { 0 };
    struct jsonw    w;
    if (!c) return NULL;
    c->id = arena_dup(&c->arena, x->id);
    if (x->kind == OAI_APPROVAL) {
        c->decide.confirmed = x->approve;
        c->decide.reason = arena_dup(&c->arena, x->reason.len ? x->reason : STR_NONE);
        c->decide.grant = kept_tree(c, x->grant);
        c->decide.input = kept_tree(c, x->input);
        (void)put_shown(t, f, c); /* whoever takes it sees */
        return c;
    }
    jsonw_init(&w, &b);
    jw_str(&w, x->text);
    c->result.value = arena_dup(&c->arena, buf_view(&b));
    if (b.err) c->arena.failed = true;
    buf_done(&b);
    return c;
}

static void on_answer(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    const struct call  *call = a->call;
    if (a->status >= 400 && !t->first.status) {
        t->first = *a;
        t->first.message = arena_dup(turn_arena(t), str_c(a->message)).ptr;
    }
    if (--t->waiting) {
        command_free(c);
        return;
    }
    if (t->first.status >= 400) refused(t, &t->first, STR_NONE);
    else if (wished(t, a)) turn_tell(t, a->thread, wished(t, a));
    else if (call) tell_again(t, a->thread, NULL, call);
    else turn_refuse(t, 409, "already_decided", "This was already answered.", STR_NONE);
    command_free(c);
}

/* With a message behind them nobody waits for these. */
static void on_answer_only(struct command *c, const struct receipt *a)
{
    (void)a;
    command_free(c);
}

static bool answers_call(const struct oai_request *q, const struct call *c)
{
    for (size_t i = q->tail; i < q->count; i++)
        if (q->items[i].kind == OAI_OUTPUT && str_eq(q->items[i].id, c->id)) return true;
    return false;
}

/* Outputs come together: a model that asked for two is not told of one. */
static bool lacks_output(const struct openai_turn *t, const struct fold *f)
{
    const struct run *r = f->run;
    bool              any = false, missing = false;
    for (size_t i = 0; run_live(r) && i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (!c->client || c->state != CALL_STARTED) continue;
        if (answers_call(&t->q, c)) any = true;
        else missing = true;
    }
    return any && missing;
}

static struct str param_of(struct openai_turn *t, const struct oai_item *x)
{
    return arena_printf(turn_arena(t), "%s[%u].%s", t->q.chat ? "messages" : "input", x->index,
                        x->kind == OAI_APPROVAL ? "approval_request_id"
                        : t->q.chat             ? "tool_call_id"
                                                : "call_id");
}

struct answers {
    struct command    *list[ANSWERS_MAX + 1];
    size_t             count;
    const struct call *last;
};

static void drop(struct answers *s)
{
    while (s->count) command_free(s->list[--s->count]);
}

/* The same answer as one before it: that one is told what came of it. */
static bool is_repeated(const struct openai_turn *t, const struct oai_item *x)
{
    for (size_t i = t->q.tail; i < t->q.count; i++) {
        const struct oai_item *y = &t->q.items[i];
        if (y == x) return false;
        if (y->kind == OAI_APPROVAL && str_eq(y->id, x->id) && y->approve == x->approve &&
            str_eq(y->reason, x->reason) && str_eq(y->grant, x->grant) &&
            str_eq(y->input, x->input))
            return true;
    }
    return false;
}

/* All of them or none; beside a message those that cannot be taken are passed over. False:
 * refused. */
static bool collect(struct openai_turn *t, struct thread *at, struct answers *s)
{
    for (size_t i = t->q.tail; i < t->q.count; i++) {
        const struct oai_item *x = &t->q.items[i];
        if (x->kind != OAI_APPROVAL && x->kind != OAI_OUTPUT) continue;
        if (x->kind == OAI_APPROVAL && is_repeated(t, x)) continue;
        /* whatever a rule says of it: who holds the key is not known */
        if (t->shared && x->kind == OAI_APPROVAL) {
            turn_refuse(t, 403, "not_approver",
                        "This key is used by several people or by a program, so it answers no "
                        "question. Open the link that the question shows.",
                        param_of(t, x));
            return false;
        }
        if (s->count == ANSWERS_MAX) {
            turn_refuse(t, 400, "invalid_value", "These are too many answers at once.", STR_NONE);
            return false;
        }
        struct command *c =
            answer(t, thread_fold(at), x, t->q.has_message ? on_answer_only : on_answer);
        if (!c) {
            turn_no_memory(t);
            return false;
        }
        if (!command_refused(at, c)) {
            s->last = c->receipt.call ? c->receipt.call : s->last;
            s->list[s->count++] = c;
            continue;
        }
        if (!t->q.has_message) {
            refused(t, &c->receipt, param_of(t, x));
            command_free(c);
            return false;
        }
        command_free(c);
    }
    return true;
}

static void answer_all(struct openai_turn *t, struct thread *at, const struct fact *of)
{
    const struct fold *f = thread_fold(at);
    struct answers     s = { .count = 0 };
    if (!t->q.has_message && lacks_output(t, f)) {
        turn_refuse(t, 400, "missing_tool_output",
                    "Each call that waits needs its output in this request.", STR("input"));
        return;
    }
    if (!collect(t, at, &s)) {
        drop(&s);
        return;
    }
    if (!s.count) {
        say(t, at, of);
        return;
    }
    struct command *last = s.list[s.count - 1];
    struct str      declared;
    if (t->q.has_message) {
        if (!declare(t, &declared)) {
            drop(&s);
            return;
        }
        if (!(last = message(t, declared))) {
            drop(&s);
            turn_no_memory(t);
            return;
        }
        last->when_busy = BUSY_AFTER;
        s.list[s.count++] = last;
    }
    wish(t, last, f, of, t->q.has_message && s.last ? s.last->id : STR_NONE);
    t->waiting = s.count;
    t->first = (struct receipt){ 0 };
    hub_submit_all(t->ask.app->hub, s.list, s.count);
}

/* --- in words --------------------------------------------------------------------------------- */

/* Somebody was faster, or the code is closed by now. */
static void on_words(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    struct thread      *at = a->thread;
    if (wished(t, a)) turn_tell(t, at, wished(t, a));
    else if (a->status < 400 && at && a->call) tell_again(t, at, NULL, a->call);
    else if (at && a->code && strcmp(a->code, "wrong_code") == 0)
        respond(t, thread_fold(at), NULL, RESPOND_AGAIN, STR_NONE, STR_NONE);
    else if (at && (a->status == 409 || a->status == 410))
        respond(t, thread_fold(at), NULL, RESPOND_SAY, str_c(a->message), STR_NONE);
    else refused(t, a, STR_NONE);
    command_free(c);
}

static void said_before(struct openai_turn *t, struct thread *at, const struct fact *of,
                        const struct spoken_answer *x)
{
    const struct fact *d = x->call->decided;
    enum word          was = d ? d->outcome : WORD_CANCELLED;
    if (was == (x->yes ? WORD_APPROVED : WORD_DENIED)) {
        tell_again(t, at, of, x->call);
        return;
    }
    const char *text = was == WORD_APPROVED  ? "This was already approved; nothing was changed."
                       : was == WORD_DENIED  ? "This was already denied; nothing was run."
                       : was == WORD_EXPIRED ? "This question expired before it was answered; "
                                               "nothing was run."
                                             : "This question was withdrawn; nothing was run.";
    respond(t, thread_fold(at), of, RESPOND_SAY, str_c(text), STR_NONE);
}

static void on_more_words(struct command *c, const struct receipt *a)
{
    (void)a;
    command_free(c);
}

static void decide_words(struct openai_turn *t, struct thread *at, const struct fact *of,
                         const struct spoken_answer *list, size_t count)
{
    struct answers s = { .count = 0 };
    for (size_t i = 0; i < count; i++) {
        const struct spoken_answer *x = &list[i];
        if (x->call->state != CALL_ASKED) continue;
        struct command *c = turn_command(t, CMD_DECIDE, on_more_words);
        if (!c) break;
        c->via = STR("words");
        c->id = arena_dup(&c->arena, x->call->asked->id);
        c->decide.confirmed = x->yes;
        c->decide.reason = arena_dup(&c->arena, x->reason.len ? x->reason : STR_NONE);
        c->decide.code = arena_dup(&c->arena, str_c(x->code));
        s.list[s.count++] = c;
        if (!put_shown(t, thread_fold(at), c)) {
            log_refused(c->by, "words", thread_id(at), c->id, "args_mismatch");
            drop(&s);
            respond(t, thread_fold(at), of, RESPOND_SAY, STR(COMMAND_ARGS_MISMATCH), STR_NONE);
            return;
        }
    }
    if (!s.count) {
        said_before(t, at, of, &list[0]);
        return;
    }
    struct command *last = s.list[s.count - 1];
    last->done = on_words;
    wish(t, last, thread_fold(at), of, STR_NONE);
    hub_submit_all(t->ask.app->hub, s.list, s.count);
}

/* What the request's words are. More than one message of text is no answer, and where questions are
 * items a plain word is a message; but a text with the code of a question that waits is never told
 * to a model, wherever it stands. */
static enum spoken_kind words_kind(struct openai_turn *t, const struct fold *f,
                                   struct spoken_answer list[SPOKEN_MAX], size_t *count)
{
    bool items = t->q.form == OAI_FORM_ITEMS || t->q.form == OAI_FORM_EXTENSION;
    bool code = spoken_has_code(f, t->q.text);
    if (!t->ask.app->openai.words) return SPOKEN_MESSAGE; /* there are no codes */
    enum spoken_kind kind = spoken_read(turn_arena(t), f, t->q.text, list, count);
    if (t->q.only_text && (!items || code || kind == SPOKEN_ANSWERS)) return kind;
    return code ? SPOKEN_UNCLEAR : SPOKEN_MESSAGE;
}

/* True: it was one. */
static bool took_words(struct openai_turn *t, struct thread *at, const struct fact *of)
{
    struct spoken_answer list[SPOKEN_MAX];
    size_t               count;
    const struct fold   *f = at ? thread_fold(at) : NULL;
    enum spoken_kind     kind = words_kind(t, f, list, &count);
    if (kind == SPOKEN_MESSAGE) return false;
    if (kind == SPOKEN_ANSWERS && t->may_decide) decide_words(t, at, of, list, count);
    else if (kind == SPOKEN_WRONG && t->may_decide)
        respond(t, f, of, RESPOND_TRIED, STR_NONE, STR_NONE);
    else respond(t, f, of, RESPOND_AGAIN, STR_NONE, STR_NONE);
    return true;
}

/* Do the words answer one of the questions that items answer, and otherwise? */
static bool contradicts(struct openai_turn *t, const struct fold *f)
{
    struct spoken_answer list[SPOKEN_MAX];
    size_t               count;
    if (spoken_read(turn_arena(t), f, t->q.text, list, &count) != SPOKEN_ANSWERS) return false;
    for (size_t k = 0; k < count; k++)
        for (size_t i = t->q.tail; i < t->q.count; i++) {
            const struct oai_item *x = &t->q.items[i];
            if (x->kind == OAI_APPROVAL && fold_confirmation(f, x->id) == list[k].call &&
                x->approve != list[k].yes)
                return true;
        }
    return false;
}

void turn_act(struct openai_turn *t, struct thread *at)
{
    const struct fold *f = at ? thread_fold(at) : NULL;
    const struct fact *of = f && t->response.len ? response_find(f, t->response) : NULL;
    bool               answers = false;
    for (size_t i = t->q.tail; i < t->q.count; i++)
        answers |= t->q.items[i].kind == OAI_APPROVAL || t->q.items[i].kind == OAI_OUTPUT;
    if (!of && f && f->response_count && !t->forks) of = f->responses[f->response_count - 1];
    /* said beside its own answer: no message, and nothing for a model */
    if (at && answers && t->q.has_message && spoken_has_code(f, t->q.text)) {
        if (contradicts(t, f)) {
            turn_refuse(t, 422, "contradiction", COMMAND_CONTRADICTION, STR("input"));
            return;
        }
        t->q.has_message = false;
    }
    if (at && answers) answer_all(t, at, of);
    else if (!at && answers && !t->q.has_message)
        turn_refuse(t, 404, "unknown_call", "There is no such call here.", STR_NONE);
    else if (!took_words(t, at, of)) say(t, at, of);
}
