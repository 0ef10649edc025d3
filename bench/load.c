/* load.c -- many clients in one thread: asks, reads streams, holds idle connections.
 *
 *     load -p PORT -P /path -m MODE -c CLIENTS -w WARM_UP_S -t SECONDS [-s PID]... [-B BODY] ...
 *
 *   sse       each client posts BODY, reads the answer to its end and posts again
 *   ws        the same over one WebSocket per client; -e says what ends an answer
 *   idle      each client gets PATH (an event stream) and holds it
 *   idle-ws   each client opens a WebSocket and holds it
 *   approve   posts BODY, takes the ids out of the answer, posts -A; the time from
 *             there to the first event of the continuation is what counts
 *   cold      starts the command after "--", and counts until its first event
 *
 * In bodies %O becomes the order to the upstream (bench.h; -n -u -b), %T a name no
 * other request has (the conversation), %A and %C the approval's and call's id.
 * -e TEXT: what every answer must contain; one without it is an error. -s: whose
 * CPU time and memory to count. Prints one line of JSON. An answer with the wrong
 * number of tokens, a status that is not 200 or a connection that breaks is an
 * error, and a result with errors is none: who reads it must look.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "measure.h"

#define HEAD_MAX   2048
#define ANSWER_MAX 65536
#define EVENTS     512
#define OPEN_BATCH 64 /* connections opened between two looks at the others */
/* of the warm-up: paced clients begin one after the other, not in one salvo */
#define SPREAD    0.8
#define MOST_TOLD 3 /* errors told in words */

enum mode { SSE, WS, IDLE, IDLE_WS, APPROVE, COLD };
enum state { IN_HEAD, IN_SIZE, IN_CHUNK, AFTER_CHUNK, AFTER_LAST, IN_REST, HELD };

struct client {
    int        fd;
    enum state state;
    char       head[HEAD_MAX];
    size_t     head_len, chunk_left;
    /* second: the request that follows the approval */
    bool       keep, saw_event, second;
    int        digits; /* of a stamp, -1: none begun */
    uint64_t   stamp, asked_ns;
    unsigned   tokens;
    size_t     matched; /* of `expect` */
    bool       found;
    char      *answer; /* APPROVE: kept for its ids */
    size_t     answer_len;
    char       thread[32];
};

static struct {
    int         port, clients, tokens, gap_us, burst;
    enum mode   mode;
    double      warm_s, run_s;
    const char *path, *body, *then, *expect, *label;
    char        headers[1024];
    struct pids pids;
    char      **command;
} set = { .port = 8000,
          .clients = 1,
          .tokens = 0,
          .burst = 100,
          .path = "/",
          .body = "",
          .label = "",
          .warm_s = 1,
          .run_s = 3 };

static struct {
    uint64_t tokens, answers, bytes, errors;
} seen;
static struct hist added, first_event, first_token;
static bool        measuring;
static uint64_t    begun_ns, measure_from;
static int         poller;

static void note_error(const char *what, const char *detail)
{
    if (seen.errors++ < MOST_TOLD) fprintf(stderr, "load: %s: %s\n", what, detail);
}

/* --- requests ------------------------------------------------------------------------- */

/* The value of the last "key":"..." in the answer. */
static const char *id_of(const struct client *c, const char *key)
{
    static char value[160];
    const char *at = NULL;
    for (const char *p = c->answer ? c->answer : ""; (p = strstr(p, key)); p++)
        at = p + strlen(key);
    value[0] = '\0';
    if (at) snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\""), at);
    return value;
}

