/* approval.c -- confirmations: their ids, the digest of what is asked, and the
 * rows of the approvals list that follow the facts.
 *
 * An approval is asked once and answered once. It is bound to the call and to a
 * digest of the arguments the person was shown. The log decides: the first answer
 * appended wins, and a client's own copy of the conversation is never consulted.
 */
#include <openssl/evp.h>

#include "base/clock.h"
#include "base/jsame.h"
#include "base/jsonw.h"
#include "base/utf8.h"
#include "run/callcheck.h"
#include "run/caller.h"
#include "run/engine.h"
#include "run/grant.h"
#include "run/intent.h"
#include "run/rules.h"
#include "tool/schema.h"

#define SAID_MAX 500 /* characters: context for a decision, not the conversation */

/* Of the next gate of this call. */
static struct str next_id(struct arena *a, const struct call *c)
{
    if (!c->gates) return arena_printf(a, "confirmation-" STR_FMT, STR_ARG(c->id));
    return arena_printf(a, "confirmation-" STR_FMT "-%u", STR_ARG(c->id), c->gates + 1);
}

struct str approval_digest(struct arena *a, const struct call *c)
{
    unsigned char hash[32];
    char          hex[65];
    struct buf    text;
    struct jsonw  w;
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    if (c->args) jw_canonical(&w, c->args);
    bool ok = !text.err &&
              EVP_Digest(text.ptr ? text.ptr : "", text.len, hash, NULL, EVP_sha256(), NULL) == 1;
    buf_done(&text);
    if (!ok) return STR_NONE;
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    return arena_dup(a, str_n(hex, 64));
}

static struct str question(struct thread *t, struct arena *a, const struct tool *tool,
                           const struct call *c)
{
    struct caller    who = caller_of(c->run, t->owner);
    bool             filled = tool && tool->ask.ptr;
    const struct jv *known = filled ? caller_known(a, &who, tool->schema) : NULL;
    struct buf       b;
    if (filled && !known) return STR_NONE; /* an argument would stand in the place of a name */
    buf_init(&b, 16 * 1024);
    intent_ask(&b, c->tool, tool ? tool->ask : STR_NONE, c->args, known);
    if (b.err == ERR_FULL) { /* half a question asks something else */
        buf_clear(&b);
        intent_ask(&b, c->tool, STR_NONE, c->args, NULL);
    }
    if (tool && tool->changed_ms > 0) {
        char day[CLOCK_RFC3339_LEN + 1];
        clock_rfc3339(tool->changed_ms, day);
        buf_printf(&b, " (changed since %.10s)", day);
    }
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    if (!s.ptr) a->failed = true;
    buf_done(&b);
    return s;
}

/* What organisations add to the question of a gate: who is asked, and what an answer may carry. */
static enum err add_terms(struct thread *t, struct call *c, const struct tool *tool, struct fact *f,
                          struct arena *a)
{
    bool     single;
    enum err e = rules_for(t, c, a, &f->who, &single);
    if (e || !tool) return e;
    if (single) f->offer = grant_offer(a, tool, c);
    if (tool->edit) f->edit = tool->edit->raw;
    return a->failed ? ERR_NOMEM : OK;
}

enum err approval_fact(struct thread *t, struct call *c, struct fact *f, struct arena *a)
{
    const struct tool *tool = call_tool(t, c);
    bool               gate = c->state == CALL_PROPOSED;
    unsigned           expires_s = rules_expires(t, c, tool ? tool->expires_s : 86400);
    char               digest[TOOL_DIGEST] = "";
    enum err           e = tool ? tool_digest(tool, digest) : OK;
    if (!e && gate) e = add_terms(t, c, tool, f, a);
    f->id = next_id(a, c);
    f->tool = c->tool;
    f->risk = tool && tool->risk.len ? tool->risk : STR_NONE;
    f->digest = approval_digest(a, c);
    f->expires_ms = expires_s ? clock_wall_ms() + (int64_t)expires_s * 1000 : 0;
    if (!f->ask.ptr) f->ask = question(t, a, tool, c);
    /* The definition's digest: a tool that changed since must be asked again. */
    f->note = arena_dup(a, str_c(digest));
    return e ? e : f->id.ptr && f->digest.ptr && f->ask.ptr && f->note.ptr ? OK : ERR_NOMEM;
}

