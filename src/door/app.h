/* app.h -- what the handlers work with: the parts main.c has joined, and small
 * helpers that every door uses.
 */
#ifndef PARLEY_APP_H
#define PARLEY_APP_H

#include "auth/auth.h"
#include "auth/starttoken.h"
#include "base/jsonw.h"
#include "dialect/request.h"
#include "door/turnstile.h"
#include "http/conn.h"
#include "run/caller.h"
#include "run/hub.h"

struct strs {
    const struct str *list;
    size_t            count;
};

/* How the page presents itself. The first part is given, the rest is made of it (web.c). */
struct page_look {
    struct str  name, json; /* json: what the page is told */
    struct strs languages;  /* of en, de, ja; at least one */
    struct str  logo;
    const char *logo_type; /* NULL: the built-in one */
    char        colour[8]; /* "#1f5eff" */
    struct buf  page, packed, manifest;
    char        etag[24];
};

struct links;
struct mcp;
struct mcps;

const char *context_name(enum context c);

/* Who may read a conversation that somebody shared: nobody, who is signed in, everybody. */
enum share_with { SHARE_OFF, SHARE_SIGNED_IN, SHARE_ANYONE };

struct app {
    struct hub        *hub;
    struct mcps       *mcp; /* door/mcp: the door for MCP clients */
    struct registry   *registry;
    struct mcp       **servers; /* those behind us, by which tools come */
    size_t             server_count;
    struct server     *server;
    struct principal   local; /* who everybody is while no auth is configured */
    struct start_token token; /* and whether more must be shown than being here */
    /* NULL, or nothing configured in it: everybody is `local` */
    struct auth       *auth;
    struct quota      *quota;
    struct links      *links; /* to other nodes; NULL: there are none */
    /* who has no role approver decides nothing; who has, everybody's */
    bool               approvers_only;
    /* what they may read beside it */
    enum share_with    share;
    struct str         host;      /* the one we listen on, as it stands in Host */
    struct str         node_host; /* the one in cluster.url; STR_NONE: there is none */
    struct strs        hosts;     /* further Host names, lower case, without port */
    struct strs        origins;   /* allowed origins beside our own */
    struct strs        cors;      /* those that may read the answers, too */
    struct page_look   look;
    struct strs        embed;      /* those that may show us in their pages: read, and frame */
    struct str         links_key;  /* what links to questions are signed with; STR_NONE: none */
    struct str         public_url; /* what links to us begin with; STR_NONE: as a request says */
    /* what clients of OpenAI's shapes may do, and what else they may call our models */
    struct openai_setup {
        bool words, functions;
        const struct model_alias {
            struct str name, page;
        } * aliases;
        size_t      alias_count;
        struct strs chat_headers;
    } openai;
    struct openai_turn *turns; /* of these, on their way to a thread: openai.h */
    /* whole conversations; searches; other lists of the store */
    struct turnstile    reads, searches, lists;
    struct strs         proxies; /* addresses that are believed about X-Forwarded-Proto */
    /* see may_complain */
    struct {
        uint64_t since_ms;
        unsigned lines, dropped;
    } complaints;
};

/* A door that tells runs as events: what its row in routes.c says of it. */
struct door {
    const struct dialect *dialect;
    const char           *via;      /* how a decision came, and what the log calls it */
    bool                  native;   /* its form of approvals, where a request does not choose */
    bool                  chat;     /* of OpenAI's two shapes the elder: chat completions */
    bool                  sessions; /* a body's sessionId names the thread */
    /* its clients show the body of an error to people: one sentence instead of JSON */
    bool                  plain_errors;
    /* before anything is said: what stands on every answer there; NULL: nothing */
    void (*enter)(struct request *q);
    /* or errors have a shape of their own there; NULL: they have not */
    void (*refuse)(struct request *q, int status, const char *code, const char *message);
    /* the same of what the server itself refuses: its body, and its type */
    const char *(*error)(struct request *q, struct buf *out, int status, const char *code,
                         const char *message);
    /* its clients find out from a 401 or 403 where to get a token, which may be good for this door
     * alone (mcp_only); NULL: they have one */
    void (*challenge)(struct request *q, const char *error);
};

/* Beside the roles of principal.h, in a route's access. Nothing: ROLE_USER. */
enum access {
    EVERYBODY = 8,   /* no principal is needed, and none is looked for */
    SAYS_LATER = 16, /* a WebSocket whose first message may say who it is */
    KEYS_ONLY = 64,  /* a browser's cookie does not count here */
    /* what is done here is a person's alone, whatever the body says: where there is a start token
     * it has to be shown. (Doors where the body says what it is: command.c, by the command's
     * kind.) */
    ANSWERS = 256,
};

