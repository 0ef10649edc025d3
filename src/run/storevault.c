/* storevault.c -- see storevault.h. */
#include "run/storevault.h"

#define FOR_EVER (INT64_MAX / 2) /* as an end that never comes */

struct row {
    struct store_session session;
    struct vault_job    *job;
};

static void on_row(struct store_session *x, enum err e)
{
    struct row       *r = LIST_ITEM(x, struct row, session);
    struct vault_job *j = r->job;
    if (j->op == VAULT_GET && !e) j->body = x->body;
    j->done(j, e);
    mem_free(r);
}

static bool ask(struct vault *base, struct vault_job *j)
{
    static const enum store_session_op OPS[] = { SESSION_PUT, SESSION_GET, SESSION_END,
                                                 SESSION_KEEP };
    struct storevault                 *k = LIST_ITEM(base, struct storevault, vault);
    struct row                        *r = k->store ? mem_alloc(sizeof *r) : NULL;
    if (!r) return false;
    r->job = j;
    r->session = (struct store_session){ .op = OPS[j->op],
                                         .key = j->key,
                                         .body = j->body,
                                         .was = j->was,
                                         .ends_ms = FOR_EVER,
                                         .done = on_row };
    store_session(k->store, &r->session);
    return true;
}

void storevault_init(struct storevault *k, struct store *s)
{
    *k = (struct storevault){ { s && store_shared(s), ask }, s };
}
