/* aisdk_help.h -- AI SDK streams of a tale. */
#ifndef PARLEY_AISDK_HELP_H
#define PARLEY_AISDK_HELP_H

#include "ai_reader.h"
#include "dialect/dialect.h"
#include "tale.h"

#define ROOM 65536 /* for everything that one pull tells */

struct stream_start aisdk_view(bool native, enum stream_mode mode, const char *run);
/* As server-sent events, after `seq`. */
struct encoder      aisdk_begin(struct tale *t, struct stream_start s, uint64_t seq);
/* Everything there is to tell, to the head or the end. */
enum encoded        aisdk_pull_all(struct encoder *e, struct tale *t, struct buf *out);

#endif
