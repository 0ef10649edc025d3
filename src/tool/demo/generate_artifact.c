/* generate_artifact.c -- a self-contained HTML page that really works, chosen by the words of the
 * prompt. */
#include "tool/demo/demo_work.h"
#include "tool/demo/pages.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool mentions(struct str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.len; i++)
        if (str_eq_nocase(str_n(text.ptr + i, n), str_n(word, n))) return true;
    return false;
}

static const struct page *page_for(struct str prompt)
{
    const struct page *p = PAGES;
    for (; p->words[0]; p++)
        for (int i = 0; p->words[i]; i++)
            if (mentions(prompt, p->words[i])) return p;
    return p; /* the last one fits everything */
}

/* Untrusted text in the page: no tag, no attribute, no script can come of it. */
static void add_html(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '&') buf_lit(out, "&amp;");
        else if (c == '<') buf_lit(out, "&lt;");
        else if (c == '>') buf_lit(out, "&gt;");
        else if (c == '"') buf_lit(out, "&quot;");
        else if (c == '\'') buf_lit(out, "&#39;");
        else buf_chr(out, (unsigned char)c < ' ' ? ' ' : c);
    }
}

/* {title} and {prompt} stand in the page's text only, never in its script. */
static void write_page(struct buf *out, const char *tmpl, struct str title, struct str prompt)
{
    static const char slots[2][9] = { "{title}", "{prompt}" };
    struct str        rest = str_c(tmpl);
    while (rest.len) {
        if (str_starts(rest, str_c(slots[0]))) {
            add_html(out, title);
            rest = str_from(rest, 7);
        } else if (str_starts(rest, str_c(slots[1]))) {
            add_html(out, prompt);
            rest = str_from(rest, 8);
        } else {
            buf_chr(out, rest.ptr[0]);
            rest = str_from(rest, 1);
        }
    }
}

static void write_value(struct demo_work *w, struct str title, struct str html)
{
    struct jsonw j;
    jsonw_init(&j, &w->value);
    jw_obj(&j);
    struct str id = arena_printf(&w->arena, "artifact-" STR_FMT, STR_ARG(w->job->call_id));
    jw_kstr(&j, "id", id);
    jw_kstrz(&j, "type", "html");
    jw_kstr(&j, "title", title);
    jw_kstr(&j, "content", html);
    jw_end_obj(&j);
}

void generate_artifact_run(struct demo_work *w)
{
    struct str         prompt = str_trim(jv_str_at(w->job->args, "prompt"));
    struct str         title = str_trim(jv_str_at(w->job->args, "title"));
    const struct page *p = page_for(prompt.len ? prompt : title);
    struct buf         html;
    if (!title.len) title = str_c(p->title);
    buf_init(&html, 0);
    write_page(&html, PAGE_HEAD, title, prompt);
    write_page(&html, p->body, title, prompt.len ? prompt : STR("a simple page"));
    buf_lit(&html, PAGE_FOOT);
    w->text.err = html.err;
    demo_stage(w, "building", 0.4, "Building your %c%s...", lower(p->title[0]), p->title + 1);
    demo_stage(w, "checking", 0.9, "Checking that it stands on its own...");
    buf_lit(&w->text, "Built \"");
    buf_str(&w->text, title);
    buf_printf(&w->text, "\", %s (HTML, %zu bytes).", p->what, html.len);
    write_value(w, title, buf_view(&html));
    buf_done(&html);
}
