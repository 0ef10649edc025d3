/* reload.c -- see reload.h. */
#include "cli/reload.h"

#include <string.h>

#include "base/log.h"

struct kept_config {
    struct config       config;
    struct kept_config *before;
};

/* What takes effect at once; '*' is any name. All else is built at the start. */
static const char *const AT_ONCE[] = {
    "log",
    "system",
    "pages.*.system",
    "max_iterations",
    "titles",
    "context.keep",
    "hosts",
    "origins",
    "cors",
    "page.embed",
    "proxies",
    "approvals.rules",
    "approvals.who",
    "approvals.on_new_message",
    "approvals.context",
    "approvals.deny_limit",
    "limits.head",
    "limits.body",
    "limits.bodies",
    "limits.answers",
    "limits.message",
    "limits.head_seconds",
    "limits.body_seconds",
    "limits.idle_seconds",
    "limits.write_seconds",
    "limits.connections_per_address",
    "limits.runs",
    "limits.per_principal",
    "limits.tool_output",
    "limits.threads_bytes",
    "limits.threads_in_memory",
};

/* --- what changed -------------------------------------------------------------------------- */

enum { PATH_MAX_LEN = 200, DEPTH_MAX = 3 };

struct changes {
    struct buf now, later; /* names, with commas */
    size_t     keys;       /* how many further ones people were given */
};

enum fit { FIT_NOT, FIT_ABOVE, FIT_WHOLE };

/* Is `path` the row, or something above it? */
static enum fit fits(struct str row, struct str path)
{
    struct str a, b;

    while (path.len) {
        if (!str_split(&row, '.', &a)) return FIT_NOT;
        (void)str_split(&path, '.', &b);
        if (!str_is(a, "*") && !str_eq(a, b)) return FIT_NOT;
    }
    return row.len ? FIT_ABOVE : FIT_WHOLE;
}

static enum fit place_of(struct str path)
{
    enum fit best = FIT_NOT;

    for (size_t i = 0; i < sizeof AT_ONCE / sizeof *AT_ONCE; i++) {
        enum fit f = fits(str_c(AT_ONCE[i]), path);
        if (f > best) best = f;
    }
    return best;
}

static void note(struct buf *list, struct str path)
{
    if (list->len) buf_lit(list, ", ");
    buf_str(list, path);
}

static bool same(const struct jv *a, const struct jv *b)
{
    return a && b ? jv_equal(a, b) : a == b;
}

struct compare {
    struct changes *c;
    bool            at_once; /* look for those that take effect, or for the others */
};

static void compare(const struct compare *k, struct str path, const struct jv *old,
                    const struct jv *new, int depth);

static void compare_member(const struct compare *k, struct str path, struct str key,
                           const struct jv *old, const struct jv *new, int depth)
{
    char text[PATH_MAX_LEN];
    int  n = snprintf(text, sizeof text, STR_FMT "%s" STR_FMT, STR_ARG(path), path.len ? "." : "",
                      STR_ARG(key));

    if (n > 0 && n < PATH_MAX_LEN) compare(k, str_n(text, (size_t)n), old, new, depth);
}

static void compare_members(const struct compare *k, struct str path, const struct jv *old,
                            const struct jv *new, int depth)
{
    JV_EACH (v, new) compare_member(k, path, v->key, jv_get_str(old, v->key), v, depth);
    JV_EACH (v, old)
        if (!jv_get_str(new, v->key)) compare_member(k, path, v->key, v, NULL, depth);
}

static bool is_map(const struct jv *v)
{
    return !v || jv_is(v, JSON_OBJECT);
}

static void compare(const struct compare *k, struct str path, const struct jv *old,
                    const struct jv *new, int depth)
{
    enum fit f = path.len ? place_of(path) : FIT_ABOVE;

    if (same(old, new) || str_is(path, "auth.keys")) return; /* keys have a look of their own */
    if (depth < DEPTH_MAX && is_map(old) && is_map(new) && (f == FIT_ABOVE || str_is(path, "auth")))
        compare_members(k, path, old, new, depth + 1);
    else if (k->at_once == (f == FIT_WHOLE)) note(k->at_once ? &k->c->now : &k->c->later, path);
}

