/* egress.h -- where a tool's request may go, decided on the address that is actually connected to.
 *
 * Names, decimal and octal spellings, redirects and rebinding do not matter:
 * libcurl asks before it opens a socket (egress_guard) and again before it
 * sends the request (which covers reused connections), and what is asked about is an address.
 *
 * Refused unless allowed: loopback, private, link-local (with cloud metadata),
 * shared (CGNAT), multicast, documentation, benchmarking and reserved ranges of
 * IPv4; everything of IPv6 that is not global unicast, and IPv6 addresses that
 * carry such an IPv4 address inside (mapped, compatible, 6to4, NAT64) or may carry one (Teredo).
 *
 * An allow list has host names ("billing.internal": whatever it resolves to when
 * it is the URL's host), addresses ("127.0.0.1", "fd00::1") and ranges ("10.0.0.0/8").
 */
#ifndef PARLEY_EGRESS_H
#define PARLEY_EGRESS_H

#include <curl/curl.h>
#include <netinet/in.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* host.ptr NULL: a range */
struct egress_rule {
    struct str host;
    uint8_t    net[16];
    uint8_t    bits;
    bool       v4;
};

struct egress {
    struct egress_rule *rules;
    size_t              count;
};

/* Reads an "allow" list (NULL: empty); a sentence in `why` on error. */
MUST_CHECK enum err egress_read(struct arena *a, struct egress *e, const struct jv *allow,
                                struct buf *why);
/* May this address be connected to for a URL with this host? */
bool egress_may(const struct egress *e, struct str host, const struct sockaddr *addr);

struct egress_check {            /* one transfer's; must live as long */
    const struct egress *egress; /* NULL: any address; only `sent` is wanted */
    struct str           host;   /* of the URL, without brackets and trailing dot */
    /* set by the owner: nobody wants it any more, so it does not leave after this */
    bool                 stop;
    bool                 refused;
    bool                 sent; /* the request has gone out, or begun to */
};
/* Puts the checks on an easy handle. */
void       egress_guard(CURL *easy, struct egress_check *c);
/* The host of a URL, as libcurl reads it. STR_NONE: not an http or https URL. */
struct str egress_host(struct arena *a, struct str url);
bool       egress_is_loopback_host(struct str host); /* localhost, 127.x, ::1 */

#endif
