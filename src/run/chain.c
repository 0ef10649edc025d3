/* chain.c -- see chain.h. */
#include "run/chain.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/utf8.h"

void chain_init(struct chain *c)
{
    *c = (struct chain){ 0 };
    memset(c->hash, '0', CHAIN_LEN);
    buf_init(&c->text, 0);
}

void chain_done(struct chain *c)
{
    buf_done(&c->text);
}

void chain_resume(struct chain *c, struct str hash, enum chain_role last)
{
    must(hash.len == CHAIN_LEN);
    memcpy(c->hash, hash.ptr, CHAIN_LEN);
    c->role = last;
    buf_clear(&c->text);
}

static bool is_blank(uint32_t cp)
{
    return cp <= ' ' || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200f) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
           cp == 0x205f || cp == 0x2060 || cp == 0x3000 || cp == 0xfeff;
}

static void squeeze(struct buf *out, struct str s)
{
    uint32_t cp;
    while (s.len) {
        unsigned n = utf8_decode(s, &cp);
        if (!is_blank(cp)) buf_str(out, str_cut(s, n));
        s = str_from(s, n);
    }
}

static bool close_open(const struct chain *c, char out[CHAIN_LEN])
{
    static const char ROLES[] = "-ua";
    unsigned char     digest[32];
    char              hex[3];
    EVP_MD_CTX       *x = EVP_MD_CTX_new();
    bool              ok = !c->text.err && x && EVP_DigestInit_ex(x, EVP_sha256(), NULL) == 1 &&
              EVP_DigestUpdate(x, c->hash, CHAIN_LEN) == 1 &&
              EVP_DigestUpdate(x, &ROLES[c->role], 1) == 1 &&
              EVP_DigestUpdate(x, c->text.ptr ? c->text.ptr : "", c->text.len) == 1 &&
              EVP_DigestFinal_ex(x, digest, NULL) == 1;
    EVP_MD_CTX_free(x);
    for (size_t i = 0; ok && i < CHAIN_LEN / 2; i++) {
        snprintf(hex, sizeof hex, "%02x", digest[i]);
        memcpy(out + 2 * i, hex, 2);
    }
    return ok;
}

void chain_add(struct chain *c, enum chain_role role, struct str words)
{
    size_t before = c->text.len;
    if (role != c->role) {
        struct buf next = { 0 };
        squeeze(&next, words);
        if (!next.len && !next.err) return; /* nothing was said: it parts nothing */
        if (c->role && (c->text.len || before) && !close_open(c, c->hash)) c->text.err = ERR_NOMEM;
        enum err e = c->text.err;
        buf_done(&c->text);
        c->text = next;
        if (e) c->text.err = e;
        c->role = role;
        return;
    }
    squeeze(&c->text, words);
}

bool chain_hash(const struct chain *c, char out[CHAIN_LEN])
{
    if (c->text.err) return false;
    if (c->text.len) return close_open(c, out);
    memcpy(out, c->hash, CHAIN_LEN);
    return true;
}

bool chain_begins(struct str whole, struct str part)
{
    struct buf a = { 0 }, b = { 0 };
    squeeze(&a, whole);
    squeeze(&b, part);
    bool ok = !a.err && !b.err && b.len && str_starts(buf_view(&a), buf_view(&b));
    buf_done(&a);
    buf_done(&b);
    return ok;
}
