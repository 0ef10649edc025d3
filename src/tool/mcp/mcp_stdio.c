/* mcp_stdio.c -- a server that is a child process: one JSON object per line.
 *
 * Not sandboxed: an MCP server is the operator's program, pasted from a page that
 * says it works, and may need network, browsers and home directories. It is
 * looked after by the keeper all the same, so that nothing of it outlives us.
 */
#include <stdlib.h>

#include "base/log.h"
#include "tool/mcp/mcp_int.h"

#define ENV_MAX    100
#define BAD_MAX    20 /* lines that are not JSON */
#define STDERR_MAX (64 * 1024)
#define GRACE_MS   2000
#define BUSY_MAX   (64 * 1024) /* unread: nothing is added that need not be said */
#define UNREAD_MAX (16u << 20) /* unread: it will not read any more */

enum phase { RUNNING, STDIN_CLOSED, TERM, KILL };

struct stdio {
    struct mcp       *m;
    struct child      child;
    bool              alive; /* the child struct is in use */
    const char      **argv, *cwd;
    const char       *env[ENV_MAX + 1];
    size_t            envc;
    struct str        command;
    struct buf        line;
    struct tail       err;
    unsigned          bad;
    enum phase        phase;
    struct loop_timer grace;
    bool              grace_open, freeing;
};

/* --- lines ---------------------------------------------------------------------------------- */

static void kill_it(struct stdio *s, const char *why)
{
    buf_clear(&s->m->trouble);
    buf_lit(&s->m->trouble, why);
    s->phase = KILL;
    child_kill(&s->child);
}

static bool looks_like_json(struct str line)
{
    return line.len > 1 && line.ptr[0] == '{' && line.ptr[line.len - 1] == '}';
}

static void take_line(struct stdio *s, struct str line)
{
    line = str_trim(line);
    if (line.len == 0) return;
    if (looks_like_json(line)) {
        mcp_receive(s->m, line, NULL);
        return;
    }
    log_line(LOG_DEBUG, "mcp.noise", "server", log_str(s->m->alias), "line", log_str(line), NULL);
    if (++s->bad == BAD_MAX + 1) kill_it(s, "it writes lines that are not JSON");
}

static void on_out(struct child *c, struct str bytes)
{
    struct stdio *s = LIST_ITEM(c, struct stdio, child);
    const char   *nl;

    if (s->phase == KILL) return;
    while ((nl = memchr(bytes.ptr, '\n', bytes.len)) && s->phase != KILL) {
        size_t n = (size_t)(nl - bytes.ptr);
        if (s->line.len == 0) take_line(s, str_n(bytes.ptr, n));
        else {
            buf_add(&s->line, bytes.ptr, n);
            if (s->line.err == OK) take_line(s, buf_view(&s->line));
            buf_clear(&s->line);
        }
        bytes = str_from(bytes, n + 1);
    }
    buf_str(&s->line, bytes);
    if (s->line.err && s->phase != KILL) kill_it(s, "it writes lines without end");
}

static void on_err(struct child *c, struct str bytes)
{
    tail_add(&LIST_ITEM(c, struct stdio, child)->err, bytes);
}

/* --- its life --------------------------------------------------------------------------------- */

static void maybe_free(struct stdio *s)
{
    if (!s->freeing || s->alive || s->grace_open) return;
    buf_done(&s->line);
    tail_done(&s->err);
    mem_free(s);
}

static void grace_closed(struct loop_timer *t)
{
    struct stdio *s = LIST_ITEM(t, struct stdio, grace);
    s->grace_open = false;
    maybe_free(s);
}

static void say_why(struct stdio *s, int status)
{
    struct buf *b = &s->m->trouble;
    struct str  last = str_trim(buf_view(&s->err.buf));

    if (b->len) return;
    buf_lit(b, "it ended (");
    child_status_text(status, b);
    buf_lit(b, ")");
    if (last.len == 0) return;
    buf_lit(b, ": ");
    text_clean(b, last.len > 300 ? str_from(last, last.len - 300) : last, 300);
}

