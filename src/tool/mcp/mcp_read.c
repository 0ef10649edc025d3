/* mcp_read.c -- one entry of "mcpServers". Strict about what we understand, silent about what other
 * clients added. */
#include <limits.h>
#include <stdlib.h>

#include "base/log.h"
#include "tool/mcp/mcp_int.h"
#include "tool/policy.h"

#define CALL_MS 60000

static enum err bad(struct buf *why, const char *sentence)
{
    buf_lit(why, sentence);
    return ERR_TYPE;
}

/* The alias is half of every tool's name, ALIAS__tool. Without "__" in it and "_" at its end the
 * first "__" of a name is where it ends, so no server can take a name, and with it the policy, of
 * another's tool. */
static bool good_alias(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.' || c == ' '))
            return false;
    }
    return s.len > 0 && s.len <= 64 && s.ptr[s.len - 1] != '_' && str_find(s, STR("__")) < 0;
}

static const char *bad_policy(const struct jv *policy)
{
    struct tool t = { 0 };
    const char *why = NULL;
    return policy_read(&t, policy, &why) == OK ? NULL : why;
}

static enum err check_confirm(const struct jv *confirm, struct buf *why)
{
    const char *sentence = NULL;

    if (!confirm) return OK;
    if (!jv_is(confirm, JSON_OBJECT) || jv_get(confirm, "when")) sentence = bad_policy(confirm);
    else
        JV_EACH (item, confirm)
            if (!sentence) sentence = bad_policy(item);
    if (!sentence) return OK;
    buf_printf(why, "\"confirm\": %s", sentence);
    return ERR_TYPE;
}

static enum err read_common(struct mcp *m, const struct jv *entry, struct buf *why)
{
    const struct jv *trust = jv_get(entry, "trust_annotations"),
                    *timeout = jv_get(entry, "timeout");
    struct str era = jv_str_at(entry, "era");
    double     seconds = 0;

    if (trust && !jv_is(trust, JSON_BOOL))
        return bad(why, "\"trust_annotations\" must be true or false");
    m->trust = jv_true(trust);
    m->confirm = jv_get(entry, "confirm");
    m->call_ms = CALL_MS;
    if (timeout && (!jv_f64(timeout, &seconds) || seconds <= 0))
        return bad(why, "\"timeout\" must be a number of seconds");
    /* Other clients count in milliseconds; nobody waits longer than half an hour in silence. */
    if (seconds > 0) m->call_ms = (uint64_t)((seconds > 1800 ? 1800 : seconds) * 1000);
    if (str_is(era, "legacy")) m->pinned = ERA_LEGACY;
    else if (str_is(era, "modern")) m->pinned = ERA_MODERN;
    else if (jv_get(entry, "era")) return bad(why, "\"era\" must be \"legacy\" or \"modern\"");
    return check_confirm(m->confirm, why);
}

static enum err read_transport(struct mcp *m, const struct jv *entry, struct str base,
                               struct buf *why)
{
    bool command = jv_get(entry, "command"), url = jv_get(entry, "url");

    if (command == url) return bad(why, "it must have either a \"command\" or a \"url\"");
    if (str_is(jv_str_at(entry, "type"), "sse"))
        return bad(why, "the transport \"sse\" of 2024 is not supported; streamable HTTP is");
    return command ? mcp_stdio_read(m, entry, base, why) : mcp_http_read(m, entry, why);
}

/* --- what runs its tools, for the digest of each --------------------------------------------- */

/* A secret is meant by where it comes from, as it stands in the file; one that stands there itself
 * is not kept. */
static bool is_reference(struct str raw)
{
    return str_starts(raw, STR("\"env:")) || str_starts(raw, STR("\"file:")) ||
           str_starts(raw, STR("\"Bearer env:")) || str_starts(raw, STR("\"Bearer file:"));
}

