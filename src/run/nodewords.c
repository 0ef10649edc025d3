/* nodewords.c -- see nodewords.h. The members of commands come from the tables of command.h. */
#include "run/nodewords.h"

/* Those that travel. */
static const struct {
    const char       *name;
    enum command_kind kind;
} kinds[] = {
    { "create", CMD_CREATE },   { "message", CMD_MESSAGE }, { "retry", CMD_RETRY },
    { "action", CMD_ACTION },   { "decide", CMD_DECIDE },   { "result", CMD_RESULT },
    { "claim", CMD_CLAIM },     { "stop", CMD_STOP },       { "settle", CMD_SETTLE },
    { "follow", CMD_FOLLOW },   { "delete", CMD_DELETE },   { "rename", CMD_RENAME },
    { "late", CMD_LATE },       { "unvote", CMD_UNVOTE },   { "revoke", CMD_REVOKE },
    { "respond", CMD_RESPOND }, { "forget", CMD_FORGET },   { "call", CMD_CALL },
    { "handed", CMD_HANDED },   { "trim", CMD_TRIM },       { "label", CMD_LABEL },
    { "named", CMD_NAMED },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* --- messages --------------------------------------------------------------------------------- */

void node_begin(struct jsonw *w, struct buf *out, const char *word, uint64_t k)
{
    jsonw_init(w, out);
    jw_obj(w);
    jw_kstrz(w, "m", word);
    jw_kint(w, "k", (int64_t)k);
}

void node_end(struct jsonw *w)
{
    jw_end_obj(w);
}

void node_word(struct buf *out, const char *word, uint64_t k)
{
    struct jsonw w;
    node_begin(&w, out, word, k);
    node_end(&w);
}

/* --- commands --------------------------------------------------------------------------------- */

static void put_bool(struct jsonw *w, const char *key, bool v)
{
    if (v) jw_kbool(w, key, v);
}
static void put_str(struct jsonw *w, const char *key, struct str s)
{
    if (s.ptr) jw_kstr(w, key, s);
}
static void put_int(struct jsonw *w, const char *key, int64_t v)
{
    if (v) jw_kint(w, key, v);
}
static void put_jv(struct jsonw *w, const char *key, const struct jv *v)
{
    if (v) jw_kraw(w, key, v->raw);
}

#define PUT_BOOL put_bool
#define PUT_STR  put_str
#define PUT_INT  put_int
#define PUT_JV   put_jv

static void write_wish(struct jsonw *w, const struct command *c)
{
    switch (c->kind) {
#define X(t, n) PUT_##t(w, #n, c->message.n);
    case CMD_MESSAGE: COMMAND_MESSAGE(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->retry.n);
    case CMD_RETRY: COMMAND_RETRY(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->action.n);
    case CMD_ACTION: COMMAND_ACTION(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->call.n);
    case CMD_CALL: COMMAND_CALL(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->decide.n);
    case CMD_DECIDE: COMMAND_DECIDE(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->result.n);
    case CMD_RESULT: COMMAND_RESULT(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->claim.n);
    case CMD_CLAIM: COMMAND_CLAIM(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->stop.n);
    case CMD_STOP: COMMAND_STOP(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->respond.n);
    case CMD_RESPOND: COMMAND_RESPOND(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->settle.n);
    case CMD_SETTLE: COMMAND_SETTLE(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->late.n);
    case CMD_LATE: COMMAND_LATE(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->trim.n);
    case CMD_TRIM: COMMAND_TRIM(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->n);
    case CMD_CREATE: COMMAND_NAMING(X) COMMAND_LABEL(X) return;
    case CMD_RENAME: COMMAND_NAMING(X) return;
    case CMD_LABEL: COMMAND_LABEL(X) return;
#undef X
    default: return;
    }
}

/* Into "of_all", beside what all have. */
static void write_beside(struct jsonw *w, const struct command *c)
{
    switch (c->kind) {
#define X(t, n) PUT_##t(w, #n, c->message.n);
    case CMD_MESSAGE: COMMAND_PAST(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->respond.n);
    case CMD_RESPOND: COMMAND_PAST(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->follow.n);
    case CMD_FOLLOW: COMMAND_LOOK(X) return;
#undef X
#define X(t, n) PUT_##t(w, #n, c->n);
    case CMD_RENAME: COMMAND_WAS(X) return;
#undef X
    default: return;
    }
}

void node_write_command(struct jsonw *w, const struct command *c)
{
    jw_obj(w);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind == c->kind) jw_kstrz(w, "kind", kinds[i].name);
    jw_kint(w, "n", (int64_t)c->number);
    put_bool(w, "repeated", c->repeated);
    jw_key(w, "of_all");
    jw_obj(w);
#define X(t, n) PUT_##t(w, #n, c->n);
    COMMAND_FIELDS(X)
#undef X
    write_beside(w, c);
    jw_end_obj(w);
    jw_key(w, "wish");
    jw_obj(w);
    write_wish(w, c);
    jw_end_obj(w);
    jw_end_obj(w);
}

