/* config_rows.h -- private to config/: the rows of the table of keys (config_keys.c). */
#ifndef PARLEY_CONFIG_ROWS_H
#define PARLEY_CONFIG_ROWS_H

#include "config/config_private.h"

enum kind {
    K_TEXT,
    K_SECRET,
    K_WORD,
    K_PROVIDER,
    K_COUNT,
    K_BYTES,
    K_SECONDS,
    K_BOOL,
    K_OBJECT,
    K_FREE,
    K_TEXTS,
    K_OBJECTS,
    K_MODEL,
    K_NAMES,
    K_POLICY,
    K_THINKING,
    K_TRUE,
    K_SAID,
    K_SAIDS,
    K_PRICE,
    K_WHO,
    K_WHEN,
    K_LIST,
};

/* How a simple value is kept in struct config. */
enum keep { KEEP_NOT, KEEP_STR, KEEP_UNSIGNED, KEEP_SIZE, KEEP_I64, KEEP_MS, KEEP_S };

struct key_row {
    const char *path;
    enum kind   kind;
    const char *otherwise; /* the value; in parentheses: words about it */
    const char *help;
    double      min, max;
    /* K_WORD: "a|b|c"; K_OBJECT: the row whose members it takes, NULL: its own */
    const char *words;
    enum keep   keep;
    size_t      at;
};

extern const struct key_row CFG_ROWS[];
extern const size_t         CFG_ROW_COUNT;

/* The row of this path, as the table has it ("tools.*.timeout"); NULL: there is none. */
const struct key_row *cfg_row(const char *path);
const char           *cfg_kind_words(enum kind kind); /* "a number of seconds" */
/* A simple number, into its place in `c`. */
void                  cfg_keep_number(const struct key_row *r, struct config *c, double v);

#endif
