/* test_hostile_stream.c -- whatever a model sends: the sink hears a well-formed story.
 *
 * Streams are put together at random from pieces that are each plausible or nasty: unfinished and
 * doubled calls, inputs that are no object or no JSON, jumping indexes, text between, parts after
 * the stop. */
#include "test.h"

#include <stdlib.h>

#include "model_trace.h"

/* --- a sink that insists ------------------------------------------------------------------ */

enum open { NOTHING, TEXT, REASONING, CALL };

struct listener {
    struct model_sink sink;
    enum open         open;
    bool              ended;  /* the open call */
    bool              opaque; /* the open part has it */
    /* an empty reasoning part began: its opaque JSON must be next */
    bool              hidden;
    unsigned          calls, ends;
    struct buf        input;
    const char       *wrong;
};

static struct listener *of(struct model_sink *s)
{
    return LIST_ITEM(s, struct listener, sink);
}
static void must_be(struct listener *l, bool good, const char *what)
{
    if (!good && !l->wrong) l->wrong = what;
}

static void on_text(struct model_sink *s, struct str d)
{
    must_be(of(s), !of(s)->hidden, "a hidden part without its JSON");
    must_be(of(s), d.len > 0, "an empty text");
    if (of(s)->open != TEXT || of(s)->opaque) of(s)->opaque = false;
    of(s)->open = TEXT;
}
static void on_reasoning(struct model_sink *s, struct str d)
{
    must_be(of(s), !of(s)->hidden, "a hidden part without its JSON");
    if (of(s)->open != REASONING || of(s)->opaque || !d.len) of(s)->opaque = false;
    of(s)->hidden = !d.len;
    of(s)->open = REASONING;
}
static void on_opaque(struct model_sink *s, struct str json)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    must_be(of(s), json_parse(&a, json, &v, NULL) == OK && v->type == JSON_OBJECT,
            "opaque that is no object");
    arena_done(&a);
    must_be(of(s), of(s)->open != NOTHING && !of(s)->opaque, "opaque for no part, or twice");
    must_be(of(s), of(s)->open != CALL || !of(s)->ended, "opaque after the end of a call");
    of(s)->opaque = true;
    of(s)->hidden = false;
}
static void on_call(struct model_sink *s, struct str id, struct str name)
{
    must_be(of(s), !of(s)->hidden, "a hidden part without its JSON");
    must_be(of(s), name.len > 0, "a call without a name");
    must_be(of(s), ++of(s)->calls <= BLOCKS_CALLS_MAX, "too many calls");
    of(s)->open = CALL;
    of(s)->ended = of(s)->opaque = false;
    buf_clear(&of(s)->input);
}
static void on_input(struct model_sink *s, struct str d)
{
    must_be(of(s), of(s)->open == CALL && !of(s)->ended, "input for no open call");
    must_be(of(s), d.len > 0, "an empty input");
    buf_str(&of(s)->input, d);
}
static void on_call_end(struct model_sink *s)
{
    struct str input = str_trim(buf_view(&of(s)->input));
    must_be(of(s), of(s)->open == CALL && !of(s)->ended,
            "an end for no open call, or a second one");
    must_be(of(s), str_starts(input, STR("{")) && str_ends(input, STR("}")),
            "an end for what is no object");
    of(s)->ended = true;
    of(s)->ends++;
}
static void on_usage(struct model_sink *s, int64_t in, int64_t out)
{
    must_be(of(s), !of(s)->hidden, "a hidden part without its JSON");
}
static void on_done(struct model_sink *s, enum model_stop stop)
{
    must_be(of(s), false, "the decoder ends nothing itself");
}
static void on_failed(struct model_sink *s, const struct model_error *e)
{
    must_be(of(s), false, "the decoder fails nothing itself");
}

static void listen_to(struct listener *l, const struct wire *w, struct str body, size_t piece)
{
    struct reader r;
    struct arena  scratch;
    *l = (struct listener){ .sink = { on_text, on_reasoning, on_opaque, on_call, on_input,
                                      on_call_end, on_usage, on_done, on_failed } };
    buf_init(&l->input, 0);
    arena_init(&scratch, 0);
    reader_init(&r, w, &scratch, &l->sink);
    for (struct str rest = body; rest.len; rest = str_from(rest, piece))
        reader_feed(&r, str_cut(rest, piece));
    reader_end(&r);
    must_be(l, !l->hidden, "a hidden part without its JSON");
    must_be(l, r.dec.ended != (r.dec.trouble.kind != FAIL_NONE),
            "neither an end nor a failure, or both");
    must_be(l, !r.dec.ended || (r.dec.stop == STOP_CALLS) <= (l->calls > 0),
            "calls wanted that nobody heard of");
    reader_done(&r);
    arena_done(&scratch);
    buf_done(&l->input);
}

