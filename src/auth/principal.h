/* principal.h -- somebody who may come in, and as what.
 *
 *   user      has conversations of their own
 *   approver  decides what waits for a decision, everybody's, when the configuration says so
 *   (approvals.who)
 *   notifier  makes links for the people who are to decide (docs/approvals.md)
 *   admin     sees all lists and the metrics; that alone lets nobody decide or read a conversation
 *   agent     a program: lists and calls tools at /mcp, and reads its own calls there; nothing else
 *
 * Beside these a configuration may have roles of its own: some tools and pages are for those
 * who have them.
 */
#ifndef PARLEY_PRINCIPAL_H
#define PARLEY_PRINCIPAL_H

#include "base/str.h"

enum role {
    ROLE_USER = 1,
    ROLE_APPROVER = 2,
    ROLE_ADMIN = 4,
    ROLE_NAMED = 32, /* one that approvals.rules name, or "notifier": door/identify.c says so */
    ROLE_ANY = ROLE_USER | ROLE_APPROVER | ROLE_ADMIN | ROLE_NAMED, /* of a person */
    ROLE_AGENT = 128, /* those between are door/app.h's, beside these in a route's access */
};

#define PRINCIPAL_MAX 128 /* bytes of a name: it is part of the name of every log */

struct principal {
    struct str name;
    unsigned   roles; /* of enum role */
    /* wall clock: the end of what they proved themselves with; 0: none */
    int64_t    until_s;
    /* it is a person who says so: signed in, or nobody else could ask, or the start token was
     * shown */
    bool       may_answer;
    /* all their roles as their key or token says them, with blanks between; these and others */
    struct str words;
    /* a key that several people or a program use: what is said with it in a chat decides nothing */
    bool       shared;
    struct str user_header; /* the header that names whom it asks for; STR_NONE: none */
    bool       mcp_only;    /* their token was made for /mcp */
    /* what they showed, as far as a session of theirs rests on it (auth_stands): "key HASH",
     * "jwt ISSUER", "oidc ISSUER CLIENT", "start HASH"; never the thing itself */
    struct str proof;
    /* a JSON object of those of their token's claims that the configuration asks for; STR_NONE:
     * none */
    struct str claims;
};

/* The same, copied into `a`; its texts are NULL when there was no memory (a->failed). */
struct arena;
struct principal principal_copy(struct arena *a, const struct principal *p);

#endif
