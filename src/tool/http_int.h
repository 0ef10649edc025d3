/* http_int.h -- an endpoint as configured. Shared by http.c and http_read.c only. */
#ifndef PARLEY_HTTP_INT_H
#define PARLEY_HTTP_INT_H

#include "tool/egress.h"
#include "tool/http.h"

struct http_tool { /* in the registry's arena */
    struct curl_pool  *pool;
    struct loop       *loop;
    const char        *url, *method;
    struct str         host;
    struct curl_slist *headers;
    struct egress      egress;
    size_t             response_max;
};

extern const struct tool_ops http_ops;

#endif