static bool get_bool(struct command *c, const struct jv *v, const char *key)
{
    (void)c;
    return jv_true(jv_get(v, key));
}
static struct str get_str(struct command *c, const struct jv *v, const char *key)
{
    return arena_dup(&c->arena, jv_str_at(v, key));
}
static int64_t get_int(struct command *c, const struct jv *v, const char *key)
{
    (void)c;
    return jv_int_at(v, key, 0);
}
static const struct jv *get_jv(struct command *c, const struct jv *v, const char *key)
{
    const struct jv *x = jv_get(v, key);
    struct jv       *copy = NULL;
    if (x && json_parse(&c->arena, arena_dup(&c->arena, x->raw), &copy, NULL) != OK)
        c->arena.failed = true; /* it must not be taken for one that did not say */
    return copy;
}

#define GET_BOOL get_bool
#define GET_STR  get_str
#define GET_INT  get_int
#define GET_JV   get_jv

static void read_wish(struct command *c, const struct jv *v)
{
    switch (c->kind) {
#define X(t, n) c->message.n = GET_##t(c, v, #n);
    case CMD_MESSAGE: COMMAND_MESSAGE(X) return;
#undef X
#define X(t, n) c->retry.n = GET_##t(c, v, #n);
    case CMD_RETRY: COMMAND_RETRY(X) return;
#undef X
#define X(t, n) c->action.n = GET_##t(c, v, #n);
    case CMD_ACTION: COMMAND_ACTION(X) return;
#undef X
#define X(t, n) c->call.n = GET_##t(c, v, #n);
    case CMD_CALL: COMMAND_CALL(X) return;
#undef X
#define X(t, n) c->decide.n = GET_##t(c, v, #n);
    case CMD_DECIDE: COMMAND_DECIDE(X) return;
#undef X
#define X(t, n) c->result.n = GET_##t(c, v, #n);
    case CMD_RESULT: COMMAND_RESULT(X) return;
#undef X
#define X(t, n) c->claim.n = GET_##t(c, v, #n);
    case CMD_CLAIM: COMMAND_CLAIM(X) return;
#undef X
#define X(t, n) c->stop.n = GET_##t(c, v, #n);
    case CMD_STOP: COMMAND_STOP(X) return;
#undef X
#define X(t, n) c->respond.n = GET_##t(c, v, #n);
    case CMD_RESPOND: COMMAND_RESPOND(X) return;
#undef X
#define X(t, n) c->settle.n = GET_##t(c, v, #n);
    case CMD_SETTLE: COMMAND_SETTLE(X) return;
#undef X
#define X(t, n) c->late.n = GET_##t(c, v, #n);
    case CMD_LATE: COMMAND_LATE(X) return;
#undef X
#define X(t, n) c->trim.n = GET_##t(c, v, #n);
    case CMD_TRIM: COMMAND_TRIM(X) return;
#undef X
#define X(t, n) c->n = GET_##t(c, v, #n);
    case CMD_CREATE: COMMAND_NAMING(X) COMMAND_LABEL(X) return;
    case CMD_RENAME: COMMAND_NAMING(X) return;
    case CMD_LABEL: COMMAND_LABEL(X) return;
#undef X
    default: return;
    }
}

static void read_beside(struct command *c, const struct jv *v)
{
    switch (c->kind) {
#define X(t, n) c->message.n = GET_##t(c, v, #n);
    case CMD_MESSAGE: COMMAND_PAST(X) return;
#undef X
#define X(t, n) c->respond.n = GET_##t(c, v, #n);
    case CMD_RESPOND: COMMAND_PAST(X) return;
#undef X
#define X(t, n) c->follow.n = GET_##t(c, v, #n);
    case CMD_FOLLOW: COMMAND_LOOK(X) return;
#undef X
#define X(t, n) c->n = GET_##t(c, v, #n);
    case CMD_RENAME: COMMAND_WAS(X) return;
#undef X
    default: return;
    }
}

