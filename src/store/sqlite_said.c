/* sqlite_said.c -- the index of what was said: which facts have these three letters (FTS5 with
 * trigrams, without texts and positions; see said.h).
 *
 * An append does not write to it. The writer brings it forward when it is quiet, and in a tenth of
 * its time when it never is (sqlite.c), many facts at once: FTS5 writes a segment for each
 * transaction. Facts up to the row `store.said` are in it; a search looks at the newer ones itself.
 * A fact is known there by its row's number. VACUUM keeps those of a table with an index, though it
 * does not promise to: so the mark names its fact, too, and where they do not fit at a start the
 * index begins anew.
 *
 * What goes, goes from it in the same transaction: nobody finds it any more. But FTS5 only notes
 * that it has gone; its letters stay in older segments until these are merged. So that is owed, and
 * paid in pieces as above: at once when somebody is forgotten, else when the last time is an hour
 * ago, because it writes all of the index anew. The index of titles (sqlite_write.c) owes and pays
 * likewise.
 *
 * As sqlite_write.c, on the writer's thread. */
#include "base/clock.h"
#include "store/said.h"
#include "store/sqlite_write.h"

#define FACTS_AT_ONCE 256
#define BYTES_AT_ONCE (256 * 1024) /* ... or at most so much: an append may be waiting behind it */
#define PAGES_AT_ONCE 64
#define RID_NS        3600000000000ull

enum { OWED_NOT, OWED, OWED_SOON };

/* The fact in the statement's row, into the index or out of it. */
static enum err put(struct db *d, sqlite3_stmt *st, int in_or_out)
{
    buf_clear(&d->words);
    said_owner(&d->words, db_text(st, 3));
    said_words(&d->words, db_text(st, 1), db_text(st, 2));
    if (d->words.err) return d->words.err;
    return db_run(d, in_or_out, "is", sqlite3_column_int64(st, 0), buf_view(&d->words));
}

struct mark {
    int64_t said, newest;     /* rows of facts */
    int64_t owed[DB_INDEXES]; /* OWED... */
};
static const struct {
    int owed, merge;
} of_index[DB_INDEXES] = {
    [DB_TITLES] = { W_TITLE_OWED, W_TITLE_MERGE }, [DB_SAID] = { W_SAID_OWED, W_SAID_MERGE }
};

static enum err look(struct db *d, struct mark *m)
{
    sqlite3_stmt *st;
    enum err      e = db_ask(d, W_SAID, &st, "");

    if (!e) e = db_next(d, st);
    if (e) return e;
    *m = (struct mark){ .said = sqlite3_column_int64(st, 0),
                        .owed = { [DB_TITLES] = sqlite3_column_int64(st, 1),
                                  [DB_SAID] = sqlite3_column_int64(st, 2) },
                        .newest = sqlite3_column_int64(st, 3) };
    db_end(st);
    return OK;
}

/* --- what goes ------------------------------------------------------------------- */

static enum err owe(struct db *d)
{
    struct mark m;
    enum err    e = look(d, &m);

    return e || m.owed[DB_SAID] ? e : db_run(d, W_SAID_OWED, "i", (int64_t)OWED);
}

enum err said_drop(struct db *d, int64_t thread)
{
    struct mark   m;
    bool          any = false;
    sqlite3_stmt *st;
    enum err      e = look(d, &m);

    if (!e) e = db_ask(d, W_SAID_LOG, &st, "ii", thread, m.said);
    while (!e && !(e = db_next(d, st))) {
        any = true;
        if (!(e = put(d, st, W_SAID_OUT))) continue;
        db_end(st);
        return e;
    }
    if (e != ERR_NOT_FOUND) return e;
    return any ? owe(d) : OK;
}

enum err said_dropped(struct db *d)
{
    struct mark m;
    enum err    e = look(d, &m);

    return e || !m.said ? e : db_run(d, W_SAID_MARK, "i", m.said);
}

enum err said_change(struct db *d, int64_t thread, uint64_t seq, int in_or_out)
{
    sqlite3_stmt *st;
    enum err      e = db_ask(d, W_SAID_FACT, &st, "ii", thread, (int64_t)seq);

