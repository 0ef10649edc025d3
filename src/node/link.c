/* link.c -- all links of a node. See link.h. */
#include "node/node_int.h"

#include <arpa/inet.h>

#include "base/log.h"
#include "store/store.h"

bool link_url_parse(struct str url, struct str *host, unsigned *port, const char **why)
{
    struct str scheme = STR("http://"), rest;
    uint64_t   n = 80;
    ptrdiff_t  colon;

    *why = "it must be like \"http://10.0.0.5:8000\": http, a host, maybe a port, and no path";
    if (!str_eq_nocase(str_cut(url, scheme.len), scheme)) return false;
    rest = str_from(url, scheme.len);
    if (str_ends(rest, STR("/"))) rest = str_cut(rest, rest.len - 1);
    if (str_find(rest, STR("/")) >= 0 || str_find(rest, STR("@")) >= 0 ||
        str_find(rest, STR("?")) >= 0)
        return false;
    if (str_starts(rest, STR("["))) {
        colon = str_find(rest, STR("]"));
        if (colon < 0) return false;
        *host = str_n(rest.ptr + 1, (size_t)colon - 1);
        rest = str_from(rest, (size_t)colon + 1);
        if (rest.len && rest.ptr[0] != ':') return false;
        rest = str_from(rest, 1);
    } else {
        colon = str_find(rest, STR(":"));
        *host = colon < 0 ? rest : str_cut(rest, (size_t)colon);
        rest = colon < 0 ? STR("") : str_from(rest, (size_t)colon + 1);
        if (colon >= 0 && !rest.len) return false;
    }
    if (!host->len || host->len > 253) return false;
    if (rest.len && (!str_to_u64(rest, &n) || n < 1 || n > 65535)) return false;
    *port = (unsigned)n;
    return true;
}

struct str link_url_plain(struct arena *a, struct str url, const char **why)
{
    char            lower[254];
    struct in6_addr v6;
    struct str      host;
    unsigned        port;

    if (!link_url_parse(url, &host, &port, why)) return STR_NONE;
    for (size_t i = 0; i < host.len; i++)
        lower[i] =
            (char)(host.ptr[i] >= 'A' && host.ptr[i] <= 'Z' ? host.ptr[i] | 32 : host.ptr[i]);
    lower[host.len] = '\0';
    bool is_v6 = inet_pton(AF_INET6, lower, &v6) == 1;
    if (!is_v6 && str_find(url, STR("[")) >= 0) return STR_NONE;
    if (is_v6) inet_ntop(AF_INET6, &v6, lower, sizeof lower);
    struct str at = arena_printf(a, is_v6 ? "http://[%s]" : "http://%s", lower);
    return port == 80 ? at : arena_printf(a, STR_FMT ":%u", STR_ARG(at), port);
}

/* --- good-bye --------------------------------------------------------------------------------- */

/* Every node that is alive is told, also those that had nothing to do with us so far: what we gave
 * back may be anybody's to go on with. */
static void on_roll(struct store_list *r, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct links *l = LIST_ITEM(r, struct links, roll);
    (void)next;
    for (size_t i = 0; !e && !l->closing && i < count; i++) {
        if (rows[i].lease_ms <= 0 || !rows[i].url.len || str_eq(rows[i].node, l->self)) continue;
        struct peer *p = dial_reach(&l->nodes, rows[i].node, rows[i].url);
        if (p) p->sweep = true;
        if (p && p->up) peer_up(p);
    }
}

static void farewell(struct nodes *n)
{
    struct links *l = LIST_ITEM(n, struct links, nodes);
    l->roll = (struct store_list){ .kind = STORE_NODES, .done = on_roll };
    hub_list(l->hub, &l->roll);
}

/* --- life ------------------------------------------------------------------------------------- */

enum err links_init(struct links *l, struct loop *loop, struct str key)
{
    *l =
        (struct links){ .loop = loop,
                        .nodes = { .reach = dial_reach, .send = dial_send, .farewell = farewell } };
    list_init(&l->dialled);
    list_init(&l->accepted);
    return secret_set(&l->key, key);
}

void links_check_closed(struct links *l)
{
    if (!l->closing || l->dialled_count || l->accepted_count || !l->closed) return;
    void (*closed)(void *) = l->closed;
    l->closed = NULL;
    closed(l->closed_ctx);
}

void links_close(struct links *l, void (*closed)(void *ctx), void *ctx)
{
    l->closing = true;
    l->closed = closed;
    l->closed_ctx = ctx;
    dial_hang_up(l);
    links_check_closed(l);
}

void links_done(struct links *l)
{
    secret_done(&l->key);
}