static void write_references(struct jsonw *w, const struct jv *values)
{
    jw_obj(w);
    JV_EACH (v, values) {
        jw_key_str(w, v->key);
        if (is_reference(v->raw)) jw_raw(w, v->raw);
        else jw_null(w);
    }
    jw_end_obj(w);
}

static void write_runner(struct buf *out, const struct jv *entry, struct str base)
{
    static const char *const        as_it_is[] = { "command", "args", "cwd", "url", NULL },
                             *const refer[] = { "env", "headers", NULL };
    char                            real[PATH_MAX];
    struct jsonw                    w;

    jsonw_init(&w, out);
    jw_obj(&w);
    if (jv_get(entry, "command"))
        jw_kstr(&w, "base", realpath(base.len ? base.ptr : ".", real) ? str_c(real) : base);
    for (int i = 0; as_it_is[i]; i++)
        if (jv_get(entry, as_it_is[i])) {
            jw_key(&w, as_it_is[i]);
            jw_jv(&w, jv_get(entry, as_it_is[i]));
        }
    for (int i = 0; refer[i]; i++)
        if (jv_is(jv_get(entry, refer[i]), JSON_OBJECT)) {
            jw_key(&w, refer[i]);
            write_references(&w, jv_get(entry, refer[i]));
        }
    jw_end_obj(&w);
}

static enum err make_runner(struct mcp *m, const struct jv *entry, struct str base)
{
    struct buf   text, canonical;
    struct jsonw w;
    struct jv   *v;
    struct str   z = arena_dup(&m->config, base);

    buf_init(&text, 0);
    buf_init(&canonical, 0);
    jsonw_init(&w, &canonical);
    write_runner(&text, entry, z);
    if (!text.err &&
        json_parse(&m->config, arena_dup(&m->config, buf_view(&text)), &v, NULL) == OK) {
        jw_canonical(&w, v);
        if (!canonical.err) m->runner = arena_dup(&m->config, buf_view(&canonical));
    }
    buf_done(&canonical);
    buf_done(&text);
    return m->runner.ptr ? OK : ERR_NOMEM;
}

void mcp_init(struct mcp *m)
{
    arena_init(&m->config, 0);
    arena_init(&m->arena, 0);
    arena_init(&m->pages, 0);
    buf_init(&m->trouble, 4096);
    buf_init(&m->given_up, 0);
    buf_init(&m->bearer, 0);
    list_init(&m->requests);
    list_init(&m->calls);
    list_init(&m->lines);
}

void mcp_undo(struct mcp *m)
{
    if (m->transport && m->link) m->transport->free(m);
    arena_done(&m->config);
    mem_free(m);
}

enum err mcp_read(struct mcp **out, const struct mcp_host *host, struct str alias,
                  const struct jv *entry, struct str base, struct buf *why)
{
    struct mcp *m;
    enum err    e;

    if (!good_alias(alias))
        return bad(why, "its name must be 1 to 64 letters, digits, dots, dashes or underscores, "
                        "without two underscores in a row and none at its end");
    if (!jv_is(entry, JSON_OBJECT))
        return bad(why, "it must be an object with a \"command\" or a \"url\"");
    if (!(m = mem_alloc(sizeof *m))) return ERR_NOMEM;
    m->host = *host;
    m->kept_max = MCP_KEPT_MAX;
    mcp_init(m);
    m->alias = arena_dup(&m->config, alias);
    m->prefix = arena_printf(&m->config, STR_FMT "__", STR_ARG(alias));
    e = m->alias.ptr && m->prefix.ptr ? read_common(m, entry, why) : ERR_NOMEM;
    if (e == OK) e = read_transport(m, entry, base, why);
    if (e == OK) e = mcp_account_read(m, entry, why);
    if (e == OK) e = make_runner(m, entry, base);
    if (e != OK) {
        mcp_undo(m);
        return e;
    }
    m->era = m->pinned;
    loop_timer_init(host->loop, &m->tick, mcp_tick);
    *out = m;
    return OK;
}
