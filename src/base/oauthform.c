/* oauthform.c -- see oauthform.h. */
#include "base/oauthform.h"

#include <openssl/evp.h>

void oauth_escape(struct buf *out, struct str s)
{
    static const char HEX[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || (c && strchr("-._~", c))) buf_chr(out, (char)c);
        else {
            buf_chr(out, '%');
            buf_chr(out, HEX[c >> 4]);
            buf_chr(out, HEX[c & 15]);
        }
    }
}

void oauth_field(struct buf *out, const char *name, struct str value)
{
    if (out->len) buf_chr(out, '&');
    buf_str(out, str_c(name));
    buf_chr(out, '=');
    oauth_escape(out, value);
}

bool pkce_challenge(struct str verifier, char out[PKCE_LETTERS + 1])
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char hash[33] = { 0 };
    if (EVP_Digest(verifier.ptr, verifier.len, hash, NULL, EVP_sha256(), NULL) != 1) return false;
    for (size_t i = 0; i < PKCE_LETTERS; i++) {
        size_t   at = i * 6;
        unsigned two = (unsigned)(hash[at / 8] << 8) | hash[at / 8 + 1];
        out[i] = LETTERS[two >> (10 - at % 8) & 63];
    }
    out[PKCE_LETTERS] = 0;
    return true;
}

bool url_is_loopback(struct str url)
{
    static const char *const HERE[] = { "http://127.0.0.1", "http://localhost", "http://[::1]" };
    for (size_t i = 0; i < sizeof HERE / sizeof *HERE; i++) {
        struct str rest = str_from(url, strlen(HERE[i]));
        if (str_starts(url, str_c(HERE[i])) && (!rest.len || *rest.ptr == ':' || *rest.ptr == '/'))
            return true;
    }
    return false;
}

bool url_is_safe(struct str url)
{
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f) return false;
    return str_starts(url, STR("https://")) || url_is_loopback(url);
}
