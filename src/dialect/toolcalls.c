/* toolcalls.c -- the tool-calling events of /functions/v1/chat. One data line per event; ends with
 * done and [DONE]. Every event and its members: docs/doors.md. */
#include "base/clock.h"
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "dialect/plain.h"
#include "run/metrics.h"

#define BLANK       2u /* line ends that make a blank line */
#define SOURCES_MAX 20

static void open_stream(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

/* The texts of two steps are set apart by a blank line. */
static void begin_step(struct encoder *e, const struct part *first)
{
    (void)first;
    plain_of(e)->weave.separate = plain_of(e)->weave.any;
}

static void part_begin(struct encoder *e, const struct part *p)
{
    if (p->type != STEP_TEXT) return;
    plain_of(e)->part_units = e->units;
    /* the client has the event of this place: the blank line */
    if (e->quiet && !e->skip) plain_of(e)->weave.newlines = BLANK;
}

static void content(struct encoder *e, struct str text)
{
    struct jsonw w;
    if (!text.len) return;
    if (!event_begin_at(e, &w, NULL)) return;
    jw_key(&w, "choices");
    jw_arr(&w);
    jw_obj(&w);
    jw_key(&w, "delta");
    jw_obj(&w);
    jw_kstr(&w, "content", text);
    jw_end_obj(&w);
    jw_end_obj(&w);
    jw_end_arr(&w);
    event_end(e, &w);
}

static void blank_line(struct encoder *e)
{
    uint64_t units = e->units;
    e->units = plain_of(e)->part_units;
    content(e, str_from(STR("\n\n"), plain_of(e)->weave.newlines));
    e->units = units;
    plain_of(e)->weave.separate = false;
}

static void words(struct encoder *e, struct str b)
{
    struct marker_weave *w = &plain_of(e)->weave;
    while (w->separate && b.len && b.ptr[0] == '\n') b = str_from(b, 1);
    if (!b.len) return;
    if (w->separate) blank_line(e);
    content(e, b);
    w->any = true;
    w->newlines = b.ptr[b.len - 1] != '\n' ? 0 : b.len > 1 && b.ptr[b.len - 2] != '\n' ? 1 : BLANK;
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool last)
{
    struct jsonw w;
    (void)last;
    e->units += b.len;
    if (p->type == STEP_TEXT) words(e, b);
    else if (p->type == STEP_REASONING && event_begin_at(e, &w, "reasoning_status")) {
        jw_kstr(&w, "content", b);
        jw_kint(&w, "timestamp", clock_wall_ms());
        event_end(e, &w);
    }
    e->units -= b.len;
    return b.len;
}

static void part_end(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (p->type != STEP_CALL || !p->intent.ptr || !event_begin_at(e, &w, "intent_confirmation"))
        return;
    jw_kstr(&w, "message", p->intent);
    jw_kstr(&w, "toolName", p->tool);
    jw_kint(&w, "timestamp", p->at_ms);
    event_end(e, &w);
    metrics_intent_told(p->call);
}

/* --- facts ---------------------------------------------------------------------------------- */

/* Places are the typed door's too, whose stream is how a client of this door
 * reconnects: a start is one unit there, so this line is none of its own. */
static void status_update(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    struct buf   text;
    if (!event_begin_live(e, &w, "status_update")) return;
    buf_init(&text, 1024);
    if (f->text.len) buf_str(&text, f->text);
    else buf_printf(&text, "Running " STR_FMT "...", STR_ARG(c->tool));
    jw_kbuf(&w, "status", &text);
    buf_done(&text);
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

static void told_start(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    status_update(e, f, c);
    if (!event_begin(e, &w, "tool_call_start")) return;
    jw_kstr(&w, "toolName", c->tool);
    jw_kstr(&w, "toolCallId", c->id);
    payload_input(&w, "arguments", c);
    if (c->client) jw_kstrz(&w, "where", "client");
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

/* Something to look at, not code to run. */
static bool is_image(const struct call *c, struct str type)
{
    return str_starts(type, STR("image")) ||
           (str_is(type, "svg") && str_is(c->tool, "generate_image"));
}

static void put_escaped(struct buf *out, struct str s)
{
    static const char PLAIN[] = "-_.~!*'()";
    for (size_t i = 0; i < s.len; i++) {
        unsigned char b = (unsigned char)s.ptr[i];
        bool          plain = (b >= '0' && b <= '9') || ((b | 32) >= 'a' && (b | 32) <= 'z') ||
                     (b && strchr(PLAIN, b));
        if (plain) buf_chr(out, (char)b);
        else buf_printf(out, "%%%02X", b);
    }
}

/* A picture as an address: the content is one, or SVG text, or base64 of the type that stands
 * beside it. */
static void put_image(struct buf *out, struct str type, struct str content)
{
    if (str_starts(content, STR("data:")) || str_starts(content, STR("https:")))
        buf_str(out, content);
    else if (str_starts(str_trim(content), STR("<"))) {
        buf_lit(out, "data:image/svg+xml,");
        put_escaped(out, content);
    } else {
        buf_lit(out, "data:");
        buf_str(out, str_starts(type, STR("image/")) ? type : STR("image/png"));
        buf_lit(out, ";base64,");
        buf_str(out, content);
    }
}

static void told_image(struct encoder *e, const struct fact *f, const struct call *c,
                       const struct jv *v)
{
    struct jsonw w;
    struct buf   url;
    if (!event_begin_live(e, &w, "image_complete")) return;
    buf_init(&url, 0);
    put_image(&url, jv_str_at(v, "type"), jv_str_at(v, "content"));
    jw_kstr(&w, "toolName", c->tool);
    jw_kbuf(&w, "imageUrl", &url);
    jw_kstr(&w, "artifactId", jv_str_at(v, "id"));
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
    buf_done(&url);
}

/* As an object for the document's reader; flat for its client, which must not take a picture for
 * code. */
static void told_artifact(struct encoder *e, const struct fact *f, const struct call *c,
                          const struct jv *v)
{
    struct jsonw w;
    bool         image = is_image(c, jv_str_at(v, "type"));
    if (!jv_is(jv_get(v, "content"), JSON_STRING) || !jv_is(jv_get(v, "id"), JSON_STRING) ||
        !jv_is(jv_get(v, "type"), JSON_STRING))
        return;
    if (event_begin_live(e, &w, "artifact_complete")) {
        jw_kstr(&w, "toolName", c->tool);
        jw_key(&w, "artifact");
        jw_jv(&w, v);
        if (!image) {
            jw_kstr(&w, "artifactCode", jv_str_at(v, "content"));
            jw_kstr(&w, "artifactType", jv_str_at(v, "type"));
            jw_kstr(&w, "artifactTitle", jv_str_at(v, "title"));
            jw_kstr(&w, "artifactId", jv_str_at(v, "id"));
        }
        jw_kint(&w, "timestamp", f->at_ms);
        event_end(e, &w);
    }
    if (image) told_image(e, f, c, v);
}

static bool is_source(const struct jv *v)
{
    return jv_str_at(v, "title").len && jv_str_at(v, "url").len;
}

static struct str snippet(const struct jv *v)
{
    static const char *const KEYS[] = { "snippet", "abstract", "content", "description" };
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (jv_str_at(v, KEYS[i]).ptr) return jv_str_at(v, KEYS[i]);
    return STR("");
}

static void put_sources(struct jsonw *w, const struct jv *list)
{
    size_t n = 0;
    jw_arr(w);
    JV_EACH (s, list) {
        if (!is_source(s) || n++ == SOURCES_MAX) continue;
        jw_obj(w);
        jw_kstr(w, "title", jv_str_at(s, "title"));
        jw_kstr(w, "url", jv_str_at(s, "url"));
        jw_kstr(w, "snippet", snippet(s));
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

/* A search is what answers a query with a list of titles and addresses. */
static void told_sources(struct encoder *e, const struct fact *f, const struct call *c,
                         const struct jv *v)
{
    struct jsonw     w;
    struct str       query = jv_str_at(c->args, "query");
    const struct jv *list = jv_get(v, "sources");
    bool             any = false;
    if (!jv_is(list, JSON_ARRAY)) list = jv_get(v, "results");
    if (!query.len || !jv_is(list, JSON_ARRAY)) return;
    JV_EACH (s, list) any |= is_source(s);
    if (!any || !event_begin_live(e, &w, "web_search")) return;
    jw_key(&w, "data");
    jw_obj(&w);
    jw_kstr(&w, "query", query);
    jw_key(&w, "sources");
    put_sources(&w, list);
    jw_kint(&w, "timestamp", f->at_ms);
    jw_end_obj(&w);
    event_end(e, &w);
}

/* What was made and what was found, before the outcome itself. None of it is a unit: the typed door
 * has no such events. */
static void told_made(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct arena a;
    struct jv   *v = NULL;
    if (event_silent(e) || !call_ok(c) || !f->value.ptr) return;
    arena_init(&a, 0);
    if (json_parse(&a, f->value, &v, NULL) == OK && jv_is(v, JSON_OBJECT)) {
        told_artifact(e, f, c, v);
        told_sources(e, f, c, v);
    }
    arena_done(&a);
}

static void told_result(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    told_made(e, f, c);
    /* an outcome, the blank line before its marker and the marker are three units on the typed
     * door */
    event_leave_out(e);
    event_leave_out(e);
    if (!event_begin(e, &w, "tool_result")) return;
    jw_kstr(&w, "toolName", c->tool);
    jw_kstr(&w, "toolCallId", c->id);
    jw_kbool(&w, "success", call_ok(c));
    if (call_ok(c)) payload_output(&w, "result", c);
    else payload_error(&w, "error", c);
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

static void told_confirmation(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    if (!event_begin(e, &w, "tool_confirmation")) return;
    payload_gate(&w, "confirmation_id", NULL, c, f);
    jw_kstr(&w, "toolName", c->tool);
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

static void done(struct encoder *e, const struct run *r)
{
    struct jsonw w;
    if (!event_begin(e, &w, "done")) return;
    if (payload_cut(r)) jw_kstrz(&w, "finish_reason", payload_cut(r));
    event_end(e, &w);
}

static void told_wait(struct encoder *e, const struct thread *t, const struct run *r, uint64_t seq)
{
    (void)t;
    (void)seq;
    done(e, r);
}

static void told_end(struct encoder *e, const struct thread *t, const struct fact *f)
{
    struct jsonw w;
    if (f->outcome != WORD_ERROR) {
        done(e, fold_run(thread_fold(t), f->run));
        return;
    }
    if (!event_begin(e, &w, "error")) return;
    jw_kstr(&w, "error", f->text);
    jw_kstr(&w, "code", f->code);
    event_end(e, &w);
}

/* --- the head --------------------------------------------------------------------------------- */

static void progress(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!c->message.len && !c->stage.len) return;
    if (!event_begin_live(e, &w, "status_update")) return;
    jw_kstr(&w, "status", c->message.len ? c->message : c->stage);
    jw_kint(&w, "timestamp", clock_wall_ms());
    event_end(e, &w);
}

static const struct plain_words WORDS = { told_confirmation, told_start, told_result,
                                          told_wait,         told_end,   progress };

static void fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    plain_fact(e, t, f, &WORDS);
}
static void head(struct encoder *e, const struct thread *t)
{
    plain_progress(e, t, &WORDS);
}
static void reset(struct encoder *e, const struct thread *t)
{
    (void)t;
    plain_take_back(e);
}

static void restart(struct encoder *e)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, "error")) return;
    jw_kstrz(&w, "error", encoder_farewell(e));
    jw_kstrz(&w, "code", encoder_farewell_code(e));
    event_end(e, &w);
}

static void close_stream(struct encoder *e)
{
    event_raw(e, STR("[DONE]"));
}

const struct dialect dialect_toolcalls = {
    .name = "toolcalls",
    .ids = true,
    .start = plain_start,
    .continues = plain_continues,
    .open = open_stream,
    .step_begin = begin_step,
    .part_begin = part_begin,
    .bytes = bytes,
    .part_end = part_end,
    .fact = fact,
    .head = head,
    .reset = reset,
    .restart = restart,
    .close = close_stream,
};
