/* fuzz_jwt.c -- any bytes as a token, as its header and claims under a true signature, and as a set of keys.
 *
 * What is refused is refused with words; what is taken has a name, an end, and a signature that was made with
 * our key: no other bytes may pass. The first byte picks which of the three.
 */
#include <openssl/evp.h>
#include <stdlib.h>

#include "base/json.h"
#include "net/jwt.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW    1800000000

static const struct jwt_rules RULES = { ALG_HS256, { "https://id", 10 }, { "parley", 6 }, { "roles", 5 } };

static struct str encode(struct arena *a, struct str bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char             *out = arena_alloc(a, bytes.len * 2 + 4);
    size_t            n = 0;
    unsigned          bits = 0, have = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | (unsigned char)bytes.ptr[i];
        for (have += 8; have >= 6; have -= 6) out[n++] = letters[bits >> (have - 6) & 63];
        bits &= (1u << have) - 1;
    }
    if (have) out[n++] = letters[bits << (6 - have) & 63];
    return str_n(out, n);
}

/* Header and claims, parted by a line break, signed as they should be. */
static struct str sign(struct arena *a, struct str text)
{
    unsigned char mac[32];
    size_t        len;
    struct str    head;
    str_split(&text, '\n', &head);
    head = encode(a, head);
    text = encode(a, text);
    struct str input = arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(head), STR_ARG(text));
    EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, SECRET, 32, (const unsigned char *)input.ptr, input.len, mac, sizeof mac, &len);
    struct str sig = encode(a, str_n((char *)mac, 32));
    return arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(input), STR_ARG(sig));
}

static void try_token(struct arena *a, struct str token, bool ours)
{
    struct jwt_keys   k = { 0 };
    struct jwt_claims c = { 0 };
    const char       *why = NULL;
    must(jwt_keys_read(&k, STR(SECRET), ALG_HS256, &why) == OK);
    enum jwt_verdict v = jwt_check(&k, &RULES, token, NOW, a, &c, &why);
    if (v == JWT_GOOD) must(ours && c.subject.len > 0 && c.subject.len <= JWT_NAME_MAX && c.expires_s > NOW - JWT_LEEWAY_S - 1);
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
    if (data[0] == 'k') { try_keys(text, ALG_RS256 | ALG_ES256); try_keys(text, ALG_HS256); }
    else if (data[0] == 's') try_token(&a, sign(&a, text), true);
    else try_token(&a, text, false);
    arena_done(&a);
    return 0;
}
