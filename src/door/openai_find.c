/* openai_find.c -- which thread a request belongs to. The first rule that applies; every look-up is
 * the principal's own, so what is somebody else's is unknown.
 *
 *   1  a conversation, or the response before, by its id
 *   2  an id of ours in the tail, else the last one anywhere: a question, a call, an item
 *   3  the chain of words (run/chain.h)
 *   4  the last exchange, in a conversation that a chat program names in a header
 *   5  a new thread
 *
 * Clients with fixed histories send ids that mean nothing here; what has our form and is not known
 * is passed over, unless the request is about just that.
 */
#include "base/id.h"
#include "dialect/responseitems.h"
#include "door/openai.h"
#include "run/chain.h"

#define CANDIDATES 8 /* of several that were said alike the newest are looked at */

enum rule { RULE_NAMED, RULE_TAIL, RULE_ITEM, RULE_WORDS, RULE_PART, RULE_HEADER, RULE_NEW };

static void go_on(struct openai_turn *t)
{
    t->rule++;
    turn_find(t);
}

/* --- loading ---------------------------------------------------------------------------------- */

static void on_thread(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    struct str          id = arena_dup(turn_arena(t), c->id);
    int                 status = a->status;
    const char         *code = a->code, *message = a->message;
    struct thread      *at = status < 400 ? a->thread : NULL;
    command_free(c);
    if (at) {
        t->thread = arena_dup(turn_arena(t), thread_id(at));
        turn_act(t, at);
    } else if (status != 404) turn_refuse(t, status, code, message, STR_NONE);
    else if (t->rule == RULE_NAMED)
        turn_refuse(t, 404, "conversation_not_found", "There is no such conversation.",
                    STR("conversation"));
    else if (t->rule == RULE_TAIL && !t->q.has_message) {
        bool output =
            !str_starts(id, STR("confirmation-")) || t->q.items[t->q.tail].kind == OAI_OUTPUT;
        turn_refuse(t, 404, output ? "unknown_call" : "unknown_confirmation",
                    output ? "There is no such call here." : "There is no such request here.",
                    STR_NONE);
    } else {
        t->thread = t->response = STR_NONE;
        go_on(t);
    }
}

/* By its name, or by a confirmation that it has asked. */
static void load(struct openai_turn *t, struct str thread, struct str confirmation)
{
    t->thread = thread;
    struct command *c = turn_command(t, CMD_FOLLOW, on_thread);
    if (!c) {
        turn_no_memory(t);
        return;
    }
    c->id = arena_dup(&c->arena, confirmation);
    hub_submit(t->ask.app->hub, c);
}

/* --- by response ------------------------------------------------------------------------------ */

/* What was not stored has no name to be continued by; its items are still the way to its thread. */
static bool is_usable(struct openai_turn *t, struct thread *at)
{
    const struct fold *f = thread_fold(at);
    const struct fact *r = response_find(f, t->response);
    if (t->rule == RULE_NAMED) return response_kept(f, r);
    return r && !response_forgotten(f, t->response);
}

static void on_response_thread(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    struct thread      *at = a->status < 400 ? a->thread : NULL;
    bool                named = t->rule == RULE_NAMED;
    command_free(c);
    if (at && is_usable(t, at)) turn_act(t, at);
    else if (named)
        turn_refuse(t, 400, "previous_response_not_found", "There is no such response.",
                    STR("previous_response_id"));
    else {
        t->thread = t->response = STR_NONE;
        go_on(t);
    }
}

static void on_response(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    struct command *c;
    if (!count && t->rule == RULE_NAMED) {
        turn_refuse(t, 400, "previous_response_not_found", "There is no such response.",
                    STR("previous_response_id"));
        return;
    }
    if (!count) {
        t->response = STR_NONE;
        go_on(t);
        return;
    }
    t->thread = arena_dup(turn_arena(t), rows[0].thread);
    t->response = arena_dup(turn_arena(t), rows[0].value);
    t->forks = true;
    if ((c = turn_command(t, CMD_FOLLOW, on_response_thread))) hub_submit(t->ask.app->hub, c);
    else turn_no_memory(t);
}

static void named(struct openai_turn *t)
{
    if (t->q.conversation.len) {
        if (id_valid(t->q.conversation, 128)) load(t, t->q.conversation, STR_NONE);
        else
            turn_refuse(t, 404, "conversation_not_found", "There is no such conversation.",
                        STR("conversation"));
    } else if (t->q.previous.len) turn_lookup(t, "r:", str_cut(t->q.previous, 64), 1, on_response);
    else go_on(t);
}