/* --- streams at random ------------------------------------------------------------------------ */

static unsigned seed;
static unsigned any(unsigned n)
{
    return ((seed = seed * 1103515245u + 12345u) >> 16) % n;
}
static const char *one_of(const char *const *list)
{
    unsigned n = 0;
    while (list[n]) n++;
    return list[any(n)];
}

static const char *const INPUTS[] = { "",
                                      "{",
                                      "}",
                                      "{}",
                                      "{\\\"amount\\\":",
                                      "5000}",
                                      "null",
                                      "[]",
                                      "[{\\\"amount\\\":5000}]",
                                      "5000",
                                      "\\\"x\\\"",
                                      " ",
                                      "{\\\"a\\\":1}",
                                      "}}",
                                      "no json",
                                      "\\u0000",
                                      "\\ud800",
                                      NULL };
static const char *const VALUES[] = { "{}",
                                      "null",
                                      "[]",
                                      "5000",
                                      "\"x\"",
                                      "\"\"",
                                      "true",
                                      "{\"a\":1}",
                                      "[{\"amount\":5000}]",
                                      "{\"a\":{\"b\":[]}}",
                                      NULL };
static const char *const TEXTS[] = { "", " ", "word ", "\\n", "\\u00e9", NULL };
static const char *const NAMES[] = { "\"pay\"", "\"find\"", "\"\"",
                                     "null",    "5",        "\"9 odd/\\u0000name\"",
                                     NULL };
static const char *const IDS[] = { "\"a\"", "\"b\"", "\"\"", "null", "7", NULL };

