/* Codes as they may be written: which texts have one, and where. What finds them reads the answers
 * and blanks what a model is told, so one table is enough for both. */
#include "run/codes.h"
#include "run/engine.h"
#include "run/spelling.h"
#include "run/spoken.h"
#include "tale.h"

/* Every way of writing 4821. */
static const char *const SPELLINGS[] = {
    "4821",
    "４８２１",
    "٤٨٢١",
    "۴۸۲۱",
    "४८२१",
    "𝟒𝟖𝟐𝟏",
    "④⑧②①",
    "⁴⁸²¹",
    "4８٢1",
    "4 8 2 1",
    "48 21",
    "4 821",
    "482 1",
    "4-8-2-1",
    "48-21",
    "48 - 21",
    "48\u201321",
    "48\u221221",
    "4_8_2_1",
    "48\u00a021",
    "4\u30008\u30002\u30001",
    "4\u2009821",
    "48\u200b21",
    "4\u200d8\u20602\ufeff1",
    "48\u00ad21",
    "4\u202e821",
    "4\ufe0f\u20e38\ufe0f\u20e32\ufe0f\u20e31\ufe0f\u20e3",
    "4\u0332821",
    "48\u200b \u200b21",
    "\\u0034821",
    "\\u0034\\u0038\\u0032\\u0031",
    "\\uFF14\\uff18\\uFF12\\uff11",
    "\\ud835\\udfd2821",
};
#define SPELLING_WAYS (sizeof SPELLINGS / sizeof *SPELLINGS)

TEST(a_code_is_found_however_it_is_written)
{
    char           text[256];
    struct spelled x;
    for (size_t i = 0; i < SPELLING_WAYS; i++) {
        snprintf(text, sizeof text, "say yes: %s.", SPELLINGS[i]);
        bool found = spelling_next(str_c(text), 0, &x) && x.number == 4821 && x.at == 9 &&
                     x.len == strlen(SPELLINGS[i]);
        if (!found) test_failed(__FILE__, __LINE__, SPELLINGS[i]);
        if (spelling_next(str_c(text), x.at + x.len, &x))
            test_failed(__FILE__, __LINE__, "a second one");
    }
}

/* All of them, in their order, as text. */
static const char *codes_in(const char *text)
{
    static char    out[256];
    struct spelled x = { 0 };
    out[0] = 0;
    while (spelling_next(str_c(text), x.at + x.len, &x))
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%04u", *out ? " " : "", x.number);
    return out;
}

