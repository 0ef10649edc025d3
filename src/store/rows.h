/* rows.h -- what lists and logs are made of, in whatever store: checksums of rows, cursors, rows in
 * a request's arena, and logs that were found damaged. */
#ifndef PARLEY_ROWS_H
#define PARLEY_ROWS_H

#include "store/store.h"

/* What a row's checksum is taken over; stored when it is written, compared when it is read. */
int64_t fact_sum(struct log_name log, const struct store_fact *f);
int64_t approval_sum(struct log_name log, const struct store_approval *a);

/* Nobody can do anything about a damaged log but delete it. So what runs by itself (expiry,
 * recovery) is not told of one again that was found damaged in this life of the process: it would
 * come back for ever. Beyond DAMAGED_MAX, the oldest is found again. */
#define DAMAGED_MAX 256
struct damaged {
    uint64_t keys[DAMAGED_MAX];
    unsigned count;
};
/* A number may be given again after a removal, and a name, too; hardly both at the same time. */
uint64_t log_key(int64_t id, int64_t created_ms);
void     damaged_note(struct damaged *d, uint64_t key);

/* Of a row in a list that pages. A cursor is "<ms>.<number>" of the last row shown. */
struct row_place {
    int64_t ms, num;
};
bool       row_place_parse(struct str cursor, struct row_place *at);
struct str row_place_cursor(struct arena *a, struct row_place at);

bool              list_pages(const struct store_list *l);
/* STORE_EVENTS and its head: where the next one begins. */
void              list_place(struct store_list *l);
/* The place for one more, not counted yet. NULL: no memory, noted in the arena. */
struct store_row *row_new(struct store_list *l);
/* Is it one that what runs by itself is not told of? `key`: of its log. */
bool              row_passed_over(const struct damaged *d, const struct store_list *l,
                                  const struct store_row *row, uint64_t key);

#endif
