/* nodes.c -- `parley nodes`: who shares the database, and how each of them is. Reads only; whoever
 * calls it becomes no node. */
#include "base/glyph.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "store/store.h"

/* Another program may have written the row: nothing of it does anything to the terminal. */
static void put(struct str s, int width)
{
    struct buf safe;

    buf_init(&safe, 0);
    glyph_show(&safe, s, GLYPH_LINE);
    printf("%-*.*s  ", width, (int)safe.len, safe.ptr ? safe.ptr : "");
    buf_done(&safe);
}

static int longest(const struct store_row *rows, size_t count)
{
    size_t max = 3;

    for (size_t i = 0; i < count; i++)
        if (rows[i].url.len > max) max = rows[i].url.len;
    return max > 60 ? 60 : (int)max;
}

static void print_table(const struct store_row *rows, size_t count)
{
    int wide = longest(rows, count);

    printf("%-24s  %-*s  %-10s  %9s  %8s  %8s\n", "NODE", wide, "URL", "VERSION", "LEASE", "HELD",
           "RUNNING");
    for (size_t i = 0; i < count; i++) {
        char lease[24] = "ended";
        if (rows[i].lease_ms > 0)
            snprintf(lease, sizeof lease, "%.1f s", (double)rows[i].lease_ms / 1000);
        put(rows[i].node, 24);
        put(rows[i].url.len ? rows[i].url : STR("-"), wide);
        put(rows[i].version, 10);
        printf("%9s  %8llu  %8llu\n", lease, (unsigned long long)rows[i].held,
               (unsigned long long)rows[i].running);
    }
}

static void write_node(struct jsonw *w, const struct store_row *row)
{
    jw_obj(w);
    jw_kstr(w, "id", row->node);
    jw_key(w, "url");
    jw_str_or_null(w, row->url.len ? row->url : STR_NONE);
    jw_kstr(w, "version", row->version);
    jw_kbool(w, "alive", row->lease_ms > 0);
    jw_kint(w, "lease_ms", row->lease_ms);
    jw_kint(w, "held", (int64_t)row->held);
    jw_kint(w, "running", (int64_t)row->running);
    jw_end_obj(w);
}

static int print_json(const struct store_row *rows, size_t count)
{
    struct buf   b;
    struct jsonw w;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_key(&w, "nodes");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) write_node(&w, &rows[i]);
    jw_end_arr(&w);
    jw_end_obj(&w);
    if (!b.err) printf("%.*s\n", (int)b.len, b.ptr);
    int status = b.err ? 1 : 0;
    buf_done(&b);
    return status;
}

int cli_nodes(int argc, char **argv)
{
    struct cli_line     line;
    struct config       config;
    struct config_error problems = { 0 };
    struct arena        arena;
    struct store_row   *rows = NULL;
    size_t              count = 0;
    struct str          why = STR_NONE;
    int                 status = 0;

    if (!cli_read(argc, argv, "csj", 0, &line)) return 2;
    if (config_load_flags(&config, &line.flags, &problems)) {
        config_error_print(&problems, stderr);
        return 1;
    }
    arena_init(&arena, 0);
    if (store_nodes_of(config.store, &arena, &rows, &count, &why)) {
        cli_fail(STR_FMT ".", STR_ARG(why));
        status = 1;
    } else if (line.json) status = print_json(rows, count);
    else if (count) print_table(rows, count);
    else printf("no node is alive\n");
    arena_done(&arena);
    config_done(&config);
    return status;
}
