/* approvals.c -- /v1/approvals: list, show, decide, settle. The inbox of everything
 * that waits, and the record of everything that was decided.
 *
 * Everybody sees their own. Where only approvers decide, an approver sees and decides
 * everybody's; an administrator may look at them (?all=true). Then each says its owner.
 * A decision goes to the owner's thread and records who made it. */
#include "base/clock.h"
#include "door/app.h"
#include "run/approval.h"
#include "run/people.h"
#include "run/rules.h"
#include "run/sight.h"

#define LIST_MAX 500 /* also what is told when nobody says how many */

/* Others' questions may be theirs to decide: by approvals.who, or because a rule names their role.
 * Which of them, the rule of each says. */
static bool decides_all(const struct app *a, const struct request *q)
{
    return (a->approvers_only && (q->principal->roles & ROLE_APPROVER)) ||
           rules_concern(hub_setup(a->hub)->rules, q->principal->words);
}

/* Everybody's, whatever rules there are. Who tells others of what waits must see it all. */
bool approvals_all(const struct app *a, const struct request *q)
{
    return roles_have(q->principal->words, STR("notifier")) ||
           (a->approvers_only && (q->principal->roles & ROLE_APPROVER)) ||
           ((q->principal->roles & ROLE_ADMIN) && str_is(request_query(q, "all"), "true"));
}

