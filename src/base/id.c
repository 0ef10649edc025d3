/* id.c -- random names. The system's random source is the only one: no seed, no
 * state of ours that a fork could repeat. */
#include "base/id.h"

#include <errno.h>
#include <sys/random.h>

#define ID_BYTES 16

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void id_bytes(void *out, size_t len)
{
    char *p = out;
    while (len) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno == EINTR) continue;
        /* Going on with guessable names would be worse than stopping. */
        must(n > 0);
        p += n;
        len -= (size_t)n;
    }
}

void id_letters(char *out, size_t len)
{
    id_bytes(out, len);
    for (size_t i = 0; i < len; i++) out[i] = letters[out[i] & 63];
}

/* 128 bits, six at a time; the last letter carries the two that are left. */
static void spell(const unsigned char bytes[ID_BYTES], char out[ID_LEN])
{
    unsigned bits = 0, have = 0;
    for (int i = 0, at = 0; i < ID_LEN; i++) {
        if (have < 6 && at < ID_BYTES) {
            bits = bits << 8 | bytes[at++];
            have += 8;
        }
        have = have < 6 ? (bits <<= 6 - have, 0) : have - 6;
        out[i] = letters[bits >> have & 63];
    }
}

struct str id_new(struct arena *a, const char *prefix)
{
    unsigned char bytes[ID_BYTES];
    size_t        n = strlen(prefix);
    must(n + ID_LEN <= ID_MAX);
    char *p = arena_alloc(a, n + ID_LEN + 1);
    if (!p) return STR_NONE;
    id_bytes(bytes, sizeof bytes);
    memcpy(p, prefix, n);
    spell(bytes, p + n);
    return str_n(p, n + ID_LEN);
}

bool id_valid(struct str s, size_t max)
{
    if (s.len == 0 || s.len > max) return false;
    for (size_t i = 0; i < s.len; i++)
        if (!s.ptr[i] || !strchr(letters, s.ptr[i])) return false;
    return true;
}

static void put(struct str *to, size_t room, const char *from, size_t len)
{
    if (len > room - to->len) len = room - to->len;
    memcpy((char *)to->ptr + to->len, from, len);
    to->len += len;
}

struct str id_join(char *out, size_t room, const char *prefix, char separator, struct str of,
                   int64_t n)
{
    char       digits[20], *end = digits + sizeof digits, *p = end;
    struct str id = str_n(out, 0);

    put(&id, room, prefix, strlen(prefix));
    put(&id, room, &separator, 1);
    if (of.len) put(&id, room, of.ptr, of.len);
    if (n < 0) return id;
    do *--p = (char)('0' + n % 10);
    while (n /= 10);
    put(&id, room, &separator, 1);
    put(&id, room, p, (size_t)(end - p));
    return id;
}
