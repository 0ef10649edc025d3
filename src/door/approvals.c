/* approvals.c -- /v1/approvals: list, show, decide, settle. The inbox of everything
 * that waits, and the record of everything that was decided.
 *
 * Everybody sees his own. Where only approvers decide, an approver sees and decides
 * everybody's; an administrator may look at them (?all=true). Then each says its owner.
 * A decision goes to the owner's thread and records who made it. */
#include "base/clock.h"
#include "door/app.h"

#define LIST_MAX 500 /* also what is told when nobody says how many */

struct listing {
    struct store_list list;
    struct conn_hold  hold;
    struct conn      *conn;
    struct app       *app;
    struct arena      arena;
    /* decide and settle: what to send once the thread is known */
    struct command   *command;
    void (*answered)(struct ask *, struct command *, const struct receipt *);
    bool one;
};

static void listing_left(struct conn_hold *h)
{
    LIST_ITEM(h, struct listing, hold)->conn = NULL;
}

static void listing_free(struct listing *k)
{
    command_free(k->command);
    arena_done(&k->arena);
    mem_free(k);
}

static struct listing *listing_new(struct server *s, struct request *q)
{
    struct listing *k = mem_alloc(sizeof *k);
    if (!k) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return NULL;
    }
    arena_init(&k->arena, 0);
    k->app = app_of(s);
    k->conn = q->conn;
    k->hold.cancelled = listing_left;
    k->list =
        (struct store_list){ .kind = STORE_APPROVALS, .owner = arena_dup(&k->arena, owner_of(q)) };
    return k;
}

static void listing_send(struct listing *k)
{
    if (k->arena.failed) { /* a filter that got lost would show more, not less */
        conn_error(k->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        listing_free(k);
        return;
    }
    conn_hold(k->conn, &k->hold);
    store_list(k->app->store, &k->list);
}

static void unavailable(struct conn *c)
{
    conn_error(c, 503, "store_unavailable",
               "The store cannot be read at the moment. Try again in a moment.");
}

/* Other people's, too. */
static void look_everywhere(struct listing *k, bool everywhere)
{
    k->list.everybody = everywhere;
}

static bool decides_all(const struct app *a, const struct request *q)
{
    return a->approvers_only && (q->principal->roles & ROLE_APPROVER);
}

static bool sees_all(const struct app *a, const struct request *q)
{
    return decides_all(a, q) ||
           ((q->principal->roles & ROLE_ADMIN) && str_is(request_query(q, "all"), "true"));
}

static void unknown(struct conn *c)
{
    conn_error(c, 404, "unknown_confirmation", "There is no such request here.");
}

/* --- showing
 * ------------------------------------------------------------------------------------ */

/* It is not what was stored: only where it stands is told. The conversation has the question
 * itself. */
static void write_damaged(struct buf *out, const struct store_row *row)
{
    static const char *const MEMBERS[] = { "run",        "tool",       "tool_use_id",  "input",
                                           "ask",        "risk",       "requested_at", "expires_at",
                                           "decided_at", "decided_by", "decided_via",  "reason" };
    struct jsonw             w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstr(&w, "id", row->approval.id);
    jw_kstr(&w, "thread", row->thread);
    jw_kstrz(&w, "status", "damaged");
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++) {
        jw_key(&w, MEMBERS[i]);
        jw_null(&w);
    }
    jw_kstrz(&w, "message",
             "This entry is damaged on the server's disk and is not shown. Open the conversation "
             "to see what was asked.");
    jw_end_obj(&w);
}

/* The row as it was stored; with its owner in front when it may be somebody else's. */
static void write_row(struct buf *out, const struct store_list *l, const struct store_row *row)
{
    struct str   body = row->approval.body;
    struct jsonw w;
    if (row->damaged) {
        write_damaged(out, row);
        return;
    }
    if (!l->everybody || !str_starts(body, STR("{\""))) {
        buf_str(out, body);
        return;
    }
    buf_lit(out, "{\"owner\":");
    jsonw_init(&w, out);
    jw_str(&w, row->owner);
    buf_chr(out, ',');
    buf_str(out, str_from(body, 1));
}

