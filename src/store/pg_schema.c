/* pg_schema.c -- the tables, and their upgrades.
 *
 * The version is the row of parley_schema. pg_upgrades[n] leads from version n to n + 1. All of
 * them run in one transaction under an advisory lock, so that nodes that start together do not
 * meet. A released step is never edited, only followed by another, and a step must leave the tables
 * such that nodes of the version before can still work with them: they do, while an upgrade rolls
 * through a cluster. A node that finds a newer version than it knows refuses.
 *
 * Names and texts are bytea: every byte is kept (a NUL, half a character), order and equality do
 * not depend on a locale, and the database's encoding does not matter. Words of ours are text.
 */
#include "store/pg.h"

#include <stdio.h>
#include <stdlib.h>

/* Whoever upgrades holds it; any number that nobody else in the database uses. Of the session, and
 * taken before the transaction begins: inside one, a backend that has once found no table goes on
 * finding none, though another has made it meanwhile. */
#define LOCK   "SELECT pg_advisory_lock(7233961)"
#define UNLOCK "SELECT pg_advisory_unlock(7233961)"
/* The limit of every other statement is none of an upgrade, which may have an index to build over
 * all there is, nor of who waits for the node that does it. */
#define PATIENT "SET statement_timeout = 0; SET lock_timeout = '60s'"
#define USUAL   "SET statement_timeout = " PG_STATEMENT "; RESET lock_timeout"

