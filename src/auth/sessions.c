/* sessions.c -- see sessions.h. */
#include "auth/sessions.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/id.h"
#include "base/json.h"
#include "base/jsonw.h"

#define DIGEST_LEN 32

struct session {
    struct list      node; /* in `used` or in `none` */
    char             key[SESSION_KEY_LEN];
    bool             none;
    uint64_t         read_ms; /* when the row was asked for, or a little later */
    struct principal who;     /* its texts stand behind the struct */
    int64_t          ends_s;  /* unless it is used before */
    int64_t          row_s;   /* the same, as the row has it */
    int64_t          told_s;  /* what the browser was told last */
    char             texts[];
};

void sessions_init(struct sessions *s, unsigned life_s)
{
    map_init(&s->by_key);
    map_init(&s->reading);
    list_init(&s->used);
    list_init(&s->none);
    s->life_s = life_s;
    s->nones = 0;
}

static void drop(struct sessions *s, struct session *x)
{
    if (!x) return;
    map_remove(&s->by_key, str_n(x->key, SESSION_KEY_LEN));
    list_remove(&x->node);
    if (x->none) s->nones--;
    mem_free(x);
}

static struct session *first_of(struct list *l)
{
    return LIST_ITEM(l->next, struct session, node);
}

void sessions_done(struct sessions *s)
{
    while (!list_empty(&s->used)) drop(s, first_of(&s->used));
    while (!list_empty(&s->none)) drop(s, first_of(&s->none));
    map_done(&s->by_key);
    map_done(&s->reading);
}

size_t sessions_count(const struct sessions *s)
{
    return s->by_key.count;
}

/* --- ids and keys ----------------------------------------------------------------------------- */

static bool hex_digest(struct str text, char hex[2 * DIGEST_LEN + 1])
{
    unsigned char d[DIGEST_LEN];

    if (EVP_Digest(text.ptr, text.len, d, NULL, EVP_sha256(), NULL) != 1) return false;
    for (size_t i = 0; i < sizeof d; i++) snprintf(hex + 2 * i, 3, "%02x", d[i]);
    return true;
}

bool session_key(struct str id, char key[SESSION_KEY_LEN + 1])
{
    char hex[2 * DIGEST_LEN + 1];

    if (id.len != SESSION_ID_LEN || !id_valid(id, SESSION_ID_LEN) || !hex_digest(id, hex))
        return false;
    snprintf(key, SESSION_KEY_LEN + 1, "browser/%.*s/%s", SESSION_TAG_LEN, id.ptr, hex);
    return true;
}

bool session_family(struct str name, char out[SESSION_FAMILY_LEN + 1])
{
    char hex[2 * DIGEST_LEN + 1];

    if (!hex_digest(name, hex)) return false;
    snprintf(out, SESSION_FAMILY_LEN + 1, "browser/%.*s/", SESSION_TAG_LEN, hex);
    return true;
}

static bool spell(struct str name, char id[SESSION_ID_LEN + 1])
{
    char hex[2 * DIGEST_LEN + 1];

    if (!hex_digest(name, hex)) return false;
    memcpy(id, hex, SESSION_TAG_LEN);
    id_letters(id + SESSION_TAG_LEN, SESSION_ID_LEN - SESSION_TAG_LEN); /* six bits each */
    id[SESSION_ID_LEN] = '\0';
    return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct str body_of(const struct principal *p, int64_t told_s, struct arena *mem)
{
    struct buf   b;
    struct jsonw w;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "name", p->name);
    jw_kstr(&w, "proof", p->proof);
    jw_kint(&w, "roles", p->roles);
    jw_kint(&w, "until", p->until_s);
    jw_kint(&w, "told", told_s);
    jw_kbool(&w, "answers", p->may_answer);
    if (p->mcp_only) jw_kbool(&w, "mcp", true);
    if (p->words.ptr) jw_kstr(&w, "words", p->words);
    if (p->claims.ptr) jw_kstr(&w, "claims", p->claims);
    jw_end_obj(&w);
    struct str body = b.err ? STR_NONE : arena_dup(mem, buf_view(&b));
    buf_done(&b);
    return body;
}

bool session_read(struct str body, struct arena *mem, struct principal *p, int64_t *told_s)
{
    struct jv *v;

    if (json_parse(mem, arena_dup(mem, body), &v, NULL) != OK) return false;
    *p = (struct principal){ .name = jv_str_at(v, "name"),
                             .proof = jv_str_at(v, "proof"),
                             .roles = (unsigned)jv_int_at(v, "roles", 0),
                             .until_s = jv_int_at(v, "until", 0),
                             .may_answer = jv_true(jv_get(v, "answers")),
                             .mcp_only = jv_true(jv_get(v, "mcp")),
                             .words = jv_str_at(v, "words"),
                             .claims = jv_str_at(v, "claims") };
    *told_s = jv_int_at(v, "told", 0);
    return p->name.len && p->name.len <= PRINCIPAL_MAX && p->until_s > 0;
}

static int64_t end_of(const struct sessions *s, const struct principal *p, int64_t now_s)
{
    int64_t end = now_s + s->life_s;
    return end < p->until_s ? end : p->until_s;
}

