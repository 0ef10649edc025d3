/* sqlite_find.c -- what the finder thread does with a search: titles, and what was said. As
 * sqlite_read.c, on a connection of its own. */
#include "store/sqlite_read.h"

#include <stdio.h>

#include "base/utf8.h"
#include "store/said.h"
#include "store/words.h"

/* --- title search -----------------------------------------------------------------
 *
 * First the newest FIND_ROWS titles of the owner are looked at: words that many titles have fill
 * their page from these, and nothing is sorted. What is not found there is rare, so the rest of it
 * is looked up by its letters, three at a time; whoever has those may still have them in another
 * order, so every title is compared in the end. Less than three letters are not in the index: then
 * the walk goes on, FIND_ROWS at a time. Searches have a connection of their own, and after each
 * such part the others have their turn. */

#define FIND_ROWS 4096
#define GRAMS_MAX 16              /* of the words; more would hardly leave out another title */
#define GRAM_ROOM (3 * 4 * 2 + 8) /* three characters, each of them quoted, and " AND " */

/* What finds the titles that have these letters: "abc" AND "bcd" ..., in `a`. STR_NONE: they are
 * too few for that. */
static struct str grams(struct arena *a, struct str words)
{
    char     out[GRAMS_MAX * GRAM_ROOM];
    size_t   n = 0, len[3] = { 0 };
    uint32_t c;

    for (int i = 0; words.len && i < GRAMS_MAX + 2; i++) {
        len[0] = len[1], len[1] = len[2];
        len[2] = utf8_decode(words, &c);
        words = str_from(words, len[2]);
        if (i < 2) continue;
        n += (size_t)sprintf(out + n, n ? " AND \"" : "\"");
        for (const char *p = words.ptr - len[0] - len[1] - len[2]; p < words.ptr; p++) {
            if (*p == '"') out[n++] = '"';
            out[n++] = *p ? *p : ' '; /* as the index has it */
        }
        out[n++] = '"';
    }
    return n ? arena_dup(a, str_n(out, n)) : STR_NONE;
}

/* The next titles to compare, newest first: by the walk, or the rest of them by their letters. */
static enum err ask_titles(struct db *d, struct store_list *l, sqlite3_stmt **st)
{
    struct row_place from = { INT64_MAX, INT64_MAX };
    struct str       match = l->searched ? grams(&l->arena, l->search) : STR_NONE;

    l->searched = match.ptr;
    if (!l->searched) return read_ask(d, l, FIND_ROWS, st);
    if (!row_place_parse(l->before, &from)) return ERR_SYNTAX;
    if (l->everybody) return db_ask(d, R_FIND_ALL, st, "tis", match, from.num, l->source);
    return db_ask(d, R_FIND, st, "ttiis", match, l->owner, from.ms, from.num, l->source);
}

/* One more for the page. False: it is full, and there is another; or there is no memory. */
static bool add_found(struct store_list *l, sqlite3_stmt *st, struct str line)
{
    struct row_place  last;
    struct store_row *row;

    if (l->limit && l->count == l->limit) {
        l->next = row_place_cursor(
            &l->arena, (struct row_place){ l->rows[l->count - 1].updated_ms, l->last_num });
        return false;
    }
    if (!(row = row_new(l))) return false;
    read_thread_row(&l->arena, st, row, &last);
    row->line = line;
    l->last_num = l->last_log = last.num;
    l->count++;
    return true;
}

/* One turn of a search. False: there is more to look at; it goes on from l->before. */
static bool find_some(struct db *d, struct store_list *l, enum err *e)
{
    sqlite3_stmt    *st;
    struct row_place at = { 0 };
    int              looked = 0;

    *e = ask_titles(d, l, &st);
    if (*e) return true;
    while (!(*e = db_next(d, st))) {
        looked++;
        at = (struct row_place){ sqlite3_column_int64(st, 5), sqlite3_column_int64(st, 6) };
        if (!words_in(db_text(st, 2), l->search) || add_found(l, st, STR_NONE)) continue;
        db_end(st);
        return true;
    }
    if (*e != ERR_NOT_FOUND) return true;
    *e = OK;
    if (l->searched || looked < FIND_ROWS) return true;
    l->searched = true;
    l->before = row_place_cursor(&l->arena, at);
    return l->arena.failed;
}

/* --- what was said ------------------------------------------------------------------------
 *
 * As titles: the owner's newest conversations with what was said in them are looked at, then the
 * index leads to the rest (sqlite_said.c), and what it leads to is compared. Words that are too
 * short for it, and a store whose facts are not yet in it, are walked through instead, which costs
 * what one person has ever written and been told; a turn of that ends between two conversations.
 * A fact that has the words is told only if it is what was stored. */

#define SAID_ROWS   512  /* looked at before the index is asked */
#define SAID_BEHIND 8192 /* facts of everybody that may be newer than the index */

/* What finds the owner's facts that have these letters. STR_NONE: there is no use in that. */
static struct str said_match(struct db *d, struct store_list *l)
{
    struct str    match = STR_NONE;
    struct buf    low;
    sqlite3_stmt *st;
    bool          near = false;

