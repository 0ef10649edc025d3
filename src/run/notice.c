/* notice.c -- what the server itself says about questions, in words: the blocks that tell them, and
 * what comes of an answer that decided nothing. See spoken.h. None of it is told to a model. */
#include "base/clock.h"
#include "base/id.h"
#include "base/jsonw.h"
#include "run/engine.h"
#include "run/people.h"
#include "run/response.h"
#include "run/rules.h"
#include "run/spelling.h"
#include "run/spoken.h"

static bool is_anothers(const struct fold *f, const char *code)
{
    for (size_t i = 0; i < f->call_count; i++) {
        const struct call *c = f->calls[i];
        if (c->state == CALL_ASKED && c->told && str_is(c->told->code, code)) return true;
    }
    return false;
}

/* A function that the client declares with its code in it could not be offered any more
 * (codes.c). */
static bool is_declared(const struct fold *f, unsigned number)
{
    struct str     text = f->run->first->declared;
    struct spelled x = { 0 };
    while (spelling_next(text, x.at + x.len, &x))
        if (x.number == number) return true;
    return false;
}

#define TRIES 100 /* a client may have declared all the codes there are */

/* Four digits that no other question here has while it waits. */
static void new_code(const struct fold *f, char out[5])
{
    for (unsigned tries = 0;; tries++) {
        uint32_t n;
        id_bytes(&n, sizeof n);
        if (n >= UINT32_MAX - UINT32_MAX % SPELLING_COUNT) continue; /* each is as likely */
        snprintf(out, 5, "%04u", n % SPELLING_COUNT);
        if (is_anothers(f, out)) continue;
        if (tries >= TRIES || !is_declared(f, n % SPELLING_COUNT)) return;
    }
}

/* What a model wrote must not end the line it stands in, or begin a block of its own. */
static void one_line(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        buf_chr(out, s.ptr[i] == '\n' || s.ptr[i] == '\r' ? ' ' : s.ptr[i]);
}

static struct ballot ballot_of(const struct thread *t, const struct fact *asked)
{
    return (struct ballot){ asked->who, t->owner, asked->at_ms, clock_wall_ms() };
}

/* May whoever reads this answer it? Of whom nothing is known (nobody signs in here) has every
 * role. */
static bool is_theirs(const struct thread *t, const struct fact *asked)
{
    struct ballot b = ballot_of(t, asked);
    struct voter  v = { t->owner, people_roles(t->hub->setup.people, t->owner) };
    return !asked->who.ptr || !v.roles.ptr || rules_standing(&b, &v) == MAY_DECIDE;
}

/* Where a rule wants others, or several. */
static void say_who(struct buf *out, struct thread *t, const struct fact *asked, bool theirs)
{
    struct ballot b = ballot_of(t, asked);
    struct jv    *who = NULL;
    unsigned      needed = asked->who.ptr ? rules_needed(&b) : 1;
    if ((theirs && needed == 1) || json_parse(&t->batch, asked->who, &who, NULL) != OK) return;
    buf_printf(out, " %u of ", needed);
    one_line(out, jv_str_at(jv_get(who, "from"), "role"));
    buf_printf(out, " %s to say yes%s.", needed == 1 ? "has" : "have", theirs ? "" : ", not you");
}

/* A tool at work wants more than a word (a form filled in, an account): its question is answered
 * where the link leads. One that is for others to answer has no code. */
static void block(struct buf *out, struct thread *t, const struct call *c, const struct fact *asked,
                  const char *code, struct str link)
{
    bool         theirs = is_theirs(t, asked);
    struct jsonw w;
    buf_lit(out, "**");
    one_line(out, asked->ask);
    buf_lit(out, "**\n");
    one_line(out, c->tool);
    buf_chr(out, ' ');
    jsonw_init(&w, out);
    if (c->args) jw_jv(&w, c->args);
    else buf_lit(out, "{}");
    if (!theirs) buf_lit(out, "\nTo see it open ");
    else if (code[0])
        buf_printf(out, "\nReply `yes %s` to approve or `no %s` and a reason to deny, or open ",
                   code, code);
    else buf_printf(out, "\nTo %s it open ", asked_by_tool(asked) ? "answer" : "approve or deny");
    buf_str(out, link);
    buf_str(out, asked->id);
    buf_chr(out, '.');
    say_who(out, t, asked, theirs);
    buf_lit(out, asked_by_tool(asked) ? " It waits until then." : " Nothing happens before.");
}