static size_t expand(char *out, size_t cap, const char *body, const struct client *c)
{
    size_t n = 0;
    for (const char *p = body; *p && n + 200 < cap; p++) {
        if (*p != '%' || !strchr("OTAC", p[1]) || !p[1]) {
            out[n++] = *p;
            continue;
        }
        char *at = out + n;
        switch (*++p) {
        case 'O':
            n += (size_t)snprintf(at, cap - n, ORDER, set.tokens, set.gap_us, set.burst);
            break;
        case 'T': n += (size_t)snprintf(at, cap - n, "%s", c->thread); break;
        case 'A': n += (size_t)snprintf(at, cap - n, "%s", id_of(c, "\"approvalId\":\"")); break;
        case 'C': n += (size_t)snprintf(at, cap - n, "%s", id_of(c, "\"toolCallId\":\"")); break;
        }
    }
    out[n] = '\0';
    return n;
}

static void put(struct client *c, const char *p, size_t n)
{
    if (send(c->fd, p, n, MSG_NOSIGNAL) != (ssize_t)n) note_error("send", strerror(errno));
}

static void put_text_frame(struct client *c, const char *text, size_t n)
{
    static char frame[ANSWER_MAX];
    size_t      at = 0;
    frame[at++] = (char)0x81;
    if (n < 126) frame[at++] = (char)(0x80 | n);
    else {
        frame[at++] = (char)(0x80 | 126);
        frame[at++] = (char)(n >> 8);
        frame[at++] = (char)n;
    }
    memset(frame + at, 0, 4); /* the mask is required, its value is ours */
    memcpy(frame + at + 4, text, n);
    put(c, frame, at + 4 + n);
}

static void ask(struct client *c)
{
    static char     body[ANSWER_MAX / 2], request[ANSWER_MAX];
    static unsigned number;
    if (!c->second)
        snprintf(c->thread, sizeof c->thread, "bench-%x-%u", (unsigned)getpid(), number++);
    size_t n = expand(body, sizeof body, c->second ? set.then : set.body, c);
    c->saw_event = c->found = false;
    c->digits = -1;
    c->tokens = 0;
    c->matched = c->answer_len = 0;
    c->asked_ns = now_ns();
    if (set.mode == WS) {
        put_text_frame(c, body, n);
        return;
    }
    c->state = IN_HEAD;
    c->head_len = 0;
    int len = snprintf(request, sizeof request,
                       "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: "
                       "application/json\r\n%sContent-Length: %zu\r\n\r\n%s",
                       set.path, set.port, set.headers, n, body);
    put(c, request, (size_t)len);
}

static void ask_to_get(struct client *c, const char *more)
{
    char request[2048];
    int  n = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s%s\r\n",
                      set.path, set.port, set.headers, more);
    c->state = IN_HEAD;
    c->head_len = 0;
    put(c, request, (size_t)n);
}

static int dial(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)set.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0) return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static void open_client(struct client *c)
{
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
    c->fd = dial();
    if (c->fd < 0) {
        note_error("connect", strerror(errno));
        return;
    }
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e);
    if (set.mode == WS || set.mode == IDLE_WS)
        ask_to_get(c, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
                      "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n");
    else if (set.mode == IDLE) ask_to_get(c, "Accept: text/event-stream\r\n");
    else ask(c);
}

static void close_client(struct client *c)
{
    close(c->fd);
    c->fd = -1;
}

static void open_again(struct client *c)
{
    close_client(c);
    c->second = false;
    open_client(c);
}

/* --- what comes back ----------------------------------------------------------------------- */

/* Counted by its mark: a server may cut a text anywhere, also within a stamp. */
static void count_token(struct client *c, uint64_t now)
{
    seen.tokens++;
    if (c->tokens++ == 0 && measuring) hist_add(&first_token, now - c->asked_ns);
}

static void find_stamps(struct client *c, const char *p, const char *end, uint64_t now)
{
    while (p < end) {
        if (c->digits < 0) {
            p = memchr(p, STAMP_MARK, (size_t)(end - p));
            if (!p) return;
            p++;
            c->digits = 0;
            c->stamp = 0;
            count_token(c, now);
            continue;
        }
        char     ch = *p++;
        unsigned v = ch >= '0' && ch <= '9'   ? (unsigned)(ch - '0')
                     : ch >= 'a' && ch <= 'f' ? (unsigned)(ch - 'a') + 10
                                              : 16;
        if (v == 16) {
            c->digits = -1;
            continue;
        }
        c->stamp = c->stamp << 4 | v;
        if (++c->digits == STAMP_DIGITS) {
            c->digits = -1;
            if (measuring && c->stamp >= measure_from) hist_add(&added, now - c->stamp);
        }
    }
}

