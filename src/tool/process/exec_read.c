/* exec_read.c -- the "exec" object of a configured tool: checked once, with sentences, so that
 * starting cannot surprise. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/limits.h"
#include "tool/process/covers.h"
#include "tool/process/exec_int.h"

struct exec_reader {
    struct arena     *arena;
    struct exec_tool *x;
    struct buf       *why;
    struct str        base;
    struct exec_host *host;
    size_t            envc, readc;
};

static enum err bad(struct exec_reader *r, const char *sentence)
{
    if (r->why->len == 0) buf_lit(r->why, sentence);
    return ERR_TYPE;
}

static const char *copy(struct exec_reader *r, struct str s)
{
    return memchr(s.ptr, 0, s.len) ? NULL : arena_dup(r->arena, s).ptr;
}

/* `path` as seen from `dir`. NULL: no memory. */
static const char *seen_from(struct exec_reader *r, const char *dir, struct str path)
{
    return (path.len && path.ptr[0] == '/'
                ? arena_dup(r->arena, path)
                : arena_printf(r->arena, "%s/" STR_FMT, dir && *dir ? dir : ".", STR_ARG(path)))
        .ptr;
}

/* The same, absolute and real; NULL: not there. */
static const char *resolve(struct exec_reader *r, const char *dir, struct str path)
{
    char        real[PATH_MAX];
    const char *full = seen_from(r, dir, path);
    if (!full || !realpath(full, real)) return NULL;
    return arena_dup(r->arena, str_c(real)).ptr;
}

/* The server's own file that whoever may read `path` could read; NULL: none. */
static const char *secret_in(struct exec_reader *r, const char *path)
{
    for (const char *const *s = r->host->secrets; s && *s; s++)
        if (covers(path, *s)) return *s;
    return NULL;
}

static enum err check_read(struct exec_reader *r, const char *path, const char *member)
{
    const char *secret = path ? secret_in(r, path) : NULL;

    if (!path) return ERR_NOMEM;
    if (!secret) return OK;
    buf_printf(r->why,
               "with %s of \"%s\" it could read %s, which is the server's own; give the tool a "
               "folder of its own",
               path, member, secret);
    return ERR_DENIED;
}

static enum err add_read(struct exec_reader *r, const char *path, const char *member)
{
    enum err e = check_read(r, path, member);

    if (e) return e;
    if (r->readc == EXEC_READ_MAX) return bad(r, "too many paths in \"read\"");
    r->x->read[r->readc++] = path;
    return OK;
}

/* What is no more than convenient: left out when it is too much. */
static void add_read_if(struct exec_reader *r, struct str dir, const char *name)
{
    char       real[PATH_MAX];
    struct str path = arena_printf(r->arena, STR_FMT "%s", STR_ARG(dir), name);

    if (!path.ptr || !realpath(path.ptr, real) || secret_in(r, real) || r->readc == EXEC_READ_MAX)
        return;
    for (const char *const *s = sandbox_system(); *s; s++)
        if (strncmp(real, *s, strlen(*s)) == 0 && (real[strlen(*s)] == '/' || !real[strlen(*s)]))
            return;
    if ((path = arena_dup(r->arena, str_c(real))).ptr) r->x->read[r->readc++] = path.ptr;
}

/* /opt/python/bin/python3 is nothing without /opt/python/lib. `dir` ends in "/bin" or it is of no
 * interest: a directory of PATH can be anything, a whole home too. */
