/* openai_past.c -- what other versions of a conversation did, before a new one begins.
 *
 * Clients of this shape regenerate, edit and resend by saying the same beginning once more, and
 * each time that is a thread of its own. What was paid in one of them stays paid: the new one
 * carries it (run/response.h), so that its model knows, and the same call asks.
 *
 *   a fork          carries what was done in its source, in the thread that all the copies go back
 *                   to, and in those copies
 *   any other new   carries what was done in answer to the same words shortly before: a resent
 *   thread          request cannot be told from a new conversation. And if it begins with the words
 *                   of another conversation, and goes on as that one never did (a cut answer is
 *                   kept empty, or as "[stopped]", or not at all), what was done in that. Where the
 *                   client's program names its conversations, another name is another conversation.
 *                   While the very same request is still being answered, nobody knows what it will
 *                   do: then it is one request, and both are told the same. The same of one that
 *                   it goes on from otherwise (its client may have left, and nobody saw it yet):
 *                   then it waits until that one rests
 *
 * Versions that did nothing, or only found that another had, are not looked at: any number of them
 * hides nothing. What did something has a key that says so (run/response.h). Of more than MANY
 * nobody looks further, and the new thread carries that there are more: then each call in it asks.
 *
 * Two nodes may look at the same moment, and both find nothing. So what begins a thread has a
 * request id made of the request and of the newest that was found: of two that saw the same, the
 * store takes one, and the other looks again.
 */
#include "base/clock.h"
#include "door/openai.h"
#include "run/effect.h"

#define SAME 8  /* said in the same words: what is older is carried by these, or is a `duplicate` */
#define MANY 64 /* that did something */

static void look(struct openai_turn *t);

/* How much of the request is what this one answered, from the beginning, and shortly after it? */
enum repeats { REPEATS_NOT, REPEATS_BEGINNING, REPEATS_ALL };

static enum repeats repeats(struct openai_turn *t, const struct fact *r)
{
    if (r->at_ms < clock_wall_ms() - EFFECT_WORDS_MS || !turn_beginnings(t)) return REPEATS_NOT;
    for (size_t i = 0; i < t->beginning_count; i++) {
        const struct openai_beginning *b = &t->beginnings[i];
        if (!str_eq(b->chain, r->chain)) continue;
        bool named = b->exchange.len && r->note.len;
        if (named && !str_eq(b->exchange, r->note)) return REPEATS_NOT;
        return i ? REPEATS_BEGINNING : REPEATS_ALL;
    }
    return REPEATS_NOT;
}

bool turn_repeats(struct openai_turn *t, const struct fact *r)
{
    return repeats(t, r) != REPEATS_NOT;
}

/* It goes on from something that was said there. */
static bool goes_on(struct openai_turn *t, const struct fold *f)
{
    for (size_t i = 0; i < f->response_count; i++)
        if (repeats(t, f->responses[i]) == REPEATS_BEGINNING) return true;
    return false;
}

/* Of one run, or (STR_NONE) of all. */
static void add_effects(struct openai_turn *t, const struct fold *f, struct str run)
{
    struct str list = response_effects(turn_arena(t), f, run);
    if (list.len <= 2) return; /* [] */
    t->effects = !t->effects.len ? list
                                 : arena_printf(turn_arena(t), STR_FMT "," STR_FMT,
                                                STR_ARG(t->effects), STR_ARG(list));
}

static bool is_fork(const struct openai_turn *t)
{
    return t->begins->message.family.len > 0;
}

/* Of a conversation that this request repeats as a whole only the answer to it counts; of one that
 * it begins like, and goes on from in another way, all. */
static void add_past(struct openai_turn *t, const struct fold *f)
{
    if (is_fork(t) || goes_on(t, f)) {
        add_effects(t, f, STR_NONE);
        return;
    }
    for (size_t i = 0; i < f->response_count; i++)
        if (repeats(t, f->responses[i]) == REPEATS_ALL) add_effects(t, f, f->responses[i]->run);
}

static void on_twin(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    const struct fact  *r = a->thread ? response_find(thread_fold(a->thread), t->response) : NULL;
    if (r) turn_tell(t, a->thread, r);
    else look(t); /* it was just deleted */
    command_free(c);
}

/* True: it ends with what that one is told. */
static bool is_twin(struct openai_turn *t, struct thread *at)
{
    const struct fact *r = response_going(thread_fold(at), t->key);
    struct command    *c = r ? turn_command(t, CMD_FOLLOW, on_twin) : NULL;
    if (!c) return false;
    t->response = arena_dup(turn_arena(t), r->id);
    c->log.thread = arena_dup(&c->arena, thread_id(at)); /* this may be a copy */
    hub_submit(t->ask.app->hub, c);
    return true;
}

/* --- one that this request goes on from, and that is still being answered --- */

static bool is_answered(const struct thread *at)
{
    const struct fold *f = thread_fold(at);
    return run_live(f->run) && !run_waiting(f->run);
}

static bool is_going(struct openai_turn *t, const struct thread *at)
{
    return !is_fork(t) && is_answered(at) && goes_on(t, thread_fold(at));
}

