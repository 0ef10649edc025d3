/* keys.h -- what a person types: whole lines, and Ctrl-C.
 *
 * Lines are read by keys_line alone, never through stdio: it waits for a line and for Ctrl-C at
 * once, so a Ctrl-C between the prompt and the reading is not missed.
 */
#ifndef PARLEY_CLI_KEYS_H
#define PARLEY_CLI_KEYS_H

#include "base/buf.h"

/* From now on Ctrl-C is counted and does not end the program. False: no file descriptors. */
bool     keys_listen(void);
/* How often it was pressed since keys_taken(), which begins to count anew. */
unsigned keys_pressed(void);
unsigned keys_taken(void);
/* Readable when Ctrl-C was pressed, for whoever waits for something else; -1: nobody listens.
 * keys_calm() after each waking. */
int      keys_wake(void);
void     keys_calm(void);

enum keys {
    KEYS_LINE,    /* without its end; `line` says itself when it was too long for it (line->err) */
    KEYS_END,     /* of the input; a terminal may go on after it */
    KEYS_PRESSED, /* Ctrl-C: what was typed of the line is gone */
};
/* Replaces what is in `line`. */
enum keys keys_line(struct buf *line);
/* What was typed at the terminal and is not read yet was meant for something else. */
void      keys_forget(void);

#endif