/* --- by an id --------------------------------------------------------------------------------- */

static struct str confirmation_of(struct openai_turn *t, struct str id)
{
    if (str_starts(id, STR("confirmation-"))) return str_cut(id, ID_MAX);
    return arena_printf(turn_arena(t), "confirmation-" STR_FMT, STR_ARG(str_cut(id, ID_MAX)));
}

static void by_tail(struct openai_turn *t)
{
    for (size_t i = t->q.tail; i < t->q.count; i++) {
        const struct oai_item *x = &t->q.items[i];
        if (x->kind != OAI_APPROVAL && x->kind != OAI_OUTPUT) continue;
        load(t, STR_NONE, confirmation_of(t, x->id));
        return;
    }
    go_on(t);
}

/* "msg_" + 22 + "_0" -> "resp_" + 22. */
static struct str response_of_item(struct openai_turn *t, struct str id)
{
    static const char *const PREFIX[] = { "msg_", "rs_", "mcp_", "fc_", "resp_" };
    for (size_t i = 0; i < sizeof PREFIX / sizeof *PREFIX; i++) {
        if (!str_starts(id, str_c(PREFIX[i]))) continue;
        struct str name = str_cut(str_from(id, strlen(PREFIX[i])), ID_LEN);
        if (name.len == ID_LEN && id_valid(name, ID_LEN))
            return arena_printf(turn_arena(t), RESPONSE_ID_PREFIX STR_FMT, STR_ARG(name));
    }
    return STR_NONE;
}

static bool is_question_or_call(struct str id)
{
    return (str_starts(id, STR("confirmation-call-")) || str_starts(id, STR("call-"))) &&
           id_valid(id, ID_MAX);
}

static void by_item(struct openai_turn *t)
{
    for (size_t i = t->q.count; i-- > 0;) {
        const struct oai_item *x = &t->q.items[i];
        struct str             response = response_of_item(t, x->id);
        if (response.len) {
            turn_lookup(t, "r:", response, 1, on_response);
            return;
        }
        if (is_question_or_call(x->id)) {
            load(t, STR_NONE, confirmation_of(t, x->id));
            return;
        }
        if (x->reference) {
            struct str p = arena_printf(turn_arena(t), "input[%u].id", x->index);
            turn_refuse(t, 404, "item_not_found", "There is no such item here.", p);
            return;
        }
    }
    go_on(t);
}

/* --- by words --------------------------------------------------------------------------------- */

static enum chain_role role_of(const struct oai_item *x)
{
    return x->kind == OAI_USER        ? CHAIN_USER
           : x->kind == OAI_ASSISTANT ? CHAIN_ASSISTANT
                                      : CHAIN_NOBODY;
}

/* Of the first `count` items. */
static struct str hash_of(struct openai_turn *t, size_t count)
{
    struct chain c;
    char         hash[CHAIN_LEN];
    chain_init(&c);
    for (size_t i = 0; i < count; i++)
        if (role_of(&t->q.items[i])) chain_add(&c, role_of(&t->q.items[i]), t->q.items[i].text);
    bool ok = chain_hash(&c, hash);
    chain_done(&c);
    return ok ? arena_dup(turn_arena(t), str_n(hash, CHAIN_LEN)) : STR_NONE;
}

static bool says(const struct oai_item *x, enum oai_kind kind)
{
    return x->kind == kind && str_trim(x->text).len;
}

/* Behind the last thing that the assistant said; 0: it said nothing. */
static size_t last_words(const struct oai_request *q)
{
    size_t n = q->count;
    while (n && !says(&q->items[n - 1], OAI_ASSISTANT)) n--;
    return n;
}

struct str turn_chain(struct openai_turn *t, const struct fold *f, const struct fact *of)
{
    struct chain c;
    struct buf   words = { 0 };
    char         hash[CHAIN_LEN];
    if (!t->q.previous.len && !t->q.conversation.len) return hash_of(t, t->q.count);
    uint64_t end = of ? response_end(f, of, f->count) : 0;
    if (!end || of->chain.len != CHAIN_LEN) return STR_NONE;
    response_words(&words, f, of, end);
    bool said = str_trim(buf_view(&words)).len > 0 && !words.err;
    chain_init(&c);
    chain_resume(&c, of->chain, CHAIN_USER);
    chain_add(&c, CHAIN_ASSISTANT, buf_view(&words));
    chain_add(&c, CHAIN_USER, t->q.text);
    bool ok = said && chain_hash(&c, hash);
    chain_done(&c);
    buf_done(&words);
    return ok ? arena_dup(turn_arena(t), str_n(hash, CHAIN_LEN)) : STR_NONE;
}

