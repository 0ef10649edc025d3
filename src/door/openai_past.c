/* openai_past.c -- what other versions of a conversation did, before a new one begins.
 *
 * Clients of this shape regenerate, edit and resend by saying the same beginning once more, and
 * each time that is a thread of its own. What was paid in one of them stays paid: the new one
 * carries it (run/response.h), so that its model knows, and the same call asks.
 *
 *   a fork          carries what was done in its source, in the thread that all the copies go back
 *                   to, and in the newest of those copies, which carry what is older
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
 * Two nodes may look at the same moment, and both find nothing. So what begins a thread has a
 * request id made of the request and of the newest that was found: of two that saw the same, the
 * store takes one, and the other looks again.
 */
#include "base/clock.h"
#include "door/openai.h"
#include "run/effect.h"

struct openai_past {
    struct str thread;
    struct str response; /* if it still counts; STR_NONE: in any case */
    bool       whole;    /* what was done in all of it, not just in that one's run */
};

static void look(struct openai_turn *t);

bool turn_repeats(struct openai_turn *t, const struct fact *r)
{
    if (r->at_ms < clock_wall_ms() - EFFECT_WORDS_MS || !turn_beginnings(t)) return false;
    for (size_t i = 0; i < t->beginning_count; i++) {
        const struct openai_beginning *b = &t->beginnings[i];
        if (str_eq(b->chain, r->chain))
            return !b->exchange.len || !r->note.len || str_eq(b->exchange, r->note);
    }
    return false;
}

static void add_effects(struct openai_turn *t, const struct fold *f, const struct openai_past *p)
{
    const struct fact *r = p->response.ptr ? response_find(f, p->response) : NULL;
    if (p->response.ptr && (!r || !turn_repeats(t, r))) return;
    struct str list = response_effects(turn_arena(t), f, r && !p->whole ? r->run : STR_NONE);
    if (list.len <= 2) return; /* [] */
    t->effects = !t->effects.len ? list
                                 : arena_printf(turn_arena(t), STR_FMT "," STR_FMT,
                                                STR_ARG(t->effects), STR_ARG(list));
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

static bool is_going(struct openai_turn *t, const struct thread *at)
{
    const struct openai_past *p = &t->past[t->past_next];
    const struct fold        *f = thread_fold(at);
    const struct fact *r = p->whole && p->response.ptr ? response_find(f, p->response) : NULL;
    return r && run_live(f->run) && !run_waiting(f->run) && turn_repeats(t, r);
}

static void on_rest(struct follower *f)
{
    struct openai_turn *t = LIST_ITEM(f, struct openai_turn, rest);
    bool                drains = hub_draining(t->ask.app->hub), stuck = thread_stuck(f->thread);
    if (!drains && !stuck && (thread_away(f->thread) || is_going(t, f->thread))) return;
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
    if (at && !later) add_effects(t, thread_fold(at), &t->past[t->past_next]);
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
    c->log.thread = arena_dup(&c->arena, t->past[t->past_next].thread);
    c->follow.peek = true;
    hub_submit(t->ask.app->hub, c);
}

static void add(struct openai_turn *t, struct str thread, struct str response, bool whole)
{
    for (size_t i = 0; i < t->past_count; i++)
        if (str_eq(t->past[i].thread, thread)) {
            t->past[i].whole |= whole;
            return;
        }
    t->past[t->past_count++] = (struct openai_past){ arena_dup(turn_arena(t), thread),
                                                     arena_dup(turn_arena(t), response), whole };
}

/* For so many more. */
static bool has_room(struct openai_turn *t, size_t count)
{
    struct openai_past *list =
        arena_array(turn_arena(t), t->past_count + count + 1, sizeof *t->past);
    if (!list) {
        turn_no_memory(t);
        return false;
    }
    if (t->past_count) memcpy(list, t->past, t->past_count * sizeof *list);
    t->past = list;
    return true;
}

/* --- a fork ----------------------------------------------------------------------------------- */

static void on_copies(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    struct str source = t->past[0].thread;
    if (!has_room(t, count + 2)) return;
    if (count) t->seen = arena_dup(turn_arena(t), rows[0].thread);
    add(t, source, STR_NONE, true);
    add(t, t->begins->message.family, STR_NONE, true);
    for (size_t i = 0; i < count; i++) add(t, rows[i].thread, STR_NONE, true);
    look(t);
}

void turn_fork(struct openai_turn *t, struct command *c, struct str source)
{
    t->begins = c;
    if (!has_room(t, 1)) return;
    t->past[0].thread = arena_dup(turn_arena(t), source);
    turn_lookup(t, "f:", c->message.family, on_copies);
}

/* --- a new thread ----------------------------------------------------------------------------- */

static void look_up(struct openai_turn *t);

/* Of a conversation that this request repeats as a whole only the answer to it counts; of one that
 * it begins like, and goes on from in another way, all. */
static void on_same_words(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    bool whole = t->beginning++ > 0;
    if (!has_room(t, count)) return;
    if (count && !t->seen.len) t->seen = arena_dup(turn_arena(t), rows[0].thread);
    for (size_t i = 0; i < count; i++) add(t, rows[i].thread, rows[i].value, whole);
    look_up(t);
}

static void look_up(struct openai_turn *t)
{
    struct openai_beginning *b = t->beginnings;
    while (t->beginning && t->beginning < t->beginning_count &&
           str_eq(b[t->beginning].chain, b[0].chain))
        t->beginning++;
    if (t->beginning < t->beginning_count)
        turn_lookup(t, "u:", b[t->beginning].chain, on_same_words);
    else look(t);
}

void turn_begin(struct openai_turn *t, struct command *c)
{
    t->begins = c;
    t->beginning = 0;
    if (turn_beginnings(t)) look_up(t);
    else turn_no_memory(t);
}
