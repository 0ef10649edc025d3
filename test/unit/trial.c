/* trial.c -- see trial.h. */
#include "trial.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t service;
int          service_port;

static void stop_service(void)
{
    if (service > 0) kill(service, SIGKILL);
}

static void start_service(void)
{
    char    path[4096], line[32] = "";
    int     out[2];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (service) return;
    REQUIRE(n > 0 && pipe(out) == 0);
    path[n] = '\0';
    strcpy(strrchr(path, '/'), "/upstream");
    fflush(stdout);
    service = fork();
    if (service == 0) {
        dup2(out[1], 1);
        if (!getenv("TRACE")) REQUIRE(freopen("/dev/null", "w", stderr) != NULL);
        execl(path, path, "0", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    atexit(stop_service);
    REQUIRE(read(out[0], line, sizeof line - 1) > 0);
    close(out[0]);
    service_port = atoi(line);
    REQUIRE(service_port > 0);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

void service_get(const char *path, struct buf *out)
{
    char               piece[4096];
    ssize_t            n;
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)service_port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    n = snprintf(piece, sizeof piece, "%s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    REQUIRE(write(fd, piece, (size_t)n) == n);
    shutdown(fd, SHUT_WR);
    while ((n = read(fd, piece, sizeof piece)) > 0) buf_add(out, piece, (size_t)n);
    close(fd);
    ptrdiff_t head = str_find(buf_view(out), STR("\r\n\r\n"));
    REQUIRE(head > 0);
    buf_eat(out, (size_t)head + 4);
}

int64_t service_stat(const char *name)
{
    struct buf   b;
    struct arena a;
    struct jv   *v = NULL;
    buf_init(&b, 0);
    arena_init(&a, 0);
    service_get("GET /stats", &b);
    REQUIRE(json_parse(&a, buf_view(&b), &v, NULL) == OK);
    int64_t n = jv_int_at(v, name, -1);
    arena_done(&a);
    buf_done(&b);
    return n;
}

static struct trial *of(struct model_sink *s)
{
    return LIST_ITEM(s, struct trial, watch);
}

static void count(struct trial *t)
{
    if (++t->deltas != t->cancel_at) return;
    t->model->ops->cancel(t->run);
    t->trace.over = true;
    loop_stop(&t->loop);
}
static void w_text(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.text(&of(s)->trace.sink, d);
    count(of(s));
}
static void w_reasoning(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.reasoning(&of(s)->trace.sink, d);
    count(of(s));
}
static void w_opaque(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.opaque(&of(s)->trace.sink, d);
}
static void w_call(struct model_sink *s, struct str id, struct str name)
{
    of(s)->trace.sink.call(&of(s)->trace.sink, id, name);
    count(of(s));
}
static void w_input(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.input(&of(s)->trace.sink, d);
    count(of(s));
}
static void w_call_end(struct model_sink *s)
{
    of(s)->trace.sink.call_end(&of(s)->trace.sink);
}
static void w_usage(struct model_sink *s, int64_t in, int64_t out)
{
    of(s)->trace.sink.usage(&of(s)->trace.sink, in, out);
}
static void w_done(struct model_sink *s, enum model_stop stop)
{
    of(s)->trace.sink.done(&of(s)->trace.sink, stop);
    loop_stop(&of(s)->loop);
}
static void w_failed(struct model_sink *s, const struct model_error *e)
{
    struct trial *t = of(s);
    t->trace.sink.failed(&t->trace.sink, e);
    snprintf(t->message, sizeof t->message, STR_FMT, STR_ARG(e->message));
    loop_stop(&t->loop);
}

static void on_patience(struct loop_timer *timer)
{
    struct trial *t = LIST_ITEM(timer, struct trial, patience);
    t->hung = true;
    loop_stop(&t->loop);
}

void trial_open(struct trial *t)
{
    start_service();
    *t = (struct trial){ .watch = { w_text, w_reasoning, w_opaque, w_call, w_input, w_call_end,
                                    w_usage, w_done, w_failed } };
    trace_init(&t->trace);
    REQUIRE(loop_init(&t->loop) == OK);
    t->up = upstream_new(&t->loop);
    REQUIRE(t->up);
    loop_timer_init(&t->loop, &t->patience, on_patience);
}

void trial_close(struct trial *t)
{
    if (t->model) t->model->ops->free(t->model);
    upstream_free(t->up, NULL, NULL);
    loop_timer_close(&t->patience, NULL);
    loop_done(&t->loop);
    trace_done(&t->trace);
}

const char *const providers[3] = { "anthropic", "openai", "gemini" };

void trial_url(char *out, size_t size, const char *provider)
{
    static const char *const tails[] = { "", "/v1", "/v1beta" };
    size_t                   i = 0;
    while (i < 2 && strcmp(providers[i], provider)) i++;
    snprintf(out, size, "http://127.0.0.1:%d%s", service_port, tails[i]);
}

struct model *trial_model(struct trial *t, const char *provider, const char *model,
                          const struct model_config *tweak)
{
    char                url[100];
    struct str          why = STR("");
    struct model_config c = tweak ? *tweak : (struct model_config){ .retries = 2 };
    trial_url(url, sizeof url, provider);
    c.provider = str_c(provider);
    c.model = str_c(model);
    c.api_key = STR("sk-secret");
    c.wait_max_ms = 60000;
    if (!c.base_url.len) c.base_url = str_c(url);
    if (!c.idle_ms) c.idle_ms = 400;
    if (!c.first_byte_ms) c.first_byte_ms = 400;
    struct model *m = model_remote_new(t->up, &c, &why);
    if (!m) printf("    " STR_FMT "\n", STR_ARG(why));
    return m;
}

void trial_ask(struct trial *t, const struct model_request *q)
{
    t->run = t->model->ops->start(t->model, q, &t->watch);
    REQUIRE(t->run);
    loop_timer_set(&t->patience, PATIENCE_MS);
    loop_run(&t->loop);
    CHECK(!t->hung);
    CHECK(t->trace.over);
    CHECK(strstr(t->message, "sk-secret") == NULL && strstr(t->message, "own words") == NULL);
}

void trial_say(struct trial *t, const char *text)
{
    struct msg_part part = { .type = PART_TEXT, .text = str_c(text) };
    struct msg      msg = { MSG_USER, &part, 1 };
    trial_ask(t, &(struct model_request){ .msgs = &msg, .msg_count = 1 });
}

void trial_again(struct trial *t)
{
    t->trace.over = t->trace.failed = false;
    buf_clear(&t->trace.text);
}
