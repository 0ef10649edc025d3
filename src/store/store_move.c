/* store_move.c -- everything of one store into another: the tables, the copying, the comparison.
 * See store_move.h.
 *
 *     from: nobody works with it          to: nobody works with it, empty or marked as ours
 *     mark the target                     from here on nobody can
 *     copy each list behind its last row  cut off anywhere, the next call goes on
 *     read both again and compare         counts, every value, every checksum
 *     take the mark away                  the target may be used
 */
#include "store/store_move.h"

#include <stdio.h>

#include "base/address.h"
#include "base/utf8.h"
#include "store/links.h"
#include "store/rows.h"
#include "store/sum.h"

const struct move_table move_tables[MOVE_LISTS] = {
    { "conversations", "ibbbwiiifbnr", 1, 12, "thread",
      "id, owner, name, title, state, seq, created_ms, updated_ms, hidden, source, grp, links",
      "id, owner, name, title, state, seq, created_ms, updated_ms, CAST(hidden AS int), source, "
      "grp, links",
      "%sthread x", "id", "", "count(*) FROM %sthread" },
    { "facts", "iiiwbirrbbi", 2, 8, "fact", "thread, seq, at_ms, kind, body, sum, link, digest",
      "x.thread, x.seq, x.at_ms, x.kind, x.body, x.sum, x.link, x.digest, t.owner, t.name, t.seq",
      "%sfact x JOIN %sthread t ON t.id = x.thread", "x.thread, x.seq", "",
      "CAST(coalesce(sum(seq), 0) AS bigint) FROM %sthread" },
    { "request ids", "bbin", 2, 4, "request", "owner, id, thread, run",
      "x.owner, x.id, x.thread, x.run", "%srequest x JOIN %sthread t ON t.id = x.thread",
      "x.owner, x.id", "", "count(*) FROM %srequest x JOIN %sthread t ON t.id = x.thread" },
    { "approvals", "ibbibbwbiiib", 1, 11, "approval",
      "num, owner, id, thread, call, tool, status, body, requested_ms, expires_ms, sum",
      "x.num, x.owner, x.id, x.thread, x.call, x.tool, x.status, x.body, x.requested_ms, "
      "x.expires_ms, x.sum, t.name",
      "%sapproval x JOIN %sthread t ON t.id = x.thread", "x.num", "",
      "count(*) FROM %sapproval x JOIN %sthread t ON t.id = x.thread" },
    { "tool counters", "bii", 1, 3, "tool", "name, runs, failed",
      "name, CAST(sum(runs) AS bigint), CAST(sum(failed) AS bigint)", "%stool x", "name",
      " GROUP BY name", "count(DISTINCT name) FROM %stool" },
    { "days of use", "bii", 2, 3, "used", "owner, day, amount",
      "owner, day, CAST(sum(amount) AS bigint)", "%sused x", "owner, day", " GROUP BY owner, day",
      "count(*) FROM (SELECT DISTINCT owner, day FROM %sused) d" },
    { "keys", "bbibi", 3, 5, "key", "owner, key, thread, value, at_ms",
      "x.owner, x.key, x.thread, x.value, x.at_ms", "%skey x JOIN %sthread t ON t.id = x.thread",
      "x.owner, x.key, x.thread", "", "count(*) FROM %skey x JOIN %sthread t ON t.id = x.thread" },
    /* which log a row goes with is a column in a file, and a table in a database */
    { "stock", "biwbbwbiiiiz", 1, 12, "stock",
      "key, num, kind, owner, holder, state, body, uses, amount, made_ms, until_ms, thread",
      "x.key, x.num, x.kind, x.owner, x.holder, x.state, x.body, x.uses, x.amount, x.made_ms, "
      "x.until_ms, x.thread",
      "%sstock x", "x.key", "", "count(*) FROM %sstock",
      .pg = { 11, "key, num, kind, owner, holder, state, body, uses, amount, made_ms, until_ms",
              "x.key, x.num, x.kind, x.owner, x.holder, x.state, x.body, x.uses, x.amount, "
              "x.made_ms, x.until_ms, l.thread",
              "%sstock x LEFT JOIN %sstock_log l ON l.key = x.key",
              "INSERT INTO parley_stock_log(key, thread) SELECT c0, c11 FROM x WHERE c11 <> 0" } },
    { "browser sessions", "bbi", 1, 3, "session", "key, body, ends_ms", "key, body, ends_ms",
      "%ssession x", "key", "", "count(*) FROM %ssession" },
    { "removed ones", "iwbbiiiwrrbf", 1, 12, "stub",
      "num, log, owner, name, created_ms, removed_ms, seq, kind, digests, head, body, noted",
      "num, log, owner, name, created_ms, removed_ms, seq, kind, digests, head, body, "
      "CAST(noted AS int)",
      "%sstub x", "num", "", "count(*) FROM %sstub" },
    { "checkpoints", "iibf", 1, 4, "checkpoint", "number, at_ms, line, told",
      "number, at_ms, line, CAST(told AS int)", "%scheckpoint x", "number", "",
      "count(*) FROM %scheckpoint" },
};

