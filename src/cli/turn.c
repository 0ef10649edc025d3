/* turn.c -- see turn.h. */
#include <curl/curl.h>
#include <poll.h>

#include "cli/keys.h"
#include "cli/trust.h"
#include "cli/turn.h"
#include "loop/curl.h"

#define EVENT_MAX  (16u << 20) /* one event: a whole answer with the outputs of its tools */
#define CONNECT_MS 5000L
#define SILENT_S   60L /* the server says something every 15 s; this is a dead connection */
#define TRIES_MAX  20  /* a minute and a half: a restart with a long recovery */
#define PAUSE_MS   250 /* before the first try; it grows to */
#define PAUSE_MAX  5000

/* True: leave. The first one asks the server to stop, as soon as it is known which conversation
 * this is. */
static bool heed(struct turn *t)
{
    char path[ID_MAX + 32];
    long status = 0;

    if (keys_pressed() > 1) return true;
    if (!keys_pressed() || t->stopping || !t->thread[0]) return false;
    t->stopping = true;
    t->tell(t, "stopping; Ctrl-C again leaves");
    snprintf(path, sizeof path, "/v1/threads/%s/stop", t->thread);
    (void)desk_ask(t->desk, path, "{}", &status);
    return keys_pressed() > 1;
}

/* --- what the server says ----------------------------------------------------------------- */

static void on_event(struct sse_in *s, struct str name, struct str data)
{
    struct turn *t = LIST_ITEM(s, struct turn, events);
    struct jv   *e;

    (void)name;
    if (t->over) return;
    t->told = true;
    arena_reset(&t->arena);
    if (json_parse(&t->arena, data, &e, NULL) || !t->event(t, e)) return;
    t->over = true;
    sse_in_stop(s);
}

static void name_thread(struct turn *t, struct str id)
{
    if (!id_valid(id, ID_MAX)) return; /* it becomes part of an address */
    memcpy(t->thread, id.ptr, id.len);
    t->thread[id.len] = '\0';
}

static size_t on_head(char *bytes, size_t size, size_t count, void *ctx)
{
    struct turn *t = ctx;
    struct str   line = str_n(bytes, size * count), name = STR("parley-thread:");

    if (str_starts(line, STR("HTTP/"))) t->streams = false;
    if (str_eq_nocase(str_cut(line, name.len), name))
        name_thread(t, str_trim(str_from(line, name.len)));
    if (str_eq_nocase(str_cut(line, 31), STR("content-type: text/event-stream"))) t->streams = true;
    return size * count;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
    struct turn *t = ctx;
    struct str   s = str_n(bytes, size * count);

    if (!t->streams) buf_str(&t->answer, s);
    else if (sse_in_feed(&t->events, s) != OK) return 0;
    return size * count;
}

/* --- one connection ----------------------------------------------------------------------- */

static CURL *request(struct turn *t, struct str body, struct curl_slist *headers)
{
    CURL      *h = trust_curl();
    bool       posts = body.ptr && !t->events.last_id.len;
    struct str url =
        posts ? arena_printf(&t->arena, STR_FMT "/v1/chat/stream", STR_ARG(t->desk->base))
              : arena_printf(&t->arena, STR_FMT "/v1/threads/%s/events?after=" STR_FMT,
                             STR_ARG(t->desk->base), t->thread,
                             STR_ARG(buf_view(&t->events.last_id)));
    if (!h || !url.ptr || !headers) {
        curl_easy_cleanup(h);
        return NULL;
    }
    curl_easy_setopt(h, CURLOPT_URL, url.ptr);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(h, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, SILENT_S);
    if (posts) {
        curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        curl_easy_setopt(h, CURLOPT_POSTFIELDS, body.ptr);
    }
    return h;
}

/* Until it has ended, event() was told the last one, or somebody leaves (true). */
static bool perform(struct turn *t, CURL *h)
{
    struct curl_waitfd wake = { .fd = keys_wake(), .events = CURL_WAIT_POLLIN };
    CURLM             *m = curl_multi_init();
    int                running = 0;
    bool               leave = false;

    if (m && curl_multi_add_handle(m, h) == CURLM_OK) do {
            if (curl_multi_perform(m, &running) != CURLM_OK) break;
            leave = heed(t);
            if (leave || t->over || !running) break;
            (void)!curl_multi_poll(m, &wake, 1, 1000, NULL);
            keys_calm();
        } while (running);
    curl_multi_remove_handle(m, h);
    curl_multi_cleanup(m);
    return leave;
}

/* True: somebody leaves. */
static bool once(struct turn *t, struct str body)
{
    arena_reset(&t->arena);
    buf_clear(&t->answer);
    sse_in_again(&t->events);
    t->streams = false;
    t->status = 0;
    struct curl_slist *headers = desk_headers(t->desk);
    CURL              *h = request(t, body, headers);
    bool               leave = h && perform(t, h);
    if (h) curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &t->status);
    curl_easy_cleanup(h);
    curl_slist_free_all(headers);
    return leave;
}

/* True: somebody leaves instead. */
static bool rest(struct turn *t, int ms)
{
    struct pollfd p = { .fd = keys_wake(), .events = POLLIN };

    (void)!poll(&p, 1, ms);
    keys_calm();
    return heed(t) || (keys_pressed() && !t->thread[0]);
}

/* --- all of it ---------------------------------------------------------------------------- */

enum turn_end turn_follow(struct turn *t, struct str body)
{
    int pause = PAUSE_MS;

    (void)keys_taken();
    t->over = t->stopping = false;
    if (body.ptr) buf_clear(&t->events.last_id);
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        t->told = false;
        if (once(t, body)) return TURN_LEFT;
        if (t->over) return TURN_OVER;
        /* 503: nothing happened; a server that starts says so to whoever comes back */
        if (t->status && !t->streams && (t->status != 503 || !tries)) return TURN_REFUSED;
        if (t->told) pause = PAUSE_MS, tries = 0; /* it came on: all tries again */
        if (!tries) t->tell(t, "the connection is lost; coming back");
        if (rest(t, pause)) return TURN_LEFT;
        pause = pause * 2 > PAUSE_MAX ? PAUSE_MAX : pause * 2;
    }
    return TURN_LOST;
}

void turn_from(struct turn *t, int64_t seq)
{
    buf_clear(&t->events.last_id);
    buf_printf(&t->events.last_id, "%lld.0", (long long)seq);
}

void turn_open(struct turn *t, struct str thread)
{
    t->thread[0] = '\0';
    name_thread(t, thread);
    buf_clear(&t->events.last_id);
}

void turn_init(struct turn *t)
{
    arena_init(&t->arena, 0);
    buf_init(&t->answer, EVENT_MAX);
    sse_in_init(&t->events, EVENT_MAX, on_event);
}

void turn_done(struct turn *t)
{
    sse_in_done(&t->events);
    buf_done(&t->answer);
    arena_done(&t->arena);
}
