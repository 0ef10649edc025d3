/* library.c -- SQLite FTS5 over the corpus, in memory, built at the first search.
 *
 * The query comes from strangers. It never reaches the FTS5 parser as it is: only
 * its letters and digits do, word by word, each in double quotes, so no text can
 * become an operator, a column filter or a syntax error.
 */
#include "tool/demo/library.h"

#include <sqlite3.h>

#define WORDS_MAX 12 /* of a query */

struct library {
    sqlite3      *db;
    sqlite3_stmt *find, *count;
};

static const char MAKE[] =
    "CREATE VIRTUAL TABLE article USING fts5(title, keywords, abstract, authors, year, "
    "tokenize='porter unicode61 remove_diacritics 2')";
static const char FILL[] = "INSERT INTO article(rowid, title, keywords, abstract, authors, year) "
                           "VALUES(?1,?2,?3,?4,?5,?6)";
/* A word in the title says more than one in the abstract. */
static const char FIND[] = "SELECT rowid FROM article WHERE article MATCH ?1 "
                           "ORDER BY bm25(article, 8.0, 6.0, 1.0, 2.0, 1.0), rowid LIMIT ?2";
static const char COUNT[] = "SELECT count(*) FROM article WHERE article MATCH ?1";

void library_free(struct library *l)
{
    if (!l) return;
    sqlite3_finalize(l->find);
    sqlite3_finalize(l->count);
    sqlite3_close(l->db);
    mem_free(l);
}

/* --- the index ------------------------------------------------------------------ */

static bool fill(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    bool          ok = sqlite3_prepare_v2(db, FILL, -1, &s, NULL) == SQLITE_OK;
    for (int i = 0; ok && CORPUS[i].title; i++) {
        const struct article *a = &CORPUS[i];
        sqlite3_bind_int(s, 1, i + 1);
        sqlite3_bind_text(s, 2, a->title, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 3, a->keywords, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 4, a->abstract, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 5, a->authors, -1, SQLITE_STATIC);
        sqlite3_bind_int(s, 6, a->year);
        ok = sqlite3_step(s) == SQLITE_DONE && sqlite3_reset(s) == SQLITE_OK;
    }
    sqlite3_finalize(s);
    return ok;
}

static bool open_index(struct library *l)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    return sqlite3_open_v2(":memory:", &l->db, flags, NULL) == SQLITE_OK &&
           sqlite3_exec(l->db, MAKE, NULL, NULL, NULL) == SQLITE_OK && fill(l->db) &&
           sqlite3_prepare_v2(l->db, FIND, -1, &l->find, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(l->db, COUNT, -1, &l->count, NULL) == SQLITE_OK;
}

static struct library *build(void)
{
    struct library *l = mem_alloc(sizeof *l);
    if (!l || open_index(l)) return l;
    library_free(l);
    return NULL;
}

/* --- the query ------------------------------------------------------------------- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

static bool says_nothing(struct str word)
{
    static const char *const none[] = { "the",    "a",    "an",     "of",      "and",
                                        "or",     "in",   "on",     "for",     "to",
                                        "with",   "by",   "about",  "is",      "are",
                                        "what",   "how",  "latest", "recent",  "new",
                                        "newest", "some", "any",    "between", "from" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (str_eq_nocase(word, str_c(none[i]))) return true;
    return false;
}

static bool next_word(struct str *rest, struct str *word)
{
    size_t at = 0, n = 0;
    while (at < rest->len && !is_word_char(rest->ptr[at])) at++;
    while (at + n < rest->len && is_word_char(rest->ptr[at + n])) n++;
    *word = str_n(rest->ptr + at, n);
    *rest = str_from(*rest, at + n);
    return n > 0;
}

/* "word" AND "word" ..., with `between` in between. */
static void write_match(struct buf *out, struct str query, const char *between)
{
    struct str word;
    for (int n = 0; n < WORDS_MAX && next_word(&query, &word);) {
        if (says_nothing(word)) continue;
        buf_lit(out, n++ ? between : "");
        buf_chr(out, '"');
        buf_str(out, word);
        buf_chr(out, '"');
    }
}

static enum err run_match(struct library *l, struct str match, size_t limit, struct hits *out)
{
    int rc;
    *out = (struct hits){ 0 };
    sqlite3_bind_text(l->find, 1, match.ptr, (int)match.len, SQLITE_STATIC);
    sqlite3_bind_int64(l->find, 2, (sqlite3_int64)limit);
    while ((rc = sqlite3_step(l->find)) == SQLITE_ROW && out->count < HITS_MAX)
        out->at[out->count++] = &CORPUS[sqlite3_column_int(l->find, 0) - 1];
    sqlite3_reset(l->find);
    sqlite3_bind_text(l->count, 1, match.ptr, (int)match.len, SQLITE_STATIC);
    if (sqlite3_step(l->count) == SQLITE_ROW) out->total = (size_t)sqlite3_column_int(l->count, 0);
    sqlite3_reset(l->count);
    sqlite3_clear_bindings(l->find); /* they must not keep pointing at match */
    sqlite3_clear_bindings(l->count);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? OK : ERR_IO;
}

enum err library_search(struct demo_tools *all, struct str query, size_t limit, struct hits *out)
{
    static const char *const between[] = { " AND ", " OR " };
    struct hits              hits = { 0 };
    struct buf               match;
    enum err                 e = OK;
    if (!all->library && !(all->library = build())) return ERR_IO;
    if (limit > HITS_MAX) limit = HITS_MAX;
    buf_init(&match, 0);
    for (int i = 0; i < 2 && !e && !hits.count; i++) {
        buf_clear(&match);
        write_match(&match, query, between[i]);
        e = match.err;
        if (!e && match.len) e = run_match(all->library, buf_view(&match), limit, &hits);
    }
    buf_done(&match);
    if (!e) *out = hits;
    return e;
}

/* --- showing them ------------------------------------------------------------------- */

void library_text(struct buf *out, const struct hits *h)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct article *a = h->at[i];
        buf_printf(out, "\n%zu. %s (%s, %d)\n   %s", i + 1, a->title, a->authors, a->year,
                   a->abstract);
    }
}

void library_json(struct jsonw *j, const struct hits *h, const char *base)
{
    jw_arr(j);
    for (size_t i = 0; i < h->count; i++) {
        const struct article *a = h->at[i];
        char                  url[64];
        jw_obj(j);
        jw_kstrz(j, "title", a->title);
        jw_kstrz(j, "authors", a->authors);
        jw_kint(j, "year", a->year);
        jw_kstrz(j, "abstract", a->abstract);
        snprintf(url, sizeof url, "%s%td", base ? base : "", a - CORPUS + 1);
        if (base) jw_kstrz(j, "url", url);
        jw_end_obj(j);
    }
    jw_end_arr(j);
}
