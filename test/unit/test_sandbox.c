/* test_sandbox.c -- what a tool must not be able to do. Each test first makes sure that the means is there. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "tool/sandbox.h"
#include "toolrun.h"

static struct toolrun *T;
static const struct sandbox_caps *caps;

static void begin(void)
{
    T = toolrun_new();
    caps = children_caps(T->children);
}
static void end(void) { toolrun_free(T); }

static void sh(struct ran *r, const char *script, const char *more)
{
    ran_run(T, r, toolrun_sh(T, script, more, 10000), "{}");
}

/* The tool's result is the words its script prints on stdout and stderr. */
static void words(struct ran *r, const char *script, const char *more)
{
    char text[4000];
    snprintf(text, sizeof text,
             "o=$( { %s ; } 2>&1 | tr '\\n\"\\\\\\0' '   .' | head -c 3000); echo \"{\\\"result\\\":\\\"$o\\\"}\"", script);
    sh(r, text, more);
    CHECK(r->outcome == TOOL_DONE);
}

static bool skip(bool there, const char *what)
{
    if (!there) printf("skipped: %s is not available here\n", what);
    return !there;
}

TEST(a_tool_writes_nowhere_but_in_its_directory)
{
    char        script[1000];
    struct ran  r;
    struct stat st;
    char        path[300];

    begin();
    snprintf(path, sizeof path, "%s/outside", test_dir());
    snprintf(script, sizeof script, "echo x > %s; echo x > /tmp/parley-outside; echo x >> /etc/hosts; rm /etc/hostname; mkdir /var/parley-x;"
             "echo inside > $HOME/a && ln -s /etc/passwd $HOME/b && mkdir -p $TMPDIR/c/d && cat $HOME/a", path);
    words(&r, script, "");
    CHECK(str_has(r.text, "inside"));
    if (!skip(caps->landlock, "landlock")) {
        CHECK(str_has(r.text, "Permission denied"));
        CHECK(stat(path, &st) != 0 && stat("/tmp/parley-outside", &st) != 0 && stat("/var/parley-x", &st) != 0);
        CHECK(stat("/etc/hostname", &st) == 0);
    }
    ran_done(&r);
    end();
}

TEST(a_tools_directory_is_its_own_and_is_gone_afterwards)
{
    struct ran  r, other;
    struct stat st;

    begin();
    words(&r, "mkdir -p $HOME/deep/er; echo 1 > $HOME/deep/er/f; chmod 0 $HOME/deep/er; echo $HOME", "");
    words(&other, "echo $HOME", "");
    CHECK(!str_eq(r.text, other.text));
    toolrun_turn(T, 100);
    CHECK(stat(str_trim(r.text).ptr, &st) != 0);
    ran_done(&r);
    ran_done(&other);
    end();
}

/* As parley serve has it: the store's own path, relative. */
TEST(a_relative_root_works_and_what_a_dead_keeper_left_is_removed)
{
    struct children *c, *other;
    struct loop      l;
    struct stat      st;
    char             here[1000], stale[300];
    struct timespec  old[2] = { { 1000, 0 }, { 1000, 0 } };

    REQUIRE(getcwd(here, sizeof here) && chdir(test_dir()) == 0 && loop_init(&l) == OK);
    REQUIRE(mkdir("rel.work", 0700) == 0 && mkdir("rel.work/k-stale1", 0700) == 0 && mkdir("rel.work/k-stale1/1", 0700) == 0);
    REQUIRE(utimensat(AT_FDCWD, "rel.work/k-stale1", old, 0) == 0);
    REQUIRE(children_start(&c, &l, "rel.work") == OK);
    REQUIRE(children_start(&other, &l, "rel.work") == OK);
    snprintf(stale, sizeof stale, "%s/rel.work/k-stale1", test_dir());
    CHECK(stat(stale, &st) != 0);
    children_stop(c);
    CHECK(stat("rel.work", &st) == 0);
    children_stop(other);
    CHECK(stat("rel.work", &st) != 0);
    loop_done(&l);
    REQUIRE(chdir(here) == 0);
}

