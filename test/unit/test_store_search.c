/* test_store_search.c -- searches through the titles of many conversations. */
#include "store_file_help.h"

static int finished;

struct found {
    struct store_list l;
    int               place;
    size_t            count;
    struct str        next;
};

static void on_found(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct found *x = LIST_ITEM(l, struct found, l);
    CHECK(e == OK);
    (void)rows;
    x->place = ++finished;
    x->count = count;
    x->next = next;
}

/* A statement that makes threads behind the store's back, and their titles in its index; the store
 * is opened anew for it. */
#define INDEXED(name)                                                                           \
    ";INSERT INTO title_gram(rowid, title) SELECT id, title FROM thread WHERE name GLOB '" name \
    "';UPDATE store SET titled = (SELECT max(id) FROM thread)"

static void make_threads(struct fix *f, const char *sql)
{
    fix_done(f);
    file_sql(file_path, sql);
    file_begin(f);
}

static void many_threads(struct fix *f)
{
    make_threads(f,
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                 " INSERT INTO thread(owner, name, title, state, seq, created_ms, updated_ms)"
                 " SELECT 'ann', 't' || i, iif(i % 1000 = 0, 'A ZEBRA in Zürich', iif(i = 19999, "
                 "'lately', 'nothing')), 'idle', 0, i, i FROM n" INDEXED("t[0-9]*"));
}

TEST(a_long_search_does_not_keep_a_short_one_waiting)
{
    struct found all = { .l = { .kind = STORE_THREADS,
                                .owner = STR("ann"),
                                .search = STR("not there"),
                                .limit = 1,
                                .done = on_found } };
    struct found one = { .l = { .kind = STORE_THREADS,
                                .owner = STR("ann"),
                                .search = STR("nothing"),
                                .limit = 1,
                                .done = on_found } };
    struct fix   f;

    file_new();
    file_begin(&f);
    many_threads(&f);
    finished = 0;
    store_list(f.store, &all.l);
    store_list(f.store, &one.l);
    while (finished < 2) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(one.place == 1 && one.count == 1);
    CHECK(all.place == 2 && all.count == 0);
    fix_done(&f);
}

TEST(a_search_through_many_titles_finds_each_once_page_by_page)
{
    struct fix f;
    struct str next = STR_NONE, page = STR_NONE;
    int        pages = 0, names = 0;

    file_new();
    file_begin(&f);
    many_threads(&f);
    do {
        page = fix_list(&f,
                        (struct store_list){ .kind = STORE_THREADS,
                                             .owner = STR("ann"),
                                             .search = STR("zebra IN zÜr"),
                                             .limit = 7,
                                             .before = next },
                        &next);
        for (struct str rest = page, row; str_split(&rest, ';', &row);) names += row.len > 0;
        if (!pages++) CHECK(str_starts(page, STR("t20000 'A ZEBRA in Zürich' idle;t19000 ")));
    } while (next.ptr && pages < 9);
    CHECK(pages == 3 && names == 20);
    CHECK(str_find(page, STR("t1000 ")) >= 0);
    page = fix_list(
        &f,
        (struct store_list){
            .kind = STORE_THREADS, .everybody = true, .search = STR("LATELY"), .limit = 7 },
        &next);
    CHECK_STR(page, "t19999 'lately' idle;");
    CHECK(!next.ptr);
    fix_done(&f);
}

static struct str search(struct fix *f, struct str words)
{
    return fix_list(f,
                    (struct store_list){
                        .kind = STORE_THREADS, .owner = STR("ann"), .search = words, .limit = 7 },
                    NULL);
}

/* Older than those that every search looks at: only the index leads there. */
static void old_thread(struct fix *f, const char *title)
{
    char sql[512];
    sqlite3_snprintf(sizeof sql, sql,
                     "INSERT INTO thread(owner, name, title, state, seq, created_ms, updated_ms)"
                     " VALUES('ann', 'old', %Q, 'idle', 0, 0, 0)" INDEXED("old"),
                     title);
    make_threads(f, sql);
}

