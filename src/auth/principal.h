/* principal.h -- somebody who may come in, and as what.
 *
 *   user      has conversations of their own
 *   approver  decides what waits for a decision, everybody's, when the configuration says so
 *   (approvals.who)
 *   admin     sees all lists and the metrics; that alone lets nobody decide or read a conversation
 */
#ifndef PARLEY_PRINCIPAL_H
#define PARLEY_PRINCIPAL_H

#include "base/str.h"

enum role { ROLE_USER = 1, ROLE_APPROVER = 2, ROLE_ADMIN = 4, ROLE_ANY = 7 };

#define PRINCIPAL_MAX 128 /* bytes of a name: it is part of the name of every log */

struct principal {
    struct str name;
    unsigned   roles; /* of enum role */
    /* wall clock: the end of what they proved themselves with; 0: none */
    int64_t    until_s;
    /* it is a person who says so: signed in, or nobody else could ask, or the start token was
     * shown */
    bool       may_answer;
};

#endif
