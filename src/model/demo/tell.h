/* tell.h -- what the demo model says about the outcomes of its calls. */
#ifndef PARLEY_DEMO_TELL_H
#define PARLEY_DEMO_TELL_H

#include "base/buf.h"
#include "model/demo/script.h"
#include "model/model.h"

/* One paragraph for each outcome that stands in q->msgs from index `from` on; reply tools are
 * passed over. Returns how many there were; *last tells the table entry of the last one. */
size_t tell_outcomes(struct buf *out, const struct model_request *q, size_t from,
                     const struct demo_outcome **last);

#endif
