/* approval.h -- what doors and dialects say of a question beyond its sentence: who is asked, who
 * has said yes, what an answer may carry. docs/approvals.md has the members.
 */
#ifndef PARLEY_APPROVAL_H
#define PARLEY_APPROVAL_H

#include "base/jsonw.h"
#include "run/fold.h"

/* Of a call's arguments: SHA-256 of their canonical form, hex. In `a`; STR_NONE: no memory. */
struct str approval_digest(struct arena *a, const struct call *c);
/* The yeses to a question that count now, oldest first. */
#define VOTES_MAX 64
size_t     approval_votes(const struct fold *f, const struct fact *asked,
                          const struct fact *out[VOTES_MAX]);
/* "who", "votes" and "needed", where a rule asks; "grant" and "edit", where the tool has them. `f`
 * NULL: as it was when it was asked, for streams that must tell the same each time. */
void       approval_write_terms(struct jsonw *w, const struct fold *f, const struct fact *asked);
/* What is wrong with a form that was filled in, or with changed arguments, as it would be said if
 * they were sent: for doors that can say it at its field. In `a`; STR_NONE: they fit. */
struct str approval_misfit(struct arena *a, const struct jv *schema, const struct jv *value);
/* The middle one of these alone: "votes" and "needed". */
void       approval_write_votes(struct jsonw *w, const struct fold *f, const struct fact *asked);

#endif
