/* turn.h -- what a run tells, followed to its end whatever happens to the connection.
 *
 * A message is posted to the typed door with a request id; its events are handed out one by one. A
 * connection that breaks, or a server that restarts, is come back to: with the same request when
 * nothing was told yet (it is one run all the same), else from the last place that was told. So the
 * owner sees every event once and in order, and none twice.
 *
 * Ctrl-C (keys_listen) asks the server to stop the run, and the end is still told; a second one
 * leaves: the run goes on at the server without us.
 */
#ifndef PARLEY_CLI_TURN_H
#define PARLEY_CLI_TURN_H

#include "base/id.h"
#include "base/sse_in.h"
#include "cli/desk.h"

struct turn {
    struct desk *desk;
    char         thread[ID_MAX + 1]; /* empty: a new one, which the server names */
    /* An event; valid during the call. True: it was the last one. */
    bool (*event)(struct turn *t, const struct jv *e);
    void (*tell)(struct turn *t, const char *sentence); /* of the connection, for the person */
    /* of a refusal (TURN_REFUSED) */
    long          status;
    struct buf    answer;
    /* private */
    struct sse_in events;
    struct arena  arena; /* of one event */
    bool          streams, over, told, stopping;
};

enum turn_end {
    TURN_OVER,    /* event() said so */
    TURN_REFUSED, /* answered with a status and a sentence; nothing goes on */
    TURN_LOST,    /* the server did not come back */
    TURN_LEFT,    /* the second Ctrl-C */
};

/* After the owner's members are set. */
void          turn_init(struct turn *t);
void          turn_done(struct turn *t);
/* Posts `body` (with its request_id) and follows it. STR_NONE: goes on from the last place told. */
enum turn_end turn_follow(struct turn *t, struct str body);
/* The place to go on from: everything up to this fact is known. */
void          turn_from(struct turn *t, int64_t seq);
/* Another conversation, or a new one (""): no place in it is known. */
void          turn_open(struct turn *t, struct str thread);

#endif