TEST(a_tool_does_not_read_what_is_not_for_it)
{
    char       script[1000], path[300];
    struct ran r;
    FILE      *f;

    begin();
    if (skip(caps->landlock, "landlock")) { end(); return; }
    snprintf(path, sizeof path, "%s/secret", test_dir());
    REQUIRE((f = fopen(path, "w")));
    fputs("the store's secret", f);
    fclose(f);
    snprintf(script, sizeof script, "cat %s; cat /etc/shadow | head -c 5; ls /root /home /tmp | head -3", path);
    words(&r, script, "");
    CHECK(!str_has(r.text, "the store's secret") && !str_has(r.text, "root:"));
    CHECK(str_has(r.text, "Permission denied"));
    ran_done(&r);
    snprintf(script, sizeof script, "cat %s", path);
    char more[400];
    snprintf(more, sizeof more, ",\"read\":[\"%s\"]", path);
    words(&r, script, more);
    CHECK(str_has(r.text, "the store's secret"));
    ran_done(&r);
    end();
}

TEST(a_tool_does_not_read_the_servers_environment)
{
    struct ran r;
    char       script[500];

    begin();
    setenv("PARLEY_TEST_SECRET", "hunter2", 1);
    snprintf(script, sizeof script, "cat /proc/%d/environ /proc/$PPID/environ /proc/[0-9]*/environ; env; "
             "head -c 100 /proc/%d/mem; ls /proc/%d/fd", getpid(), getpid(), getpid());
    words(&r, script, "");
    CHECK(!str_has(r.text, "hunter2"));
    ran_done(&r);
    end();
}

TEST(a_tool_does_not_signal_the_server)
{
    struct ran r;
    char       script[200];
    begin();
    snprintf(script, sizeof script, "kill -0 %d && echo could; kill -0 %d && echo could", getpid(), children_keeper(T->children));
    words(&r, script, "");
    if (caps->pidns || caps->own_uid || caps->landlock >= 6) CHECK(!str_has(r.text, "could"));
    ran_done(&r);
    end();
}

/* A listener here tells whether anybody came. */
static int listen_here(int *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          n = sizeof a;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    must(bind(fd, (void *)&a, sizeof a) == 0 && listen(fd, 4) == 0 && getsockname(fd, (void *)&a, &n) == 0);
    *port = ntohs(a.sin_port);
    return fd;
}

TEST(a_tool_opens_no_socket_unless_it_may)
{
    struct ran r;
    char       script[200];
    int        port, fd = listen_here(&port), came;

    begin();
    snprintf(script, sizeof script, "echo hi > /dev/tcp/127.0.0.1/%d && echo sent", port);
    if (!skip(caps->seccomp, "seccomp")) {
        words(&r, script, "");
        CHECK(str_has(r.text, "Permission denied") && !str_has(r.text, "sent"));
        CHECK(accept(fd, NULL, NULL) < 0);
        ran_done(&r);
        words(&r, "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", "");
        CHECK(str_has(r.text, "PermissionError"));
        ran_done(&r);
        words(&r, "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", ",\"network\":true");
        CHECK(str_has(r.text, "PermissionError"));
        ran_done(&r);
    }
    words(&r, script, ",\"network\":true");
    CHECK(str_has(r.text, "sent"));
    came = accept(fd, NULL, NULL);
    CHECK(came >= 0);
    close(came);
    ran_done(&r);
    close(fd);
    end();
}

