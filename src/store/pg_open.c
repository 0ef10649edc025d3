/* pg_open.c -- the address, the first connection, and what the database promises.
 *
 * Opening waits: it happens once, before anything is served. Whatever is wrong is said in a
 * sentence that tells what to do, and none of them has the password in it. libpq quotes parts of an
 * address it cannot make sense of, and an unescaped / or @ puts half a password where a host should
 * be; so an address is looked at here first, and refused without quoting it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/secret.h"
#include "store/pg.h"

#define ADDRESS_WORDS                                                                           \
    "the store's address cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, " \
    "with %2F for / and %40 for @, %3A for :, %3F for ?, %23 for #, %25 for % in a password"

/* A node that was killed leaves its url behind until its lease is over. */
#define URL_WAIT_MS (STORE_LEASE_MS + 1000)

enum err pg_refuse(struct str *why, struct str sentence, enum err e)
{
    *why = sentence.ptr ? sentence : STR("not enough memory to open the store");
    return e;
}

static void pass_over(void *ctx, const PGresult *notice)
{
    (void)ctx;
    (void)notice;
}

void pg_quiet(PGconn *c)
{
    PQsetNoticeReceiver(c, pass_over, NULL);
}

void pg_keywords(const char *conninfo, struct pg_keywords *out)
{
    static const char *const pairs[] = {
        /* what stands before the address may be said otherwise there */
        "connect_timeout",
        "5",
        "keepalives_idle",
        "5",
        "keepalives_interval",
        "2",
        "keepalives_count",
        "3",
        "tcp_user_timeout",
        "3000",
        "fallback_application_name",
        "parley",
        "dbname",
        NULL, /* the address */
        "client_encoding",
        "UTF8",
        "target_session_attrs",
        "read-write",
        NULL,
    };
    int n = 0;

    for (const char *const *p = pairs; *p; p += 2, n++) {
        out->keys[n] = p[0];
        out->values[n] = p[1] ? p[1] : conninfo;
    }
    out->keys[n] = out->values[n] = NULL;
}

/* --- the address ----------------------------------------------------------------------- */

static const char *option(const PQconninfoOption *list, const char *key)
{
    for (; list && list->keyword; list++)
        if (!strcmp(list->keyword, key)) return list->val ? list->val : "";
    return "";
}

static bool is_port_list(const char *s)
{
    struct str list = str_c(s), port;
    uint64_t   n;

    while (str_split(&list, ',', &port)) {
        while (str_starts(port, STR("0"))) port = str_from(port, 1);
        if (port.len && (!str_to_u64(port, &n) || n < 1 || n > UINT16_MAX)) return false;
    }
    return true;
}

/* Without a = it is the rest of a password that has a ? in it; libpq lets the last one pass. */
static bool is_query(struct str s)
{
    struct str one;

    while (str_split(&s, '&', &one))
        if (one.len && str_find(one, STR("=")) < 0) return false;
    return true;
}

/* A raw @ stands once, and before the first /: else it, or the / before it, is a password's. Up to
 * it a ? is one of the password, for libpq too. */
static bool is_plain(struct str url)
{
    struct str rest = str_from(url, (size_t)str_find(url, STR("://")) + 3);
    ptrdiff_t  at = str_find(rest, STR("@")), slash = str_find(rest, STR("/"));

    if (memchr(url.ptr, 0, url.len)) return false;
    if (at >= 0 && (slash < 0 || at < slash)) rest = str_from(rest, (size_t)at + 1);
    ptrdiff_t query = str_find(rest, STR("?"));
    if (query >= 0 && !is_query(str_from(rest, (size_t)query + 1))) return false;
    return str_find(query < 0 ? rest : str_cut(rest, (size_t)query), STR("@")) < 0;
}

const char *pg_address_fault(const char *url)
{
    char             *error = NULL;
    PQconninfoOption *list = PQconninfoParse(url, &error);
    bool              good = list && is_plain(str_c(url)) && is_port_list(option(list, "port"));

    PQconninfoFree(list);
    PQfreemem(error);
    return good ? NULL : ADDRESS_WORDS;
}

