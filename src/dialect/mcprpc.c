/* mcprpc.c -- see mcprpc.h. */
#include "dialect/mcprpc.h"

#include "base/glyph.h"
#include "base/utf8.h"

#define CLIENT_MAX 80

static bool bad(struct mcprpc_fault *why, int status, enum rpc_code code, const char *message)
{
    *why = (struct mcprpc_fault){ .status = status, .code = code, .message = message };
    return false;
}

/* --- what kind of message --------------------------------------------------------------- */

static bool is_id(const struct jv *v)
{
    int64_t n;
    return jv_is(v, JSON_STRING) ? v->raw.len <= 512 : jv_int(v, &n);
}

static bool read_kind(const struct jv *v, struct mcprpc *m, struct mcprpc_fault *why)
{
    const struct jv *id = jv_get(v, "id"), *method = jv_get(v, "method");
    if (!jv_is(v, JSON_OBJECT))
        return bad(why, 400, RPC_INVALID, "The body must be one JSON-RPC message.");
    if (is_id(id)) m->id = id->raw;
    if (!str_is(jv_str_at(v, "jsonrpc"), "2.0"))
        return bad(why, 400, RPC_INVALID, "\"jsonrpc\" must be \"2.0\".");
    m->params = jv_get(v, "params");
    m->meta = jv_get(m->params, "_meta");
    m->method = jv_str(method);
    const struct jv *error = jv_get(v, "error");
    m->result = error ? NULL : jv_get(v, "result"); /* who says both has said no yes */
    if (!method && m->id.ptr && (m->result || error)) {
        m->kind = RPC_ANSWER;
        return true;
    }
    if (!m->method.len) return bad(why, 400, RPC_INVALID, "\"method\" is missing.");
    if (id && !m->id.ptr) return bad(why, 400, RPC_INVALID, "\"id\" must be text or a number.");
    if (m->params && !jv_is(m->params, JSON_OBJECT))
        return bad(why, 400, RPC_PARAMS, "\"params\" must be an object.");
    m->kind = id ? RPC_REQUEST : RPC_NOTICE;
    return true;
}

static bool is_modern(const struct mcprpc *m, const struct mcprpc_heads *heads)
{
    return jv_get(m->meta, MCP_META("protocolVersion")) ||
           (heads->version.len && str_cmp(heads->version, STR(MCP_MODERN)) >= 0);
}

/* --- what a modern request must say --------------------------------------------------------- */

static int sixbits(char c)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(LETTERS, c) : NULL;
    return at ? (int)(at - LETTERS) : -1;
}

/* Base64 with its padding; STR_NONE: it is none. */
static struct str unbase64(struct arena *a, struct str s)
{
    char    *out = arena_alloc(a, s.len + 1);
    size_t   n = 0;
    unsigned bits = 0, have = 0;
    if (!out || s.len % 4) return STR_NONE;
    while (s.len && s.ptr[s.len - 1] == '=') s.len--;
    for (size_t i = 0; i < s.len; i++) {
        int six = sixbits(s.ptr[i]);
        if (six < 0) return STR_NONE;
        bits = bits << 6 | (unsigned)six;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        out[n++] = (char)(bits >> have & 0xff);
    }
    return str_n(out, n);
}

/* A header cannot carry every name: what it cannot is wrapped. */
static struct str unwrap(struct arena *a, struct str s)
{
    struct str open = STR("=?base64?"), close = STR("?=");
    if (!str_starts(s, open) || !str_ends(s, close) || s.len < open.len + close.len) return s;
    return unbase64(a, str_n(s.ptr + open.len, s.len - open.len - close.len));
}

/* The member that the header Mcp-Name repeats; NULL: this method has none. */
static const char *named_by(struct str method)
{
    if (str_is(method, "tools/call")) return "name";
    if (str_is(method, "resources/read")) return "uri";
    return str_starts(method, STR("tasks/")) ? "taskId" : NULL;
}

static bool name_agrees(struct arena *a, const struct mcprpc *m, struct str head)
{
    const char *member = named_by(m->method);
    struct str  said = member ? jv_str_at(m->params, member) : STR_NONE;
    if (!member || !said.ptr) return true; /* the method itself says what is missing */
    struct str name = head.ptr ? unwrap(a, head) : STR_NONE;
    return name.ptr && str_eq(name, said);
}

static bool is_one_of(struct str word, const char *const *list)
{
    for (; *list; list++)
        if (str_is(word, *list)) return true;
    return false;
}

static bool version_fault(struct arena *a, struct str version, struct mcprpc_fault *why)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 4096);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kraw(&w, "supported",
            STR("[\"" MCP_MODERN "\",\"" MCP_NEWEST_LEGACY "\",\"" MCP_OLDEST_LEGACY "\"]"));
    jw_kstr(&w, "requested", version);
    jw_end_obj(&w);
    bad(why, 400, RPC_VERSION, "Unsupported protocol version");
    why->data = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return false;
}

