/* test_address.c -- what is shown of an address, and what can be no store. */
#include <string.h>

#include "base/address.h"
#include "test.h"

TEST(no_secret_of_an_address_is_shown)
{
    static const struct {
        const char *address, *shown;
    } CASES[] = {
        { "postgresql://ann:secret@db:5433/parley", "postgresql://ann@db:5433/parley" },
        { "postgresql://ann@a,b/parley?password=secret", "postgresql://ann@a,b/parley" },
        { "postgres:///parley?host=/run/secret", "postgres:///parley" },
        { "postgresql://ann:se#c@ret@db/parley", "postgresql://ann@db/parley" },
        { "postgresql://:secret@db", "postgresql://@db" },
        { "postgresql://ann:se?cret@db/parley?sslmode=require", "postgresql://ann@db/parley" },
        { "postgresql://ann:se?cret@db", "postgresql://ann@db" },
        { "https://crm.example?to=a@b", "https://crm.example" },
        { "postgresql://", "postgresql://" },
        { "https://crm.example/mcp?token=secret", "https://crm.example/mcp" },
        { "https://crm.example?token=secret#more", "https://crm.example" },
        { "https://crm.example/mcp#secret", "https://crm.example/mcp" },
        { "http://ann:secret@127.0.0.1:8000/x", "http://ann@127.0.0.1:8000/x" },
        { "parley.db", "parley.db" },
        { "sqlite:/data/x.db", "sqlite:/data/x.db" },
        { "/tmp/a?b://c", "/tmp/a?b://c" },
        { "", "" },
    };
    struct arena a;

    arena_init(&a, 0);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        CHECK_STR(address_shown(&a, str_c(CASES[i].address)), CASES[i].shown);
    arena_done(&a);
}

TEST(what_is_no_store_is_told_without_its_words)
{
    static const char *const BAD[] = {
        "host=h password=hush dbname=x",
        "  user = 'ann' password='hush'",
        "dbname=x",
        "sslmode=require host=h",
        "x PASSWORD = hush",
        "Server=h;Pwd=hush;",
        "sqlite:host=h password=hush",
        "password=hush://x",
        "postgresql:/u:hush@h/d",
        "postgres:/u:hush@h/d",
        "PostgreSQL:u:hush@h/d",
        "postgresql:hush",
        " postgresql:/u:hush@h/d",
        "sqlite:postgresql://u:hush@h/d",
        "postgresql//u:hush@h/d",
        "//u:hush@h/d",
        "u:hush@h",
        "mysql:/u:hush@h/d",
    };
    static const char *const GOOD[] = {
        "parley.db",
        "sqlite:parley.db",
        "a:b.db",
        "sqlite::memory:",
        "/x/host=h.db",
        "./host=h.db",
        "sqlite:./u:p@h",
        "../password=x",
        "/tmp/x://y.db",
        "ann@home.db",
        "hosts.db",
        "store=new.db",
        "postgresql://d",
        "postgres://u:p@h/d?password=x",
        "mysql://x?password=x",
        "",
    };

    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        const char *why = address_fault(str_c(BAD[i]));
        CHECK(why && strstr(why, "write postgresql://") && !strstr(why, "hush"));
    }
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) CHECK(!address_fault(str_c(GOOD[i])));
}
