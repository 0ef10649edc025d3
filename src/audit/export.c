/* export.c -- see export.h. */
#include "audit/export.h"

#include "base/json.h"
#include "base/jsonw.h"
#include "run/record.h"

struct work {
    struct store_walk w;
    struct export    *x;
    struct fold       fold;          /* of the log that is told, for its calls */
    bool              own;           /* the person's who asks, or nobody in particular does */
    bool              open, folding; /* there is one; all so far was understood */
    char              name[CHAIN_NAME + 1];
    struct buf        out;
    uint64_t          done;
};
#define WORK(walk) LIST_ITEM(walk, struct work, w)

static struct jsonw begin(struct work *k, const char *type)
{
    struct jsonw w;

    buf_clear(&k->out);
    jsonw_init(&w, &k->out);
    jw_obj(&w);
    jw_kstrz(&w, "type", type);
    return w;
}

static bool end(struct work *k, struct jsonw *w)
{
    jw_end_obj(w);
    return !k->out.err && k->x->line(k->x->ctx, buf_view(&k->out));
}

static void put_hash(struct jsonw *w, struct str s)
{
    char hex[SHA256_HEX + 1];

    sha256_hex((const uint8_t *)s.ptr, s.len < SHA256_LEN ? s.len : SHA256_LEN, hex);
    jw_strz(w, s.ptr ? hex : NULL);
}

static void put_log(struct jsonw *w, const char *name, struct log_name log)
{
    jw_kstrz(w, "log", name);
    jw_kstr(w, "owner", log.owner);
    jw_kstr(w, "thread", log.thread);
}

static bool is_own(const struct work *k, struct str owner)
{
    return !k->x->person.ptr || str_eq(owner, k->x->person);
}

static bool on_checkpoint(struct store_walk *walk, uint64_t number, int64_t at_ms, struct str line)
{
    struct work *k = WORK(walk);
    struct jsonw w;

    (void)at_ms; /* stands in the line, signed */
    if (k->x->person.ptr) return true;
    w = begin(k, "checkpoint");
    jw_kint(&w, "number", (int64_t)number);
    jw_kstr(&w, "line", line);
    return end(k, &w);
}

static bool on_log(struct store_walk *walk, const struct walk_log *l)
{
    struct work *k = WORK(walk);
    struct jsonw w;

    fold_init(&k->fold);
    k->open = k->folding = true;
    chain_name(l->log, l->created_ms, k->name);
    if (!(k->own = is_own(k, l->log.owner))) return true;
    w = begin(k, "log");
    put_log(&w, k->name, l->log);
    jw_kint(&w, "created_ms", l->created_ms);
    jw_kint(&w, "seq", (int64_t)l->seq);
    jw_key(&w, "head");
    put_hash(&w, l->head);
    return end(k, &w);
}

/* What is damaged is told as it is, and not understood. */
static void fold_fact(struct work *k, const struct store_fact *f)
{
    struct stored_fact in = { f->seq, f->at_ms, f->kind, f->body };

    k->folding = k->folding && f->seq == k->fold.count + 1 && fold_apply(&k->fold, &in) == OK;
}

static bool on_fact(struct store_walk *walk, const struct walk_log *l, const struct store_fact *f,
                    struct chain_mark m)
{
    struct work *k = WORK(walk);
    struct jsonw w;

    (void)l;
    fold_fact(k, f);
    if (!k->own) return true;
    w = begin(k, "fact");
    jw_kstrz(&w, "log", k->name);
    jw_kint(&w, "seq", (int64_t)f->seq);
    jw_kint(&w, "at_ms", f->at_ms);
    jw_kstr(&w, "kind", f->kind);
    jw_kstr(&w, "body", f->body);
    jw_key(&w, "link");
    put_hash(&w, m.link);
    if (m.digest.ptr) {
        jw_key(&w, "digest");
        put_hash(&w, m.digest);
    }
    return end(k, &w);
}