static bool check_modern(struct arena *a, struct mcprpc *m, const struct mcprpc_heads *heads,
                         const char *const *methods, struct mcprpc_fault *why)
{
    const struct jv *can = jv_get(m->meta, MCP_META("clientCapabilities"));
    struct str       version = jv_str_at(m->meta, MCP_META("protocolVersion"));
    if (!version.ptr)
        return bad(why, 400, RPC_PARAMS,
                   "_meta lacks " MCP_META("protocolVersion") ", which must be text.");
    if (!jv_is(can, JSON_OBJECT))
        return bad(why, 400, RPC_PARAMS,
                   "_meta lacks " MCP_META("clientCapabilities") ", which must be an object.");
    if (!str_eq(heads->version, version))
        return bad(why, 400, RPC_HEADERS,
                   "The header MCP-Protocol-Version does not say what the body says.");
    if (!str_eq(heads->method, m->method))
        return bad(why, 400, RPC_HEADERS, "The header Mcp-Method does not say what the body says.");
    if (!str_is(version, MCP_MODERN)) return version_fault(a, version, why);
    if (!is_one_of(m->method, methods)) return bad(why, 404, RPC_NO_METHOD, "Method not found");
    if (!name_agrees(a, m, heads->name))
        return bad(why, 400, RPC_HEADERS, "The header Mcp-Name does not say what the body says.");
    m->can = mcprpc_abilities(can);
    m->client = mcprpc_client(a, jv_get(m->meta, MCP_META("clientInfo")));
    return true;
}

bool mcprpc_read(struct arena *a, struct str body, const struct mcprpc_heads *heads,
                 const char *const *methods, struct mcprpc *m, struct mcprpc_fault *why)
{
    struct jv *v;
    *m = (struct mcprpc){ 0 };
    struct json_error at;
    enum err          e = json_parse(a, body, &v, &at);
    if (e == ERR_NOMEM)
        return bad(why, 503, RPC_INTERNAL, "The server is out of memory; try again in a moment.");
    if (e && at.why == JSON_TOO_DEEP)
        return bad(why, 400, RPC_PARSE,
                   "Parse error: nested too deeply, at most 128 levels are taken");
    if (e) return bad(why, 400, RPC_PARSE, "Parse error");
    if (!read_kind(v, m, why)) return false;
    m->modern = is_modern(m, heads);
    return !m->modern || m->kind != RPC_REQUEST || check_modern(a, m, heads, methods, why);
}

/* --- what a client says of itself ------------------------------------------------------------- */

/* An empty object is what clients sent before there were two kinds: forms. */
struct mcp_abilities mcprpc_abilities(const struct jv *capabilities)
{
    const struct jv     *asks = jv_get(capabilities, "elicitation");
    struct mcp_abilities can = { 0 };
    can.tasks = jv_is(jv_get(jv_get(capabilities, "extensions"), MCP_META("tasks")), JSON_OBJECT);
    can.url = jv_is(jv_get(asks, "url"), JSON_OBJECT);
    can.form = jv_is(jv_get(asks, "form"), JSON_OBJECT) || (jv_is(asks, JSON_OBJECT) && !can.url);
    return can;
}

static void add_clean(struct buf *out, struct str s)
{
    for (uint32_t c; s.len && out->len < CLIENT_MAX;) {
        size_t n = utf8_decode(s, &c);
        if (!glyph_hidden(c) && out->len + n <= CLIENT_MAX) buf_str(out, str_cut(s, n));
        s = str_from(s, n);
    }
}

struct str mcprpc_client(struct arena *a, const struct jv *info)
{
    struct buf b;
    struct str version = jv_str_at(info, "version");
    buf_init(&b, 4 * CLIENT_MAX);
    add_clean(&b, jv_str_at(info, "name"));
    if (b.len && version.len) buf_chr(&b, ' ');
    if (b.len) add_clean(&b, version);
    struct str s = b.len && !b.err ? arena_dup(a, str_trim(buf_view(&b))) : STR_NONE;
    buf_done(&b);
    return s;
}

/* --- writing ---------------------------------------------------------------------------------- */

void mcprpc_result(struct jsonw *w, struct str id)
{
    jw_obj(w);
    jw_kstrz(w, "jsonrpc", "2.0");
    jw_kraw(w, "id", id.ptr ? id : STR("null"));
    jw_key(w, "result");
}

void mcprpc_error(struct jsonw *w, struct str id, const struct mcprpc_fault *why)
{
    jw_obj(w);
    jw_kstrz(w, "jsonrpc", "2.0");
    jw_kraw(w, "id", id.ptr ? id : STR("null"));
    jw_key(w, "error");
    jw_obj(w);
    jw_kint(w, "code", why->code);
    jw_kstrz(w, "message", why->message);
    if (why->data.ptr) jw_kraw(w, "data", why->data);
    jw_end_obj(w);
    jw_end_obj(w);
}

void mcprpc_notice(struct jsonw *w, const char *method)
{
    jw_obj(w);
    jw_kstrz(w, "jsonrpc", "2.0");
    jw_kstrz(w, "method", method);
    jw_key(w, "params");
    jw_obj(w);
}
