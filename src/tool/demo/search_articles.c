/* search_articles.c -- finds abstracts, and shows how it goes: searching, ranking, reading. */
#include "base/utf8.h"
#include "tool/demo/library.h"

#define LIMIT_DEFAULT 5
#define SHOWN_MAX     60 /* characters of the query in a progress line */

static const char *s_for(size_t n)
{
    return n == 1 ? "" : "s";
}

static size_t corpus_size(void)
{
    size_t n = 0;
    while (CORPUS[n].title) n++;
    return n;
}

static void write_value(struct buf *out, const struct hits *h)
{
    struct jsonw j;
    jsonw_init(&j, out);
    jw_obj(&j);
    jw_kint(&j, "count", (int64_t)h->count);
    jw_key(&j, "articles");
    library_json(&j, h, NULL);
    jw_end_obj(&j);
}

void search_articles_run(struct demo_work *w)
{
    struct str  query = str_trim(jv_str_at(w->job->args, "query"));
    struct str  shown = str_cut(query, utf8_take(query, SHOWN_MAX));
    int64_t     limit = jv_int_at(w->job->args, "limit", LIMIT_DEFAULT);
    struct hits h;
    if (library_search(w->all, query, limit < 1 ? 1 : (size_t)limit, &h)) {
        demo_fail(w, "The library cannot be read right now.");
        return;
    }
    demo_stage(w, "searching", 0.2, "Searching %zu abstracts for \"" STR_FMT "\"...", corpus_size(),
               STR_ARG(shown));
    demo_stage(w, "ranking", 0.6, "Found %zu article%s, ranking...", h.total, s_for(h.total));
    demo_stage(w, "reading", 0.9, "Reading the best %zu...", h.count);
    buf_printf(&w->text, "Found %zu article%s", h.count, s_for(h.count));
    buf_lit(&w->text, h.count ? ":" : ".");
    library_text(&w->text, &h);
    write_value(&w->value, &h);
}
