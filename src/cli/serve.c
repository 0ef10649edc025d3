/* serve.c -- `parley serve`: builds the parts from the configuration, joins them,
 * runs the loop, and takes them apart again.
 *
 * SIGTERM or SIGINT drains: no new runs, models are hung up (their steps are
 * repeated at the next start), streams are told, running tools get until
 * DRAIN_MS; whatever is left after that is found `started` at the next start and
 * becomes unknown. A second signal ends it at once.
 *
 * SIGHUP reads the configuration and the certificate anew (reload.h).
 *
 * Taking apart waits for the disk (store_close) and for processes, without the loop. Nothing that
 * was told depends on it, a crash at that moment would be as good; so at END_MS an alarm ends it,
 * wherever it is.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "audit/checkpoint.h"
#include "base/clock.h"
#include "base/secret.h"
#include "cli/assembly.h"
#include "cli/cli.h"
#include "cli/reload.h"
#include "door/mcp/mcps.h"
#include "http/certs.h"
#include "node/link.h"
#include "run/metrics.h"
#include "run/notify.h"
#include "run/otel.h"
#include "run/storevault.h"
#include "run/sweep.h"
#include "run/tidings.h"

#define DRAIN_MS 4500 /* the promise is 5 s */
/* everything, counted from the signal: then the disk is not waited for any more */
#define STOP_MS   4800
#define END_MS    4900 /* whatever hangs by then, the process is gone */
#define FILES_MIN 64   /* open files without which there is no start */
/* Long answers and lists under way, all people's together: door/turnstile.h. The store reads one
 * after another anyway. */
#define READS_AT_ONCE    4
#define SEARCHES_AT_ONCE 2
#define LISTS_AT_ONCE    16
#define TELL_MS          300 /* streams get this long to take their last words */

struct serve {
    struct config       config;
    struct arena        arena;
    struct loop         loop;
    struct store       *store;
    struct storevault   vault;
    struct assembly     assembly;
    struct links        links; /* to other nodes, if `clustered` */
    bool                clustered;
    struct hub         *hub;
    struct auth        *auth;
    struct quota        quota;
    struct people      *people;
    struct tidings     *tidings;
    struct notify      *notify;
    struct otel        *otel;
    struct sign_keys    keys;
    struct checkpoints *checkpoints;
    struct sweep       *sweep;
    struct app          app;
    struct server      *server;
    struct certs       *certs; /* NULL: no TLS */
    struct reload       reload;
    struct mcps        *mcp;
    char                token[START_TOKEN_MAX + 1]; /* to be printed, once */
    uv_signal_t         term, intr, hup;
    struct loop_timer   deadline, tell;
    struct store_list   counts;
    uint64_t            signalled_ms;
    unsigned            parts; /* that are still being taken apart */
    bool                draining, closing, counted;
    /* what the start found wrong with the configuration */
    struct config_error problems;
};

static int fail(const char *what, struct str why)
{
    cli_fail("%s: " STR_FMT, what, STR_ARG(why));
    return 1;
}

/* It was noted where it stands in the file. */
static int fail_noted(const struct serve *s)
{
    config_error_print(&s->problems, stderr);
    return 1;
}

/* --- building --------------------------------------------------------------------------------- */

static void on_counts(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct serve *s = LIST_ITEM(l, struct serve, counts);
    (void)next;
    for (size_t i = 0; !e && i < count; i++) {
        struct tool *t = registry_find(&s->assembly.registry, rows[i].tool);
        if (!t) continue;
        t->runs += rows[i].runs;
        t->failed += rows[i].failed;
    }
    s->counted = true;
}

/* Waited for: a turn that ends before they are read would be counted twice. */
static void read_counts(struct serve *s)
{
    s->counts = (struct store_list){ .kind = STORE_TOOLS, .done = on_counts };
    store_list(s->store, &s->counts);
    while (!s->counted) uv_run(&s->loop.uv, UV_RUN_ONCE);
}