static void find_expected(struct client *c, const char *p, const char *end)
{
    for (; p < end && !c->found; p++) {
        if (*p == set.expect[c->matched]) c->matched++;
        else c->matched = *p == set.expect[0];
        c->found = !set.expect[c->matched];
    }
}

static void keep_answer(struct client *c, const char *p, size_t n)
{
    if (!c->answer) c->answer = need(malloc(ANSWER_MAX + 1));
    if (n > ANSWER_MAX - c->answer_len) n = ANSWER_MAX - c->answer_len;
    memcpy(c->answer + c->answer_len, p, n);
    c->answer_len += n;
    c->answer[c->answer_len] = '\0';
}

static void take_body(struct client *c, const char *p, size_t n, uint64_t now)
{
    bool counts = set.mode != APPROVE || c->second;
    if (!c->saw_event && measuring && counts) hist_add(&first_event, now - c->asked_ns);
    c->saw_event = true;
    if (set.tokens) find_stamps(c, p, p + n, now);
    if (set.expect && !c->found) find_expected(c, p, p + n);
    if (set.mode == APPROVE && !c->second) keep_answer(c, p, n);
}

static void finish_answer(struct client *c)
{
    bool first_half = set.mode == APPROVE && !c->second;
    if (set.tokens && c->tokens != (unsigned)set.tokens)
        note_error("answer", "wrong number of tokens");
    if (set.expect && !c->found && !first_half) note_error("answer", "it lacks what it must have");
    if (!first_half) seen.answers++;
    c->second = first_half;
    if (c->keep) ask(c);
    else {
        close_client(c);
        open_client(c);
    }
}

static void take_head(struct client *c)
{
    int  status = atoi(c->head + 9);
    bool ws = set.mode == WS || set.mode == IDLE_WS;
    if (status != (ws ? 101 : 200)) note_error("status", c->head);
    bool chunked = strcasestr(c->head, "\r\ntransfer-encoding: chunked") != NULL;
    c->keep = chunked && !strcasestr(c->head, "\r\nconnection: close");
    c->chunk_left = 0;
    if (set.mode == IDLE || set.mode == IDLE_WS) c->state = HELD;
    else if (ws) {
        c->state = IN_REST;
        c->keep = true;
        ask(c);
    } else c->state = chunked ? IN_SIZE : IN_REST;
}

/* Returns how many bytes belong to the head. */
static size_t read_head(struct client *c, const char *p, size_t n)
{
    size_t room = HEAD_MAX - 1 - c->head_len, k = n < room ? n : room, before = c->head_len;
    memcpy(c->head + c->head_len, p, k);
    c->head_len += k;
    c->head[c->head_len] = '\0';
    char *end = strstr(c->head, "\r\n\r\n");
    if (!end && c->head_len == HEAD_MAX - 1) {
        note_error("head", "too long");
        c->head_len = 0;
    }
    if (!end) return k;
    size_t used = (size_t)(end + 4 - c->head) - before;
    end[2] = '\0';
    take_head(c);
    return used;
}

/* Returns false when the answer ended: what follows belongs to the next one, and there is none
 * yet. */
