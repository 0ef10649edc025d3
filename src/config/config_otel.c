/* config_otel.c -- the collector that is told of runs. */
#include "config/config_private.h"

void cfg_read_otel(struct config_build *b)
{
    const struct jv    *v = jv_get(b->root, "otel"), *headers = jv_get(v, "headers");
    struct config_otel *o = &b->c->otel;

    if (!v) return;
    if (!jv_get(v, "endpoint")) {
        cfg_bad(b, v,
                "\"otel\" needs \"endpoint\": the collector's address, as http://127.0.0.1:4318");
        return;
    }
    (void)cfg_url(b, jv_get(v, "endpoint"), "\"otel.endpoint\"", &o->endpoint);
    if (!jv_is(headers, JSON_OBJECT)) return;
    if (!(o->headers = cfg_array(b, headers->count, sizeof *o->headers))) return;
    JV_EACH (h, headers)
        if (cfg_header(b, h, &o->headers[o->header_count])) o->header_count++;
}
