/* approvals.c -- /v1/approvals: list, show, decide, settle. The inbox of everything
 * that waits, and the record of everything that was decided.
 *
 * Everybody sees their own. Where only approvers decide, an approver sees and decides
 * everybody's; an administrator may look at them (?all=true). Then each says its owner.
 * A decision goes to the owner's thread and records who made it. */
#include "base/clock.h"
#include "door/app.h"

#define LIST_MAX 500 /* also what is told when nobody says how many */

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

/* --- showing ---------------------------------------------------------------------------------- */

/* It is not what was stored: only where it stands is told. The conversation has the question
 * itself. */
static void write_damaged(struct buf *out, const struct store_row *row)
{
    static const char *const MEMBERS[] = {
        "run",          "tool",       "tool_use_id", "input",      "ask",         "risk",  "said",
        "requested_at", "expires_at", "decided_at",  "decided_by", "decided_via", "reason"
    };
    struct jsonw w;
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
    struct conn    *c = k->ask.conn;
    struct buf      b;
    for (size_t i = 0; i < count; i++)
        if (is_overdue(&rows[i].approval)) {
            hub_sweep(k->ask.app->hub);
            break;
        }
    if (c && !listing_failed(k, e)) {
        if (k->one && !count) unknown(c);
        else {
            buf_init(&b, 0);
            if (k->one) write_row(&b, l, &rows[0]);
            else write_list(&b, l, rows, count, next);
            json_reply(c, 200, &b);
        }
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
    struct listing *k = listing_new(s, q, STORE_APPROVALS);
    if (!k) return;
    k->list.status = arena_dup(&k->arena, status);
    k->list.thread = arena_dup(&k->arena, request_query(q, "thread"));
    k->list.before = arena_dup(&k->arena, request_query(q, "before"));
    k->list.limit = (unsigned)limit;
    k->list.everybody = sees_all(app_of(s), q);
    k->list.done = on_list;
    listing_send(k);
}

void rest_approval(struct server *s, struct request *q)
{
    struct listing *k = listing_new(s, q, STORE_APPROVALS);
    if (!k) return;
    k->one = true;
    k->list.everybody = sees_all(app_of(s), q);
    k->list.id = arena_dup(&k->arena, q->param[0]);
    k->list.limit = 1;
    k->list.done = on_list;
    listing_send(k);
}

/* --- deciding --------------------------------------------------------------------------------- */

/* To the thread that has asked, which may be another person's. */
static void submit(struct server *s, struct request *q, struct command *c,
                   void (*answered)(struct ask *, struct command *, const struct receipt *))
{
    struct ask *k = ask_new(s, q, answered);
    c->anyones = decides_all(app_of(s), q);
    if (k) ask_submit(k, c);
    else command_free(c);
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
    jw_kstrz(&w, "status", d ? word_name(d->outcome) : c->decide.confirmed ? "approved" : "denied");
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
    else submit(s, q, c, on_decided);
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
              request_text(c, v, "note", 4096, &c->settle.note, &why);
    if (ok && !str_is(outcome, "done") && !str_is(outcome, "not_done")) ok = false;
    if (!ok) {
        refused(q, c, &why);
        return;
    }
    c->settle.happened = str_is(outcome, "done");
    if (jv_get(v, "result")) c->settle.value = jv_get(v, "result")->raw;
    submit(s, q, c, on_settled);
}
