/* config_door.c -- "mcp": the door for MCP clients. */
#include "config/config_private.h"

/* A link is followed by people who then sign in there: in the clear only on this machine. */
static void read_link(struct config_build *b, const struct jv *v)
{
    struct config *c = b->c;
    if (!v || !cfg_url(b, v, "\"mcp.link\"", &c->mcp_link)) return;
    if (str_starts(c->mcp_link, STR("http://")) && !cfg_url_is_loopback(c->mcp_link))
        cfg_bad(b, v, "\"mcp.link\" must begin with https:// beyond this machine");
}

/* Tokens made for the door itself are good for nothing else. */
static void note_audience(struct config_build *b)
{
    struct config *c = b->c;
    struct str     link = c->mcp_link;
    if (!link.ptr)
        link = arena_printf(&c->arena, "%s://" STR_FMT ":%u", config_scheme(c), STR_ARG(c->host),
                            c->port);
    c->auth.mcp_audience = arena_printf(&c->arena, STR_FMT "/mcp", STR_ARG(link));
}

static void read_token_key(struct config_build *b, const struct jv *v)
{
    struct config *c = b->c;
    struct str     text;
    bool           literal;
    if (!jv_is(v, JSON_STRING) || !cfg_secret(b, v, "\"mcp\".\"token_key\"", &text, &literal))
        return;
    c->mcp_sealed = seal_key_read(&c->mcp_seal, text);
    if (!c->mcp_sealed)
        cfg_bad(b, v,
                "\"mcp\".\"token_key\" must be 32 bytes in hex or base64: openssl rand -hex 32");
}

/* Tokens of people are kept, so they are kept encrypted. */
static void check_accounts(struct config_build *b)
{
    for (size_t i = 0; i < b->c->mcp_count; i++) {
        const struct jv *oauth = jv_get(b->c->mcp[i].def, "oauth");
        if (oauth && !jv_get(jv_get(b->root, "mcp"), "token_key"))
            cfg_bad(b, oauth,
                    "\"oauth\" needs \"mcp\": {\"token_key\": \"env:NAME\"}, with which people's "
                    "tokens are encrypted; `openssl rand -hex 32` makes one");
    }
}

void cfg_read_door(struct config_build *b)
{
    const struct jv *mcp = jv_get(b->root, "mcp"), *tools = jv_get(mcp, "tools"),
                    *serve = jv_get(mcp, "serve");
    struct config *c = b->c;
    c->mcp_serve = !serve || jv_true(serve);
    c->mcp_some = tools != NULL;
    c->mcp_tools = cfg_strs(b, tools);
    read_link(b, jv_get(mcp, "link"));
    read_token_key(b, jv_get(mcp, "token_key"));
    check_accounts(b);
    if (c->auth.jwt) note_audience(b);
}
