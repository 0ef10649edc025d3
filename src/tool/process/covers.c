/* covers.c -- see covers.h. */
#include "tool/process/covers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The same folder as `st`, in the chain of folders above `path`? `path` is written to. */
static bool is_above(const struct stat *st, char *path)
{
    struct stat up;
    for (char *slash; (slash = strrchr(path, '/'));) {
        slash[slash == path] = 0; /* "/" stays */
        if (stat(path, &up) == 0 && up.st_dev == st->st_dev && up.st_ino == st->st_ino) return true;
        if (slash == path) return false;
    }
    return false;
}

/* Its real name; of what is not there yet, that of the nearest folder with the rest behind it. */
static bool real(const char *path, char out[PATH_MAX])
{
    char   dir[PATH_MAX];
    size_t n = strlen(path), at;

    if (path[0] != '/' || n >= sizeof dir) return false;
    memcpy(dir, path, n + 1);
    while (!realpath(*dir ? dir : "/", out)) *strrchr(dir, '/') = 0;
    at = strlen(out);
    n = strlen(dir);
    if (path[n] == 0) return true;
    return snprintf(out + at, PATH_MAX - at, "%s", path + n + (at == 1)) < (int)(PATH_MAX - at);
}

static bool above(const struct stat *dir, const char *secret)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", secret);
    return is_above(dir, path);
}

static bool is_same(const struct stat *st, const char *secret)
{
    struct stat own;
    return stat(secret, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino;
}

/* mountinfo writes blanks and the like as \040. */
static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
            *to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 3;
        } else *to++ = *s;
    }
    *to = 0;
}

/* A mount below `tree` that shows a folder in which the secret lies. */
static bool mounted_below(const char *tree, const char *secret)
{
    FILE       *f = fopen("/proc/self/mountinfo", "re");
    char       *line = NULL, point[PATH_MAX];
    size_t      room = 0, n = strlen(tree);
    struct stat st;
    bool        found = !f;

    while (!found && getline(&line, &room, f) > 0) {
        if (sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1) continue;
        unescape(point);
        if (strncmp(point, tree, n) == 0 && (n == 1 || point[n] == '/') && stat(point, &st) == 0)
            found = S_ISDIR(st.st_mode) ? above(&st, secret) : is_same(&st, secret);
    }
    free(line);
    if (f) fclose(f);
    return found;
}

bool covers(const char *readable, const char *secret)
{
    char        tree[PATH_MAX], file[PATH_MAX];
    struct stat st;

    if (!real(readable, tree)) return false;
    if (!real(secret, file)) return true;
    if (strncmp(tree, file, strlen(file)) == 0) return true;
    if (stat(tree, &st)) return false; /* not there: nothing else to read */
    return S_ISDIR(st.st_mode) ? above(&st, file) || mounted_below(tree, file) : is_same(&st, file);
}