/* Is everybody who can come in named by a key? */
static bool only_keys(const struct auth_setup *a)
{
    for (size_t i = 0; i < a->key_count; i++)
        if (a->keys[i].user_header.len) return false;
    return a->key_count && !a->jwt && !a->oidc.issuer.len;
}

static bool make_people(struct serve *s)
{
    const struct auth_setup *a = &s->config.auth;
    if (!(s->people = people_new())) return false;
    if (only_keys(a)) people_whole(s->people);
    for (size_t i = 0; i < a->key_count; i++)
        if (!assembly_know(s->people, &a->keys[i], &s->arena)) return false;
    return true;
}

/* Waited for, too: what somebody lost while another process looked must not count again. */
static int read_people(struct serve *s)
{
    bool     some = config_has_auth(&s->config);
    enum err e = some ? people_keep(s->people, &s->loop, s->store) : OK;

    if (!e) return 0;
    if (e == ERR_NOMEM) return fail("cannot start", STR("out of memory"));
    return fail("cannot read from the store who has which roles", str_c(err_name(e)));
}

/* Before the hub: it is told of every run that ends. */
static bool make_otel(struct serve *s)
{
    const struct config_otel *c = &s->config.otel;
    struct otel_header       *all = arena_array(&s->arena, c->header_count + 1, sizeof *all);
    if (!c->endpoint.len || !all) return !c->endpoint.len;
    for (size_t i = 0; i < c->header_count; i++)
        all[i] = (struct otel_header){ c->headers[i].name, c->headers[i].value };
    s->otel = otel_new(&(struct otel_setup){ .loop = &s->loop,
                                             .pool = &s->assembly.pool,
                                             .endpoint = c->endpoint,
                                             .headers = all,
                                             .header_count = c->header_count });
    return s->otel != NULL;
}

static enum err sign_claim(void *ctx, struct str payload, struct buf *out)
{
    return sign_line(ctx, payload, out);
}

static enum err check_claim(void *ctx, struct str jws, struct arena *a, struct str *payload)
{
    return sign_check(ctx, jws, a, payload);
}

static struct vouch make_vouch(struct serve *s)
{
    return s->keys.count ? (struct vouch){ sign_claim, check_claim, &s->keys }
                         : (struct vouch){ 0 };
}

static bool make_hub(struct serve *s)
{
    const struct config *c = &s->config;
    if (!make_people(s) || !(s->tidings = tidings_new(&s->loop, s->store))) return false;
    if (!assembly_pages(&s->assembly)) return false;
    s->hub = hub_new(&(struct hub_setup){ .loop = &s->loop,
                                          .store = s->store,
                                          .nodes = s->clustered ? &s->links.nodes : NULL,
                                          .registry = &s->assembly.registry,
                                          .pages = s->assembly.pages,
                                          .page_count = s->assembly.page_count,
                                          .actions = s->assembly.actions,
                                          .action_count = s->assembly.action_count,
                                          .max_iterations = c->max_iterations,
                                          .hold = c->hold,
                                          .titles = c->model_titles,
                                          .tool_text_max = c->tool_output_max,
                                          .basis_ms = c->retain_prompt_days * 86400000LL,
                                          .keep_turns = c->context_keep,
                                          .runs_max = c->runs_max,
                                          .threads_max = c->threads_in_memory,
                                          .idle_bytes_max = c->threads_bytes,
                                          .cancel_grace_ms = 10 * 1000,
                                          .quota = &s->quota,
                                          .rules = c->rules,
                                          .approvers = c->approvers,
                                          .context = (enum context)c->context,
                                          .deny_limit = c->deny_limit,
                                          .people = s->people,
                                          .otel = s->otel,
                                          .vouch = make_vouch(s),
                                          .tidings = s->tidings,
                                          .budgets = c->budgets,
                                          .budget_count = c->budget_count,
                                          .currency = c->currency,
                                          .token = config_needs_token(c) });
    s->links.hub = s->hub;
    if (s->hub) people_on_gain(s->people, hub_gained, s->hub);
    return s->hub != NULL;
}