enum err approval_holds(const struct thread *t, const struct call *c, bool *holds)
{
    const struct tool *tool = call_tool(t, c);
    char               digest[TOOL_DIGEST];
    struct arena       a;
    *holds = false;
    if (!tool) return OK;
    enum err e = tool_digest(tool, digest);
    if (e) return e;
    arena_init(&a, 0);
    struct str args = approval_digest(&a, c);
    /* a person's edit that they approved in making it: its arguments are theirs */
    *holds = c->asked ? str_is(c->asked->note, digest) && str_eq(c->asked->digest, args)
                      : str_is(c->decided->note, digest);
    arena_done(&a);
    return args.ptr ? OK : ERR_NOMEM;
}

enum err approval_same_tool(const struct thread *t, const struct call *c, bool *same)
{
    const struct tool *tool = call_tool(t, c);
    char               digest[TOOL_DIGEST];
    enum err           e = tool ? tool_digest(tool, digest) : OK;
    if (!e) *same = tool && str_is(c->question->note, digest);
    return e;
}

/* What the model is told of a call that a person, the clock or the next message refused. */
struct str approval_refusal(struct arena *a, const struct call *c)
{
    struct buf   b;
    struct jsonw w;
    if (c->decided->outcome == WORD_EXPIRED)
        return STR("{\"error\":\"Approval request timed out\"}");
    if (c->decided->outcome != WORD_DENIED)
        return STR("{\"error\":\"Not decided; the user continued\"}");
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstrz(&w, "error", "User denied execution");
    jw_kbool(&w, "denied", true);
    if (c->decided->reason.len) jw_kstr(&w, "reason", c->decided->reason);
    jw_end_obj(&w);
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s.ptr ? s : STR("{\"error\":\"User denied execution\",\"denied\":true}");
}

/* --- a no that stays a no --------------------------------------------------------------------- */

static const struct fact *denied_before(const struct thread *t, const struct call *c,
                                        unsigned *count)
{
    const struct fold *f = &t->fold;
    const struct fact *same = NULL;
    *count = 0;
    for (size_t i = c->run->calls_from; i < f->call_count && f->calls[i]->run == c->run; i++) {
        const struct call *x = f->calls[i];
        if (!x->decided || x->decided->outcome != WORD_DENIED) continue;
        ++*count;
        if (str_eq(x->tool, c->tool) && jv_same(x->args, c->args)) same = x->decided;
    }
    return same;
}

static bool over_limit(const struct thread *t, unsigned count)
{
    return t->hub->setup.deny_limit && count >= t->hub->setup.deny_limit;
}

bool approval_refused_before(const struct thread *t, const struct call *c)
{
    unsigned count;
    return denied_before(t, c, &count) || over_limit(t, count);
}

enum err approval_refuse_again(struct thread *t, const struct call *c)
{
    unsigned           count;
    const struct fact *no = denied_before(t, c, &count);
    struct fact        f = { .kind = FACT_FINISHED, .call = c->id, .outcome = WORD_FAILED };
    struct buf         b;
    struct jsonw       w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstrz(&w, "error",
             no ? "This was denied before in this turn and is not asked again"
                : "Too much was denied in this turn: nothing more that needs a person's yes is "
                  "asked. Answer without these tools");
    jw_kbool(&w, "denied", true);
    if (no && no->by.len) jw_kstr(&w, "by", no->by);
    if (no && no->reason.len) jw_kstr(&w, "reason", no->reason);
    jw_end_obj(&w);
    f.text = buf_view(&b);
    enum err e = b.err ? ERR_NOMEM : thread_add(t, &f);
    buf_done(&b);
    return e;
}

/* --- votes ------------------------------------------------------------------------------------ */

size_t approval_votes(const struct fold *f, const struct fact *asked,
                      const struct fact *out[VOTES_MAX])
{
    size_t n = 0;
    for (uint64_t s = asked->seq; s < f->count; s++) {
        const struct fact *v = f->facts[s];
        size_t             i = 0;
        if (v->kind != FACT_VOTED || !str_eq(v->id, asked->id)) continue;
        while (i < n && !str_eq(out[i]->by, v->by)) i++;
        if (i < n) {
            memmove(&out[i], &out[i + 1], (n - i - 1) * sizeof *out);
            n--;
        }
        if (v->outcome == WORD_APPROVED && n < VOTES_MAX) out[n++] = v;
    }
    return n;
}

