/* fault.c -- see fault.h. One order at a time. It is also changed by a signal
 * handler: what is used here is safe there, and `active` is off while the rest changes. */
#include "base/fault.h"

#ifdef PARLEY_TEST
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    atomic_bool active, hit;
    atomic_long passed;
    char        what[64];
    long        nth;
    bool        onwards;
    int         error;
    bool        slow, stall;
} order;

#define SLOW_US (2000 * 1000)

/* Is this the passage that was ordered? */
static bool is_due(const char *what)
{
    if (!atomic_load_explicit(&order.active, memory_order_acquire) || strcmp(order.what, what) != 0)
        return false;
    long n = atomic_fetch_add(&order.passed, 1) + 1;
    if (n < order.nth || (n > order.nth && !order.onwards)) return false;
    order.hit = true;
    return true;
}

void fault_hit(const char *point)
{
    if (is_due(point)) kill(getpid(), SIGKILL);
}

bool fault_fails(const char *what)
{
    if (!is_due(what)) return false;
    while (order.stall) pause();
    if (order.slow) {
        usleep(SLOW_US);
        return false;
    }
    errno = strcmp(what, "mem") == 0 ? ENOMEM : order.error;
    return true;
}

void fault_order(const char *text)
{
    const char *colon = strchr(text, ':');
    char       *end = NULL;

    order.active = false;
    order.hit = false;
    order.passed = 0;
    if (!colon || (size_t)(colon - text) >= sizeof order.what) return;
    memset(order.what, 0, sizeof order.what);
    memcpy(order.what, text, (size_t)(colon - text));
    order.nth = strtol(colon + 1, &end, 10);
    order.onwards = *end == '+';
    order.slow = strstr(end, "=SLOW") != NULL;
    order.stall = strstr(end, "=STALL") != NULL;
    order.error = strstr(end, "=ENOSPC") ? ENOSPC : EIO;
    atomic_store_explicit(&order.active, true, memory_order_release);
}

/* --- orders to a process that runs ------------------------------------------------ */

static const char *order_file;

static void say_how_it_went(void)
{
    char line[128];
    int  n = snprintf(line, sizeof line,
                      "{\"level\":\"info\",\"event\":\"fault.order\",\"passed\":%ld,\"hit\":%s}\n",
                      (long)order.passed, order.hit ? "true" : "false");
    (void)!write(STDERR_FILENO, line, (size_t)n);
}

static void on_signal(int signum)
{
    char    text[96] = "";
    int     before = errno, fd = open(order_file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

    (void)signum;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    order.active = false;
    say_how_it_went();
    fault_order(text);
    errno = before;
}

__attribute__((constructor)) static void begin(void)
{
    const char      *first = getenv("PARLEY_FAULT");
    struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

    if (first) fault_order(first);
    order_file = getenv("PARLEY_FAULT_FILE");
    if (order_file) sigaction(SIGUSR2, &act, NULL);
}
#else
typedef int fault_is_empty; /* ISO C wants something in every file */
#endif
