/* health.c -- `parley health [URL]`: asks a running server for /healthz, for places that have no
 * curl: the image's health check. Without an address it asks where this configuration listens. */
#include <curl/curl.h>
#include <stdio.h>

#include "base/address.h"
#include "cli/cli.h"

#define HEALTH_MS 3000L /* a server that takes longer for one line is not well */

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

/* Where the server of this configuration is. One that cannot be understood by now says nothing of a
 * server that runs since before: it is asked where --listen says, or where one listens by
 * default. */
static struct str own(struct arena *a, const struct config_flags *f)
{
    static struct config       c;
    static struct config_error e;
    const char                *why;

    if (config_load_flags(&c, f, &e) == OK) {
        struct str at = config_reach(&c, a);
        config_done(&c);
        return at;
    }
    config_error_print(&e, stderr);
    c = (struct config){ .host = STR("127.0.0.1"), .port = 8000 };
    if (f->listen) (void)!config_listen_parse(str_c(f->listen), &c.host, &c.port, &why);
    return config_reach(&c, a);
}

static int tell(struct arena *a, const char *url)
{
    char       why[CURL_ERROR_SIZE] = "";
    long       status = url ? ask(url, why) : 0;
    struct str shown = url ? address_shown(a, str_c(url)) : STR("the server");

    if (status == 200) {
        puts("alive");
        return 0;
    }
    if (status) cli_fail(STR_FMT " answered %ld.", STR_ARG(shown), status);
    else cli_fail(STR_FMT " does not answer: %s", STR_ARG(shown), why[0] ? why : "out of memory");
    return 1;
}

int cli_health(int argc, char **argv)
{
    struct cli_line line;
    struct arena    a;

    if (!cli_read(argc, argv, "cl", 1, &line)) return 2;
    arena_init(&a, 0);
    struct str base = line.count ? str_c(line.words[0]) : own(&a, &line.flags);
    while (str_ends(base, STR("/"))) base.len--;
    struct str url = arena_printf(&a, STR_FMT "/healthz", STR_ARG(base));
    int        status = tell(&a, base.ptr ? url.ptr : NULL);
    arena_done(&a);
    return status;
}
