/* trust.c -- see trust.h. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/trust.h"
#include "loop/curl.h"

static char own[4096]; /* the certificate's path; "": not known */

void trust_own(const struct config *c)
{
    int n = snprintf(own, sizeof own, STR_FMT, STR_ARG(c->tls_cert));
    if (n < 0 || n >= (int)sizeof own) own[0] = '\0';
}

CURL *trust_curl(void)
{
    CURL       *h = curl_easy_new(false);
    const char *others = getenv("PARLEY_CA");

    if (!h) return NULL;
    if (own[0]) {
        curl_easy_setopt(h, CURLOPT_CAINFO, own);
        curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 0L);
    } else if (others && *others) curl_easy_setopt(h, CURLOPT_CAINFO, others);
    return h;
}
