/* app.h -- what the handlers work with: the parts main.c has joined, and small
 * helpers that every door uses.
 */
#ifndef PARLEY_APP_H
#define PARLEY_APP_H

#include "base/jsonw.h"
#include "dialect/request.h"
#include "net/conn.h"
#include "run/hub.h"

struct principal {
    struct str name;
    unsigned   roles;
};

struct app {
    struct hub      *hub;
    struct store    *store;
    struct registry *registry;
    struct server   *server;
    struct principal local;          /* who everybody is while no auth is configured */
    struct str      *hosts;   size_t host_count;      /* allowed Host names, lower case, without port */
    struct str      *origins; size_t origin_count;    /* allowed origins beside our own */
};

static inline struct app *app_of(struct server *s) { return server_app(s); }
struct str owner_of(const struct request *q);

/* A command in flight for a connection that waits for its answer. If the client
 * leaves, the command goes on and its answer is dropped. */
struct ask {
    struct conn_hold hold;
    struct conn     *conn;           /* NULL: the client left */
    struct app      *app;
    void           (*answered)(struct ask *k, struct command *c, const struct answer *a);
    /* what a door needs afterwards */
    const struct dialect *dialect;
    bool             reasoning, native;
};
/* Sends the command; `answered` is called on success and error while the client is still there. Takes both. */
void ask_submit(struct ask *k, struct command *c);
struct ask *ask_new(struct server *s, struct request *q, void (*answered)(struct ask *, struct command *, const struct answer *));

/* {"error":{"code","message","run_id"?}} */
void answer_error(struct conn *c, const struct answer *a);
void refusal_error(struct conn *c, const struct refusal *r);
/* The security event of an answer that nobody honest would send. `why` is the code it is refused with. */
void log_refused(struct str by, const char *via, struct str thread, struct str id, const char *why);
/* Is this refusal one of those? */
bool is_suspicious(const struct refusal *r);
/* A whole JSON answer; takes the buffer. */
void json_reply(struct conn *c, int status, struct buf *body);
/* A command from a request: owner set. Answers 503 itself and returns NULL without memory. */
struct command *command_for(struct request *q, enum command_kind kind, const char *via);

/* --- handlers, by file --- */
void door_typed(struct server *s, struct request *q);          /* doors.c */
void door_toolcalls(struct server *s, struct request *q);
void door_events(struct server *s, struct request *q);
void door_chat(struct server *s, struct request *q);           /* aisdk.c */
void door_chat_resume(struct server *s, struct request *q);
void door_stream(struct server *s, struct request *q);
void door_stream_resume(struct server *s, struct request *q);
void door_live(struct server *s, struct request *q);            /* live.c */
void door_chat_ws(struct server *s, struct request *q);         /* chatws.c */
void rest_threads(struct server *s, struct request *q);         /* rest.c */
void rest_thread_new(struct server *s, struct request *q);
void rest_thread(struct server *s, struct request *q);
void rest_thread_edit(struct server *s, struct request *q);
void rest_thread_delete(struct server *s, struct request *q);
void rest_stop(struct server *s, struct request *q);
void rest_action(struct server *s, struct request *q);
void rest_result(struct server *s, struct request *q);
void rest_claim(struct server *s, struct request *q);
void rest_approvals(struct server *s, struct request *q);       /* approvals.c */
void rest_approval(struct server *s, struct request *q);
void rest_decide(struct server *s, struct request *q);
void rest_settle(struct server *s, struct request *q);
void ops_tools(struct server *s, struct request *q);            /* ops.c */
void ops_health(struct server *s, struct request *q);
void ops_ready(struct server *s, struct request *q);
void ops_metrics(struct server *s, struct request *q);
void web_page(struct server *s, struct request *q);             /* web.c */
extern const struct route app_routes[];                         /* routes.c */
bool guard_check(struct server *s, struct request *q);          /* guard.c */

#endif