TEST(a_tool_gains_nothing_by_system_calls_or_set_user_id_programs)
{
    struct ran r;
    begin();
    if (skip(caps->seccomp, "seccomp")) { end(); return; }
    words(&r, "unshare -U true && echo new-user; unshare -m true && echo new-mount; mount -t tmpfs x /mnt && echo mounted;"
              "dmesg | head -1 | grep -q . && echo dmesg; chroot / true && echo chrooted;"
              "grep -E 'NoNewPrivs|Seccomp:|CapEff|CapBnd' /proc/self/status", "");
    CHECK(!str_has(r.text, "new-user") && !str_has(r.text, "new-mount") && !str_has(r.text, "mounted"));
    CHECK(!str_has(r.text, " dmesg ") && !str_has(r.text, "chrooted"));
    ran_done(&r);
    /* By the tool itself: not even its children may look into /proc. */
    sh(&r, "mapfile -t x < /proc/self/status; x=\"${x[*]//$'\\t'/ }\"; echo \"{\\\"result\\\":\\\"$x\\\"}\"", "");
    CHECK(str_has(r.text, "NoNewPrivs: 1") && str_has(r.text, "Seccomp: 2"));
    /* None; or, for root's tools, the one to read (2: where a container has only CAP_DAC_OVERRIDE). */
    CHECK(str_has(r.text, "CapEff: 0000000000000000") || str_has(r.text, "CapEff: 0000000000000004")
          || (str_has(r.text, "CapEff: 0000000000000002") && caps->landlock));
    ran_done(&r);
    end();
}

TEST(a_fork_bomb_stays_within_its_limit_and_ends)
{
    struct ran   r;
    struct tool *t;

    begin();
    if (skip(caps->nproc, "the process limit")) { end(); return; }      /* no bomb without it */
    sh(&r, "n=0; for i in $(seq 100); do sleep 64301 2>/dev/null & done 2>/dev/null; n=$(jobs -p | wc -l); echo \"{\\\"result\\\":$n}\"",
       ",\"limits\":{\"processes\":8}");
    CHECK(!str_has(r.text, "100"));
    ran_done(&r);
    toolrun_turn(T, 50);
    CHECK(processes_with("64301") == 0);
    t = toolrun_sh(T, "bomb64302() { bomb64302 | bomb64302 & }; bomb64302; sleep 64302", ",\"limits\":{\"processes\":16}", 700);
    ran_run(T, &r, t, "{}");
    CHECK(r.outcome == TOOL_UNKNOWN);
    CHECK(r.ms < 6000);
    CHECK(processes_with("64302") == 0);
    ran_done(&r);
    end();
}

TEST(memory_files_and_file_sizes_are_limited)
{
    struct ran r;
    begin();
    words(&r, "python3 -c 'print(\"made\", len(bytearray(300000000)))'", ",\"limits\":{\"memory\":200000000}");
    CHECK(str_has(r.text, "MemoryError") && !str_has(r.text, "made"));
    ran_done(&r);
    words(&r, "head -c 2M /dev/zero > $HOME/big; stat -c %s $HOME/big", ",\"limits\":{\"file_size\":1000000}");
    CHECK(str_has(r.text, "1000000") && !str_has(r.text, "2097152"));
    ran_done(&r);
    words(&r, "ulimit -n; ulimit -c", ",\"limits\":{\"files\":32}");
    CHECK(str_has(r.text, "32 0"));
    ran_done(&r);
    end();
}

TEST(interpreters_of_all_kinds_start_in_the_sandbox)
{
    struct ran r;
    begin();
    words(&r, "python3 -c 'import json,ssl,subprocess,sys; print(\"py\", sys.version_info[0])'", "");
    CHECK(str_has(r.text, "py 3"));
    ran_done(&r);
    words(&r, "node -e 'console.log(\"js\", require(\"fs\").readFileSync(\"/dev/null\").length)'", "");
    CHECK(str_has(r.text, "js 0"));
    if (!str_has(r.text, "js 0")) printf("%s\n", r.text.ptr);
    ran_done(&r);
    words(&r, "perl -e 'print \"pl\", 1'", "");
    CHECK(str_has(r.text, "pl1"));
    ran_done(&r);
    end();
}

TEST(what_the_kernel_lacks_is_said)
{
    struct buf b;
    buf_init(&b, 0);
    sandbox_report(&(struct sandbox_caps){ .landlock = 7, .seccomp = true, .pidns = PIDNS_ROOT, .own_uid = true, .nproc = true }, &b);
    CHECK_STR(buf_view(&b), "");
    sandbox_report(&(struct sandbox_caps){ 0 }, &b);
    CHECK(str_has(buf_view(&b), "no landlock") && str_has(buf_view(&b), "no seccomp"));
    CHECK(str_has(buf_view(&b), "no PID namespace") && str_has(buf_view(&b), "no process limit"));
    buf_done(&b);
}