/* Who is to be told what is asked; after the store and the tools' connections. */
static bool make_notify(struct serve *s)
{
    const struct config  *c = &s->config;
    struct notify_target *all = arena_array(&s->arena, c->notify_count + 1, sizeof *all);
    if (!all) return false;
    for (size_t i = 0; i < c->notify_count; i++)
        all[i] = (struct notify_target){ .url = c->notify[i].url,
                                         .secret = c->notify[i].secret,
                                         .events = c->notify[i].events,
                                         .roles = c->notify[i].roles,
                                         .allow = c->notify[i].allow,
                                         .after_s = c->notify[i].after_s };
    if (!c->notify_count) return true;
    s->notify = notify_new(&(struct notify_setup){ .loop = &s->loop,
                                                   .store = s->store,
                                                   .hub = s->hub,
                                                   .pool = &s->assembly.pool,
                                                   .tidings = s->tidings,
                                                   .targets = all,
                                                   .count = c->notify_count });
    return s->notify != NULL;
}

/* Zero: there is none, or it is made. */
static int make_token(struct serve *s)
{
    if (!config_needs_token(&s->config)) return 0;
    enum err e = start_token_make(&s->app.token, s->token);
    if (!e) return 0;
    return fail("cannot start", e == ERR_NOMEM ? STR("out of memory") : STR(START_TOKEN_RULE));
}

/* The host we listen on as it stands in Host; an address that means "all of them" is nobody's
 * name. */
static struct str own_host(struct serve *s)
{
    struct str h = s->config.host;
    if (str_is(h, "0.0.0.0") || str_is(h, "::")) return STR_NONE;
    return str_find(h, STR(":")) < 0 ? h : arena_printf(&s->arena, "[" STR_FMT "]", STR_ARG(h));
}

/* By which the other nodes call us. */
static struct str node_host(struct serve *s)
{
    struct str  host;
    unsigned    port;
    const char *why;
    if (!s->clustered || !link_url_parse(s->config.cluster_url, &host, &port, &why))
        return STR_NONE;
    return str_find(host, STR(":")) < 0 ? host
                                        : arena_printf(&s->arena, "[" STR_FMT "]", STR_ARG(host));
}

/* The page as this configuration wants it. */
static enum err make_look(struct serve *s)
{
    const struct config_look *from = &s->config.look;
    struct page_look         *l = &s->app.look;
    struct jsonw              w;
    struct buf                json;

    *l = (struct page_look){ .name = from->name, .logo = from->logo, .logo_type = from->logo_type };
    l->languages = (struct strs){ from->languages.list, from->languages.count };
    snprintf(l->colour, sizeof l->colour, "#%06x", from->has_accent ? from->accent : 0x1f5effu);
    buf_init(&json, 0);
    jsonw_init(&w, &json);
    config_look_write(&s->config, &w);
    l->json = arena_dup(&s->arena, buf_view(&json));
    enum err e = json.err || !l->json.ptr ? ERR_NOMEM : web_dress(l);
    buf_done(&json);
    return e;
}

/* The address in links, unless the configuration says another. */
static struct str own_link(struct serve *s)
{
    bool v6 = str_find(s->config.host, STR(":")) >= 0;
    if (s->config.mcp_link.ptr) return s->config.mcp_link;
    return arena_printf(&s->arena, "%s://%s" STR_FMT "%s:%u", config_scheme(&s->config),
                        v6 ? "[" : "", STR_ARG(s->config.host), v6 ? "]" : "",
                        server_port(s->server));
}

