/* openai_turn.c -- see openai.h. */
#include "door/openai.h"

#include <openssl/evp.h>

#include "base/clock.h"
#include "base/id.h"
#include "dialect/dialect.h"

#define RETRY_MS (15 * 60 * 1000) /* an SDK that repeats does so within seconds */

/* --- the turn --------------------------------------------------------------------------------- */

/* --- sent twice at the same moment ------------------------------------------------------------ */

bool turn_is_second(struct openai_turn *t)
{
    struct openai_turn **turns = &t->ask.app->turns, *x = *turns;
    while (x && !(x != t && str_eq(x->owner, t->owner) && str_eq(x->key, t->key))) x = x->next;
    if (x && t->key.len) {
        t->next = x->twins;
        x->twins = t;
        return true;
    }
    if (!t->listed_turn) {
        t->next = *turns;
        *turns = t;
    }
    t->listed_turn = true;
    return false;
}

static void unlist(struct openai_turn *t)
{
    struct openai_turn **at = &t->ask.app->turns;
    while (*at && *at != t) at = &(*at)->next;
    if (*at) *at = t->next;
    t->listed_turn = false;
}

/* Nothing came of the first one: these are on their own. */
static void send_on(struct openai_turn *twin)
{
    while (twin) {
        struct openai_turn *t = twin;
        twin = t->next;
        t->next = NULL;
        t->rule = 0;
        turn_find(t);
    }
}

void turn_anew(struct openai_turn *t)
{
    t->thread = t->response = t->effects = t->seen = STR_NONE;
    t->rule = 0;
    t->forks = false;
    t->past_count = t->past_next = 0;
    turn_find(t);
}

void turn_free(struct openai_turn *t)
{
    struct openai_turn *twins = t->twins;
    if (t->listed_turn) unlist(t);
    send_on(twins);
    command_free(t->begins);
    command_free(t->holder);
    mem_free(t);
}

void turn_refuse(struct openai_turn *t, int status, const char *code, const char *message,
                 struct str param)
{
    if (t->ask.conn) {
        if (t->first.retry_s) retry_after(t->ask.conn, t->first.retry_s);
        openai_error(t->ask.conn, status, str_c(code), str_c(message), param);
    }
    turn_free(t);
}

void turn_no_memory(struct openai_turn *t)
{
    turn_refuse(t, 503, "out_of_memory", "The server is out of memory; try again in a moment.",
                STR_NONE);
}

struct command *turn_command(struct openai_turn *t, enum command_kind kind,
                             void (*done)(struct command *, const struct receipt *))
{
    struct command *c = command_new(kind);
    if (!c) return NULL;
    c->log.owner = c->by = arena_dup(&c->arena, t->owner);
    c->log.thread = arena_dup(&c->arena, t->thread);
    c->roles = arena_dup(&c->arena, t->roles);
    c->claims = arena_dup(&c->arena, t->claims);
    c->via = STR("responses");
    c->may_decide = t->may_decide;
    c->ctx = t;
    c->done = done;
    if (c->log.owner.ptr) return c;
    command_free(c);
    return NULL;
}

static void on_list(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct openai_turn *t = LIST_ITEM(l, struct openai_turn, list);
    (void)next;
    if (e)
        turn_refuse(t, 503, "store_unavailable",
                    "The store cannot be read at the moment. Try again in a moment.", STR_NONE);
    else t->listed(t, rows, count);
}

void turn_lookup(struct openai_turn *t, const char *kind, struct str name, unsigned limit,
                 void (*listed)(struct openai_turn *, const struct store_row *, size_t))
{
    struct str key = arena_printf(turn_arena(t), "%s" STR_FMT, kind, STR_ARG(name));
    if (!key.ptr) {
        turn_no_memory(t);
        return;
    }
    t->listed = listed;
    t->list = (struct store_list){
        .kind = STORE_KEYS, .owner = t->owner, .id = key, .limit = limit, .done = on_list
    };
    hub_list(t->ask.app->hub, &t->list);
}

/* --- an SDK's retry --------------------------------------------------------------------------- */

static void on_attached(struct command *c, const struct receipt *a)
{
    struct openai_turn *t = c->ctx;
    const struct fold  *f = a->thread ? thread_fold(a->thread) : NULL;
    const struct fact  *r = f ? response_find(f, t->response) : NULL;
    bool                left = r && response_left(f, r);
    if (r && !left) turn_tell(t, a->thread, r);
    else if (left && str_eq(f->run->id, r->run)) turn_again(t, a->thread, r);
    else { /* it is not there, or others have gone on from what there was of it */
        t->thread = t->response = STR_NONE;
        turn_find(t);
    }
    command_free(c); /* the receipt is a part of it */
}

static void on_known(struct openai_turn *t, const struct store_row *rows, size_t count)
{
    struct command *c;
    if (!count || clock_wall_ms() - rows[0].created_ms > RETRY_MS) {
        turn_find(t);
        return;
    }
    t->thread = arena_dup(turn_arena(t), rows[0].thread);
    t->response = arena_dup(turn_arena(t), rows[0].value);
    if ((c = turn_command(t, CMD_FOLLOW, on_attached))) hub_submit(t->ask.app->hub, c);
    else turn_no_memory(t);
}

/* --- the request ------------------------------------------------------------------------------ */

