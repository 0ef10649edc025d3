/* faults.h -- what a model service may do instead of answering, by the words of a table. */
#ifndef UPSTREAM_FAULTS_H
#define UPSTREAM_FAULTS_H

#include "client.h"

/* Whether the word names a fault, which then was the answer. "-once" behind it: only the first,
 * third ... time. */
bool fail_on_purpose(struct client *c, struct str word);

#endif
