/* paths.c -- see paths.h. */
#include "cli/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

struct trying {
    const struct config *c;
    struct arena        *a;
    struct config_error *e;
};

const char *paths_absolute(struct arena *a, struct str path)
{
    char      *here = path.len && path.ptr[0] == '/' ? NULL : getcwd(NULL, 0);
    struct str full =
        arena_printf(a, "%s%s" STR_FMT, here ? here : "", here ? "/" : "", STR_ARG(path));
    free(here);
    return full.ptr;
}

bool paths_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Whatever it is, also a link that leads nowhere. */
static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* NULL: an ordinary file is there, or nothing yet. */
static const char *no_file(const char *path)
{
    const char *why = file_fault(path);
    return why && (errno == EINVAL || errno == ELOOP) ? why : NULL;
}

/* Of an absolute path. STR_NONE: no memory. */
static struct str folder_of(struct arena *a, const char *full)
{
    const char *end = strrchr(full, '/');
    return arena_dup(a, str_n(full, end == full ? 1 : (size_t)(end - full)));
}

/* The folder in which `what` is made must be there. */
static bool has_folder(struct trying *t, const struct jv *at, const char *what, struct str folder)
{
    if (paths_is_folder(folder.ptr)) return true;
    config_error_add(t->e, t->c, at, "the folder " STR_FMT " of %s is not there; make it",
                     STR_ARG(folder), what);
    return false;
}

/* A file that will be written, `what` in words. */
static void try_file(struct trying *t, const struct jv *at, const char *what, struct str path)
{
    const char *full = paths_absolute(t->a, path);
    struct str  folder = full ? folder_of(t->a, full) : STR_NONE;

    if (!folder.ptr) config_error_add(t->e, t->c, NULL, "out of memory");
    else if (paths_is_folder(full))
        config_error_add(t->e, t->c, at, "%s " STR_FMT " is a folder; name a file in it", what,
                         STR_ARG(path));
    else if (!has_folder(t, at, what, folder)) return;
    else if (no_file(full))
        config_error_add(t->e, t->c, at, "%s " STR_FMT " cannot be used: %s", what, STR_ARG(path),
                         no_file(full));
    else if (access(full, W_OK) && (errno != ENOENT || access(folder.ptr, W_OK)))
        config_error_add(t->e, t->c, at, "%s " STR_FMT " cannot be written here: %s", what,
                         STR_ARG(path), os_words(errno));
}

/* The folder in which each call of a program gets its own: it is made in a folder that is there,
 * and its rights are set, which only its owner can do. */
static void try_work(struct trying *t)
{
    const struct jv *at = jv_get(t->c->root, "work");
    struct str       path = t->c->work;
    struct stat      st;

    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    const char *full = paths_absolute(t->a, path);
    struct str  folder = full ? folder_of(t->a, full) : STR_NONE;
    if (!folder.ptr) config_error_add(t->e, t->c, NULL, "out of memory");
    else if (!is_there(full)) {
        if (!has_folder(t, at, "\"work\"", folder) || !access(folder.ptr, W_OK)) return;
        config_error_add(t->e, t->c, at, "\"work\" " STR_FMT " cannot be made: %s", STR_ARG(path),
                         os_words(errno));
    } else if (!paths_is_folder(full))
        config_error_add(t->e, t->c, at,
                         "\"work\" " STR_FMT " is no folder; name one, or one that can be made",
                         STR_ARG(path));
    else if (access(full, W_OK | X_OK) ||
             (stat(full, &st) == 0 && geteuid() && st.st_uid != geteuid() && (errno = EPERM)))
        config_error_add(t->e, t->c, at, "\"work\" " STR_FMT " cannot be written here: %s",
                         STR_ARG(path), os_words(errno));
}

/* One that nobody named may lie where nothing can be made: then each payment says so. */
static void try_ledger(struct trying *t)
{
    const struct jv *at = jv_get(jv_get(t->c->root, "demo"), "ledger");
    const char      *full = paths_absolute(t->a, t->c->demo_ledger);

    if (!full) config_error_add(t->e, t->c, NULL, "out of memory");
    else if (at || is_there(full)) try_file(t, at, "\"demo.ledger\"", t->c->demo_ledger);
}

void paths_try(const struct config *c, bool programs, struct arena *a, struct config_error *e)
{
    struct trying t = { c, a, e };

    /* whether a database answers is found out by who opens it */
    if (c->store_file.ptr && !str_is(c->store_file, ":memory:"))
        try_file(&t, jv_get(c->root, "store"), "the store", c->store_file);
    if (c->audit.file.len)
        try_file(&t, jv_get(jv_get(c->root, "audit"), "file"), "\"audit.file\"", c->audit.file);
    if (c->demo_tools) try_ledger(&t);
    if (programs) try_work(&t);
}
