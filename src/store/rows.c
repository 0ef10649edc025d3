/* rows.c -- see rows.h. */
#include "store/rows.h"

#include "store/sum.h"

/* --- checksums ------------------------------------------------------------------ */

int64_t fact_sum(struct log_name log, const struct store_fact *f)
{
    struct sum s = SUM_BEGIN;

    sum_text(&s, log.owner);
    sum_text(&s, log.thread);
    sum_int(&s, (int64_t)f->seq);
    sum_int(&s, f->at_ms);
    sum_text(&s, f->kind);
    sum_text(&s, f->body);
    return (int64_t)sum_end(&s);
}

int64_t approval_sum(struct log_name log, const struct store_approval *a)
{
    struct sum s = SUM_BEGIN;

    sum_text(&s, log.owner);
    sum_text(&s, log.thread);
    sum_text(&s, a->id);
    sum_text(&s, a->call);
    sum_text(&s, a->tool);
    sum_text(&s, a->status);
    sum_text(&s, a->body);
    sum_int(&s, a->requested_ms);
    sum_int(&s, a->expires_ms);
    return (int64_t)sum_end(&s);
}

/* --- logs that are damaged --------------------------------------------------------- */

uint64_t log_key(int64_t id, int64_t created_ms)
{
    struct sum s = SUM_BEGIN;
    sum_int(&s, id);
    sum_int(&s, created_ms);
    return sum_end(&s);
}

static bool damaged_has(const struct damaged *d, uint64_t key)
{
    for (unsigned i = 0; i < d->count && i < DAMAGED_MAX; i++)
        if (d->keys[i] == key) return true;
    return false;
}

void damaged_note(struct damaged *d, uint64_t key)
{
    if (!damaged_has(d, key)) d->keys[d->count++ % DAMAGED_MAX] = key;
}

bool row_passed_over(const struct damaged *d, const struct store_list *l,
                     const struct store_row *row, uint64_t key)
{
    bool by_itself =
        l->kind == STORE_DUE || l->kind == STORE_NEXT_DUE || l->kind == STORE_UNFINISHED;
    return by_itself && (row->damaged || damaged_has(d, key));
}

/* --- lists --------------------------------------------------------------------------- */

bool row_place_parse(struct str s, struct row_place *at)
{
    struct str ms;
    uint64_t   a, b;

    if (!s.ptr) return true;
    if (!str_split(&s, '.', &ms) || !str_to_u64(ms, &a) || !str_to_u64(s, &b)) return false;
    *at = (struct row_place){ (int64_t)a, (int64_t)b };
    return true;
}

struct str row_place_cursor(struct arena *a, struct row_place at)
{
    return arena_printf(a, "%llu.%llu", (unsigned long long)at.ms, (unsigned long long)at.num);
}

bool list_pages(const struct store_list *l)
{
    return l->kind == STORE_THREADS || l->kind == STORE_APPROVALS || l->kind == STORE_STOCK;
}

void list_place(struct store_list *l)
{
    if (l->kind != STORE_EVENTS && l->kind != STORE_EVENT_HEAD) return;
    l->next = l->count ? l->rows[l->count - 1].place : l->before;
    if (l->kind == STORE_EVENT_HEAD) l->count = 0;
}

struct store_row *row_new(struct store_list *l)
{
    if (l->count == l->room) {
        size_t            more = l->room ? l->room * 2 : 16;
        struct store_row *rows = arena_array(&l->arena, more, sizeof *rows);
        if (!rows) return NULL;
        if (l->count) memcpy(rows, l->rows, l->count * sizeof *rows);
        l->rows = rows;
        l->room = more;
    }
    l->rows[l->count] = (struct store_row){ 0 };
    return &l->rows[l->count];
}