static bool same_key(const struct auth_key *a, const struct auth_key *b)
{
    return memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0 && a->roles == b->roles &&
           a->shared == b->shared && str_eq(a->principal, b->principal) &&
           str_eq(a->words, b->words) && str_eq(a->claims, b->claims) &&
           str_eq(a->user_header, b->user_header) && str_eq(a->user_secret, b->user_secret);
}

/* The key with the same digest: whoever shows it is the same one, whatever else is said of it. */
static const struct auth_key *key_like(const struct auth_setup *s, const struct auth_key *key)
{
    for (size_t i = 0; i < s->key_count; i++)
        if (memcmp(s->keys[i].sha256, key->sha256, sizeof key->sha256) == 0) return &s->keys[i];
    return NULL;
}

/* One is added when nobody had it. Of those there are, each stays as it is until the next start. */
static void compare_keys(struct changes *c, const struct auth_setup *old,
                         const struct auth_setup *new)
{
    bool all = true;

    for (size_t i = 0; i < old->key_count; i++) {
        const struct auth_key *k = key_like(new, &old->keys[i]);
        all &= k && same_key(k, &old->keys[i]);
    }
    for (size_t i = 0; i < new->key_count; i++) c->keys += !key_like(old, &new->keys[i]);
    if (c->keys) note(&c->now, STR("auth.keys"));
    if (!all) note(&c->later, STR("auth.keys"));
}

static const struct config *last_of(const struct reload *r)
{
    return r->kept ? &r->kept->config : r->first;
}

/* What takes effect is told against what was read last, the rest against what was built. */
static void find_changes(const struct reload *r, const struct config *new, struct changes *c)
{
    compare(&(struct compare){ c, true }, STR(""), last_of(r)->root, new->root, 0);
    compare(&(struct compare){ c, false }, STR(""), r->first->root, new->root, 0);
    compare_keys(c, &r->first->auth, &new->auth);
}

/* --- taking effect -------------------------------------------------------------------------- */

static struct strs strs_of(const struct config_strs *s)
{
    return (struct strs){ s->list, s->count };
}

static void set_app(struct reload *r, const struct config *c)
{
    struct app *a = r->app;
    struct str  words = config_every_role(c, &r->kept->config.arena);

    a->hosts = strs_of(&c->hosts);
    a->origins = strs_of(&c->origins);
    a->cors = strs_of(&c->cors);
    a->embed = strs_of(&c->embed);
    a->proxies = strs_of(&c->proxies);
    a->approvers_only = c->approvers;
    if (words.ptr) a->local.words = words;
    a->quota->limits = c->each;
    server_limits(a->server, &c->limits);
}

static void set_hub(struct reload *r, const struct config *c)
{
    struct hub_setup s = *hub_setup(r->hub);

    s.max_iterations = c->max_iterations;
    s.hold = c->hold;
    s.titles = c->model_titles;
    s.tool_text_max = c->tool_output_max;
    s.keep_turns = c->context_keep;
    s.runs_max = c->runs_max;
    s.threads_max = c->threads_in_memory;
    s.idle_bytes_max = c->threads_bytes;
    s.rules = c->rules;
    s.approvers = c->approvers;
    s.context = (enum context)c->context;
    s.deny_limit = c->deny_limit;
    hub_change(r->hub, &s);
    hub_lapse(r->hub);
}

static void set_prompts(struct reload *r, const struct config *c)
{
    for (size_t i = 0; i < r->assembly->page_count; i++) {
        struct hub_page          *p = &r->assembly->pages[i];
        const struct config_page *from = config_page(c, p->name);
        if (from) p->system = from->system;
    }
    /* what they say of people has to be kept of their tokens */
    r->first->auth.claims = c->auth.claims;
    r->first->auth.claim_count = c->auth.claim_count;
}