    if (!e) e = db_next(d, st);
    if (e) return e == ERR_NOT_FOUND ? OK : e;
    e = put(d, st, in_or_out);
    db_end(st);
    return e ? e : owe(d);
}

enum err said_forget(struct db *d)
{
    struct mark m;
    enum err    e = look(d, &m);

    for (int i = 0; i < DB_INDEXES && !e; i++)
        if (m.owed[i]) e = db_run(d, of_index[i].owed, "i", (int64_t)OWED_SOON);
    return e;
}

/* --- a piece at a time -------------------------------------------------------------- */

/* The row up to which the next piece goes; 0: there are too few behind the mark. */
static enum err next_end(struct db *d, const struct mark *m, int64_t *end)
{
    sqlite3_stmt *st;
    enum err      e;

    *end = 0;
    if (m->newest - m->said < FACTS_AT_ONCE) return OK;
    e = db_ask(d, W_SAID_LAST, &st, "ii", m->said, (int64_t)FACTS_AT_ONCE - 1);
    if (!e) e = db_next(d, st);
    if (e) return e == ERR_NOT_FOUND ? OK : e;
    *end = sqlite3_column_int64(st, 0);
    db_end(st);
    return OK;
}

static enum err go_on(struct db *d)
{
    struct mark   m;
    int64_t       end;
    size_t        bytes = 0;
    sqlite3_stmt *st;
    enum err      e = look(d, &m);

    if (!e) e = next_end(d, &m, &end);
    if (e || !end) return e;
    e = db_ask(d, W_SAID_NEXT, &st, "ii", m.said, end);
    while (!e && !(e = db_next(d, st))) {
        e = put(d, st, W_SAID_IN);
        bytes += d->words.len;
        if (!e && bytes < BYTES_AT_ONCE) continue;
        end = sqlite3_column_int64(st, 0);
        db_end(st);
        break;
    }
    if (e && e != ERR_NOT_FOUND) return e;
    return db_run(d, W_SAID_MARK, "i", end);
}

static bool is_due(const struct db_rid *r, int64_t owed)
{
    return owed == OWED_SOON ||
           (owed && (r->on || !r->at_ns || clock_mono_ns() - r->at_ns >= RID_NS));
}

/* DB_INDEXES: none. */
static int due_index(const struct db *d, const struct mark *m)
{
    int i = 0;

    while (i < DB_INDEXES && !is_due(&d->rid[i], m->owed[i])) i++;
    return i;
}

/* All segments become one, as "optimize" has it, by so many pages. Less than two changes: it was
 * one. */
static enum err get_rid(struct db *d)
{
    struct mark m;
    enum err    e = look(d, &m);
    int         i = e ? DB_INDEXES : due_index(d, &m), before = sqlite3_total_changes(d->sql);

    if (i == DB_INDEXES) return e;
    d->rid[i].on = true;
    e = db_run(d, of_index[i].merge, "i", (int64_t)-PAGES_AT_ONCE);
    if (e || sqlite3_total_changes(d->sql) - before >= 2) return e;
    d->rid[i] = (struct db_rid){ .at_ns = clock_mono_ns() };
    d->gone = true;
    return db_run(d, of_index[i].owed, "i", (int64_t)OWED_NOT);
}

enum err db_index(struct db *d, bool *more)
{
    struct mark m;
    int64_t     end;
    enum err    e = look(d, &m);

    *more = false;
    if (!e) e = next_end(d, &m, &end);
    if (e || (!end && due_index(d, &m) == DB_INDEXES)) return e;
    e = write_own(d, end ? go_on : get_rid);
    *more = !e;
    return e;
}

enum err db_index_check(struct db *d)
{
    int64_t  fits = 1;
    enum err e = db_int(d,
                        "SELECT said = 0 OR said_at IS (SELECT thread || '.' || seq FROM fact WHERE"
                        " rowid = said) FROM store",
                        &fits);

    if (e || fits) return e;
    return db_exec(d, "BEGIN IMMEDIATE; INSERT INTO said_gram(said_gram) VALUES('delete-all');"
                      " UPDATE store SET said = 0, said_at = NULL, said_owed = 0; COMMIT");
}
