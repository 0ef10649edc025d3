/* storevault.h -- a vault (tool/vault.h) whose things are rows of the store beside the browser
 * sessions, for ever. */
#ifndef PARLEY_STOREVAULT_H
#define PARLEY_STOREVAULT_H

#include "store/store.h"
#include "tool/vault.h"

struct storevault {
    struct vault  vault;
    struct store *store; /* NULL: it is closed, nothing is kept any more */
};
void storevault_init(struct storevault *k, struct store *s);

#endif