const char *const pg_upgrades[PG_SCHEMA] = {
    "CREATE TABLE parley_schema(one int PRIMARY KEY CHECK (one = 1), version int NOT NULL);"
    "INSERT INTO parley_schema VALUES (1, 0);"
    "CREATE TABLE parley_node("
    "  id text PRIMARY KEY, url text NOT NULL, until timestamptz NOT NULL, version text NOT NULL);"
    "CREATE TABLE parley_thread("
    "  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner bytea NOT NULL, name bytea NOT "
    "NULL, title bytea NOT NULL, state text NOT NULL, seq bigint NOT NULL, created_ms bigint NOT "
    "NULL, updated_ms bigint NOT NULL, holder text, epoch bigint NOT NULL);"
    "CREATE UNIQUE INDEX parley_thread_by_name ON parley_thread(owner, name);"
    "CREATE INDEX parley_thread_by_change ON parley_thread(owner, updated_ms, id);"
    "CREATE INDEX parley_thread_running ON parley_thread(holder) WHERE state = 'running';"
    "CREATE INDEX parley_thread_held ON parley_thread(holder) WHERE holder IS NOT NULL;"
    /* the epoch of the claim it was appended by: an append in doubt is told from another's */
    "CREATE TABLE parley_fact("
    "  thread bigint NOT NULL, seq bigint NOT NULL, at_ms bigint NOT NULL, epoch bigint NOT NULL,"
    "  sum bigint NOT NULL, kind text NOT NULL, body bytea NOT NULL, PRIMARY KEY (thread, seq));"
    "CREATE TABLE parley_request("
    "  owner bytea NOT NULL, id bytea NOT NULL, thread bigint NOT NULL, run bytea,"
    "  PRIMARY KEY (owner, id));"
    "CREATE INDEX parley_request_by_thread ON parley_request(thread);"
    "CREATE TABLE parley_approval("
    "  num bigint GENERATED ALWAYS AS IDENTITY, owner bytea NOT NULL, id bytea NOT NULL,"
    "  thread bigint NOT NULL, call bytea NOT NULL, tool bytea NOT NULL, status text NOT NULL,"
    "  body bytea NOT NULL, requested_ms bigint NOT NULL, expires_ms bigint NOT NULL,"
    "  sum bigint NOT NULL, PRIMARY KEY (id, owner));"
    "CREATE INDEX parley_approval_by_owner"
    "  ON parley_approval(owner, status, requested_ms, num);"
    "CREATE INDEX parley_approval_by_status ON parley_approval(status, requested_ms, num);"
    "CREATE INDEX parley_approval_by_thread ON parley_approval(thread);"
    "CREATE INDEX parley_approval_due ON parley_approval(expires_ms)"
    "  WHERE status IN ('pending', 'offered') AND expires_ms > 0;"
    /* Counters have a row per lane: a row that every commit of every node changes would have them
     * all wait for each other. */
    "CREATE TABLE parley_tool("
    "  name bytea NOT NULL, slot bigint NOT NULL, runs bigint NOT NULL, failed bigint NOT NULL,"
    "  PRIMARY KEY (name, slot));"
    "CREATE TABLE parley_used("
    "  owner bytea NOT NULL, day bigint NOT NULL, slot bigint NOT NULL, amount bigint NOT NULL,"
    "  PRIMARY KEY (owner, day, slot));"
    "CREATE TABLE parley_session("
    "  key bytea PRIMARY KEY, body bytea NOT NULL, ends_ms bigint NOT NULL);"
    "CREATE INDEX parley_session_by_end ON parley_session(ends_ms);"
    /* Volatile: it looks at what is committed now, not when the statement began. A claim that had
     * to wait for the row's lock must not judge its holder by an old picture. */
    "CREATE FUNCTION parley_alive(text) RETURNS boolean LANGUAGE sql VOLATILE AS"
    " 'SELECT EXISTS (SELECT FROM parley_node WHERE id = $1 AND until > clock_timestamp())';",
    /* 1 -> 2. Of the cluster's key; nodes of the version before write none */
    "ALTER TABLE parley_node ADD COLUMN mark text NOT NULL DEFAULT '';",
    /* 2 -> 3. Logs that are found by what was said in them, and logs that no list shows. */
    "CREATE TABLE parley_key("
    "  owner bytea NOT NULL, key bytea NOT NULL, thread bigint NOT NULL, value bytea NOT NULL,"
    "  at_ms bigint NOT NULL, PRIMARY KEY (owner, key, thread));"
    "CREATE INDEX parley_key_by_time ON parley_key(owner, key, at_ms, thread);"
    "CREATE INDEX parley_key_by_thread ON parley_key(thread);"
    "ALTER TABLE parley_thread ADD COLUMN hidden boolean NOT NULL DEFAULT false;",
    /* 3 -> 4. What appends take from (store.h), and which of it goes with a log. */
    "CREATE TABLE parley_stock("
    "  num bigint GENERATED ALWAYS AS IDENTITY, key bytea PRIMARY KEY, kind text NOT NULL,"
    "  owner bytea NOT NULL, holder bytea NOT NULL, state text NOT NULL, body bytea NOT NULL,"
    "  uses bigint NOT NULL, amount bigint NOT NULL, made_ms bigint NOT NULL,"
    "  until_ms bigint NOT NULL);"
    "CREATE INDEX parley_stock_by_owner ON parley_stock(kind, owner, made_ms, num);"
    "CREATE INDEX parley_stock_by_kind ON parley_stock(kind, made_ms, num);"
    "CREATE TABLE parley_stock_log(key bytea PRIMARY KEY, thread bigint NOT NULL);"
    "CREATE INDEX parley_stock_log_by_thread ON parley_stock_log(thread);"
    /* All takings of one append, or none: `at` is 0, or the number of the one that cannot be had
     * and what is there, or -1 when the log is not as the append expects. The log's row first, then
     * the keys in their order: nobody waits in a circle. The inner block is undone as a whole. */
    "CREATE FUNCTION parley_take(node text, log_owner bytea, log_name bytea, log_seq bigint,"
    "  log_epoch bigint, now_ms bigint, op bigint[], k bytea[], h bytea[], kd text[], st text[],"
    "  b bytea[], u bigint[], am bigint[], un bigint[], OUT at bigint, OUT key bytea, OUT kind "
    "text,"
    "  OUT owner bytea, OUT holder bytea, OUT state text, OUT body bytea, OUT uses bigint,"
    "  OUT amount bigint, OUT made_ms bigint, OUT until_ms bigint) LANGUAGE plpgsql VOLATILE AS $$"
    "#variable_conflict use_column\n"
    " DECLARE t record; i bigint;"
    " BEGIN"
    "  SELECT p.seq, p.holder, p.epoch INTO t FROM parley_thread p"
    "    WHERE p.owner = log_owner AND p.name = log_name FOR NO KEY UPDATE;"
    "  at := -1;"
    "  IF FOUND THEN"
    "    IF t.seq <> log_seq OR NOT coalesce((t.holder = node AND (log_epoch = 0 OR"
    "      log_epoch = t.epoch)) OR (t.holder IS NULL AND log_epoch = 0), false) THEN RETURN; END "
    "IF;"
    "  ELSIF log_seq <> 0 THEN RETURN; END IF;"
    "  at := 0;"
    "  BEGIN"
    "   FOR i IN SELECT x.n FROM unnest(k) WITH ORDINALITY AS x(v, n) ORDER BY x.v, x.n LOOP"
    "    CASE op[i]"
    "    WHEN 0 THEN"
    "     DELETE FROM parley_stock s WHERE s.key = k[i] AND s.until_ms > 0 AND s.until_ms <= "
    "now_ms;"
    "     INSERT INTO parley_stock(key, kind, owner, holder, state, body, uses, amount, made_ms,"
    "      until_ms) VALUES (k[i], kd[i], log_owner, h[i], st[i], coalesce(b[i], ''), u[i], am[i],"
    "      now_ms, un[i]) ON CONFLICT DO NOTHING;"
    "    WHEN 1 THEN"
    "     UPDATE parley_stock s SET uses = s.uses - 1, amount = s.amount - am[i] WHERE s.key = k[i]"
    "      AND s.state = 'open' AND s.uses >= 1 AND s.amount >= am[i]"
    "      AND (s.until_ms = 0 OR s.until_ms > now_ms);"
    "    WHEN 2 THEN"
    "     UPDATE parley_stock s SET uses = s.uses + 1, amount = s.amount + am[i] WHERE s.key = "
    "k[i];"
    "    WHEN 3 THEN"
    "     UPDATE parley_stock s SET state = st[i], body = coalesce(b[i], s.body)"
    "      WHERE s.key = k[i] AND s.holder = h[i];"
    "    ELSE"
    "     DELETE FROM parley_stock s WHERE s.key = k[i] AND s.holder = h[i];"
    "    END CASE;"
    "    IF NOT FOUND AND op[i] <= 1 THEN"
    "     at := i;"
    "     RAISE EXCEPTION USING errcode = 'PT001';"
    "    END IF;"
    "   END LOOP;"
    "  EXCEPTION WHEN SQLSTATE 'PT001' THEN"
    "   SELECT s.key, s.kind, s.owner, s.holder, s.state, s.body, s.uses, s.amount, s.made_ms,"
    "    s.until_ms INTO key, kind, owner, holder, state, body, uses, amount, made_ms, until_ms"
    "    FROM parley_stock s WHERE s.key = k[at];"
    "  END;"
    " END $$;",
    /* 4 -> 5. Logs that are no conversations: which door made them, and with what they are shown.
     * Nodes of the version before show them among the others. */
    "ALTER TABLE parley_thread ADD COLUMN source bytea NOT NULL DEFAULT '', ADD COLUMN grp bytea;"
    "CREATE INDEX parley_thread_by_source ON parley_thread(owner, source, updated_ms, id);",
    /* 5 -> 6. What others are to be told of. Numbers are given before the commit, so a later one
     * may be seen first; the transaction's own number tells when all before it are decided. */
    "CREATE TABLE parley_event("
    "  tx bigint NOT NULL, num bigint GENERATED ALWAYS AS IDENTITY, at_ms bigint NOT NULL,"
    "  owner bytea NOT NULL, kind text NOT NULL, id bytea NOT NULL, body bytea NOT NULL,"
    "  PRIMARY KEY (tx, num));"
    "CREATE INDEX parley_event_by_time ON parley_event(at_ms);",
    /* 6 -> 7. Calls of unknown outcome fall due, too. Nodes of the version before look for the
     * others without an index until they are replaced. */
    "DROP INDEX parley_approval_due;"
    "CREATE INDEX parley_approval_due ON parley_approval(expires_ms)"
    "  WHERE status IN ('pending', 'offered', 'unknown') AND expires_ms > 0;",
    /* 7 -> 8. Sums have names of their own; those that were there are tokens of people. Nodes of
     * the version before go on with the old ones, which are then in no list. */
    "UPDATE parley_used SET owner = 'tokens/principal/'::bytea || owner;",
    /* 8 -> 9. Facts carry a link (links.h); what a removed log leaves; what was signed. What is
     * there is not looked at. `links`: of the facts of the last append, behind each other; the last
     * one is the head. They are made here and not by the node, because only here it is certain upon
     * what the append builds. */
    "ALTER TABLE parley_thread ADD COLUMN links bytea;"
    "ALTER TABLE parley_fact ADD COLUMN link bytea;"
    "CREATE FUNCTION parley_head(bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS"
    " 'SELECT substr($1, octet_length($1) - 31)';"
    "CREATE FUNCTION parley_links(before bytea, digests bytea) RETURNS bytea LANGUAGE plpgsql"
    " IMMUTABLE AS $$ DECLARE"
    "  head bytea := coalesce(substr(before, octet_length(before) - 31),"
    "   decode(repeat('00', 32), 'hex'));"
    "  made bytea := '';"
    " BEGIN"
    "  FOR i IN 0 .. octet_length(digests) / 32 - 1 LOOP"
    "   head := sha256(head || substr(digests, 32 * i + 1, 32));"
    "   made := made || head;"
    "  END LOOP;"
    "  RETURN made;"
    " END $$;"
    "CREATE TABLE parley_stub("
    "  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, log text NOT NULL, owner bytea NOT "
    "NULL, name bytea NOT NULL, created_ms bigint NOT NULL, removed_ms bigint NOT NULL, seq bigint "
    "NOT NULL, kind text NOT NULL, digests bytea NOT NULL, head bytea NOT NULL, body bytea NOT "
    "NULL, noted boolean NOT NULL);"
    "CREATE INDEX parley_stub_by_owner ON parley_stub(owner);"
    "CREATE INDEX parley_stub_unnoted ON parley_stub(num) WHERE NOT noted;"
    "CREATE TABLE parley_noted(thread bigint PRIMARY KEY, seq bigint NOT NULL);"
    "CREATE TABLE parley_checkpoint("
    "  number bigint PRIMARY KEY, at_ms bigint NOT NULL, line bytea NOT NULL, told boolean NOT "
    "NULL);"
    "CREATE INDEX parley_checkpoint_untold ON parley_checkpoint(number) WHERE NOT told;"
    /* Nodes of the version before give no links. In a log whose chain has begun the database ties
     * what they append, all of it in its order; the nodes of this version never come here. */
    "CREATE FUNCTION parley_tie() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE"
    "  t record; f record; head bytea;"
    " BEGIN"
    "  SELECT links, int8send(octet_length(owner)::int8) || owner ||"
    "    int8send(octet_length(name)::int8) || name AS log"
    "   INTO t FROM parley_thread WHERE id = NEW.thread;"
    "  head := parley_head(t.links);"
    "  FOR f IN SELECT seq, at_ms, convert_to(kind, 'UTF8') AS kind, body FROM parley_fact"
    "    WHERE thread = NEW.thread AND seq > (SELECT max(seq) FROM parley_fact"
    "     WHERE thread = NEW.thread AND link IS NOT NULL) ORDER BY seq LOOP"
    "   head := sha256(head || sha256(t.log || int8send(f.seq) || int8send(f.at_ms) ||"
    "    int8send(octet_length(f.kind)::int8) || f.kind || f.body));"
    "   UPDATE parley_fact SET link = head WHERE thread = NEW.thread AND seq = f.seq;"
    "  END LOOP;"
    "  UPDATE parley_thread SET links = head WHERE id = NEW.thread AND links <> head;"
    "  RETURN NULL;"
    " END $$;"
    "CREATE TRIGGER parley_tie AFTER INSERT ON parley_fact FOR EACH ROW WHEN (NEW.link IS NULL)"
    " EXECUTE FUNCTION parley_tie();",
    /* 9 -> 10. Words go while their log stays: what a fact was, and how far a log has come. Nodes
     * of the version before know neither: none of them may run once a node takes words out. */
    "ALTER TABLE parley_fact ADD COLUMN digest bytea;"
    "CREATE TABLE parley_trimmed("
    "  thread bigint PRIMARY KEY, seq bigint NOT NULL, kinds bigint NOT NULL);",
    /* 10 -> 11. An append changes the time of its log, and while that stood in an index every
     * append wrote into all indexes of the table. `changed` is the same in steps of four seconds:
     * within one the row is changed in place (HOT), for which pages keep some room. No index but
     * that of the names begins with the owner: a planner that has no figures yet takes any that
     * does, and then goes through all that the owner has. Nodes of the version before sort lists
     * without an index until they are replaced. */
    "ALTER TABLE parley_thread ADD COLUMN changed bigint"
    "  GENERATED ALWAYS AS (updated_ms / 4096) STORED;"
    "ALTER TABLE parley_thread SET (fillfactor = 60);"
    "DROP INDEX parley_thread_by_change;"
    "DROP INDEX parley_thread_by_source;"
    "CREATE INDEX parley_thread_by_source ON parley_thread(source, owner, changed);",
    /* 11 -> 12. What was said is found by its letters (pg_said.c): which are in a fact, and how far
     * a log is in it; nothing is at first. Without a list of what waits to be sorted in, which
     * every search would have to read. Words that go, and logs, go from it by triggers: nodes of
     * the version before know nothing of it, and what another transaction has put there while this
     * one waited for the log's row is seen by a trigger alone. */
    "CREATE TABLE parley_said("
    "  thread bigint NOT NULL, seq bigint NOT NULL, grams smallint[] NOT NULL,"
    "  PRIMARY KEY (thread, seq));"
    "CREATE INDEX parley_said_grams ON parley_said USING gin(grams) WITH (fastupdate = off);"
    "CREATE TABLE parley_said_to(thread bigint PRIMARY KEY, seq bigint NOT NULL);"
    "CREATE FUNCTION parley_unsay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    "  IF TG_OP = 'DELETE' THEN"
    "   DELETE FROM parley_said WHERE thread = OLD.id;"
    "   DELETE FROM parley_said_to WHERE thread = OLD.id;"
    "  ELSE"
    "   DELETE FROM parley_said WHERE thread = OLD.thread AND seq = OLD.seq;"
    "   UPDATE parley_said_to SET seq = OLD.seq - 1 WHERE thread = OLD.thread AND seq >= OLD.seq;"
    "  END IF;"
    "  RETURN NULL;"
    " END $$;"
    "CREATE TRIGGER parley_unsay AFTER DELETE ON parley_thread FOR EACH ROW"
    " EXECUTE FUNCTION parley_unsay();"
    "CREATE TRIGGER parley_unsay AFTER UPDATE OF body ON parley_fact FOR EACH ROW"
    " EXECUTE FUNCTION parley_unsay();",
    /* 12 -> 13. So does what a checkpoint notes of a log that is being removed: left behind, it
     * looks as if somebody had taken the log away. (That is found by the checkpoints.) */
    "CREATE FUNCTION parley_unnote() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    "  DELETE FROM parley_noted WHERE thread = OLD.id;"
    "  RETURN NULL;"
    " END $$;"
    "CREATE TRIGGER parley_unnote AFTER DELETE ON parley_thread FOR EACH ROW"
    " EXECUTE FUNCTION parley_unnote();"
    "DELETE FROM parley_noted n"
    " WHERE NOT EXISTS (SELECT FROM parley_thread t WHERE t.id = n.thread);",
};

