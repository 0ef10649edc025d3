/* http.c -- one call of an endpoint.
 *
 * The body is kept until the end for JSON and text, and read as it comes for
 * events. The result is told in one place, on_done, from the transfer's code,
 * the status and what was said; docs/outcomes.md is its table.
 */
#include "tool/http.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/sse_in.h"
#include "tool/exec_out.h"
#include "tool/http_int.h"
#include "tool/identity.h"
#include "tool/policy.h"
#include "tool/text.h"

#define CONNECT_MS  10000L
#define EXCERPT_MAX 200

enum kind { KIND_UNKNOWN, KIND_JSON, KIND_TEXT, KIND_EVENTS, KIND_OTHER };

struct http_job {
    struct curl_job     transfer;
    struct tool_job    *job;
    struct http_tool   *tool;
    struct curl_slist  *headers;
    struct egress_check check;
    struct buf          body;
    struct sse_in       events;
    struct exec_out     said;
    struct pace         pace;
    enum kind           kind;
    long                status;
    size_t              heard;
    const char         *note; /* for the card; NULL: none */
    bool                cancelled, too_long, pace_open;
};

/* --- the answer, as it comes ----------------------------------------------------------- */

static bool type_is(const char *type, const char *want)
{
    size_t n = strlen(want);
    return type && strncasecmp(type, want, n) == 0 &&
           (type[n] == 0 || type[n] == ';' || type[n] == ' ');
}

static enum kind kind_of(const char *type)
{
    if (type_is(type, "text/event-stream")) return KIND_EVENTS;
    if (type_is(type, "application/json")) return KIND_JSON;
    if (type_is(type, "text/plain")) return KIND_TEXT;
    if (type && strstr(type, "+json")) return KIND_JSON;
    return KIND_OTHER;
}

static void look_at_head(struct http_job *x)
{
    char *type = NULL;
    curl_easy_getinfo(x->transfer.easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(x->transfer.easy, CURLINFO_RESPONSE_CODE, &x->status);
    x->kind = kind_of(type);
    /* an error's body is kept, never read as progress */
    if (x->status < 200 || x->status > 299) x->kind = KIND_OTHER;
}

/* Returning less than `n` ends the transfer. */
static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct http_job *x = ctx;
    enum err         e;

    if (x->cancelled) return 0;
    if (x->kind == KIND_UNKNOWN) look_at_head(x);
    x->heard += n;
    x->too_long = x->heard > x->tool->response_max;
    if (x->kind == KIND_EVENTS) e = x->too_long ? ERR_FULL : sse_in_feed(&x->events, str_n(p, n));
    else {
        /* as much as may be kept */
        buf_add(&x->body, p, x->too_long ? x->tool->response_max - x->body.len : n);
        e = x->too_long ? ERR_FULL : x->body.err;
    }
    if (e == OK) return n;
    x->too_long = true;
    return 0;
}

/* One event is one line of exec_out; JSON may hold line breaks between its parts only, where a
 * blank does as well. The first verdict stands: what is said after a result or an error does not
 * unsay it. */
static void on_event(struct sse_in *e, struct str name, struct str data)
{
    struct http_job *x = LIST_ITEM(e, struct http_job, events);
    struct buf       line;

    if (x->said.end != EXEC_NO_END) return;
    buf_init(&line, 0);
    for (size_t i = 0; i < data.len; i++) buf_chr(&line, data.ptr[i] == '\n' ? ' ' : data.ptr[i]);
    buf_chr(&line, '\n');
    if (line.err || exec_out_feed(&x->said, buf_view(&line)) != OK) x->too_long = true;
    buf_done(&line);
}

static void on_progress(struct exec_out *o, const struct tool_progress *p)
{
    pace_tell(&LIST_ITEM(o, struct http_job, said)->pace, p);
}

/* --- the result -------------------------------------------------------------------------- */

static void not_known(struct buf *text)
{
    buf_lit(text, " Whether it had an effect is not known.");
}

static enum tool_outcome no_answer(struct http_job *x, CURLcode code, struct buf *text)
{
    if (x->cancelled) return policy_stopped(x->check.sent, text);
    if (x->check.refused) {
        buf_printf(text, STR_FMT " is a private address, and this tool may not connect to it.",
                   STR_ARG(x->tool->host));
        return TOOL_FAILED;
    }
    if (x->too_long)
        buf_printf(text, "It answered with more than %zu bytes.", x->tool->response_max);
    else if (code == CURLE_OPERATION_TIMEDOUT)
        buf_printf(text, "It did not answer within %g s.", x->job->tool->timeout_ms / 1000.0);
    else if (x->check.sent)
        buf_printf(text, "The connection ended before its answer (%s).", curl_words(code));
    else buf_printf(text, "It could not be reached (%s).", curl_words(code));
    if (!x->check.sent) return TOOL_FAILED;
    not_known(text);
    return TOOL_UNKNOWN;
}