static inline struct app *app_of(struct server *s)
{
    return server_app(s);
}
struct str             owner_of(const struct request *q);
/* the same with what is asked about them: caller.h */
struct caller          caller_of_request(const struct request *q);
/* A page that is not for them is a page that is not there: NULL. */
const struct hub_page *page_for(const struct request *q, struct str name);
/* May they decide what waits for a decision (their own, unless only approvers may)? */
bool                   may_decide(const struct app *a, const struct principal *p);
/* One more message of a socket, whatever it brings: false when they send too many. `refused` is the
 * socket's own count of those in a row: to say no is work, too, so it is closed after some. */
bool                   may_send(struct app *a, struct conn *c, struct str who, unsigned *refused);

/* --- identify.c --- */
enum identity {
    IDENTITY_KNOWN,
    IDENTITY_NONE,
    IDENTITY_BAD,
    IDENTITY_LATER,
    IDENTITY_FOREIGN,
    /* their session is being read, or their roles written: it was answered, or will begin anew */
    IDENTITY_ASKED,
};
/* Sets q->principal when it is known, and how long its streams may last. *why: for the log. */
enum identity identify(struct app *a, struct request *q, const char **why);
struct str    identify_bearer(const struct request *q); /* STR_NONE: there is none */
void identify_set_cookie(const struct app *a, struct request *q, struct str id, unsigned seconds);
/* does the browser speak https, as a proxy that is believed says? */
bool identify_https(const struct app *a, const struct request *q);
struct str identify_cookie(const struct request *q, const char *name); /* STR_NONE: none */
/* The request's cookies that may name a session, if they count (another site's do not); how
 * many. */
#define SESSION_COOKIES_MAX 8
size_t              identify_sessions(const struct app *a, const struct request *q,
                                      struct str ids[SESSION_COOKIES_MAX]);
/* what else their roles mean here; and they were seen: as people_saw */
MUST_CHECK enum err identify_roles(struct app *a, struct principal *p);
/* they are known now; its streams end when their proof does */
void                identify_until(struct conn *c, const struct principal *p);
/* One more log line about somebody who is not known? Those that are not written are counted, and
 * the count is. */
bool                may_complain(struct app *a);
void                identify_failed(const struct conn *c, const char *why, struct str path);

/* --- sessionrow.c --- */
/* Whose session it is; SESSION_IS_UNREAD: session_wait, and ask again. */
enum session_is session_look(struct app *a, struct str id, struct session_seen *out);
/* Begins the request anew once that was read; answers 503 if it cannot be. */
void            session_wait(struct app *a, struct request *q, struct str id);
/* A session for `p`, told when it is saved, with its cookie in the answer's headers. p NULL: it
 * could not be; c NULL: they left. False: no memory, and it is not told. */
typedef void (*session_given)(void *ctx, struct conn *c, const struct principal *p);
bool session_give(struct app *a, struct request *q, const struct principal *p, session_given given,
                  void *ctx);
/* Ends sessions; told when they are over everywhere (or not), while the client is there. NULL: it
 * need not be told. False: no memory, and it is not told. */
typedef void (*session_ended)(struct conn *c, bool over);
bool session_end_all(struct app *a, struct request *q, const struct str *ids, size_t count,
                     session_ended ended);

/* A command in flight for a connection that waits for its answer. If the client
 * leaves, the command goes on and its answer is dropped. */
struct ask {
    struct conn_hold hold;
    struct conn     *conn; /* NULL: the client left */
    struct app      *app;
    void (*answered)(struct ask *k, struct command *c, const struct receipt *a);
    /* ask_submit_long, listing_send: in line; `drop` frees what waits when its client left */
    struct turnstile_place place;
    void (*drop)(struct ask *k);
    struct command    *command;
    /* what a door needs afterwards */
    const struct door *door;
    bool               reasoning, native;
    struct str         run;        /* the one to follow, in the command's memory */
    uint64_t           seq, units; /* or everything after this place */
    struct str         before;     /* one page of a conversation; as `run` */
    size_t             limit;
    void              *ctx;
    void (*left)(void *ctx); /* instead of `answered`, when nobody waits any more; may be NULL */
};
/* Sends the command; `answered` is called on success and error while the client is still there.
 * Takes both. */
void        ask_submit(struct ask *k, struct command *c);
/* The same for an answer that is long to make: it waits for its turn (turnstile.h), and is not
 * asked for at all if the client leaves before. */
void        ask_submit_long(struct ask *k, struct command *c);
struct ask *ask_new(struct server *s, struct request *q,
                    void (*answered)(struct ask *, struct command *, const struct receipt *));
