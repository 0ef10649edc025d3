"""A tool that tries everything it should not be able to do, and says what it could. Arguments: {"do": one of the names below, "server": its pid}."""
import ctypes
import glob
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import time

HOME = os.environ["HOME"]
ARGS = json.loads(sys.stdin.readline())
SERVER = ARGS["server"]
FILES = os.environ["FILES"].split(":")
libc = ctypes.CDLL(None, use_errno=True)
could = []


def attempt(name, act):
    try:
        got = act()
        if got is not False:
            could.append(name)
    except BaseException:
        pass


def call(number, *args):
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def read_all(path):
    with open(path, "rb") as f:
        return len(f.read(100)) > 0


def read():
    for f in FILES + [FILES[0] + "-wal", FILES[0] + "-shm"]:
        attempt("read " + f, lambda: read_all(f))
        attempt("append " + f, lambda: open(f, "ab").close() is None)
        attempt("empty " + f, lambda: os.close(os.open(f, os.O_RDONLY | os.O_TRUNC)) is None)
        attempt("truncate " + f, lambda: os.truncate(f, 0) is None)
        attempt("chmod " + f, lambda: os.chmod(f, 0) is None)
        attempt("link " + f, lambda: os.link(f, HOME + "/l") is None)
        attempt("symlink " + f, lambda: os.symlink(f, HOME + "/s" + str(time.time_ns())) or read_all(sorted(glob.glob(HOME + "/s*"))[-1]))
        attempt("rename " + f, lambda: os.rename(f, HOME + "/r") is None)
        attempt("remove " + f, lambda: os.unlink(f) is None)
        attempt("list " + os.path.dirname(f), lambda: os.listdir(os.path.dirname(f)) is not None)
        attempt("root " + f, lambda: read_all("/proc/self/root" + f))
        attempt("cwd " + f, lambda: read_all("/proc/self/cwd/" + os.path.basename(f)))
        attempt("share " + f, lambda: subprocess.run(["cat", f], capture_output=True).returncode == 0)
    for what in ("environ", "mem", "maps", "cmdline", "fd/0", "root/etc/passwd", "cwd/parley.json", "task", "stack"):
        attempt("proc " + what, lambda: read_all("/proc/%d/%s" % (SERVER, what)))
    for f in glob.glob("/proc/[0-9]*/environ"):
        attempt("proc " + f, lambda: f.split("/")[2] not in (str(os.getpid()), "self") and b"hunter2" in open(f, "rb").read())
    attempt("own environment", lambda: "hunter2" in str(os.environ))
    attempt("descriptors", lambda: libc.fcntl(3, 1) >= 0 or libc.fcntl(4, 1) >= 0)


def others():
    for pid in [SERVER, os.getppid(), -1, -SERVER, 1]:
        attempt("kill %d" % pid, lambda: os.kill(pid, 0) is None and pid not in (os.getppid(), -1, 1))
    attempt("prlimit", lambda: resource.prlimit(SERVER, resource.RLIMIT_NOFILE, (5, 5)) is not None)
    attempt("prlimit self", lambda: resource.prlimit(os.getpid(), resource.RLIMIT_DATA, (1 << 40, 1 << 40)) is not None)
    attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, SERVER, 19) is None)
    attempt("affinity", lambda: os.sched_setaffinity(SERVER, {0}) is None)
    attempt("ptrace", lambda: call(101, 16, SERVER, 0, 0) is None)
    attempt("process_vm_readv", lambda: call(310, SERVER, 0, 0, 0, 0, 0) is None)
    attempt("pidfd", lambda: os.pidfd_open(SERVER) >= 0)
    attempt("unshare", lambda: call(272, 0x10000000) is None)
    attempt("clone3", lambda: call(435, 0, 0) is None)
    attempt("mount", lambda: call(165, b"x", HOME.encode(), b"tmpfs", 0, 0) is None)
    attempt("setuid", lambda: os.setuid(0) is None)
    attempt("keyring", lambda: call(250, 0, -3, 0) is None)
    attempt("io_uring", lambda: call(425, 1, 0) is None)
    attempt("socket", lambda: __import__("socket").socket() is not None)
    attempt("unix socket", lambda: __import__("socket").socket(1) is not None)
    attempt("mq", lambda: libc.mq_open(b"/parley-hostile", 0o102, 0o600, 0) >= 0)


def behind():
    for i in range(8):
        if os.fork() == 0:
            os.setsid()
            for s in range(1, 64):
                try:
                    signal.signal(s, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            os.execvp("sleep", ["sleep", os.environ["MARK"]])
    attempt("shm", lambda: libc.shmget(0, 1 << 20, 0o1600) >= 0)
    attempt("sem", lambda: libc.semget(0, 1, 0o1600) >= 0)
    attempt("shm file", lambda: open("/dev/shm/parley-hostile", "w") is not None)
    attempt("tmp file", lambda: open("/tmp/parley-hostile", "w") is not None)
    attempt("var file", lambda: open("/var/tmp/parley-hostile", "w") is not None)
    os.chdir(HOME)
    for i in range(150):
        os.mkdir("d")
        os.chdir("d")
    attempt("closing its own folder", lambda: os.chmod(".", 0) is not None)


def bomb():
    while True:
        try:
            os.fork()
        except OSError:
            pass


def memory():
    """Every way at once, as a process for each; none may help."""
    ways = [
        lambda: bytearray(b"x" * (1 << 34)),
        lambda: [bytearray(b"x" * (1 << 20)) for _ in range(1 << 14)],
        lambda: mmap.mmap(-1, 1 << 33).write(b"x" * (1 << 33)),
        lambda: os.write(os.memfd_create("m"), b"x" * (1 << 28)),
        lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 1 << 33),
        lambda: [open(HOME + "/%d" % i, "wb").write(b"x" * (1 << 22)) for i in range(1 << 12)],
        lambda: [os.pipe() for _ in range(1 << 12)],
    ]
    for w in ways:
        for _ in range(4):
            if os.fork() == 0:
                keep = []
                try:
                    keep.append(w())
                except BaseException:
                    pass
                time.sleep(30)
                os._exit(0)
    time.sleep(30)


def noise():
    while True:
        os.write(2, b"noise " * 10000)


{"read": read, "others": others, "behind": behind, "bomb": bomb, "memory": memory, "noise": noise}[ARGS["do"]]()
print(json.dumps({"result": could}), flush=True)
