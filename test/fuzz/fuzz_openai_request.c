/* fuzz_openai_request.c -- any bytes as a body of /v1/responses and of /v1/chat/completions, and the
 * words of its message as an answer to a question.
 *
 * Whatever comes: a refusal has a status, a code and a sentence; what was taken has a tail that wants
 * something, limits hold, a yes was made from the boolean true; no text that says anything beside
 * its code is an answer, and what is one is also found to have the code. Where codes are masked,
 * nothing else is another.
 * dictionary: json */
#include <stdlib.h>

#include "base/utf8.h"
#include "dialect/openai_request.h"
#include "run/engine.h"
#include "run/spelling.h"
#include "run/spoken.h"

static void require(bool ok)
{
    if (!ok) abort();
}

static void check_refusal(const struct oai_refusal *why)
{
    require(why->status >= 400 && why->status < 500 && why->code && why->code[0]);
    require(why->message && why->message[0] && utf8_valid(str_c(why->message)));
}

static bool says_true(struct str body)
{
    return str_find(body, STR("true")) >= 0;
}

static void check_taken(struct arena *a, const struct oai_request *q, struct str body)
{
    bool       acts = q->has_message;
    struct jv *v;
    require(q->count <= OAI_ITEMS_MAX && q->tail <= q->count && q->text.len <= OAI_TEXT_MAX);
    require(q->function_count <= OAI_TOOLS_MAX && q->system.len <= OAI_SYSTEM_MAX);
    for (size_t i = q->tail; i < q->count; i++) {
        const struct oai_item *x = &q->items[i];
        require(x->kind != OAI_ASSISTANT && x->kind != OAI_OTHER);
        acts |= x->kind == OAI_APPROVAL || x->kind == OAI_OUTPUT;
        if (x->kind == OAI_APPROVAL || x->kind == OAI_OUTPUT) require(x->id.len > 0);
        if (x->kind == OAI_APPROVAL && x->approve) require(says_true(body));
    }
    require(acts);
    require(!(q->previous.len && q->conversation.len) && !(q->background && !q->store));
    if (q->files.ptr) require(json_parse(a, q->files, &v, NULL) == OK && v->type == JSON_ARRAY);
    require(json_parse(a, q->input, &v, NULL) == OK && v->count == q->count - q->tail);
}

/* A question waits here; its code is 4821. */
static void with_question(struct fold *f)
{
    static const char *const FACTS[][2] = {
        { "message", "{\"run\":\"r\",\"text\":\"x\"}" },
        { "step",
          "{\"run\":\"r\",\"stop\":\"calls\",\"parts\":[{\"type\":\"call\",\"text\":\"{}\","
          "\"call\":\"c\",\"tool\":\"pay\",\"gate\":\"ask\",\"complete\":true,\"at_ms\":1}]}" },
        { "asked", "{\"call\":\"c\",\"id\":\"q\",\"ask\":\"Pay?\",\"digest\":\"d\"}" },
        { "told",
          "{\"call\":\"c\",\"id\":\"q\",\"code\":\"4821\",\"digest\":\"d\",\"text\":\"t\"}" },
    };
    for (size_t i = 0; i < 4; i++)
        require(fold_apply(f, &(struct stored_fact){ i + 1, 1, str_c(FACTS[i][0]),
                                                     str_c(FACTS[i][1]) }) == OK);
}

/* Codes in it are masked, and nothing else is another than it was. */
static void check_masked(struct arena *a, struct str text)
{
    struct str     out = spoken_masked(a, text);
    struct spelled x;
    size_t         at = 0;
    for (; spelling_next(text, at, &x); at = x.at + x.len) {
        struct str before = str_n(text.ptr + at, x.at - at), code = str_n(text.ptr + x.at, x.len);
        require(str_starts(out, before));
        out = str_from(out, before.len);
        bool same = str_starts(out, code);
        require(same || str_starts(out, STR(SPELLING_BLANK)));
        out = str_from(out, same ? code.len : sizeof SPELLING_BLANK - 1);
    }
    require(str_eq(out, str_from(text, at)));
}

static void check_words(struct arena *a, struct str text)
{
    static struct fold   f; /* nothing here changes it */
    struct spoken_answer list[SPOKEN_MAX];
    size_t               n;
    if (!f.count) {
        fold_init(&f);
        with_question(&f);
    }
    if (spoken_read(a, &f, text, list, &n) == SPOKEN_ANSWERS) {
        require(n > 0 && spoken_has_code(&f, text));
        for (size_t i = 0; i < n; i++)
            require(list[i].call && strcmp(list[i].code, "4821") == 0 &&
                    (!list[i].yes || !list[i].reason.ptr));
    }
    check_masked(a, text);
}

static void decode(struct str body, bool chat)
{
    struct oai_refusal why = { 0 };
    struct oai_request q;
    struct arena       a;
    struct jv         *v;
    arena_init(&a, 0);
    if (json_parse(&a, body, &v, NULL) == OK) {
        if (!oai_decode(&a, v, chat, &q, &why)) check_refusal(&why);
        else {
            check_taken(&a, &q, body);
            check_words(&a, q.text);
        }
    }
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str   body = { (const char *)data, size };
    struct arena a;
    decode(body, false);
    decode(body, true);
    arena_init(&a, 0);
    if (utf8_valid(body)) check_words(&a, body);
    arena_done(&a);
    return 0;
}
