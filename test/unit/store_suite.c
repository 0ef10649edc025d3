/* store_suite.c -- see store_suite.h. */
#include "store_suite.h"

#include <sqlite3.h>
#include <stdio.h>

#include "pg_help.h"
#include "store/walk.h"
#include "test.h"

void suite_reopen(struct fix *f)
{
    REQUIRE(store_close(f->store, 60000));
    f->store = NULL;
    REQUIRE(fix_open(f, store_url) == OK);
}

void suite_thread(struct fix *f, const char *owner, const char *name, const char *title,
                  const char *state, int64_t at)
{
    struct ap p;

    ap_init(&p, owner, name, 0, "x");
    p.fact.at_ms = at;
    p.a.title = str_c(title);
    p.a.state = str_c(state);
    CHECK(ap_run(f, &p) == OK);
}

void suite_sql(const char *sqlite, const char *postgres)
{
    sqlite3 *db;

    if (!str_starts(str_c(store_url), STR("sqlite:"))) {
        pg_run(store_url, postgres);
        return;
    }
    REQUIRE(sqlite3_open(store_url + strlen("sqlite:"), &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    REQUIRE(sqlite3_exec(db, sqlite, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

void suite_new_file(struct fix *f)
{
    static int n;

    snprintf(store_url, sizeof store_url, "sqlite:%s/own-%d.db", test_dir(), n++);
    fix_init(f);
    REQUIRE(fix_open(f, store_url) == OK);
}

int64_t suite_ask_file(const char *sql)
{
    sqlite3      *db;
    sqlite3_stmt *st;
    int64_t       n;

    REQUIRE(sqlite3_open(store_url + strlen("sqlite:"), &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_step(st) == SQLITE_ROW);
    n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static int add_name(void *ctx, int count, char **values, char **names)
{
    (void)count, (void)names;
    buf_printf(ctx, "%s ", values[0]);
    return 0;
}

static void sqlite_columns(struct buf *out, const char *table)
{
    sqlite3 *db;
    char     text[128];

    snprintf(text, sizeof text, "SELECT name FROM pragma_table_info('%s')", table);
    REQUIRE(sqlite3_open(store_url + strlen("sqlite:"), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, text, add_name, out, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

struct str suite_columns(struct fix *f, const char *table)
{
    struct buf b;
    struct str names;
    char       text[256];

    buf_init(&b, 0);
    buf_chr(&b, ' ');
    snprintf(text, sizeof text,
             "SELECT string_agg(attname::text, ' ') || ' ' FROM pg_attribute WHERE attnum > 0 AND "
             "attgenerated = '' AND NOT"
             " attisdropped AND attrelid = '%s'::regclass",
             table);
    if (str_starts(str_c(store_url), STR("sqlite:"))) sqlite_columns(&b, table);
    else buf_printf(&b, "%s", pg_run(store_url, text));
    names = arena_dup(&f->arena, buf_view(&b));
    buf_done(&b);
    return names;
}

/* --- stubs --------------------------------------------------------------------------- */

struct chain_walk {
    struct store_walk  w;
    struct chain_check at;
    bool               sound;
};

static bool see_log(struct store_walk *w, const struct walk_log *l)
{
    (void)l;
    LIST_ITEM(w, struct chain_walk, w)->at = (struct chain_check){ 0 };
    return true;
}

static bool see_fact(struct store_walk *w, const struct walk_log *l, const struct store_fact *f,
                     struct chain_mark m)
{
    struct chain_walk *c = LIST_ITEM(w, struct chain_walk, w);
    c->sound &= chain_follows(&c->at, l->log, f, m) && !c->at.before;
    return true;
}

static bool see_end(struct store_walk *w, const struct walk_log *l)
{
    struct chain_walk *c = LIST_ITEM(w, struct chain_walk, w);
    c->sound &= chain_ends(&c->at, l->head);
    return true;
}

bool suite_chained(struct fix *f, const char *url)
{
    struct chain_walk c = { .w = { .log = see_log, .fact = see_fact, .log_end = see_end },
                            .sound = true };
    struct str        why;

    REQUIRE(store_walk(str_c(url), &c.w, &f->arena, &why) == OK);
    return c.sound && c.w.logs > 0;
}

struct stub_walk {
    struct store_walk w;
    struct stub_seen  seen;
};

static bool see_stub(struct store_walk *w, const struct walk_stub *s)
{
    struct stub_seen *seen = &LIST_ITEM(w, struct stub_walk, w)->seen;

    REQUIRE(s->digests.len <= sizeof seen->digests && s->head.len == CHAIN_LEN);
    seen->count++;
    seen->digests_len = s->digests.len;
    memcpy(seen->digests, s->digests.ptr, s->digests.len);
    memcpy(seen->head, s->head.ptr, CHAIN_LEN);
    return true;
}

struct stub_seen suite_stub(struct fix *f)
{
    struct stub_walk s = { .w = { .stub = see_stub } };
    struct str       why;

    REQUIRE(store_walk(str_c(store_url), &s.w, &f->arena, &why) == OK);
    return s.seen;
}
