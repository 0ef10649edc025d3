/* oauth_int.h -- the inside of the OAuth client. Private to oauth*.c.
 *
 *   oauth.c        tokens: kept, wanted, refreshed
 *   oauth_flow.c   connecting: discovery, registration, there and back
 *   oauth_net.c    one request to an authorization server; rows of the vault
 *   oauth_read.c   what they say (pure)
 */
#ifndef PARLEY_OAUTH_INT_H
#define PARLEY_OAUTH_INT_H

#include "base/jsonw.h"
#include "base/list.h"
#include "base/map.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "loop/loop.h"
#include "tool/mcp/oauth.h"
#include "tool/mcp/oauth_read.h"

#define OAUTH_PEOPLE_MAX \
    1000 /* in memory; beyond, whoever wanted nothing for longest is read again */
#define OAUTH_BEGINS_MAX 100
#define OAUTH_USED_MAX   100 /* ways back that were taken, the last ones */
#define OAUTH_FOUND_MS   (10 * 60 * 1000)
#define OAUTH_TRY_MS     (10 * 60 * 1000) /* from there to back */
/* a token that ends so soon is refreshed first; one that never lives long, in its last quarter */
#define OAUTH_EARLY_MS 30000
/* a refresh is over by then, or its node died; and how often the others look */
#define OAUTH_CLAIM_MS 15000
#define OAUTH_REST_MS  200
#define OAUTH_NODE     16

/* Where tokens come from: what a refresh needs. */
struct oauth_source {
    struct str          issuer, token; /* token: the endpoint */
    struct str          resource;      /* for whom: as the server calls itself */
    struct oauth_client client;
    bool                secret_posted;
};

struct oauth_person {
    struct list   node, wants;
    struct oauth *o;
    struct arena  arena; /* name, key */
    struct str    name, key;
    struct secret access, refresh, source; /* source: JSON of an oauth_source */
    int64_t       ends_ms;                 /* of the access token; wall clock; 0: not said */
    int64_t       early_ms;                /* so long before that it is refreshed */
    bool          busy;                    /* a row or a refresh is under way */
    unsigned      pins;                    /* answers under way that will look for it */
    /* how often they connected here; a row or refresh that was begun before the last time is old */
    unsigned      turn, begun;
    bool          loaded, stale, reread;
    struct buf    row;            /* as it was read or written last, sealed */
    struct buf    scope;          /* what they allowed; "": not known */
    struct buf    lacks;          /* what a call wants beyond it: they are to connect again */
    int64_t       claim_ms;       /* so long only who claimed it refreshes; wall clock; 0: nobody */
    bool          claimed, rests; /* by us; another does, and it is looked at again in a moment */
    bool          ready;          /* its wants are to be told: in o->dirty's flush */
    const char   *why;
};

/* What is known of the server as a whole; the row "mcp/SERVER". */
struct oauth_own {
    struct arena        arena;
    bool                loaded, failed; /* failed: the last reading */
    bool                fresh; /* read for whoever connects now: another node may register */
    struct str          issuer, redirect_uri, lister;
    struct oauth_client client; /* id STR_NONE: not registered */
    struct buf          row;    /* as it was read last, sealed: another one is news */
};

struct oauth {
    struct oauth_setup  setup;
    struct arena        arena;
    bool                near; /* the server is on this machine */
    struct list         people;
    struct map          by_name;
    struct list         listers; /* wants of whoever connected last, until that is known */
    struct list         refused; /* wants for which there was no memory */
    struct loop_dirty   dirty;
    struct loop_timer   rest;             /* of people who rest */
    char                node[OAUTH_NODE]; /* who claims: this process */
    struct oauth_own    own;
    /* of the last discovery */
    struct arena        found;
    uint64_t            found_ms; /* 0: none */
    struct oauth_server as;
    struct str          scopes, resource;
    struct buf          metadata, scope; /* of the last challenge */
    struct list         begins;
    bool                looking; /* oauth_look */
    bool                finding; /* the first of them is being worked on */
    /* digests of their `state`, in a ring */
    uint8_t             used[OAUTH_USED_MAX][SHA256_LEN];
    size_t              used_next;
    bool                looked; /* what it had and lacked is in `more` */
    struct buf          more;
    struct list         transfers;
    unsigned            open;
    bool                closing;
    void (*done)(void *ctx);
    void *ctx;
};