static bool sees_all(const struct app *a, const struct request *q)
{
    return decides_all(a, q) || approvals_all(a, q);
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

/* What the one who looks may do: a row that a rule asks about says it last. */
struct look_at {
    bool       hidden, waits, may, voted;
    struct str lapsed; /* whose yeses do not count any more: a list; STR_NONE: all count */
};

static bool has_vote(const struct jv *body, struct str name)
{
    const struct jv *votes = jv_get(body, "votes");
    JV_EACH (v, votes)
        if (str_eq(jv_str_at(v, "by"), name)) return true;
    return false;
}

static bool has_member(struct str body, const char *quoted)
{
    return str_find(body, str_c(quoted)) >= 0;
}

/* The yeses of who has lost the role since. It follows from who is known now, so no row has it. */
static struct str lapsed(struct arena *a, const struct people *known, const struct jv *body,
                         struct str owner)
{
    const struct jv *votes = jv_get(body, "votes"), *who = jv_get(body, "who");
    struct buf       b;
    struct jsonw     w;
    struct str       list = STR_NONE;
    bool             any = false;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    JV_EACH (v, votes) {
        struct str by = jv_str_at(v, "by");
        if (rules_counts(who, owner, known, by, clock_wall_ms())) continue;
        jw_str(&w, by);
        any = true;
    }
    jw_end_arr(&w);
    if (any && !b.err) list = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return list;
}

/* Who comes in by a later level sees what goes on from then on: what was over before it is not
 * theirs. As long as something is to be said about it, that is now. */
static int64_t stood_at(const struct store_row *row, const struct jv *body)
{
    int64_t    now = clock_wall_ms(), ended;
    struct str settled = jv_str_at(body, "settled_at"), decided = jv_str_at(body, "decided_at");
    bool open = str_is(row->approval.status, "pending") || str_is(row->approval.status, "unknown");
    return !open && clock_parse_rfc3339(settled.len ? settled : decided, &ended) ? ended : now;
}

/* `all`: they may see everybody's, whatever a rule says. `at_ms`: judged as it stood then; 0: as
 * stood_at() says. Who changed a call before saying yes, or gave the grant it ran by, sees what
 * became of it, though nobody was asked about that one. */
static struct look_at look_at(const struct app *app, struct arena *a, const struct store_row *row,
                              const struct principal *p, bool all, int64_t at_ms)
{
    struct look_at k = { 0 };
    struct voter   v = { p->name, p->words };
    struct jv     *body = NULL;
    bool           own = str_eq(row->owner, p->name);
    struct str     text = row->approval.body;
    if ((has_member(text, "\"who\":") || has_member(text, "\"replaces\":") ||
         has_member(text, "\"granted\":")) &&
        json_parse_own(a, text, &body) != OK)
        body = NULL;
    const struct jv *who = jv_get(body, "who");
    bool             theirs = str_eq(jv_str_at(jv_get(body, "replaces"), "by"), p->name) ||
                  str_eq(jv_str_at(jv_get(body, "granted"), "by"), p->name);
    if (!at_ms) at_ms = stood_at(row, body);
    k.hidden = !own && !all && !theirs && !(who && rules_shows(who, &v, at_ms));
    k.waits = who && str_is(row->approval.status, "pending");
    if (!k.waits) return k;
    k.voted = has_vote(body, p->name);
    k.may = !k.voted && rules_lets(who, row->owner, &v, clock_wall_ms());
    k.lapsed = lapsed(a, hub_setup(app->hub)->people, body, row->owner);
    return k;
}

static void write_owner(struct buf *out, const struct store_row *row)
{
    struct jsonw w;
    buf_lit(out, "{\"owner\":");
    jsonw_init(&w, out);
    jw_str(&w, row->owner);
    buf_chr(out, ',');
}

static void write_standing(struct buf *out, const struct look_at *k)
{
    buf_printf(out, ",\"may\":%s,\"voted\":%s", k->may ? "true" : "false",
               k->voted ? "true" : "false");
    if (k->lapsed.ptr) buf_printf(out, ",\"lapsed\":" STR_FMT, STR_ARG(k->lapsed));
    buf_chr(out, '}');
}

/* The row as it was stored; with its owner in front when it may be somebody else's. */
static void write_body(struct buf *out, const struct store_list *l, const struct store_row *row,
                       struct str body, const struct look_at *k)
{
    bool stands = k->waits && body.len && body.ptr[body.len - 1] == '}';
    if (l->everybody && str_starts(body, STR("{\""))) {
        write_owner(out, row);
        body = str_from(body, 1);
    }
    buf_str(out, stands ? str_cut(body, body.len - 1) : body);
    if (stands) write_standing(out, k);
}

/* ... but for what the one who looks may not know of somebody else's. */
static void write_row(struct buf *out, const struct app *app, const struct store_list *l,
                      const struct store_row *row, const struct look_at *k)
{
    struct str body = row->approval.body;
    struct buf less;
    if (row->damaged) {
        write_damaged(out, row);
        return;
    }
    buf_init(&less, 0);
    sight_row(&less, app->hub, row->owner, l->everybody ? l->owner : row->owner, body);
    if (less.err) out->err = less.err;
    else write_body(out, l, row, buf_view(&less), k);
    buf_done(&less);
}

/* Waits on paper only: its time is over; or, where a rule asks, it is to go further. */
static bool is_due(const struct store_approval *a)
{
    return str_is(a->status, "pending") && a->expires_ms && a->expires_ms <= clock_wall_ms();
}

static bool is_overdue(const struct store_approval *a)
{
    return is_due(a) && str_find(a->body, STR("\"who\":")) < 0;
}

bool approval_show_event(struct buf *out, const struct app *app, const struct store_row *event,
                         const struct principal *p, bool all, int64_t at_ms)
{
    struct store_list l = { .everybody = !str_eq(event->owner, p->name), .owner = p->name };
    struct store_row  row = { .owner = event->owner,
                              .approval = { .id = event->event.id, .body = event->event.body } };
    struct arena      a;
    struct jv        *body;
    arena_init(&a, 0);
    bool ok = json_parse_own(&a, row.approval.body, &body) == OK;
    if (ok) row.approval.status = jv_str_at(body, "status");
    struct look_at k = look_at(app, &a, &row, p, all, at_ms);
    if (ok && !k.hidden) write_row(out, app, &l, &row, &k);
    arena_done(&a);
    return ok && !k.hidden;
}

static void write_list(struct buf *b, struct listing *k, const struct store_row *rows, size_t count,
                       struct str next)
{
    const struct store_list *l = &k->list;
    const struct request    *q = conn_request(k->ask.conn);
    struct buf               row;
    struct jsonw             w;
    bool                     all = approvals_all(k->ask.app, q);
    jsonw_init(&w, b);
    jw_obj(&w);
    jw_key(&w, "approvals");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) {
        struct look_at how = look_at(k->ask.app, &k->arena, &rows[i], q->principal, all, 0);
        if (how.hidden || (str_is(l->status, "pending") && is_overdue(&rows[i].approval))) continue;
        buf_init(&row, 0);
        write_row(&row, k->ask.app, &k->list, &rows[i], &how);
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
        if (is_due(&rows[i].approval)) {
            hub_sweep(k->ask.app->hub);
            break;
        }
    if (c && !listing_failed(k, e)) {
        struct request *q = conn_request(c);
        struct look_at  how = { 0 };
        if (k->one && count)
            how = look_at(k->ask.app, &k->arena, &rows[0], q->principal,
                          approvals_all(k->ask.app, q), 0);
        if (k->one && (!count || how.hidden)) unknown(c);
        else {
            buf_init(&b, 0);
            if (k->one) write_row(&b, k->ask.app, &k->list, &rows[0], &how);
            else write_list(&b, k, rows, count, next);
            json_reply(c, 200, &b);
        }
    }
    listing_free(k);
}

static bool is_status(struct str word)
{
    static const char *const WORDS[] = { "pending",   "approved", "running",  "offered",
                                         "done",      "failed",   "denied",   "expired",
                                         "cancelled", "unknown",  "replaced", "duplicate" };
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
                   "expired, cancelled, unknown, replaced or duplicate.");
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

/* To the thread that has asked, which may be another person's: a vote is taken back there by
 * whoever gave it, whatever concerns them now. */
static void submit(struct server *s, struct request *q, struct command *c,
                   void (*answered)(struct ask *, struct command *, const struct receipt *))
{
    struct ask *k = ask_new(s, q, answered);
    c->anyones = c->kind == CMD_UNVOTE || decides_all(app_of(s), q);
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
    const struct fold *f = thread_fold(a->thread);
    const struct fact *d = fold_verdict(f, c->id), *asked = fold_asked(f, c->id);
    json_reply_begin(&b, &w);
    jw_kstr(&w, "id", c->id);
    if (!d && asked && asked->who.ptr) { /* one of several */
        jw_kstrz(&w, "status", "pending");
        approval_write_votes(&w, f, asked);
        jw_kbool(&w, "duplicate", a->duplicate);
        jw_kstr(&w, "run_id", a->run);
        json_reply_end(k->conn, 200, &b, &w);
        return;
    }
    jw_kstrz(&w, "status", d ? word_name(d->outcome) : c->decide.confirmed ? "approved" : "denied");
    clock_rfc3339(d ? d->at_ms : clock_wall_ms(), time);
    jw_kstrz(&w, "decided_at", time);
    jw_kstr(&w, "decided_by", d ? d->by : c->by);
    jw_kbool(&w, "duplicate", a->duplicate);
    jw_kstr(&w, "run_id", a->run);
    if (d && d->granted.ptr) jw_kraw(&w, "grant", d->granted);
    if (d && d->outcome == WORD_REPLACED) jw_kstr(&w, "replaced_by", d->of);
    json_reply_end(k->conn, 200, &b, &w);
}

static void refused(struct request *q, struct command *c, const struct refusal *why)
{
    if (is_suspicious(why)) log_refused(c->by, "rest", STR_NONE, c->id, why->code);
    refusal_error(q->conn, why);
    command_free(c);
}

/* A page says its origin (guard.c has let it in), a program says none: the record tells a click in
 * the inbox from a call of the API. */
static const char *way_of(struct request *q)
{
    return request_header(q, "origin").ptr ? "page" : "rest";
}

void rest_decide(struct server *s, struct request *q)
{
    const struct jv *v;
    struct refusal   why;
    struct command  *c = command_for(q, CMD_DECIDE, way_of(q));
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

static void on_unvoted(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf   b;
    struct jsonw w;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    const struct fold *f = thread_fold(a->thread);
    const struct fact *asked = fold_asked(f, c->id);
    json_reply_begin(&b, &w);
    jw_kstr(&w, "id", c->id);
    jw_kstrz(&w, "status", "pending");
    if (asked) approval_write_votes(&w, f, asked);
    json_reply_end(k->conn, 200, &b, &w);
}

void rest_unvote(struct server *s, struct request *q)
{
    struct command *c = command_for(q, CMD_UNVOTE, "rest");
    if (!c) return;
    c->id = arena_dup(&c->arena, q->param[0]);
    submit(s, q, c, on_unvoted);
}