/* --- statements ------------------------------------------------------------------------ */

static bool is_database(const char *prefix)
{
    return *prefix != 0;
}

static const char *from_of(const struct move_table *t, const char *prefix)
{
    return is_database(prefix) && t->pg.from ? t->pg.from : t->from;
}

/* `text` with each %s in it replaced by `prefix`: there are one or two. */
static struct str prefixed(const char *text, const char *prefix, struct arena *a)
{
    struct str rest = str_c(text), out = STR("");

    for (ptrdiff_t at; (at = str_find(rest, STR("%s"))) >= 0; rest = str_from(rest, (size_t)at + 2))
        out = arena_printf(a, STR_FMT STR_FMT "%s", STR_ARG(out),
                           STR_ARG(str_cut(rest, (size_t)at)), prefix);
    return arena_printf(a, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(rest));
}

static const char *select_of(const struct move_table *t, const char *prefix)
{
    return is_database(prefix) && t->pg.select ? t->pg.select : t->select;
}

struct str move_select(const struct move_table *t, const char *prefix, bool after, struct arena *a)
{
    static const char *const values[] = { "$1", "$1, $2", "$1, $2, $3" };
    struct str               from = prefixed(from_of(t, prefix), prefix, a), where = STR("");

    if (after) where = arena_printf(a, " WHERE (%s) > (%s)", t->key_columns, values[t->key - 1]);
    return arena_printf(a, "SELECT %s FROM " STR_FMT STR_FMT "%s ORDER BY %s LIMIT %d",
                        select_of(t, prefix), STR_ARG(from), STR_ARG(where), t->group,
                        t->key_columns, MOVE_ROWS);
}

struct str move_select_last(const struct move_table *t, const char *prefix, struct arena *a)
{
    struct str from = prefixed(from_of(t, prefix), prefix, a), rest = str_c(t->key_columns), column;
    struct str order = STR("");

    while (str_split(&rest, ',', &column))
        order = arena_printf(a, STR_FMT "%s" STR_FMT " DESC", STR_ARG(order), order.len ? "," : "",
                             STR_ARG(column));
    return arena_printf(a, "SELECT %s FROM " STR_FMT "%s ORDER BY " STR_FMT " LIMIT 1",
                        select_of(t, prefix), STR_ARG(from), t->group, STR_ARG(order));
}

struct str move_select_count(const struct move_table *t, const char *prefix, struct arena *a)
{
    struct str what = prefixed(t->count, prefix, a);
    return arena_printf(a, "SELECT " STR_FMT, STR_ARG(what));
}

void move_keep(struct move_batch *b, const struct move_table *t, unsigned column,
               struct move_value v)
{
    bool word = t->types[column] == 'w';

    if (word && (!v.s.ptr || !utf8_valid(v.s) || memchr(v.s.ptr, 0, v.s.len))) v.s = STR("damaged");
    if (v.s.ptr) v.s = arena_dup(&b->arena, v.s);
    else if (t->types[column] == 'b') v.s = STR("");
    b->rows[b->count].v[column] = v;
}

enum err move_fail(struct move_side *s, struct str sentence, enum err e)
{
    s->why = sentence.ptr ? sentence : STR("there is not enough memory");
    return e;
}

/* --- the whole --------------------------------------------------------------------------- */

struct digest {
    uint64_t rows[MOVE_LISTS], a, b, damaged;
};

struct move {
    const struct store_move *asked;
    struct arena            *arena;
    struct move_side        *from, *to;
    struct move_batch       *batch[2]; /* the one at work, and the one before: its last key */
    uint64_t                 all, done;
    uint64_t                 counts[MOVE_LISTS];
    struct store_moved      *out;
    struct str              *why;
};

static enum err refuse(struct move *m, struct str sentence, enum err e)
{
    *m->why = sentence.ptr ? sentence : STR("there is not enough memory");
    return e;
}

/* What a side could not do. */
static enum err passed_on(struct move *m, struct move_side *s, enum err e)
{
    if (e) (void)refuse(m, s->why, e);
    return e;
}

