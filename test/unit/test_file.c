/* test_file.c -- an ordinary file is read whole; what is none is named, and waited for by nobody. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static const char *place(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", test_dir(), name);
    return path;
}

/* What is said of it by each of the three. */
static bool refused(const char *path, int error, const char *words)
{
    struct buf  b;
    const char *why = NULL;

    buf_init(&b, 0);
    bool good = file_open(path, O_WRONLY, &why) == -1 && errno == error && !strcmp(why, words) &&
                (why = file_read(path, &b)) && errno == error && !strcmp(why, words) &&
                (why = file_fault(path)) && errno == error && !strcmp(why, words);
    if (!good) printf("%s: %s\n", path, why ? why : "it was opened");
    buf_done(&b);
    return good;
}

TEST(what_is_no_ordinary_file_is_named_and_not_waited_for)
{
    const char *pipe = place("pipe");

    REQUIRE(mkfifo(pipe, 0600) == 0);
    CHECK(refused(pipe, EINVAL, "it is a pipe; name an ordinary file"));
    CHECK(refused(test_dir(), EISDIR, "it is a folder; name a file"));
    CHECK(refused("/dev/null", EINVAL, "it is a device; name an ordinary file"));
    CHECK(refused("/nowhere/file", ENOENT, "No such file or directory"));
}

TEST(a_file_is_read_whole_or_not_at_all)
{
    const char *path = place("whole"), *why;
    struct buf  b;
    int         fd = file_open(path, O_WRONLY | O_CREAT, &why);
    char        text[10000];

    REQUIRE(fd >= 0);
    memset(text, 'x', sizeof text);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
    CHECK(write(fd, text, sizeof text) == sizeof text);
    close(fd);
    CHECK(!file_fault(path));
    buf_init(&b, 0);
    CHECK(!file_read(path, &b) && b.len == sizeof text);
    buf_done(&b);
    buf_init(&b, sizeof text - 1);
    CHECK(!strcmp(file_read(path, &b), "it is too long") && errno == 0);
    buf_done(&b);
}