void pg_words(const char *conninfo, const char *message, char *out, size_t size)
{
    PQconninfoOption *list = PQconninfoParse(conninfo, NULL);
    const char       *password = option(list, "password");
    size_t            n = strcspn(message, "\n");

    /* libpq says what happened after "failed: ", and who, before it */
    if (n >= size) n = size - 1;
    memcpy(out, message, n);
    out[n] = 0;
    if (*password && strstr(out, password)) snprintf(out, size, "the connection was refused");
    PQconninfoFree(list);
}

/* --- the first connection ----------------------------------------------------------------- */

static bool says(const char *message, const char *words)
{
    return strstr(message, words) != NULL;
}

static enum err refuse_connect(const struct pg_place *at, PGconn *c, struct arena *a,
                               struct str *why)
{
    const char *m = PQerrorMessage(c), *user = PQuser(c), *db = PQdb(c);
    char        words[512];

    pg_words(at->conninfo, m, words, sizeof words);
    if (says(m, "password authentication failed") || says(m, "no password supplied"))
        return pg_refuse(why,
                         arena_printf(a,
                                      "the database at %s refuses the password of %s: check it in "
                                      "the store's address, in PGPASSWORD or in ~/.pgpass",
                                      at->shown, user),
                         ERR_DENIED);
    if (says(m, "database \"") && says(m, "does not exist"))
        return pg_refuse(why,
                         arena_printf(a,
                                      "there is no database \"%s\" at %s: make it with CREATE "
                                      "DATABASE, owned by %s",
                                      db, at->shown, user),
                         ERR_NOT_FOUND);
    if (says(m, "read-only") || says(m, "hot standby"))
        return pg_refuse(why,
                         arena_printf(a,
                                      "the database at %s can only be read: name the primary, or "
                                      "all servers (postgresql://USER@A,B/DATABASE), so that the "
                                      "primary is found",
                                      at->shown),
                         ERR_UNSUPPORTED);
    return pg_refuse(why, arena_printf(a, "cannot reach the database: %s", words), ERR_IO);
}

static const char *show(PGconn *c, const char *setting, char *out, size_t size)
{
    char      sql[96];
    PGresult *r;

    snprintf(sql, sizeof sql, "SELECT current_setting('%s')", setting);
    r = PQexec(c, sql);
    snprintf(out, size, "%s",
             PQresultStatus(r) == PGRES_TUPLES_OK ? PQgetvalue(r, 0, 0) : "unknown");
    PQclear(r);
    return out;
}

static void note_promise(struct pg *s, PGconn *c)
{
    char fsync[16], commit[24], standby[64];
    int  v = PQserverVersion(c);

    show(c, "fsync", fsync, sizeof fsync);
    show(c, "synchronous_commit", commit, sizeof commit);
    show(c, "synchronous_standby_names", standby, sizeof standby);
    snprintf(s->promise, sizeof s->promise,
             "postgresql %d.%d, fsync=%s, synchronous_commit=%s, %s, schema %d", v / 10000,
             v % 10000, fsync, commit, *standby ? "synchronous standby" : "no synchronous standby",
             PG_SCHEMA);
}

static enum err refuse_twin(const struct pg *s, struct arena *a, struct str *why)
{
    if (!strcmp(s->node_url, STORE_ALONE))
        return pg_refuse(why,
                         STR("another parley works with this database. To run several, give each "
                             "its own \"cluster\": {\"url\": \"http://HOST:PORT\", \"key\": "
                             "\"env:NAME\"}, all with the same key; or stop that one first"),
                         ERR_EXISTS);
    return pg_refuse(why,
                     arena_printf(a,
                                  "another node with the url %s is alive, or one that has no "
                                  "\"cluster.url\": give each node its own, and see that only one "
                                  "process is started with this one",
                                  s->node_url),
                     ERR_EXISTS);
}

