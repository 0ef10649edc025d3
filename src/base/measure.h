/* measure.h -- numbers as Prometheus reads them: histograms, labels, and the lines of a family.
 *
 *     measure_head(out, "parley_tool_seconds", "histogram", "How long calls took");
 *     for each tool: measure_seconds_write(out, "parley_tool_seconds", "tool", name, &seconds);
 *
 * A family's lines stand together, its head once before them. Names are ours; values of labels may
 * be anybody's and are escaped. Nothing here allocates but the text that is written.
 */
#ifndef PARLEY_MEASURE_H
#define PARLEY_MEASURE_H

#include "base/buf.h"

/* How long something took that may take minutes: an answer of a model, a tool. */
#define MEASURE_SECONDS 13
struct measure_seconds {
    uint64_t bucket[MEASURE_SECONDS], count;
    double   sum;
};
void measure_observe(struct measure_seconds *h, double seconds);

void measure_head(struct buf *out, const char *name, const char *type, const char *help);
/* key="value" */
void measure_label(struct buf *out, const char *key, struct str value);
/* The lines of one member of a family of histograms: the one with this label. */
void measure_seconds_write(struct buf *out, const char *name, const char *key, struct str value,
                           const struct measure_seconds *h);

#endif
