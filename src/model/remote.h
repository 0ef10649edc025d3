/* remote.h -- private to remote.c and remote_new.c: what the runs of one remote model share. */
#ifndef PARLEY_MODEL_REMOTE_H
#define PARLEY_MODEL_REMOTE_H

#include "base/measure.h"
#include "model/upstream.h"
#include "model/wire.h"

struct remote {
    struct model           model;
    struct upstream       *up;
    const struct wire     *wire;
    /* its texts live in `arena`; key and headers are not kept: they are in `headers` */
    struct model_config    config;
    struct arena           arena;
    struct str             url, host;
    struct curl_slist     *headers;
    struct list            node; /* among all models */
    struct list            line; /* runs that wait for a place, in order */
    unsigned               calls, waiting;
    unsigned               patient;       /* of those that wait: model_request.patient */
    uint64_t               not_before_ms; /* the service asked for this */
    uint64_t               away_until_ms;
    unsigned               failures; /* in a row */
    struct upstream_wait   gate;     /* until not_before_ms */
    struct measure_seconds answers, first_byte;
    uint64_t               errors[FAIL_COUNT];
};

struct model_run *remote_start(struct model *model, const struct model_request *q,
                               struct model_sink *sink);
void              remote_cancel(struct model_run *r);
bool              remote_stripped(const struct model_run *r);
bool              remote_waits(const struct model_run *r);

#endif