struct str approval_misfit(struct arena *a, const struct jv *schema, const struct jv *value)
{
    struct buf why;
    struct str out = STR_NONE;
    buf_init(&why, 2048);
    bool bad = schema_check(schema, value, NULL, &why) != OK;
    if (bad) out = arena_dup(a, why.len ? buf_view(&why) : STR("This does not fit."));
    buf_done(&why);
    return bad && !out.ptr ? STR("This does not fit.") : out;
}

/* --- the list ----------------------------------------------------------------------------- */

/* A call has a row under the id of its gate, or under the id its gate would have had. A tool's
 * question has a row of its own, unless it took that id because the call had no gate. */
struct row {
    struct str         id;
    const struct fact *asked, *decided;
    const char        *status;
};

static const char *call_status(const struct call *c)
{
    if (c->settled) return c->settled->outcome == WORD_DONE ? "done" : "failed";
    /* also when its tool was gone */
    if (c->decided && c->decided->outcome == WORD_CANCELLED) return "cancelled";
    if (c->finished) return word_name(c->finished->outcome);
    if (c->state == CALL_STARTED) return c->client ? "offered" : "running";
    return c->decided ? word_name(c->decided->outcome) : "pending";
}

static struct row call_row(struct thread *t, const struct call *c)
{
    struct row r = { .status = call_status(c) };
    r.id =
        c->asked ? c->asked->id : arena_printf(&t->batch, "confirmation-" STR_FMT, STR_ARG(c->id));
    r.asked = fold_asked(&t->fold, r.id);
    r.decided = c->decided && !r.asked ? c->decided : fold_verdict(&t->fold, r.id);
    if (r.asked && r.asked == call_gate(c)) r.status = "pending";
    return r;
}

static struct row question_row(const struct call *c)
{
    const char *status = c->answered       ? word_name(c->answered->outcome)
                         : call_pending(c) ? "pending"
                                           : "cancelled";
    return (struct row){ c->question->id, c->question, c->answered, status };
}

void approval_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    jw_key(w, key);
    if (!ms) {
        jw_null(w);
        return;
    }
    clock_rfc3339(ms, text);
    jw_strz(w, text);
}

static void text_or_null(struct jsonw *w, const char *key, struct str s)
{
    jw_key(w, key);
    jw_str_or_null(w, s);
}

/* The words that led to the call, for whoever decides it and cannot read the conversation. */
static struct str said(const struct call *c)
{
    const struct fact *first = c->run->first;
    return first->kind == FACT_MESSAGE ? str_cut(first->text, utf8_take(first->text, SAID_MAX))
                                       : STR_NONE;
}

static void write_vote(struct jsonw *w, const struct fact *v)
{
    jw_obj(w);
    jw_kstr(w, "by", v->by);
    approval_time(w, "at", v->at_ms);
    jw_kstr(w, "via", v->via);
    jw_end_obj(w);
}

void approval_write_votes(struct jsonw *w, const struct fold *f, const struct fact *asked)
{
    const struct fact *votes[VOTES_MAX], *yes = f ? fold_verdict(f, asked->id) : NULL;
    struct ballot      b = { .who = asked->who,
                             .asked_ms = asked->at_ms,
                             .now_ms = f ? clock_wall_ms() : asked->at_ms };
    /* then the last of them was no answer of its own */
    bool               clock = yes && yes->outcome == WORD_APPROVED && str_is(yes->via, "clock");
    jw_key(w, "votes");
    jw_arr(w);
    size_t n = f ? approval_votes(f, asked, votes) : 0;
    for (size_t i = 0; i < n; i++)
        if (!yes || clock || !str_eq(votes[i]->by, yes->by)) write_vote(w, votes[i]);
    if (yes && yes->outcome == WORD_APPROVED && !clock) write_vote(w, yes);
    jw_end_arr(w);
    jw_kint(w, "needed", rules_needed(&b));
}

static bool is_taken_back(const struct fact *v, const struct fact *asked)
{
    return v->kind == FACT_VOTED && v->outcome == WORD_CANCELLED && str_eq(v->id, asked->id);
}

/* Of each person the last one. */
static void write_withdrawn(struct jsonw *w, const struct fold *f, const struct fact *asked)
{
    bool any = false;
    for (uint64_t s = asked->seq; s < f->count; s++) {
        const struct fact *v = f->facts[s];
        bool               last = is_taken_back(v, asked);
        for (uint64_t n = s + 1; last && n < f->count; n++)
            last = !is_taken_back(f->facts[n], asked) || !str_eq(f->facts[n]->by, v->by);
        if (!last) continue;
        if (!any) {
            jw_key(w, "withdrawn");
            jw_arr(w);
        }
        any = true;
        write_vote(w, v);
    }
    if (any) jw_end_arr(w);
}

