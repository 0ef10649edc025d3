/* ai_reader.h -- the AI SDK client's side of a stream, for tests: chunks become the
 * message that a page holds, as strictly as the real client does it, and the two
 * stock helpers say whether it would send by itself.
 */
#ifndef PARLEY_AI_READER_H
#define PARLEY_AI_READER_H

#include "base/arena.h"
#include "base/buf.h"
#include "test.h"

#define AI_PARTS 256

struct ai_part {
    enum { AI_STEP, AI_TEXT, AI_TOOL, AI_DATA } type;
    char id[64], name[64], state[24];
    bool provider, preliminary, open;
};

struct ai_reader {
    struct ai_part parts[AI_PARTS];
    size_t         count, stored; /* a step that nothing came into is not stored */
    bool           started, in_step, finished, aborted, failed, done;
    char           message[64];
    char           trouble[256]; /* the first thing a real client would choke on */
    struct buf     types;        /* of this stream: "start start-step ..." */
};

void                  ai_reader_init(struct ai_reader *r);
void                  ai_reader_done(struct ai_reader *r);
/* The next stream into the same message (same id), or into a new one. */
void                  ai_reader_stream(struct ai_reader *r, bool continued);
/* Takes server-sent events. */
void                  ai_reader_take(struct ai_reader *r, struct str wire);
/* The stream is over: complains when it did not end as one. */
void                  ai_reader_end(struct ai_reader *r);
bool                  ai_reader_would_send(const struct ai_reader *r);
const struct ai_part *ai_reader_tool(const struct ai_reader *r, const char *id);

#endif
