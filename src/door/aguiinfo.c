/* aguiinfo.c -- what AG-UI clients ask beside their runs: which agents there are (one per page),
 * what each can do, and that a run be stopped. */
#include "base/id.h"
#include "dialect/agui_request.h"
#include "door/app.h"

/* --- info and capabilities -------------------------------------------------------------------- */

static bool is_on_page(const struct hub_page *page, const struct tool *t)
{
    if (t->reply || t->hidden) return false;
    for (size_t i = 0; i < page->tool_count && !page->all_tools; i++)
        if (str_eq(page->tools[i], t->name)) return true;
    return page->all_tools;
}

static void write_tools(struct jsonw *w, const struct request *q, const struct hub_page *page)
{
    const struct registry *r = app_of(conn_server(q->conn))->registry;
    struct caller          who = caller_of_request(q);
    jw_key(w, "tools");
    jw_obj(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "items");
    jw_arr(w);
    for (size_t i = 0; i < r->count; i++) {
        const struct tool *t = r->tools[i];
        if (!is_on_page(page, t) || !caller_may_use(&who, t)) continue;
        jw_obj(w);
        jw_kstr(w, "name", t->name);
        jw_kstr(w, "description", t->description);
        jw_kraw(w, "parameters", t->schema_text);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    jw_kbool(w, "parallelCalls", true);
    jw_kbool(w, "clientProvided", true);
    jw_end_obj(w);
}

/* One of the page's tools lets people change its arguments. */
static bool has_edits(const struct request *q, const struct hub_page *page)
{
    const struct registry *r = app_of(conn_server(q->conn))->registry;
    for (size_t i = 0; i < r->count; i++)
        if (r->tools[i]->edit && is_on_page(page, r->tools[i])) return true;
    return false;
}

/* Only what is true is said. */
static void write_capabilities(struct jsonw *w, const struct request *q,
                               const struct hub_page *page)
{
    jw_key(w, "identity");
    jw_obj(w);
    jw_kstrz(w, "name", "parley");
    jw_kstrz(w, "type", "parley");
    jw_kstrz(w, "version", PARLEY_VERSION);
    jw_end_obj(w);
    jw_kraw(w, "transport", STR("{\"streaming\":true}"));
    write_tools(w, q, page);
    jw_kraw(w, "state", STR("{\"snapshots\":false,\"deltas\":false}"));
    jw_kraw(w, "reasoning", STR("{\"supported\":true,\"streaming\":true,\"encrypted\":false}"));
    jw_kraw(w, "multimodal", STR("{\"input\":{\"image\":true}}"));
    jw_key(w, "execution");
    jw_obj(w);
    jw_kint(w, "maxIterations", hub_setup(app_of(conn_server(q->conn))->hub)->max_iterations);
    jw_end_obj(w);
    jw_key(w, "humanInTheLoop");
    jw_obj(w);
    jw_kbool(w, "supported", true);
    jw_kbool(w, "approvals", true);
    jw_kbool(w, "interrupts", true);
    jw_kbool(w, "approveWithEdits", has_edits(q, page));
    jw_end_obj(w);
}

void door_agui_info(struct server *s, struct request *q)
{
    const struct app       *a = app_of(s);
    const struct hub_setup *setup = hub_setup(a->hub);
    struct buf              b;
    struct jsonw            w;
    json_reply_begin(&b, &w);
    jw_kstrz(&w, "version", PARLEY_VERSION);
    jw_kstrz(&w, "mode", "sse");
    jw_key(&w, "agents");
    jw_obj(&w);
    for (size_t i = 0; i < setup->page_count; i++) {
        const struct hub_page *page = page_for(q, setup->pages[i].name);
        if (!page) continue;
        jw_key_str(&w, page->name);
        jw_obj(&w);
        jw_kstr(&w, "name", page->name);
        jw_kstrz(&w, "className", "parley");
        jw_kstr(&w, "description", a->look.name.len ? a->look.name : STR("parley"));
        jw_key(&w, "capabilities");
        jw_obj(&w);
        write_capabilities(&w, q, page);
        jw_end_obj(&w);
        jw_end_obj(&w);
    }
    jw_end_obj(&w);
    jw_kbool(&w, "audioFileTranscriptionEnabled", false);
    json_reply_end(q->conn, 200, &b, &w);
}

void door_agui_capabilities(struct server *s, struct request *q)
{
    const struct hub_page *page = page_for(q, request_query(q, "page"));
    struct buf             b;
    struct jsonw           w;
    if (!page) {
        conn_error(q->conn, 422, "unknown_page", "There is no page of this name.");
        return;
    }
    json_reply_begin(&b, &w);
    write_capabilities(&w, q, page);
    json_reply_end(q->conn, 200, &b, &w);
}

/* --- stop ------------------------------------------------------------------------------------- */

static void not_stopped(struct conn *c, const char *message)
{
    struct buf   b;
    struct jsonw w;
    json_reply_begin(&b, &w);
    jw_kbool(&w, "stopped", false);
    jw_kstrz(&w, "message", message);
    json_reply_end(c, 200, &b, &w);
}

static void on_stopped(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf   b;
    struct jsonw w;
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    reply_place(k->conn, a);
    if (!a->run.len) {
        not_stopped(k->conn, "Nothing is under way.");
        return;
    }
    json_reply_begin(&b, &w);
    jw_kbool(&w, "stopped", true);
    jw_kstr(&w, "run_id", a->run);
    json_reply_end(k->conn, 200, &b, &w);
}

static void submit_stop(struct ask *k, const struct command *c)
{
    struct request *q = conn_request(k->conn);
    struct command *stop = command_for(q, CMD_STOP, "ag-ui");
    struct ask     *again = stop ? ask_new(conn_server(k->conn), q, on_stopped) : NULL;
    if (!again) {
        command_free(stop);
        return;
    }
    stop->log.thread = arena_dup(&stop->arena, c->log.thread);
    ask_submit(again, stop);
}

/* With a runId only when that segment is of the run under way: a late click must not stop the next
 * answer. */
static void on_found(struct ask *k, struct command *c, const struct receipt *a)
{
    struct agui_request q = { .thread = c->log.thread };
    struct refusal      why;
    const struct run   *r = a->status < 400 ? thread_fold(a->thread)->run : NULL;
    if (a->status >= 500) reply_error(k->conn, a);
    else if (a->status >= 400) not_stopped(k->conn, "There is no such conversation.");
    else if (!run_live(r)) not_stopped(k->conn, "Nothing is under way.");
    else if (!agui_stop(c, conn_request(k->conn)->body, &q, &why)) refusal_error(k->conn, &why);
    else if (q.run.len && !agui_segment(thread_fold(a->thread), r, &q))
        not_stopped(k->conn, "That run is not the one under way.");
    else submit_stop(k, c);
}

void door_agui_stop(struct server *s, struct request *q)
{
    struct refusal      why;
    struct agui_request said;
    struct command     *c = command_for(q, CMD_FOLLOW, "ag-ui");
    if (!c) return;
    c->log.thread = arena_dup(&c->arena, q->param[1]);
    if (!agui_stop(c, q->body, &said, &why)) {
        refusal_error(q->conn, &why);
        command_free(c);
        return;
    }
    if (!id_valid(q->param[1], 128)) {
        not_stopped(q->conn, "There is no such conversation.");
        command_free(c);
        return;
    }
    struct ask *k = ask_new(s, q, on_found);
    if (k) ask_submit(k, c);
    else command_free(c);
}