static void on_gone(struct child *c, int status)
{
    struct stdio *s = LIST_ITEM(c, struct stdio, child);
    struct mcp   *m = s->m;

    s->alive = false;
    loop_timer_stop(&s->grace);
    if (m->state == MCP_STOPPING) mcp_transport_closed(m);
    else {
        say_why(s, status);
        mcp_lost(m, "its process ended");
    }
}

static enum err stdio_open(struct mcp *m)
{
    struct stdio     *s = m->link;
    struct str        program = child_find(&m->arena, s->command, s->cwd);
    struct child_spec spec = {
        .argv = s->argv, .envp = s->env, .cwd = s->cwd, .program = program.ptr
    };
    enum err e;

    if (s->alive) return ERR_BUSY;
    if (!program.ptr) {
        buf_printf(&m->trouble, "the program " STR_FMT " is not installed", STR_ARG(s->command));
        return ERR_NOT_FOUND;
    }
    buf_clear(&s->line);
    s->bad = 0;
    s->phase = RUNNING;
    s->child.on_out = on_out;
    s->child.on_err = on_err;
    s->child.on_exit = on_gone;
    if ((e = child_start(m->host.children, &s->child, &spec)) != OK) return e;
    s->alive = true;
    mcp_calls_fresh(m); /* what worked on them is dead */
    return OK;
}

/* A message is a line. A line break in it, which JSON allows between its parts, would make what
 * follows a message of its own: arguments are written by a model, and could hold a call of another
 * tool. */
static enum err write_line(struct stdio *s, struct str message)
{
    struct buf line;
    enum err   e;

    buf_init(&line, 0);
    buf_str(&line, message);
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] == '\n' || line.ptr[i] == '\r') line.ptr[i] = ' ';
    buf_chr(&line, '\n');
    if ((e = line.err) == OK) child_write(&s->child, buf_view(&line));
    buf_done(&line);
    return e;
}

static enum err stdio_send(struct mcp *m, struct mcp_request *q, struct str message,
                           struct curl_slist *extra)
{
    struct stdio *s = m->link;
    size_t        unread;

    curl_slist_free_all(extra);
    if (!s->alive || s->phase == KILL) return OK; /* its end is about to be told */
    unread = child_unsent(&s->child);
    if (unread && unread + message.len > UNREAD_MAX) {
        kill_it(s, "it does not read what is sent to it");
        return OK;
    }
    return write_line(s, message);
}

size_t mcp_unsent(const struct mcp *m)
{
    const struct stdio *s = m->link;
    return s->alive ? child_unsent(&s->child) : 0;
}

static bool stdio_busy(const struct mcp *m)
{
    const struct stdio *s = m->link;
    return s->alive && child_unsent(&s->child) > BUSY_MAX;
}

static bool stdio_private(const struct mcp *m)
{
    return true;
}

static void stdio_release(struct mcp *m, struct mcp_request *q)
{
}
static void stdio_opened(struct mcp *m)
{
}

static void on_grace(struct loop_timer *t)
{
    struct stdio *s = LIST_ITEM(t, struct stdio, grace);
    if (s->phase == STDIN_CLOSED) {
        s->phase = TERM;
        child_term(&s->child);
        loop_timer_set(t, GRACE_MS);
    } else if (s->phase == TERM) {
        s->phase = KILL;
        child_kill(&s->child);
    }
}

static void stdio_close(struct mcp *m)
{
    struct stdio *s = m->link;
    if (!s->alive) {
        mcp_transport_closed(m);
        return;
    }
    if (s->phase != RUNNING) return;
    s->phase = STDIN_CLOSED;
    child_close_in(&s->child);
    loop_timer_set(&s->grace, GRACE_MS);
}

static void stdio_free(struct mcp *m)
{
    struct stdio *s = m->link;
    s->freeing = true;
    if (s->grace_open) loop_timer_close(&s->grace, grace_closed);
    else maybe_free(s);
}

static const struct mcp_transport STDIO = {
    .open = stdio_open,
    .send = stdio_send,
    .busy = stdio_busy,
    .private_line = stdio_private,
    .release = stdio_release,
    .opened = stdio_opened,
    .close = stdio_close,
    .free = stdio_free,
};

