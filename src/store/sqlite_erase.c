/* sqlite_erase.c -- what goes and what is left of it: a log that is removed, words that go while
 * their log stays, somebody who is forgotten, and the checkpoints that speak for all of these. As
 * sqlite_write.c, on the writer's thread and inside its transaction. */
#include "store/sqlite_write.h"

/* --- stubs -------------------------------------------------------------------- */

/* The digests of the facts that the chain holds, behind each other in d->scratch. */
static enum err gather_digests(struct db *d, struct log_name log, int64_t thread)
{
    sqlite3_stmt *st;
    uint8_t       digest[CHAIN_LEN];
    enum err      e = db_ask(d, W_FACTS, &st, "i", thread);

    buf_clear(&d->scratch);
    while (!e && !(e = db_next(d, st))) {
        struct store_fact f = { (uint64_t)sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
                                db_text(st, 2), db_text(st, 3) };
        struct chain_mark m = db_mark(st, 4);
        if (!m.link.ptr) continue;
        chain_digest(log, &f, digest);
        if (m.digest.ptr) buf_str(&d->scratch, m.digest);
        else buf_add(&d->scratch, digest, CHAIN_LEN);
    }
    return e == ERR_NOT_FOUND ? d->scratch.err : e;
}

enum err write_stub(struct db *d, const struct store_edit *x, struct log_row *at)
{
    struct store_fact last = { at->seq + 1, x->at_ms, STR("removed"), x->stub };
    uint8_t           digest[CHAIN_LEN];
    char              name[CHAIN_NAME + 1];
    enum err          e = gather_digests(d, x->log, at->id);

    if (e) return e;
    chain_digest(x->log, &last, digest);
    chain_link(at->head, digest);
    chain_name(x->log, at->created_ms, name);
    buf_add(&d->scratch, digest, CHAIN_LEN);
    if (d->scratch.err) return d->scratch.err;
    return db_run(d, W_STUB, "tttiiitbbt", str_c(name), x->log.owner, x->log.thread, at->created_ms,
                  x->at_ms, (int64_t)last.seq, last.kind, buf_view(&d->scratch),
                  str_n((char *)at->head, CHAIN_LEN), x->stub);
}

/* --- words that go ------------------------------------------------------------- */

/* Another body for one fact; the digest of what was there stays. */
static enum err trim_fact(struct db *d, struct log_name log, int64_t thread,
                          const struct store_fact *to)
{
    sqlite3_stmt *st;
    uint8_t       was[CHAIN_LEN];
    enum err      e = db_ask(d, W_FACT_AT, &st, "ii", thread, (int64_t)to->seq);

    if (!e) e = db_next(d, st);
    if (e) return e == ERR_NOT_FOUND ? ERR_CONFLICT : e;
    struct store_fact f = { to->seq, sqlite3_column_int64(st, 1), db_text(st, 2), db_text(st, 3) };
    chain_digest(log, &f, was);
    f.body = to->body;
    int64_t sum = fact_sum(log, &f);
    db_end(st);
    e = said_change(d, thread, to->seq, W_SAID_OUT);
    if (!e)
        e = db_run(d, W_FACT_TRIM, "iisib", thread, (int64_t)to->seq, to->body, sum,
                   str_n((char *)was, CHAIN_LEN));
    return e ? e : said_change(d, thread, to->seq, W_SAID_IN);
}

static enum err add_note(struct db *d, struct log_name log, struct log_row *at,
                         const struct store_fact *note)
{
    struct store_fact f = *note;
    uint8_t           digest[CHAIN_LEN];
    struct str        head = str_n((char *)at->head, CHAIN_LEN);

    f.seq = ++at->seq;
    chain_digest(log, &f, digest);
    chain_link(at->head, digest);
    enum err e = db_run(d, W_FACT, "iiissib", at->id, (int64_t)f.seq, f.at_ms, f.kind, f.body,
                        fact_sum(log, &f), head);
    return e ? e : db_run(d, W_THREAD_TRIM, "iib", at->id, (int64_t)at->seq, head);
}

enum err write_trim(struct db *d, const struct store_edit *x, struct log_row *at, bool *wrote)
{
    const struct store_trim *t = x->trim;
    enum err                 e = OK;