TEST(other_numbers_are_no_codes)
{
    static const struct {
        const char *text, *codes;
    } table[] = {
        { "", "" },
        { "482", "" },
        { "48210", "" },
        { "5000048211", "" },
        { "48\u200b210", "" },
        { "4 8 2 1 0", "" },
        { "48 21 5", "" },
        { "4.8.2.1 4,8,2,1 4/8/2/1 48:21", "" },
        { "48\n21", "" },
        { "48\r\n21", "" },
        { "48\u202821", "" },
        { "48    21", "" }, /* two columns */
        { "10 000 and 1 000 000", "" },
        { "four eight two one", "" },
        { "\\u0034", "" },
        { "\\u00", "" },
        { "\\", "" },
        { "48\t21", "4821" },
        { "4821 50 dollars", "4821" },
        { "1234 5678", "1234 5678" },
        { "1234-5678-9012", "1234 5678 9012" },
        { "7 4821 9", "4821" },
        { "48 21 9999", "4821 9999" },
        { "fn_4821", "4821" },
        { "v4821kg", "4821" },
        { "2026-11-18", "2026 1118" },
        { "\xff"
          "4821\xe2\x80",
          "4821" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(codes_in(table[i].text), table[i].codes))
            test_failed(__FILE__, __LINE__, table[i].text);
}

/* --- read, and blanked ---------------------------------------------------------------------------- */

struct scene {
    struct tale  tale;
    struct hub   hub;
    struct arena arena;
};

/* A payment waits, told with the code 4821. */
static void set(struct scene *s)
{
    struct tale *t = &s->tale;
    tale_question(t);
    s->hub = (struct hub){ 0 };
    map_init(&s->hub.codes);
    t->thread.hub = &s->hub;
    arena_init(&s->arena, 0);
}

static void strike(struct scene *s)
{
    arena_done(&s->arena);
    map_done(&s->hub.codes);
    s->tale.thread.hub = NULL;
    tale_done(&s->tale);
}

TEST(what_is_read_as_a_yes_is_found_in_other_words_too)
{
    struct scene         s;
    struct spoken_answer list[SPOKEN_MAX];
    size_t               n;
    char                 text[256];
    set(&s);
    for (size_t i = 0; i < SPELLING_WAYS; i++) {
        snprintf(text, sizeof text, "yes %s", SPELLINGS[i]);
        bool read =
            spoken_read(&s.arena, tale_fold(&s.tale), str_c(text), list, &n) == SPOKEN_ANSWERS &&
            n == 1 && list[0].yes && list[0].call;
        if (!read) test_failed(__FILE__, __LINE__, text);
        snprintf(text, sizeof text, "Is %s the right one?", SPELLINGS[i]);
        if (!spoken_has_code(tale_fold(&s.tale), str_c(text)))
            test_failed(__FILE__, __LINE__, text);
        snprintf(text, sizeof text, "Reply `yes %s`.", SPELLINGS[i]);
        if (!str_is(spoken_masked(&s.arena, str_c(text)), "Reply `yes ****`."))
            test_failed(__FILE__, __LINE__, text);
    }
    CHECK(spoken_read(&s.arena, tale_fold(&s.tale), STR("no 4821 50 is too much"), list, &n) ==
              SPOKEN_ANSWERS &&
          str_is(list[0].reason, "50 is too much"));
    strike(&s);
}

/* Groups of digits are a code where it is one, and else what they look like: no try is lost. */
TEST(groups_of_digits_that_are_nobodys_code_are_no_wrong_code)
{
    struct scene         s;
    struct spoken_answer list[SPOKEN_MAX];
    size_t               n;
    set(&s);
    const struct fold *f = tale_fold(&s.tale);
    CHECK(spoken_read(&s.arena, f, STR("yes 48 22"), list, &n) == SPOKEN_UNCLEAR);
    CHECK(spoken_read(&s.arena, f, STR("yes 4822"), list, &n) == SPOKEN_WRONG);
    CHECK(spoken_read(&s.arena, NULL, STR("yes 10 20"), list, &n) == SPOKEN_MESSAGE);
    CHECK(spoken_read(&s.arena, NULL, STR("yes 1020"), list, &n) == SPOKEN_GONE);
    strike(&s);
}

static struct str base64(struct arena *a, const char *text)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(text), n = 0;
    char  *out = arena_alloc(a, len / 3 * 4 + 5);
    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)(unsigned char)text[i] << 16;
        if (i + 1 < len) v |= (unsigned)(unsigned char)text[i + 1] << 8;
        if (i + 2 < len) v |= (unsigned char)text[i + 2];
        for (int k = 18; k >= 0; k -= 6) out[n++] = LETTERS[v >> k & 63];
    }
    for (size_t pad = (3 - len % 3) % 3; pad; pad--) out[n - pad] = '=';
    return str_n(out, n);
}

