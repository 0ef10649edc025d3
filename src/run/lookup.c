/* lookup.c -- what a thread may have to ask the store beside its own log.
 *
 *   whose confirmation is this?    an answer may name the question alone; then its thread is found
 *                                  here, before the mailbox
 *   was this request id used?      usually the append decides (ERR_EXISTS). A command that is
 *                                  refused appends nothing, so it is asked here, after the mailbox
 *   is it allowed, or done, already?    before a person is asked about a call whose tool has grants
 *                                  or effect keys. What is found is a hint; the append that starts
 *                                  the call decides
 *   what does this thread say?     one look at a log that other nodes may work on: read for the
 *                                  answer and forgotten, claimed by nobody
 *
 * None is on the way of an ordinary message.
 */
#include "base/clock.h"
#include "base/log.h"
#include "run/effect.h"
#include "run/engine.h"
#include "run/taking.h"

struct lookup {
    struct store_list list;
    struct hub       *hub;
    struct command   *command;
};

static void tell(struct command *c)
{
    if (c->done) c->done(c, &c->receipt);
}

static void refuse(struct command *c, int status, const char *code, const char *message)
{
    c->receipt = (struct receipt){ .status = status, .code = code, .message = message };
    tell(c);
}

static struct lookup *lookup_new(struct hub *h, struct command *c, enum store_list_kind kind)
{
    struct lookup *k = mem_alloc(sizeof *k);
    if (!k) return NULL;
    k->hub = h;
    k->command = c;
    k->list = (struct store_list){
        .kind = kind, .since_ns = c->since_ns, .owner = c->log.owner, .limit = 1
    };
    return k;
}

/* --- whose confirmation is this? ------------------------------------------------------------- */

static void on_confirmation(struct store_list *l, enum err e, const struct store_row *rows,
                            size_t count, struct str next)
{
    struct lookup  *k = LIST_ITEM(l, struct lookup, list);
    struct command *c = k->command;
    (void)next;
    if (e)
        refuse(c, 503, "store_unavailable",
               "The store cannot be read at the moment. Try again in a moment.");
    else if (!count) {
        if (c->kind != CMD_FOLLOW) /* an answer that nobody honest would send */
            log_line(LOG_SECURITY, "answer.refused", "why", "unknown_confirmation", "thread",
                     log_str(STR_NONE), "by", log_str(c->by), "via", log_str(c->via), "id",
                     log_str(c->id), NULL);
        refuse(c, 404, "unknown_confirmation", "There is no such request here.");
    } else {
        c->log.owner = arena_dup(&c->arena, rows[0].owner);
        c->log.thread = arena_dup(&c->arena, rows[0].thread);
        hub_post(k->hub, c);
    }
    mem_free(k);
}

