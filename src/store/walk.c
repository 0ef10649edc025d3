/* walk.c -- see walk.h; the two stores' own ways are in sqlite_walk.c and pg_walk.c. */
#include "base/address.h"
#include "store/sum.h"
#include "store/walk_int.h"

enum err store_walk(struct str url, struct store_walk *w, struct arena *a, struct str *why)
{
    struct walk_at at = { .w = w };
    enum err       e;

    *why = STR("not enough memory to read the store");
    sum_init(); /* no store was opened here, which would have done it */
    e = address_is_database(url) ? pg_walk(url, &at, a, why) : sqlite_walk(url, &at, a, why);
    buf_done(&at.names);
    return e;
}

static struct str keep(struct buf *b, struct str s, size_t *at)
{
    *at = b->len;
    buf_str(b, s);
    return s;
}

/* The row's texts go when the next one is read, and a log is told of until its last fact. */
static bool remember(struct walk_at *at, const struct walk_log *l)
{
    struct str *texts[5] = { &at->log.log.owner, &at->log.log.thread, &at->log.title,
                             &at->log.state, &at->log.head };
    size_t      places[5];

    at->log = *l;
    buf_clear(&at->names);
    for (int i = 0; i < 5; i++) keep(&at->names, *texts[i], &places[i]);
    if (at->names.err) return false;
    for (int i = 0; i < 5; i++)
        if (texts[i]->ptr) texts[i]->ptr = buf_view(&at->names).ptr + places[i];
    return true;
}

static bool end_log(struct walk_at *at)
{
    bool open = at->open;

    at->open = false;
    return !open || !at->w->log_end || at->w->log_end(at->w, &at->log);
}

bool walk_row(struct walk_at *at, int64_t id, const struct walk_log *l, const struct store_fact *f,
              struct chain_mark m)
{
    if (!at->open || id != at->id) {
        if (!end_log(at) || !remember(at, l)) return false;
        at->open = true;
        at->id = id;
        if (at->w->log && !at->w->log(at->w, &at->log)) return false;
    }
    return !f || !at->w->fact || at->w->fact(at->w, &at->log, f, m);
}

bool walk_rows_end(struct walk_at *at)
{
    return end_log(at);
}
