/* audit_help.c -- see audit_help.h. */
#include "audit_help.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "audit/checkpoint.h"

struct str audit_pem(struct arena *a, bool private)
{
    EVP_PKEY  *p = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    BIO       *out = BIO_new(BIO_s_mem());
    char      *text;
    struct str pem;

    REQUIRE(p && out);
    REQUIRE(private ? PEM_write_bio_PrivateKey(out, p, NULL, NULL, 0, NULL, NULL)
                    : PEM_write_bio_PUBKEY(out, p));
    long len = BIO_get_mem_data(out, &text);
    pem = arena_dup(a, str_n(text, (size_t)len));
    BIO_free(out);
    EVP_PKEY_free(p);
    return pem;
}

struct sign_keys audit_key(struct arena *a)
{
    struct sign_keys k = { 0 };
    const char      *why;

    REQUIRE(sign_keys_read(&k, audit_pem(a, true), &why) == OK);
    return k;
}

struct sign_keys keys;
uint64_t         number;
struct str       last;  /* the last checkpoint */
bool             signs; /* its servers sign what they take out */

void audit_begin(struct fix *f)
{
    keys = audit_key(&f->arena);
    number = 0;
    last = STR_NONE;
    signs = false;
}

struct noting {
    struct store_list       list;
    struct store_checkpoint c;
    struct fix             *f;
    struct store_row        rows[8];
};

static void on_noted(struct store_checkpoint *c, enum err e)
{
    CHECK(e == OK);
    LIST_ITEM(c, struct noting, c)->f->pending--;
}

static void on_heads(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct noting *n = LIST_ITEM(l, struct noting, list);
    struct buf     payload, line;

    (void)next;
    REQUIRE(!e && count <= 8);
    buf_init(&payload, 0);
    buf_init(&line, 0);
    checkpoint_write(&payload, ++number, 1000, last, rows, count, signs);
    REQUIRE(sign_line(&keys, buf_view(&payload), &line) == OK);
    last = arena_dup(&n->f->arena, buf_view(&line));
    if (count) memcpy(n->rows, rows, count * sizeof *rows);
    n->c = (struct store_checkpoint){ .number = number,
                                      .at_ms = 1000,
                                      .line = last,
                                      .heads = n->rows,
                                      .head_count = count,
                                      .done = on_noted };
    store_checkpoint(n->f->store, &n->c);
    buf_done(&payload);
    buf_done(&line);
}

void audit_note(struct fix *f)
{
    struct noting n = { .f = f };

    n.list = (struct store_list){ .kind = STORE_HEADS, .done = on_heads };
    f->pending++;
    store_list(f->store, &n.list);
    fix_wait(f);
}

void audit_say(struct fix *f, const char *thread, uint64_t seq, const char *body, int64_t at_ms)
{
    struct ap p;

    ap_init(&p, "ann", thread, seq, body);
    p.fact.at_ms = at_ms;
    CHECK(ap_run(f, &p) == OK);
}

void audit_prepare(struct fix *f)
{
    audit_begin(f);
    audit_say(f, "t", 0, "one", 1);
    audit_say(f, "t", 1, "two", 2);
    audit_say(f, "u", 0, "other", 1);
    audit_note(f);
    audit_say(f, "t", 2, "three", 3);
    audit_say(f, "v", 0, "third", 1);
    audit_note(f);
}

struct str said; /* of the last verify */
uint64_t   unvouched;

void audit_told(void *ctx, struct str sentence)
{
    struct fix *f = ctx;
    said = arena_printf(&f->arena, STR_FMT STR_FMT ";", STR_ARG(said), STR_ARG(sentence));
}

uint64_t audit_problems(struct fix *f, struct str kept)
{
    struct verify v = { .keys = &keys, .kept = kept, .found = audit_told, .ctx = f };
    struct str    why = STR("");

    v.doubt = audit_told;
    said = STR("");
    REQUIRE(verify_store(&v, str_c(store_url), &f->arena, &why) == OK);
    unvouched = v.unvouched;
    return v.problems;
}