void approval_write_terms(struct jsonw *w, const struct fold *f, const struct fact *asked)
{
    struct ballot b = { .who = asked->who, .asked_ms = asked->at_ms };
    if (asked->who.ptr) {
        jw_key(w, "who");
        rules_show(w, &b);
        approval_write_votes(w, f, asked);
    }
    if (asked->offer.ptr) jw_kraw(w, "grant", asked->offer);
    if (asked->edit.ptr) jw_kraw(w, "edit", asked->edit);
}

/* What an edit made of which. */
static void write_edit(struct jsonw *w, const struct call *c)
{
    /* from the verdict: that is there first, and the row may be all that is looked at for long */
    if (c->decided && c->decided->outcome == WORD_REPLACED)
        jw_kstr(w, "replaced_by", c->decided->of);
    if (!c->instead_of || !c->instead_of->asked) return;
    jw_key(w, "replaces");
    jw_obj(w);
    jw_kstr(w, "id", c->instead_of->asked->id);
    jw_kstr(w, "by", c->proposed->by);
    jw_kraw(w, "changed", c->proposed->data.ptr ? c->proposed->data : STR("[]"));
    jw_kraw(w, "input", c->instead_of->args ? c->instead_of->input : STR("null"));
    jw_end_obj(w);
}

static void write_row(struct buf *out, const struct thread *t, const struct call *c,
                      const struct row *r)
{
    const struct fact *d = r->decided, *asked = r->asked;
    struct jsonw       w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstr(&w, "id", r->id);
    jw_kstr(&w, "thread", t->id);
    jw_kstr(&w, "run", c->run->id);
    jw_kstr(&w, "tool", c->tool);
    jw_kstr(&w, "tool_use_id", c->id);
    jw_kraw(&w, "input", c->args ? c->input : STR("null"));
    text_or_null(&w, "ask", asked ? asked->ask : STR_NONE);
    text_or_null(&w, "risk", asked ? asked->risk : STR_NONE);
    text_or_null(&w, "said", said(c));
    if (fold_program_call(&t->fold)) jw_kstr(&w, "client", c->run->first->text);
    jw_kstrz(&w, "status", r->status);
    approval_time(&w, "requested_at", asked ? asked->at_ms : c->started ? c->started->at_ms : 0);
    approval_time(&w, "expires_at", asked ? asked->expires_ms : 0);
    approval_time(&w, "decided_at", d ? d->at_ms : 0);
    text_or_null(&w, "decided_by", d && d->by.len ? d->by : STR_NONE);
    text_or_null(&w, "decided_via", d && d->via.len ? d->via : STR_NONE);
    text_or_null(&w, "reason", d && d->reason.len ? d->reason : STR_NONE);
    if (asked && asked->schema.ptr) jw_kraw(&w, "schema", asked->schema);
    if (asked) approval_write_terms(&w, &t->fold, asked);
    if (asked && asked->who.ptr) write_withdrawn(&w, &t->fold, asked);
    if (!asked && d && d->who.ptr) approval_write_terms(&w, NULL, d); /* who would be asked */
    if (d && d->granted.ptr) jw_kraw(&w, "granted", d->granted);
    write_edit(&w, c);
    if (c->finished && c->finished->outcome == WORD_DUPLICATE)
        jw_kraw(&w, "duplicate_of", c->finished->data);
    if (c->finished && c->finished->outcome == WORD_UNKNOWN) jw_kstr(&w, "note", c->finished->text);
    if (c->late) {
        approval_time(&w, "late_at", c->late->at_ms);
        jw_kstrz(&w, "late_outcome", word_name(c->late->outcome));
        jw_kstr(&w, "late_text", c->late->text);
    }
    callcheck_write(&w, t, c);
    if (c->settled) {
        approval_time(&w, "settled_at", c->settled->at_ms);
        text_or_null(&w, "settled_by", c->settled->by);
        if (str_is(c->settled->via, "check")) jw_kstr(&w, "settled_via", c->settled->via);
        text_or_null(&w, "settled_note", c->settled->note.len ? c->settled->note : STR_NONE);
        jw_kraw(&w, "settled_result", c->settled->value.len ? c->settled->value : STR("null"));
    }
    jw_end_obj(&w);
}

