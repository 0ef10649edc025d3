/* health.c -- `parley health [URL]`: asks a running server for /healthz, for places that have no
 * curl: the image's health check. */
#include <curl/curl.h>
#include <stdio.h>

#include "cli/cli.h"

#define DEFAULT_URL "http://127.0.0.1:8000"
#define HEALTH_MS   3000L /* a server that takes longer for one line is not well */

static size_t drop(char *bytes, size_t size, size_t count, void *ctx)
{
    (void)bytes;
    (void)ctx;
    return size * count;
}

/* Its status, or 0 and why. */
static long ask(const char *url, char why[CURL_ERROR_SIZE])
{
    CURL *h = curl_easy_init();
    long  status = 0;

    why[0] = '\0';
    if (!h) return 0;
    curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_NOPROXY, "*"); /* the server, not what a proxy says about it */
    /* Nothing secret is said, and "alive" is all that is asked: any certificate will do, also on an
     * address that it does not name. */
    curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, HEALTH_MS);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, why);
    CURLcode e = curl_easy_perform(h);
    if (e == CURLE_OK) curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
    else if (!why[0]) snprintf(why, CURL_ERROR_SIZE, "%s", curl_easy_strerror(e));
    curl_easy_cleanup(h);
    return status;
}

int cli_health(int argc, char **argv)
{
    struct cli_line line;
    char            url[2048], why[CURL_ERROR_SIZE];

    if (!cli_read(argc, argv, "", 1, &line)) return 2;
    struct str base = str_c(line.count ? line.words[0] : DEFAULT_URL);
    while (str_ends(base, STR("/"))) base.len--;
    int n = snprintf(url, sizeof url, STR_FMT "/healthz", STR_ARG(base));
    if (n < 0 || n >= (int)sizeof url) {
        fputs("parley: the address is too long.\n", stderr);
        return 2;
    }
    long status = ask(url, why);
    if (status == 200) {
        puts("alive");
        return 0;
    }
    if (status) fprintf(stderr, "parley: %s answered %ld.\n", url, status);
    else fprintf(stderr, "parley: %s does not answer: %s\n", url, why[0] ? why : "out of memory");
    return 1;
}