static enum err make_mcp(struct serve *s)
{
    const struct config *c = &s->config;
    struct mcps_setup    setup = { .serve = c->mcp_serve,
                                   .some_tools = c->mcp_some,
                                   .tools = { c->mcp_tools.list, c->mcp_tools.count },
                                   .wait_ms = c->mcp_wait_ms,
                                   .pending_max = c->mcp_pending,
                                   .text_max = c->tool_output_max,
                                   .link = own_link(s),
                                   .issuer = c->auth.jwt ? c->auth.issuer : STR_NONE };
    s->mcp = s->app.mcp = setup.link.ptr ? mcps_new(&s->app, &s->loop, &setup) : NULL;
    return s->mcp ? OK : ERR_NOMEM;
}

static enum err make_certs(struct serve *s, struct str *why)
{
    struct tls_facts f;

    if (!s->config.tls_cert.len) return OK;
    struct str cert = arena_dup(&s->arena, s->config.tls_cert),
               key = arena_dup(&s->arena, s->config.tls_key);
    if (!cert.ptr || !key.ptr) return ERR_NOMEM;
    enum err e = certs_new(&s->loop, cert.ptr, key.ptr, &f, &s->certs);
    if (e && f.why[0]) *why = arena_dup(&s->arena, str_c(f.why));
    return e;
}

static enum err make_server(struct serve *s, struct str *why)
{
    const struct config *c = &s->config;
    s->app = (struct app){ .hub = s->hub,
                           .registry = &s->assembly.registry,
                           .servers = s->assembly.mcp,
                           .server_count = s->assembly.mcp_count,
                           .token = s->app.token,
                           .local = { .name = STR("local"),
                                      .roles = ROLE_ANY,
                                      .may_answer = !s->app.token.needed,
                                      .words = config_every_role(c, &s->arena) },
                           .auth = s->auth,
                           .quota = &s->quota,
                           .links = s->clustered ? &s->links : NULL,
                           .approvers_only = c->approvers,
                           .share = (enum share_with)c->share,
                           .host = own_host(s),
                           .node_host = node_host(s),
                           .hosts = { c->hosts.list, c->hosts.count },
                           .origins = { c->origins.list, c->origins.count },
                           .cors = { c->cors.list, c->cors.count },
                           .embed = { c->embed.list, c->embed.count },
                           .public_url = c->public_url,
                           .openai = { c->words,
                                       c->functions,
                                       (void *)c->aliases,
                                       c->alias_count,
                                       { c->chat_headers.list, c->chat_headers.count } },
                           .links_key = c->links_key,
                           .proxies = { c->proxies.list, c->proxies.count } };
    turnstile_init(&s->app.reads, &s->loop, READS_AT_ONCE);
    turnstile_init(&s->app.searches, &s->loop, SEARCHES_AT_ONCE);
    turnstile_init(&s->app.lists, &s->loop, LISTS_AT_ONCE);
    struct server_setup setup = { .loop = &s->loop,
                                  .limits = c->limits,
                                  .routes = app_routes,
                                  .guard = guard_check,
                                  .error = door_error,
                                  .app = &s->app };
    enum err            e = make_look(s);
    *why = STR("out of memory");
    if (!e) e = make_certs(s, why);
    if (e) return e;
    setup.certs = s->certs;
    e = server_start(&setup, c->host, c->port, &s->server, why, &s->arena);
    s->app.server = s->server;
    return e ? e : make_mcp(s);
}

/* False: out of memory. Nobody to tell is no error. */
static bool start_checkpoints(struct serve *s)
{
    const struct config_audit *a = &s->config.audit;
    struct str file = arena_dup(&s->arena, a->file), hook = arena_dup(&s->arena, a->webhook);

    if (!s->keys.count) return true;
    s->checkpoints =
        checkpoints_start(&(struct checkpoint_setup){ .loop = &s->loop,
                                                      .store = s->store,
                                                      .keys = &s->keys,
                                                      .pool = &s->assembly.pool,
                                                      .every_ms = a->every_ms,
                                                      .file = file.len ? file.ptr : NULL,
                                                      .webhook = hook.len ? hook.ptr : NULL });
    return s->checkpoints && !s->arena.failed;
}

