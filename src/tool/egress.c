/* egress.c -- address ranges, and libcurl's two questions. */
#include "tool/egress.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

struct range {
    uint32_t net;
    uint8_t  bits;
};

#define IP(a, b, c, d) \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

static const struct range private4[] = {
    /* CGNAT */
    { IP(0, 0, 0, 0), 8 },        { IP(10, 0, 0, 0), 8 },     { IP(100, 64, 0, 0), 10 },
    { IP(127, 0, 0, 0), 8 },      { IP(169, 254, 0, 0), 16 }, { IP(172, 16, 0, 0), 12 },
    { IP(192, 0, 0, 0), 24 },     { IP(192, 0, 2, 0), 24 },   { IP(192, 88, 99, 0), 24 },
    { IP(192, 168, 0, 0), 16 },   { IP(198, 18, 0, 0), 15 },  { IP(198, 51, 100, 0), 24 },
    { IP(203, 0, 113, 0), 24 },   { IP(224, 0, 0, 0), 4 },    { IP(240, 0, 0, 0), 4 },
    { IP(168, 63, 129, 16), 32 }, /* Azure's host, a public address in name only */
};

static bool is_private4(uint32_t ip)
{
    for (size_t i = 0; i < sizeof private4 / sizeof *private4; i++)
        if ((ip ^ private4[i].net) >> (32 - private4[i].bits) == 0) return true;
    return false;
}

static uint32_t be32(const uint8_t *p)
{
    return IP(p[0], p[1], p[2], p[3]);
}

static bool zeros(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

/* An IPv4 address inside an IPv6 one: mapped, or NAT64's well-known prefix. */
static const uint8_t *inner4(const uint8_t a[16])
{
    static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b };
    if (zeros(a, 10) && a[10] == 0xff && a[11] == 0xff) return a + 12;
    if (memcmp(a, nat64, 12) == 0) return a + 12;
    if (a[0] == 0x20 && a[1] == 0x02) return a + 2; /* 6to4 */
    return NULL;
}

static bool is_private6(const uint8_t a[16])
{
    const uint8_t *four = inner4(a);
    if (four) return is_private4(be32(four));
    /* not global unicast 2000::/3: ::1, fc00::, fe80::, ff00:: ... */
    if ((a[0] & 0xe0) != 0x20) return true;
    if (a[0] == 0x20 && a[1] == 0x01 && a[2] < 2)
        return true; /* 2001::/23: Teredo, benchmarking, ORCHID */
    return a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8;
}

