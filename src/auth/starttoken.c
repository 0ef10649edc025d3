/* starttoken.c -- see starttoken.h. */
#include "auth/starttoken.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/id.h"

#define NAME       "PARLEY_TOKEN="
#define RANDOM_LEN 32 /* six bits each: 192 */

extern char **environ;

/* one more than fits: too long is told from long enough */
static char kept[START_TOKEN_MAX + 2];
static bool found, made;

void start_token_hide(void)
{
    for (char **e = environ; e && *e; e++) {
        if (strncmp(*e, NAME, sizeof NAME - 1) != 0) continue;
        char *value = *e + sizeof NAME - 1;
        if (!found) memcpy(kept, value, strnlen(value, sizeof kept - 1));
        found = true;
        OPENSSL_cleanse(value, strlen(value));
    }
    if (found) unsetenv("PARLEY_TOKEN");
    /* Commands that answer are given it as a key: other programs of this user read it from /proc,
     * where they may trace us. */
    if (found || getenv("PARLEY_KEY")) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* What a header, an address and a shell carry as it is. */
static bool is_token(struct str s)
{
    if (s.len < START_TOKEN_MIN || s.len > START_TOKEN_MAX) return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              strchr("-._~", c)))
            return false;
    }
    return true;
}

static bool digest(struct str s, uint8_t out[32])
{
    return EVP_Digest(s.ptr, s.len, out, NULL, EVP_sha256(), NULL) == 1;
}

bool start_token_good(void)
{
    return !found || made || is_token(str_c(kept));
}

enum err start_token_make(struct start_token *t, char text[START_TOKEN_MAX + 1])
{
    struct str token = str_c(kept);

    text[0] = '\0';
    if (!start_token_good()) return ERR_SYNTAX;
    if (!found) {
        id_letters(text, RANDOM_LEN);
        text[RANDOM_LEN] = '\0';
        token = str_c(text);
    }
    if (!digest(token, t->sha256)) return ERR_NOMEM;
    t->needed = made = true;
    OPENSSL_cleanse(kept, sizeof kept);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* whoever may trace us may read our memory */
    return OK;
}

bool start_token_fits(const struct start_token *t, struct str shown)
{
    uint8_t hash[32];

    if (!t->needed || !shown.len || shown.len > START_TOKEN_MAX) return false;
    return digest(shown, hash) && CRYPTO_memcmp(hash, t->sha256, sizeof hash) == 0;
}
