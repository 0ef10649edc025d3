/* test_sandbox.c -- what a tool must not be able to do. Each test first makes sure that the means
 * is there. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "tool/process/exec.h"
#include "tool/process/sandbox.h"
#include "toolrun.h"

static struct toolrun            *T;
static const struct sandbox_caps *caps;

static void begin(void)
{
    T = toolrun_new();
    caps = children_caps(T->children);
}
static void end(void)
{
    toolrun_free(T);
}

static void sh(struct ran *r, const char *script, const char *more)
{
    ran_run(T, r, toolrun_sh(T, script, more, 10000), "{}");
}

/* The tool's result is the words its script prints on stdout and stderr. */
static void words(struct ran *r, const char *script, const char *more)
{
    char text[4000];
    snprintf(text, sizeof text,
             "o=$( { %s ; } 2>&1 | tr '\\n\"\\\\\\0' '   .' | head -c 3000); echo "
             "\"{\\\"result\\\":\\\"$o\\\"}\"",
             script);
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
    snprintf(
        script, sizeof script,
        "echo x > %s; echo x > /tmp/parley-outside; echo x >> /etc/hosts; rm /etc/hostname; mkdir "
        "/var/parley-x;"
        "echo inside > $HOME/a && ln -s /etc/passwd $HOME/b && mkdir -p $TMPDIR/c/d && cat $HOME/a",
        path);
    words(&r, script, "");
    CHECK(str_has(r.text, "inside"));
    if (!skip(caps->landlock, "landlock")) {
        CHECK(str_has(r.text, "Permission denied"));
        CHECK(stat(path, &st) != 0 && stat("/tmp/parley-outside", &st) != 0 &&
              stat("/var/parley-x", &st) != 0);
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
    words(&r, "mkdir -p $HOME/deep/er; echo 1 > $HOME/deep/er/f; chmod 0 $HOME/deep/er; echo $HOME",
          "");
    words(&other, "echo $HOME", "");
    CHECK(!str_eq(r.text, other.text));
    toolrun_while(T, stat(str_trim(r.text).ptr, &st) == 0);
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
    REQUIRE(mkdir("rel.work", 0700) == 0 && mkdir("rel.work/k-stale1", 0700) == 0 &&
            mkdir("rel.work/k-stale1/1", 0700) == 0);
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
    if (skip(caps->landlock, "landlock")) {
        end();
        return;
    }
    snprintf(path, sizeof path, "%s/secret", test_dir());
    REQUIRE((f = fopen(path, "w")));
    fputs("the store's secret", f);
    fclose(f);
    snprintf(script, sizeof script,
             "cat %s; cat /etc/shadow | head -c 5; ls /root /home /tmp | head -3", path);
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
    snprintf(script, sizeof script,
             "cat /proc/%d/environ /proc/$PPID/environ /proc/[0-9]*/environ; env; "
             "head -c 100 /proc/%d/mem; ls /proc/%d/fd",
             getpid(), getpid(), getpid());
    words(&r, script, "");
    CHECK(!str_has(r.text, "hunter2"));
    ran_done(&r);
    end();
}

/* --- the server's own files ------------------------------------------------------------------- */

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs(text, f);
    fclose(f);
}

/* NULL: taken. */
static void config_says(const char *json, const char *because)
{
    struct jv *v;
    struct buf why;

    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena, arena_dup(&T->reg.arena, str_c(json)), &v, NULL) == OK);
    enum err e =
        exec_tool_read(&T->reg, registry_tool(&T->reg, STR("x")), v, &T->exec, STR_NONE, &why);
    CHECK((e == OK) == (because == NULL));
    if (!because) CHECK_STR(buf_view(&why), "");
    else if (!str_has(buf_view(&why), because))
        test_check_str(__FILE__, __LINE__, buf_view(&why), str_c(because));
    buf_done(&why);
}

#define IN(path) (snprintf(text, sizeof text, path, dir), text)