/* Those there are stay, in texts that are kept; of the file only what is new is taken. */
static void set_keys(struct reload *r, const struct config *c, size_t more)
{
    struct auth_setup *now = &r->first->auth;
    struct arena      *a = &r->kept->config.arena;
    struct auth_setup  all = { .keys = arena_array(a, now->key_count + more, sizeof *all.keys) };

    if (!all.keys) {
        log_line(LOG_ERROR, "reload.people", "why", "out of memory", NULL);
        return;
    }
    for (size_t i = 0; i < now->key_count; i++) all.keys[all.key_count++] = now->keys[i];
    for (size_t i = 0; i < c->auth.key_count; i++) {
        if (key_like(now, &c->auth.keys[i])) continue;
        if (!assembly_know(r->people, &c->auth.keys[i], a))
            log_line(LOG_ERROR, "reload.people", "why", "out of memory", NULL);
        all.keys[all.key_count++] = c->auth.keys[i];
    }
    now->keys = all.keys;
    now->key_count = all.key_count;
    hub_gained(r->hub, STR(""));
}

static void take_effect(struct reload *r, struct kept_config *k, const struct changes *c)
{
    k->before = r->kept;
    r->kept = k;
    log_level(k->config.log);
    set_app(r, &k->config);
    set_hub(r, &k->config);
    set_prompts(r, &k->config);
    if (c->keys) set_keys(r, &k->config, c->keys);
}

/* --- the command -------------------------------------------------------------------------- */

static void refuse(const struct config_error *e)
{
    for (size_t i = 0; i < e->count; i++)
        log_line(LOG_ERROR, "reload.refused", "file", e->file, "line", log_int(e->problem[i].line),
                 "why", e->problem[i].text, NULL);
    log_line(LOG_ERROR, "reload.refused", "note",
             "the configuration before it stays; put it right and send SIGHUP again", NULL);
}

static void tell(const struct changes *c)
{
    log_line(LOG_INFO, "reload.done", "changed",
             c->now.len ? log_str(buf_view(&c->now)) : "nothing", NULL);
    if (c->later.len)
        log_line(LOG_WARN, "reload.later", "keys", log_str(buf_view(&c->later)), "note",
                 "these take effect at the next start", NULL);
}

/* As a start would see it; and further: with a sign-in that is not there yet, names for people on
 * other machines would let in everybody. */
static bool checks(const struct reload *r, const struct config *c, struct config_error *e)
{
    if (config_has_auth(c) != config_has_auth(r->first))
        config_error_add(e, c, jv_get(c->root, "auth"),
                         "sign-in cannot be turned on or off while the server runs: restart it");
    else if (assembly_try(c, e, NULL)) return true;
    return false;
}

/* A file that was read and is not there now is an error, and no wish for the defaults. */
static struct config_flags flags_of(const struct reload *r)
{
    struct config_flags flags = r->flags;
    struct str          path = last_of(r)->path;

    if (path.ptr) flags.path = path.ptr;
    return flags;
}

void reload_now(struct reload *r)
{
    static struct config_error e;
    struct kept_config        *k = mem_alloc(sizeof *k);
    struct config_flags        flags = flags_of(r);
    struct changes             c = { 0 };

    memset(&e, 0, sizeof e);
    if (!k || config_load_flags(&k->config, &flags, &e)) {
        if (!k) log_line(LOG_ERROR, "reload.refused", "why", "out of memory", NULL);
        else refuse(&e);
        mem_free(k);
        return;
    }
    bool good = checks(r, &k->config, &e);
    if (good) find_changes(r, &k->config, &c);
    else refuse(&e);
    if (good) tell(&c);
    if (c.now.len) take_effect(r, k, &c);
    else {
        config_done(&k->config);
        mem_free(k);
    }
    buf_done(&c.now);
    buf_done(&c.later);
}

void reload_done(struct reload *r)
{
    while (r->kept) {
        struct kept_config *k = r->kept;
        r->kept = k->before;
        config_done(&k->config);
        mem_free(k);
    }
}
