/* deadline.c -- one timer for the deadlines of all connections.
 *
 * A wheel of slots, one tick each. Every open connection is in exactly one slot,
 * so the wheel is also the list of all connections. It is looked at when the
 * wheel gets there: what is due is done, else it moves on to where its nearest
 * deadline lies (or once around). A deadline that moves away therefore costs
 * nothing; only one that comes nearer moves the connection (deadline_update).
 * Ticks are coarse: a deadline is kept within one tick after it is due. The
 * timer sleeps while there are no connections.
 */
#include "http/conn_int.h"

#define NEVER UINT64_MAX

static uint64_t ticks_now(const struct server *s)
{
    return (uv_now(&s->loop->uv) - s->began_ms) / s->tick_ms;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t state_deadline(const struct conn *c)
{
    const struct net_limits *l = &c->server->limits;

    switch ((enum conn_state)c->state) {
    case CONN_IDLE: return c->since_ms + (c->secure && !c->shaken ? l->head_ms : l->idle_ms);
    case CONN_HEAD: return c->since_ms + l->head_ms;
    case CONN_BODY: return c->since_ms + l->body_ms;
    case CONN_STREAM: return c->heartbeat_ms ? c->sent_ms + c->heartbeat_ms : NEVER;
    case CONN_WS: return wsconn_deadline(c);
    case CONN_LINGER: return c->since_ms + LINGER_MS;
    case CONN_HANDLING:
    case CONN_ANSWERED:
    case CONN_CARRIER:
    case CONN_CLOSED: return NEVER;
    }
    must(!"state");
    return NEVER;
}

/* See conn_until. A request that is being answered is never cut short: it was asked in time. */
static bool may_end(const struct conn *c)
{
    return c->until_ms && (c->state == CONN_STREAM || c->state == CONN_WS);
}

/* Bytes wait for the peer to take them. */
static bool waits(const struct conn *c)
{
    return c->stream ? h2_waits(c) : c->blocked != NULL;
}

/* A blocked socket is looked at four times per write_ms, because libuv does not
 * tell when a part of the queue went. */
static uint64_t deadline_of(const struct conn *c)
{
    uint64_t d = state_deadline(c);
    if (may_end(c)) d = min_u64(d, c->until_ms);
    if (c->h2) d = min_u64(d, h2_deadline(c));
    if (waits(c)) d = min_u64(d, uv_now(&c->server->loop->uv) + c->server->limits.write_ms / 4);
    return d;
}

static bool peer_stuck(struct conn *c, uint64_t now)
{
    if (c->stream) return h2_stuck(c, now);
    size_t queued = uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp);

    if (queued < c->blocked->seen) {
        c->blocked->seen = queued;
        c->sent_ms = now;
    }
    return now - c->sent_ms >= c->server->limits.write_ms;
}

static void heartbeat(struct conn *c)
{
    static const char text[] = ": keep-alive\n\n";
    if (waits(c)) return;
    if (c->chunked) buf_printf(&c->out, "%04zx\r\n%s\r\n", sizeof text - 1, text);
    else buf_lit(&c->out, text);
    conn_mark(c);
}

static void check_state(struct conn *c, uint64_t now)
{
    if (now < state_deadline(c)) return;
    switch ((enum conn_state)c->state) {
    case CONN_HEAD:
    case CONN_BODY:
        conn_refuse(c, 408, "request_timeout", "The request did not come in time.");
        return;
    case CONN_STREAM: heartbeat(c); return;
    case CONN_WS: wsconn_check(c, now); return;
    case CONN_IDLE:
        if (out_clear(c) || (c->secure && !c->shaken)) conn_kill(c);
        return;
    case CONN_LINGER: conn_kill(c); return;
    case CONN_HANDLING:
    case CONN_ANSWERED:
    case CONN_CARRIER:
    case CONN_CLOSED: return;
    }
}

static void check(struct conn *c)
{
    uint64_t now = conn_now(c);

    if ((waits(c) && peer_stuck(c, now)) || (c->h2 && now >= h2_deadline(c))) {
        conn_kill(c);
        return;
    }
    if (may_end(c) && now >= c->until_ms) {
        c->until_ms = 0;
        if (c->state == CONN_STREAM) {
            conn_kill(c);
            return;
        }
        wsconn_close(c, WS_UNAUTHORIZED, STR("signed out"));
    }
    check_state(c, now);
}

static void place(struct conn *c)
{
    struct server *s = c->server;
    uint64_t       d = deadline_of(c), now = uv_now(&s->loop->uv);
    uint64_t       ahead = d <= now ? 1 : d == NEVER ? WHEEL_SLOTS - 1 : (d - now) / s->tick_ms + 1;

    c->due = (uint32_t)(s->tick + min_u64(ahead, WHEEL_SLOTS - 1));
    list_remove(&c->wheel);
    list_add(&s->slots[c->due % WHEEL_SLOTS], &c->wheel);
}

static void run_slot(struct server *s)
{
    struct list *slot = &s->slots[s->tick % WHEEL_SLOTS];

    while (!list_empty(slot)) {
        struct conn *c = LIST_ITEM(slot->next, struct conn, wheel);
        place(c); /* first: the check may end it; and never back into this slot */
        check(c);
        if (c->state != CONN_CLOSED) deadline_update(c);
    }
}

static void on_tick(uv_timer_t *t)
{
    struct server *s = t->data;
    uint64_t       until = ticks_now(s);

    /* After a long stall (a stopped process) once around finds everybody. */
    if (until - s->tick > WHEEL_SLOTS) s->tick = until - WHEEL_SLOTS;
    while (s->tick < until) {
        s->tick++;
        run_slot(s);
    }
    if (s->connections == 0) uv_timer_stop(t);
}

void deadline_init(struct server *s)
{
    const struct net_limits *l = &s->limits;
    unsigned least[] = { l->head_ms, l->body_ms, l->idle_ms, l->write_ms / 2, l->ping_ms };

    s->tick_ms = WHEEL_TICK_MS;
    for (size_t i = 0; i < sizeof least / sizeof *least; i++)
        s->tick_ms = min_u64(s->tick_ms, least[i] / 4);
    if (s->tick_ms == 0) s->tick_ms = 1;
    s->began_ms = uv_now(&s->loop->uv);
    for (size_t i = 0; i < WHEEL_SLOTS; i++) list_init(&s->slots[i]);
    must(uv_timer_init(&s->loop->uv, &s->timer) == 0);
    s->timer.data = s;
}

void deadline_add(struct conn *c)
{
    struct server *s = c->server;

    if (!uv_is_active((uv_handle_t *)&s->timer)) {
        s->tick = ticks_now(s);
        must(uv_timer_start(&s->timer, on_tick, s->tick_ms, s->tick_ms) == 0);
    }
    place(c);
}

void deadline_update(struct conn *c)
{
    struct server *s = c->server;
    uint64_t       d = deadline_of(c), now = uv_now(&s->loop->uv);

    if (d == NEVER) return;
    if (s->tick + (d <= now ? 1 : (d - now) / s->tick_ms + 1) < c->due) place(c);
}

void deadline_remove(struct conn *c)
{
    list_remove(&c->wheel);
}
