/* store_help.h -- a store on a loop of its own, and requests that can be waited for.
 *
 * Answers are rendered as text ("1 user {}\n2 ..."), so that a test compares one
 * string. fix_wait runs the loop until every request sent has its answer.
 */
#ifndef PARLEY_STORE_HELP_H
#define PARLEY_STORE_HELP_H

#include "base/buf.h"
#include "store/store.h"

struct fix {
    struct loop   loop;
    struct store *store;
    struct arena  arena;
    struct str    why;     /* when opening failed */
    int           pending; /* requests without an answer */
    uint64_t      looked;  /* rows that the last search in what was said compared */
    struct fix   *host;    /* whose loop it is, when not its own: a second node */
};

void     fix_init(struct fix *f);
enum err fix_open(struct fix *f, const char *url);
enum err fix_open_node(struct fix *f, const char *url, const char *node_url);
/* Opening it fails, and says so in these words. */
void     fix_refused(const char *url, enum err want, const char *words);
void     fix_done(struct fix *f); /* closes what is open */
void     fix_wait(struct fix *f);
void     fix_turn(struct fix *f); /* of the loop, once */

struct ap {
    struct store_append a;
    struct store_fact   fact;
    struct fix         *f;
    enum err            e;
    bool                done;
};
/* One fact of kind "note" with `body`; further members of p->a may be set before ap_send. */
void     ap_init(struct ap *p, const char *owner, const char *thread, uint64_t expected,
                 const char *body);
/* It claims a request id for a run. */
void     ap_request(struct ap *p, const char *id, const char *run);
void     ap_send(struct fix *f, struct ap *p);
enum err ap_run(struct fix *f, struct ap *p); /* send and wait */
enum err fix_append(struct fix *f, const char *owner, const char *thread, uint64_t expected,
                    const char *body);

struct cl {
    struct store_claim c;
    struct fix        *f;
    enum err           e;
    bool               done;
    char               node[64]; /* with ERR_BUSY: who */
};
void      cl_send(struct fix *f, struct cl *c, const char *owner, const char *thread);
struct cl cl_run(struct fix *f, const char *owner, const char *thread);

struct rd {
    struct store_read r;
    struct fix       *f;
    struct buf        text;
    enum err          e;
    bool              done;
    void (*on_done)(struct rd *);
};
void rd_send(struct fix *f, struct rd *r, const char *owner, const char *thread, uint64_t after);
/* The facts after `after` as "seq kind body;" each, or the error's name; in the fixture's arena. */
struct str fix_read(struct fix *f, const char *owner, const char *thread, uint64_t after);

/* Rows as text, "a b c;" each, then "next" if there is more; or the error's name.
 * *next may be NULL. */
struct str  fix_list(struct fix *f, struct store_list l, struct str *next);
/* Returns when a fruitless search in what `owner` said looks at so few rows: the store has made its
 * index meanwhile. */
void        fix_said_indexed(struct fix *f, const char *owner, uint64_t few);
/* A case for every store there is: it gets one that is open and empty; `store_url` opens the same
 * one again. */
extern char store_url[512];
void        with_each_store(void (*run)(struct fix *));
#define STORE_TEST(name)                    \
    static void case_##name(struct fix *f); \
    TEST(name)                              \
    {                                       \
        with_each_store(case_##name);       \
    }                                       \
    static void case_##name(struct fix *f)

/* "body ends_ms", or the error's name */
struct str fix_session(struct fix *f, enum store_session_op op, const char *key, const char *body,
                       int64_t ends_ms);
/* A put that counts its family. */
struct str fix_session_was(struct fix *f, enum store_session_op op, const char *body,
                           const char *was); /* of "key" */
struct str fix_session_each(struct fix *f, const char *key, int64_t ends_ms, unsigned each);
enum err   fix_release_all(struct fix *f);
enum err   fix_edit(struct fix *f, const char *owner, const char *thread, const char *title,
                    bool remove);
enum err   fix_trim(struct fix *f, const char *owner, const char *thread, struct store_trim t);
enum err   fix_remove(struct fix *f, const char *owner, const char *thread, const char *stub,
                      int64_t at_ms);
enum err   fix_erase(struct fix *f, struct store_erase x);
enum err   fix_retitle(struct fix *f, const char *owner, const char *thread, const char *title,
                       const char *was);

#endif