struct command *node_read_command(const struct jv *v)
{
    struct str      kind = jv_str_at(v, "kind");
    struct command *c = NULL;
    for (size_t i = 0; i < KINDS; i++)
        if (str_is(kind, kinds[i].name) && !(c = command_new(kinds[i].kind))) return NULL;
    if (!c) return NULL;
    c->number = (uint64_t)jv_int_at(v, "n", 0);
    c->repeated = jv_true(jv_get(v, "repeated"));
    c->forwarded = true;
    const struct jv *all = jv_get(v, "of_all");
#define X(t, n) c->n = GET_##t(c, all, #n);
    COMMAND_FIELDS(X)
#undef X
    read_beside(c, all);
    read_wish(c, jv_get(v, "wish"));
    if (!c->arena.failed) return c;
    command_free(c);
    return NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

void node_write_receipt(struct jsonw *w, const struct receipt *a)
{
    jw_kint(w, "status", a->status);
    if (a->code) jw_kstrz(w, "code", a->code);
    if (a->message) jw_kstrz(w, "message", a->message);
    put_str(w, "run", a->run);
    put_str(w, "id", a->id);
    put_int(w, "seq", (int64_t)a->seq);
    put_bool(w, "duplicate", a->duplicate);
    put_int(w, "retry_s", a->retry_s);
}

void node_read_receipt(struct arena *a, const struct jv *v, struct receipt *out)
{
    *out = (struct receipt){ .status = (int)jv_int_at(v, "status", 503),
                             .run = arena_dup(a, jv_str_at(v, "run")),
                             .id = arena_dup(a, jv_str_at(v, "id")),
                             .seq = (uint64_t)jv_int_at(v, "seq", 0),
                             .duplicate = jv_true(jv_get(v, "duplicate")),
                             .retry_s = (unsigned)jv_int_at(v, "retry_s", 0) };
    out->code = arena_dup(a, jv_str_at(v, "code")).ptr;
    out->message = arena_dup(a, jv_str_at(v, "message")).ptr;
    if (out->status >= 400 && !out->code) out->code = "store_unavailable";
    if (out->status >= 400 && !out->message) out->message = "Try again in a moment.";
}

/* --- pieces of a step ------------------------------------------------------------------------- */

static const char *const types[] = { "text", "reasoning", "call" };

static void write_begin(struct jsonw *w, const struct part *p)
{
    jw_kstrz(w, "begin", types[p->type]);
    if (p->type != STEP_CALL) return;
    jw_kstr(w, "call", p->call);
    jw_kstr(w, "tool", p->tool);
    put_bool(w, "client", p->client);
    put_bool(w, "declared", p->declared);
    put_bool(w, "shown", p->shown);
}

static void write_end(struct jsonw *w, const struct part *p)
{
    jw_kint(w, "end", p->gate);
    put_bool(w, "client", p->client);
    put_str(w, "problem", p->problem);
    put_str(w, "intent", p->intent);
    put_int(w, "at", p->at_ms);
}

void node_write_piece(struct jsonw *w, const struct piece *p)
{
    jw_obj(w);
    if (p->what == PIECE_BEGIN) write_begin(w, p->part);
    else if (p->what == PIECE_END) write_end(w, p->part);
    else jw_kstr(w, "text", p->bytes);
    jw_end_obj(w);
}

static enum err read_begin(struct open_step *s, struct str type, const struct jv *v)
{
    struct part *p;
    if (str_is(type, "text")) return step_part(s, STEP_TEXT) ? OK : ERR_NOMEM;
    if (str_is(type, "reasoning")) return step_part(s, STEP_REASONING) ? OK : ERR_NOMEM;
    if (!str_is(type, "call")) return ERR_SYNTAX;
    if (!(p = step_call(s, jv_str_at(v, "call"), STR_NONE, jv_str_at(v, "tool")))) return ERR_NOMEM;
    p->client = jv_true(jv_get(v, "client"));
    p->declared = jv_true(jv_get(v, "declared"));
    p->shown = jv_true(jv_get(v, "shown"));
    return OK;
}

static enum err read_end(struct open_step *s, struct part *p, const struct jv *v)
{
    int64_t gate = jv_int_at(v, "end", GATE_BAD);
    if (gate < 0 || gate >= GATE_COUNT) return ERR_SYNTAX;
    p->gate = (enum gate)gate;
    p->client = jv_true(jv_get(v, "client"));
    p->problem = arena_dup(&s->arena, jv_str_at(v, "problem"));
    p->intent = arena_dup(&s->arena, jv_str_at(v, "intent"));
    p->at_ms = jv_int_at(v, "at", 0);
    p->complete = true;
    return s->arena.failed ? ERR_NOMEM : OK;
}

enum err node_read_piece(struct open_step *s, const struct jv *v)
{
    const struct jv *begin = jv_get(v, "begin");
    struct part     *last = step_last(s);
    if (begin) return read_begin(s, jv_str(begin), v);
    if (!last || last->complete) return ERR_SYNTAX;
    if (jv_get(v, "end")) return read_end(s, last, v);
    return step_text(s, last->type, jv_str_at(v, "text"));
}
