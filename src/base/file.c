/* file.c -- see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define PIECE 4096

/* NULL: it is an ordinary file. */
static const char *fault_of(const struct stat *st)
{
    if (S_ISREG(st->st_mode)) return NULL;
    errno = S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
    if (S_ISDIR(st->st_mode)) return "it is a folder; name a file";
    if (S_ISFIFO(st->st_mode)) return "it is a pipe; name an ordinary file";
    if (S_ISSOCK(st->st_mode)) return "it is a socket; name an ordinary file";
    return "it is a device; name an ordinary file";
}

const char *file_fault(const char *path)
{
    struct stat st;
    return stat(path, &st) ? os_words(errno) : fault_of(&st);
}

/* O_NONBLOCK: a pipe is opened, or refused with ENXIO, at once; a folder is not written to. */
int file_open(const char *path, int flags, const char **why)
{
    struct stat st;
    int         fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

    if (fd < 0) {
        int first = errno;
        *why = first == ENXIO || first == EISDIR ? file_fault(path) : NULL;
        if (*why) return -1;
        *why = os_words(errno = first);
        return -1;
    }
    *why = fstat(fd, &st) ? os_words(errno) : fault_of(&st);
    if (!*why && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK)) *why = os_words(errno);
    if (!*why) return fd;
    int kept = errno;
    close(fd);
    errno = kept;
    return -1;
}

static const char *read_all(int fd, struct buf *into)
{
    for (;;) {
        char   *room = buf_room(into, PIECE);
        ssize_t n = room ? read(fd, room, PIECE) : 0;
        if (into->err) {
            errno = 0;
            return into->err == ERR_FULL ? "it is too long" : "there is not enough memory";
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return os_words(errno);
        if (n == 0) return NULL;
        buf_grew(into, (size_t)n);
    }
}

const char *file_read(const char *path, struct buf *into)
{
    const char *why;
    int         fd = file_open(path, O_RDONLY, &why);

    if (fd < 0) return why;
    why = read_all(fd, into);
    int kept = errno;
    close(fd);
    errno = kept;
    return why;
}
