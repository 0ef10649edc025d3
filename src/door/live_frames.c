/* live_frames.c -- what goes down a socket of /live: the chunks of the AI SDK stream (adk form;
 * ?approval=native for the other), in one of two framings chosen by subprotocol; beside them bare
 * control frames: hello, ack, error, pong, data-approval.
 */
#include "dialect/payload.h"
#include "door/live_int.h"

/* --- chunks ----------------------------------------------------------------------------------- */

static void frame_begin(struct encoder *e, bool with_id)
{
    struct live *l = e->ctx;
    (void)with_id;
    if (l->frames == FRAMES_SSE) buf_lit(e->out, "data: ");
    else
        buf_printf(e->out, "{\"id\":\"%llu.%llu\",\"event\":", (unsigned long long)e->seq,
                   (unsigned long long)e->units);
}

static void frame_end(struct encoder *e)
{
    buf_lit(e->out, ((struct live *)e->ctx)->frames == FRAMES_SSE ? "\n\n" : "}");
}

static void frame_raw(struct encoder *e, struct str text)
{
    struct live *l = e->ctx;
    if (l->frames == FRAMES_JSON) buf_lit(e->out, "{\"done\":true}");
    else {
        buf_lit(e->out, "data: ");
        buf_str(e->out, text);
        buf_lit(e->out, "\n\n");
    }
}

static void frame_put(struct encoder *e, struct buf *out, struct str piece, bool first, bool last)
{
    ws_frame_part(&((struct live *)e->ctx)->source, out, piece, first, last);
}

const struct carrier live_carrier = {
    .need = 2048,
    .around = 512,
    .head = WS_FRAME_HEAD,
    .begin = frame_begin,
    .end = frame_end,
    .raw = frame_raw,
    .put = frame_put,
};

/* --- control frames: bare JSON in both framings ----------------------------------------------- */

static void control_begin(struct buf *b, struct jsonw *w, const char *type)
{
    buf_init(b, 0);
    jsonw_init(w, b);
    jw_obj(w);
    jw_kstrz(w, "type", type);
}

static void control_send(struct live *l, struct buf *b, struct jsonw *w)
{
    jw_end_obj(w);
    if (l->conn && !b->err) conn_ws_send(l->conn, buf_view(b));
    buf_done(b);
}

void live_send_error(struct live *l, const char *code, const char *message, struct str for_id)
{
    struct buf   b;
    struct jsonw w;
    control_begin(&b, &w, "error");
    jw_kstrz(&w, "code", code);
    jw_kstrz(&w, "message", message);
    if (for_id.len) jw_kstr(&w, "for", for_id);
    control_send(l, &b, &w);
}

void live_refuse_message(struct live *l, const char *code, const char *message, struct str for_id)
{
    struct buf   b;
    struct jsonw w;
    live_send_error(l, code, message, for_id);
    if (!l->conn || l->frames != FRAMES_SSE) return;
    buf_init(&b, 0);
    buf_lit(&b, "data: ");
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstrz(&w, "type", "error");
    jw_kstrz(&w, "errorText", message);
    jw_end_obj(&w);
    buf_lit(&b, "\n\n");
    if (!b.err) conn_ws_send(l->conn, buf_view(&b));
    conn_ws_send(l->conn, STR("data: [DONE]\n\n"));
    buf_done(&b);
}

void live_send_ack(struct live *l, struct str for_id, const char *status, bool duplicate)
{
    struct buf   b;
    struct jsonw w;
    control_begin(&b, &w, "ack");
    jw_kstr(&w, "for", for_id);
    jw_kstrz(&w, "status", status);
    jw_kbool(&w, "duplicate", duplicate);
    control_send(l, &b, &w);
}

void live_send_pong(struct live *l, struct str timestamp)
{
    struct buf   b;
    struct jsonw w;
    control_begin(&b, &w, "pong");
    jw_kraw(&w, "timestamp", timestamp);
    control_send(l, &b, &w);
}

static void write_lists(struct jsonw *w, const struct fold *f)
{
    const struct run *r = f && run_live(f->run) ? f->run : NULL;
    jw_key(w, "pending");
    jw_arr(w);
    for (size_t i = 0; r && i < r->call_count; i++) {
        const struct fact *gate = call_gate(r->calls[i]);
        if (!gate) continue;
        jw_obj(w);
        payload_gate(w, "id", f, r->calls[i], gate);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    jw_key(w, "offered");
    jw_arr(w);
    for (size_t i = 0; r && i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (!c->client || c->state != CALL_STARTED) continue;
        jw_obj(w);
        jw_kstr(w, "tool_use_id", c->id);
        jw_kstr(w, "tool", c->tool);
        payload_input(w, "input", c);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

void live_send_hello(struct live *l, uint64_t after)
{
    struct buf   b;
    struct jsonw w;
    char         place[32];
    control_begin(&b, &w, "hello");
    jw_kstrz(&w, "protocol", l->frames == FRAMES_JSON ? "parley.json.v1" : "parley.sse.v1");
    jw_kstr(&w, "thread", l->thread);
    snprintf(place, sizeof place, "%llu.0", (unsigned long long)after);
    jw_kstrz(&w, "after", place);
    write_lists(&w, l->follower.thread ? thread_fold(l->follower.thread) : NULL);
    control_send(l, &b, &w);
}

void live_send_decisions(struct live *l)
{
    const struct thread *t = l->follower.thread;
    const struct fold   *f = thread_fold(t);
    for (; l->approvals_seq < thread_committed(t); l->approvals_seq++) {
        const struct fact *x = f->facts[l->approvals_seq];
        struct buf         b;
        struct jsonw       w;
        if (x->kind != FACT_DECIDED && x->kind != FACT_SETTLED) continue;
        control_begin(&b, &w, "data-approval");
        jw_kstr(&w, "id", x->id.len ? x->id : x->call);
        jw_key(&w, "data");
        jw_obj(&w);
        jw_kstrz(&w, "status", word_name(x->outcome));
        jw_key(&w, "decided_by");
        jw_str_or_null(&w, x->by.len ? x->by : STR_NONE);
        jw_end_obj(&w);
        control_send(l, &b, &w);
    }
}
