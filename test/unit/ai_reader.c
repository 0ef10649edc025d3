/* ai_reader.c -- see ai_reader.h. */
#include "ai_reader.h"

#include "base/json.h"

static void trouble(struct ai_reader *r, const char *what, struct str chunk)
{
    if (!r->trouble[0])
        snprintf(r->trouble, sizeof r->trouble, "%s: " STR_FMT, what, STR_ARG(str_cut(chunk, 160)));
}

void ai_reader_init(struct ai_reader *r)
{
    *r = (struct ai_reader){ 0 };
}
void ai_reader_done(struct ai_reader *r)
{
    buf_done(&r->types);
}

void ai_reader_stream(struct ai_reader *r, bool continued)
{
    r->started = r->in_step = r->finished = r->aborted = r->failed = r->done = false;
    buf_clear(&r->types);
    if (continued) return;
    r->count = r->stored = 0;
    r->message[0] = 0;
}

static void keep(char *to, size_t size, struct str s)
{
    snprintf(to, size, STR_FMT, STR_ARG(s));
}

static size_t step_start(const struct ai_reader *r)
{
    size_t at = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->parts[i].type == AI_STEP) at = i + 1;
    return at;
}

static struct ai_part *find(struct ai_reader *r, struct str id, size_t from)
{
    for (size_t i = r->count; i-- > from;)
        if (r->parts[i].type != AI_STEP && str_is(id, r->parts[i].id)) return &r->parts[i];
    return NULL;
}

static struct ai_part *put(struct ai_reader *r, int type, struct str id)
{
    must(r->count < AI_PARTS);
    struct ai_part *p = &r->parts[r->count++];
    *p = (struct ai_part){ .type = type };
    keep(p->id, sizeof p->id, id);
    if (type != AI_STEP) r->stored = r->count;
    return p;
}

static void set_tool(struct ai_part *p, const struct jv *v, const char *state)
{
    snprintf(p->state, sizeof p->state, "%s", state);
    if (jv_get(v, "providerExecuted")) p->provider = jv_true(jv_get(v, "providerExecuted"));
    p->preliminary = jv_true(jv_get(v, "preliminary"));
}

static void take_input(struct ai_reader *r, const struct jv *v, const char *state)
{
    struct str      id = jv_str_at(v, "toolCallId");
    struct ai_part *p = find(r, id, step_start(r));
    if (!p) {
        p = put(r, AI_TOOL, id);
        keep(p->name, sizeof p->name, jv_str_at(v, "toolName"));
    }
    if (!str_is(jv_str_at(v, "toolName"), p->name)) trouble(r, "another name for a call", v->raw);
    if (strcmp(state, "input-streaming") != 0 && !jv_get(v, "input"))
        trouble(r, "no input", v->raw);
    set_tool(p, v, state);
    r->stored = r->count;
}

static void take_outcome(struct ai_reader *r, const struct jv *v, const char *state)
{
    struct ai_part *p = find(r, jv_str_at(v, "toolCallId"), step_start(r));
    if (!p) p = find(r, jv_str_at(v, "toolCallId"), 0);
    if (!p) {
        trouble(r, "an outcome for a call without a part", v->raw);
        return;
    }
    set_tool(p, v, state);
}

static void take_words(struct ai_reader *r, const struct jv *v, struct str type)
{
    struct str      id = jv_str_at(v, "id");
    struct ai_part *p = find(r, id, step_start(r));
    if (!r->in_step) trouble(r, "words outside a step", v->raw);
    if (str_ends(type, STR("-start"))) {
        for (size_t i = step_start(r); i < r->count; i++)
            if (r->parts[i].type == AI_TOOL && strncmp(r->parts[i].state, "output", 6) == 0)
                trouble(r, "words after an outcome in one step", v->raw);
        put(r, AI_TEXT, id)->open = true;
    } else if (!p || !p->open) trouble(r, "words without a start", v->raw);
    else if (str_ends(type, STR("-end"))) p->open = false;
}

static void take_finish_step(struct ai_reader *r, const struct jv *v)
{
    if (!r->in_step) trouble(r, "finish-step outside a step", v->raw);
    for (size_t i = step_start(r); i < r->count; i++)
        if (r->parts[i].open) trouble(r, "a text is open at the end of its step", v->raw);
    r->in_step = false;
}