/* A folder with the store, the configuration and a script, as people have it. */
TEST(a_tool_that_could_read_the_servers_own_files_is_refused)
{
    char        dir[200], text[600], store[300], config[300];
    const char *secrets[] = { store, config, NULL };

    begin();
    snprintf(dir, sizeof dir, "%s/home", test_dir());
    snprintf(store, sizeof store, "%s/data/parley.db", dir); /* not there yet */
    snprintf(config, sizeof config, "%s/parley.json", dir);
    REQUIRE(mkdir(dir, 0755) == 0 && mkdir(IN("%s/data"), 0755) == 0 &&
            mkdir(IN("%s/tools"), 0755) == 0);
    put_file(config, "{}");
    put_file(IN("%s/tools/pay.sh"), "true");
    put_file(IN("%s/pay.sh"), "true");
    REQUIRE(symlink("..", IN("%s/tools/up")) == 0 && link(config, IN("%s/tools/other-name")) == 0);
    T->exec.secrets = secrets;
    config_says(IN("{\"command\":[\"sh\",\"pay.sh\"],\"cwd\":\"%s/tools\"}"), NULL);
    config_says(IN("{\"command\":[\"sh\",\"%s/pay.sh\"]}"), NULL);
    config_says(IN("{\"command\":[\"sh\"],\"cwd\":\"%s\"}"), "which is the server's own");
    config_says(IN("{\"command\":[\"sh\"],\"cwd\":\"%s/tools/up\"}"), "which is the server's own");
    config_says(IN("{\"command\":[\"sh\"],\"cwd\":\"%s/data\"}"), "of \"cwd\" it could read");
    config_says(IN("{\"command\":[\"sh\"],\"read\":[\"%s/data\"]}"), "of \"read\" it could read");
    config_says("{\"command\":[\"sh\"],\"read\":[\"/\"]}", "of \"read\" it could read");
    config_says(IN("{\"command\":[\"cat\",\"%s/parley.json\"]}"), "of \"command\" it could read");
    config_says(IN("{\"command\":[\"cat\",\"%s/tools/other-name\"]}"),
                "of \"command\" it could read");
    put_file(store, "rows");
    put_file(IN("%s/data/parley.db-wal"), "rows");
    config_says(IN("{\"command\":[\"cat\",\"%s/data/parley.db-wal\"]}"),
                "of \"command\" it could read");
    snprintf(store, sizeof store, "/usr/share/parley/parley.db");
    config_says("{\"command\":[\"sh\"]}", "lies in /usr/share, which every program can read");
    end();
}

/* Beside the script, and in the parent of a folder of PATH. */
TEST(the_neighbours_of_a_script_and_of_a_folder_of_path_are_not_read)
{
    char       dir[200], text[600];
    struct ran r;

    begin();
    if (skip(caps->landlock, "landlock")) {
        end();
        return;
    }
    snprintf(dir, sizeof dir, "%s/app", test_dir());
    REQUIRE(mkdir(dir, 0755) == 0 && mkdir(IN("%s/bin"), 0755) == 0 &&
            mkdir(IN("%s/lib"), 0755) == 0);
    put_file(IN("%s/secret"), "hunter2");
    put_file(IN("%s/bin/helper"), "#!/bin/sh\ncat $(dirname $0)/../lib/words\n");
    put_file(IN("%s/lib/words"), "from-the-library");
    put_file(IN("%s/pay.sh"), "cd $(dirname $0); o=$( (cat secret 2>&1; helper) | tr -d \"\\n\"); "
                              "echo \"{\\\"result\\\":\\\"$o\\\"}\"\n");
    REQUIRE(chmod(IN("%s/bin/helper"), 0755) == 0);
    char json[1000];
    snprintf(json, sizeof json,
             "{\"command\":[\"sh\",\"%s/pay.sh\"],\"env\":{\"PATH\":\"/usr/bin:/bin:%s/bin:%s\"}}",
             dir, dir, dir);
    ran_run(T, &r, toolrun_exec(T, json, 10000), "{}");
    CHECK(str_has(r.text, "Permission denied") && str_has(r.text, "from-the-library") &&
          !str_has(r.text, "hunter2"));
    ran_done(&r);
    end();
}

TEST(what_the_system_does_not_need_is_not_read)
{
    struct ran r;
    begin();
    if (skip(caps->landlock, "landlock")) {
        end();
        return;
    }
    words(&r, "ls /opt /srv /var /usr/src /usr/local/etc /etc /mnt 2>&1 | grep -v denied", "");
    CHECK_STR(str_trim(r.text), "");
    ran_done(&r);
    end();
}