static bool is_private(const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET)
        return is_private4(
            ntohl(((const struct sockaddr_in *)(const void *)addr)->sin_addr.s_addr));
    if (addr->sa_family == AF_INET6)
        return is_private6(((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr.s6_addr);
    return true; /* unix sockets and what else there is */
}

/* --- the allow list -------------------------------------------------------------------- */

static struct str bare(struct str host)
{
    if (host.len > 1 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
        host = str_n(host.ptr + 1, host.len - 2);
    if (host.len > 1 && host.ptr[host.len - 1] == '.') host.len--;
    return host;
}

static bool matches_range(const struct egress_rule *r, const uint8_t *net, bool v4)
{
    if (r->v4 != v4) return false;
    for (unsigned bit = 0; bit < r->bits; bit++)
        if ((r->net[bit / 8] ^ net[bit / 8]) & (0x80 >> bit % 8)) return false;
    return true;
}

static bool allows(const struct egress_rule *r, struct str host, const struct sockaddr *addr)
{
    const uint8_t *four;

    if (r->host.ptr) return str_eq_nocase(r->host, bare(host));
    if (addr->sa_family == AF_INET)
        return matches_range(
            r, (const void *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr, true);
    if (addr->sa_family != AF_INET6) return false;
    const uint8_t *six = ((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr.s6_addr;
    if (matches_range(r, six, false)) return true;
    four = inner4(six);
    return four && matches_range(r, four, true);
}

bool egress_may(const struct egress *e, struct str host, const struct sockaddr *addr)
{
    if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6) return false;
    if (!is_private(addr)) return true;
    for (size_t i = 0; i < e->count; i++)
        if (allows(&e->rules[i], host, addr)) return true;
    return false;
}

static bool read_range(struct egress_rule *r, struct str text)
{
    char       z[64];
    struct str addr = text;
    uint64_t   bits;
    ptrdiff_t  slash = str_find(text, STR("/"));

    if (slash >= 0) addr = str_cut(text, (size_t)slash);
    addr = bare(addr);
    if (addr.len >= sizeof z) return false;
    memcpy(z, addr.ptr, addr.len);
    z[addr.len] = 0;
    r->v4 = inet_pton(AF_INET, z, r->net) == 1;
    if (!r->v4 && inet_pton(AF_INET6, z, r->net) != 1) return false;
    bits = r->v4 ? 32 : 128;
    if (slash >= 0 &&
        (!str_to_u64(str_from(text, (size_t)slash + 1), &bits) || bits > (r->v4 ? 32 : 128)))
        return false;
    r->bits = (uint8_t)bits;
    return true;
}

static bool is_host(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '.' || c == '_'))
            return false;
    }
    return s.len > 0 && s.len < 256;
}

enum err egress_read(struct arena *a, struct egress *e, const struct jv *allow, struct buf *why)
{
    size_t n = 0;

    *e = (struct egress){ 0 };
    if (!allow) return OK;
    if (!jv_is(allow, JSON_ARRAY)) {
        buf_lit(why, "\"allow\" must be a list of hosts, addresses or ranges");
        return ERR_TYPE;
    }
    e->rules = arena_array(a, allow->count + 1, sizeof *e->rules);
    if (!e->rules) return ERR_NOMEM;
    JV_EACH (item, allow) {
        struct egress_rule *r = &e->rules[n++];
        if (jv_is(item, JSON_STRING) && read_range(r, item->str)) continue;
        if (!jv_is(item, JSON_STRING) || !is_host(bare(item->str))) {
            buf_printf(why, STR_FMT " in \"allow\" is neither a host nor an address nor a range",
                       STR_ARG(item->raw));
            return ERR_TYPE;
        }
        r->host = arena_dup(a, bare(item->str));
    }
    e->count = n;
    return OK;
}

/* --- libcurl's questions ------------------------------------------------------------------ */

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct egress_check *c = ctx;
    if (!egress_may(c->egress, c->host, &a->addr)) {
        c->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(a->family, a->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->protocol);
}

static bool parse_ip(const char *ip, struct sockaddr_storage *out)
{
    char                 z[INET6_ADDRSTRLEN + 1];
    size_t               n = strcspn(ip, "%");
    struct sockaddr_in  *four = (void *)out;
    struct sockaddr_in6 *six = (void *)out;

    if (n >= sizeof z) return false;
    memcpy(z, ip, n);
    z[n] = 0;
    *out = (struct sockaddr_storage){ .ss_family = AF_INET };
    if (inet_pton(AF_INET, z, &four->sin_addr) == 1) return true;
    out->ss_family = AF_INET6;
    return inet_pton(AF_INET6, z, &six->sin6_addr) == 1;
}

/* Called when the connection stands, a new one or one from the pool. */
static int on_prereq(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
    struct egress_check    *c = ctx;
    struct sockaddr_storage addr;

    if (c->stop) return CURL_PREREQFUNC_ABORT;
    if (c->egress &&
        (!parse_ip(ip, &addr) || !egress_may(c->egress, c->host, (struct sockaddr *)&addr))) {
        c->refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    c->sent = true;
    return CURL_PREREQFUNC_OK;
}

void egress_guard(CURL *easy, struct egress_check *c)
{
    if (c->egress) {
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, (void *)c);
    }
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_prereq);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, (void *)c);
}

struct str egress_host(struct arena *a, struct str url)
{
    struct str z = arena_dup(a, url), host = STR_NONE;
    CURLU     *u = curl_url();
    char      *part = NULL, *scheme = NULL;

    if (z.ptr && u && strlen(z.ptr) == url.len &&
        curl_url_set(u, CURLUPART_URL, z.ptr, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
        curl_url_get(u, CURLUPART_HOST, &part, 0) == CURLUE_OK)
        host = arena_dup(a, bare(str_c(part)));
    curl_free(part);
    curl_free(scheme);
    curl_url_cleanup(u);
    return host;
}

bool egress_is_loopback_host(struct str host)
{
    struct sockaddr_storage addr;
    char                    z[64];

    host = bare(host);
    if (str_eq_nocase(host, STR("localhost"))) return true;
    if (host.len >= sizeof z) return false;
    memcpy(z, host.ptr, host.len);
    z[host.len] = 0;
    if (!parse_ip(z, &addr)) return false;
    if (addr.ss_family == AF_INET)
        return ((const uint8_t *)&((struct sockaddr_in *)&addr)->sin_addr)[0] == 127;
    return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&addr)->sin6_addr);
}