static void on_rest(struct follower *f)
{
    struct openai_turn *t = LIST_ITEM(f, struct openai_turn, rest);
    bool                drains = hub_draining(t->ask.app->hub), stuck = thread_stuck(f->thread);
    if (!drains && !stuck && (thread_away(f->thread) || is_answered(f->thread))) return;
    thread_unfollow(f);
    if (drains) turn_refuse(t, 503, "restarting", "The server is restarting; try again.", STR_NONE);
    else if (stuck)
        turn_refuse(t, 503, "store_unavailable", "Nothing can be saved at the moment.", STR_NONE);
    else look(t);
}

static void on_deleted(struct follower *f)
{
    thread_unfollow(f);
    look(LIST_ITEM(f, struct openai_turn, rest));
}

static void on_going(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    struct thread      *at = a->status < 400 ? a->thread : NULL;
    t->rest = (struct follower){ .wake = on_rest, .over = on_deleted };
    if (at && (thread_away(at) || is_going(t, at))) thread_follow(at, &t->rest);
    else if (at || a->status == 404) look(t); /* just now it came to rest, or was deleted */
    else turn_refuse(t, a->status, a->code, a->message, STR_NONE);
    command_free(c);
}

/* True: it looks again when that one rests. */
static bool waits_for(struct openai_turn *t, struct thread *at)
{
    if (!is_going(t, at)) return false;
    struct command *c = turn_command(t, CMD_FOLLOW, on_going);
    if (!c) {
        turn_no_memory(t);
        return true;
    }
    c->log.thread = arena_dup(&c->arena, thread_id(at)); /* this may be a copy */
    hub_submit(t->ask.app->hub, c);
    return true;
}

/* One that is gone did nothing that anybody could still be told of; one that cannot be read might
 * have. */
static void on_look(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    int                 status = a->status;
    const char         *code = a->code, *message = a->message;
    struct thread      *at = status < 400 ? a->thread : NULL;
    bool                later = at && (is_twin(t, at) || waits_for(t, at));
    if (at && !later) add_past(t, thread_fold(at));
    command_free(c);
    if (later) return;
    t->past_next++;
    if (status >= 400 && status != 404) turn_refuse(t, status, code, message, STR_NONE);
    else look(t);
}

/* Taken once, and nothing new is found: what took it is there no more, and this one begins anew. */
static void name(struct openai_turn *t, struct command *c)
{
    struct str id =
        arena_printf(&c->arena, "openai:" STR_FMT ":" STR_FMT, STR_ARG(t->key), STR_ARG(t->seen));
    if (t->key.len && !str_eq(id, t->tried)) c->request_id = id;
    t->tried = arena_dup(turn_arena(t), id);
}

static void finish(struct openai_turn *t)
{
    struct command *c = t->begins;
    t->begins = NULL;
    if (t->effects.len)
        c->message.effects = arena_printf(&c->arena, "[" STR_FMT "]", STR_ARG(t->effects));
    name(t, c);
    if (turn_arena(t)->failed) c->arena.failed = true;
    turn_submit(t, c);
}

static void look(struct openai_turn *t)
{
    struct command *c;
    if (t->past_next == t->past_count) {
        finish(t);
        return;
    }
    if (!(c = turn_command(t, CMD_FOLLOW, on_look))) {
        turn_no_memory(t);
        return;
    }
    c->log.thread = arena_dup(&c->arena, t->past[t->past_next]);
    c->follow.peek = true;
    hub_submit(t->ask.app->hub, c);
}

static void add(struct openai_turn *t, struct str thread)
{
    for (size_t i = 0; i < t->past_count; i++)
        if (str_eq(t->past[i], thread)) return;
    t->past[t->past_count++] = arena_dup(turn_arena(t), thread);
}

static void add_rows(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    if (count && !t->seen.len) t->seen = arena_dup(turn_arena(t), rows[0].thread);
    for (size_t i = 0; i < count; i++) add(t, rows[i].thread);
}

/* The newest first. What is too old to count is no reason to ask; of a fork nothing is. */
static void on_done_something(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    int64_t since = is_fork(t) ? 0 : clock_wall_ms() - EFFECT_WORDS_MS;
    while (count && rows[count - 1].created_ms < since) count--;
    if (count > MANY) t->begins->message.more = true;
    add_rows(t, rows, count > MANY ? MANY : count);
    look(t);
}

static bool begin(struct openai_turn *t, struct command *c)
{
    t->begins = c;
    t->past = arena_array(turn_arena(t), 2 + SAME + MANY, sizeof *t->past);
    if (t->past && turn_beginnings(t)) return true;
    turn_no_memory(t);
    return false;
}

/* --- a fork ----------------------------------------------------------------------------------- */

static void on_copies(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    add_rows(t, rows, count);
    turn_lookup(t, "a:", t->begins->message.family, MANY + 1, on_done_something);
}

void turn_fork(struct openai_turn *t, struct command *c, struct str source)
{
    if (!begin(t, c)) return;
    add(t, source);
    add(t, c->message.family);
    turn_lookup(t, "f:", c->message.family, SAME, on_copies);
}

/* --- a new thread ----------------------------------------------------------------------------- */

static void on_same_words(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    struct str root = turn_root(t);
    add_rows(t, rows, count);
    if (str_eq(root, t->beginnings[0].chain)) look(t); /* there is nothing that it goes on from */
    else turn_lookup(t, "a:", root, MANY + 1, on_done_something);
}

void turn_begin(struct openai_turn *t, struct command *c)
{
    if (!begin(t, c)) return;
    if (t->beginning_count) turn_lookup(t, "u:", t->beginnings[0].chain, SAME, on_same_words);
    else look(t);
}
