/* secret.c -- owned bytes, zeroed when they go. */
#include "base/secret.h"

#include <string.h>

#include "base/arena.h"

void secret_wipe(void *p, size_t len)
{
    if (p && len) explicit_bzero(p, len);
}

enum err secret_set(struct secret *s, struct str text)
{
    char *copy = mem_alloc(text.len + 1);
    if (!copy) return ERR_NOMEM;
    if (text.len) memcpy(copy, text.ptr, text.len);
    secret_done(s);
    s->ptr = copy;
    s->len = text.len;
    return OK;
}

void secret_done(struct secret *s)
{
    secret_wipe(s->ptr, s->len);
    mem_free(s->ptr);
    *s = (struct secret){ 0 };
}
