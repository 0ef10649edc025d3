/* chain.h -- recognising a conversation by its words.
 *
 * A client that sends its whole conversation with every request, and no id, is known by what was
 * said: the words of person and assistant in turn, hashed from the beginning. Blanks do not count
 * (clients trim and join), and what stands side by side from one of them counts as one. Whoever
 * sends the same words has the same hash; who changes one letter anywhere has another.
 */
#ifndef PARLEY_CHAIN_H
#define PARLEY_CHAIN_H

#include "base/buf.h"

#define CHAIN_LEN 40

enum chain_role { CHAIN_NOBODY, CHAIN_USER, CHAIN_ASSISTANT };

struct chain {
    char            hash[CHAIN_LEN]; /* hex, of what is closed */
    enum chain_role role;            /* of what is open */
    struct buf      text;            /* the open words, without blanks */
};

void chain_init(struct chain *c);
void chain_done(struct chain *c);
/* Goes on from a hash that chain_hash gave after `last` had spoken. */
void chain_resume(struct chain *c, struct str hash, enum chain_role last);
void chain_add(struct chain *c, enum chain_role role, struct str words);
/* Of everything so far; false: no memory. */
bool chain_hash(const struct chain *c, char out[CHAIN_LEN]);
/* Is `part` (not empty but for blanks) the beginning of `whole`, or all of it? */
bool chain_begins(struct str whole, struct str part);

#endif
