/* sqlite_read.h -- private to sqlite_read.c and sqlite_find.c: their statements, and what searches
 * have of lists. */
#ifndef PARLEY_SQLITE_READ_H
#define PARLEY_SQLITE_READ_H

#include "store/sqlite_db.h"

enum read_stmt {
    R_THREAD,
    R_FACTS,
    R_THREADS,
    R_DUE,
    R_NEXT_DUE,
    R_UNFINISHED,
    R_TOOLS,
    R_REQUEST,
    R_ALL_THREADS,
    R_FIND,
    R_FIND_ALL,
    R_USED,
    R_SESSION,
    R_KEYS,
    R_STOCK,
    R_ALL_STOCK,
    R_ONE_STOCK,
    R_EVENTS,
    R_EVENT_HEAD,
    R_SAID,
    R_ALL_USED,
    R_WAITING,
    R_HEADS,
    R_OLD,
    R_UNTRIMMED,
    R_LOGS,
    R_STUBS,
    R_LAST,
    R_UNTOLD,
    R_SESSIONS,
    R_SAID_FIND,
    R_SAID_BODY,
    R_SAID_FACT,
    R_SAID_BEHIND,
    R_APPROVALS, /* 16 of them, one per set of filters; built when first asked for */
    R_COUNT = R_APPROVALS + 16
};

/* --- sqlite_read.c --- */
/* The rows of a list from l->before on, at most so many; -1: all of them. One more than asked for
 * tells whether there is another page. */
MUST_CHECK enum err read_ask(struct db *d, const struct store_list *l, int64_t limit,
                             sqlite3_stmt **out);
/* Fills in a conversation's row and its place; gives the key of its log. */
uint64_t            read_thread_row(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                                    struct row_place *at);
/* Is it what was stored when the row was? An old one has no sum to compare with. */
bool                read_sound(sqlite3_stmt *st, int col, int64_t sum);

#endif