static bool is_listed(const struct call *c)
{
    bool unknown = c->finished && c->finished->outcome == WORD_UNKNOWN;
    bool granted = c->decided && c->decided->grant.len,
         again = c->finished && c->finished->outcome == WORD_DUPLICATE;
    return c->gates || c->instead_of || unknown || granted || again ||
           (c->client && c->state >= CALL_STARTED);
}

enum err approval_room(struct thread *t, size_t rows)
{
    t->approvals = arena_array(&t->batch, rows, sizeof *t->approvals);
    t->approval_cap = t->approvals ? rows : 0;
    return t->approvals ? OK : ERR_NOMEM;
}

/* Facts of one call in one batch replace each other's row. */
static struct store_approval *slot(struct thread *t, struct str id)
{
    for (size_t i = 0; i < t->approval_count; i++)
        if (str_eq(t->approvals[i].id, id)) return &t->approvals[i];
    if (!t->approvals && approval_room(t, BATCH_APPROVALS)) return NULL;
    return t->approval_count < t->approval_cap ? &t->approvals[t->approval_count++] : NULL;
}

static int64_t due(const struct thread *t, const struct call *c, const struct row *r)
{
    if (c->state == CALL_STARTED && c->client) return call_client_due(t, c);
    if (call_unsettled(c)) return callcheck_due(t, c);
    if (!r->asked || r->asked != call_gate(c)) return 0;
    struct ballot b = { r->asked->who, t->owner, r->asked->at_ms,
                        c->escalated ? c->escalated->at_ms : r->asked->at_ms };
    int64_t       next = r->asked->who.ptr ? rules_next(&b) : 0, end = r->asked->expires_ms;
    return next && (!end || next < end) ? next : end;
}

static enum err put_row(struct thread *t, const struct call *c, const struct row *r)
{
    struct store_approval *row = slot(t, r->id);
    struct buf             body;
    if (!row) return t->approvals ? ERR_FULL : ERR_NOMEM;
    buf_init(&body, 0);
    write_row(&body, t, c, r);
    *row = (struct store_approval){ .id = r->id,
                                    .call = c->id,
                                    .tool = c->tool,
                                    .status = str_c(r->status),
                                    .body =
                                        body.err ? STR_NONE : arena_dup(&t->batch, buf_view(&body)),
                                    .requested_ms = r->asked     ? r->asked->at_ms
                                                    : c->started ? c->started->at_ms
                                                                 : 0,
                                    .expires_ms = due(t, c, r) };
    buf_done(&body);
    return row->body.ptr && r->id.ptr ? OK : ERR_NOMEM;
}

enum err approval_row(struct thread *t, const struct call *c)
{
    if (!is_listed(c)) return OK;
    struct row r = call_row(t, c);
    enum err   e = put_row(t, c, &r);
    if (e || !c->question || str_eq(c->question->id, r.id)) return e;
    r = question_row(c);
    return put_row(t, c, &r);
}

/* --- events ----------------------------------------------------------------------------------- */

static const char *event_of(const struct fact *f)
{
    switch (f->kind) {
    case FACT_ASKED: return "asked";
    case FACT_VOTED: return "voted";
    case FACT_ESCALATED: return "escalated";
    case FACT_SETTLED: return "settled";
    case FACT_FINISHED: return f->outcome == WORD_UNKNOWN ? "unknown" : NULL;
    case FACT_DECIDED:
        return f->outcome == WORD_EXPIRED     ? "expired"
               : f->outcome == WORD_CANCELLED ? "cancelled"
                                              : "decided";
    default: return NULL;
    }
}

enum err approval_event(struct thread *t, const struct call *c, const struct fact *f)
{
    const char *kind = event_of(f);
    struct str  id = f->id;
    if (!kind || t->event_count == BATCH_EVENTS) return OK;
    if (!id.len) id = call_row(t, c).id;
    if (!t->events && !(t->events = arena_array(&t->batch, BATCH_EVENTS, sizeof *t->events)))
        return ERR_NOMEM;
    for (size_t i = 0; i < t->approval_count; i++)
        if (str_eq(t->approvals[i].id, id))
            t->events[t->event_count++] =
                (struct store_event){ str_c(kind), id, t->approvals[i].body };
    return OK;
}
