/* usage.c -- GET /v1/usage: what somebody has used on a day, and what of the budgets is left.
 *
 * Their own; an administrator may ask for anybody's (?principal=NAME), and for all people by day
 * (?all=true). Numbers are exact: tokens as the models counted them, money in millionths of the
 * currency.
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "door/app.h"
#include "run/spend.h"

#define DATE_LEN  10 /* 2026-11-17 */
#define DAY_MS    86400000
#define USED_DAYS 31 /* so long the store keeps them */

struct question {
    struct ask            ask;
    struct spend_reading *reading;
    struct caller         who; /* in the reading's arena */
    int                   tokens, cost;
    struct places {
        int tokens, cost;
    } at[];
};

static int64_t amount(const struct spend_reading *x, int at)
{
    return at < 0 ? 0 : x->sums[at].amount;
}

static void write_sum(struct jsonw *w, const char *key, int64_t used, const struct spend_limit *l)
{
    jw_key(w, key);
    if (!l->soft && !l->hard) {
        jw_null(w);
        return;
    }
    jw_obj(w);
    jw_kint(w, "used", used);
    jw_key(w, "soft");
    if (l->soft) jw_int(w, l->soft);
    else jw_null(w);
    jw_key(w, "hard");
    if (l->hard) jw_int(w, l->hard);
    else jw_null(w);
    jw_end_obj(w);
}

/* A conversation's own is not a person's: it stands with each conversation. */
static bool concerns(const struct question *k, const struct spend_rule *r)
{
    return r->of != SPEND_THREAD && (!r->role.ptr || caller_has(&k->who, &r->role, 1));
}