TEST(an_old_title_is_found_by_any_three_letters_in_any_case)
{
    /* of each script with two cases, and what a query of the index would take for its own */
    static const char *const said[][2] = {
        { "Zebras, \"quoted\" AND (50%)", "S, \"QUO" },
        { "Zebras, \"quoted\" AND (50%)", "and (50%)" },
        { "a* NOT b OR c^", "A* not B or" },
        { "ÀÉÖØÞ ĀĲĹŊŸŹ ẀẤ Ｚ", "àéöøþ āĳĺŋÿź ẁấ ｚ" },
        { "ΆΈΌΎ ΑΡΣΫ λόγος", "άέόύ αρσϋ ΛΌΓΟΣ" },
        { "ЀЏ АЯ Ѡ Ҋ Ӂ Ӑ Ԧ ԱՖ", "ѐџ ая ѡ ҋ ӂ ӑ ԧ աֆ" },
        { "Ԩ one letter of the two", "Ԩ one" },
        { "京都の天気", "都の天" },
        { "tail", "ail" },
    };
    struct fix f;

    file_new();
    file_begin(&f);
    many_threads(&f);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct str title = str_c(said[i][0]), found;
        old_thread(&f, said[i][0]);
        found = search(&f, str_c(said[i][1]));
        CHECK(str_find(found, title) >= 0);
        CHECK(str_find(search(&f, title), title) >= 0);
        CHECK(fix_edit(&f, "ann", "old", NULL, true) == OK);
        CHECK_STR(search(&f, title), "");
    }
    old_thread(&f, "no \"");
    CHECK_STR(search(&f, STR("o \"")), "old 'no \"' idle;");
    CHECK_STR(search(&f, STR("o\"")), "");
    CHECK_STR(search(&f, STR("\"")), "old 'no \"' idle;"); /* too short for the index */
    fix_done(&f);
}

TEST(the_index_of_titles_follows_a_new_title_and_a_removal)
{
    struct fix f;

    file_new();
    file_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    many_threads(&f);
    CHECK(fix_edit(&f, "ann", "t", "Kyoto", false) == OK);
    file_sql(file_path, "UPDATE thread SET updated_ms = 0 WHERE name = 't'");
    CHECK_STR(search(&f, STR("kyoto")), "t 'Kyoto' idle;");
    CHECK(fix_edit(&f, "ann", "t", "Nara", false) == OK);
    CHECK_STR(search(&f, STR("kyoto")), "");
    CHECK_STR(search(&f, STR("nara")), "t 'Nara' idle;");
    CHECK(fix_edit(&f, "ann", "t", NULL, true) == OK);
    CHECK_STR(search(&f, STR("nara")), "");
    fix_done(&f);
}

TEST(old_titles_of_the_version_before_are_found)
{
    struct fix f;

    file_new();
    file_old();
    file_sql(file_path, "UPDATE thread SET updated_ms = 0, title = 'Kyoto'");
    file_begin(&f);
    many_threads(&f);
    CHECK_STR(search(&f, STR("yot")), "t 'Kyoto' running;");
    fix_done(&f);
}

static void titled_thread(struct fix *f, const char *name, const char *title)
{
    struct ap p;

    ap_init(&p, "ann", name, 0, "x");
    p.a.title = str_c(title);
    CHECK(ap_run(f, &p) == OK);
}

/* Titles come into the index many at once; the newest are not in it yet. */
TEST(a_title_is_found_before_and_after_it_is_in_the_index)
{
    struct fix f;
    char       name[16], title[32];

    file_new();
    file_begin(&f);
    many_threads(&f);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "new%d", i);
        snprintf(title, sizeof title, "journey %d.", i);
        titled_thread(&f, name, title);
    }
    file_sql(file_path, "UPDATE thread SET updated_ms = 0 WHERE name GLOB 'new*'");
    CHECK_STR(search(&f, STR("journey 0.")), "new0 'journey 0.' idle;");
    CHECK_STR(search(&f, STR("journey 299.")), "new299 'journey 299.' idle;");
    CHECK(fix_edit(&f, "ann", "new0", "to Kyoto", false) == OK);
    CHECK(fix_edit(&f, "ann", "new299", "to Kyoto", false) == OK);
    CHECK_STR(search(&f, STR("journey 0.")), "");
    CHECK_STR(search(&f, STR("journey 299.")), "");
    CHECK_STR(search(&f, STR("kyoto")), "new299 'to Kyoto' idle;new0 'to Kyoto' idle;");
    CHECK(fix_edit(&f, "ann", "new0", NULL, true) == OK);
    CHECK(fix_edit(&f, "ann", "new299", NULL, true) == OK);
    CHECK_STR(search(&f, STR("kyoto")), "");
    fix_done(&f);
}

/* A number is given again when the newest threads were removed. */
TEST(a_title_at_a_number_that_was_used_before_is_found)
{
    struct fix f;

    file_new();
    file_begin(&f);
    many_threads(&f);
    CHECK(fix_edit(&f, "ann", "t20000", NULL, true) == OK);
    titled_thread(&f, "again", "Kyoto");
    file_sql(file_path, "UPDATE thread SET updated_ms = 0 WHERE name = 'again'");
    CHECK_STR(search(&f, STR("kyoto")), "again 'Kyoto' idle;");
    fix_done(&f);
}