static enum err refuse_sql(PGconn *c, struct arena *a, struct str *why, const char *what,
                           const PGresult *r)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *said = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    if (state && !strcmp(state, "42501"))
        return pg_refuse(
            why,
            arena_printf(a,
                         "the role %s may not %s (%s); docs/configuration.md has the list of what "
                         "to GRANT",
                         PQuser(c), what, said),
            ERR_DENIED);
    return pg_refuse(
        why, arena_printf(a, "the database could not %s: %s", what, said ? said : "no answer"),
        ERR_IO);
}

static enum err exec(PGconn *c, const char *sql, struct arena *a, struct str *why)
{
    PGresult      *r = PQexec(c, sql);
    ExecStatusType t = PQresultStatus(r);
    enum err       e = OK;

    if (t != PGRES_COMMAND_OK && t != PGRES_TUPLES_OK)
        e = refuse_sql(c, a, why, "make parley's tables", r);
    PQclear(r);
    return e;
}

enum err pg_schema_version(PGconn *c, int *out, struct arena *a, struct str *why)
{
    PGresult *r = PQexec(c, "SELECT to_regclass('parley_schema') IS NOT NULL");
    enum err  e = OK;

    *out = 0;
    if (PQresultStatus(r) == PGRES_TUPLES_OK && PQgetvalue(r, 0, 0)[0] == 't') {
        PQclear(r);
        r = PQexec(c, "SELECT version FROM parley_schema");
        if (PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1)
            *out = atoi(PQgetvalue(r, 0, 0));
    }
    if (PQresultStatus(r) != PGRES_TUPLES_OK) e = refuse_sql(c, a, why, "read parley's tables", r);
    PQclear(r);
    return e;
}

