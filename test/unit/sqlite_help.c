/* sqlite_help.c -- see sqlite_help.h. */
#include "sqlite_help.h"

#include <stdio.h>

char path[256];

const char *new_path(void)
{
    static int n;
    snprintf(path, sizeof path, "%s/sqlite-%d.db", test_dir(), n++);
    return path;
}

sqlite3 *open_raw(const char *sql)
{
    sqlite3 *db;
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    return db;
}

void run_raw(const char *sql)
{
    sqlite3_close(open_raw(sql));
}

void sqlite_begin(struct fix *f)
{
    fix_init(f);
    REQUIRE(fix_open(f, new_path()) == OK);
}
