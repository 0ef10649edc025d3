/* tell.c -- honest sentences about what happened.
 *
 * The model sees of a tool only the text it was told. Whatever that text says, a
 * call ends in one of six ways, and each has its sentence: done (by tool, below),
 * denied, expired, called off, unknown, failed. Nothing is claimed that the
 * result does not say.
 */
#include "model/demo/tell.h"

#include "base/utf8.h"
#include "model/demo/functions.h"

enum end { END_DONE, END_DENIED, END_EXPIRED, END_CANCELLED, END_UNKNOWN, END_FAILED };

#define QUOTE_MAX 300 /* characters of a tool's own words that are repeated */

struct told {
    const struct demo_outcome *o;
    const struct jv           *input; /* of the call; NULL when it cannot be read */
    const struct jv           *value; /* the result, when it is JSON */
    struct str                 text;  /* the result as text, or its error */
    enum end                   end;
};

/* --- how did it end? ------------------------------------------------------------ */

static bool mentions(struct str text, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= text.len; i++)
        if (str_eq_nocase(str_n(text.ptr + i, n), str_n(what, n))) return true;
    return false;
}

static enum end end_of_error(const struct told *t)
{
    if (jv_true(jv_get(t->value, "denied")) || mentions(t->text, "user denied")) return END_DENIED;
    if (mentions(t->text, "expired") || mentions(t->text, "approval request timed out"))
        return END_EXPIRED;
    if (mentions(t->text, "may or may not") || mentions(t->text, "outcome is unknown") ||
        mentions(t->text, "outcome unknown") || mentions(t->text, "unknown outcome"))
        return END_UNKNOWN;
    if (mentions(t->text, "cancelled") || mentions(t->text, "superseded")) return END_CANCELLED;
    return END_FAILED;
}

static const struct jv *try_json(struct arena *a, struct str text)
{
    struct jv *v;
    text = str_trim(text);
    if (!text.len || !strchr("{[\"", text.ptr[0])) return NULL;
    return json_parse(a, text, &v, NULL) == OK ? v : NULL;
}

/* A client's function is no tool of the demo's, whatever it is called. */
static const struct demo_outcome *outcome_for(const struct model_request *q, struct str tool)
{
    const struct demo_outcome *o = DEMO_OUTCOMES;
    bool                       own = functions_declared(q, tool);
    while (o->tool && (own || !str_is(tool, o->tool))) o++;
    return o;
}

/* --- sentences -------------------------------------------------------------------- */

static void add_cut(struct buf *out, struct str s)
{
    size_t n = utf8_take(s, QUOTE_MAX);
    buf_str(out, str_cut(s, n));
    if (n < s.len) buf_lit(out, "...");
}

static void add_value(struct buf *out, const struct jv *v)
{
    if (!v) buf_chr(out, '?');
    else add_cut(out, v->type == JSON_STRING ? v->str : v->raw);
}

/* "send {amount} {currency} to {recipient}" with the members of the call's input. */
static void add_filled(struct buf *out, const char *tmpl, const struct jv *input)
{
    struct str rest = str_c(tmpl), piece, name;
    while (str_split(&rest, '{', &piece)) {
        buf_str(out, piece);
        if (!rest.ptr || !str_split(&rest, '}', &name)) break;
        add_value(out, jv_get_str(input, name));
    }
}

static void add_sentence(struct buf *out, const char *before, const struct told *t,
                         const char *after)
{
    buf_lit(out, before);
    add_filled(out, t->o->task, t->input);
    buf_lit(out, after);
}

static void add_text(struct buf *out, const struct told *t)
{
    add_cut(out, str_trim(t->text));
    size_t end = out->len;
    /* "(... touched.)" has its full stop */
    while (end && out->ptr[end - 1] && strchr(")]\"'", out->ptr[end - 1])) end--;
    if (!end || !strchr(".!?", out->ptr[end - 1])) buf_chr(out, '.');
}

