/* node_int.h -- private to node/: what link.c, dial.c and accept.c share. */
#ifndef PARLEY_NODE_INT_H
#define PARLEY_NODE_INT_H

#include "node/link.h"

/* --- dial.c --- */
struct peer *dial_reach(struct nodes *n, struct str node, struct str url);
void         dial_send(struct peer *p, struct str text);
void         dial_hang_up(struct links *l); /* all of them */

/* --- link.c --- */
void links_check_closed(struct links *l);

#endif
