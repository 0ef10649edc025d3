/* sessions.c -- see sessions.h. */
#include "auth/sessions.h"

#include <openssl/evp.h>

#include "base/arena.h"
#include "base/id.h"

#define DIGEST_LEN 32

struct session {
    struct list      node; /* in `used` */
    char             digest[DIGEST_LEN];
    struct principal who;    /* its texts stand behind the struct */
    int64_t          ends_s; /* unless it is used before */
    int64_t          told_s; /* what the browser was told last */
    char             texts[];
};

/* Copies a text to *at and moves behind it. */
static struct str place(char **at, struct str s)
{
    char *to = *at;
    if (!s.ptr) return STR_NONE;
    memcpy(to, s.ptr, s.len);
    *at += s.len;
    return str_n(to, s.len);
}

static void keep(struct session *x, const struct principal *p)
{
    char *at = x->texts;
    x->who = *p;
    x->who.name = place(&at, p->name);
    x->who.words = place(&at, p->words);
    x->who.claims = place(&at, p->claims);
}

static bool digest(struct str id, char out[DIGEST_LEN])
{
    return EVP_Digest(id.ptr, id.len, (unsigned char *)out, NULL, EVP_sha256(), NULL) == 1;
}

void sessions_init(struct sessions *s, unsigned life_s)
{
    map_init(&s->by_digest);
    list_init(&s->used);
    s->life_s = life_s;
}

static void drop(struct sessions *s, struct session *x)
{
    map_remove(&s->by_digest, str_n(x->digest, DIGEST_LEN));
    list_remove(&x->node);
    mem_free(x);
}

void sessions_done(struct sessions *s)
{
    while (!list_empty(&s->used)) drop(s, LIST_ITEM(s->used.next, struct session, node));
    map_done(&s->by_digest);
}

size_t sessions_count(const struct sessions *s)
{
    return s->by_digest.count;
}

/* Behind the last one: it was used just now. */
static void touch(struct sessions *s, struct session *x, int64_t now_s)
{
    list_remove(&x->node);
    list_add(&s->used, &x->node);
    x->ends_s = now_s + s->life_s;
    if (x->ends_s > x->who.until_s) x->ends_s = x->who.until_s;
}

static void make_room(struct sessions *s, struct str name, int64_t now_s)
{
    struct session *oldest = NULL;
    unsigned        own = 0;

    LIST_EACH (n, &s->used) {
        struct session *x = LIST_ITEM(n, struct session, node);
        if (x->ends_s <= now_s) {
            drop(s, x);
            continue;
        }
        if (!str_eq(x->who.name, name)) continue;
        if (!oldest) oldest = x;
        own++;
    }
    if (own >= SESSIONS_EACH) drop(s, oldest);
    if (s->by_digest.count >= SESSIONS_MAX) drop(s, LIST_ITEM(s->used.next, struct session, node));
}

static void spell(char out[SESSION_ID_LEN + 1])
{
    id_letters(out, SESSION_ID_LEN); /* six bits each: 258 of them */
    out[SESSION_ID_LEN] = '\0';
}

enum err sessions_begin(struct sessions *s, const struct principal *p, int64_t now_s,
                        char id[SESSION_ID_LEN + 1])
{
    int64_t end = now_s + SESSIONS_HOURS * 3600;

    make_room(s, p->name, now_s);
    struct session *x = mem_alloc(sizeof *x + p->name.len + p->words.len + p->claims.len);
    if (!x) return ERR_NOMEM;
    list_init(&x->node);
    keep(x, p);
    if (!p->until_s || p->until_s > end) x->who.until_s = end;
    spell(id);
    if (!digest(str_n(id, SESSION_ID_LEN), x->digest) ||
        map_put(&s->by_digest, str_n(x->digest, DIGEST_LEN), x) != OK) {
        mem_free(x);
        return ERR_NOMEM;
    }
    touch(s, x, now_s);
    x->told_s = x->ends_s;
    return OK;
}

static struct session *find(struct sessions *s, struct str id)
{
    char key[DIGEST_LEN];

    if (id.len != SESSION_ID_LEN || !digest(id, key)) return NULL;
    return map_get(&s->by_digest, str_n(key, DIGEST_LEN));
}

bool sessions_find(struct sessions *s, struct str id, int64_t now_s, struct principal *out,
                   unsigned *fresh_s)
{
    struct session *x = find(s, id);

    *fresh_s = 0;
    if (!x) return false;
    if (x->ends_s <= now_s) {
        drop(s, x);
        return false;
    }
    touch(s, x, now_s);
    /* Told again when half of its time is used up: not a header on every answer. */
    if (x->told_s - now_s < s->life_s / 2 && x->ends_s > x->told_s) {
        x->told_s = x->ends_s;
        *fresh_s = (unsigned)(x->ends_s - now_s);
    }
    *out = x->who;
    return true;
}

void sessions_end(struct sessions *s, struct str id)
{
    struct session *x = find(s, id);
    if (x) drop(s, x);
}
