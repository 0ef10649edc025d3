/* err.c -- the names of the error codes, and the end of a process whose state is broken. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *err_name(enum err e)
{
    switch (e) {
    case OK: return "ok";
    case ERR_NOMEM: return "nomem";
    case ERR_FULL: return "full";
    case ERR_SYNTAX: return "syntax";
    case ERR_TYPE: return "type";
    case ERR_RANGE: return "range";
    case ERR_NOT_FOUND: return "not_found";
    case ERR_CONFLICT: return "conflict";
    case ERR_EXISTS: return "exists";
    case ERR_DENIED: return "denied";
    case ERR_GONE: return "gone";
    case ERR_BUSY: return "busy";
    case ERR_IO: return "io";
    case ERR_TIMEOUT: return "timeout";
    case ERR_CLOSED: return "closed";
    case ERR_UNSUPPORTED: return "unsupported";
    case ERR_UNSURE: return "unsure";
    case ERR_FENCED: return "fenced";
    case ERR_DAMAGED: return "damaged";
    case ERR_TAKEN: return "taken";
    }
    return "unknown"; /* no default above: a new code must be named there */
}

const char *os_words(int error)
{
    switch (error) {
    case EMFILE:
        return "too many open files: raise the limit of this process (ulimit -n, LimitNOFILE)";
    case ENFILE: return "too many open files on this machine: raise fs.file-max";
    case EFBIG:
        return "the file is as large as it may become: raise the limit of this process (ulimit -f, "
               "LimitFSIZE)";
    default: return strerror(error);
    }
}

bool os_no_room(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

void must_fail(const char *what, const char *file, int line)
{
    /* Not log_line(): the log allocates, and nothing is certain any more. */
    fprintf(stderr, "parley: broken invariant: %s (%s:%d)\n", what, file, line);
    abort();
}
