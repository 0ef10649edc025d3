/* fuzz_jwt.c -- any bytes as a token, as its header and claims under a true signature, and as a set
 * of keys.
 *
 * What is refused is refused with words; what is taken has a name, an end, and a signature that was
 * made with our key: no other bytes may pass. The first byte picks which of the three.
 */
#include <stdlib.h>

#include "../unit/jwt_make.h"
#include "auth/jwt.h"
#include "base/json.h"

#define NOW 1800000000

static const struct jwt_rules RULES = {
    ALG_HS256, { "https://id", 10 }, { "parley", 6 }, { "roles", 5 }
};

/* Header and claims, parted by a line break, signed as they should be. */
static struct str sign(struct arena *a, struct str text)
{
    struct str head;
    str_split(&text, '\n', &head);
    struct str input = jwt_join(a, jwt_encode(a, head), jwt_encode(a, text));
    return jwt_join(a, input, jwt_encode(a, jwt_hmac(a, input, JWT_SECRET)));
}

static void try_token(struct arena *a, struct str token, bool ours)
{
    struct jwt_keys   k = { 0 };
    struct jwt_claims c = { 0 };
    const char       *why = NULL;
    must(jwt_keys_read(&k, STR(JWT_SECRET), ALG_HS256, &why) == OK);
    enum jwt_verdict v = jwt_check(&k, &RULES, token, NOW, a, &c, &why);
    if (v == JWT_GOOD)
        must(ours && c.subject.len > 0 && c.subject.len <= JWT_NAME_MAX &&
             c.expires_s > NOW - JWT_LEEWAY_S - 1);
    else must(why && why[0] && !c.subject.ptr);
    jwt_keys_done(&k);
}

static void try_keys(struct str text, unsigned algorithms)
{
    struct jwt_keys k = { 0 };
    const char     *why = NULL;
    if (jwt_keys_read(&k, text, algorithms, &why) == OK) must(k.count > 0);
    else must(why && why[0] && k.count == 0);
    jwt_keys_done(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    if (!size) return 0;
    struct str text = str_n((const char *)data + 1, size - 1);
    arena_init(&a, 0);
    if (data[0] == 'k') {
        try_keys(text, ALG_RS256 | ALG_ES256);
        try_keys(text, ALG_HS256);
    } else if (data[0] == 's') try_token(&a, sign(&a, text), true);
    else try_token(&a, text, false);
    arena_done(&a);
    return 0;
}