/* Only a 4xx says that nothing was done. After anything else that is no 2xx it may have been. */
static enum tool_outcome bad_status(struct http_job *x, struct buf *text)
{
    bool refused = x->status >= 400 && x->status < 500;

    buf_printf(text, "It answered with status %ld", x->status);
    if (x->status >= 300 && x->status < 400) buf_lit(text, ", a redirect, which is not followed");
    else if (x->body.len) buf_lit(text, ": ");
    if (x->status >= 400) text_clean(text, str_trim(buf_view(&x->body)), EXCERPT_MAX);
    if (refused) return TOOL_FAILED;
    buf_chr(text, '.');
    not_known(text);
    return TOOL_UNKNOWN;
}

static enum tool_outcome say_events(struct http_job *x, struct buf *text, struct buf *value)
{
    if (sse_in_end(&x->events) != OK || exec_out_eof(&x->said) != OK) x->too_long = true;
    switch (x->said.end) {
    case EXEC_RESULT:
        text_of_value(text, buf_view(&x->said.value));
        buf_str(value, buf_view(&x->said.value));
        return TOOL_DONE;
    case EXEC_ERROR: buf_str(text, buf_view(&x->said.value)); return TOOL_FAILED;
    case EXEC_NO_END: break;
    }
    buf_lit(text, "Its events ended without a result.");
    not_known(text);
    return TOOL_UNKNOWN;
}

static bool is_json(struct str body)
{
    struct arena a;
    struct jv   *v;
    bool         yes;
    arena_init(&a, 0);
    yes = json_parse(&a, body, &v, NULL) == OK;
    arena_done(&a);
    return yes;
}

/* 2xx, so it was done, whatever the answer looks like. */
static enum tool_outcome say_body(struct http_job *x, struct buf *text, struct buf *value)
{
    struct str   body = str_trim(buf_view(&x->body));
    struct jsonw w;

    if (x->kind == KIND_JSON && !x->too_long && is_json(body)) {
        text_of_value(text, body);
        buf_str(value, body);
        return TOOL_DONE;
    }
    if (x->too_long)
        x->note = "Its answer was longer than this tool may answer; the rest of it was left out.";
    else if (x->kind != KIND_TEXT && body.len)
        x->note = "Its answer is not JSON and is shown as text.";
    text_clean(text, body, body.len);
    jsonw_init(&w, value);
    jw_str(&w, buf_view(text));
    return TOOL_DONE;
}

static enum tool_outcome say(struct http_job *x, CURLcode code, struct buf *text, struct buf *value)
{
    if (x->kind == KIND_UNKNOWN) look_at_head(x); /* no body at all */
    bool done = x->status >= 200 && x->status < 300, refused = x->status >= 400 && x->status < 500;
    /* it said all before it broke off */
    if (x->kind == KIND_EVENTS && x->said.end != EXEC_NO_END) return say_events(x, text, value);
    if (refused) return bad_status(x, text); /* likewise */
    if (done && x->kind != KIND_EVENTS && x->too_long && !x->cancelled)
        return say_body(x, text, value);
    if (code != CURLE_OK || x->cancelled || x->too_long) return no_answer(x, code, text);
    if (!done) return bad_status(x, text);
    return x->kind == KIND_EVENTS ? say_events(x, text, value) : say_body(x, text, value);
}

static void pace_closed(struct pace *p)
{
    struct http_job *x = LIST_ITEM(p, struct http_job, pace);
    buf_done(&x->body);
    sse_in_done(&x->events);
    exec_out_done(&x->said);
    curl_easy_cleanup(x->transfer.easy);
    curl_slist_free_all(x->headers);
    mem_free(x);
}

static void on_done(struct curl_job *j, CURLcode code)
{
    struct http_job   *x = LIST_ITEM(j, struct http_job, transfer);
    struct tool_result r = { .outcome = TOOL_FAILED };
    struct buf         text, value;

    buf_init(&text, 0);
    buf_init(&value, 0);
    pace_flush(&x->pace);
    r.outcome = say(x, code, &text, &value);
    r.text = text.err ? STR("There was not enough memory for its answer.") : buf_view(&text);
    r.value = r.outcome == TOOL_DONE && value.len && !value.err ? buf_view(&value) : STR_NONE;
    r.note = x->note ? str_c(x->note) : STR_NONE;
    x->job->runner = NULL;
    x->job->finish(x->job, &r);
    buf_done(&text);
    buf_done(&value);
    pace_close(&x->pace, pace_closed);
}

