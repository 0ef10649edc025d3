/* config_audit.c -- who signs what happened, and who is told. */
#include "config/config_private.h"

void cfg_read_audit(struct config_build *b)
{
    const struct jv     *v = jv_get(b->root, "audit"), *key = jv_get(v, "key");
    struct config_audit *a = &b->c->audit;
    bool                 literal = false;

    if (key && !cfg_secret(b, key, "\"audit.key\"", &a->key, &literal)) return;
    if (literal)
        cfg_warn(b, key,
                 "\"audit.key\" stands in the configuration itself; whoever can read that can sign "
                 "in the server's name: write \"file:PATH\" or \"env:NAME\"");
    if (jv_get(v, "webhook"))
        (void)cfg_url(b, jv_get(v, "webhook"), "\"audit.webhook\"", &a->webhook);
    if ((a->file.len || a->webhook.len) && !a->key.len)
        cfg_bad(b, v,
                "checkpoints need a key to be signed with: make one with `openssl genpkey "
                "-algorithm ed25519 -out audit.key` and write \"key\": \"file:audit.key\"");
    if (a->key.len && !a->file.len && !a->webhook.len)
        cfg_bad(b, v, "nobody is told of the checkpoints: name a \"file\", a \"webhook\", or both");
}