enum err sessions_begin(const struct sessions *s, const struct principal *p, int64_t wall_ms,
                        char id[SESSION_ID_LEN + 1], struct arena *mem, struct session_row *row)
{
    char             key[SESSION_KEY_LEN + 1];
    struct principal who = *p;
    int64_t          now_s = wall_ms / 1000, last = now_s + SESSIONS_HOURS * 3600;

    if (!who.until_s || who.until_s > last) who.until_s = last;
    if (!spell(p->name, id) || !session_key(str_c(id), key)) return ERR_NOMEM;
    int64_t ends = end_of(s, &who, now_s);
    /* to the millisecond: of several that begin in one second the first is the oldest */
    *row = (struct session_row){ arena_dup(mem, str_c(key)), body_of(&who, ends, mem),
                                 ends * 1000 + wall_ms % 1000 };
    return row->key.ptr && row->body.ptr ? OK : ERR_NOMEM;
}

enum err sessions_row(const struct sessions *s, struct str key, struct arena *mem,
                      struct session_row *row)
{
    const struct session *x = map_get(&s->by_key, key);

    if (!x || x->none) return ERR_NOT_FOUND;
    *row = (struct session_row){ arena_dup(mem, key), body_of(&x->who, x->told_s, mem),
                                 x->row_s * 1000 };
    return row->key.ptr && row->body.ptr ? OK : ERR_NOMEM;
}

/* --- what was read ---------------------------------------------------------------------------- */

/* A store that was slow to answer must not have its answer thrown away: half of the time is left in
 * any case. */
static uint64_t read_at(uint64_t asked_ms, uint64_t now_ms)
{
    uint64_t least = now_ms - SESSION_FRESH_MS / 2;
    return now_ms < SESSION_FRESH_MS / 2 || asked_ms > least ? asked_ms : least;
}

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
    x->who.proof = place(&at, p->proof);
    x->who.user_header = place(&at, p->user_header);
}

static struct session *session_new(struct sessions *s, struct str key, const struct principal *p)
{
    size_t          room = p->name.len + p->words.len + p->claims.len + p->proof.len;
    struct session *x = mem_alloc(sizeof *x + room + p->user_header.len);

    if (!x) return NULL;
    must(key.len == SESSION_KEY_LEN);
    memcpy(x->key, key.ptr, SESSION_KEY_LEN);
    list_init(&x->node);
    keep(x, p);
    if (map_put(&s->by_key, str_n(x->key, SESSION_KEY_LEN), x) == OK) return x;
    mem_free(x);
    return NULL;
}

enum err sessions_learn(struct sessions *s, const struct session_row *row,
                        const struct principal *p, int64_t told_s, uint64_t asked_ms,
                        uint64_t now_ms)
{
    struct session *old = map_get(&s->by_key, row->key);
    int64_t         row_s = row->ends_ms / 1000, ends_s = row_s;

    if (old && !old->none && old->ends_s > ends_s) ends_s = old->ends_s;
    if (old && !old->none && old->told_s > told_s) told_s = old->told_s;
    drop(s, old);
    if (s->by_key.count - s->nones >= SESSIONS_MAX) drop(s, first_of(&s->used));
    struct session *x = session_new(s, row->key, p);
    if (!x) return ERR_NOMEM;
    x->row_s = row_s;
    x->ends_s = ends_s;
    x->told_s = told_s;
    x->read_ms = read_at(asked_ms, now_ms);
    list_add(&s->used, &x->node);
    return OK;
}

enum err sessions_none(struct sessions *s, struct str key, uint64_t asked_ms, uint64_t now_ms)
{
    drop(s, map_get(&s->by_key, key));
    if (s->nones >= SESSIONS_NONE) drop(s, first_of(&s->none));
    struct session *x = session_new(s, key, &(struct principal){ 0 });
    if (!x) return ERR_NOMEM;
    x->none = true;
    s->nones++;
    x->read_ms = read_at(asked_ms, now_ms);
    list_add(&s->none, &x->node);
    return OK;
}

/* --- using ------------------------------------------------------------------------------------ */

/* Behind the last one: it was used just now. */
static void touch(struct sessions *s, struct session *x, int64_t now_s, struct session_seen *out)
{
    int64_t step = s->life_s / 20 ? s->life_s / 20 : 1;

    list_remove(&x->node);
    list_add(&s->used, &x->node);
    x->ends_s = end_of(s, &x->who, now_s);
    /* Told again when half of its time is used up: not a header on every answer. */
    if (x->told_s - now_s < s->life_s / 2 && x->ends_s > x->told_s) {
        x->told_s = x->ends_s;
        out->fresh_s = (unsigned)(x->ends_s - now_s);
    }
    if (x->ends_s - x->row_s < step && !out->fresh_s) return;
    x->row_s = x->ends_s; /* if that fails, the next reading says so */
    out->write = true;
}

enum session_is sessions_look(struct sessions *s, struct str key, int64_t now_s, uint64_t now_ms,
                              struct session_seen *out)
{
    struct session *x = map_get(&s->by_key, key);

    *out = (struct session_seen){ 0 };
    if (!x || now_ms - x->read_ms >= SESSION_FRESH_MS) return SESSION_IS_UNREAD;
    if (x->none || x->ends_s <= now_s) return SESSION_IS_NONE;
    touch(s, x, now_s, out);
    out->who = x->who;
    return SESSION_IS_KNOWN;
}