/* --- oauth_net.c --- */
struct oauth_answer {
    const char      *why; /* NULL: it answered */
    long             status;
    const struct jv *doc; /* NULL: no JSON */
};
struct oauth_transfer {
    struct list        node;
    struct curl_job    job;
    struct oauth      *o;
    struct arena       arena; /* of the answer, and of whatever the owner puts there */
    struct buf         body, form;
    struct curl_slist *headers;
    void (*done)(struct oauth_transfer *t, const struct oauth_answer *a);
    void *ctx;
};
/* NULL: no memory. It is freed after done. A GET, or a POST of `form` once that is filled in. */
struct oauth_transfer *oauth_transfer_new(struct oauth *o, struct str url,
                                          void (*done)(struct oauth_transfer *,
                                                       const struct oauth_answer *));
void                   oauth_transfer_free(struct oauth_transfer *t); /* instead of starting it */
bool                   oauth_post(struct oauth_transfer *t, const char *type);
void                   oauth_start(struct oauth_transfer *t);
/* Says who we are in the form, and by which secret. False: no memory. */
bool                   oauth_authenticate(struct oauth_transfer *t, const struct oauth_source *s);

/* A row, sealed and opened on the way. `plain` is wiped after done. */
struct oauth_row {
    struct vault_job job; /* body: as it is kept, sealed; valid during done */
    struct oauth    *o;
    struct arena     arena;
    /* get: v NULL with OK: there is none, or none that opens with our key */
    void (*done)(struct oauth_row *r, enum err e, const struct jv *v);
    void *ctx;
};
/* False: no memory, or closed; done is not called. */
bool oauth_row_get(struct oauth *o, struct str                                          key,
                   void (*done)(struct oauth_row *, enum err, const struct jv *), void *ctx);
/* `was`: only in place of that, else ERR_NOT_FOUND and nothing is put; STR_NONE: in any case */
bool oauth_row_put(struct oauth *o, struct str key, struct buf *plain, struct str was,
                   void (*done)(struct oauth_row *, enum err, const struct jv *), void *ctx);
void oauth_row_end(struct oauth *o, struct str key, struct str was);

/* --- oauth.c --- */
void                 oauth_close(struct oauth *o); /* one thing less is under way */
struct oauth_person *oauth_person(struct oauth *o, struct str name); /* NULL: no memory */
/* Their new tokens, also as the row's text. False: no memory. */
bool                 oauth_person_take(struct oauth_person *p, const struct oauth_grant *g,
                                       const struct oauth_source *s);
void                 oauth_person_write(const struct oauth_person *p, struct buf *out);
void                 oauth_person_row(struct oauth_person *p, struct str sealed); /* is so now */
void                 oauth_person_ready(struct oauth_person *p, const char *why);
void                 oauth_source_write(struct jsonw *w, const struct oauth_source *s);
void                 oauth_source_read(struct oauth_source *s, const struct jv *v);
void                 oauth_own_write(const struct oauth *o, struct buf *out);
struct str           oauth_own_key(struct oauth *o, struct arena *a);
/* What was read of the server's own row. True: it is another than before. */
bool                 oauth_own_take(struct oauth_row *r, enum err e, const struct jv *v);
/* The server's own row, read once: oauth_pump goes on then, also when it could not be. False: no
 * memory. */
MUST_CHECK bool      oauth_own_load(struct oauth *o);

/* --- oauth_flow.c --- */
void oauth_pump(struct oauth *o);

#endif
