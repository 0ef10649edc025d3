/* pg_said.c -- the index of what was said: which facts have these three letters, as numbers in an
 * array with a GIN index (said.h); no extension is needed for that.
 *
 * An append does not write to it, whatever version its node is of. Each node goes through the logs
 * by their numbers, one piece at a time when there is little else to do: parley_said_to has how far
 * a log is in the index, its row how far it has come. That needs no order in which appends are
 * committed, and no clock. A search looks itself at what a log has behind that mark.
 *
 *   PG_UNSAID: the next logs that are behind, and their facts ─▶ PG_SAID_IN: their letters
 *
 * In between a log may lose words. So the second one takes the log's row, shared, and only as it
 * was read; words that go wait for that lock, and the database's own triggers take them out of the
 * index, as they do when a log goes (pg_schema.c). */
#include <limits.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "store/pg.h"
#include "store/said.h"
#include "store/words.h"

#define LOGS_AT_ONCE  "1024" /* looked at */
#define FACTS_AT_ONCE 128    /* taken in */
#define BUSY_NS       1000000000ull
/* After a way through all logs so long a pause, and so many times what the database took for it. */
#define PAUSE_NS    1000000000ull
#define PAUSE_TIMES 20

/* --- grams as numbers -------------------------------------------------------------------- */

enum { NUMBERS = 65536 };

/* "{1,-2,...}": int2[] in its own words */
static struct str numbers_text(struct arena *a, const uint8_t set[NUMBERS / 8])
{
    struct buf out;
    struct str text;

    buf_init(&out, 0);
    for (int i = 0; i < NUMBERS; i++) {
        if (!set[i / 8]) i += 7;
        else if (set[i / 8] & 1 << i % 8)
            buf_printf(&out, "%c%d", out.len ? ',' : '{', i - NUMBERS / 2);
    }
    buf_chr(&out, '}');
    text = out.err ? STR_NONE : arena_dup(a, buf_view(&out));
    if (out.err) a->failed = true;
    buf_done(&out);
    return text;
}

static void add_grams(uint8_t set[NUMBERS / 8], struct str text, unsigned most)
{
    struct str gram;

    for (unsigned i = 0; i < most && said_gram(&text, &gram); i++) {
        unsigned n = said_number(gram);
        set[n / 8] |= (uint8_t)(1 << n % 8);
    }
}

static void add_owner(uint8_t set[NUMBERS / 8], struct buf *room, struct str owner)
{
    buf_clear(room);
    said_owner(room, owner);
    add_grams(set, buf_view(room), 1);
    buf_str(room, owner); /* once more, with another number: few others have both */
    add_grams(set, str_from(buf_view(room), 4), 1);
}

/* Of a fact (`words` STR_NONE), or of words that are looked for. */
static struct str grams_of(struct arena *a, struct str owner, struct str kind, struct str body,
                           struct str words)
{
    uint8_t    set[NUMBERS / 8] = { 0 };
    struct buf room;
    struct str text;

    buf_init(&room, 0);
    add_owner(set, &room, owner);
    buf_clear(&room);
    if (words.ptr) words_lower(&room, words);
    else said_words(&room, kind, body);
    add_grams(set, buf_view(&room), words.ptr ? SAID_GRAMS_MAX : UINT_MAX);
    if (room.err) a->failed = true;
    text = numbers_text(a, set);
    buf_done(&room);
    return text;
}

struct str said_looked_for(struct arena *a, struct str owner, struct str words)
{
    return utf8_count(words) < SAID_GRAM ? STR_NONE : grams_of(a, owner, STR_NONE, STR_NONE, words);
}

/* --- statements ---------------------------------------------------------------------------- */

static const char unsaid_sql[] =
    "WITH t AS MATERIALIZED (SELECT id, owner, seq, source FROM parley_thread WHERE id > $1::int8"
    "  ORDER BY id LIMIT " LOGS_AT_ONCE "),"
    " behind AS MATERIALIZED (SELECT t.id, t.owner, t.seq, coalesce(n.seq, 0) AS said FROM t"
    "  LEFT JOIN parley_said_to n ON n.thread = t.id"
    "  WHERE t.seq > coalesce(n.seq, 0) AND t.source = '' ORDER BY t.id LIMIT $2::int8)"
    " SELECT x.last, b.id, b.owner, b.seq, f.seq, f.kind, f.body"
    " FROM (SELECT coalesce(max(id), 0) AS last FROM t) x LEFT JOIN behind b ON true"
    " LEFT JOIN LATERAL (SELECT f.seq, f.kind, substr(f.body, 1, " SAID_BODY_SQL ") AS body"
    "  FROM parley_fact f WHERE f.thread = b.id AND f.seq > b.said AND f.seq <= b.seq"
    "  AND f.kind IN " SAID_KINDS " ORDER BY f.seq LIMIT $2::int8) f ON true"
    " ORDER BY b.id, f.seq LIMIT $2::int8";