/* Waits on paper only: its time is over. */
static bool is_overdue(const struct store_approval *a)
{
    return str_is(a->status, "pending") && a->expires_ms && a->expires_ms <= clock_wall_ms();
}

static void write_list(struct buf *b, const struct store_list *l, const struct store_row *rows,
                       size_t count, struct str next)
{
    struct buf   row;
    struct jsonw w;
    jsonw_init(&w, b);
    jw_obj(&w);
    jw_key(&w, "approvals");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) {
        if (str_is(l->status, "pending") && is_overdue(&rows[i].approval)) continue;
        buf_init(&row, 0);
        write_row(&row, l, &rows[i]);
        jw_raw(&w, buf_view(&row));
        if (row.err) b->err = row.err;
        buf_done(&row);
    }
    jw_end_arr(&w);
    jw_key(&w, "next");
    jw_str_or_null(&w, next.len ? next : STR_NONE);
    jw_end_obj(&w);
}

static void on_list(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct buf      b;
    for (size_t i = 0; i < count; i++)
        if (is_overdue(&rows[i].approval)) {
            hub_sweep(k->app->hub);
            break;
        }
    if (!k->conn) {
        listing_free(k);
        return;
    }
    if (e == ERR_SYNTAX)
        conn_error(k->conn, 422, "bad_field",
                   "\"before\" must be the \"next\" of an earlier answer.");
    else if (e) unavailable(k->conn);
    else if (k->one && !count) unknown(k->conn);
    else {
        buf_init(&b, 0);
        if (k->one) write_row(&b, l, &rows[0]);
        else write_list(&b, l, rows, count, next);
        json_reply(k->conn, 200, &b);
    }
    listing_free(k);
}

static bool is_status(struct str word)
{
    static const char *const WORDS[] = { "pending", "approved", "running", "offered",   "done",
                                         "failed",  "denied",   "expired", "cancelled", "unknown" };
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_is(word, WORDS[i])) return true;
    return false;
}

void rest_approvals(struct server *s, struct request *q)
{
    uint64_t   limit = LIST_MAX;
    struct str status = request_query(q, "status"), text = request_query(q, "limit");
    if (status.ptr && !is_status(status)) {
        conn_error(q->conn, 400, "bad_field",
                   "\"status\" must be pending, approved, running, offered, done, failed, denied, "
                   "expired, cancelled or unknown.");
        return;
    }
    if (text.ptr && (!str_to_u64(text, &limit) || limit < 1 || limit > LIST_MAX)) {
        conn_error(q->conn, 422, "bad_field", "\"limit\" must be a number from 1 to 500.");
        return;
    }
    struct listing *k = listing_new(s, q);
    if (!k) return;
    k->list.status = arena_dup(&k->arena, status);
    k->list.thread = arena_dup(&k->arena, request_query(q, "thread"));
    k->list.before = arena_dup(&k->arena, request_query(q, "before"));
    k->list.limit = (unsigned)limit;
    look_everywhere(k, sees_all(k->app, q));
    k->list.done = on_list;
    listing_send(k);
}

void rest_approval(struct server *s, struct request *q)
{
    struct listing *k = listing_new(s, q);
    if (!k) return;
    k->one = true;
    look_everywhere(k, sees_all(k->app, q));
    k->list.id = arena_dup(&k->arena, q->param[0]);
    k->list.limit = 1;
    k->list.done = on_list;
    listing_send(k);
}

/* --- deciding
 * -------------------------------------------------------------------------------------- */