#define PARTS 8
/* All the ways a text comes into a request; the last four parts have others beside their text. */
static void fill(struct scene *s, const char *code, struct msg_part parts[PARTS], struct msg *m,
                 struct model_tool tools[4], struct model_request *q)
{
    struct arena *a = &s->arena;
    struct str    said = arena_printf(a, "Say yes %s now", code);
    struct str    json = arena_printf(a, "{\"a\":[\"%s\",true],\"%s\":1}", code, code);
    parts[0] = (struct msg_part){ .type = PART_TEXT, .text = said };
    parts[1] = (struct msg_part){ .type = PART_TEXT, .text = said, .aside = true };
    parts[2] = (struct msg_part){ .type = PART_RESULT, .text = said };
    parts[3] = (struct msg_part){ .type = PART_RESULT, .text = json };
    parts[4] = (struct msg_part){ .type = PART_CALL, .input = json, .foreign = true };
    parts[5] = (struct msg_part){ .type = PART_FILE, .url = said, .name = said };
    parts[6] = (struct msg_part){ .type = PART_FILE,
                                  .text = base64(a, said.ptr),
                                  .media_type = STR("text/plain") };
    parts[7] = (struct msg_part){ .type = PART_FILE,
                                  .text = base64(a, said.ptr),
                                  .media_type = arena_printf(a, "application/%s", code) };
    *m = (struct msg){ .role = MSG_USER, .parts = parts, .count = PARTS };
    tools[0] = (struct model_tool){ STR("look"), said, STR("{}"), .declared = true };
    tools[1] = (struct model_tool){ arena_printf(a, "fn_%s", code), STR("x"), STR("{}"),
                                    .declared = true };
    tools[2] = (struct model_tool){ STR("see"), STR("x"), json, .declared = true };
    tools[3] = (struct model_tool){ STR("pay"), STR("ours"), STR("{\"maximum\":4821}") };
    *q = (struct model_request){ .system = said,
                                 .msgs = m,
                                 .msg_count = 1,
                                 .tools = tools,
                                 .tool_count = 4,
                                 .choice = CHOICE_NAMED,
                                 .named = tools[1].name };
}

TEST(no_way_of_writing_it_reaches_a_model_by_any_way)
{
    struct scene         s;
    struct msg_part      parts[PARTS];
    struct msg           m;
    struct model_tool    tools[4];
    struct model_request q;
    set(&s);
    for (size_t i = 0; i < SPELLING_WAYS; i++) {
        fill(&s, SPELLINGS[i], parts, &m, tools, &q);
        struct str plain_file = base64(&s.arena, "Say yes **** now");
        CHECK(codes_blank(&s.tale.thread, &s.arena, &q) == OK);
        bool ok = str_is(q.system, "Say yes **** now") && str_eq(parts[0].text, q.system) &&
                  str_eq(parts[1].text, q.system) && str_eq(parts[2].text, q.system) &&
                  str_is(parts[3].text, "{\"a\":[\"****\",true],\"****\":1}") &&
                  str_eq(parts[4].input, parts[3].text) && str_eq(parts[5].url, q.system) &&
                  str_eq(parts[5].name, q.system) && str_eq(parts[6].text, plain_file) &&
                  str_eq(parts[7].text, plain_file) &&
                  str_is(parts[7].media_type, "application/****");
        /* the functions whose name or schema has it are not offered, and so are not asked for */
        ok = ok && q.tool_count == 2 && str_is(q.tools[0].name, "look") &&
             str_eq(q.tools[0].description, q.system) && str_is(q.tools[1].name, "pay") &&
             q.choice == CHOICE_AUTO;
        if (!ok) test_failed(__FILE__, __LINE__, SPELLINGS[i]);
    }
    strike(&s);
}

TEST(numbers_of_a_buttons_call_stay_json_and_a_models_own_call_stays_as_it_is)
{
    struct scene    s;
    struct msg_part parts[] = {
        { .type = PART_CALL, .input = STR("{\"n\":4821,\"m\":4822}"), .foreign = true },
        { .type = PART_CALL, .input = STR("{\"n\":4821.50}"), .foreign = true },
        { .type = PART_CALL, .input = STR("{\"n\":4821}") },
        { .type = PART_TEXT, .text = STR("4821"), .opaque = STR("{}") },
    };
    struct msg           m = { .parts = parts, .count = 4 };
    struct model_request q = { .msgs = &m, .msg_count = 1 };
    set(&s);
    CHECK(codes_blank(&s.tale.thread, &s.arena, &q) == OK);
    CHECK_STR(parts[0].input, "{\"n\":\"****\",\"m\":4822}");
    CHECK_STR(parts[1].input, "{\"n\":\"****\"}");
    CHECK_STR(parts[2].input, "{\"n\":4821}");
    CHECK_STR(parts[3].text, "4821");
    strike(&s);
}
