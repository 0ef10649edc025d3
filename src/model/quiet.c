/* quiet.c -- the sink that does nothing; see model_sink_quiet. */
#include "model/model.h"

static void on_delta(struct model_sink *s, struct str delta)
{
    (void)s;
    (void)delta;
}

static void on_call(struct model_sink *s, struct str id, struct str name)
{
    (void)s;
    (void)id;
    (void)name;
}

static void on_call_end(struct model_sink *s)
{
    (void)s;
}

static void on_usage(struct model_sink *s, int64_t in, int64_t out)
{
    (void)s;
    (void)in;
    (void)out;
}

const struct model_sink model_sink_quiet = { .text = on_delta,
                                             .reasoning = on_delta,
                                             .opaque = on_delta,
                                             .call = on_call,
                                             .input = on_delta,
                                             .call_end = on_call_end,
                                             .usage = on_usage };