TEST(a_machine_that_cannot_isolate_refuses_programs_unless_told_otherwise)
{
    static const struct sandbox_caps none,
        old = { .landlock = 1, .seccomp = true, .own_uid = true, .nproc = true };

    begin();
    T->exec.caps = &none;
    config_says("{\"command\":[\"sh\"]}", "this machine cannot isolate programs");
    config_says("{\"command\":[\"sh\"]}", "no landlock");
    config_says("{\"command\":[\"sh\"],\"sandbox\":\"required\"}", "no seccomp");
    config_says("{\"command\":[\"sh\"],\"sandbox\":\"best_effort\"}", NULL);
    config_says("{\"command\":[\"sh\"],\"sandbox\":\"off\"}", "\"required\" or \"best_effort\"");
    T->exec.caps = &old;
    config_says("{\"command\":[\"sh\"]}", NULL);
    end();
}

/* Landlock does not know of permissions, and as an ordinary user the tool is the store's owner. */
TEST(a_tool_does_not_change_the_permissions_of_what_is_not_its_own)
{
    char        script[3000], path[300];
    struct ran  r;
    struct stat st;

    begin();
    if (skip(caps->seccomp, "seccomp")) {
        end();
        return;
    }
    snprintf(path, sizeof path, "%s/store.db", test_dir());
    put_file(path, "rows");
    REQUIRE(chmod(path, 0600) == 0);
    snprintf(
        script, sizeof script,
        "chmod 000 %s && echo could; chmod 000 $(dirname %s) && echo could; rm -f %s && echo could;"
        "mv %s $HOME/ && echo could; ln %s $HOME/mine && echo could; setfattr -n user.x -v 1 %s "
        "2>/dev/null && echo could",
        path, path, path, path, path, path);
    words(&r, script, "");
    CHECK(!str_has(r.text, "could") && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    ran_done(&r);
    if (caps->own_uid || caps->readonly) {
        words(&r, "cd $HOME; echo 1 > f; chmod 700 f && stat -c %a f", "");
        CHECK(str_has(r.text, "700"));
        ran_done(&r);
    }
    end();
}

/* --- other processes -------------------------------------------------------------------------- */

TEST(a_tool_does_not_change_the_servers_limits_or_priority)
{
    struct ran r;
    char       script[500];
    begin();
    if (skip(caps->seccomp, "seccomp")) {
        end();
        return;
    }
    snprintf(script, sizeof script,
             "prlimit --pid %d --nofile=5:5 && echo could; renice -n 19 -p %d && echo could;"
             "taskset -p 1 %d && echo could",
             getpid(), getpid(), getpid());
    words(&r, script, "");
    CHECK(!str_has(r.text, "could"));
    ran_done(&r);
    end();
}

TEST(a_tool_does_not_signal_the_server)
{
    struct ran r;
    char       script[200];
    begin();
    snprintf(script, sizeof script, "kill -0 %d && echo could; kill -0 %d && echo could", getpid(),
             children_keeper(T->children));
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
    must(bind(fd, (void *)&a, sizeof a) == 0 && listen(fd, 4) == 0 &&
         getsockname(fd, (void *)&a, &n) == 0);
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
    if (skip(caps->seccomp, "seccomp")) {
        end();
        return;
    }
    words(&r,
          "unshare -U true && echo new-user; unshare -m true && echo new-mount; mount -t tmpfs x "
          "/mnt && echo mounted;"
          "dmesg | head -1 | grep -q . && echo dmesg; chroot / true && echo chrooted;"
          "grep -E 'NoNewPrivs|Seccomp:|CapEff|CapBnd' /proc/self/status",
          "");
    CHECK(!str_has(r.text, "new-user") && !str_has(r.text, "new-mount") &&
          !str_has(r.text, "mounted"));
    CHECK(!str_has(r.text, " dmesg ") && !str_has(r.text, "chrooted"));
    ran_done(&r);
    /* By the tool itself: not even its children may look into /proc. */
    sh(&r,
       "mapfile -t x < /proc/self/status; x=\"${x[*]//$'\\t'/ }\"; echo "
       "\"{\\\"result\\\":\\\"$x\\\"}\"",
       "");
    CHECK(str_has(r.text, "NoNewPrivs: 1") && str_has(r.text, "Seccomp: 2"));
    /* None; or, for root's tools, the one to read (2: where a container has only
     * CAP_DAC_OVERRIDE). */
    CHECK(str_has(r.text, "CapEff: 0000000000000000") ||
          str_has(r.text, "CapEff: 0000000000000004") ||
          (str_has(r.text, "CapEff: 0000000000000002") && caps->landlock));
    ran_done(&r);
    end();
}

TEST(a_fork_bomb_stays_within_its_limit_and_ends)
{
    struct ran   r;
    struct tool *t;

    begin();
    if (skip(caps->nproc, "the process limit")) {
        end();
        return;
    } /* no bomb without it */
    sh(&r,
       "n=0; for i in $(seq 100); do sleep 64301 2>/dev/null & done 2>/dev/null; n=$(jobs -p | wc "
       "-l); echo \"{\\\"result\\\":$n}\"",
       ",\"limits\":{\"processes\":8}");
    CHECK(!str_has(r.text, "100"));
    ran_done(&r);
    toolrun_while(T, processes_with("64301"));
    CHECK(processes_with("64301") == 0);
    t = toolrun_sh(T, "bomb64302() { bomb64302 | bomb64302 & }; bomb64302; sleep 64302",
                   ",\"limits\":{\"processes\":16}", 700);
    ran_run(T, &r, t, "{}");
    CHECK(r.outcome == TOOL_UNKNOWN);
    CHECK(r.ms < 4000 * TOOLRUN_PATIENCE);
    CHECK(processes_with("64302") == 0);
    ran_done(&r);
    end();
}

/* Its processes would count as theirs, and their limit would be used up. */
TEST(tools_of_two_servers_are_two_users)
{
    struct toolrun *two[2] = { toolrun_new(), toolrun_new() };
    struct ran      r[2];

    for (int i = 0; i < 2; i++)
        ran_run(two[i], &r[i],
                toolrun_sh(two[i], "echo \"{\\\"result\\\":\\\"$(id -u)\\\"}\"", "", 10000), "{}");
    CHECK(r[0].outcome == TOOL_DONE && r[1].outcome == TOOL_DONE);
    if (!skip(children_caps(two[0]->children)->own_uid, "a user for every call"))
        CHECK(!str_eq(r[0].text, r[1].text));
    for (int i = 0; i < 2; i++) ran_done(&r[i]), toolrun_free(two[i]);
}

TEST(memory_files_and_file_sizes_are_limited)
{
    struct ran r;
    begin();
    words(&r, "python3 -c 'print(\"made\", len(bytearray(300000000)))'",
          ",\"limits\":{\"memory\":200000000}");
    CHECK(str_has(r.text, "MemoryError") && !str_has(r.text, "made"));
    ran_done(&r);
    words(&r, "head -c 2M /dev/zero > $HOME/big; stat -c %s $HOME/big",
          ",\"limits\":{\"file_size\":1000000}");
    CHECK(str_has(r.text, "1000000") && !str_has(r.text, "2097152"));
    ran_done(&r);
    words(&r, "ulimit -n; ulimit -c", ",\"limits\":{\"files\":32}");
    CHECK(str_has(r.text, "32 0"));
    ran_done(&r);
    end();
}

/* Each line makes 600 MB that no process need have; the limit is 100 MB. */
TEST(memory_that_belongs_to_no_process_cannot_be_had)
{
    static const char *const ways[] = {
        "m = mmap.mmap(-1, 600 << 20); m.write(b\\\"x\\\" * (600 << 20))",
        "f = os.memfd_create(\\\"m\\\"); os.ftruncate(f, 600 << 20)",
        "f = os.open(\\\"/dev/zero\\\", os.O_RDWR); m = mmap.mmap(f, 600 << 20)",
        "f = open(\\\"/dev/shm/parley-test\\\", \\\"w\\\")",
        "l = ctypes.CDLL(None, use_errno=True); assert l.shmget(0, 600 << 20, 0o1600) >= 0, "
        "\\\"refused\\\"",
        "l = ctypes.CDLL(None, use_errno=True); assert l.msgget(0, 0o1600) >= 0, \\\"refused\\\"",
        "l = ctypes.CDLL(None); l.mmap.restype = ctypes.c_void_p; assert l.mmap(None, "
        "ctypes.c_size_t(600 << 20), 3, 0x122, -1, 0) != 2**64 - 1, \\\"refused\\\"",
        "resource.setrlimit(resource.RLIMIT_STACK, (600 << 20, 600 << 20))",
    };
    begin();
    if (skip(caps->seccomp && caps->landlock, "seccomp and landlock")) {
        end();
        return;
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char       script[600];
        struct ran r;
        snprintf(script, sizeof script,
                 "python3 -c \"import ctypes, mmap, os, resource; %s; print(\\\"could\\\")\"",
                 ways[i]);
        words(&r, script, ",\"limits\":{\"memory\":100000000}");
        if (str_has(r.text, "could") || !str_has(r.text, "Error"))
            test_check_str(__FILE__, __LINE__, r.text, str_c(ways[i]));
        ran_done(&r);
    }
    end();
}

TEST(all_processes_of_a_tool_share_one_memory_limit)
{
    struct ran r;
    begin();
    sh(&r,
       "for i in 1 2 3 4; do python3 -c 'import time; b = bytearray(80 << 20); time.sleep(20)' & "
       "done; wait",
       ",\"limits\":{\"memory\":200000000}");
    CHECK(r.outcome == TOOL_UNKNOWN);
    CHECK_STR(
        r.text,
        "It used more memory than it may and was ended. Whether it had an effect is not known.");
    ran_done(&r);
    /* What forked processes share is counted once. */
    sh(&r,
       "python3 -c 'import os, time\nb = bytearray(80 << 20)\nfor i in range(4):\n if os.fork() == "
       "0:\n  time.sleep(1); os._exit(0)\nfor i in range(4): os.wait()';"
       "echo '{\"result\":1}'",
       ",\"limits\":{\"memory\":200000000}");
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    end();
}

TEST(the_work_directory_has_a_limit)
{
    struct ran r;
    begin();
    sh(&r, "for i in $(seq 100); do head -c 1000000 /dev/urandom > $HOME/$i; done; sleep 20",
       ",\"limits\":{\"work\":20000000}");
    CHECK(r.outcome == TOOL_UNKNOWN);
    CHECK_STR(r.text, "It kept more in its directory than it may and was ended. Whether it had an "
                      "effect is not known.");
    ran_done(&r);
    sh(&r,
       "for i in $(seq 100); do eval \"exec $((i + 10))> $HOME/x\"; head -c 1000000 /dev/urandom "
       ">&$((i + 10)); rm $HOME/x; done; sleep 20",
       ",\"limits\":{\"work\":20000000}");
    if (!skip(caps->pidns, "a look at open files"))
        CHECK(r.outcome == TOOL_UNKNOWN && str_has(r.text, "in its directory"));
    ran_done(&r);
    end();
}

/* Three thousand levels: deeper than any path can be long, than there are descriptors, and than the
 * meter looks. */
TEST(a_work_directory_of_any_depth_is_removed)
{
    struct ran  r;
    struct stat st;
    char        path[300], json[400];

    begin();
    snprintf(path, sizeof path, "%s/deep.py", test_dir());
    put_file(path, "import os\nhome = os.environ['HOME']\nos.chdir(home)\n"
                   "print('{\"message\":\"' + home + '\"}', flush=True)\n"
                   "for i in range(3000):\n os.mkdir('d'); os.symlink('/', 'l'); os.chdir('d')\n"
                   "os.mkdir('m-0')\nos.chmod('.', 0)\n");
    snprintf(json, sizeof json, "{\"command\":[\"python3\",\"%s\"]}", path);
    ran_run(T, &r, toolrun_exec(T, json, 10000), "{}");
    REQUIRE(r.last_message.len > 0 && r.last_message.ptr[0] == '/');
    toolrun_while(T, stat(r.last_message.ptr, &st) == 0);
    CHECK(stat(r.last_message.ptr, &st) != 0);
    ran_done(&r);
    end();
}

TEST(interpreters_of_all_kinds_start_in_the_sandbox)
{
    struct ran r;
    begin();
    words(&r, "python3 -c 'import json,ssl,subprocess,sys; print(\"py\", sys.version_info[0])'",
          "");
    CHECK(str_has(r.text, "py 3"));
    if (!str_has(r.text, "py 3")) printf("%s\n", r.text.ptr);
    ran_done(&r);
    words(&r, "node -e 'console.log(\"js\", require(\"fs\").readFileSync(\"/dev/null\").length)'",
          "");
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
    sandbox_report(
        &(struct sandbox_caps){
            .landlock = 7, .seccomp = true, .pidns = PIDNS_ROOT, .own_uid = true, .nproc = true },
        true, &b);
    CHECK_STR(buf_view(&b), "");
    sandbox_report(&(struct sandbox_caps){ 0 }, true, &b);
    CHECK(str_has(buf_view(&b), "no landlock") && str_has(buf_view(&b), "no seccomp"));
    CHECK(str_has(buf_view(&b), "no PID namespace") && str_has(buf_view(&b), "no process limit"));
    buf_done(&b);
}