/* Nodes with different keys could not talk to each other, and would find out at the first
 * thread. */
static enum err check_mark(const struct pg *s, PGconn *c, struct str *why)
{
    const char *p[1] = { s->mark };
    PGresult   *r = PQexecParams(c,
                                 "SELECT FROM parley_node WHERE mark <> '' AND mark <> $1"
                                   " AND until > clock_timestamp()",
                                 1, NULL, p, NULL, NULL, 0);
    bool        differs = *s->mark && PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0;

    PQclear(r);
    if (!differs) return OK;
    return pg_refuse(why,
                     STR("the other nodes of this database have another cluster.key: give all of "
                         "them the same"),
                     ERR_DENIED);
}

/* Of the nodes: alive, and in the way of one with this url. */
#define TWIN(url)                                                                             \
    "(url = " url " AND url <> '' OR url = '" STORE_ALONE "' OR " url " = '" STORE_ALONE "')" \
    " AND until > clock_timestamp()"

#define NOW "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

/* Waits for the lease of a former life of the same url. */
static enum err wait_for_twin(const struct pg *s, PGconn *c, struct arena *a, struct str *why)
{
    uint64_t    until = clock_mono_ms() + URL_WAIT_MS;
    const char *p[1] = { s->node_url };
    char        first[40] = "";

    for (;;) {
        PGresult *r =
            PQexecParams(c, "SELECT until::text FROM parley_node WHERE " TWIN("$1") " ORDER BY id",
                         1, NULL, p, NULL, NULL, 0);
        bool there = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0;
        if (there && !*first) snprintf(first, sizeof first, "%s", PQgetvalue(r, 0, 0));
        /* renewed meanwhile: somebody is there */
        bool lives = there && (strcmp(first, PQgetvalue(r, 0, 0)) != 0 || clock_mono_ms() > until);
        PQclear(r);
        if (lives) return refuse_twin(s, a, why);
        if (!there) return OK;
        uv_sleep(100);
    }
}

static bool is_half_moved(PGconn *c)
{
    PGresult *r = PQexec(c, "SELECT to_regclass('parley_move') IS NOT NULL");
    bool      half = PQresultStatus(r) == PGRES_TUPLES_OK && PQgetvalue(r, 0, 0)[0] == 't';

    PQclear(r);
    return half;
}

static enum err add_row(struct pg *s, PGconn *c, struct arena *a, struct str *why)
{
    const char *p[4] = { s->base.node, s->node_url, PARLEY_VERSION, s->mark };
    PGresult   *r;
    enum err    e = OK;

    s->renew_sent_ns = clock_mono_ns();
    r = PQexecParams(
        c,
        "INSERT INTO parley_node(id, url, until, version, mark)"
        " SELECT $1, $2, clock_timestamp() + interval '3 seconds', $3, $4"
        /* nobody works with what is half moved (pg_move.c) */
        " WHERE to_regclass('parley_move') IS NULL"
        " AND NOT EXISTS (SELECT FROM parley_node WHERE " TWIN("$2") ") RETURNING " NOW,
        4, NULL, p, NULL, NULL, 0);
    if (PQresultStatus(r) != PGRES_TUPLES_OK) {
        const char *said = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
        e = pg_refuse(why, arena_printf(a, "the database refused this node: %s", said ? said : "?"),
                      ERR_IO);
    } else if (PQntuples(r) == 1) {
        /* before anything is found due by a clock that is wrong */
        pg_follow_clock(s, atoll(PQgetvalue(r, 0, 0)));
    } else if (is_half_moved(c)) {
        e = pg_refuse(why,
                      STR("a move into this database was begun and not finished: call the same "
                          "`parley move` again, and it goes on"),
                      ERR_BUSY);
    } else {
        e = refuse_twin(s, a, why);
    }
    PQclear(r);
    return e;
}

#define SILENT_WORDS "the database did not answer in time; start this node again"

