/* mcp_account.c -- a call at a server where everybody has an account of their own.
 *
 * It first wants its person's token, then their line (mcp_line.c). Without a token it ends with
 * TOOL_ASKS, and what it carried so far is in `resume`, too. A 401 says that the call did not
 * begin: it is sent once more with a token that was refreshed, and then the person is asked. So
 * does a 403 for which the person has to allow more: they are asked at once.
 */
#include "tool/mcp/mcp_call.h"

/* Ends it, for now, with the question that connecting answers. */
static void ask_to_connect(struct mcp_call *c, bool more)
{
    const struct mcp *server = c->m->server ? c->m->server : c->m;
    struct jsonw      w;

    if (++c->asked > ROUNDS_MAX) {
        mcp_call_unsent(c, "Their account was not connected, however often it was asked for.",
                        STR_NONE);
        return;
    }
    buf_clear(&c->resume);
    jsonw_init(&w, &c->resume);
    jw_obj(&w);
    jw_kint(&w, "connect", c->asked);
    if (c->inner.ptr) {
        jw_kraw(&w, "inner", c->inner);
        jw_kbool(&w, "accepted", c->accepted);
        if (c->content.ptr) jw_kraw(&w, "content", c->content);
    }
    jw_end_obj(&w);
    buf_clear(&c->said.text);
    buf_printf(&c->said.text,
               more ? "Connect your account at " STR_FMT
                      " again, and allow more there, to go on? Open " STR_FMT
                    : "Connect your account at " STR_FMT " to go on? Open " STR_FMT,
               STR_ARG(server->alias), STR_ARG(server->host.public_url));
    mcp_connect_path(&c->said.text, server->alias);
    buf_clear(&c->said.value);
    jsonw_init(&w, &c->said.value);
    jw_obj(&w);
    jw_kstrz(&w, "type", "object");
    jw_kraw(&w, "properties", STR("{}"));
    jw_kstr(&w, MCP_CONNECT, server->alias);
    jw_end_obj(&w);
    c->said.has_value = true;
    c->unbegun = !c->inner.ptr;
    if (c->resume.err || c->said.text.err || c->said.value.err)
        mcp_call_unsent(c, "There is not enough memory for this call.", STR_NONE);
    else mcp_call_end(c, TOOL_ASKS);
}

bool mcp_account_lacks(struct mcp_call *c, const struct mcp_reply *r)
{
    struct mcp *m = c->m;

    if (!m->oauth || (r->http != 401 && r->http != 403)) return false;
    if (r->http == 403 && str_find(r->challenge, STR("insufficient_scope")) < 0) return false;
    if (!oauth_challenged(m->oauth, r->challenge, m->person))
        mcp_call_unsent(c,
                        "The server does not let this account do it, and connecting it again "
                        "would allow nothing more.",
                        STR_NONE);
    else if (c->renewed && r->http == 401) ask_to_connect(c, false);
    else mcp_account_want(c, r->http == 401 ? buf_view(&m->bearer) : STR_NONE);
    c->renewed = true;
    return true;
}

void mcp_call_line_ready(struct mcp *line)
{
    LIST_EACH (n, &line->calls) {
        struct mcp_call *c = LIST_ITEM(n, struct mcp_call, node);
        if (!c->waits || c->ended) continue;
        c->waits = false;
        mcp_call_begin(c);
    }
}

void mcp_call_line_lost(struct mcp *line, bool refused)
{
    LIST_EACH (n, &line->calls) {
        struct mcp_call *c = LIST_ITEM(n, struct mcp_call, node);
        if (!c->waits || c->ended) continue;
        c->waits = false;
        if (!refused)
            mcp_call_unsent(c, "The server could not be reached: ", buf_view(&line->trouble));
        else if (c->renewed) ask_to_connect(c, false);
        else {
            c->renewed = true;
            mcp_account_want(c, buf_view(&line->bearer));
        }
    }
}

static void move_to(struct mcp_call *c, struct mcp *line)
{
    list_remove(&c->node);
    list_add(&line->calls, &c->node);
    c->m = line;
    mcp_line_used(line);
}

static void on_token(struct oauth_want *w, struct str token, const char *why)
{
    struct mcp_call *c = LIST_ITEM(w, struct mcp_call, want);
    struct mcp      *server = c->m->server ? c->m->server : c->m, *line;

    if (c->ended) return;
    if (why) mcp_call_unsent(c, "Its sign-in service could not be asked: ", str_c(why));
    else if (!token.ptr) ask_to_connect(c, w->lacks);
    else if (c->tool->connects) {
        if (server->state == MCP_AUTH) mcp_open_now(server);
        mcp_call_end_with(c, TOOL_DONE,
                          "The account is connected. Its tools can be used now: ", server->alias);
    } else if (!(line = mcp_line(server, c->job->principal, token)))
        mcp_call_unsent(c, "Too many people use this server at the moment.", STR_NONE);
    else {
        move_to(c, line);
        c->waits = line->state == MCP_OPENING;
        if (line->state == MCP_READY) mcp_call_begin(c);
        else if (!c->waits)
            mcp_call_unsent(c, "The server could not be reached: ", buf_view(&line->trouble));
    }
}

void mcp_account_want(struct mcp_call *c, struct str stale)
{
    oauth_unwant(&c->want);
    c->want =
        (struct oauth_want){ .principal = c->job->principal, .stale = stale, .done = on_token };
    oauth_want(c->m->oauth, &c->want);
}