/* The waiting alone, for a door that sends several commands for one request: ask.conn is NULL once
 * the client left. */
void        ask_init(struct ask *k, struct server *s, struct request *q);

/* One of the store's lists for a connection that waits for it; like an ask. Filters are copied into
 * `arena`. `done` frees it. */
struct listing {
    struct store_list list;
    struct ask        ask;
    struct arena      arena;
    bool              one; /* a single row is shown, or 404 */
};
struct listing *listing_new(struct server *s, struct request *q, enum store_list_kind kind);
void            listing_send(struct listing *k);
void            listing_free(struct listing *k);
/* Answers what went wrong; false: nothing did, or the client left. */
bool            listing_failed(struct listing *k, enum err e);

/* {"error":{"code","message","run_id"?}} */
void reply_error(struct conn *c, const struct receipt *a);
void retry_after(struct conn *c, unsigned seconds); /* the header; 0: none */
void refusal_error(struct conn *c, const struct refusal *r);
/* The security event of an answer that nobody honest would send. `why` is the code it is refused
 * with. */
void log_refused(struct str by, const char *via, struct str thread, struct str id, const char *why);
/* Is this refusal one of those? */
bool is_suspicious(const struct refusal *r);
/* Parley-Thread and, with a run, Parley-Run: before answering. (Streams say them by themselves:
 * follow.h) */
void reply_place(struct conn *c, const struct receipt *a);
/* A whole JSON answer; takes the buffer. */
void json_reply(struct conn *c, int status, struct buf *body);
/* One that is an object: between the two its members are written. */
void json_reply_begin(struct buf *body, struct jsonw *w);
void json_reply_end(struct conn *c, int status, struct buf *body, struct jsonw *w);
/* A command from a request: owner set. Answers 503 itself and returns NULL without memory. */
struct command *command_for(struct request *q, enum command_kind kind, const char *via);

/* --- threadlist.c --- */
/* `?limit=`; absent leaves it as it is. False: answered. */
bool rest_limit(struct request *q, uint64_t *limit);

/* --- approvals.c --- */
/* Do they see everybody's, whatever rules there are? */
bool approvals_all(const struct app *a, const struct request *q);
/* The approval of an event as they see it; false: they do not. `at_ms`: by the levels that had
 * begun then; 0: by how it stands. */
bool approval_show_event(struct buf *out, const struct app *app, const struct store_row *event,
                         const struct principal *p, bool all, int64_t at_ms);

