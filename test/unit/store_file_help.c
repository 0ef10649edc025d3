/* store_file_help.c -- see store_file_help.h. */
#include "store_file_help.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char file_path[256];

const char *file_new(void)
{
    static int n;
    snprintf(file_path, sizeof file_path, "%s/file-%d.db", test_dir(), n++);
    return file_path;
}

void file_begin(struct fix *f)
{
    fix_init(f);
    REQUIRE(fix_open(f, file_path) == OK);
}

const char *file_beside(const char *end)
{
    static char name[4][300];
    static int  n;

    n = (n + 1) % 4;
    snprintf(name[n], sizeof name[n], "%s%s", file_path, end);
    return name[n];
}

void file_copy(const char *from, const char *to)
{
    char    block[65536];
    ssize_t n;
    int     in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    REQUIRE(in >= 0 && out >= 0);
    while ((n = read(in, block, sizeof block)) > 0) REQUIRE(write(out, block, (size_t)n) == n);
    close(in);
    close(out);
}

bool file_there(const char *name)
{
    return access(name, F_OK) == 0;
}

void file_sql(const char *file, const char *sql)
{
    sqlite3 *db;

    REQUIRE(sqlite3_open(file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
}

void file_say(struct fix *f, int from, int to)
{
    char body[16];

    for (int i = from; i < to; i++) {
        snprintf(body, sizeof body, "%d", i);
        CHECK(fix_append(f, "ann", "t", (uint64_t)i, body) == OK);
    }
}

void file_fill(struct fix *f, const char *thread)
{
    char *body = malloc(256 << 10);

    REQUIRE(body);
    memset(body, 'x', (256 << 10) - 1);
    body[(256 << 10) - 1] = 0;
    for (uint64_t i = 0; i < 40; i++) CHECK(fix_append(f, "ann", thread, i, body) == OK);
    free(body);
}

void file_ask(struct fix *f, const char *thread, const char *id, int64_t expires_ms)
{
    struct ap             p;
    struct store_approval a = { .id = str_c(id),
                                .call = STR("call"),
                                .tool = STR("pay"),
                                .status = STR("pending"),
                                .body = STR("{\"amount\":50}"),
                                .requested_ms = 5,
                                .expires_ms = expires_ms };

    ap_init(&p, "ann", thread, 0, "x");
    p.a.state = STR("running");
    p.a.approvals = &a;
    p.a.approval_count = 1;
    CHECK(ap_run(f, &p) == OK);
}

struct str file_due(struct fix *f)
{
    return fix_list(f, (struct store_list){ .kind = STORE_DUE, .due_ms = 100, .limit = 1 }, NULL);
}

void file_damage(const char *set)
{
    char sql[300];
    snprintf(sql, sizeof sql, "UPDATE %s", set);
    file_sql(file_path, sql);
}

void file_old(void)
{
    struct fix f;

    file_begin(&f);
    file_ask(&f, "t", "c1", 10);
    CHECK(fix_append(&f, "ann", "t", 1, "old") == OK);
    fix_done(&f);
    file_sql(file_path, "DROP TABLE title_gram; DROP TABLE said_gram; DROP TABLE used; DROP TABLE "
                        "session; DROP TABLE store;"
                        "DROP TABLE key; ALTER TABLE thread DROP COLUMN hidden;"
                        "DROP TABLE stock; DROP TABLE event;"
                        "DROP TABLE stub; DROP TABLE noted; DROP TABLE checkpoint;"
                        "ALTER TABLE fact DROP COLUMN sum; ALTER TABLE approval DROP COLUMN sum;"
                        "DROP INDEX thread_by_change;"
                        "ALTER TABLE thread DROP COLUMN source; ALTER TABLE thread DROP COLUMN grp;"
                        "CREATE INDEX thread_by_change ON thread(owner, updated_ms, id);"
                        "ALTER TABLE fact DROP COLUMN link; ALTER TABLE thread DROP COLUMN links;"
                        "ALTER TABLE fact DROP COLUMN digest; DROP TABLE trimmed;"
                        "PRAGMA user_version=1");
}

void file_backup_over_crash(const char *how)
{
    struct fix  f;
    static char at[256], sql[600];

    file_new();
    strcpy(at, file_path);
    file_begin(&f);
    file_say(&f, 0, 3);
    if (*how) {
        snprintf(sql, sizeof sql, how, file_beside(".backup"));
        file_sql(file_path, sql);
    } else {
        file_sql(file_path, "PRAGMA wal_checkpoint(TRUNCATE)");
        file_copy(file_path, file_beside(".backup"));
    }
    file_fill(&f, "big");
    file_say(&f, 3, 6);
    file_copy(file_path, file_beside(".crash"));
    file_copy(file_beside("-wal"), file_beside(".crash-wal"));
    fix_done(&f);
    snprintf(file_path, sizeof file_path, "%s.crash", at);
    snprintf(sql, sizeof sql, "%s.backup", at);
    file_copy(sql, file_path);
}