static void anthropic_event(struct buf *b)
{
    static const char *const types[] = {
        "text",       "thinking", "tool_use", "redacted_thinking", "server_tool_use",
        "unheard_of", "",         NULL
    };
    static const char *const stops[] = { "end_turn",   "tool_use", "max_tokens", "refusal",
                                         "pause_turn", "",         NULL };
    unsigned                 index = any(3) ? any(3) : any(1000);
    switch (any(14)) {
    case 11:
    case 12:
    case 13: /* a whole call, as it should be, but for its input */
        index = 10 + any(5);
        buf_printf(b,
                   "data: "
                   "{\"type\":\"content_block_start\",\"index\":%u,\"content_block\":{\"type\":"
                   "\"tool_use\",\"id\":%s,\"name\":\"pay\",\"input\":{}}}\n\n",
                   index, one_of(IDS));
        for (unsigned i = any(4); i; i--)
            buf_printf(b,
                       "data: "
                       "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"input_"
                       "json_delta\",\"partial_json\":\"%s\"}}\n\n",
                       index, one_of(INPUTS));
        if (any(4))
            buf_printf(b, "data: {\"type\":\"content_block_stop\",\"index\":%u}\n\n", index);
        return;
    case 0:
    case 1:
        buf_printf(b,
                   "data: "
                   "{\"type\":\"content_block_start\",\"index\":%u,\"content_block\":{\"type\":\"%"
                   "s\",\"id\":%s,\"name\":%s,\"input\":%s,\"text\":\"%s\",\"thinking\":%s,"
                   "\"signature\":%s,\"data\":%s}}\n\n",
                   index, one_of(types), one_of(IDS), one_of(NAMES), one_of(VALUES), one_of(TEXTS),
                   one_of(VALUES), one_of(IDS), one_of(VALUES));
        return;
    case 2:
    case 3:
        buf_printf(b,
                   "data: "
                   "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"input_"
                   "json_delta\",\"partial_json\":\"%s\"}}\n\n",
                   index, one_of(INPUTS));
        return;
    case 4:
        buf_printf(b,
                   "data: "
                   "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"text_"
                   "delta\",\"text\":\"%s\"}}\n\n",
                   index, one_of(TEXTS));
        return;
    case 5:
        buf_printf(b,
                   "data: "
                   "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"thinking_"
                   "delta\",\"thinking\":\"%s\"}}\n\n",
                   index, one_of(TEXTS));
        return;
    case 6:
        buf_printf(b,
                   "data: "
                   "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"signature_"
                   "delta\",\"signature\":%s}}\n\n",
                   index, one_of(IDS));
        return;
    case 7:
    case 8:
        buf_printf(b, "data: {\"type\":\"content_block_stop\",\"index\":%u}\n\n", index);
        return;
    case 9:
        if (any(4)) return;
        buf_printf(b,
                   "data: "
                   "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_details\":"
                   "{\"explanation\":\"%s\"}},\"usage\":{\"output_tokens\":%s}}\n\n",
                   one_of(stops), one_of(TEXTS), one_of(VALUES));
        return;
    case 10:
        if (!any(6)) buf_lit(b, "data: {\"type\":\"message_stop\"}\n\n");
        else buf_lit(b, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
        return;
    }
}

static void openai_event(struct buf *b)
{
    static const char *const finishes[] = {
        "stop", "tool_calls", "length", "content_filter", "function_call", "error", "", NULL
    };
    switch (any(8)) {
    case 0:
        buf_printf(b, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\n\n", one_of(TEXTS));
        return;
    case 1:
        buf_printf(
            b,
            "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"%s\",\"content\":%s}}]}\n\n",
            one_of(TEXTS), one_of(VALUES));
        return;
    case 2:
    case 3:
    case 4:
    case 5:
        buf_lit(b, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[");
        for (unsigned i = 0, n = 1 + any(2); i < n; i++) {
            buf_printf(b, "%s{", i ? "," : "");
            if (any(4)) buf_printf(b, "\"index\":%u,", any(4) ? any(3) : any(100000));
            if (any(2)) buf_printf(b, "\"id\":%s,", one_of(IDS));
            if (any(3))
                buf_printf(b, "\"function\":{\"name\":%s,\"arguments\":\"%s\"}}", one_of(NAMES),
                           one_of(INPUTS));
            else if (any(2)) buf_printf(b, "\"function\":{\"arguments\":\"%s\"}}", one_of(INPUTS));
            else
                buf_printf(b, "\"function\":{\"name\":%s,\"arguments\":%s}}", one_of(NAMES),
                           one_of(VALUES));
        }
        buf_lit(b, "]}}]}\n\n");
        return;
    case 6:
        if (!any(5))
            buf_printf(b,
                       "data: "
                       "{\"choices\":[{\"delta\":{\"content\":\"%s\"},\"finish_reason\":\"%s\"}],"
                       "\"usage\":{\"prompt_tokens\":%s}}\n\n",
                       one_of(TEXTS), one_of(finishes), one_of(VALUES));
        return;
    case 7:
        if (!any(9)) buf_lit(b, "data: [DONE]\n\n");
        else buf_printf(b, "data: {\"choices\":%s}\n\n", one_of(VALUES));
        return;
    }
}

static void gemini_part(struct buf *b)
{
    static const char *const ends[] = { "", ",\"willContinue\":true",
                                        ",\"partialArgs\":[{\"jsonPath\":\"$.a\",\"stringValue\":"
                                        "\"x\",\"willContinue\":true}],\"willContinue\":true",
                                        ",\"partialArgs\":[{\"jsonPath\":\"$\",\"x\":1}]", NULL };
    static const char *const signs[] = { "", ",\"thoughtSignature\":\"c2ln\"",
                                         ",\"thoughtSignature\":5", NULL };
    switch (any(6)) {
    case 0: buf_printf(b, "{\"text\":\"%s\"%s}", one_of(TEXTS), one_of(signs)); return;
    case 1:
        buf_printf(b, "{\"text\":\"%s\",\"thought\":true%s}", one_of(TEXTS), one_of(signs));
        return;
    case 2: buf_printf(b, "{\"text\":%s}", one_of(VALUES)); return;
    case 3: buf_printf(b, "{\"executableCode\":%s}", one_of(VALUES)); return;
    case 4:
        buf_printf(b, "{\"functionCall\":{\"name\":%s,\"args\":%s}%s}", one_of(NAMES),
                   one_of(VALUES), one_of(signs));
        return;
    case 5:
        buf_printf(b, "{\"functionCall\":{\"id\":%s%s%s%s}}", one_of(IDS),
                   any(2) ? ",\"name\":\"pay\"" : "", any(2) ? ",\"args\":[]" : "", one_of(ends));
        return;
    }
}

static void gemini_event(struct buf *b)
{
    static const char *const finishes[] = {
        "STOP", "MAX_TOKENS", "SAFETY", "OTHER", "MALFORMED_FUNCTION_CALL", NULL
    };
    buf_lit(b, "data: {\"candidates\":[{\"content\":{\"parts\":[");
    for (unsigned i = 0, n = any(4); i < n; i++) {
        if (i) buf_chr(b, ',');
        gemini_part(b);
    }
    buf_lit(b, "]}");
    if (!any(6))
        buf_printf(b, ",\"finishReason\":\"%s\",\"finishMessage\":\"%s\"", one_of(finishes),
                   one_of(TEXTS));
    buf_printf(b, "}],\"usageMetadata\":{\"promptTokenCount\":%s}}\n\n", one_of(VALUES));
}

static void at_random(const struct wire *w, void (*event)(struct buf *b), const char *begin,
                      const char *end)
{
    struct buf b;
    unsigned   calls = 0, ends = 0;
    buf_init(&b, 0);
    for (unsigned round = 0; round < 20000; round++) {
        struct listener l;
        seed = round;
        buf_clear(&b);
        buf_lit(&b, begin);
        for (unsigned i = 0, n = 1 + any(14); i < n; i++) event(&b);
        if (any(2)) buf_lit(&b, end);
        listen_to(&l, w, buf_view(&b), any(2) ? b.len : 1 + any(60));
        calls += l.calls;
        ends += l.ends;
        if (!l.wrong) continue;
        test_failed(w->base_url, (int)round, l.wrong);
        printf(STR_FMT "\n", STR_ARG(buf_view(&b)));
        break;
    }
    CHECK(calls > 1000 && ends > 300 && ends < calls); /* or it would have proved nothing */
    buf_done(&b);
}

TEST(a_hostile_anthropic_stream_is_still_a_story)
{
    at_random(
        &wire_anthropic, anthropic_event,
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: "
        "{\"type\":\"message_stop\"}\n\n");
}
TEST(a_hostile_chat_completions_stream_is_still_a_story)
{
    at_random(&wire_openai, openai_event, "",
              "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: "
              "[DONE]\n\n");
}
TEST(a_hostile_gemini_stream_is_still_a_story)
{
    at_random(&wire_gemini, gemini_event, "",
              "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n");
}

/* --- what no input should be is handed over as it came, and has no end ------------------------ */

static void hands_over(const struct wire *w, const char *before, const char *value,
                       const char *after, bool ends)
{
    struct buf b, want;
    buf_init(&b, 0);
    buf_init(&want, 0);
    buf_printf(&b, "%s%s%s", before, value, after);
    buf_lit(&want, "input ");
    struct jsonw jw;
    jsonw_init(&jw, &want);
    jw_str(&jw, str_c(value));
    buf_lit(&want, ends ? "\ncall_end\n" : "\n");
    buf_chr(&b, '\0');
    struct str told = trace_of(w, b.ptr);
    if (str_find(told, buf_view(&want)) < 0 || (!ends && str_find(told, STR("call_end")) >= 0)) {
        test_failed(w->base_url, 0, value);
        printf(STR_FMT, STR_ARG(told));
    }
    buf_done(&b);
    buf_done(&want);
}

TEST(inputs_that_are_no_object_are_handed_over_and_never_end)
{
    static const char *const values[] = { "[]",    "5000",     "true", "[{\"amount\":5000}]",
                                          "\"x\"", "{\"a\":1}" };
    for (size_t i = 0; i < 6; i++) {
        hands_over(&wire_anthropic,
                   "data: "
                   "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
                   "\"tool_use\",\"id\":\"t\",\"name\":\"pay\",\"input\":",
                   values[i],
                   "}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: "
                   "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: "
                   "{\"type\":\"message_stop\"}\n\n",
                   i == 5);
        hands_over(&wire_gemini,
                   "data: "
                   "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"pay\","
                   "\"args\":",
                   values[i], "}}]},\"finishReason\":\"STOP\"}]}\n\n", i == 5);
        if (i != 4) /* a string is JSON text on this wire */
            hands_over(&wire_openai,
                       "data: "
                       "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\","
                       "\"function\":{\"name\":\"pay\",\"arguments\":",
                       values[i], "}}]},\"finish_reason\":\"tool_calls\"}]}\n\n", i == 5);
    }
    static const char *const texts[] = { "null", "[]", "5000", "no json", "{" };
    for (size_t i = 0; i < 5; i++) {
        char head[300];
        snprintf(
            head, sizeof head,
            "data: "
            "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{"
            "\"name\":\"pay\",\"arguments\":\"%s\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
            texts[i]);
        struct str told = trace_of(&wire_openai, head);
        CHECK(str_find(told, STR("call c pay\ninput ")) == 0 &&
              str_find(told, STR("call_end")) < 0);
    }
}

TEST(more_calls_than_anybody_makes_are_no_answer)
{
    struct listener l;
    struct buf      b;
    buf_init(&b, 0);
    for (int i = 0; i < 300; i++)
        buf_printf(&b,
                   "data: "
                   "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\","
                   "\"function\":{\"name\":\"pay\",\"arguments\":\"{}\"}}]}}]}\n\n",
                   i, i);
    listen_to(&l, &wire_openai, buf_view(&b), b.len);
    CHECK(!l.wrong && l.calls == BLOCKS_CALLS_MAX);
    buf_done(&b);
}