static void tell_denied(struct buf *out, const struct told *t)
{
    struct str reason = jv_str_at(t->value, "reason");
    add_sentence(out, "All right, I did not ", t,
                 ". Nothing has happened, and nothing will until you ask me again.");
    if (!reason.len) return;
    buf_lit(out, " I noted your reason: \"");
    add_cut(out, reason);
    buf_lit(out, "\".");
}

static void tell_end(struct buf *out, const struct told *t)
{
    switch (t->end) {
    case END_DONE: return;
    case END_DENIED: tell_denied(out, t); return;
    case END_EXPIRED:
        add_sentence(out, "Nobody answered in time, so I did not ", t,
                     ". Ask me again whenever you like.");
        return;
    case END_CANCELLED:
        add_sentence(out, "That was called off before I could ", t, ", so nothing was done.");
        return;
    case END_UNKNOWN:
        add_sentence(out, "I do not know whether I managed to ", t,
                     ": the server was interrupted while it was under way, and I will not guess. "
                     "Please check "
                     "before trying again, so that it does not happen twice.");
        return;
    case END_FAILED:
        add_sentence(out, "I could not ", t, ": ");
        add_text(out, t);
        return;
    }
}

/* --- done, by tool ------------------------------------------------------------------- */

static bool is_listed(struct str line)
{
    size_t n = 0;
    while (n < line.len && line.ptr[n] >= '0' && line.ptr[n] <= '9') n++;
    return n > 0 && str_starts(str_from(line, n), STR(". "));
}

/* The numbered lines of a search result: the titles. */
static int add_titles(struct buf *out, struct str text)
{
    int        n = 0;
    struct str line;
    while (str_split(&text, '\n', &line)) {
        if (!is_listed(line)) continue;
        buf_chr(out, '\n');
        buf_str(out, line);
        n++;
    }
    return n;
}

static void tell_articles(struct buf *out, const struct told *t)
{
    struct buf titles;
    buf_init(&titles, 0);
    int n = add_titles(&titles, t->text);
    if (n == 0)
        add_filled(
            out,
            "I found no relevant articles about \"{query}\". The library is small; try CRISPR, "
            "batteries, sleep or exoplanets.",
            t->input);
    else if (n == 1) buf_lit(out, "I found 1 relevant article.\n");
    else buf_printf(out, "I found %d relevant articles.\n", n);
    buf_str(out, buf_view(&titles));
    buf_done(&titles);
}

static void tell_search(struct buf *out, const struct told *t)
{
    struct buf titles;
    buf_init(&titles, 0);
    int n = add_titles(&titles, t->text);
    if (n == 0)
        add_filled(out,
                   "I found nothing about \"{query}\". This demo has no internet, only its small "
                   "built-in library.",
                   t->input);
    else {
        buf_printf(out, "I found %d %s about ", n, n == 1 ? "entry" : "entries");
        add_filled(out,
                   "\"{query}\" in the built-in library, which is all the web this demo has:\n",
                   t->input);
    }
    buf_str(out, buf_view(&titles));
    buf_done(&titles);
}

static void tell_weather(struct buf *out, const struct told *t)
{
    add_text(out, t);
    buf_lit(out, " (The demo makes its weather from the city's name, so it never changes.)");
}

static bool is_asian(struct str s)
{
    for (size_t at = 0; at < s.len;) {
        uint32_t cp;
        at += utf8_decode(str_from(s, at), &cp);
        if (cp >= 0x2e80 && cp != 0xfffd) return true;
    }
    return false;
}

static void tell_payment(struct buf *out, const struct told *t)
{
    if (is_asian(jv_str_at(t->input, "recipient")))
        add_filled(out, "{recipient}さんに{amount} {currency}を送金しました。\n\n", t->input);
    add_filled(out,
               "Done: {amount} {currency} went to {recipient}. The payment stands in the ledger "
               "exactly once, "
               "under its own call id, so it cannot happen twice by accident.",
               t->input);
}

static void tell_bgm(struct buf *out, const struct told *t)
{
    add_filled(out, "BGM changed to track {track}. Your browser did that, after you allowed it.",
               t->input);
}

