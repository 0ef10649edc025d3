/* secret.h -- a key or password: owned bytes that are zeroed when they go and
 * that nothing in this program prints.
 *
 * There is no function that formats a secret; what needs the bytes (a header, a signature)
 * asks for the view and wipes its own copy with secret_wipe.
 */
#ifndef PARLEY_SECRET_H
#define PARLEY_SECRET_H

#include "base/err.h"
#include "base/str.h"

struct secret {
    char  *ptr;
    size_t len;
};

/* Copies. STR_NONE gives an empty secret. The old content is wiped first. ERR_NOMEM. */
MUST_CHECK enum err secret_set(struct secret *s, struct str text);
void                secret_done(struct secret *s);
static inline bool  secret_is_set(const struct secret *s)
{
    return s->len > 0;
}
/* Borrowed, with a NUL after it; "" when empty. */
static inline struct str secret_view(const struct secret *s)
{
    return (struct str){ s->ptr ? s->ptr : "", s->len };
}
/* Zeroes memory in a way the compiler may not leave out. */
void secret_wipe(void *p, size_t len);

#endif