static bool read_chunked(struct client *c, const char **at, const char *end, uint64_t now)
{
    const char *p = *at;
    while (p < end) switch (c->state) {
        case IN_SIZE:
            if (*p == '\n') c->state = c->chunk_left ? IN_CHUNK : AFTER_LAST;
            else if (*p >= '0' && *p <= '9')
                c->chunk_left = c->chunk_left * 16 + (size_t)(*p - '0');
            else if ((*p | 32) >= 'a' && (*p | 32) <= 'f')
                c->chunk_left = c->chunk_left * 16 + (size_t)((*p | 32) - 'a' + 10);
            p++;
            break;
        case IN_CHUNK: {
            size_t n = (size_t)(end - p) < c->chunk_left ? (size_t)(end - p) : c->chunk_left;
            take_body(c, p, n, now);
            p += n;
            if (!(c->chunk_left -= n)) c->state = AFTER_CHUNK;
            break;
        }
        case AFTER_CHUNK:
            if (*p++ == '\n') c->state = IN_SIZE;
            break;
        default:
            if (*p++ == '\n') {
                finish_answer(c);
                return false;
            }
        }
    *at = p;
    return true;
}

static void take_bytes(struct client *c, const char *p, size_t n, uint64_t now)
{
    const char *end = p + n;
    while (p < end) {
        if (c->state == IN_HEAD) {
            p += read_head(c, p, (size_t)(end - p));
            continue;
        }
        if (c->state == HELD) return;
        if (c->state != IN_REST) {
            if (!read_chunked(c, &p, end, now)) return;
            continue;
        }
        take_body(c, p, (size_t)(end - p), now);
        if (set.mode == WS && c->found) finish_answer(c);
        return;
    }
}

static void on_event(struct client *c)
{
    static char read[262144];
    if (c->fd < 0) return;
    ssize_t n = recv(c->fd, read, sizeof read, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n > 0) {
        seen.bytes += (uint64_t)n;
        take_bytes(c, read, (size_t)n, now_ns());
    } else if (n == 0 && c->state == IN_REST && set.mode != WS && set.mode != IDLE) {
        c->keep = false;
        finish_answer(c);
    } else {
        note_error("connection", n ? strerror(errno) : "closed by the server");
        if (c->state == HELD) close_client(c);
        else open_again(c);
    }
}

/* --- runs ------------------------------------------------------------------------------------ */

/* How many clients may be there by now. */
static int may_open(int opened)
{
    int    batch = opened + OPEN_BATCH < set.clients ? opened + OPEN_BATCH : set.clients;
    double part = (double)(now_ns() - begun_ns) / 1e9 / (set.warm_s * SPREAD);
    if (!set.gap_us || part >= 1) return batch;
    int due = (int)(part * set.clients);
    return due < batch ? due : batch;
}

static void turn(struct client *clients, int *opened)
{
    struct epoll_event events[EVENTS];
    int                due = may_open(*opened);
    while (*opened < due) open_client(&clients[(*opened)++]);
    int n = epoll_wait(poller, events, EVENTS, *opened < set.clients ? 0 : 10);
    for (int i = 0; i < n; i++) on_event(events[i].data.ptr);
}

static int speaking(const struct client *clients)
{
    int n = 0;
    for (int i = 0; i < set.clients; i++) n += clients[i].saw_event;
    return n;
}