static void write_budgets(struct question *k, struct jsonw *w)
{
    static const char *const FOR[] = { "principal", "role", "thread", "everybody" };
    const struct hub_setup  *s = hub_setup(k->ask.app->hub);
    jw_key(w, "budgets");
    jw_arr(w);
    for (size_t i = 0; i < s->budget_count; i++) {
        const struct spend_rule *r = &s->budgets[i];
        if (!concerns(k, r)) continue;
        jw_obj(w);
        jw_kstrz(w, "for", FOR[r->of]);
        jw_key(w, "role");
        jw_str_or_null(w, r->role);
        write_sum(w, "tokens", amount(k->reading, k->at[i].tokens), &r->tokens);
        write_sum(w, "cost_micro", amount(k->reading, k->at[i].cost), &r->cost);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

static void answer(struct question *k)
{
    const struct spend_reading *x = k->reading;
    char                        day[CLOCK_RFC3339_LEN + 1];
    struct str                  currency = hub_setup(k->ask.app->hub)->currency;
    struct buf                  b;
    struct jsonw                w;
    clock_rfc3339(x->day * DAY_MS, day);
    json_reply_begin(&b, &w);
    jw_kstr(&w, "principal", k->who.principal);
    jw_kstr(&w, "day", str_n(day, DATE_LEN));
    jw_kint(&w, "tokens", amount(x, k->tokens));
    jw_kint(&w, "cost_micro", amount(x, k->cost));
    jw_key(&w, "currency");
    jw_str_or_null(&w, currency);
    write_budgets(k, &w);
    json_reply_end(k->ask.conn, 200, &b, &w);
}

static void on_read(struct spend_reading *x)
{
    struct question *k = x->ctx;
    if (k->ask.conn && x->failed)
        conn_error(k->ask.conn, 503, "store_unavailable",
                   "The store cannot be read at the moment. Try again in a moment.");
    else if (k->ask.conn) answer(k);
    mem_free(k);
    spend_reading_free(x);
}

static void want_all(struct question *k, const struct hub_setup *s)
{
    struct spend_reading *x = k->reading;
    k->tokens = spend_want(x, spend_key(&x->arena, "tokens", SPEND_PRINCIPAL, k->who.principal));
    k->cost = spend_want(x, spend_key(&x->arena, "cost", SPEND_PRINCIPAL, k->who.principal));
    for (size_t i = 0; i < s->budget_count; i++) {
        const struct spend_rule *r = &s->budgets[i];
        struct str               name = r->of == SPEND_PRINCIPAL ? k->who.principal
                                        : r->of == SPEND_ROLE    ? r->role
                                                                 : STR("");
        k->at[i] = (struct places){ -1, -1 };
        if (!concerns(k, r)) continue;
        k->at[i].tokens = spend_want(x, spend_key(&x->arena, "tokens", r->of, name));
        k->at[i].cost = spend_want(x, spend_key(&x->arena, "cost", r->of, name));
    }
}

/* "2026-11-17"; absent: today. False: answered. */
static bool day_of(struct request *q, int64_t *day)
{
    struct str text = request_query(q, "day");
    char       z[DATE_LEN + 1] = "", again[CLOCK_RFC3339_LEN + 1] = "";
    struct tm  tm = { 0 };
    *day = spend_day(clock_wall_ms());
    if (!text.ptr) return true;
    if (text.len == DATE_LEN) memcpy(z, text.ptr, DATE_LEN);
    if (sscanf(z, "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) == 3) {
        tm.tm_year -= 1900;
        tm.tm_mon--;
        *day = timegm(&tm) / 86400;
        if (*day >= 0) clock_rfc3339(*day * DAY_MS, again);
    }
    if (str_eq(text, str_n(again, DATE_LEN))) return true; /* a day that there is */
    conn_error(q->conn, 422, "bad_field", "\"day\" must be a date such as 2026-11-17.");
    return false;
}

/* --- everybody's ------------------------------------------------------------------------------ */

/* Whose sum of `what` it is; STR_NONE: another kind of sum. */
static struct str person_of(const struct store_row *r, const char *what)
{
    struct str rest = r->owner, kind = str_c(what), of = STR("/principal/");
    if (!str_starts(rest, kind)) return STR_NONE;
    rest = str_from(rest, kind.len);
    return str_starts(rest, of) ? str_from(rest, of.len) : STR_NONE;
}

/* The same person's money of that day. Both kinds come in the same order, so the search goes on
 * where the last one ended. */
static int64_t cost_of(const struct store_row *rows, const struct store_row *r, struct str who,
                       size_t *at)
{
    for (; &rows[*at] < r; (*at)++) {
        struct str name = person_of(&rows[*at], "cost");
        if (rows[*at].day > r->day || !name.ptr || str_cmp(name, who) < 0) continue;
        return rows[*at].day == r->day && str_eq(name, who) ? rows[*at].amount : 0;
    }
    return 0;
}

static void write_used(struct jsonw *w, const struct store_row *rows, size_t count)
{
    char   day[CLOCK_RFC3339_LEN + 1];
    size_t at = 0;
    jw_key(w, "usage");
    jw_arr(w);
    for (size_t i = 0; i < count; i++) {
        struct str who = person_of(&rows[i], "tokens");
        if (!who.ptr) continue;
        clock_rfc3339(rows[i].day * DAY_MS, day);
        jw_obj(w);
        jw_kstr(w, "day", str_n(day, DATE_LEN));
        jw_kstr(w, "who", who);
        jw_kint(w, "tokens", rows[i].amount);
        jw_kint(w, "cost_micro", cost_of(rows, &rows[i], who, &at));
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

static void on_used(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct buf      b;
    struct jsonw    w;
    (void)next;
    if (k->ask.conn && !listing_failed(k, e)) {
        json_reply_begin(&b, &w);
        write_used(&w, rows, count);
        jw_key(&w, "currency");
        jw_str_or_null(&w, hub_setup(k->ask.app->hub)->currency);
        json_reply_end(k->ask.conn, 200, &b, &w);
    }
    listing_free(k);
}

static void tell_all(struct server *s, struct request *q)
{
    struct listing *k = listing_new(s, q, STORE_USED);
    if (!k) return;
    k->list.everybody = true;
    k->list.day = spend_day(clock_wall_ms()) - USED_DAYS;
    k->list.done = on_used;
    listing_send(k);
}

void rest_usage(struct server *s, struct request *q)
{
    const struct hub_setup *h = hub_setup(app_of(s)->hub);
    struct str              name = request_query(q, "principal");
    bool                    all = str_is(request_query(q, "all"), "true");
    bool                    other = name.ptr && !str_eq(name, q->principal->name);
    int64_t                 day;
    if ((all || other) && !(q->principal->roles & ROLE_ADMIN)) {
        conn_error(q->conn, 403, "forbidden", "Only an administrator sees what others used.");
        return;
    }
    if (all) {
        tell_all(s, q);
        return;
    }
    if (!day_of(q, &day)) return;
    struct question      *k = mem_alloc(sizeof *k + h->budget_count * sizeof *k->at);
    struct spend_reading *x = k ? spend_reading_new(h->store, day) : NULL;
    if (!x) {
        mem_free(k);
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    ask_init(&k->ask, s, q);
    k->reading = x;
    k->who = caller_of_request(q);
    /* of another nobody knows the roles here: only what is everybody's is told */
    if (other) k->who = (struct caller){ .principal = name };
    k->who.principal = arena_dup(&x->arena, k->who.principal);
    k->who.roles = arena_dup(&x->arena, k->who.roles);
    want_all(k, h);
    x->ctx = k;
    x->done = on_read;
    conn_hold(q->conn, &k->ask.hold);
    spend_read(x);
}