static void tell_location(struct buf *out, const struct told *t)
{
    static const char *const nested[] = { "coords", "location", "result", "position" };
    const struct jv         *v = t->value;
    for (size_t i = 0; v && i < 4 && !jv_get(v, "latitude"); i++)
        if (jv_get(t->value, nested[i])) v = jv_get(t->value, nested[i]);
    if (!jv_get(v, "latitude") || !jv_get(v, "longitude")) {
        buf_lit(out, "Your browser says: ");
        add_text(out, t);
        return;
    }
    add_filled(out, "You are at latitude {latitude}, longitude {longitude}", v);
    if (jv_is(jv_get(v, "accuracy"), JSON_NUMBER))
        add_filled(out, ", give or take {accuracy} metres", v);
    buf_lit(out, ". Only your browser knew that; it told me because you agreed.");
}

static void tell_artifact(struct buf *out, const struct told *t)
{
    add_text(out, t);
    buf_lit(out,
            " It is one self-contained page: no libraries, no network. Open it and try it out.");
}

static void tell_image(struct buf *out, const struct told *t)
{
    add_text(out, t);
    buf_lit(out, " It is drawn from the words of your request, so the same words always give the "
                 "same picture.");
}

static void tell_done(struct buf *out, const struct told *t)
{
    static const struct {
        const char *tool;
        void (*tell)(struct buf *, const struct told *);
    } by_tool[] = {
        { "search_articles", tell_articles },
        { "browser_search", tell_search },
        { "get_weather", tell_weather },
        { "process_payment", tell_payment },
        { "change_bgm", tell_bgm },
        { "get_location", tell_location },
        { "generate_artifact", tell_artifact },
        { "generate_image", tell_image },
    };
    for (size_t i = 0; t->o->tool && i < sizeof by_tool / sizeof *by_tool; i++)
        if (!strcmp(t->o->tool, by_tool[i].tool)) {
            by_tool[i].tell(out, t);
            return;
        }
    if (t->text.len) add_text(out, t);
    else buf_lit(out, "That is done.");
}

/* --- all of them ------------------------------------------------------------------------ */

static struct str input_of(const struct model_request *q, size_t from, struct str id)
{
    for (size_t i = from; i < q->msg_count; i++)
        for (size_t k = 0; k < q->msgs[i].count; k++) {
            const struct msg_part *p = &q->msgs[i].parts[k];
            if (p->type == PART_CALL && str_eq(p->id, id)) return p->input;
        }
    return STR_NONE;
}

static bool is_reply_tool(struct str name)
{
    return str_is(name, "suggest_replies") || str_is(name, "suggest_actions") ||
           str_is(name, "present");
}

static void tell_one(struct buf *out, struct arena *a, const struct msg_part *p, struct str input,
                     const struct demo_outcome *o)
{
    struct told t = {
        .o = o, .text = p->text, .input = try_json(a, input), .value = try_json(a, p->text)
    };
    struct str error = jv_str_at(t.value, "error");
    if (error.ptr) t.text = error;
    else if (jv_is(t.value, JSON_STRING)) t.text = t.value->str;
    t.end = p->is_error || error.ptr ? end_of_error(&t) : END_DONE;
    if (out->len) buf_lit(out, "\n\n");
    if (t.end == END_DONE) tell_done(out, &t);
    else tell_end(out, &t);
}

size_t tell_outcomes(struct buf *out, const struct model_request *q, size_t from,
                     const struct demo_outcome **last)
{
    struct arena a;
    size_t       told = 0;
    arena_init(&a, 0);
    for (size_t i = from; i < q->msg_count; i++)
        for (size_t k = 0; k < q->msgs[i].count; k++) {
            const struct msg_part *p = &q->msgs[i].parts[k];
            if (p->type != PART_RESULT || is_reply_tool(p->name)) continue;
            *last = outcome_for(q, p->name);
            tell_one(out, &a, p, input_of(q, from, p->id), *last);
            told++;
        }
    arena_done(&a);
    return told;
}