/* Likewise. */
static bool start_sweep(struct serve *s)
{
    const int64_t      day = 86400 * 1000;
    struct sweep_rules r = { s->config.retain_plain_days * day, s->config.retain_asked_days * day };

    bool any = r.plain_ms || r.asked_ms;
    for (int i = 0; i < STORE_TRIM_KINDS; i++) {
        r.kind_ms[i] = s->config.retain_kind_days[i] * day;
        any |= r.kind_ms[i] > 0;
    }
    if (!any) return true;
    return (s->sweep = sweep_start(s->hub, r)) != NULL;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void on_closed(void *ctx)
{
    struct serve *s = ctx;
    if (--s->parts == 0) loop_stop(&s->loop);
}

static void close_all(struct serve *s)
{
    if (s->closing) return;
    s->closing = true;
    s->parts = s->clustered ? 2 : 1;
    if (s->clustered) links_close(&s->links, on_closed, s);
    server_close(s->server, on_closed, s);
}

static void on_told(struct loop_timer *t)
{
    close_all(LIST_ITEM(t, struct serve, tell));
}
static void on_deadline(struct loop_timer *t)
{
    close_all(LIST_ITEM(t, struct serve, deadline));
}

static void on_drained(void *ctx)
{
    struct serve *s = ctx;
    loop_timer_set(&s->tell, TELL_MS);
}

static void on_alarm(int signum)
{
    (void)signum;
    _exit(0);
}

static void end_by(unsigned ms)
{
    struct itimerval when = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &when, NULL);
}

static void on_signal(uv_signal_t *h, int signum)
{
    struct serve *s = h->data;
    (void)signum;
    if (s->draining || !s->server) _exit(1); /* still starting: there is nothing to drain */
    s->draining = true;
    end_by(END_MS);
    s->signalled_ms = clock_mono_ms();
    log_line(LOG_INFO, "serve.draining", "runs", log_int(hub_runs(s->hub)), NULL);
    loop_timer_set(&s->deadline, DRAIN_MS);
    notify_stop(s->notify);
    server_drain(s->server);
    mcps_drain(s->mcp);
    hub_drain(s->hub, on_drained, s);
}

/* An operator who changed the configuration or a certificate; or a terminal that went away, which
 * is no reason to end either. */
static void on_hangup(uv_signal_t *h, int signum)
{
    struct serve *s = h->data;

    (void)signum;
    if (s->draining || !s->server) return;
    if (s->certs) certs_read(s->certs);
    reload_now(&s->reload);
}

