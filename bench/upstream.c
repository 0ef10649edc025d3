/* upstream.c -- plays a model service: OpenAI's chat completions as server-sent events.
 *
 *     upstream PORT
 *
 * One thread, epoll. Any POST is answered with a stream of stamped tokens as the
 * order in its body says (bench.h). One HTTP chunk per event, as the real ones do it.
 * Paced streams hang in a wheel of 100 microsecond slots, each beginning
 * at a random place, so that tokens come evenly and not in salvoes. The first token of
 * a paced stream comes at once: the time to it is what a server adds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define SLOT_NS   100000u
#define SLOTS     16384u /* a span of 1.6 s: the longest pause between two tokens */
#define EVENTS    512
#define HEAD_MAX  65536
#define PIECE_MAX 512

#define CHUNK_HEAD                                                                         \
    "data: "                                                                               \
    "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":" \
    "\"mock\","

struct bytes {
    char  *at;
    size_t len, cap;
};

struct stream {
    int            fd;
    struct bytes   in, out;
    size_t         out_at;      /* written up to here */
    unsigned       left, burst; /* tokens to come; tokens per write */
    uint64_t       gap_ns, due_ns;
    bool           speaking, blocked, closed;
    struct stream *next, **link; /* in a slot of the wheel */
};

static int            poller;
static struct stream *wheel[SLOTS];
static uint64_t       slot_now; /* slots up to here are done */
static unsigned       paced;

/* --- bytes --------------------------------------------------------------------------- */

static void add(struct bytes *b, const void *p, size_t n)
{
    if (b->len + n > b->cap) b->at = need(realloc(b->at, b->cap = (b->len + n) * 2));
    memcpy(b->at + b->len, p, n);
    b->len += n;
}

static void add_chunk(struct bytes *b, const char *p, size_t n)
{
    char size[16];
    add(b, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", n));
    add(b, p, n);
    add(b, "\r\n", 2);
}

static void add_text(struct bytes *b, const char *text)
{
    add_chunk(b, text, strlen(text));
}

/* --- the wheel ------------------------------------------------------------------------- */

static void unhang(struct stream *s)
{
    if (!s->link) return;
    *s->link = s->next;
    if (s->next) s->next->link = s->link;
    s->link = NULL;
    paced--;
}

static void hang(struct stream *s)
{
    uint64_t slot = s->due_ns / SLOT_NS;
    if (slot <= slot_now) slot = slot_now + 1;
    struct stream **at = &wheel[slot % SLOTS];
    s->next = *at;
    s->link = at;
    if (*at) (*at)->link = &s->next;
    *at = s;
    paced++;
}

/* --- what is said ------------------------------------------------------------------------ */

static void say_head(struct stream *s)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
        "Transfer-Encoding: chunked\r\n\r\n";
    add(&s->out, head, sizeof head - 1);
    add_text(&s->out, CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                                 "\"content\":\"\"},\"finish_reason\":null}]}\n\n");
}

/* Words with what makes encoders work: escapes, quotes, other scripts. */
static void say_token(struct stream *s)
{
    static const char *const words[] = { " alpha",
                                         " line\\n",
                                         " \\\"said\\\"",
                                         " caf\\u00e9",
                                         " of",
                                         " the",
                                         " tokens,",
                                         " \xe2\x82\xac"
                                         "12" };
    char                     piece[PIECE_MAX];
    int                      n = snprintf(piece, sizeof piece,
                                          CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%c%016llx%s\"},"
                                                                          "\"finish_reason\":null}]}\n\n",
                                          STAMP_MARK, (unsigned long long)now_ns(), words[s->left % 8]);
    add_chunk(&s->out, piece, (size_t)n);
    s->left--;
}