/* --- starting ------------------------------------------------------------------------------ */

/* `all` with one more line, or NULL: never with fewer headers than there should be. */
static struct curl_slist *with(struct curl_slist *all, const char *line)
{
    struct curl_slist *next = line ? curl_slist_append(all, line) : NULL;
    if (!next) curl_slist_free_all(all);
    return next;
}

struct curl_slist *http_identity(struct curl_slist *all, const struct tool_job *job,
                                 const struct identity_way *k, struct str host)
{
    struct identity_item items[IDENTITY_ITEMS_MAX];
    size_t               n = identity_signs(k) ? 1 : identity_items(job, items);
    struct buf           line;

    buf_init(&line, 0);
    for (size_t i = 0; i < n && (all || !i); i++) {
        buf_clear(&line);
        if (!identity_signs(k)) identity_header(&line, &items[i]);
        else {
            bool bearer = str_eq_nocase(identity_token_header(k), STR("Authorization"));
            buf_printf(&line, STR_FMT ": %s", STR_ARG(identity_token_header(k)),
                       bearer ? "Bearer " : "");
            if (identity_token(k, job, host, clock_wall_ms() / 1000, &line)) line.err = ERR_NOMEM;
        }
        buf_chr(&line, 0);
        all = with(all, line.err ? NULL : line.ptr);
    }
    buf_done(&line);
    return all;
}

static struct curl_slist *make_headers(struct http_job *x)
{
    char               key[320];
    struct curl_slist *all;

    snprintf(key, sizeof key, "Idempotency-Key: " STR_FMT, STR_ARG(str_cut(x->job->call_id, 255)));
    all = with(NULL, x->job->checks ? "Cache-Control: no-store" : key);
    for (struct curl_slist *h = x->tool->headers; all && h; h = h->next) all = with(all, h->data);
    if (all && x->job->trace.len) {
        snprintf(key, sizeof key, "traceparent: " STR_FMT, STR_ARG(x->job->trace));
        all = with(all, key);
    }
    return all ? http_identity(all, x->job, x->job->tool->terms.identity, x->tool->host) : NULL;
}

static void set_up(struct http_job *x, CURL *e)
{
    struct http_tool *t = x->tool;

    curl_easy_setopt(e, CURLOPT_URL, t->url);
    curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, t->method);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->job->input.len);
    curl_easy_setopt(e, CURLOPT_COPYPOSTFIELDS, x->job->input.ptr);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, x->headers);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)x->job->tool->timeout_ms);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, (void *)x);
    /* what libcurl can unpack; the cap counts unpacked bytes */
    curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    curl_once(e);
    x->check = (struct egress_check){ .egress = &t->egress, .host = t->host };
    egress_guard(e, &x->check);
}

static enum err start(struct tool *t, struct tool_job *job)
{
    struct http_tool *tool = t->ctx;
    struct http_job  *x = mem_alloc(sizeof *x);

    if (!x) return ERR_NOMEM;
    x->job = job;
    x->tool = tool;
    x->headers = make_headers(x);
    x->transfer.easy = curl_easy_new(false);
    if (!x->headers || !x->transfer.easy) {
        curl_slist_free_all(x->headers);
        curl_easy_cleanup(x->transfer.easy);
        mem_free(x);
        return ERR_NOMEM;
    }
    set_up(x, x->transfer.easy);
    buf_init(&x->body, tool->response_max);
    sse_in_init(&x->events, tool->response_max, on_event);
    exec_out_init(&x->said, tool->response_max);
    x->said.progress = on_progress;
    x->said.checks = job->checks;
    pace_init(&x->pace, tool->loop, job);
    x->transfer.done = on_done;
    job->runner = x;
    curl_start(tool->pool, &x->transfer);
    return OK;
}

static void cancel(struct tool_job *job)
{
    struct http_job *x = job->runner;
    if (!x) return;
    x->cancelled = x->check.stop = true;
    curl_cancel(&x->transfer);
}

static void http_free(struct tool *t)
{
    struct http_tool *x = t->ctx;
    curl_slist_free_all(x->headers);
    x->headers = NULL;
}

const struct tool_ops http_ops = { .start = start, .cancel = cancel, .free = http_free };
