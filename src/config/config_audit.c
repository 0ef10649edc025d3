/* config_audit.c -- who signs what happened, who is told, and how long it is kept. */
#include "config/config_private.h"

static void read_retention(struct config_build *b)
{
    const struct jv *asked = jv_get(jv_get(b->root, "retention"), "asked");
    int64_t          days = b->c->retain_plain_days;

    if (asked) (void)jv_int(asked, &days);
    b->c->retain_asked_days = days > 0 ? (unsigned)days : 0;
}

void cfg_read_audit(struct config_build *b)
{
    const struct jv     *v = jv_get(b->root, "audit"), *key = jv_get(v, "key");
    struct config_audit *a = &b->c->audit;
    bool                 literal = false;

    read_retention(b);
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