    if (at->seq != t->expected) return ERR_CONFLICT;
    *wrote = true;
    for (size_t i = 0; i < t->count && !e; i++) e = trim_fact(d, x->log, at->id, &t->facts[i]);
    if (!e && t->count) e = add_note(d, x->log, at, &t->note);
    if (!e && t->title.ptr)
        e = write_title(d, &(struct store_edit){ .title = t->title }, at->id, wrote);
    if (!e) e = write_approvals(d, x->log, at->id, t->approvals, t->approval_count);
    if (!e && t->kinds) e = db_run(d, W_TRIMMED, "iii", at->id, (int64_t)at->seq, t->kinds);
    return e;
}

/* --- checkpoints ---------------------------------------------------------------- */

static enum err note_heads(struct db *d, const struct store_checkpoint *c)
{
    enum err e = OK;

    for (size_t i = 0; i < c->head_count && !e; i++) {
        const struct store_row *h = &c->heads[i];
        e = h->stub ? db_run(d, W_STUB_NOTED, "ii", h->num, (int64_t)h->seq)
                    : db_run(d, W_NOTED, "iii", h->num, (int64_t)h->seq, h->created_ms);
    }
    return e;
}

enum err write_checkpoint(struct db *d, const struct store_checkpoint *c, bool *wrote)
{
    sqlite3_stmt *st;
    int64_t       last = 0;
    enum err      e;

    if (!c->line.ptr) {
        *wrote = true;
        return db_run(d, W_TOLD, "i", (int64_t)c->number);
    }
    e = db_ask(d, W_LAST, &st, "");
    if (!e) e = db_next(d, st);
    if (e) return e;
    last = sqlite3_column_int64(st, 0);
    db_end(st);
    if ((uint64_t)last + 1 != c->number) return ERR_CONFLICT;
    *wrote = true;
    e = db_run(d, W_CHECKPOINT, "iit", (int64_t)c->number, c->at_ms, c->line);
    return e ? e : note_heads(d, c);
}

/* --- erasing --------------------------------------------------------------------- */

/* All but the stubs. */
static enum err forget(struct db *d, const struct store_erase *x)
{
    enum err e = db_run(d, W_EVENTS_ERASE, "ttt", x->owner, x->by, x->decided_by);

    if (!e) e = said_forget(d);
    for (size_t i = 0; i < x->sum_count && !e; i++) e = db_run(d, W_USED_ERASE, "t", x->sums[i]);
    for (size_t i = 0; i < x->row_count && !e; i++) {
        const struct store_match *m = &x->rows[i];
        e = db_run(d, W_ROWS_ERASE, "sst", m->begins, m->ends, m->holds);
    }
    if (e || !x->kind.len) return e;
    e = db_run(d, W_STOCK_ERASE, "tts", x->owner, x->kind, x->own);
    if (!e) e = db_run(d, W_STOCK_RENAME, "ttss", x->owner, x->kind, x->as, x->body);
    if (!e) e = db_run(d, W_STOCK_OTHERS, "tts", x->kind, x->by, x->by_as);
    return e ? e : db_run(d, W_STOCK_NAMING, "ttt", x->owner, x->kind, x->by);
}

enum err write_erase(struct db *d, const struct store_erase *x, bool *wrote)
{
    struct store_fact last = { x->seq + 1, x->at_ms, STR("erased"), x->body };
    struct log_name   log = { x->owner, x->thread };
    uint8_t           digest[CHAIN_LEN], head[CHAIN_LEN] = { 0 };
    struct str        old;
    sqlite3_stmt     *st;
    enum err          e;

    *wrote = d->gone = true;
    if (!x->num) return forget(d, x);
    e = db_ask(d, W_STUB_AT, &st, "ii", x->num, (int64_t)x->seq);
    if (!e) e = db_next(d, st);
    if (e) return e == ERR_NOT_FOUND ? ERR_CONFLICT : e;
    buf_clear(&d->scratch);
    buf_str(&d->scratch, db_blob(st, 0));
    if ((old = db_blob(st, 1)).len == CHAIN_LEN) memcpy(head, old.ptr, CHAIN_LEN);
    db_end(st);
    chain_digest(log, &last, digest);
    chain_link(head, digest);
    buf_add(&d->scratch, digest, CHAIN_LEN);
    if (d->scratch.err) return d->scratch.err;
    return db_run(d, W_STUB_ERASE, "ittiitbbt", x->num, x->owner, x->thread, x->at_ms,
                  (int64_t)last.seq, last.kind, buf_view(&d->scratch),
                  str_n((char *)head, CHAIN_LEN), x->body);
}