static void tell(struct move *m, const char *what, size_t rows)
{
    m->done += rows;
    if (m->asked->far) m->asked->far(m->asked->ctx, what, m->done, m->all);
}

static struct move_batch *turn(struct move *m)
{
    struct move_batch *b = m->batch[1];

    m->batch[1] = m->batch[0];
    m->batch[0] = b;
    arena_reset(&b->arena);
    b->count = 0;
    return b;
}

/* --- is it what was stored? ----------------------------------------------------------------- */

/* By itself, and as what comes behind the row before it. */
static bool fact_is_sound(const struct move_row *before, const struct move_row *r)
{
    const struct move_value *v = r->v;
    struct log_name          log = { v[MOVE_FACT_OWNER].s, v[MOVE_FACT_NAME].s };
    struct store_fact        f = { (uint64_t)v[1].n, v[2].n, v[3].s, v[4].s };
    struct chain_check       chain = { 0 };
    struct chain_mark m = { v[MOVE_FACT_LINK].s, true, v[MOVE_FACT_SUM].n, v[MOVE_FACT_WAS].s };

    if (before && before->v[0].n == v[0].n &&
        !chain_from(&chain, (struct chain_mark){ .link = before->v[MOVE_FACT_LINK].s }))
        return false;
    return chain_follows(&chain, log, &f, m);
}

static bool approval_is_sound(const struct move_row *r)
{
    const struct move_value *v = r->v;
    struct store_approval    p = { .id = v[2].s,
                                   .call = v[4].s,
                                   .tool = v[5].s,
                                   .status = v[6].s,
                                   .body = v[7].s,
                                   .requested_ms = v[8].n,
                                   .expires_ms = v[9].n };

    return v[MOVE_APPROVAL_SUM].n ==
           approval_sum((struct log_name){ v[1].s, v[MOVE_APPROVAL_NAME].s }, &p);
}

/* A log's facts are 1, 2 ... without holes, up to what the log says. `next`: NULL at the end. */
static bool in_order(const struct move_row *before, const struct move_row *r,
                     const struct move_row *next)
{
    bool same = before && before->v[0].n == r->v[0].n;

    if (r->v[1].n != (same ? before->v[1].n + 1 : 1)) return false;
    return (next && next->v[0].n == r->v[0].n) || r->v[1].n == r->v[MOVE_FACT_LAST].n;
}

/* How many of a batch are not. The last row's follower is not known yet: what is missing behind it
 * is found with the next one, or by the count. `first`: of them, in a batch. */
static uint64_t unsound(int list, const struct move_batch *b, const struct move_row *before,
                        const struct move_row **first)
{
    uint64_t n = 0;

    for (size_t i = 0; i < b->count; i++) {
        const struct move_row *r = &b->rows[i];
        bool                   good = true;
        if (list == MOVE_FACTS)
            good = fact_is_sound(i ? r - 1 : before, r) &&
                   in_order(i ? r - 1 : before, r, i + 1 < b->count ? r + 1 : r);
        else if (list == MOVE_APPROVALS) good = approval_is_sound(r);
        if (!good && !n++) *first = r;
    }
    return n;
}

static enum err refuse_damaged(struct move *m, int list, const struct move_row *r)
{
    struct str name = r->v[list == MOVE_FACTS ? MOVE_FACT_NAME : MOVE_APPROVAL_NAME].s;

    return refuse(
        m,
        arena_printf(
            m->arena,
            "in " STR_FMT " the conversation " STR_FMT
            " is not what was saved. What was copied so far stays and is used by nobody; "
            "with --anyway the move goes on and brings such conversations as they are, and "
            "they are answered as damaged",
            STR_ARG(m->from->shown), STR_ARG(name)),
        ERR_DAMAGED);
}

/* --- copying ---------------------------------------------------------------------------------- */

/* The target's last row, as the place to go on from: all of it, because the next one may be of the
 * same log and is checked as what comes behind it. */
static enum err find_place(struct move *m, const struct move_table *t, const struct move_row **at)
{
    struct move_batch *b = turn(m);
    enum err           e = passed_on(m, m->to, m->to->ops->last(m->to, t, b));

    *at = b->count ? &b->rows[0] : NULL;
    return e;
}

static enum err copy_list(struct move *m, int list)
{
    const struct move_table *t = &move_tables[list];
    const struct move_row   *at, *bad = NULL;
    uint64_t                 there = 0;
    enum err                 e = find_place(m, t, &at);

