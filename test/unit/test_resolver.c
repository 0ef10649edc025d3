/* test_resolver.c -- a name server that never answers. libcurl asks in a thread of its own, and
 * used to wait for that thread when a transfer was removed: one stop, and everybody stood still
 * until the resolver gave up.
 *
 * getaddrinfo is ours here, for the whole test program: "silent.test" is answered when the test
 * says so.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "test.h"
#include "tool/http.h"
#include "toolrun.h"

#define PATIENCE_S 10 /* of the resolver; a transfer that waits for it is seen by that */

static sem_t       let_go;
static atomic_uint asked, answered;

__attribute__((visibility("default"))) int getaddrinfo(const char *host, const char *port,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo      **out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    struct timespec until;

    if (!host || strcmp(host, "silent.test") != 0) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
        return real(host, port, hints, out);
    }
    atomic_fetch_add(&asked, 1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    sem_timedwait(&let_go, &until);
    atomic_fetch_add(&answered, 1);
    return EAI_AGAIN;
}

static struct tool *silent(struct toolrun *t, unsigned timeout_ms)
{
    static unsigned n;
    struct tool    *tool = registry_tool(&t->reg, arena_printf(&t->reg.arena, "silent%u", n++));
    struct jv      *v = NULL;
    struct buf      why;

    buf_init(&why, 0);
    must(json_parse(&t->reg.arena, STR("{\"url\":\"http://silent.test/\"}"), &v, NULL) == OK);
    tool->timeout_ms = timeout_ms;
    must(http_tool_read(&t->reg, tool, v, &t->pool, &t->loop, &why) == OK);
    must(registry_add(&t->reg, tool) == OK);
    buf_done(&why);
    return tool;
}

/* The call ends while the resolver still waits; it is let go afterwards. */
static void ends_alone(unsigned timeout_ms, bool stop, enum tool_outcome outcome)
{
    struct toolrun *t = toolrun_new();
    struct ran      r = { 0 };

    sem_init(&let_go, 0, 0);
    asked = answered = 0;
    ran_start(t, &r, silent(t, timeout_ms), "{}");
    toolrun_while(t, !asked);
    CHECK(asked == 1);
    if (stop) r.job.tool->ops->cancel(&r.job);
    ran_wait(t, &r, 5000);
    CHECK(r.outcome == outcome && answered == 0);
    sem_post(&let_go);
    toolrun_while(t, !answered);
    CHECK(answered == 1);
    ran_done(&r);
    toolrun_free(t);
}

TEST(a_call_is_stopped_while_its_name_is_looked_up)
{
    ends_alone(60000, true, TOOL_CANCELLED);
}
TEST(a_call_is_given_up_while_its_name_is_looked_up)
{
    ends_alone(300, false, TOOL_FAILED);
}