static void add_prefix(struct exec_reader *r, struct str dir)
{
    static const char *const parts[] = { "/lib", "/lib64", "/libexec", "/pyvenv.cfg" };
    struct str               prefix;

    while (dir.len > 1 && str_ends(dir, STR("/"))) dir.len--;
    if (!str_starts(dir, STR("/")) || (!str_ends(dir, STR("/bin")) && !str_ends(dir, STR("/sbin"))))
        return;
    prefix = str_cut(dir, dir.len - (str_ends(dir, STR("/bin")) ? 4 : 5));
    add_read_if(r, dir, "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) add_read_if(r, prefix, parts[i]);
}

static void add_search_path(struct exec_reader *r)
{
    struct str rest, dir;

    for (size_t i = 0; i < r->envc; i++) {
        if (!str_starts(str_c(r->x->envp[i]), STR("PATH="))) continue;
        rest = str_from(str_c(r->x->envp[i]), 5);
        while (str_split(&rest, ':', &dir)) add_prefix(r, dir);
    }
}

static struct str folder_of(const char *file)
{
    return str_n(file, (size_t)(strrchr(file, '/') - file));
}

/* --- members -------------------------------------------------------------------------- */

static enum err read_cwd(struct exec_reader *r, const struct jv *v)
{
    const char *base = r->base.ptr ? arena_dup(r->arena, r->base).ptr : ".";
    struct stat st;

    r->x->cwd = resolve(r, base, STR("."));
    if (!v) return OK;
    if (!jv_is(v, JSON_STRING)) return bad(r, "\"cwd\" must be a directory's name");
    r->x->cwd = resolve(r, base, v->str);
    if (!r->x->cwd || stat(r->x->cwd, &st) || !S_ISDIR(st.st_mode)) {
        buf_printf(r->why, "the directory " STR_FMT " of \"cwd\" is not there", STR_ARG(v->str));
        return ERR_NOT_FOUND;
    }
    return add_read(r, r->x->cwd, "cwd");
}

/* A file the command names is readable, its neighbours are not: they may be anybody's.
 * One that is not there yet may be the store before its first start. */
static enum err read_argument_file(struct exec_reader *r, struct str arg)
{
    const char *file = arg.len ? resolve(r, r->x->cwd, arg) : NULL;
    struct stat st;

    if (!file && arg.len) return check_read(r, seen_from(r, r->x->cwd, arg), "command");
    if (!file || stat(file, &st) || S_ISDIR(st.st_mode)) return OK;
    return add_read(r, file, "command");
}

static enum err read_command(struct exec_reader *r, const struct jv *v)
{
    size_t     n = 0;
    struct str found;
    enum err   e;

    if (!jv_is(v, JSON_ARRAY) || v->count == 0)
        return bad(r, "\"command\" must be a list such as [\"python3\",\"pay.py\"]");
    if (v->count > EXEC_ARGS_MAX) return bad(r, "\"command\" is too long");
    JV_EACH (item, v) {
        if (!jv_is(item, JSON_STRING)) return bad(r, "\"command\" must contain texts only");
        if (!(r->x->argv[n] = copy(r, item->str)))
            return bad(r, "\"command\" contains a NUL character");
        if (n++ > 0 && (e = read_argument_file(r, item->str)) != OK) return e;
    }
    found = child_find(r->arena, v->child->str, r->x->cwd);
    if (!found.ptr) {
        buf_printf(r->why, "the program " STR_FMT " of \"command\" is not installed",
                   STR_ARG(v->child->str));
        return ERR_NOT_FOUND;
    }
    r->x->program = found.ptr;
    add_prefix(r, folder_of(found.ptr));
    const char *real = resolve(r, NULL, found);
    if (real) add_prefix(r, folder_of(real));
    return read_argument_file(r, found);
}

static enum err add_env(struct exec_reader *r, struct str name, struct str value)
{
    struct str text = arena_printf(r->arena, STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(value));

    if (r->envc >= EXEC_ENV_MAX - 1) return bad(r, "too many variables in \"env\"");
    if (!text.ptr) return ERR_NOMEM;
    if (name.len == 0 || memchr(text.ptr, 0, text.len) || memchr(name.ptr, '=', name.len))
        return bad(r, "\"env\" has a name or value that no environment can hold");
    r->x->envp[r->envc++] = text.ptr;
    return OK;
}

/* A tool must be able to believe these: identity.h. */
static bool is_of_the_call(struct str name)
{
    static const char *const ours[] = { "PARLEY_PRINCIPAL", "PARLEY_THREAD", "PARLEY_RUN",
                                        "PARLEY_CALL_ID", "PARLEY_TOOL" };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (str_is(name, ours[i])) return true;
    return str_starts(name, STR("PARLEY_CLAIM_"));
}

static enum err read_env(struct exec_reader *r, const struct jv *v)
{
    const char *path = getenv("PATH"), *lang = getenv("LANG");
    enum err    e;

    if (v && !jv_is(v, JSON_OBJECT))
        return bad(r, "\"env\" must be an object such as {\"KEY\":\"env:PAY_KEY\"}");
    JV_EACH (item, v) {
        if (!jv_is(item, JSON_STRING)) return bad(r, "\"env\" must have texts as values");
        if (is_of_the_call(item->key)) {
            buf_printf(r->why, "\"env\" cannot set " STR_FMT ": its value is the call's",
                       STR_ARG(item->key));
            return ERR_TYPE;
        }
        if ((e = add_env(r, item->key, item->str)) != OK) return e;
    }
    if (!jv_get(v, "PATH") &&
        (e = add_env(r, STR("PATH"), str_c(path ? path : "/usr/local/bin:/usr/bin:/bin"))) != OK)
        return e;
    if (!jv_get(v, "LANG") && (e = add_env(r, STR("LANG"), str_c(lang ? lang : "C.UTF-8"))) != OK)
        return e;
    return OK;
}

static enum err read_paths(struct exec_reader *r, const struct jv *v)
{
    enum err e;

    if (v && !jv_is(v, JSON_ARRAY)) return bad(r, "\"read\" must be a list of paths");
    JV_EACH (item, v) {
        const char *path = jv_is(item, JSON_STRING) ? resolve(r, r->x->cwd, item->str) : NULL;
        if (!path) {
            buf_printf(r->why, "the path " STR_FMT " of \"read\" is not there", STR_ARG(item->raw));
            return ERR_NOT_FOUND;
        }
        if ((e = add_read(r, path, "read")) != OK) return e;
    }
    return OK;
}

static enum err read_limits(struct exec_reader *r, const struct jv *v)
{
    struct {
        const char *name;
        uint64_t    value;
        uint64_t    min;
    } all[] = {
        { "output", EXEC_OUTPUT, 256 },     { "memory", EXEC_MEMORY, 1 << 20 },
        { "processes", EXEC_PROCESSES, 1 }, { "files", EXEC_FILES, 4 },
        { "file_size", EXEC_FILE_SIZE, 1 }, { "work", EXEC_WORK, 1024 },
    };
    enum { COUNT = sizeof all / sizeof *all };

    if (v && !jv_is(v, JSON_OBJECT)) return bad(r, "\"limits\" must be an object");
    JV_EACH (item, v) {
        int     i = 0;
        int64_t n;
        while (i < COUNT && !str_is(item->key, all[i].name)) i++;
        if (i == COUNT) {
            buf_printf(r->why, "there is no limit called " STR_FMT, STR_ARG(item->key));
            return ERR_TYPE;
        }
        if (!jv_int(item, &n) || n < (int64_t)all[i].min) {
            buf_printf(r->why, "the limit %s must be a whole number, at least %llu", all[i].name,
                       (unsigned long long)all[i].min);
            return ERR_RANGE;
        }
        all[i].value = (uint64_t)n;
    }
    r->x->output_max = all[0].value;
    r->x->limits = (struct sandbox_limits){ all[1].value, all[2].value, all[3].value, all[4].value,
                                            all[5].value };
    return OK;
}

/* The system's own folders are readable by every tool: then the store cannot be there. */
static enum err check_system(struct exec_reader *r)
{
    for (const char *const *p = sandbox_system(); *p; p++) {
        const char *secret = secret_in(r, *p);
        if (!secret) continue;
        buf_printf(r->why,
                   "%s lies in %s, which every program can read; move it to a folder of its own",
                   secret, *p);
        return ERR_DENIED;
    }
    return OK;
}

static enum err read_sandbox(struct exec_reader *r, const struct jv *v)
{
    struct buf lacks;
    enum err   e = OK;

    if (v && !str_is(jv_str(v), "required") && !str_is(jv_str(v), "best_effort"))
        return bad(r, "\"sandbox\" must be \"required\" or \"best_effort\"");
    if (str_is(jv_str(v), "best_effort")) return OK;
    buf_init(&lacks, 0);
    sandbox_report(r->host->caps, false, &lacks);
    if (lacks.len > 0) {
        buf_lit(r->why,
                "this machine cannot isolate programs as \"sandbox\": \"required\" wants it: ");
        for (size_t i = 0; i < lacks.len; i++)
            if (lacks.ptr[i] != '\n') buf_chr(r->why, lacks.ptr[i]);
            else buf_lit(r->why, i + 1 < lacks.len ? "; " : ". \"best_effort\" goes on without");
        e = ERR_DENIED;
    }
    if (lacks.err) e = lacks.err;
    buf_done(&lacks);
    return e;
}

static enum err read_members(struct exec_reader *r, const struct jv *exec)
{
    static const char *const known[] = { "command", "cwd",     "env",    "network",
                                         "read",    "sandbox", "limits", NULL };
    const struct jv         *network = jv_get(exec, "network");
    enum err                 e;

    if (!jv_is(exec, JSON_OBJECT)) return bad(r, "\"exec\" must be an object with a \"command\"");
    JV_EACH (item, exec) {
        int i = 0;
        while (known[i] && !str_is(item->key, known[i])) i++;
        if (!known[i]) {
            buf_printf(r->why, "\"exec\" has no option called " STR_FMT, STR_ARG(item->key));
            return ERR_TYPE;
        }
    }
    if (network && !jv_is(network, JSON_BOOL)) return bad(r, "\"network\" must be true or false");
    r->x->network = jv_true(network);
    if ((e = read_sandbox(r, jv_get(exec, "sandbox"))) != OK) return e;
    if ((e = check_system(r)) != OK) return e;
    if ((e = read_cwd(r, jv_get(exec, "cwd"))) != OK) return e;
    if ((e = read_command(r, jv_get(exec, "command"))) != OK) return e;
    if ((e = read_env(r, jv_get(exec, "env"))) != OK) return e;
    if ((e = read_paths(r, jv_get(exec, "read"))) != OK) return e;
    add_search_path(r);
    return read_limits(r, jv_get(exec, "limits"));
}

enum err exec_tool_read(struct registry *reg, struct tool *t, const struct jv *exec,
                        struct exec_host *h, struct str base, struct buf *why)
{
    struct exec_reader r = { .arena = &reg->arena,
                             .why = why,
                             .base = base,
                             .host = h,
                             .x = arena_new(&reg->arena, struct exec_tool) };
    enum err           e;

    if (!r.x) return ERR_NOMEM;
    if ((e = read_members(&r, exec)) != OK) return e;
    if (reg->arena.failed) return ERR_NOMEM;
    r.x->host = h;
    if (!h->waiting.next) list_init(&h->waiting);
    t->ctx = r.x;
    /* after its timeout the outcome is unknown, and only the runner can say so */
    t->own_clock = true;
    t->ops = &exec_ops;
    t->source = STR("exec");
    return OK;
}