/* "parley", "parley/PAGE", or one of the names that were given to these. */
static bool find_page(struct openai_turn *t, const struct request *q)
{
    const struct app *a = t->ask.app;
    struct str        m = t->q.model, prefix = STR("parley/");
    t->page = STR_NONE;
    if (!m.len || str_is(m, "parley")) return true;
    for (size_t i = 0; i < a->openai.alias_count; i++)
        if (str_eq(a->openai.aliases[i].name, m)) {
            t->page = a->openai.aliases[i].page;
            return page_for(q, t->page);
        }
    if (!str_starts(m, prefix)) return false;
    t->page = str_from(m, prefix.len);
    return t->page.len && page_for(q, t->page);
}

/* Of everything that makes two requests the same one. */
static struct str digest(struct arena *a, const struct request *q, struct str chat)
{
    unsigned char hash[32];
    char          hex[41];
    EVP_MD_CTX   *x = EVP_MD_CTX_new();
    bool          ok = x && EVP_DigestInit_ex(x, EVP_sha256(), NULL) == 1 &&
              EVP_DigestUpdate(x, q->path.ptr, q->path.len) == 1 &&
              EVP_DigestUpdate(x, "\n", 1) == 1 &&
              EVP_DigestUpdate(x, chat.ptr ? chat.ptr : "", chat.len) == 1 &&
              EVP_DigestUpdate(x, "\n", 1) == 1 &&
              EVP_DigestUpdate(x, q->body.ptr ? q->body.ptr : "", q->body.len) == 1 &&
              EVP_DigestFinal_ex(x, hash, NULL) == 1;
    EVP_MD_CTX_free(x);
    for (int i = 0; ok && i < 20; i++) snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    return ok ? arena_printf(a, "b:%s", hex) : STR_NONE;
}

/* Where a person finds a question: the page's own address, then its id. */
static struct str link_of(const struct app *a, struct arena *mem, const struct request *q)
{
    struct str host = request_header(q, "host");
    if (a->public_url.len) return arena_printf(mem, STR_FMT "/a/", STR_ARG(a->public_url));
    return arena_printf(mem, "%s://" STR_FMT "/a/", identify_https(a, q) ? "https" : "http",
                        STR_ARG(host));
}

static void read_headers(struct openai_turn *t, const struct request *q)
{
    uint64_t   tries = 0;
    struct str key = request_header(q, "idempotency-key");
    t->retry = (str_to_u64(request_header(q, "x-stainless-retry-count"), &tries) && tries > 0) ||
               key.len > 0;
    t->link = link_of(t->ask.app, turn_arena(t), q);
    for (size_t i = 0; i < t->ask.app->openai.chat_headers.count && !t->chat.len; i++) {
        const char *name = arena_dup(turn_arena(t), t->ask.app->openai.chat_headers.list[i]).ptr;
        if (name) t->chat = arena_dup(turn_arena(t), str_cut(request_header(q, name), 256));
    }
    t->key = key.len ? arena_printf(turn_arena(t), "i:" STR_FMT, STR_ARG(str_cut(key, 256)))
                     : digest(turn_arena(t), q, t->chat);
}

static struct openai_turn *turn_new(struct server *s, struct request *q)
{
    struct openai_turn *t = mem_alloc(sizeof *t);
    if (!t) return NULL;
    ask_init(&t->ask, s, q);
    t->ask.door = q->door;
    if (!(t->holder = command_new(CMD_FOLLOW))) {
        mem_free(t);
        return NULL;
    }
    t->owner = arena_dup(turn_arena(t), owner_of(q));
    t->roles = arena_dup(turn_arena(t), q->principal->words);
    t->claims = arena_dup(turn_arena(t), q->principal->claims);
    t->shared = q->principal->shared;
    t->may_decide = may_decide(t->ask.app, q->principal) && !t->shared;
    read_headers(t, q);
    return t;
}

static bool decode(struct openai_turn *t, const struct request *q, bool chat,
                   struct oai_refusal *why)
{
    struct json_error e;
    struct jv        *body;
    struct str        text = arena_dup(turn_arena(t), q->body);
    enum err          err = text.ptr ? json_parse(turn_arena(t), text, &body, &e) : ERR_NOMEM;
    if (err == ERR_SYNTAX)
        *why = (struct oai_refusal){ 400, "bad_json",
                                     json_complaint(turn_arena(t), "The body", &e).ptr, STR_NONE };
    if (err == ERR_NOMEM)
        *why =
            (struct oai_refusal){ 503, "out_of_memory", "The server is out of memory.", STR_NONE };
    if (err || !oai_decode(turn_arena(t), body, chat, &t->q, why)) return false;
    *why = (struct oai_refusal){ 404, "model_not_found", "There is no such model here.",
                                 STR("model") };
    if (!find_page(t, q)) return false;
    *why = (struct oai_refusal){ 400, "unsupported_parameter",
                                 "Functions of clients are not taken here.", STR("tools") };
    return t->ask.app->openai.functions || !t->q.function_count;
}

void door_openai(struct server *s, struct request *q)
{
    struct oai_refusal  why;
    struct openai_turn *t = turn_new(s, q);
    if (!t) {
        openai_no_memory(q->conn);
        return;
    }
    if (!decode(t, q, q->door->chat, &why)) {
        turn_refuse(t, why.status, why.code, why.message, why.param);
        return;
    }
    conn_hold(q->conn, &t->ask.hold);
    if (t->retry) turn_lookup(t, "", t->key, 1, on_known);
    else turn_find(t);
}