    if (!db_ask(d, R_SAID_BEHIND, &st, "") && !db_next(d, st)) {
        near = sqlite3_column_int64(st, 0) <= SAID_BEHIND;
        db_end(st);
    }
    if (!near) return match;
    buf_init(&low, 0);
    words_lower(&low, l->search);
    match = grams(&l->arena, buf_view(&low));
    if (match.ptr) {
        buf_clear(&low);
        said_owner(&low, l->owner);
        match = arena_printf(&l->arena, "\"" STR_FMT "\" AND " STR_FMT, STR_ARG(buf_view(&low)),
                             STR_ARG(match));
    }
    if (low.err) l->arena.failed = true;
    buf_done(&low);
    return match;
}

/* `match`: by the index. */
static enum err ask_said(struct db *d, struct store_list *l, struct str match, sqlite3_stmt **st)
{
    struct row_place from = { INT64_MAX, INT64_MAX };

    if (!l->owner.ptr || l->everybody) return ERR_DENIED;
    if (!row_place_parse(l->before, &from)) return ERR_SYNTAX;
    if (!match.ptr)
        return db_ask(d, R_SAID, st, "tiii", l->owner, from.ms, from.num, (int64_t)SAID_BODY_MAX);
    return db_ask(d, R_SAID_FIND, st, "ttiit", grams(&l->arena, l->search), l->owner, from.ms,
                  from.num, match);
}

/* Is the fact of this row what was stored? All of it is read for that. */
static bool said_sound(struct db *d, sqlite3_stmt *at)
{
    struct log_name log = { db_text(at, 0), db_text(at, 1) };
    sqlite3_stmt   *st;
    bool            sound = false;

    if (!db_ask(d, R_SAID_FACT, &st, "i", sqlite3_column_int64(at, 9)) && !db_next(d, st)) {
        struct store_fact f = { (uint64_t)sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
                                db_text(st, 2), db_text(st, 3) };
        sound = read_sound(st, 4, fact_sum(log, &f));
        db_end(st);
    }
    return sound;
}

/* The fact that the index has led to. */
static bool said_there(struct db *d, struct store_list *l, sqlite3_stmt *at, struct str *line)
{
    sqlite3_stmt *st;
    bool          found = false;

    if (sqlite3_column_type(at, 9) == SQLITE_NULL) return false;
    if (!db_ask(d, R_SAID_BODY, &st, "ii", sqlite3_column_int64(at, 9), (int64_t)SAID_BODY_MAX) &&
        !db_next(d, st)) {
        found = said_find(&l->arena, db_text(st, 0), db_text(st, 1), l->search, line);
        db_end(st);
    }
    return found;
}

/* Does this row have the words, in its title or in what was said? */
static bool said_here(struct db *d, struct store_list *l, sqlite3_stmt *st, bool by_index,
                      struct str *line)
{
    *line = STR_NONE;
    l->looked++;
    if (words_in(db_text(st, 2), l->search)) return true;
    if (by_index) return said_there(d, l, st, line) && said_sound(d, st);
    return said_find(&l->arena, db_text(st, 10), db_text(st, 11), l->search, line) &&
           said_sound(d, st);
}

/* False: there is more to look at; it goes on from l->before. */
static bool said_some(struct db *d, struct store_list *l, enum err *e)
{
    struct row_place at = { 0 }, whole = { 0 }; /* the log it is at; the last one looked through */
    struct str       match = said_match(d, l), line;
    bool             by_index = l->searched && match.ptr, over = false;
    int              looked = 0, most = match.ptr && !by_index ? SAID_ROWS : FIND_ROWS;
    sqlite3_stmt    *st;

    *e = ask_said(d, l, by_index ? match : STR_NONE, &st);
    if (*e) return true;
    while (!over && !(*e = db_next(d, st)) && !l->arena.failed) {
        int64_t log = sqlite3_column_int64(st, 6);
        if (log != at.num) whole = at;
        /* the index takes up a log in the middle */
        if (looked >= most && (log != at.num || most == SAID_ROWS)) break;
        at = (struct row_place){ sqlite3_column_int64(st, 5), log };
        looked++;
        /* once is enough: last_log had it already */
        if (log == l->last_log || !said_here(d, l, st, by_index, &line)) continue;
        over = !add_found(l, st, line);
    }
    if (!*e) db_end(st);
    if (*e && *e != ERR_NOT_FOUND) return true;
    over = over || *e == ERR_NOT_FOUND || l->arena.failed;
    *e = OK;
    l->searched = true;
    if (!over && whole.num) l->before = row_place_cursor(&l->arena, whole);
    return over;
}

bool db_find(struct db *d, struct store_list *l)
{
    enum err e;

    if (!(l->said ? said_some(d, l, &e) : find_some(d, l, &e))) return false;
    if (!e && l->arena.failed) e = ERR_NOMEM;
    if (e) l->count = 0, l->next = STR_NONE;
    l->job.result = e;
    return true;
}