static int run_load(void)
{
    struct client *clients = need(calloc((size_t)set.clients, sizeof *clients));
    long           anon0 = pids_kb(&set.pids, "RssAnon:");
    int            opened = 0;
    poller = epoll_create1(0);
    begun_ns = now_ns();
    while (opened < set.clients || now_ns() - begun_ns < (uint64_t)(set.warm_s * 1e9))
        turn(clients, &opened);

    /* All are there and speak, and nobody's text is long yet: what follows would measure the length
     * of the answers. */
    long     anon1 = pids_kb(&set.pids, "RssAnon:");
    int      told = speaking(clients);
    uint64_t tokens0 = seen.tokens, answers0 = seen.answers;
    double   cpu0 = pids_cpu_s(&set.pids);
    measure_from = now_ns();
    measuring = true;
    while (now_ns() - measure_from < (uint64_t)(set.run_s * 1e9)) turn(clients, &opened);
    double seconds = (double)(now_ns() - measure_from) / 1e9, cpu = pids_cpu_s(&set.pids) - cpu0;
    double tokens = (double)(seen.tokens - tokens0), answers = (double)(seen.answers - answers0);

    printf(
        "{\"label\":\"%s\",\"clients\":%d,\"seconds\":%.3f,\"tokens\":%.0f,\"answers\":%.0f,"
        "\"errors\":%llu,\"cpu_s\":%.2f,"
        "\"added_us\":{\"p50\":%.1f,\"p99\":%.1f},\"first_event_us\":{\"p50\":%.1f,\"p99\":%.1f},"
        "\"first_token_us\":{\"p50\":%.1f,\"p99\":%.1f},\"rss_kb\":%ld,\"speaking\":%d,\"own_bytes_"
        "per_client\":%.0f}\n",
        set.label, set.clients, seconds, tokens, answers, (unsigned long long)seen.errors, cpu,
        hist_us(&added, .5), hist_us(&added, .99), hist_us(&first_event, .5),
        hist_us(&first_event, .99), hist_us(&first_token, .5), hist_us(&first_token, .99),
        pids_kb(&set.pids, "VmRSS:"), told, (double)(anon1 - anon0) * 1024 / set.clients);
    return 0;
}

/* From fork to the first event; then how much memory it has when it has calmed down. */
static int run_cold(void)
{
    struct client c = { .fd = -1 };
    uint64_t      begun = now_ns();
    pid_t         child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        execvp(set.command[0], set.command);
        die(set.command[0]);
    }
    while ((c.fd = dial()) < 0 && now_ns() - begun < 20e9) usleep(200);
    if (c.fd < 0) die("cold: connect");
    double listening = (double)(now_ns() - begun) / 1e6;
    poller = epoll_create1(0);
    measuring = true;
    ask(&c);
    while (!c.saw_event && !seen.errors) {
        char    read[65536];
        ssize_t n = recv(c.fd, read, sizeof read, 0);
        if (n <= 0) {
            note_error("cold", "no answer");
            break;
        }
        take_bytes(&c, read, (size_t)n, now_ns());
    }
    double ms = (double)(now_ns() - begun) / 1e6;
    usleep((useconds_t)(set.run_s * 1e6));
    set.pids = (struct pids){ { child }, 1 };
    printf("{\"label\":\"%s\",\"errors\":%llu,\"listening_ms\":%.2f,\"first_event_ms\":%.2f,\"rss_"
           "kb\":%ld}\n",
           set.label, (unsigned long long)seen.errors, listening, ms, pids_kb(&set.pids, "VmRSS:"));
    close(c.fd);
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    return 0;
}

static enum mode mode_of(const char *name)
{
    static const char *const names[] = { "sse", "ws", "idle", "idle-ws", "approve", "cold" };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return (enum mode)i;
    fprintf(stderr, "load: no mode %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    int o;
    while ((o = getopt(argc, argv, "p:P:m:c:w:t:n:u:b:B:A:e:s:l:H:")) != -1) switch (o) {
        case 'p': set.port = atoi(optarg); break;
        case 'P': set.path = optarg; break;
        case 'm': set.mode = mode_of(optarg); break;
        case 'c': set.clients = atoi(optarg); break;
        case 'w': set.warm_s = atof(optarg); break;
        case 't': set.run_s = atof(optarg); break;
        case 'n': set.tokens = atoi(optarg); break;
        case 'u': set.gap_us = atoi(optarg); break;
        case 'b': set.burst = atoi(optarg); break;
        case 'B': set.body = optarg; break;
        case 'A': set.then = optarg; break;
        case 'e': set.expect = optarg; break;
        case 'l': set.label = optarg; break;
        case 's':
            if (set.pids.count < 64) set.pids.at[set.pids.count++] = atoi(optarg);
            break;
        case 'H':
            snprintf(set.headers + strlen(set.headers), sizeof set.headers - strlen(set.headers),
                     "%s\r\n", optarg);
            break;
        default: return 2;
        }
    set.command = argv + optind;
    return set.mode == COLD ? run_cold() : run_load();
}