/* Where the request began that ended there: its tail, then. */
static size_t own_words(const struct oai_request *q, size_t to)
{
    while (to && q->items[to - 1].kind != OAI_ASSISTANT) to--;
    return to;
}

static struct str exchange(struct openai_turn *t, size_t from, size_t to);

/* Was it said in the conversation that the program names, as far as either of them has a name? */
static bool is_named_so(struct openai_turn *t, const struct fact *r)
{
    size_t to = last_words(&t->q), from;
    while (to && role_of(&t->q.items[to - 1]) != CHAIN_USER) to--;
    from = own_words(&t->q, to);
    struct str name = t->chat.len && r->note.len ? exchange(t, from, to) : STR_NONE;
    return !name.len || str_eq(name, r->note);
}

/* Does the response say what the client says it said: all of it, or (stop was pressed) its
 * beginning? Then it is the one; better one that nothing continues yet. */
static bool fits(struct openai_turn *t, const struct fold *f, const struct fact *r)
{
    struct buf words = { 0 };
    size_t     n = last_words(&t->q), first = n;
    struct buf said = { 0 };
    while (first && role_of(&t->q.items[first - 1]) != CHAIN_USER) first--;
    for (size_t i = first; i < n; i++)
        if (t->q.items[i].kind == OAI_ASSISTANT) buf_str(&said, t->q.items[i].text);
    response_words(&words, f, r,
                   f->count < response_end(f, r, f->count) ? f->count
                   : response_end(f, r, f->count)          ? response_end(f, r, f->count)
                                                           : f->count);
    bool ok = !words.err && !said.err && chain_begins(buf_view(&words), buf_view(&said));
    buf_done(&words);
    buf_done(&said);
    return ok;
}

static void try_candidate(struct openai_turn *t);

/* Of several conversations that began alike, one in which the same words did something already:
 * then they are said again, and do not go on in another one that knows nothing of it. */
static bool is_repeated(struct openai_turn *t, const struct fold *f, const struct fact *r)
{
    for (size_t i = 0; i < f->response_count; i++) {
        const struct fact *x = f->responses[i];
        if (str_eq(x->of, r->id) && turn_repeats(t, x) && response_did(f, x)) return true;
    }
    return false;
}

static bool is_better(struct openai_turn *t, const struct fold *f, const struct fact *r)
{
    if (t->again) return is_repeated(t, f, r);
    return t->candidate + 1 >= t->candidate_count || !response_after(f, r->id);
}

static void on_candidate(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    struct thread      *at = a->status < 400 ? a->thread : NULL;
    const struct fold  *f = at ? thread_fold(at) : NULL;
    const struct fact  *r = f ? response_find(f, t->response) : NULL;
    command_free(c);
    if (r && is_named_so(t, r) && fits(t, f, r) && is_better(t, f, r)) {
        t->forks = true;
        turn_act(t, at);
        return;
    }
    t->candidate++;
    try_candidate(t);
}

static void try_candidate(struct openai_turn *t)
{
    struct command *c;
    if (t->candidate >= t->candidate_count && t->again) {
        t->again = false;
        t->candidate = 0;
    }
    if (t->candidate >= t->candidate_count) {
        t->thread = t->response = STR_NONE;
        go_on(t);
        return;
    }
    t->thread = t->candidates[t->candidate].thread;
    t->response = t->candidate_responses[t->candidate];
    if ((c = turn_command(t, CMD_FOLLOW, on_candidate))) hub_submit(t->ask.app->hub, c);
    else turn_no_memory(t);
}

static void on_candidates(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    struct arena *a = turn_arena(t);
    t->candidates = arena_array(a, count + 1, sizeof *t->candidates);
    t->candidate_responses = arena_array(a, count + 1, sizeof *t->candidate_responses);
    if (!t->candidates || !t->candidate_responses) {
        turn_no_memory(t);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        t->candidates[i].thread = arena_dup(a, rows[i].thread);
        t->candidate_responses[i] = arena_dup(a, rows[i].value);
    }
    t->candidate = 0;
    t->candidate_count = count;
    t->again = count > 1;
    try_candidate(t);
}

static void by_words(struct openai_turn *t)
{
    size_t n = last_words(&t->q);
    if (n) turn_lookup(t, "w:", hash_of(t, n), CANDIDATES, on_candidates);
    else go_on(t);
}

