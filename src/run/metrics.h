/* metrics.h -- what /metrics shows. One global set; loop thread only. */
#ifndef PARLEY_METRICS_H
#define PARLEY_METRICS_H

#include "base/buf.h"

enum metric_histogram {
    METRIC_INTENT,
    METRIC_COMMIT,
    METRIC_LAG,
    METRIC_LINK,
    METRIC_HISTOGRAM_COUNT
};

void metrics_observe(enum metric_histogram h, uint64_t ns);
/* Whom the store tells of a commit, and the loop of a turn. */
void metrics_commit(void *nobody, uint64_t ns);
void metrics_turn(void *nobody, uint64_t busy_ns);
/* A call is complete and its intent is to be told; and it was told. The first telling of each call
 * is measured, by whatever door, however many tell it. Nobody has to say when a call is over
 * untold. */
void metrics_intent_due(struct str call);
void metrics_intent_told(struct str call);
void metrics_tool(struct str tool, const char *outcome);
void metrics_run(const char *outcome);
void metrics_tool_seconds(struct str tool, double seconds); /* a call that ran */
/* `model`: as the configuration calls it; `cost` in millionths of the currency */
void metrics_tokens(struct str model, int64_t input, int64_t output, int64_t cost);
/* Prometheus text; `connections` and `streams` are gauges of the moment. What others add
 * follows. */
void metrics_write(struct buf *out, unsigned connections, unsigned streams);
void metrics_done(void);

#endif
