/* sight.c -- see sight.h. */
#include "run/sight.h"

#include "base/jsonw.h"

bool sight_words(const struct hub *h, struct str owner, struct str reader)
{
    return hub_setup(h)->context != CONTEXT_NONE || (reader.len && str_eq(owner, reader));
}

static void write_member(struct jsonw *w, const struct jv *v)
{
    jw_key_str(w, v->key);
    if (str_is(v->key, "said")) jw_null(w);
    else jw_jv(w, v);
}

void sight_row(struct buf *out, const struct hub *h, struct str owner, struct str reader,
               struct str body)
{
    struct arena a;
    struct jv   *row;
    struct jsonw w;
    if (sight_words(h, owner, reader)) {
        buf_str(out, body);
        return;
    }
    arena_init(&a, 0);
    jsonw_init(&w, out);
    if (json_parse(&a, body, &row, NULL) != OK) out->err = ERR_NOMEM;
    else {
        jw_obj(&w);
        JV_EACH (v, row) write_member(&w, v);
        jw_end_obj(&w);
    }
    arena_done(&a);
}
