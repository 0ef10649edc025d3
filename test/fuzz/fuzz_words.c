/* fuzz_words.c -- markers woven into any words, and intent lines from any arguments.
 *
 * The input is texts divided by bytes 0xff: a template, the arguments as JSON, then words with
 * a marker after each. The first byte is the seed of the cuts.
 *   - however the words are cut, the same text comes of them, and counting without writing ends in
 *   the same state;
 *   - every [[tool:N]] in it is one of ours, in order, and there are no others;
 *   - an intent is one line, bounded, hides nothing, and can be written as JSON that reads as the
 *   same text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/glyph.h"
#include "base/jsonw.h"
#include "base/utf8.h"
#include "fuzz_cut.h"
#include "run/intent.h"
#include "run/marker.h"

static void require(bool ok)
{
    if (!ok) abort();
}

/* --- markers ------------------------------------------------------------------------------ */

static void words(struct marker_weave *w, struct buf *out, struct str text, unsigned *cuts)
{
    size_t at = 0, seen = 0;
    marker_paragraph(w);
    while (at < text.len) {
        if (seen < text.len) seen += fuzz_cut(cuts, text.len - seen);
        size_t took = marker_words(w, out, str_n(text.ptr + at, seen - at), seen == text.len);
        require(took <= seen - at && (took || seen < text.len));
        at += took;
    }
}

static unsigned weave(struct str rest, unsigned cuts, struct buf *out, struct marker_weave *w)
{
    struct str text;
    unsigned   n = 0;
    *w = (struct marker_weave){ 0 };
    while (str_split(&rest, (char)0xff, &text)) {
        words(w, out, text, &cuts);
        marker_put(w, out, n++);
    }
    return n;
}

static void check_markers(struct str text, unsigned count)
{
    for (unsigned n = 0; n <= count; n++) {
        char      want[32];
        ptrdiff_t at = str_find(text, STR("[[tool:"));
        if (n == count) {
            require(at < 0);
            return;
        }
        snprintf(want, sizeof want, "[[tool:%u]]", n);
        require(at >= 0 && str_starts(str_from(text, (size_t)at), str_c(want)));
        text = str_from(text, (size_t)at + 7);
    }
}

static void markers(struct str rest, unsigned cuts)
{
    struct buf          whole, cut;
    struct marker_weave a, b, c;
    buf_init(&whole, 0);
    buf_init(&cut, 0);
    unsigned n = weave(rest, 0, &whole, &a);
    weave(rest, cuts, &cut, &b);
    weave(rest, cuts, NULL, &c);
    require(str_eq(buf_view(&whole), buf_view(&cut)));
    require(a.any == c.any && a.separate == c.separate && a.newlines == c.newlines &&
            b.newlines == c.newlines);
    check_markers(buf_view(&whole), n);
    require(!whole.len || whole.ptr[0] != '\n');
    buf_done(&whole);
    buf_done(&cut);
}

/* --- intents ------------------------------------------------------------------------------- */

static bool hides(struct str s)
{
    uint32_t cp;
    for (unsigned n; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        if (glyph_hidden(cp)) return true;
    }
    return false;
}

static void check_line(struct arena *a, struct buf *line, size_t max)
{
    struct jsonw w;
    struct buf   json;
    struct jv   *v;
    require(line->err == OK && line->len && line->len <= max && !hides(buf_view(line)));
    buf_init(&json, 0);
    jsonw_init(&w, &json);
    jw_str(&w, buf_view(line));
    require(json_parse(a, buf_view(&json), &v, NULL) == OK);
    require(utf8_valid(buf_view(line)) && str_eq(v->str, buf_view(line)));
    buf_done(&json);
    buf_clear(line);
}

static void intents(struct str tmpl, struct str json)
{
    static const char *const tools[] = { "generate_artifact", "generate_image", "browser.search",
                                         "pay" };
    struct arena             a;
    struct jv               *args = NULL;
    struct buf               line;

    arena_init(&a, 0);
    buf_init(&line, 0);
    if (json_parse(&a, json, &args, NULL) != OK) args = NULL;
    for (size_t i = 0; i < 4; i++) {
        intent_line(&line, str_c(tools[i]), STR_NONE, args, NULL);
        check_line(&a, &line, 400);
    }
    intent_ask(&line, json, STR_NONE, args, NULL); /* a tool's name may be anything, too */
    check_line(&a, &line, 700);
    /* A template is the operator's: as long as it hides nothing, neither does what comes of it. */
    if (utf8_valid(tmpl) && tmpl.len && !hides(tmpl)) {
        intent_ask(&line, STR("pay"), tmpl, args, NULL);
        if (line.len) check_line(&a, &line, 2000 * (tmpl.len + 1));
    }
    buf_done(&line);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    struct str rest = str_from(str_n((const char *)data, size), 1), tmpl = STR_NONE,
               json = STR_NONE;
    str_split(&rest, (char)0xff, &tmpl);
    str_split(&rest, (char)0xff, &json);
    intents(tmpl, json);
    if (rest.ptr) markers(rest, data[0] + 1u);
    return 0;
}
