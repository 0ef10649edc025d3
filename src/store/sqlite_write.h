/* sqlite_write.h -- private to the three files of the writer thread: its statements, and what they
 * have of each other. All of it inside the batch's transaction; `wrote` is set before the first
 * change. */
#ifndef PARLEY_SQLITE_WRITE_H
#define PARLEY_SQLITE_WRITE_H

#include "store/sqlite_db.h"

enum stmt {
    W_BEGIN,
    W_COMMIT,
    W_ROLLBACK,
    W_SAVE,
    W_RELEASE,
    W_UNDO,
    W_THREAD,
    W_THREAD_NEW,
    W_THREAD_MOVE,
    W_THREAD_TITLE,
    W_TITLE_IN,
    W_TITLE_OUT,
    W_TITLES_IN,
    W_TITLED,
    W_TITLE_OWE,
    W_FACT,
    W_REQUEST,
    W_REQUEST_NEW,
    W_APPROVAL,
    W_TOOL,
    W_DROP_FACTS,
    W_DROP_REQUESTS,
    W_DROP_APPROVALS,
    W_DROP_THREAD,
    W_DROP_KEYS,
    W_KEY,
    W_KEY_DROP,
    W_KEY_HAD,
    W_HIDE,
    W_EPOCH,
    W_USED,
    W_SESSION,
    W_SESSION_END,
    W_SESSIONS_OVER,
    W_SESSIONS_EACH,
    W_SESSION_KEEP,
    W_STOCK,
    W_STOCK_OVER,
    W_STOCK_MAKE,
    W_STOCK_FROM,
    W_STOCK_BACK,
    W_STOCK_SET,
    W_STOCK_DROP,
    W_DROP_STOCK,
    W_EVENT,
    W_EVENTS_OVER,
    W_FACTS,
    W_STUB,
    W_DROP_NOTED,
    W_CHECKPOINT,
    W_NOTED,
    W_STUB_NOTED,
    W_TOLD,
    W_LAST,
    W_STUB_AT,
    W_STUB_ERASE,
    W_USED_ERASE,
    W_EVENTS_ERASE,
    W_ROWS_ERASE,
    W_STOCK_ERASE,
    W_STOCK_RENAME,
    W_STOCK_OTHERS,
    W_STOCK_NAMING,
    W_FACT_AT,
    W_FACT_TRIM,
    W_THREAD_TRIM,
    W_TRIMMED,
    W_DROP_TRIMMED,
    W_SAID,
    W_SAID_LAST,
    W_SAID_NEXT,
    W_SAID_LOG,
    W_SAID_FACT,
    W_SAID_IN,
    W_SAID_OUT,
    W_SAID_MARK,
    W_SAID_OWED,
    W_SAID_MERGE,
    W_TITLE_OWED,
    W_TITLE_MERGE,
    W_COUNT
};

struct log_row { /* a log's row */
    int64_t  id, created_ms;
    uint64_t seq;
    uint8_t  head[CHAIN_LEN]; /* zero: the chain has not begun */
};

/* --- sqlite_write.c --- */
MUST_CHECK enum err write_approvals(struct db *d, struct log_name log, int64_t thread,
                                    const struct store_approval *p, size_t count);
MUST_CHECK enum err write_title(struct db *d, const struct store_edit *x, int64_t id, bool *wrote);
/* A transaction with no job in it. */
MUST_CHECK enum err write_own(struct db *d, enum err (*own)(struct db *d));

/* --- sqlite_erase.c --- */
MUST_CHECK enum err write_stub(struct db *d, const struct store_edit *x, struct log_row *at);
MUST_CHECK enum err write_trim(struct db *d, const struct store_edit *x, struct log_row *at,
                               bool *wrote);
MUST_CHECK enum err write_checkpoint(struct db *d, const struct store_checkpoint *c, bool *wrote);
MUST_CHECK enum err write_erase(struct db *d, const struct store_erase *x, bool *wrote);

/* --- sqlite_said.c --- */
/* A log goes: its facts out of the index, while they are there; and the mark, when they are not. */
MUST_CHECK enum err said_drop(struct db *d, int64_t thread);
MUST_CHECK enum err said_dropped(struct db *d);
/* One fact, before its body changes (W_SAID_OUT) and after (W_SAID_IN). */
MUST_CHECK enum err said_change(struct db *d, int64_t thread, uint64_t seq, int in_or_out);
/* Somebody is forgotten: what has gone leaves the file, too, and soon. */
MUST_CHECK enum err said_forget(struct db *d);

#endif