static const char said_in_sql[] =
    "WITH m AS MATERIALIZED (SELECT u.thread, u.said"
    "  FROM unnest($1::int8[], $2::int8[], $3::int8[]) AS u(thread, seq, said)"
    "  JOIN parley_thread t ON t.id = u.thread AND t.seq = u.seq FOR SHARE OF t SKIP LOCKED),"
    " s AS (INSERT INTO parley_said(thread, seq, grams) SELECT g.thread, g.seq, g.grams::int2[]"
    "  FROM unnest($4::int8[], $5::int8[], $6::text[]) AS g(thread, seq, grams)"
    "  JOIN m ON m.thread = g.thread ORDER BY 1, 2 ON CONFLICT DO NOTHING)"
    " INSERT INTO parley_said_to(thread, seq) SELECT thread, said FROM m ORDER BY 1"
    " ON CONFLICT (thread) DO UPDATE SET seq = excluded.seq";

const char *pg_said_sql(int stmt)
{
    return stmt == PG_UNSAID ? unsaid_sql : stmt == PG_SAID_IN ? said_in_sql : NULL;
}

/* --- a piece ------------------------------------------------------------------------------- */

struct said_log {
    int64_t id, seq, said;
};
struct said_fact {
    int64_t    thread, seq;
    struct str grams;
};

int said_params(struct said_work *w, struct params *p)
{
    if (!w->log_count) {
        param_int(p, w->after);
        param_int(p, FACTS_AT_ONCE);
        return PG_UNSAID;
    }
    param_array(p, PG_INT8);
    for (size_t i = 0; i < w->log_count; i++) param_array_int(p, w->logs[i].id);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (size_t i = 0; i < w->log_count; i++) param_array_int(p, w->logs[i].seq);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (size_t i = 0; i < w->log_count; i++) param_array_int(p, w->logs[i].said);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (size_t i = 0; i < w->fact_count; i++) param_array_int(p, w->facts[i].thread);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (size_t i = 0; i < w->fact_count; i++) param_array_int(p, w->facts[i].seq);
    param_array_end(p);
    param_array(p, PG_TEXT);
    for (size_t i = 0; i < w->fact_count; i++) param_array_bytes(p, w->facts[i].grams);
    param_array_end(p);
    return PG_SAID_IN;
}

/* What was read of one log: all it has, or as much as there was room for. */
static void take_fact(struct said_work *w, const PGresult *r, int i)
{
    struct said_log *log = w->log_count ? &w->logs[w->log_count - 1] : NULL;
    int64_t          id = res_int(r, i, 1), seq = res_int(r, i, 3), at = res_int(r, i, 4);

    if (!log || log->id != id) log = &w->logs[w->log_count++];
    *log = (struct said_log){ id, seq, seq };
    if (PQgetisnull(r, i, 4)) return;
    if (i + 1 == FACTS_AT_ONCE) log->said = at;
    w->facts[w->fact_count++] = (struct said_fact){
        id, at, grams_of(&w->arena, res_str(r, i, 2), res_str(r, i, 5), res_str(r, i, 6), STR_NONE)
    };
}

static void end_piece(struct said_work *w)
{
    w->log_count = w->fact_count = 0;
    arena_done(&w->arena);
}

/* All logs were looked at: what is behind now will be looked at after a pause. */
static void end_pass(struct said_work *w)
{
    uint64_t now = clock_mono_ns();

    w->whole = true;
    w->after = 0;
    w->next_ns = now + PAUSE_NS + PAUSE_TIMES * w->spent_ns;
    w->spent_ns = 0;
}

static void took(struct said_work *w, const PGresult *r)
{
    int     n = PQntuples(r);
    int64_t last = res_int(r, 0, 0);

    arena_init(&w->arena, 0);
    w->logs = arena_array(&w->arena, (size_t)n, sizeof *w->logs);
    w->facts = arena_array(&w->arena, (size_t)n, sizeof *w->facts);
    for (int i = 0; i < n && !w->arena.failed && !PQgetisnull(r, i, 1); i++) take_fact(w, r, i);
    if (w->arena.failed) end_piece(w); /* another time */
    else if (!w->log_count) {
        arena_done(&w->arena);
        w->after = last;
        if (!last) end_pass(w);
    } else if (n == FACTS_AT_ONCE) w->after = w->logs[w->log_count - 1].id - 1;
    else w->after = last;
}

void said_answer(struct said_work *w, const struct unit *u)
{
    if (u->stmt == PG_UNSAID) w->spent_ns += clock_mono_ns() - w->last_ns;
    if (u->stmt == PG_SAID_IN) end_piece(w);
    else took(w, u->result);
}

void said_lost(struct said_work *w)
{
    if (w->log_count) end_piece(w);
}

bool said_is_due(struct said_work *w, bool busy)
{
    uint64_t now = clock_mono_ns();

    if (list_linked(&w->job.node) || now < w->next_ns) return false;
    if (busy && now < w->last_ns + BUSY_NS) return false;
    w->last_ns = now;
    return true;
}