/* Up to the question before the last words: of those the client may have less than was told. */
static void by_part(struct openai_turn *t)
{
    size_t n = last_words(&t->q);
    while (n && !says(&t->q.items[n - 1], OAI_USER)) n--;
    if (n) turn_lookup(t, "u:", hash_of(t, n), CANDIDATES, on_candidates);
    else go_on(t);
}

/* --- by a header and the last exchange -------------------------------------------------------- */

/* Of the items from..to, as said in the conversation that the header names. Never the header alone:
 * requests for titles carry it, too. */
static struct str exchange(struct openai_turn *t, size_t from, size_t to)
{
    struct chain c;
    char         hash[CHAIN_LEN];
    bool         said = false;
    chain_init(&c);
    chain_add(&c, CHAIN_USER, t->chat);
    for (size_t i = from; i < to; i++) {
        const struct oai_item *x = &t->q.items[i];
        said |= says(x, OAI_USER);
        if (role_of(x)) chain_add(&c, role_of(x), x->text);
    }
    bool ok = said && chain_hash(&c, hash);
    chain_done(&c);
    return ok ? arena_dup(turn_arena(t), str_n(hash, CHAIN_LEN)) : STR_NONE;
}

struct str turn_exchange(struct openai_turn *t)
{
    return t->chat.len ? exchange(t, t->q.tail, t->q.count) : STR_NONE;
}

static size_t spoken_count(const struct oai_request *q)
{
    size_t n = 0;
    for (size_t i = 0; i < q->count; i++) n += says(&q->items[i], OAI_USER);
    return n;
}

static bool add_beginning(struct openai_turn *t, const struct chain *c, size_t at, size_t to)
{
    char   hash[CHAIN_LEN];
    size_t from = own_words(&t->q, to);
    if (!chain_hash(c, hash)) return false;
    t->beginnings[at] = (struct openai_beginning){
        arena_dup(turn_arena(t), str_n(hash, CHAIN_LEN)),
        t->chat.len ? exchange(t, from, to) : STR_NONE,
    };
    return t->beginnings[at].chain.len > 0;
}

bool turn_beginnings(struct openai_turn *t)
{
    struct chain c;
    size_t       count = spoken_count(&t->q), left = count;
    bool         ok = true;
    if (t->beginnings || t->q.previous.len || t->q.conversation.len) return true;
    t->beginnings = arena_array(turn_arena(t), count + 1, sizeof *t->beginnings);
    if (!t->beginnings) return false;
    chain_init(&c);
    for (size_t i = 0; ok && i < t->q.count; i++) {
        const struct oai_item *x = &t->q.items[i];
        if (role_of(x)) chain_add(&c, role_of(x), x->text);
        if (says(x, OAI_USER)) ok = add_beginning(t, &c, left--, i + 1);
    }
    ok = ok && add_beginning(t, &c, 0, t->q.count);
    t->beginnings[0].exchange = turn_exchange(t);
    chain_done(&c);
    t->beginning_count = ok ? count + 1 : 0;
    return ok;
}

struct str turn_root(struct openai_turn *t)
{
    bool ok = turn_beginnings(t) && t->beginning_count;
    return ok ? t->beginnings[t->beginning_count - 1].chain : STR_NONE;
}

static void by_header(struct openai_turn *t)
{
    size_t     to = last_words(&t->q), from = to;
    struct str hash;
    while (from && t->q.items[from - 1].kind != OAI_USER) from--;
    while (from && t->q.items[from - 1].kind != OAI_ASSISTANT) from--;
    hash = t->chat.len && to ? exchange(t, from, to) : STR_NONE;
    if (hash.len) turn_lookup(t, "x:", hash, CANDIDATES, on_candidates);
    else go_on(t);
}

/* --- a new one -------------------------------------------------------------------------------- */

void turn_find(struct openai_turn *t)
{
    switch ((enum rule)t->rule) {
    case RULE_NAMED: named(t); return;
    case RULE_TAIL: by_tail(t); return;
    case RULE_ITEM: by_item(t); return;
    case RULE_WORDS: by_words(t); return;
    case RULE_PART: by_part(t); return;
    case RULE_HEADER: by_header(t); return;
    case RULE_NEW: break;
    }
    t->thread = id_new(turn_arena(t), "t_");
    t->response = STR_NONE;
    if (t->thread.ptr) turn_act(t, NULL);
    else turn_no_memory(t);
}
