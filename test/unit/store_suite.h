/* store_suite.h -- what cases for every store (STORE_TEST) do behind the store's back, and what a
 * walk finds there. */
#ifndef PARLEY_STORE_SUITE_H
#define PARLEY_STORE_SUITE_H

#include "store/links.h"
#include "store_help.h"

void suite_reopen(struct fix *f);

/* A conversation of one fact, with a title and a state (NULL: none), changed then. */
void suite_thread(struct fix *f, const char *owner, const char *name, const char *title,
                  const char *state, int64_t at);

/* Behind the store's back: in the words of whichever store it is. */
void suite_sql(const char *sqlite, const char *postgres);

/* A new file, open; `store_url` is its url. And the first number that a statement gives there. */
void    suite_new_file(struct fix *f);
int64_t suite_ask_file(const char *sql);

/* The names of a table's columns, " a b c ". */
struct str suite_columns(struct fix *f, const char *table);

/* Does every log of the store at `url` have the chain of its facts, from the first on to its
 * head? */
bool suite_chained(struct fix *f, const char *url);

/* The stubs there are, and the last of them, as a walk finds them. */
struct stub_seen {
    int     count;
    uint8_t digests[8 * CHAIN_LEN], head[CHAIN_LEN];
    size_t  digests_len;
};
struct stub_seen suite_stub(struct fix *f);

#endif
