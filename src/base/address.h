/* address.h -- addresses of stores and servers, which may have a password or a token in them.
 *
 * Whoever prints an address or writes it to the log prints what address_shown leaves of it. One
 * that cannot be a store is refused in words that repeat nothing of it: a password may stand
 * anywhere in what was misspelt.
 */
#ifndef PARLEY_ADDRESS_H
#define PARLEY_ADDRESS_H

#include "base/arena.h"

/* postgresql://... */
bool address_is_database(struct str store);

/* What is wrong with the address of a store, and what to write instead. NULL: it is the name of a
 * file, or begins as an address does. A name that begins with / or ./ is one, whatever follows. */
const char *address_fault(struct str store);

/* "postgresql://ann@db/parley" of "postgresql://ann:secret@db/parley?sslmode=require",
 * "https://crm.example/mcp" of "https://crm.example/mcp?token=secret"; a path is shown whole. */
struct str address_shown(struct arena *a, struct str address);

#endif
