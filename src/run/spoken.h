/* spoken.h -- approving in words, for clients that have no buttons.
 *
 * A question is told as a block of text with a code of four digits, and the person writes
 * "yes 4821" or "no 4821 and a reason". The server reads that, never the model: it becomes the same
 * command as a press of a button (CMD_DECIDE, with the code), or nothing.
 *
 *   - A code is made when its question is first told in words (fact `told`, with the digest of the
 *     arguments), belongs to that question alone and is unlike those of others that wait.
 *   - It counts only in a message of the person that is nothing else. Whoever calls spoken_read
 *     sees to that; what the code must be is looked at in the mailbox. How it may be written:
 *     spelling.h.
 *   - A wrong code is a try against every question that waits (fact `tried`). After SPOKEN_TRIES of
 *     them words are closed: the right code does nothing either. Everything else still does.
 *   - What looks like an answer and is none decides nothing and is no message: the question is told
 *     again.
 *
 * Blocks, answers and the server's sentences are no part of what the model is told.
 */
#ifndef PARLEY_SPOKEN_H
#define PARLEY_SPOKEN_H

#include "run/fold.h"

#define SPOKEN_TRIES 3
#define SPOKEN_MAX   16 /* answers in one message */

struct spoken_answer {
    bool         yes;
    char         code[5];
    bool         grouped; /* "48 21" */
    struct str   reason;  /* of a no; STR_NONE */
    struct call *call;    /* whose code it is; the one that waits, if there are several */
};

enum spoken_kind {
    SPOKEN_MESSAGE, /* anything else */
    SPOKEN_ANSWERS, /* every line an answer, every code known here */
    SPOKEN_WRONG,   /* the right form, and a code that is not known here */
    SPOKEN_GONE,    /* the same, where nothing waits: it was said to something else, or too late */
    SPOKEN_UNCLEAR, /* it looks like an answer, or is a yes and a no to the same */
};

/* What a message is. Without a question that waits nothing but the exact form means anything; a no
 * with a reason only where codes were told ("no 2024 figures, please" is a message elsewhere). The
 * texts of `list` are in the arena. `f` NULL: a thread that is not there yet. */
enum spoken_kind spoken_read(struct arena *a, const struct fold *f, struct str text,
                             struct spoken_answer list[SPOKEN_MAX], size_t *count);
/* Does the code of a question that waits stand in it? No model is told such a text. */
bool             spoken_has_code(const struct fold *f, struct str text);
/* May this code decide the question now? For the mailbox. */
bool             spoken_fit(const struct call *c, struct str code);
/* "yes 1234" in a text that a client says was said before: the digits are made unreadable, so that
 * no model learns of codes. In the arena. */
struct str       spoken_masked(struct arena *a, struct str text);

#endif
