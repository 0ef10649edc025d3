/* rules.h -- who is asked: approvals.rules.
 *
 *   [ { "tool": "pay_*", "when": {condition}, "from": {"role","count","not_requester"},
 *       "expires": 7200, "escalate": [ { "after": 1800, "to": {"role","count"} } ] }, ... ]
 *
 * The first rule that matches a call counts; none: approvals.who says who decides, as it always
 * did. A rule never makes a call free: whether anybody is asked is the tool's policy.
 *
 * What a question was asked by stands in its fact (`who`), so that another configuration does not
 * change who may answer it:
 *
 *   {"from":{"role":"finance","count":2,"not_requester":true},"escalate":[{"after":1800,"to":{…}}]}
 *
 * The levels of a question are `from`, and each `to` whose time has come, counted from when it was
 * asked. Who fits one of them may answer. One no is a no. Yeses are counted for each level by
 * itself; it is a yes when one of them has enough. All of it follows from the facts and the clock.
 *
 * "owner" is the person whose conversation it is; every other role is a word that keys and tokens
 * carry, and nothing else stands in for it: not being an administrator, not being the owner.
 */
#ifndef PARLEY_RULES_H
#define PARLEY_RULES_H

#include "base/jsonw.h"
#include "run/hub.h"

/* NULL, or what is wrong with a rule; *at: the part of it. */
const char *rules_fault(const struct jv *rule, const struct jv **at);
/* Does a rule for this `tool` ("pay_*") name this tool? */
bool        rules_names(struct str pattern, struct str tool);
/* Does some rule name a role that one of these words is? Then others' questions concern them. */
bool        rules_concern(const struct jv *rules, struct str roles);

/* Is a call for its owner to decide, and nobody else? `otherwise`, when no rule matches. */
bool rules_owners(const struct jv *rules, struct str tool, const struct jv *args, bool otherwise);

/* The `who` of a call, in `a`; STR_NONE: no rule matches. *single: one yes is enough, as far as
 * `from` says. */
MUST_CHECK enum err rules_for(struct thread *t, const struct call *c, struct arena *a,
                              struct str *who, bool *single);
/* How long its question waits, by the rule; `otherwise` when that does not say. */
unsigned            rules_expires(struct thread *t, const struct call *c, unsigned otherwise);

/* Of all that says who is asked about calls of this tool: the rules that name it, and who decides
 * where none matches. How long a question waits (`expires`) is no part of it. ERR_NOMEM. */
#define RULES_DIGEST 33
MUST_CHECK enum err rules_digest(const struct jv *rules, bool approvers, struct str tool,
                                 char hex[RULES_DIGEST]);

struct people;
struct voter {
    struct str name, roles;
};
struct ballot {
    struct str who;   /* of the question */
    struct str owner; /* whose conversation it is: the requester */
    int64_t    asked_ms, now_ms;
};
enum standing {
    MAY_DECIDE,
    NOT_THEIRS,   /* no level is for them */
    IS_REQUESTER, /* one would be, but not for whoever asked for it */
};
enum standing rules_standing(const struct ballot *b, const struct voter *v);
/* The role by which they may; STR_NONE: they may not. In `a`. */
struct str    rules_role(struct arena *a, const struct ballot *b, const struct voter *v);
/* Are these yeses enough? */
bool          rules_enough(const struct ballot *b, const struct voter *yes, size_t count);
/* The smallest number of yeses that would be, on any level. */
unsigned      rules_needed(const struct ballot *b);
/* When the next level begins after `now`; 0: never. */
int64_t       rules_next(const struct ballot *b);
/* The same from `who` as people are shown it (a stored row): may they look at it as it stood then
 * (is one of the levels that had begun for them?), and may they answer now? */
bool          rules_shows(const struct jv *shown, const struct voter *v, int64_t at_ms);
bool rules_lets(const struct jv *shown, struct str owner, const struct voter *v, int64_t now_ms);
/* Does a yes of theirs still count, as far as is known of them? */
bool rules_counts(const struct jv *shown, struct str owner, const struct people *known,
                  struct str name, int64_t now_ms);
/* `who` as people are shown it: times instead of seconds. */
void rules_show(struct jsonw *w, const struct ballot *b);

#endif
