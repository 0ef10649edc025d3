/* agui_request.c -- see agui_request.h. */
#include "dialect/agui_request.h"

#include <openssl/evp.h>

#include "base/id.h"
#include "base/jsonw.h"
#include "dialect/agui.h"
#include "dialect/request.h"
#include "run/declared.h"

#define CONTEXT_ENTRIES 32
#define CONTEXT_BYTES   (16 * 1024)
#define RUN_NAME_MAX    128 /* of a runId */

static bool refuse(struct refusal *why, int status, const char *code, const char *message)
{
    *why = (struct refusal){ status, code, message };
    return false;
}

static bool is_null(const struct jv *v)
{
    return !v || v->type == JSON_NULL;
}

/* --- the body --------------------------------------------------------------------------------- */

static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~') return false;
    return s.len > 0 && s.len <= RUN_NAME_MAX;
}

/* A request id of ours is unique for its principal, a runId only for its thread. */
static bool name_request(struct agui_request *q, struct refusal *why)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char hash[32];
    struct buf    text;
    buf_init(&text, 0);
    buf_str(&text, q->thread);
    buf_chr(&text, '\0');
    buf_str(&text, q->run);
    bool ok = !text.err && EVP_Digest(text.ptr, text.len, hash, NULL, EVP_sha256(), NULL) == 1;
    buf_done(&text);
    if (!ok)
        return refuse(why, 503, "out_of_memory",
                      "The server is out of memory; try again in a moment.");
    memcpy(q->request_id, "agui-", 5);
    for (unsigned i = 0; i < ID_LEN; i++) { /* six bits each */
        unsigned bit = i * 6, two = (unsigned)hash[bit / 8] << 8 | hash[bit / 8 + 1];
        q->request_id[5 + i] = LETTERS[two >> (10 - bit % 8) & 63];
    }
    q->request_id[5 + ID_LEN] = 0;
    return true;
}

static bool read_names(struct command *c, const struct jv *v, struct agui_request *q,
                       struct refusal *why)
{
    struct str version = STR_NONE;
    if (!request_text(c, v, "threadId", 4096, &q->thread, why) ||
        !request_text(c, v, "runId", 4096, &q->run, why) ||
        !request_text(c, v, "protocolVersion", 64, &version, why))
        return false;
    if (!id_valid(q->thread, 128))
        return refuse(why, 422, "bad_id", "\"threadId\" has 1 to 128 letters, digits, - and _.");
    if (!is_visible(q->run))
        return refuse(why, 422, "bad_id", "\"runId\" has 1 to 128 visible ASCII characters.");
    q->older = !version.len;
    return name_request(q, why);
}

static bool read_page(struct command *c, const struct jv *v, struct str path,
                      struct agui_request *q, struct refusal *why)
{
    const struct jv *props = jv_get(v, "forwardedProps");
    if (path.ptr) q->page = arena_dup(&c->arena, path);
    else if (jv_is(props, JSON_OBJECT)) return request_text(c, props, "page", 128, &q->page, why);
    return true;
}

static bool read_tool(const struct jv *v, struct declared_tool *out, struct refusal *why)
{
    const struct jv *name = jv_get(v, "name"), *said = jv_get(v, "description"),
                    *parameters = jv_get(v, "parameters");
    if (!jv_is(v, JSON_OBJECT) || !jv_is(name, JSON_STRING) ||
        (!is_null(said) && said->type != JSON_STRING) ||
        (!is_null(parameters) && parameters->type != JSON_OBJECT))
        return refuse(why, 422, "bad_field",
                      "\"tools\" is a list of {\"name\",\"description\",\"parameters\"}.");
    *out = (struct declared_tool){ .name = name->str, .description = jv_str(said) };
    if (!is_null(parameters)) out->parameters = parameters->raw;
    return true;
}

/* A page must not take the name of a tool that somebody may have to be asked about: what the server
 * has is the server's. */
static void drop_names(const struct registry *r, struct declared *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->tool_count; i++)
        if (declared_name(r, d->tools[i].name) == NAME_FREE) d->tools[n++] = d->tools[i];
    d->tool_count = n;
}

