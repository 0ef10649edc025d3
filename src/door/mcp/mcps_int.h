/* mcps_int.h -- private to door/mcp: see mcps.h for which file does what. */
#ifndef PARLEY_MCPS_INT_H
#define PARLEY_MCPS_INT_H

#include "dialect/mcpresult.h"
#include "dialect/mcprpc.h"
#include "door/mcp/mcps.h"

#define MCPS_HEARTBEAT_MS 15000
/* what a request lacks that asks for tasks */
#define MCPS_NEEDS_TASKS \
    "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_META("tasks") "\":{}}}}"
#define MCPS_STREAMS_MAX 8 /* of notices, per principal: GET and listen each */
#define MCPS_PLACE_MAX \
    256 /* bytes of a request's id and its progress token, in the ids of events */

struct mcps {
    struct app           *app;
    struct loop          *loop;
    struct mcps_setup     setup;
    struct list           waits;   /* responses that follow a call */
    struct list           streams; /* of notices */
    struct registry_watch watch;
    struct loop_timer     tick;    /* while a response waits for a person */
    struct loop_timer     changed; /* until the next notice that tools changed may go out */
    uint64_t              told_ms; /* when the last one went */
    bool                  draining;
    unsigned              closing;
    void (*done)(void *ctx);
    void *done_ctx;
};

/* --- mcps.c --- */
/* An answer: one JSON object. Takes the buffer. */
void             mcps_reply(struct conn *c, int status, struct buf *body);
void             mcps_fault(struct conn *c, struct str id, const struct mcprpc_fault *why);
/* The same, for an error of a method that was dispatched. */
void             mcps_error(struct conn *c, struct str id, enum rpc_code code, const char *message);
void             mcps_unavailable(struct conn *c, struct str id, const struct receipt *a);
/* Opens {"jsonrpc","id","result":{ with what every modern result has. */
void             mcps_open(struct buf *b, struct jsonw *w, const struct mcprpc *m);
void             mcps_close(struct conn *c, struct buf *b, struct jsonw *w); /* ends and sends it */
bool             mcps_wants(const struct request *q, const char *type);      /* Accept */
struct mcp_shape mcps_shape(const struct mcps *m, bool modern, struct str thread);
/* May this request's credential decide at all? */
bool             mcps_may_decide(const struct mcps *m, const struct principal *p);

/* --- mcps_session.c --- */
#define MCPS_ROWS "mcp-session/" /* how the keys of their rows begin */
struct mcps_session {
    struct str           id, owner, client, version;
    struct mcp_abilities can;
};
/* Goes on with a request, whose connection is there; `s` and `rpc` last for the call only. */
typedef void (*mcps_session_then)(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                                  const struct mcps_session *s);
/* A new one, once its row is there. These three answer what goes wrong. */
void       mcps_session_open(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                             struct str version, mcps_session_then then);
/* The session that a request names, if it is its principal's. */
void       mcps_session_enter(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                              mcps_session_then then);
/* Answers when it is over. */
void       mcps_session_end(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                            const struct mcps_session *s);
/* A name for a session that is none of its secrets, and for a request of it. */
struct str mcps_session_tag(struct arena *a, struct str session);
struct str mcps_request_name(struct arena *a, struct str session, struct str request);

/* --- mcps_tools.c --- */
bool mcps_offers(const struct mcps *m, const struct request *q, const struct hub_page *page,
                 const struct tool *t);
void mcps_list_tools(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                     const struct hub_page *page);

/* --- mcps_wait.c --- */
struct mcps_wait {
    struct list       node; /* in the door's, once it follows */
    struct mcps      *door;
    struct conn_hold  hold;
    struct conn      *conn; /* to be answered; NULL: it left, or it streams */
    struct source     source;
    struct follower   follower;
    struct store_list list;
    struct arena      arena;                 /* all texts below */
    unsigned          under_way;             /* what will come back to it */
    bool              streaming, left, last; /* last: the response was given */
    bool              agent;                 /* may see nothing but this door's calls */

    /* the request */
    bool                 modern, sse;
    struct mcp_abilities can;
    struct str           id, token;        /* as written; token STR_NONE: none wanted */
    struct str           session, version; /* legacy; the session's id */
    struct str           tag, asked_as;    /* likewise: mcps_session_tag, mcps_request_name */
    struct str           by, roles, claims, client, page;
    struct str           owner; /* of the call: `by`, but for an approval that is reviewed */
    bool                 may_decide;
    struct str           tool, args_text, request_id;
    const struct jv     *args;
    struct str           state;  /* requestState; STR_NONE: a new request */
    const struct jv     *inputs; /* inputResponses */

