/* exec_int.h -- a program as configured. Shared by exec.c and exec_read.c only. */
#ifndef PARLEY_EXEC_INT_H
#define PARLEY_EXEC_INT_H

#include "tool/process/exec.h"

#define EXEC_ARGS_MAX 128
#define EXEC_ENV_MAX  64
#define EXEC_READ_MAX 250

struct exec_tool { /* in the registry's arena */
    struct exec_host *host;
    const char       *program, *cwd;
    const char       *argv[EXEC_ARGS_MAX + 1], *envp[EXEC_ENV_MAX + 1], *read[EXEC_READ_MAX + 1];
    bool              network;
    size_t            output_max;
    struct sandbox_limits limits;
};

extern const struct tool_ops exec_ops;

#endif