static void watch_signals(struct serve *s)
{
    signal(SIGPIPE, SIG_IGN);
    uv_signal_init(&s->loop.uv, &s->term);
    uv_signal_init(&s->loop.uv, &s->intr);
    uv_signal_init(&s->loop.uv, &s->hup);
    s->term.data = s->intr.data = s->hup.data = s;
    uv_signal_start(&s->term, on_signal, SIGTERM);
    uv_signal_start(&s->intr, on_signal, SIGINT);
    uv_signal_start(&s->hup, on_hangup, SIGHUP);
    loop_timer_init(&s->loop, &s->deadline, on_deadline);
    loop_timer_init(&s->loop, &s->tell, on_told);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Past stdio, whose buffer would keep it. Nobody reads it: a server serves all the same. */
static void write_out(const char *text, size_t len)
{
    for (ssize_t n;
         len && ((n = write(STDOUT_FILENO, text, len)) > 0 || (n < 0 && errno == EINTR));) {
        if (n < 0) continue;
        text += n;
        len -= (size_t)n;
    }
}

/* Whoever set PARLEY_TOKEN knows it: it need not stand in a log. After this the token stands
 * nowhere in our memory. */
static void print_address(struct serve *s)
{
    bool        v6 = str_find(s->config.host, STR(":")) >= 0;
    const char *token = s->token[0] ? s->token : "$PARLEY_TOKEN";
    char        end[sizeof "/#token=\n" + START_TOKEN_MAX];

    printf("  open   %s://%s" STR_FMT "%s:%u", config_scheme(&s->config), v6 ? "[" : "",
           STR_ARG(s->config.host), v6 ? "]" : "", server_port(s->server));
    fflush(stdout);
    int n = snprintf(end, sizeof end, "%s%s\n", s->app.token.needed ? "/#token=" : "",
                     s->app.token.needed ? token : "");
    write_out(end, (size_t)n);
    secret_wipe(end, sizeof end);
    secret_wipe(s->token, sizeof s->token);
}

static void announce(struct serve *s)
{
    printf("parley %s\n", PARLEY_VERSION);
    print_address(s);
    printf("  model  ");
    config_explain_model(&s->config, stdout);
    printf("  data   " STR_FMT " (" STR_FMT ")\n", STR_ARG(s->config.store_shown),
           STR_ARG(store_promise(s->store)));
    struct buf lacks;
    buf_init(&lacks, 4096);
    assembly_isolation(&s->assembly, &lacks);
    for (struct str rest = buf_view(&lacks), line; lacks.len && str_split(&rest, '\n', &line);)
        if (line.len) printf("  note   " STR_FMT "\n", STR_ARG(line));
    buf_done(&lacks);
    for (size_t i = 0; i < s->config.warnings.count; i++)
        printf("  note   " STR_FMT "\n", STR_ARG(s->config.warnings.list[i]));
    fflush(stdout);
    clearerr(stdout); /* a server serves, also when nobody reads its first words */
}

static void on_freed(void *ctx)
{
    struct serve *s = ctx;
    if (--s->parts == 0) loop_stop(&s->loop);
}

/* What is left of the promise for the disk; a moment at least. */
static uint64_t close_ms(const struct serve *s)
{
    uint64_t gone = clock_mono_ms() - s->signalled_ms;
    return gone < STOP_MS - 100 ? STOP_MS - gone : 100;
}

/* Runs while nothing else does any more: what is closed here needs the loop to turn. */
static void take_apart(struct serve *s)
{
    turnstile_done(&s->app.reads);
    turnstile_done(&s->app.searches);
    turnstile_done(&s->app.lists);
    if (s->server) server_free(s->server);
    web_undress(&s->app.look);
    s->vault.store = NULL;
    /* what was told as saved is; the next start reads the log */
    if (!store_close(s->store, close_ms(s))) _exit(0);
    /* a tool would not end: the log says `started`, the next start says `unknown` */
    if (hub_jobs(s->hub)) _exit(0);
    hub_free(s->hub);
    if (s->clustered) links_done(&s->links);
    notify_stop(s->notify);
    notify_free(s->notify);
    otel_free(s->otel);
    people_free(s->people);
    tidings_free(s->tidings);
    quota_done(&s->quota);
    uv_close((uv_handle_t *)&s->term, NULL);
    uv_close((uv_handle_t *)&s->intr, NULL);
    uv_close((uv_handle_t *)&s->hup, NULL);
    loop_timer_close(&s->deadline, NULL);
    loop_timer_close(&s->tell, NULL);
    s->parts = 6;
    certs_free(s->certs, on_freed, s);
    mcps_free(s->mcp, on_freed, s);
    sweep_stop(s->sweep, on_freed, s);
    checkpoints_stop(s->checkpoints, on_freed, s);
    auth_free(s->auth, on_freed, s);
    assembly_free(&s->assembly, on_freed, s);
    loop_run(&s->loop);
    sign_keys_done(&s->keys);
    metrics_done();
    loop_done(&s->loop);
    arena_done(&s->arena);
    reload_done(&s->reload);
    config_done(&s->config);
}

/* libuv aborts where it gets no descriptor for itself: that is told before. */
static int check_files(struct serve *s)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= FILES_MIN) return 0;
    if (r.rlim_max >= FILES_MIN) {
        r.rlim_cur = FILES_MIN;
        if (setrlimit(RLIMIT_NOFILE, &r) == 0) return 0;
    }
    return fail("cannot start",
                arena_printf(&s->arena, "%s; it is %llu, and %d are the least", os_words(EMFILE),
                             (unsigned long long)r.rlim_max, FILES_MIN));
}

