/* browser_search.c -- "the web", as far as a program without network has one: the built-in library.
 * It says so. */
#include "tool/demo/library.h"

#define LIMIT 4

static const char NOTE[] =
    "This demo has no internet: these entries are from its built-in library of invented abstracts.";

void browser_search_run(struct demo_work *w)
{
    struct str   query = str_trim(jv_str_at(w->job->args, "query"));
    struct hits  h;
    struct jsonw j;
    if (library_search(w->all, query, LIMIT, &h)) {
        demo_fail(w, "The library cannot be read right now.");
        return;
    }
    demo_stage(w, "searching", 0.3, "Looking through the built-in library...");
    demo_stage(w, "reading", 0.8, "Reading %zu of %zu entries...", h.count, h.total);
    buf_printf(&w->text, "Found %zu entr%s. %s", h.count, h.count == 1 ? "y" : "ies", NOTE);
    library_text(&w->text, &h);
    jsonw_init(&j, &w->value);
    jw_obj(&j);
    jw_kint(&j, "count", (int64_t)h.count);
    jw_kstrz(&j, "note", NOTE);
    jw_key(&j, "results");
    library_json(&j, &h, "https://library.example/");
    jw_end_obj(&j);
}