/* --- handlers, by file --- */
void                      door_sse(struct server *s, struct request *q); /* sse.c */
void                      door_events(struct server *s, struct request *q);
void                      door_chat(struct server *s, struct request *q); /* chathttp.c */
void                      door_chat_resume(struct server *s, struct request *q);
void                      door_live(struct server *s, struct request *q);    /* live.c */
void                      door_chat_ws(struct server *s, struct request *q); /* chatws.c */
void                      door_agui(struct server *s, struct request *q);    /* aguihttp.c */
void                      door_agui_connect(struct server *s, struct request *q);
void                      door_agui_info(struct server *s, struct request *q); /* aguiinfo.c */
void                      door_agui_capabilities(struct server *s, struct request *q);
void                      door_agui_stop(struct server *s, struct request *q);
void                      door_adk_stream(struct server *s, struct request *q); /* adkserver.c */
void                      door_adk_run(struct server *s, struct request *q);
void                      door_adk_apps(struct server *s, struct request *q);
void                      door_adk_sessions(struct server *s, struct request *q);
void                      door_adk_session(struct server *s, struct request *q);
void                      door_adk_session_new(struct server *s, struct request *q);
void                      door_adk_session_delete(struct server *s, struct request *q);
void                      door_openai(struct server *s, struct request *q);   /* openai_turn.c */
void                      openai_models(struct server *s, struct request *q); /* openai_rest.c */
void                      openai_model(struct server *s, struct request *q);
void                      openai_response(struct server *s, struct request *q);
void                      openai_cancel(struct server *s, struct request *q);
void                      openai_delete(struct server *s, struct request *q);
void                      openai_input(struct server *s, struct request *q);
void                      openai_conversation_new(struct server *s, struct request *q);
void                      openai_conversation(struct server *s, struct request *q);
void                      openai_nothing(struct server *s, struct request *q);
void                      openai_conversation_label(struct server *s, struct request *q);
void                      openai_conversation_delete(struct server *s, struct request *q);
void                      rest_threads(struct server *s, struct request *q);    /* threadlist.c */
void                      rest_thread_new(struct server *s, struct request *q); /* rest.c */
void                      rest_thread(struct server *s, struct request *q);
void                      rest_thread_edit(struct server *s, struct request *q);
void                      rest_thread_delete(struct server *s, struct request *q);
void                      rest_stop(struct server *s, struct request *q);
void                      rest_action(struct server *s, struct request *q);
void                      rest_result(struct server *s, struct request *q);
void                      rest_claim(struct server *s, struct request *q);
void                      rest_approvals(struct server *s, struct request *q); /* approvals.c */
void                      rest_approval(struct server *s, struct request *q);
void                      rest_decide(struct server *s, struct request *q);
void                      rest_settle(struct server *s, struct request *q);
void                      door_inbox(struct server *s, struct request *q); /* askevents.c */
void                      rest_links(struct server *s, struct request *q); /* asklink.c */
void                      link_page(struct server *s, struct request *q);
void                      link_decide(struct server *s, struct request *q);
void                      rest_unvote(struct server *s, struct request *q);
void                      rest_grants(struct server *s, struct request *q); /* grants.c */
void                      rest_grant_revoke(struct server *s, struct request *q);
void                      rest_context(struct server *s, struct request *q); /* context.c */
void                      share_make(struct server *s, struct request *q);   /* share.c */
void                      share_show(struct server *s, struct request *q);
void                      share_take_back(struct server *s, struct request *q);
void                      share_read(struct server *s, struct request *q);
void                      rest_usage(struct server *s, struct request *q);    /* usage.c */
void                      why_trace(struct server *s, struct request *q);     /* why.c */
void                      people_erase(struct server *s, struct request *q);  /* forget.c */
void                      session_begin(struct server *s, struct request *q); /* signin.c */
void                      session_show(struct server *s, struct request *q);
void                      session_end(struct server *s, struct request *q);
void                      ops_node(struct server *s, struct request *q);    /* ops.c */
void                      login_begin(struct server *s, struct request *q); /* login.c */
void                      login_back(struct server *s, struct request *q);
/* A path of ours, and nothing that a browser could take for another host. */
bool                      login_path(struct str to);
void                      ops_tools(struct server *s, struct request *q); /* ops.c */
void                      ops_accept(struct server *s, struct request *q);
void                      ops_health(struct server *s, struct request *q);
void                      ops_ready(struct server *s, struct request *q);
void                      ops_metrics(struct server *s, struct request *q);
void                      mcp_post(struct server *s, struct request *q); /* mcp/mcps.c */
void                      mcp_get(struct server *s, struct request *q);
void                      mcp_delete(struct server *s, struct request *q);
void                      mcp_metadata(struct server *s, struct request *q);
void                      connect_begin(struct server *s, struct request *q); /* mcp/connect.c */
void                      connect_hop(struct server *s, struct request *q);
void                      connect_back(struct server *s, struct request *q);
void                      connect_end(struct server *s, struct request *q);
/* Somebody's accounts at all MCP servers, as far as this node has them in memory, and their
 * rows. */
void                      connect_forget(struct app *a, struct str principal);
/* the header of a 401 or 403 there; `error` NULL: none */
void                      mcp_challenge(struct request *q, const char *error);
/* How the keys of one principal's MCP sessions begin, as rows of the store. False: no memory. */
bool                      mcps_rows_of(struct arena *a, struct str owner, struct str *begins);
void                      web_page(struct server *s, struct request *q); /* web.c */
void                      web_file(struct server *s, struct request *q);
void                      web_logo(struct server *s, struct request *q);
void                      web_told(struct server *s, struct request *q);
void                      web_manifest(struct server *s, struct request *q);
/* Before the first request. ERR_NOMEM. web_undress gives the memory back, also after that. */
MUST_CHECK enum err       web_dress(struct page_look *l);
void                      web_undress(struct page_look *l);
void                      web_nothing(struct server *s, struct request *q); /* 404 */
extern const struct route app_routes[];                                     /* routes.c */
bool                      guard_check(struct server *s, struct request *q); /* guard.c */
/* Their session cannot be looked up, their roles cannot be written: 503, in the door's form. */
void                      guard_unavailable(struct request *q);
void                      guard_unnoted(struct request *q);

/* For door.enter, door.refuse, door.error: openai_error.c, mcp/mcps.c. */
void        openai_name(struct request *q);
void        openai_refuse(struct request *q, int status, const char *code, const char *message);
void        mcp_refuse(struct request *q, int status, const char *code, const char *message);
const char *openai_error_body(struct request *q, struct buf *out, int status, const char *code,
                              const char *message);
const char *mcp_error_body(struct request *q, struct buf *out, int status, const char *code,
                           const char *message);
/* guard.c; what the server itself refuses, in the shape of its door (server_setup.error) */
const char *door_error(struct request *q, struct buf *out, int status, const char *code,
                       const char *message);

#endif