static enum err open_store(struct serve *s, struct str *why)
{
    const struct config *c = &s->config;
    char                 mark[LINK_PROOF_LEN + 1] = "";
    struct store_place   place = { .url = STR(STORE_ALONE) };

    s->clustered = c->cluster_url.len > 0;
    if (s->clustered) {
        enum err e = links_init(&s->links, &s->loop, c->cluster_key);
        if (e) return e;
        link_proof(&s->links.key, "mark", STR(""), STR(""), STR(""), STR(""), mark);
        place = (struct store_place){ .url = c->cluster_url, .mark = str_n(mark, 16) };
    }
    enum err e = store_open(&s->loop, c->store, &place, &s->arena, &s->store, why);
    if (!e) s->links.self = store_node(s->store);
    return e;
}

/* Zero: everything stands and listens. */
static int start(struct serve *s)
{
    struct str why = STR("out of memory");
    if (check_files(s)) return 1;
    /* before a file is made */
    if (!assembly_try(&s->config, &s->problems, NULL)) return fail_noted(s);
    if (loop_init(&s->loop)) return fail("cannot start the event loop", why);
    watch_signals(s);
    if (make_token(s)) return 1; /* before anything is started that could look for it */
    if (open_store(s, &why)) return fail("cannot open the store", why);
    store_on_commit(s->store, metrics_commit, NULL);
    storevault_init(&s->vault, s->store);
    s->loop.on_turn = metrics_turn;
    if (!assembly_models(&s->assembly, &s->config, &s->loop, &s->problems)) return fail_noted(s);
    s->assembly.vault = &s->vault.vault;
    if (!assembly_tools(&s->assembly, &s->problems)) return fail_noted(s);
    quota_init(&s->quota, &s->config.each);
    if (!assembly_audit(&s->config, &s->keys, &s->problems)) return fail_noted(s);
    if (!make_otel(s) || !make_hub(s)) return fail("cannot start", STR("out of memory"));
    if (!assembly_auth(&s->config, &s->loop, &s->arena, &s->auth, &s->problems))
        return fail_noted(s);
    read_counts(s);
    if (read_people(s)) return 1;
    if (!start_checkpoints(s) || !start_sweep(s)) return fail("cannot start", STR("out of memory"));
    if (!make_notify(s)) return fail("cannot start", STR("out of memory"));
    if (make_server(s, &why)) return fail("cannot listen", why);
    return 0;
}

static int run(struct serve *s)
{
    if (start(s)) {
        (void)!store_close(s->store, STOP_MS); /* a temporary one is not left behind */
        return 1;
    }
    s->reload.first = &s->config;
    s->reload.assembly = &s->assembly;
    s->reload.hub = s->hub;
    s->reload.app = &s->app;
    s->reload.people = s->people;
    hub_recover(s->hub);
    hub_gained(s->hub, STR(""));
    hub_lapse(s->hub);
    announce(s);
    loop_run(&s->loop);
    take_apart(s);
    return 0;
}

int cli_serve(int argc, char **argv)
{
    static struct serve s;
    struct cli_line     line;
    if (!cli_read(argc, argv, "cls", 0, &line)) return 2;
    if (config_load_flags(&s.config, &line.flags, &s.problems)) return fail_noted(&s);
    s.reload.flags = line.flags;
    log_level(s.config.log);
    log_waits(false);
    arena_init(&s.arena, 0);
    return run(&s);
}