/* --- configuration ---------------------------------------------------------------------------- */

static enum err add_env(struct mcp *m, struct stdio *s, struct str name, struct str value)
{
    struct str text = arena_printf(&m->config, STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(value));
    if (!text.ptr || s->envc == ENV_MAX || memchr(text.ptr, 0, text.len)) return ERR_TYPE;
    s->env[s->envc++] = text.ptr;
    return OK;
}

/* What a shell would have, nothing of what the server's environment may hide. */
static enum err read_env(struct mcp *m, struct stdio *s, const struct jv *env, struct buf *why)
{
    static const char *const kept[] = { "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", NULL };

    for (int i = 0; kept[i]; i++) {
        const char *v = getenv(kept[i]);
        if (v && !jv_get(env, kept[i]) && add_env(m, s, str_c(kept[i]), str_c(v)) != OK)
            return ERR_TYPE;
    }
    JV_EACH (item, env) {
        struct str value = jv_is(item, JSON_STRING) ? item->str : STR_NONE;
        if (!value.ptr || add_env(m, s, item->key, value) != OK) {
            if (why->len == 0)
                buf_printf(why, "\"env\" has a wrong value for " STR_FMT, STR_ARG(item->key));
            return ERR_TYPE;
        }
    }
    return OK;
}

static enum err read_args(struct mcp *m, struct stdio *s, const struct jv *args, struct buf *why)
{
    size_t n = 0;
    s->argv = arena_array(&m->config, (args ? args->count : 0) + 2, sizeof *s->argv);
    if (!s->argv) return ERR_NOMEM;
    s->argv[n++] = s->command.ptr;
    JV_EACH (item, args) {
        if (!jv_is(item, JSON_STRING) || memchr(item->str.ptr, 0, item->str.len)) {
            buf_lit(why, "\"args\" must be a list of texts");
            return ERR_TYPE;
        }
        if (!(s->argv[n++] = arena_dup(&m->config, item->str).ptr)) return ERR_NOMEM;
    }
    return OK;
}

static enum err read_cwd(struct mcp *m, struct stdio *s, struct str cwd, struct str base)
{
    if (cwd.len && cwd.ptr[0] == '/') s->cwd = arena_dup(&m->config, cwd).ptr;
    else if (cwd.len && base.len)
        s->cwd = arena_printf(&m->config, STR_FMT "/" STR_FMT, STR_ARG(base), STR_ARG(cwd)).ptr;
    else if (cwd.len || base.len) s->cwd = arena_dup(&m->config, cwd.len ? cwd : base).ptr;
    else return OK;
    return s->cwd ? OK : ERR_NOMEM;
}

enum err mcp_stdio_read(struct mcp *m, const struct jv *entry, struct str base, struct buf *why)
{
    const struct jv *args = jv_get(entry, "args"), *env = jv_get(entry, "env");
    struct stdio    *s = mem_alloc(sizeof *s);
    enum err         e;

    if (!s) return ERR_NOMEM;
    m->link = s;
    m->transport = &STDIO;
    s->m = m;
    buf_init(&s->line, MCP_MESSAGE_MAX);
    tail_init(&s->err, STDERR_MAX);
    s->command = arena_dup(&m->config, jv_str_at(entry, "command"));
    if (jv_str_at(entry, "command").len && !s->command.ptr) return ERR_NOMEM;
    if (s->command.len == 0 || (args && !jv_is(args, JSON_ARRAY)) ||
        (env && !jv_is(env, JSON_OBJECT))) {
        buf_lit(why, "\"command\" must be a text, \"args\" a list and \"env\" an object");
        return ERR_TYPE;
    }
    if ((e = read_args(m, s, args, why)) != OK) return e;
    if ((e = read_env(m, s, env, why)) != OK) return e;
    if ((e = read_cwd(m, s, jv_str_at(entry, "cwd"), base)) != OK) return e;
    loop_timer_init(m->host.loop, &s->grace, on_grace);
    s->grace_open = true;
    return OK;
}