enum err pg_schema(PGconn *c, struct arena *a, struct str *why)
{
    int      version;
    char     set[64];
    enum err e = pg_schema_version(c, &version, a, why);

    if (e || version == PG_SCHEMA) return e;
    if (version < PG_SCHEMA) {
        e = exec(c, PATIENT, a, why);
        if (!e) e = exec(c, LOCK, a, why);
        if (!e) e = exec(c, "BEGIN", a, why);
        if (!e) e = pg_schema_version(c, &version, a, why); /* another node may have been faster */
        for (; !e && version < PG_SCHEMA; version++) {
            snprintf(set, sizeof set, "UPDATE parley_schema SET version = %d", version + 1);
            e = exec(c, pg_upgrades[version], a, why);
            if (!e) e = exec(c, set, a, why);
        }
        if (!e) e = exec(c, "COMMIT", a, why);
        if (e) PQclear(PQexec(c, "ROLLBACK"));
        PQclear(PQexec(c, UNLOCK));
        PQclear(PQexec(c, USUAL));
    }
    if (!e && version > PG_SCHEMA)
        e = pg_refuse(why,
                      arena_printf(a,
                                   "the database was made by a newer version of parley (its schema "
                                   "is %d, this program knows %d): start a program of that version "
                                   "or a newer one",
                                   version, PG_SCHEMA),
                      ERR_UNSUPPORTED);
    return e;
}
