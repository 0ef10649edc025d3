/* keys.c -- see keys.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "cli/keys.h"

static volatile sig_atomic_t pressed;
static int                   knock[2] = { -1, -1 };

static struct {
    char   bytes[4096];
    size_t at, len;
} ahead; /* read, and not handed out */

/* --- Ctrl-C --------------------------------------------------------------------------- */

static void on_interrupt(int signal)
{
    int kept = errno;

    (void)signal;
    pressed++;
    (void)!write(knock[1], "", 1);
    errno = kept;
}

bool keys_listen(void)
{
    struct sigaction act = { .sa_handler = on_interrupt };

    return pipe2(knock, O_CLOEXEC | O_NONBLOCK) == 0 && sigaction(SIGINT, &act, NULL) == 0;
}

unsigned keys_pressed(void)
{
    return (unsigned)pressed;
}

unsigned keys_taken(void)
{
    unsigned times = (unsigned)pressed;

    pressed = 0;
    keys_calm();
    return times;
}

int keys_wake(void)
{
    return knock[0];
}

void keys_calm(void)
{
    char drop[16];

    while (read(knock[0], drop, sizeof drop) > 0) continue;
}

/* --- lines ------------------------------------------------------------------------------ */

/* False: the end of the input. Nothing is there yet when Ctrl-C came first. */
static bool more(void)
{
    struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                          { .fd = knock[0], .events = POLLIN } };

    if (poll(p, 2, -1) < 0 || p[1].revents || !p[0].revents) return true;
    ssize_t got = read(STDIN_FILENO, ahead.bytes, sizeof ahead.bytes);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    ahead.at = 0;
    ahead.len = (size_t)got;
    return got > 0;
}

enum keys keys_line(struct buf *line)
{
    buf_clear(line);
    for (;;) {
        struct str rest = str_n(ahead.bytes + ahead.at, ahead.len - ahead.at);
        ptrdiff_t  end = str_find(rest, STR("\n"));
        if (keys_pressed()) return KEYS_PRESSED;
        buf_str(line, end < 0 ? rest : str_cut(rest, (size_t)end));
        ahead.at += end < 0 ? rest.len : (size_t)end + 1;
        if (end >= 0) return KEYS_LINE;
        if (!more()) return line->len || line->err ? KEYS_LINE : KEYS_END;
    }
}

void keys_forget(void)
{
    ahead.at = ahead.len = 0;
    (void)tcflush(STDIN_FILENO, TCIFLUSH);
}
