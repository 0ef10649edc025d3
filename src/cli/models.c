/* models.c -- `parley models`: what is configured, and does it answer? */
#include "base/address.h"
#include "base/log.h"
#include "cli/assembly.h"
#include "cli/cli.h"
#include "model/provider.h"

struct checking {
    struct loop     loop;
    struct config   config;
    struct assembly assembly;
    size_t          waiting, failed;
};
struct check {
    struct checking             *all;
    const struct assembly_model *model;
};

static void list_model(const struct assembly_model *m)
{
    const struct config_model *c = m->config;
    printf(STR_FMT "\t" STR_FMT, STR_ARG(c->name), STR_ARG(c->provider));
    if (c->model.len) printf("\t" STR_FMT, STR_ARG(c->model));
    struct str   url = c->base_url.len ? c->base_url : model_provider_url(c->provider);
    struct arena a;
    arena_init(&a, 0);
    if (url.len) printf("\t" STR_FMT, STR_ARG(address_shown(&a, url)));
    arena_done(&a);
    if (!provider_is_demo(c->provider)) printf("\t%s", c->api_key.len ? "key set" : "no key");
    printf("\n");
}

static void on_checked(void *ctx, bool ok, struct str sentence)
{
    struct check *k = ctx;
    printf(STR_FMT ": %s" STR_FMT "\n", STR_ARG(k->model->config->name), ok ? "ok. " : "",
           STR_ARG(sentence));
    k->all->failed += !ok;
    if (!--k->all->waiting) loop_stop(&k->all->loop);
}

static void check_all(struct checking *a)
{
    struct check *list = arena_array(&a->assembly.arena, a->assembly.model_count + 1, sizeof *list);
    for (size_t i = 0; list && i < a->assembly.model_count; i++) {
        struct assembly_model *m = &a->assembly.models[i];
        if (provider_is_demo(m->config->provider)) {
            printf("demo: ok. It is compiled in.\n");
            continue;
        }
        list[i] = (struct check){ a, m };
        if (model_check(a->assembly.upstream, &m->remote, on_checked, &list[i])) a->waiting++;
        else a->failed++;
    }
    if (a->waiting) loop_run(&a->loop);
}

static void on_freed(void *ctx)
{
    loop_stop(ctx);
}

int cli_models(int argc, char **argv)
{
    static struct checking a;
    struct cli_line        line;
    struct config_error    e = { 0 };
    if (!cli_read(argc, argv, "ck", 0, &line)) return 2;
    if (config_load_flags(&a.config, &line.flags, &e)) {
        config_error_print(&e, stderr);
        return 1;
    }
    log_level(LOG_ERROR); /* what went wrong is said in sentences */
    if (loop_init(&a.loop)) {
        fprintf(stderr, "parley: out of memory.\n");
        return 1;
    }
    if (!assembly_models(&a.assembly, &a.config, &a.loop, &e)) {
        config_error_print(&e, stderr);
        return 1;
    }
    if (line.check) check_all(&a);
    else
        for (size_t i = 0; i < a.assembly.model_count; i++) list_model(&a.assembly.models[i]);
    if (!line.check) printf("In use: " STR_FMT "\n", STR_ARG(a.config.model_why));
    assembly_free(&a.assembly, on_freed, &a.loop);
    loop_run(&a.loop);
    loop_done(&a.loop);
    config_done(&a.config);
    return a.failed ? 1 : 0;
}