    if (!e && at) e = passed_on(m, m->to, m->to->ops->count(m->to, t, &there));
    /* rows of the last run are there already; facts are counted by what their logs say */
    if (list != MOVE_FACTS) tell(m, "copied", there);
    while (!e) {
        struct move_batch *b = turn(m);
        e = passed_on(m, m->from, m->from->ops->read(m->from, t, at, b));
        if (e || !b->count) break;
        if (!m->asked->anyway && unsound(list, b, at, &bad)) return refuse_damaged(m, list, bad);
        e = passed_on(m, m->to, m->to->ops->write(m->to, t, b));
        at = &b->rows[b->count - 1];
        tell(m, "copied", b->count);
    }
    return e;
}

/* --- comparing -------------------------------------------------------------------------------- */

/* So that sums of sums say something: no two bits of a row's checksum stay together. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void add_row(struct digest *d, int list, const struct move_row *r)
{
    const struct move_table *t = &move_tables[list];
    struct sum               s = SUM_BEGIN;

    sum_int(&s, list);
    for (unsigned i = 0; i < t->own; i++) {
        /* an older file has none; whether it fits is counted */
        bool is_sum = (list == MOVE_FACTS && i == MOVE_FACT_SUM) ||
                      (list == MOVE_APPROVALS && i == MOVE_APPROVAL_SUM);
        if (move_is_number(t, i)) sum_int(&s, is_sum ? 0 : r->v[i].n);
        else sum_int(&s, r->v[i].s.ptr != NULL), sum_text(&s, r->v[i].s);
    }
    d->a += mixed(sum_end(&s));
    d->b += mixed(sum_end(&s) ^ UINT64_C(0x9e3779b97f4a7c15));
    d->rows[list]++;
}

static enum err digest_list(struct move *m, struct move_side *s, int list, struct digest *d)
{
    const struct move_table *t = &move_tables[list];
    const struct move_row   *at = NULL, *bad;

    for (;;) {
        struct move_batch *b = turn(m);
        enum err           e = passed_on(m, s, s->ops->read(s, t, at, b));
        if (e || !b->count) return e;
        for (size_t i = 0; i < b->count; i++) add_row(d, list, &b->rows[i]);
        d->damaged += unsound(list, b, at, &bad);
        at = &b->rows[b->count - 1];
        tell(m, "compared", b->count);
    }
}

static enum err digest(struct move *m, struct move_side *s, struct digest *d)
{
    enum err e = OK;

    *d = (struct digest){ 0 };
    for (int i = 0; i < MOVE_LISTS && !e; i++) e = digest_list(m, s, i, d);
    return e;
}

static enum err refuse_different(struct move *m, const struct digest *from, const struct digest *to)
{
    int i = 0;

    while (i < MOVE_LISTS - 1 && from->rows[i] == to->rows[i]) i++;
    return refuse(m,
                  arena_printf(m->arena,
                               STR_FMT
                               " and " STR_FMT
                               " are not the same (%s: %llu and %llu). The target is used by "
                               "nobody; begin again with --anew",
                               STR_ARG(m->from->shown), STR_ARG(m->to->shown), move_tables[i].name,
                               (unsigned long long)from->rows[i], (unsigned long long)to->rows[i]),
                  ERR_CONFLICT);
}

static enum err compare(struct move *m)
{
    struct digest from, to;
    enum err      e;

    m->done = 0;
    m->all *= 2;
    e = digest(m, m->from, &from);
    if (!e) e = digest(m, m->to, &to);
    if (e) return e;
    if (memcmp(&from, &to, sizeof from) != 0) return refuse_different(m, &from, &to);
    for (int i = 0; i < MOVE_LISTS; i++) {
        m->out->lists[i].name = move_tables[i].name;
        m->out->lists[i].rows = from.rows[i];
    }
    /* what is missing at a log's end */
    m->out->damaged = from.damaged + (m->counts[MOVE_FACTS] != from.rows[MOVE_FACTS]);
    snprintf(m->out->digest, sizeof m->out->digest, "%016llx%016llx", (unsigned long long)from.a,
             (unsigned long long)from.b);
    if (m->out->damaged && !m->asked->anyway)
        return refuse(m,
                      STR("some facts are missing from the source; with --anyway it is moved as "
                          "it is, and those conversations are answered as damaged"),
                      ERR_DAMAGED);
    return OK;
}

/* --- beginning, going on, ending -------------------------------------------------------------- */

/* What the source looks like, to see whether somebody worked with it since. */
static enum err look(struct move *m, struct str *state)
{
    enum err e = OK;