    /* the call */
    struct str thread, match;
    struct str review; /* an approval that is only to be shown; STR_NONE: it is a call */
    bool       asks;   /* its policy wants a person */
    bool       looked; /* for an earlier one, and it is none */
    bool       gives;  /* the last words were its outcome, and it is to be noted as handed out */
    bool       cancelled, give_up;
    bool       unwanted;                   /* its person has declined */
    bool       put_approval, put_question; /* the client's person has been asked, by this request */
    bool       put_url;                    /* ... to look at a page */
    uint64_t   until_ms, note_ms, said_ms, seen_progress;
    double     progress;
    unsigned   notes, events;
    struct buf held; /* what did not fit into the socket */
    size_t     held_at;
};
/* `s`: of a legacy request. NULL: answered. */
struct mcps_wait *mcps_wait_new(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                                const struct mcps_session *s);
/* Follows the call and answers. */
void              mcps_attach(struct mcps_wait *w, struct thread *t);
/* The one JSON answer of a request that does not follow. They end the wait. */
void              mcps_wait_error(struct mcps_wait *w, enum rpc_code code, const char *message);
void              mcps_wait_refuse(struct mcps_wait *w, struct str sentence);
void              mcps_wait_unavailable(struct mcps_wait *w, const struct receipt *a);
void              mcps_wait_free(struct mcps_wait *w);
/* The call is taken back, unless somebody waits for it on any node; those who do are told `words`
 * before (STR_NONE: nothing), which mcps_wait.c understands. */
void mcps_withdraw(struct mcps *m, struct str owner, struct str thread, struct str words);
#define MCPS_CANCELLED "cancelled " /* ... and the request's name: it is not to be answered */
#define MCPS_DECLINED  "declined "  /* ... and the session's tag: its person does not want it */
#define MCPS_SHUT      "shut "      /* ... and likewise: nothing was decided */
void               mcps_wake(struct mcps_wait *w);
/* The call it is about. NULL: there is none. */
const struct call *mcps_call_of(const struct mcps_wait *w, const struct fold *f);
/* Who is at the client's screen, beside a call of `owner`. */
struct mcps_person {
    struct mcp_abilities can;
    struct str           name, roles, owner;
    bool                 may_decide; /* as far as no rule says otherwise */
};
/* How they may be asked. A form only if it is theirs to fill in: where a rule asks others, what
 * they said in it would be nothing. */
enum mcp_ask    mcps_how(const struct mcps_person *p, const struct call *c);
enum mcp_ask    mcps_wait_how(const struct mcps_wait *w, const struct call *c);
/* A command on a call's thread. NULL: no memory. */
struct command *mcps_command(struct mcps *m, enum command_kind kind, struct str owner,
                             struct str thread);
void            mcps_hand_out(struct mcps *m, struct str owner, struct str thread);

/* --- mcps_call.c --- */
void mcps_call(struct mcps *m, struct request *q, const struct mcprpc *rpc,
               const struct mcps_session *s, const struct hub_page *page);
void mcps_resume(struct mcps *m, struct request *q, const struct mcps_session *s,
                 struct str last_id);

/* --- mcps_answer.c --- */
void mcps_take_answer(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                      const struct mcps_session *s);
void mcps_take_notice(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                      const struct mcps_session *s);
/* What inputResponses say about the open question of `w`'s call: decides, withdraws or gives up. */
void mcps_take_inputs(struct mcps_wait *w, const struct fold *f);
void mcps_task(struct mcps *m, struct request *q, const struct mcprpc *rpc);

/* --- mcps_listen.c --- */
void mcps_notices(struct mcps *m, struct request *q);
void mcps_listen(struct mcps *m, struct request *q, const struct mcprpc *rpc);
void mcps_tools_changed(void *ctx);
void mcps_on_changed(struct loop_timer *t);
void mcps_wake_streams(struct mcps *m);

/* --- mcps_own.c --- */
#define MCPS_REVIEW "review-" /* before the id of a question that is put for a review */
/* May see what waits for others. */
bool mcps_sees_all(const struct mcps *m, const struct principal *p);
bool mcps_is_agent(const struct principal *p);
/* list_approvals and review_approval, unless the configuration has tools of these names. */
#define MCPS_OWN 2
const struct tool *mcps_own_tool(const struct mcps *m, size_t i); /* NULL: it has */
/* True: it was a call of one of them, and is taken care of. */
bool               mcps_own_call(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                                 const struct mcps_session *s);

#endif
