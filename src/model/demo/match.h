/* match.h -- patterns over what a person wrote, for the demo model.
 *
 * Text becomes tokens: words, numbers, currency signs; Japanese is cut at the
 * words that the patterns know (JAPANESE in match.c). A pattern is a list of
 * elements separated by blanks and must cover all tokens it is given:
 *
 *     word        this word, in any case            a|b|c     one of these
 *     [a|b]       one of these or nothing           ...       anything, also nothing
 *     ~           nothing, or a reason: "for lunch", "because ..."
 *     <amount>    a number: 50, 1,000.50, fifty, 5 thousand, ５０
 *     <currency>  dollars, euros, 円, $, any code of three capitals ...
 *     <who>       up to four words of a name        <track>   a number or a name
 *     <topic>, <city>, any other slot: one word or more, as few as fit
 *
 * Nothing is allocated; captures are slices of the text.
 */
#ifndef PARLEY_DEMO_MATCH_H
#define PARLEY_DEMO_MATCH_H

#include "base/buf.h"
#include "base/str.h"

/* a request to a demo is a sentence; longer texts are not looked at further */
#define TOKENS_MAX 200
#define SLOTS_MAX  4

struct token {
    struct str text;
    bool       ends; /* a comma, full stop or the like follows */
};
struct tokens {
    struct token at[TOKENS_MAX];
    size_t       count;
};

struct slot {
    struct str          name;
    const struct token *from;
    size_t              count;
};
struct match {
    struct slot slots[SLOTS_MAX];
    size_t      count;
};

void tokens_read(struct tokens *t, struct str text);
bool token_is(const struct token *t, const char *alternatives); /* "a|b|c" */
bool match_tokens(const char *pattern, const struct token *t, size_t n, struct match *out);

/* NULL: not captured */
const struct slot *match_slot(const struct match *m, struct str name);
struct str         slot_text(const struct slot *s); /* as written */
/* <amount> as a JSON number, digits as written */
void               slot_number(struct buf *out, const struct slot *s);
struct str         slot_currency(const struct slot *s); /* <currency> as a code: "USD" */
bool               slot_is_number(const struct slot *s);

#endif
