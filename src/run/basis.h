/* basis.h -- what a request to a model rests on beside the facts: the page's prompt, the tools as
 * they were, the model's options. Kept in the store once, under its digest; each step names it.
 *
 * It is the operator's: no words of people or clients are in it (templates are filled from facts),
 * and no key. So it is the same for everybody on a page, and there are as many as the configuration
 * and the lists of MCP servers have had versions, up to a thousand: then the one that was not used
 * for longest goes, and before that any that was not used for hub_setup.basis_ms.
 *
 *   {"page","system","answer","text_max","iterations","provider","how":[...],
 *    "tools":[{"name","wire","description","schema","offered","idempotent","asks","risk","reply",
 *              "roles"}]}
 *
 * Rows of the store (store_session): "basis/DIGEST".
 */
#ifndef PARLEY_BASIS_H
#define PARLEY_BASIS_H

#include "run/brief.h"

struct basis_kept;

#define BASIS_KEY    "basis/"
#define BASIS_DIGEST 33 /* hexadecimal, 128 bits as a tool's definition has, and a NUL */

/* The digest of what a request of this page rests on now, in hexadecimal; it is being kept. Made
 * when something of it changed, which is seldom. "": there was no memory for it. */
const char *basis_of(struct hub *h, const struct hub_page *page);
void        basis_free(struct hub *h);

/* One that was kept, as brief.h takes it. */
struct basis {
    struct registry   registry;
    struct model      model;
    struct hub_page   page;
    struct brief_base base;
    const struct jv  *how; /* NULL: nothing was sent */
};
/* `text` is borrowed. ERR_NOMEM; ERR_SYNTAX: it is none, or not that of the digest. basis_done in
 * any case. */
MUST_CHECK enum err basis_read(struct arena *a, struct str text, struct str digest,
                               struct basis *out);
void                basis_done(struct basis *b);

#endif