void lookup_confirmation(struct hub *h, struct command *c)
{
    struct lookup *k = lookup_new(h, c, STORE_APPROVALS);
    if (!k) {
        refuse(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
        return;
    }
    k->list.id = c->id;
    k->list.everybody = c->anyones;
    k->list.done = on_confirmation;
    store_list(h->setup.store, &k->list);
}

/* --- was this request id used? --------------------------------------------------------------- */

static void on_request(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                       struct str next)
{
    struct lookup  *k = LIST_ITEM(l, struct lookup, list);
    struct command *c = k->command;
    (void)next;
    if (!e && count) {
        c->receipt = (struct receipt){ .status = 200, .duplicate = true };
        c->receipt.run = arena_dup(&c->arena, rows[0].run);
        c->receipt.id = arena_dup(&c->arena, rows[0].thread);
    }
    tell(c);
    mem_free(k);
}

void lookup_request(struct hub *h, struct command *c)
{
    struct lookup *k = lookup_new(h, c, STORE_REQUEST);
    if (!k) {
        tell(c);
        return;
    }
    k->list.id = c->request_id;
    k->list.done = on_request;
    store_list(h->setup.store, &k->list);
}

/* --- what does this thread say? --------------------------------------------------------------- */

struct look {
    struct store_read read;
    struct thread    *thread; /* in no hub's map */
    struct command   *command;
};

static enum err fold_all(struct thread *t, const struct store_fact *facts, size_t count)
{
    enum err e = OK;
    for (size_t i = 0; i < count && !e; i++)
        e = fold_apply(&t->fold, &(struct stored_fact){ facts[i].seq, facts[i].at_ms, facts[i].kind,
                                                        facts[i].body });
    t->exists = t->loaded = true;
    t->committed = t->fold.count;
    return e;
}

static void on_look(struct store_read *r, enum err e, const struct store_fact *facts, size_t count)
{
    struct look    *k = LIST_ITEM(r, struct look, read);
    struct thread  *t = k->thread;
    struct command *c = k->command;
    if (!e) e = fold_all(t, facts, count);
    if (e == ERR_NOT_FOUND) refuse(c, 404, "unknown_thread", "There is no such conversation.");
    else if (e == ERR_DAMAGED)
        refuse(c, 409, "damaged", "This conversation is damaged in the server's database.");
    else if (e)
        refuse(c, 503, "store_unavailable",
               "The conversation cannot be read at the moment. Try again in a moment.");
    else {
        thread_retitle(t, r->title);
        c->receipt = (struct receipt){ .status = 200, .thread = t, .seq = t->committed };
        if (t->fold.run) c->receipt.run = t->fold.run->id;
        tell(c);
    }
    thread_free(t);
    mem_free(k);
}

void lookup_thread(struct hub *h, struct command *c)
{
    struct look *k = mem_alloc(sizeof *k);
    if (k && !(k->thread = thread_new(h, c->log))) {
        mem_free(k);
        k = NULL;
    }
    if (!k) {
        refuse(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
        return;
    }
    k->command = c;
    k->read = (struct store_read){ .log = { k->thread->owner, k->thread->id }, .done = on_look };
    store_read(h->setup.store, &k->read);
}

/* --- is it allowed, or done, already? --------------------------------------------------------- */

#define GRANTS_MAX 200 /* of one owner that are looked at, newest first */

struct stock_look {
    struct store_list  list;
    struct thread     *thread;
    struct arena       arena; /* what was found */
    struct str         call;
    bool               busy, ready, grants;
    struct stock_found found;
};

static void on_grants(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                      struct str next);

/* Without memory, or a store that cannot be read, nothing is known: then a person is asked. */
static void look_ended(struct stock_look *k)
{
    k->busy = false;
    k->ready = true;
    thread_pump(k->thread);
}

static void look_grants(struct stock_look *k)
{
    k->list = (struct store_list){ .kind = STORE_STOCK,
                                   .owner = k->thread->owner,
                                   .status = STR("grant"),
                                   .limit = GRANTS_MAX,
                                   .done = on_grants };
    store_list(k->thread->hub->setup.store, &k->list);
}

static void on_grants(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct stock_look  *k = LIST_ITEM(l, struct stock_look, list);
    struct store_stock *all = e || !count ? NULL : arena_array(&k->arena, count, sizeof *all);
    (void)next;
    for (size_t i = 0; all && i < count; i++) all[i] = taking_copy(&k->arena, &rows[i].stock);
    k->found.grants = all;
    k->found.grant_count = all && !k->arena.failed ? count : 0;
    look_ended(k);
}

static void on_effect(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct stock_look *k = LIST_ITEM(l, struct stock_look, list);
    (void)next;
    if (!e && count && (!rows[0].stock.until_ms || rows[0].stock.until_ms > clock_wall_ms()))
        k->found.effect = taking_copy(&k->arena, &rows[0].stock);
    if (k->grants) look_grants(k);
    else look_ended(k);
}

static void begin_look(struct stock_look *k, const struct tool *tool, const struct call *c)
{
    struct str key = STR_NONE;
    arena_reset(&k->arena);
    k->call = arena_dup(&k->arena, c->id);
    k->found = (struct stock_found){ 0 };
    k->busy = true;
    k->grants = tool->grant != NULL;
    if (tool->effect.len && effect_key(&k->arena, tool, k->thread->owner, c->args, &key) == OK) {
        k->list = (struct store_list){
            .kind = STORE_STOCK, .everybody = true, .id = key, .limit = 1, .done = on_effect
        };
        store_list(k->thread->hub->setup.store, &k->list);
    } else if (k->grants) look_grants(k);
    else {
        k->busy = false;
        k->ready = true;
    }
}

bool lookup_stock(struct thread *t, const struct call *c, struct stock_found *out)
{
    const struct tool *tool = call_tool(t, c);
    struct stock_look *k = t->look;
    *out = (struct stock_found){ 0 };
    if (!tool || (!tool->grant && !tool->effect.len)) return true;
    if (!k && !(k = t->look = mem_alloc(sizeof *k))) return true;
    k->thread = t;
    if (k->busy) return false;
    if (!k->ready || !str_eq(k->call, c->id)) {
        k->ready = false;
        begin_look(k, tool, c);
        if (k->busy) return false;
    }
    *out = k->found;
    return true;
}

bool lookup_busy(const struct thread *t)
{
    return t->look && t->look->busy;
}

void lookup_done(struct thread *t)
{
    if (t->look && !t->look->busy) t->look->ready = false;
}

void lookup_free(struct thread *t)
{
    if (t->look) arena_done(&t->look->arena);
    mem_free(t->look);
}