static bool read_tools(struct command *c, const struct jv *list, const struct registry *r,
                       struct declared *d, struct refusal *why)
{
    size_t which;
    if (is_null(list)) return true;
    if (list->type != JSON_ARRAY) return refuse(why, 422, "bad_field", "\"tools\" must be a list.");
    d->tools = arena_array(&c->arena, list->count + 1, sizeof *d->tools);
    if (!d->tools)
        return refuse(why, 503, "out_of_memory",
                      "The server is out of memory; try again in a moment.");
    JV_EACH (v, list)
        if (!read_tool(v, &d->tools[d->tool_count++], why)) return false;
    const char *bad = declared_bad(d, AGUI_TOOLS_MAX, &which);
    if (bad) return refuse(why, 422, "bad_field", bad);
    drop_names(r, d);
    return true;
}

static bool read_context(struct command *c, const struct jv *list, struct declared *d,
                         struct refusal *why)
{
    struct buf   b;
    struct jsonw w;
    if (is_null(list)) return true;
    if (list->type != JSON_ARRAY)
        return refuse(why, 422, "bad_field", "\"context\" must be a list.");
    if (!list->count) return true;
    if (list->count > CONTEXT_ENTRIES || list->raw.len > CONTEXT_BYTES)
        return refuse(why, 413, "too_long",
                      "\"context\" may have 32 entries, and 16 KiB together.");
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    JV_EACH (v, list) {
        const struct jv *value = jv_get(v, "value");
        jw_obj(&w);
        jw_kstr(&w, "description", jv_str_at(v, "description"));
        jw_kraw(&w, "value", value ? value->raw : STR("null"));
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    d->context = arena_dup(&c->arena, buf_view(&b));
    bool ok = !b.err && d->context.ptr;
    buf_done(&b);
    return ok ? true
              : refuse(why, 503, "out_of_memory",
                       "The server is out of memory; try again in a moment.");
}

static bool is_twice(const struct agui_request *q, struct str id)
{
    for (size_t i = 0; i < q->resume_count; i++)
        if (str_eq(q->resume[i].id, id)) return true;
    return false;
}

static void read_entry(const struct jv *v, struct agui_request *q)
{
    struct str id = jv_str_at(v, "interruptId"), status = jv_str_at(v, "status");
    bool       cancelled = str_is(status, "cancelled");
    if (!jv_is(v, JSON_OBJECT) || !id.len || (!cancelled && !str_is(status, "resolved")) ||
        is_twice(q, id))
        q->malformed = true;
    q->resume[q->resume_count++] = (struct agui_entry){ id, cancelled, jv_get(v, "payload") };
}

static bool read_resume(const struct jv *list, struct agui_request *q, struct refusal *why)
{
    if (is_null(list)) return true;
    if (list->type != JSON_ARRAY)
        return refuse(why, 422, "bad_field", "\"resume\" must be a list.");
    if (list->count > AGUI_ANSWERS_MAX)
        return refuse(why, 413, "too_long", "\"resume\" may have 64 entries.");
    JV_EACH (v, list) read_entry(v, q);
    return true;
}

bool agui_decode(struct command *c, struct str body, struct str page, const struct registry *r,
                 struct agui_request *q, struct refusal *why)
{
    const struct jv *v;
    struct declared  d = { 0 };
    *q = (struct agui_request){ 0 };
    if (!request_object(c, body, false, &v, why) || !read_names(c, v, q, why) ||
        !read_page(c, v, page, q, why))
        return false;
    q->messages = jv_get(v, "messages");
    if (!jv_is(q->messages, JSON_ARRAY))
        return refuse(why, 422, "bad_field", "\"messages\" must be a list.");
    if (!read_tools(c, jv_get(v, "tools"), r, &d, why) ||
        !read_context(c, jv_get(v, "context"), &d, why) ||
        !read_resume(jv_get(v, "resume"), q, why))
        return false;
    q->declared = declared_write(&c->arena, &d);
    return c->arena.failed ? refuse(why, 503, "out_of_memory",
                                    "The server is out of memory; try again in a moment.")
                           : true;
}

bool agui_stop(struct command *c, struct str body, struct agui_request *q, struct refusal *why)
{
    const struct jv *v;
    *q = (struct agui_request){ .thread = c->log.thread };
    if (!request_object(c, body, true, &v, why) ||
        !request_text(c, v, "runId", RUN_NAME_MAX, &q->run, why))
        return false;
    return !q->run.len || name_request(q, why);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool put_file(struct jsonw *w, const struct jv *source)
{
    struct str type = jv_str_at(source, "type"), value = jv_str_at(source, "value"),
               mime = jv_str_at(source, "mimeType");
    bool data = str_is(type, "data");
    if (!value.len || (!data && !str_is(type, "url"))) return false;
    jw_obj(w);
    jw_kstrz(w, "type", "file");
    if (mime.len) jw_kstr(w, "mediaType", mime);
    if (data) {
        struct buf url;
        buf_init(&url, 0);
        buf_lit(&url, "data:");
        buf_str(&url, mime.len ? mime : STR("application/octet-stream"));
        buf_lit(&url, ";base64,");
        buf_str(&url, value);
        jw_kbuf(w, "url", &url);
        buf_done(&url);
    } else jw_kstr(w, "url", value);
    jw_end_obj(w);
    return true;
}

/* The words of several messages, and their files. */
struct words {
    struct buf   text, files;
    struct jsonw w;
    size_t       count; /* of files */
};

static void words_begin(struct words *x)
{
    x->count = 0;
    buf_init(&x->text, MESSAGE_TEXT_MAX);
    buf_init(&x->files, 0);
    jsonw_init(&x->w, &x->files);
    jw_arr(&x->w);
}

static void words_done(struct words *x)
{
    buf_done(&x->text);
    buf_done(&x->files);
}

static bool add_part(struct words *x, const struct jv *p)
{
    struct str type = jv_str_at(p, "type");
    if (str_is(type, "text")) buf_str(&x->text, jv_str_at(p, "text"));
    else if (str_is(type, "image") || str_is(type, "audio") || str_is(type, "video") ||
             str_is(type, "document")) {
        if (!put_file(&x->w, jv_get(p, "source"))) return false;
        x->count++;
    } else return false;
    return true;
}

static bool add_words(struct words *x, const struct jv *m, struct refusal *why)
{
    const struct jv *content = jv_get(m, "content");
    if (x->text.len) buf_lit(&x->text, "\n\n");
    if (jv_is(content, JSON_STRING)) buf_str(&x->text, content->str);
    else if (jv_is(content, JSON_ARRAY)) {
        JV_EACH (p, content)
            if (!add_part(x, p))
                return refuse(why, 422, "bad_field",
                              "A message has text, and files as \"data\" or \"url\".");
    } else return refuse(why, 422, "bad_field", "A message has \"content\": text or parts.");
    return true;
}

static bool words_end(struct command *c, struct words *x, struct agui_plan *p)
{
    jw_end_arr(&x->w);
    p->text = arena_dup(&c->arena, buf_view(&x->text));
    p->files = x->count ? arena_dup(&c->arena, buf_view(&x->files)) : STR_NONE;
    if (x->text.err == ERR_FULL)
        return refuse(&p->why, 413, "too_long", "This message is too long.");
    if (x->text.err || x->files.err || c->arena.failed)
        return refuse(&p->why, 503, "out_of_memory",
                      "The server is out of memory; try again in a moment.");
    return true;
}

static bool is_role(const struct jv *m, const char *role)
{
    return str_is(jv_str_at(m, "role"), role);
}

static const struct jv *last_of(const struct jv *list)
{
    const struct jv *last = NULL;
    JV_EACH (m, list) last = m;
    return last;
}

static bool is_known(const struct agui_ids *k, const struct jv *m)
{
    return agui_knows(k, jv_str_at(m, "id"));
}

/* The user messages at the end that the log does not know. */
static bool read_words(struct command *c, const struct agui_ids *k, const struct jv *list,
                       struct agui_plan *p, bool *any)
{
    const struct jv *tail = list->child;
    struct words     x;
    bool             ok = true;
    *any = false;
    JV_EACH (m, list)
        if (!is_role(m, "user")) tail = m->next;
    words_begin(&x);
    for (const struct jv *m = tail; m && ok; m = m->next) {
        if (is_known(k, m)) continue;
        *any = true;
        p->message_id = jv_str_at(m, "id");
        ok = add_words(&x, m, &p->why);
    }
    if (ok && *any) ok = words_end(c, &x, p);
    words_done(&x);
    if (ok && *any && !str_trim(p->text).len && !p->files.len)
        ok = refuse(&p->why, 422, "malformed_message", "The message has neither words nor files.");
    return ok;
}

/* Clients go on calling an edited message by its first id. */
static const struct fact *newest_version(const struct fold *f, struct str id)
{
    const struct fact *found = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *x = f->facts[i];
        if (x->kind != FACT_MESSAGE) continue;
        if (str_eq(x->id, id) || (found && x->replaces.len && str_eq(x->replaces, found->id)))
            found = x;
    }
    return found;
}

static const struct fact *newest_message(const struct fold *f)
{
    for (size_t i = f->count; i-- > 0;)
        if (f->facts[i]->kind == FACT_MESSAGE) return f->facts[i];
    return NULL;
}

/* The last message is one that the log has, with other words. */
static bool read_edit(struct command *c, const struct fold *f, const struct jv *last,
                      struct agui_plan *p, bool *any)
{
    const struct fact *was =
        f && is_role(last, "user") ? newest_version(f, jv_str_at(last, "id")) : NULL;
    struct words x;
    if (!was) return true;
    words_begin(&x);
    bool ok = add_words(&x, last, &p->why) && words_end(c, &x, p);
    words_done(&x);
    if (!ok) return false;
    *any = !str_eq(p->text, was->text) || !str_eq(p->files, was->files);
    p->message_id = p->replaces = *any ? jv_str_at(last, "id") : STR_NONE;
    return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool is_offered(const struct call *c)
{
    return c && c->client && c->state == CALL_STARTED;
}

/* What a tool message says, as JSON. */
static struct str result_value(struct command *c, const struct jv *content)
{
    struct buf   text, json;
    struct jsonw w;
    struct jv   *v;
    buf_init(&text, 0);
    buf_init(&json, 0);
    if (jv_is(content, JSON_STRING)) buf_str(&text, content->str);
    JV_EACH (p, jv_is(content, JSON_ARRAY) ? content : NULL) buf_str(&text, jv_str_at(p, "text"));
    struct str said = arena_dup(&c->arena, buf_view(&text));
    if (!said.len || json_parse(&c->arena, said, &v, NULL) != OK) {
        jsonw_init(&w, &json);
        jw_str(&w, said);
        said = arena_dup(&c->arena, buf_view(&json));
    }
    if (text.err || json.err) c->arena.failed = true;
    buf_done(&text);
    buf_done(&json);
    return said;
}

static bool has_result(const struct agui_plan *p, struct str call)
{
    for (size_t i = 0; i < p->answer_count; i++)
        if (p->answers[i].result && str_eq(p->answers[i].id, call)) return true;
    return false;
}

static void read_results(struct command *c, const struct fold *f, const struct jv *list,
                         struct agui_plan *p)
{
    JV_EACH (m, list) {
        const struct call *call =
            f && is_role(m, "tool") ? fold_call(f, jv_str_at(m, "toolCallId")) : NULL;
        if (!is_offered(call) || has_result(p, call->id) || p->answer_count == AGUI_ANSWERS_MAX)
            continue;
        struct agui_answer *x = &p->answers[p->answer_count++];
        const struct jv    *error = jv_get(m, "error");
        *x = (struct agui_answer){ .result = true, .id = call->id };
        if (jv_is(error, JSON_STRING)) x->error = error->str.len ? error->str : STR("It failed.");
        else x->value = result_value(c, jv_get(m, "content"));
    }
}

static bool malformed(struct agui_plan *p)
{
    return refuse(&p->why, 422, "malformed_answer",
                  "An answer is {\"approved\":true} or {\"approved\":false}, nothing else counts.");
}

/* A person's own arguments make another call of it. Whether they may be changed, and fit, is looked
 * at with the answer (run/edit.h). */
static bool read_edited(const struct call *call, const struct jv *edited, struct agui_answer *x,
                        struct agui_plan *p)
{
    if (is_null(edited)) return true;
    if (edited->type != JSON_OBJECT) return malformed(p);
    if (!jv_equal(edited, call->args)) x->input = edited; /* else a plain yes */
    return true;
}

/* The tool's own question: the payload is its answer. */
static bool read_form(struct command *c, const struct agui_entry *in, const struct fact *asked,
                      struct agui_answer *x, struct agui_plan *p)
{
    enum plain plain = request_plain(&c->arena, asked->schema, in->payload);
    if (!in->payload || plain == PLAIN_ODD) return malformed(p);
    if (plain == PLAIN_NO) return true;
    x->confirmed = true;
    x->payload = in->payload->raw;
    return true;
}

static bool read_decision(struct command *c, const struct agui_entry *in, const struct call *call,
                          const struct fact *asked, struct agui_answer *x, struct agui_plan *p)
{
    const struct jv *approved = jv_get(in->payload, "approved"),
                    *reason = jv_get(in->payload, "reason");
    *x = (struct agui_answer){ .id = in->id, .cancelled = in->cancelled };
    if (in->cancelled) return true;
    if (asked->schema.ptr) return read_form(c, in, asked, x, p);
    if (!jv_is(in->payload, JSON_OBJECT) || !jv_is(approved, JSON_BOOL) ||
        (!is_null(reason) && (reason->type != JSON_STRING || reason->str.len > 4096)))
        return malformed(p);
    x->confirmed = approved->boolean;
    if (request_contradicts(in->payload, x->confirmed)) return malformed(p);
    x->reason = jv_str(reason);
    const struct jv *grant = jv_get(in->payload, "grant");
    if (x->confirmed && !is_null(grant)) x->grant = grant;
    return !x->confirmed || read_edited(call, jv_get(in->payload, "editedArgs"), x, p);
}

static const char *wanted(const struct agui_answer *x)
{
    return x->cancelled ? "cancelled" : x->confirmed ? "approved" : "denied";
}

/* Decided by somebody else: the log wins, and it is no error, because the client keeps an id
 * pending until a run succeeds. */
static bool was_decided(const struct agui_answer *x, const struct fact *verdict,
                        struct agui_plan *p)
{
    if (verdict->outcome == WORD_EXPIRED && !x->cancelled)
        return refuse(&p->why, 409, "expired", "This request expired before it was answered.");
    p->late[p->late_count].verdict = verdict;
    p->late[p->late_count++].yours = wanted(x);
    return true;
}

static bool shows_other(struct command *c, const struct call *call, const struct jv *message)
{
    JV_EACH (x, jv_get(message, "toolCalls")) {
        const struct jv *function = jv_get(x, "function");
        struct str       name = jv_str_at(function, "name");
        if (str_eq(jv_str_at(x, "id"), call->id) &&
            !call_is_copied(call, name, request_copied(&c->arena, jv_get(function, "arguments"))))
            return true;
    }
    return false;
}

/* Was the person shown another call? A page shows the one it has in its list; of one that somebody
 * edited that is what the model made, and the question has the rest. */
static bool was_shown_other(struct command *c, const struct call *call, const struct jv *messages)
{
    for (; call; call = call->instead_of)
        JV_EACH (m, messages)
            if (shows_other(c, call, m)) return true;
    return false;
}

static bool read_entry_of(struct command *c, const struct fold *f, const struct agui_request *q,
                          const struct agui_entry *in, struct agui_plan *p)
{
    struct call       *call = f ? fold_confirmation(f, in->id) : NULL;
    struct agui_answer x;
    if (!call)
        return refuse(&p->why, 404, "unknown_confirmation",
                      "There is no such request in this conversation.");
    const struct fact *verdict = fold_verdict(f, in->id), *open = call_gate(call);
    if (!read_decision(c, in, call, fold_asked(f, in->id), &x, p)) return false;
    if (verdict) return was_decided(&x, verdict, p);
    if (!open || !str_eq(open->id, in->id)) return true; /* withdrawn: nothing is left of it */
    if (was_shown_other(c, call, q->messages))
        return refuse(&p->why, 409, "args_mismatch", COMMAND_ARGS_MISMATCH);
    if (p->answer_count < AGUI_ANSWERS_MAX) p->answers[p->answer_count++] = x;
    return true;
}

static bool is_covered(const struct agui_plan *p, struct str id)
{
    for (size_t i = 0; i < p->answer_count; i++)
        if (!p->answers[i].result && str_eq(p->answers[i].id, id)) return true;
    return false;
}

/* The questions that wait now and that `p` does not answer, as a sentence; NULL: there are none. */
static const char *open_questions(struct command *c, const struct fold *f,
                                  const struct agui_plan *p, const char *sentence)
{
    struct buf b;
    size_t     n = 0;
    buf_init(&b, 8192);
    buf_lit(&b, sentence);
    for (size_t i = 0; f && run_live(f->run) && i < f->run->call_count; i++) {
        const struct fact *open = call_gate(f->run->calls[i]);
        if (!open || is_covered(p, open->id)) continue;
        buf_lit(&b, n++ ? ", " : " ");
        buf_str(&b, open->id);
    }
    struct str s = n ? arena_dup(&c->arena, buf_view(&b)) : STR_NONE;
    buf_done(&b);
    return n ? (s.ptr ? s.ptr : sentence) : NULL;
}

static void read_answers(struct command *c, const struct fold *f, const struct agui_request *q,
                         struct agui_plan *p)
{
    p->wish = AGUI_REFUSED;
    if (q->malformed) {
        malformed(p);
        return;
    }
    for (size_t i = 0; i < q->resume_count; i++)
        if (!read_entry_of(c, f, q, &q->resume[i], p)) return;
    const char *missing =
        open_questions(c, f, p, "Every question that waits must be answered; missing:");
    if (missing) {
        refuse(&p->why, 409, "incomplete_resume", missing);
        return;
    }
    for (size_t i = 0; i < p->late_count; i++)
        if (!p->from || p->late[i].verdict->seq < p->from) p->from = p->late[i].verdict->seq;
    p->wish = p->answer_count ? AGUI_ANSWER : AGUI_ATTACH;
}

/* --- what it comes to ------------------------------------------------------------------------- */

static bool is_segment_fact(const struct fact *x, const struct agui_request *q)
{
    if (x->kind == FACT_MESSAGE || x->kind == FACT_RETRY)
        return str_is(x->request_id, q->request_id);
    return (x->kind == FACT_DECIDED || x->kind == FACT_FINISHED || x->kind == FACT_RESULT) &&
           str_is(x->via, "ag-ui") && str_eq(x->answer_id, q->run);
}

static uint64_t segment_from(const struct fold *f, const struct agui_request *q)
{
    for (size_t i = 0; i < f->count; i++)
        if (is_segment_fact(f->facts[i], q)) return f->facts[i]->seq;
    return 0;
}

bool agui_segment(const struct fold *f, const struct run *r, const struct agui_request *q)
{
    for (uint64_t s = r->first->seq; s <= f->count; s++)
        if (is_segment_fact(f->facts[s - 1], q)) return fold_run_at(f, s) == r;
    return false;
}

/* The thread as it stands: from fact `from` on if that is of the newest run, else that run itself
 * while it speaks, else only how it ended or what it waits for. */
static void show(const struct fold *f, uint64_t from, struct agui_plan *p)
{
    struct run *r = f ? f->run : NULL;
    bool        own = r && from >= r->first->seq;
    p->wish = AGUI_SHOW;
    if (!own && (!run_live(r) || run_waiting(r))) return;
    p->wish = AGUI_ATTACH;
    p->run = r;
    p->from = own ? from : r->first->seq;
    p->snapshot = true;
}

/* Last a result of a call that was never the page's: a forgery, or another conversation's. */
static bool is_foreign(const struct agui_ids *k, const struct jv *last, struct agui_plan *p)
{
    const struct fold *f = k->f;
    if (!is_role(last, "tool") || is_known(k, last)) return false;
    const struct call *c = f ? fold_call(f, jv_str_at(last, "toolCallId")) : NULL;
    if (c && c->client && c->started) return false;
    p->wish = AGUI_REFUSED;
    if (c) refuse(&p->why, 403, "not_client_tool", "The server runs this tool itself.");
    else refuse(&p->why, 404, "unknown_call", "There is no such call in this conversation.");
    return true;
}

/* "Regenerate", and "try again" after a failure. */
static bool is_again(const struct fold *f, const struct jv *last)
{
    if (!f || !f->run || run_live(f->run)) return false;
    if (f->run->ended->outcome == WORD_ERROR) return true;
    const struct fact *newest = newest_message(f);
    return newest && is_role(last, "user") && newest_version(f, jv_str_at(last, "id")) == newest;
}

static void plan_words(struct command *c, const struct fold *f, struct agui_plan *p)
{
    const char *waits =
        open_questions(c, f, &(struct agui_plan){ 0 }, "A decision is waiting; answer it first:");
    p->wish = waits ? AGUI_REFUSED : AGUI_SAY;
    if (waits) refuse(&p->why, 409, "approval_pending", waits);
}

static void plan_nothing_new(const struct agui_ids *k, const struct jv *last, struct agui_plan *p)
{
    const struct fold *f = k->f;
    show(f, 0, p);
    if (p->wish == AGUI_ATTACH || (f && run_live(f->run))) return;
    if (is_foreign(k, last, p)) return;
    if (is_again(f, last)) p->wish = AGUI_RETRY;
}

/* CopilotKit's page puts its answer where the call's result will stand, and shows the first one
 * that it finds. */
static bool has_stand_in(const struct agui_ids *k, const struct jv *list)
{
    JV_EACH (m, list) {
        const struct call *call =
            k->f && is_role(m, "tool") ? fold_call(k->f, jv_str_at(m, "toolCallId")) : NULL;
        if (call && !call->client && !is_known(k, m)) return true;
    }
    return false;
}

static void plan_new(struct command *c, const struct agui_ids *k, const struct agui_request *q,
                     struct agui_plan *p)
{
    const struct fold *f = k->f;
    const struct jv   *last = last_of(q->messages);
    bool               words = false, edit = false;
    if (!read_words(c, k, q->messages, p, &words)) return;
    if (!words && last && !read_edit(c, f, last, p, &edit)) return;
    if (q->resume_count && (words || edit)) {
        refuse(&p->why, 409, "message_with_resume",
               "Answer what waits first; the message was not taken.");
        return;
    }
    if (words || edit) {
        plan_words(c, f, p);
        return;
    }
    read_results(c, f, q->messages, p);
    if (q->resume_count) {
        read_answers(c, f, q, p);
        if (p->wish == AGUI_ATTACH) show(f, p->from, p);
        else p->snapshot = has_stand_in(k, q->messages);
    } else if (p->answer_count) p->wish = AGUI_ANSWER;
    else plan_nothing_new(k, last, p);
}

/* CopilotKit's page answers under the name of the segment that asked: such a body is an answer, not
 * that segment once more. Sent again, it finds the question decided. */
static bool answers_open(const struct fold *f, const struct agui_request *q)
{
    for (size_t i = 0; i < q->resume_count; i++) {
        const struct call *call = fold_confirmation(f, q->resume[i].id);
        const struct fact *open = call ? call_gate(call) : NULL;
        if (open && str_eq(open->id, q->resume[i].id)) return true;
    }
    return false;
}

void agui_plan(struct command *c, const struct fold *f, const struct agui_request *q, bool connect,
               struct agui_plan *p)
{
    uint64_t        known = f && !connect ? segment_from(f, q) : 0;
    struct agui_ids k;
    *p = (struct agui_plan){ .wish = AGUI_REFUSED };
    if (connect || (known && !answers_open(f, q))) {
        show(f, known, p);
        return;
    }
    if (agui_ids_init(&k, f) == OK) plan_new(c, &k, q, p);
    else
        refuse(&p->why, 503, "out_of_memory",
               "The server is out of memory; try again in a moment.");
    agui_ids_done(&k);
}
