/* apply_schema.c -- the server action under a proposed schema. It changes nothing outside: it
 * remembers which ids were applied, so that the second click gets an honest "already". */
#include "tool/demo/demo_work.h"

#define APPLIED_MAX 1000 /* a demo that is left running for years must not grow */

struct applied {
    struct applied *next;
    size_t          len;
    char            id[];
};

void applied_free(struct applied *a)
{
    while (a) {
        struct applied *next = a->next;
        mem_free(a);
        a = next;
    }
}

static bool is_applied(const struct applied *a, struct str id)
{
    for (; a; a = a->next)
        if (str_eq(str_n(a->id, a->len), id)) return true;
    return false;
}

static void forget_oldest(struct applied **list)
{
    size_t n = 0;
    while (*list && n++ < APPLIED_MAX) list = &(*list)->next;
    applied_free(*list);
    *list = NULL;
}

static bool remember(struct demo_tools *all, struct str id)
{
    struct applied *a = mem_alloc(sizeof *a + id.len);
    if (!a) return false;
    a->next = all->applied;
    a->len = id.len;
    memcpy(a->id, id.ptr, id.len);
    all->applied = a;
    forget_oldest(&all->applied);
    return true;
}

void apply_schema_run(struct demo_work *w)
{
    const struct jv *id = jv_get(w->job->args, "schema_id");
    struct jsonw     j;
    if (!id) {
        demo_fail(w, "The schema_id is missing.");
        return;
    }
    bool already = is_applied(w->all->applied, id->raw);
    if (!already && !remember(w->all, id->raw)) {
        demo_fail(w, "There was not enough memory to do this.");
        return;
    }
    struct str shown = id->type == JSON_STRING ? id->str : id->raw;
    buf_lit(&w->text, "Schema ");
    buf_str(&w->text, shown);
    buf_lit(&w->text,
            already ? " was already applied; nothing changed."
                    : " is applied. (In this demo that means: noted. No database was touched.)");
    jsonw_init(&j, &w->value);
    jw_obj(&j);
    jw_key(&j, "schema_id");
    jw_jv(&j, id);
    jw_kbool(&j, "applied", true);
    jw_kbool(&j, "already", already);
    jw_end_obj(&j);
}