static bool tell_decision(struct work *k, const struct call *c)
{
    struct jsonw w;

    if (!record_is_by(&k->fold, c, k->x->person)) return true;
    w = begin(k, "decision");
    jw_kstrz(&w, "log", k->name);
    record_call(&w, &k->fold, c, false, k->x->person);
    return end(k, &w);
}

static bool tell_calls(struct work *k, const struct walk_log *l)
{
    for (size_t i = 0; i < k->fold.call_count; i++) {
        const struct call *c = k->fold.calls[i];
        struct jsonw       w;
        if (!record_has(c)) continue;
        if (!k->own) {
            if (!tell_decision(k, c)) return false;
            continue;
        }
        w = begin(k, "call");
        put_log(&w, k->name, l->log);
        jw_kstr(&w, "run", c->run->id);
        record_call(&w, &k->fold, c, true, STR_NONE);
        if (!end(k, &w)) return false;
    }
    return true;
}

static void passed(struct work *k)
{
    k->done++;
    if (k->x->far) k->x->far(k->x->ctx, k->done, k->w.logs + k->w.stubs);
}

static bool on_log_end(struct store_walk *walk, const struct walk_log *l)
{
    struct work *k = WORK(walk);
    bool         good = tell_calls(k, l);

    fold_done(&k->fold);
    k->open = false;
    k->x->logs += k->own;
    passed(k);
    return good;
}

/* What the person decided in a conversation that was another's, and is gone. */
static bool tell_stub_decisions(struct work *k, const struct walk_stub *s)
{
    struct arena a;
    struct jv   *body = NULL;
    struct str   by;
    bool         good = true;

    arena_init(&a, 0);
    by = record_member(&a, "by", k->x->person);
    if (json_parse(&a, s->body, &body, NULL)) body = NULL;
    JV_EACH (c, jv_get(body, "calls")) {
        struct jsonw w;
        if (!good || !by.ptr || str_find(c->raw, by) < 0) continue;
        w = begin(k, "decision");
        jw_kstr(&w, "log", s->name);
        record_theirs(&w, c, k->x->person);
        good = end(k, &w);
    }
    arena_done(&a);
    return good;
}

static bool on_stub(struct store_walk *walk, const struct walk_stub *s)
{
    struct work *k = WORK(walk);
    struct jsonw w;
    char         name[CHAIN_NAME + 1];

    if (!is_own(k, s->log.owner)) {
        passed(k);
        return tell_stub_decisions(k, s);
    }
    w = begin(k, "stub");
    snprintf(name, sizeof name, STR_FMT, STR_ARG(s->name));
    put_log(&w, name, s->log);
    jw_kint(&w, "created_ms", s->created_ms);
    jw_kint(&w, "removed_ms", s->removed_ms);
    jw_kint(&w, "seq", (int64_t)s->seq);
    jw_kstr(&w, "kind", s->kind);
    jw_kstr(&w, "body", s->body);
    jw_key(&w, "digests");
    jw_arr(&w);
    for (size_t i = 0; i + CHAIN_LEN <= s->digests.len; i += CHAIN_LEN)
        put_hash(&w, str_n(s->digests.ptr + i, CHAIN_LEN));
    jw_end_arr(&w);
    jw_key(&w, "head");
    put_hash(&w, s->head);
    k->x->stubs++;
    passed(k);
    return end(k, &w);
}

enum err export_store(struct export *x, struct str url, struct arena *a, struct str *why)
{
    struct work  k = { .w = { .thread = x->thread,
                              .checkpoint = on_checkpoint,
                              .log = on_log,
                              .fact = on_fact,
                              .log_end = on_log_end,
                              .stub = on_stub },
                       .x = x };
    struct jsonw w;
    enum err     e;

    buf_init(&k.out, 0);
    e = store_walk(url, &k.w, a, why);
    if (k.open) fold_done(&k.fold);
    if (!e) {
        w = begin(&k, "end");
        jw_kint(&w, "logs", (int64_t)x->logs);
        jw_kint(&w, "stubs", (int64_t)x->stubs);
        if (!end(&k, &w)) e = ERR_CLOSED;
    }
    if (k.out.err) e = ERR_NOMEM;
    buf_done(&k.out);
    return e;
}
