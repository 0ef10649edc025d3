/* sqlite_fault.c -- a disk and a memory that refuse when a test orders it; see base/fault.h.
 *
 * SQLite's own hooks take the place of its writes and its allocator; it has none
 * for fsync and fdatasync, so in test builds the program brings its own, which the
 * dynamic linker prefers to the C library's. The errors are the system's, so
 * SQLite and we see exactly what a bad disk would show. */
#include "base/fault.h"

#ifdef PARLEY_TEST
#include <sys/syscall.h>
#include <unistd.h>

#include "store/sqlite_db.h"

#define EXPORTED __attribute__((visibility("default")))

/* "slow_sync:1+": a disk that takes two seconds for each. */
static bool sync_fails(void)
{
    if (fault_fails("slow_sync")) sleep(2);
    return fault_fails("fsync");
}

EXPORTED int fsync(int fd)
{
    return sync_fails() ? -1 : (int)syscall(SYS_fsync, fd);
}
EXPORTED int fdatasync(int fd)
{
    return sync_fails() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

static ssize_t write_at(int fd, const void *p, size_t n, off_t at)
{
    return fault_fails("write") ? -1 : pwrite(fd, p, n, at);
}

static sqlite3_mem_methods heap;

static void *take(int n)
{
    return fault_fails("mem") ? NULL : heap.xMalloc(n);
}
static void *take_again(void *p, int n)
{
    return fault_fails("mem") ? NULL : heap.xRealloc(p, n);
}

void db_faults(void)
{
    static bool         done;
    sqlite3_vfs        *vfs;
    sqlite3_mem_methods ours;

    if (done) return; /* before SQLite's first use, which only happens here */
    done = true;
    must(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap) == SQLITE_OK);
    ours = heap;
    ours.xMalloc = take;
    ours.xRealloc = take_again;
    /* too late, and every test of missing memory would pass */
    must(sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) == SQLITE_OK);
    if (!(vfs = sqlite3_vfs_find(NULL)) || !vfs->xSetSystemCall) return;
    vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)write_at);
    vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)write_at);
}
#else
typedef int sqlite_fault_is_empty; /* ISO C wants something in every file */
#endif