static void take_start(struct ai_reader *r, const struct jv *v)
{
    struct str id = jv_str_at(v, "messageId");
    if (r->started) trouble(r, "a second start", v->raw);
    if (r->message[0] && !str_is(id, r->message)) trouble(r, "another message id", v->raw);
    r->started = true;
    keep(r->message, sizeof r->message, id);
}

static void take_chunk(struct ai_reader *r, const struct jv *v)
{
    struct str type = jv_str_at(v, "type");
    if (r->types.len) buf_chr(&r->types, ' ');
    buf_str(&r->types, type);
    if (r->finished || r->aborted || r->failed) trouble(r, "a chunk after the end", v->raw);
    if (!r->started && !str_is(type, "start") && !str_is(type, "abort"))
        trouble(r, "a chunk before start", v->raw);
    if (str_starts(type, STR("text-")) || str_starts(type, STR("reasoning-")))
        take_words(r, v, type);
    else if (str_is(type, "start")) take_start(r, v);
    else if (str_is(type, "start-step")) {
        if (r->in_step) trouble(r, "a step in a step", v->raw);
        r->in_step = true;
        put(r, AI_STEP, STR(""));
    } else if (str_is(type, "finish-step")) take_finish_step(r, v);
    else if (str_is(type, "finish")) {
        if (r->in_step) trouble(r, "finish in a step", v->raw);
        r->finished = true;
    } else if (str_is(type, "abort")) r->aborted = true;
    else if (str_is(type, "error")) r->failed = true;
    else if (str_is(type, "tool-input-start")) take_input(r, v, "input-streaming");
    else if (str_is(type, "tool-input-delta")) {
        if (!find(r, jv_str_at(v, "toolCallId"), step_start(r)))
            trouble(r, "a delta without a start", v->raw);
    } else if (str_is(type, "tool-input-available")) take_input(r, v, "input-available");
    else if (str_is(type, "tool-input-error")) take_input(r, v, "output-error");
    else if (str_is(type, "tool-approval-request")) take_outcome(r, v, "approval-requested");
    else if (str_is(type, "tool-output-available")) take_outcome(r, v, "output-available");
    else if (str_is(type, "tool-output-error")) take_outcome(r, v, "output-error");
    else if (str_is(type, "tool-output-denied")) take_outcome(r, v, "output-denied");
    else if (str_starts(type, STR("data-"))) {
        if (!jv_true(jv_get(v, "transient"))) put(r, AI_DATA, STR(""));
    } else trouble(r, "a type the client does not know", v->raw);
}

void ai_reader_take(struct ai_reader *r, struct str wire)
{
    struct str line;
    while (str_split(&wire, '\n', &line)) {
        struct arena a;
        struct jv   *v;
        if (!line.len) continue;
        if (str_is(line, "data: [DONE]")) {
            r->done = true;
            continue;
        }
        arena_init(&a, 0);
        if (!str_starts(line, STR("data: ")) || json_parse(&a, str_from(line, 6), &v, NULL) != OK)
            trouble(r, "not an event", line);
        else {
            if (r->done) trouble(r, "something after [DONE]", line);
            take_chunk(r, v);
        }
        arena_done(&a);
    }
}

void ai_reader_end(struct ai_reader *r)
{
    if (!r->done || !(r->finished || r->aborted || r->failed))
        trouble(r, "no end", buf_view(&r->types));
    r->count = r->stored;
}

static bool is_over(const struct ai_part *p)
{
    return (strcmp(p->state, "output-available") == 0 && !p->preliminary) ||
           strcmp(p->state, "output-error") == 0;
}

bool ai_reader_would_send(const struct ai_reader *r)
{
    size_t own = 0, open = 0, answered = 0, unanswered = 0;
    for (size_t i = step_start(r); i < r->count; i++) {
        const struct ai_part *p = &r->parts[i];
        if (p->type != AI_TOOL) continue;
        own += !p->provider;
        open += !p->provider && !is_over(p);
        answered += strcmp(p->state, "approval-responded") == 0;
        unanswered += strcmp(p->state, "approval-responded") != 0 &&
                      strcmp(p->state, "output-denied") != 0 && !is_over(p);
    }
    return !r->failed && ((own && !open) || (answered && !unanswered));
}

const struct ai_part *ai_reader_tool(const struct ai_reader *r, const char *id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->parts[i].type == AI_TOOL && strcmp(r->parts[i].id, id) == 0) return &r->parts[i];
    return NULL;
}