    *state = STR("");
    m->all = 0;
    for (int i = 0; i < MOVE_LISTS && !e; i++) {
        e = passed_on(m, m->from, m->from->ops->count(m->from, &move_tables[i], &m->counts[i]));
        m->all += m->counts[i];
        *state = arena_printf(m->arena, STR_FMT "%llu ", STR_ARG(*state),
                              (unsigned long long)m->counts[i]);
    }
    return e ? e : m->arena->failed ? refuse(m, STR_NONE, ERR_NOMEM) : OK;
}

static enum err begin(struct move *m)
{
    struct str state, source = STR_NONE, then = STR_NONE;
    enum err   e = look(m, &state);

    if (e) return e;
    e = m->to->ops->marked(m->to, m->arena, &source, &then);
    if (!e && m->asked->anew && !(e = m->to->ops->empty(m->to))) e = ERR_NOT_FOUND;
    if (e == ERR_NOT_FOUND)
        return passed_on(m, m->to, m->to->ops->mark(m->to, m->from->shown, state));
    if (e) return passed_on(m, m->to, e);
    m->out->resumed = true;
    if (str_eq(source, m->from->shown) && str_eq(then, state))
        return passed_on(m, m->to, m->to->ops->mark(m->to, source, state));
    return refuse(m,
                  arena_printf(m->arena,
                               "a move from " STR_FMT " to " STR_FMT
                               " was begun and not finished%s; --anew forgets what it had copied",
                               STR_ARG(source), STR_ARG(m->to->shown),
                               str_eq(source, m->from->shown)
                                   ? ", and the source was worked with since"
                                   : ""),
                  ERR_CONFLICT);
}

static enum err run(struct move *m)
{
    enum err e = begin(m);

    for (int i = 0; i < MOVE_LISTS && !e; i++) e = copy_list(m, i);
    if (!e) e = compare(m);
    return e ? e : passed_on(m, m->to, m->to->ops->finish(m->to));
}

/* --- done already? --------------------------------------------------------------------------- */

static enum err open_side(struct str url, bool target, struct arena *a, struct move_side **out,
                          struct str *why)
{
    *why = STR("there is not enough memory");
    return address_is_database(url) ? pg_move_open(url, target, a, out, why)
                                    : sqlite_move_open(url, target, a, out, why);
}

/* Fewer or more rows are found without reading them all. */
static bool has_as_many(struct move *m)
{
    struct str state;
    enum err   e = look(m, &state);

    for (int i = 0; i < MOVE_LISTS && !e; i++) {
        uint64_t n = 0;
        e = m->to->ops->count(m->to, &move_tables[i], &n);
        if (!e && n != m->counts[i]) return false;
    }
    return !e;
}

/* A move that was killed behind its last commit could not say that it was done. What is in the way
 * is only read, and is a move's work when all of it is what the source holds: else `e` and its
 * words stay. */
static enum err look_whether_done(struct move *m, enum err e)
{
    struct str said = *m->why, to = m->asked->to;

    if (m->to) m->to->ops->close(m->to); /* its locks */
    m->to = NULL;
    if ((address_is_database(to) || sqlite_move_is_current(to)) &&
        open_side(to, false, m->arena, &m->to, m->why) == OK && has_as_many(m) &&
        compare(m) == OK) {
        m->out->to = m->to->shown;
        m->out->before = true;
        return OK;
    }
    *m->why = said;
    return e;
}

static bool make_batches(struct move *m)
{
    for (int i = 0; i < 2; i++) {
        m->batch[i] = mem_alloc(sizeof *m->batch[i]);
        if (!m->batch[i]) return false;
        arena_init(&m->batch[i]->arena, 0);
    }
    return true;
}

static void end(struct move *m)
{
    for (int i = 0; i < 2 && m->batch[i]; i++) {
        arena_done(&m->batch[i]->arena);
        mem_free(m->batch[i]);
    }
    if (m->to) m->to->ops->close(m->to);
    if (m->from) m->from->ops->close(m->from);
}

enum err store_move(const struct store_move *asked, struct arena *a, struct store_moved *out,
                    struct str *why)
{
    struct move m = { .asked = asked, .arena = a, .out = out, .why = why };
    enum err    e;

    sum_init();
    *out = (struct store_moved){ 0 };
    e = make_batches(&m) ? OK : refuse(&m, STR_NONE, ERR_NOMEM);
    if (!e) e = open_side(asked->from, false, a, &m.from, why);
    if (!e) {
        out->from = m.from->shown;
        e = open_side(asked->to, true, a, &m.to, why);
    }
    if (!e) {
        out->to = m.to->shown;
        e = run(&m);
    }
    if (e == ERR_EXISTS) e = look_whether_done(&m, e);
    end(&m);
    return e;
}