static enum err tell(struct thread *t, const struct call *c, const struct fact *asked,
                     struct str link, bool codes)
{
    char       code[5] = "";
    struct buf text = { 0 };
    if (codes && !asked_by_tool(asked) && is_theirs(t, asked)) new_code(&t->fold, code);
    block(&text, t, c, asked, code, link);
    struct fact f = { .kind = FACT_TOLD,
                      .call = c->id,
                      .id = asked->id,
                      .code = code[0] ? str_c(code) : STR_NONE,
                      .digest = asked->digest,
                      .text = buf_view(&text) };
    enum err    e = text.err ? ERR_NOMEM : thread_add(t, &f);
    buf_done(&text);
    return e;
}

bool notice_tell(struct thread *t, enum err *e)
{
    const struct fold *f = &t->fold;
    const struct fact *r = f->response_count ? f->responses[f->response_count - 1] : NULL;
    if (!r || !r->link.ptr || !run_live(f->run) || !str_eq(r->run, f->run->id) ||
        r->seq < f->copied)
        return false;
    for (size_t i = 0; i < f->run->call_count; i++) {
        const struct call         *c = f->run->calls[i];
        const struct confirmation *k = call_open_at(c, f->count);
        if (!k || k->told || !response_tells(r, k->asked)) continue;
        *e = tell(t, c, k->asked, r->link, r->codes);
        return true;
    }
    return false;
}

/* --- answers that decided nothing ------------------------------------------------------------- */

static void add_sentence(struct buf *out, const char *text)
{
    if (out->len) buf_lit(out, "\n\n");
    buf_lit(out, text);
}

static void closed(struct buf *out, const struct call *c, struct str link)
{
    add_sentence(out, "Answers in words are closed for this question, because the code was wrong "
                      "three times: ");
    one_line(out, c->asked->ask);
    buf_lit(out, " Open ");
    buf_str(out, link);
    buf_str(out, c->asked->id);
    buf_lit(out, " instead.");
}

static void wrong_code(struct buf *out, const struct fold *f, struct str link)
{
    const struct run *r = f->run;
    bool              open = false, any = false;
    for (size_t i = 0; run_live(r) && i < r->call_count; i++) {
        if (!call_pending(r->calls[i])) continue;
        any = true;
        if (r->calls[i]->state == CALL_ASKED && r->calls[i]->tries >= SPOKEN_TRIES)
            closed(out, r->calls[i], link);
        else open = true;
    }
    if (open)
        add_sentence(out,
                     "That is not the code of a question that waits here. Nothing was decided; "
                     "read the code above again, or open the link that stands beside it.");
    if (!any) add_sentence(out, "Nothing waits for an answer here any more.");
}

static enum err tell_again(struct thread *t, const struct response_wish *w, struct buf *out)
{
    const struct run *r = t->fold.run;
    enum err          e = OK;
    for (size_t i = 0; run_live(r) && i < r->call_count && !e; i++) {
        const struct call         *c = r->calls[i];
        const struct confirmation *k = call_open_at(c, t->fold.count);
        if (!k) continue;
        if (c->state == CALL_ASKED && c->tries >= SPOKEN_TRIES) {
            closed(out, c, w->link);
            continue;
        }
        if (!k->told) e = tell(t, c, k->asked, w->link, w->codes);
        if (e || !k->told) continue;
        if (out->len) buf_lit(out, "\n\n");
        buf_str(out, k->told->text);
    }
    if (!out->len) add_sentence(out, "Nothing waits for an answer here any more.");
    return e;
}

enum err notice_respond(struct thread *t, struct command *c)
{
    struct response_wish w;
    struct buf           text = { 0 };
    enum err             e = response_wish_read(&t->batch, c->response, &w);
    struct fact          past = { .kind = FACT_BROUGHT, .data = c->respond.brought, .via = c->via };
    if (!e && !t->fold.count && c->respond.brought.len) e = thread_add(t, &past);
    if (e) return e;
    switch ((enum respond)c->respond.what) {
    case RESPOND_SAY: buf_str(&text, c->respond.text); break;
    case RESPOND_AGAIN: e = tell_again(t, &w, &text); break;
    case RESPOND_TRIED: {
        struct fact f = { .kind = FACT_TRIED, .by = c->by, .via = c->via };
        e = thread_add(t, &f);
        if (!e) wrong_code(&text, &t->fold, w.link);
    }
    }
    if (!e && text.err) e = ERR_NOMEM;
    if (!e) e = response_add(t, c, STR_NONE, buf_view(&text));
    buf_done(&text);
    return e;
}