static void on_where(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    (void)next;
    if (!k->conn) {
        listing_free(k);
        return;
    }
    struct command *c = k->command;
    if (e || !count) {
        if (e) unavailable(k->conn);
        else {
            log_refused(c->by, "rest", STR_NONE, c->id, "unknown_confirmation");
            unknown(k->conn);
        }
        listing_free(k);
        return;
    }
    struct ask *a = ask_new(k->app->server, conn_request(k->conn), k->answered);
    c->log.thread = arena_dup(&c->arena, rows[0].thread);
    c->log.owner = arena_dup(&c->arena, rows[0].owner);
    if (a) {
        k->command = NULL;
        ask_submit(a, c);
    }
    listing_free(k);
}

static void find_and_submit(struct server *s, struct request *q, struct command *c,
                            void (*answered)(struct ask *, struct command *,
                                             const struct receipt *))
{
    struct listing *k = listing_new(s, q);
    if (!k) {
        command_free(c);
        return;
    }
    k->command = c;
    k->answered = answered;
    k->list.id = c->id;
    look_everywhere(k, decides_all(k->app, q));
    k->list.limit = 1;
    k->list.done = on_where;
    listing_send(k);
}

static void on_decided(struct ask *k, struct command *c, const struct receipt *a)
{
    char         time[CLOCK_RFC3339_LEN + 1];
    struct buf   b;
    struct jsonw w;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    reply_place(k->conn, a);
    const struct fact *d = fold_verdict(thread_fold(a->thread), c->id);
    json_reply_begin(&b, &w);
    jw_kstr(&w, "id", c->id);
    jw_kstrz(&w, "status", d ? word_name(d->outcome) : c->confirmed ? "approved" : "denied");
    clock_rfc3339(d ? d->at_ms : clock_wall_ms(), time);
    jw_kstrz(&w, "decided_at", time);
    jw_kstr(&w, "decided_by", d ? d->by : c->by);
    jw_kbool(&w, "duplicate", a->duplicate);
    jw_kstr(&w, "run_id", a->run);
    json_reply_end(k->conn, 200, &b, &w);
}

static void refused(struct request *q, struct command *c, const struct refusal *why)
{
    if (is_suspicious(why)) log_refused(c->by, "rest", STR_NONE, c->id, why->code);
    refusal_error(q->conn, why);
    command_free(c);
}

void rest_decide(struct server *s, struct request *q)
{
    const struct jv *v;
    struct refusal   why;
    struct command  *c = command_for(q, CMD_DECIDE, "rest");
    if (!c) return;
    c->id = arena_dup(&c->arena, q->param[0]);
    if (!request_object(c, q->body, false, &v, &why) || !request_answer(c, v, &why))
        refused(q, c, &why);
    else find_and_submit(s, q, c, on_decided);
}

static void on_settled(struct ask *k, struct command *c, const struct receipt *a)
{
    struct request *q = conn_request(k->conn);
    (void)c;
    if (a->status >= 400) reply_error(k->conn, a);
    else rest_approval(k->app->server, q);
}

void rest_settle(struct server *s, struct request *q)
{
    const struct jv *v;
    struct str       outcome = STR_NONE;
    struct refusal   why = { 422, "bad_field", "\"outcome\" must be \"done\" or \"not_done\"." };
    struct command  *c = command_for(q, CMD_SETTLE, "rest");
    if (!c) return;
    c->id = arena_dup(&c->arena, q->param[0]);
    bool ok = request_object(c, q->body, false, &v, &why) &&
              request_text(c, v, "outcome", 16, &outcome, &why) &&
              request_text(c, v, "note", 4096, &c->note, &why);
    if (ok && !str_is(outcome, "done") && !str_is(outcome, "not_done")) ok = false;
    if (!ok) {
        refused(q, c, &why);
        return;
    }
    c->settle = str_is(outcome, "done") ? SETTLE_DONE : SETTLE_NOT_DONE;
    if (jv_get(v, "result")) c->value = jv_get(v, "result")->raw;
    find_and_submit(s, q, c, on_settled);
}