static bool exec(PGconn *c, const char *sql, const char *tag)
{
    PGresult *r = PQexec(c, sql);
    bool      good = str_starts(str_c(PQcmdStatus(r)), str_c(tag));

    PQclear(r);
    return good;
}

/* The node's place in the table. One at a time: of two that start in the same moment the second
 * must see the first. The lock ends with the transaction. */
static enum err register_node(struct pg *s, PGconn *c, struct arena *a, struct str *why)
{
    enum err e = wait_for_twin(s, c, a, why);

    if (e) return e;
    /* What the dead held is anybody's. */
    exec(c,
         "UPDATE parley_thread t SET holder = NULL WHERE holder IS NOT NULL AND NOT EXISTS"
         " (SELECT FROM parley_node n WHERE n.id = t.holder AND n.until > clock_timestamp())",
         "UPDATE");
    if (!exec(c, "BEGIN", "BEGIN") || !exec(c, "SELECT pg_advisory_xact_lock(7233962)", "SELECT"))
        return pg_refuse(why, STR(SILENT_WORDS), ERR_IO);
    e = check_mark(s, c, why);
    if (!e) e = add_row(s, c, a, why);
    if (!exec(c, e ? "ROLLBACK" : "COMMIT", e ? "ROLLBACK" : "COMMIT") && !e)
        e = pg_refuse(why, STR(SILENT_WORDS), ERR_IO);
    return e;
}

/* `at->shown`: where it is, without anything that is nobody's business. */
static void note_place(struct pg_place *at, PGconn *c)
{
    const char *host = PQhost(c), *port = PQport(c);

    if (host && *host == '/') snprintf(at->shown, sizeof at->shown, "%s (%s)", PQdb(c), host);
    else
        snprintf(at->shown, sizeof at->shown, "%s:%s/%s", host ? host : "?", port ? port : "?",
                 PQdb(c) ? PQdb(c) : "?");
}

void pg_place_done(struct pg_place *at)
{
    if (at->conninfo) secret_wipe(at->conninfo, strlen(at->conninfo));
    mem_free(at->conninfo);
    at->conninfo = NULL;
}

enum err pg_reach(struct pg_place *at, struct str url, struct arena *a, PGconn **out,
                  struct str *why)
{
    struct pg_keywords k;
    PGconn            *c;
    enum err           e = OK;

    at->conninfo = mem_alloc(url.len + 1);
    if (!at->conninfo) return pg_refuse(why, STR_NONE, ERR_NOMEM);
    memcpy(at->conninfo, url.ptr, url.len);
    const char *fault = pg_address_fault(at->conninfo);
    if (fault) return pg_refuse(why, str_c(fault), ERR_SYNTAX);
    pg_keywords(at->conninfo, &k);
    c = PQconnectdbParams(k.keys, k.values, 1);
    if (!c) return pg_refuse(why, STR_NONE, ERR_NOMEM);
    pg_quiet(c);
    note_place(at, c);
    PQsetErrorVerbosity(c, PQERRORS_TERSE); /* details have people's texts in them */
    if (PQstatus(c) != CONNECTION_OK) {
        e = refuse_connect(at, c, a, why);
    } else if (PQserverVersion(c) < PG_VERSION_MIN) {
        e = pg_refuse(why,
                      arena_printf(a,
                                   "the database at %s is PostgreSQL %d; parley needs 13 or newer",
                                   at->shown, PQserverVersion(c) / 10000),
                      ERR_UNSUPPORTED);
    } else {
        PQclear(PQexec(c, PG_SETTINGS_SQL));
    }
    if (e) PQfinish(c);
    else *out = c;
    return e;
}

enum err pg_connect(struct pg *s, struct str url, struct arena *a, PGconn **out, struct str *why)
{
    PGconn  *c;
    enum err e = pg_reach(&s->at, url, a, &c, why);

    if (e) return e;
    e = pg_schema(c, a, why);
    if (!e) note_promise(s, c);
    if (!e) e = register_node(s, c, a, why);
    if (e) PQfinish(c);
    else *out = c;
    return e;
}
