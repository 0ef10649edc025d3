/* Markers woven into words: the same text however the words are cut, and only ours are markers. */
#include "run/marker.h"
#include "test.h"

/* Words given in three cuts, as a stream would: what is not taken comes again with more. */
static void weave(struct buf *out, struct marker_weave *w, struct str words, size_t a, size_t b)
{
    size_t cuts[] = { a, b, words.len }, at = 0;
    marker_paragraph(w);
    for (int i = 0; i < 3; i++)
        while (at < cuts[i]) {
            size_t took =
                marker_words(w, out, str_n(words.ptr + at, cuts[i] - at), cuts[i] == words.len);
            if (!took) break;
            at += took;
        }
    REQUIRE(at == words.len);
}

/* A run of: words, outcome 0, words, outcomes 1 and 2, words. */
static void whole(struct buf *out, const char *first, const char *second, const char *third,
                  size_t a, size_t b)
{
    struct marker_weave w = { 0 };
    buf_clear(out);
    weave(out, &w, str_c(first), a < strlen(first) ? a : strlen(first),
          b < strlen(first) ? b : strlen(first));
    marker_put(&w, out, 0);
    weave(out, &w, str_c(second), a < strlen(second) ? a : strlen(second),
          b < strlen(second) ? b : strlen(second));
    marker_put(&w, out, 1);
    marker_put(&w, out, 2);
    weave(out, &w, str_c(third), a < strlen(third) ? a : strlen(third),
          b < strlen(third) ? b : strlen(third));
}

static void weaves(const char *first, const char *second, const char *third, const char *want)
{
    struct buf one, cut;
    buf_init(&one, 0);
    buf_init(&cut, 0);
    whole(&one, first, second, third, 0, 0);
    CHECK_STR(buf_view(&one), want);
    size_t longest = strlen(first) > strlen(third) ? strlen(first) : strlen(third);
    if (strlen(second) > longest) longest = strlen(second);
    for (size_t a = 0; a <= longest; a++)
        for (size_t b = a; b <= longest; b++) {
            whole(&cut, first, second, third, a, b);
            if (!str_eq(buf_view(&cut), buf_view(&one))) CHECK_STR(buf_view(&cut), want);
        }
    buf_done(&one);
    buf_done(&cut);
}

TEST(markers_are_set_off_by_blank_lines)
{
    weaves("Let me search for that...", "I found 5 relevant articles.", "Bye.",
           "Let me search for that...\n\n[[tool:0]]\n\nI found 5 relevant "
           "articles.\n\n[[tool:1]]\n\n[[tool:2]]\n\nBye.");
}

TEST(a_run_may_begin_with_a_marker_and_have_no_words)
{
    weaves("", "", "", "[[tool:0]]\n\n[[tool:1]]\n\n[[tool:2]]");
    weaves("", "a", "", "[[tool:0]]\n\na\n\n[[tool:1]]\n\n[[tool:2]]");
}

TEST(blank_lines_are_neither_leading_nor_doubled)
{
    weaves("\n\nHello\n", "\n\n\nworld\n\n", "\nend\n",
           "Hello\n\n[[tool:0]]\n\nworld\n\n[[tool:1]]\n\n[[tool:2]]\n\nend\n");
    weaves("Hello\n\n", "\n", "\n\n", "Hello\n\n[[tool:0]]\n\n[[tool:1]]\n\n[[tool:2]]");
}

TEST(words_that_look_like_a_marker_are_escaped)
{
    weaves("See [[tool:0]] there", "[[tool:9]]", "x[[[tool:1]][[tool:",
           "See [\\[tool:0]] "
           "there\n\n[[tool:0]]\n\n[\\[tool:9]]\n\n[[tool:1]]\n\n[[tool:2]]\n\nx[[\\[tool:1]][\\["
           "tool:");
    weaves("[[too", "[[tool", "[",
           "[[too\n\n[[tool:0]]\n\n[[tool\n\n[[tool:1]]\n\n[[tool:2]]\n\n[");
}

TEST(letters_of_several_bytes_are_woven_whole)
{
    weaves("花子さん", "🎉[[tool:1]]🎉", "é",
           "花子さん\n\n[[tool:0]]\n\n🎉[\\[tool:1]]🎉\n\n[[tool:1]]\n\n[[tool:2]]\n\né");
}

TEST(counting_without_writing_leaves_the_same_state)
{
    struct marker_weave a = { 0 }, b = { 0 };
    struct buf          out;
    buf_init(&out, 0);
    static const char *const TEXTS[] = { "one", "two\n", "\n\n", "[[tool:1]]", "end\n\n" };
    for (size_t i = 0; i < 5; i++) {
        marker_paragraph(&a);
        marker_paragraph(&b);
        CHECK(marker_words(&a, &out, str_c(TEXTS[i]), true) ==
              marker_words(&b, NULL, str_c(TEXTS[i]), true));
        marker_put(&a, &out, (unsigned)i);
        marker_put(&b, NULL, (unsigned)i);
        CHECK(a.any == b.any && a.separate == b.separate && a.newlines == b.newlines);
    }
    buf_done(&out);
}