static void say_end(struct stream *s)
{
    add_text(&s->out,
             CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    add_text(&s->out, "data: [DONE]\n\n");
    add(&s->out, "0\r\n\r\n", 5);
    s->speaking = false;
}

/* --- writing ------------------------------------------------------------------------------ */

static void end(struct stream *s)
{
    if (s->closed) return;
    s->closed = true;
    unhang(s);
    close(s->fd);
}

static void release(struct stream *s)
{
    free(s->in.at);
    free(s->out.at);
    free(s);
}

static void watch(struct stream *s, bool room)
{
    struct epoll_event e = { .events = EPOLLIN | (room ? EPOLLOUT : 0), .data.ptr = s };
    if (s->blocked == room) return;
    s->blocked = room;
    epoll_ctl(poller, EPOLL_CTL_MOD, s->fd, &e);
}

static void push(struct stream *s)
{
    while (s->out_at < s->out.len) {
        ssize_t n = send(s->fd, s->out.at + s->out_at, s->out.len - s->out_at, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(s, true);
            return;
        }
        if (n < 0) {
            end(s);
            return;
        }
        s->out_at += (size_t)n;
    }
    s->out.len = s->out_at = 0;
    watch(s, false);
}

/* Everything at once: until it is said, or the socket is full. */
static void blast(struct stream *s)
{
    do {
        for (unsigned i = 0; i < s->burst && s->left; i++) say_token(s);
        if (!s->left) say_end(s);
        push(s);
    } while (s->speaking && !s->closed && s->out.len == 0);
}

static void speak_paced(struct stream *s)
{
    say_token(s);
    if (s->left) {
        s->due_ns += s->gap_ns;
        hang(s);
    } else say_end(s);
    push(s);
}

static void turn_wheel(void)
{
    uint64_t until = now_ns() / SLOT_NS;
    if (!paced) slot_now = until;
    for (; slot_now < until;) {
        struct stream *s, *list = wheel[++slot_now % SLOTS];
        wheel[slot_now % SLOTS] = NULL;
        for (; (s = list);) {
            list = s->next;
            s->link = NULL;
            paced--;
            if (s->due_ns / SLOT_NS > slot_now) hang(s);
            else speak_paced(s);
            if (s->closed) release(s);
        }
    }
}

/* --- requests ----------------------------------------------------------------------------- */

static void answer(struct stream *s, const char *body)
{
    int         n = 100, us = 0, burst = 100;
    const char *order = NULL;
    /* of a conversation the last one counts */
    for (const char *p = body; (p = strstr(p, ORDER_BEGIN)); p++) order = p;
    if (order) sscanf(order, ORDER, &n, &us, &burst);
    s->left = n > 0 ? (unsigned)n : 1;
    s->burst = burst > 0 ? (unsigned)burst : 1;
    s->gap_ns = (uint64_t)us * 1000;
    s->speaking = true;
    say_head(s);
    if (!us) {
        blast(s);
        return;
    }
    say_token(s);
    s->due_ns = now_ns() + (uint64_t)random() % s->gap_ns;
    if (s->left) hang(s);
    else say_end(s);
    push(s);
}

static void take_request(struct stream *s)
{
    char *head_end = memmem(s->in.at, s->in.len, "\r\n\r\n", 4);
    if (!head_end) {
        if (s->in.len > HEAD_MAX) end(s);
        return;
    }
    size_t head = (size_t)(head_end - s->in.at) + 4, body = 0;
    *head_end = '\0';
    char *length = strcasestr(s->in.at, "\r\ncontent-length:");
    *head_end = '\r';
    if (length) body = strtoul(length + 17, NULL, 10);
    if (s->in.len < head + body) return;
    char *text = need(strndup(s->in.at + head, body));
    memmove(s->in.at, s->in.at + head + body, s->in.len - head - body);
    s->in.len -= head + body;
    answer(s, text);
    free(text);
}

static void on_input(struct stream *s)
{
    static char read[65536];
    ssize_t     n = recv(s->fd, read, sizeof read, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
        end(s);
        return;
    }
    add(&s->in, read, (size_t)n);
    if (!s->speaking) take_request(s);
}

static void take_connections(int listener)
{
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct stream     *s = need(calloc(1, sizeof *s));
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };
        s->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    }
}

static int listen_on(int port)
{
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 8192)) die("upstream: listen");
    return fd;
}

static void serve(struct stream *s, unsigned events)
{
    if (events & EPOLLOUT) {
        push(s);
        if (s->speaking && !s->gap_ns && !s->closed && s->out.len == 0) blast(s);
    }
    if (!s->closed && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_input(s);
}

int main(int argc, char **argv)
{
    int                listener = listen_on(argc > 1 ? atoi(argv[1]) : 9100);
    struct epoll_event e = { .events = EPOLLIN }, events[EVENTS];
    signal(SIGPIPE, SIG_IGN);
    poller = epoll_create1(0);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
    slot_now = now_ns() / SLOT_NS;
    for (;;) {
        struct timespec wait = { 0, SLOT_NS }, *how_long = paced ? &wait : NULL;
        int             n = epoll_pwait2(poller, events, EVENTS, how_long, NULL);
        for (int i = 0; i < n; i++) {
            struct stream *s = events[i].data.ptr;
            if (!s) {
                take_connections(listener);
                continue;
            }
            serve(s, events[i].events);
            if (s->closed) release(s);
        }
        turn_wheel();
    }
}
