/* live_int.h -- private to the two files of /live: one socket, and what goes down it.
 *
 *   live.c         the socket itself: who it is, its thread, what comes up
 *   live_frames.c  what goes down: how chunks travel, and the control frames
 */
#ifndef PARLEY_LIVE_INT_H
#define PARLEY_LIVE_INT_H

#include "dialect/dialect.h"
#include "door/app.h"
#include "http/ws.h"

struct knock;

enum framing_kind { FRAMES_SSE, FRAMES_JSON };

struct live {
    struct source      source;
    struct ws_peer     peer;
    struct follower    follower;
    struct app        *app;
    struct conn       *conn; /* NULL: gone; freed when nothing is under way any more */
    const struct door *door;
    struct encoder     enc;
    enum framing_kind  frames;
    bool               native, may_decide;
    /* no thread was named yet: `thread` is one that nobody has */
    bool               unbound;
    /* its first message named another thread than hello had */
    bool               renamed;
    bool               left; /* the source is gone: nothing may be joined any more */
    /* the thread it named is being read; nothing else is joined meanwhile */
    bool               joining;
    /* it is not there, but a message that is on its way may make it */
    bool               absent;
    struct knock      *knock; /* NULL: it is known who this is */
    int64_t            tab;   /* what it claims calls by; 0: nothing yet */
    unsigned           bad_json, pending, refused;
    unsigned           turns;     /* messages on their way */
    uint64_t           pinged_ms; /* when the last ping was that counted as nothing */
    /* decisions up to here were broadcast to this socket */
    uint64_t           approvals_seq;
    /* asked for while an item was half out: begins after it */
    bool               resume;
    uint64_t           resume_seq, resume_units;
    struct str         owner, roles, claims, thread; /* in arena */
    struct arena       arena;
};

/* --- live_frames.c --- */
extern const struct carrier live_carrier; /* its ctx: the socket */

/* Nothing is sent when the connection is gone. `for_id`: of what it is about; STR_NONE: unknown */
void live_send_error(struct live *l, const char *code, const char *message, struct str for_id);
/* A message that is not taken, whose sender reads a stream: that stream is told, and ends. */
void live_refuse_message(struct live *l, const char *code, const char *message, struct str for_id);
void live_send_ack(struct live *l, struct str for_id, const char *status, bool duplicate);
void live_send_pong(struct live *l, struct str timestamp); /* as JSON */
void live_send_hello(struct live *l, uint64_t after);
/* Every socket of the thread hears of a decision, whoever made it and wherever. */
void live_send_decisions(struct live *l);

#endif
