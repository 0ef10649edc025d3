/* notify.c -- see notify.h. */
#include "run/notify.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "run/rules.h"
#include "run/sight.h"
#include "tool/egress.h"

#define ATTEMPT_S    60
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 600000
#define GIVE_UP_MS   86400000LL
#define ANSWER_MAX   (1L << 20) /* of what a receiver says beside its status */
#define LEADER_MS    2000       /* how often is looked who sends, where there are several nodes */

struct target;
struct letter {
    struct curl_job     transfer;
    struct egress_check check;
    struct target      *target;
    struct curl_slist  *headers;
    struct arena        arena;
    struct str          place, before, kind, about; /* before: the place of the one before it */
    struct buf          body;                       /* of this attempt */
    int64_t             at_ms, next_ms;
    unsigned            tries;
    size_t              heard; /* of this attempt's answer */
    bool                sending, looking, done;
    struct store_list   list; /* is it still waiting, what does it say now? */
};

struct target {
    struct notify              *of;
    const struct notify_target *how;
    unsigned                    nth; /* of the entries with its url, from 1 */
    struct egress               egress;
    struct arena                arena;
    struct str                  host, url; /* with a NUL behind it */
    struct watcher              watcher;
    struct loop_timer           timer;
    struct store_list           list;
    struct store_session        place_of; /* its place, kept as a row by key */
    char                        key[80], place[48], saved[48], after[48]; /* after: being read */
    bool                        known, reading, saving, again;
    struct letter              *window[NOTIFY_WINDOW]; /* in their order */
    unsigned                    count;
};

struct notify {
    struct notify_setup setup;
    struct target      *targets;
    struct loop_timer   leader;
    struct store_list   nodes;
    char                head[48]; /* the place behind all that was there when we started */
    bool                headed, leads, stopped, looking;
    unsigned            open; /* timers, while it is freed */
};

/* --- signing ---------------------------------------------------------------------------------- */

static bool base64_decode(struct str s, unsigned char *out, size_t *len)
{
    int n = s.len % 4 || s.len > 512
                ? -1
                : EVP_DecodeBlock(out, (const unsigned char *)s.ptr, (int)s.len);
    if (n < 0) return false;
    *len = (size_t)n;
    for (size_t i = s.len; i-- > 0 && s.ptr[i] == '=';) --*len;
    return true;
}

/* The signature of a message; `out` ends in NUL. */
#define SIGNATURE 64
static bool sign(struct str secret, struct str id, int64_t at_s, struct str body,
                 char out[SIGNATURE])
{
    unsigned char key[400], mac[32];
    size_t        key_len = 0;
    unsigned      mac_len = sizeof mac;
    struct buf    text;
    struct str    prefix = STR("whsec_");
    bool          coded =
        str_starts(secret, prefix) && base64_decode(str_from(secret, prefix.len), key, &key_len);
    buf_init(&text, 0);
    buf_printf(&text, STR_FMT ".%lld.", STR_ARG(id), (long long)at_s);
    buf_str(&text, body);
    bool ok = !text.err && HMAC(EVP_sha256(), coded ? (const void *)key : secret.ptr,
                                (int)(coded ? key_len : secret.len),
                                (const unsigned char *)text.ptr, text.len, mac, &mac_len);
    buf_done(&text);
    memcpy(out, "v1,", 3);
    if (ok) EVP_EncodeBlock((unsigned char *)out + 3, mac, sizeof mac);
    return ok;
}

/* --- one message ------------------------------------------------------------------------------ */

static void advance(struct target *t);

static void letter_free(struct letter *l)
{
    if (l->transfer.easy) curl_easy_cleanup(l->transfer.easy);
    curl_slist_free_all(l->headers);
    buf_done(&l->body);
    arena_done(&l->arena);
    mem_free(l);
}

static void settle(struct letter *l)
{
    l->done = true;
    advance(l->target);
}

/* 1 s, 2 s, 4 s ... ten minutes; a little apart, so that many do not come together. */
static void put_off(struct letter *l, const char *why)
{
    int64_t now = clock_wall_ms(), pause = PAUSE_MIN_MS;
    for (unsigned i = 0; i < l->tries && pause < PAUSE_MAX_MS; i++) pause *= 2;
    if (pause > PAUSE_MAX_MS) pause = PAUSE_MAX_MS;
    l->tries++;
    l->next_ms = now + pause + (int64_t)(clock_mono_ns() % 1000);
    if (now - l->at_ms - (int64_t)l->target->how->after_s * 1000 > GIVE_UP_MS) {
        log_line(LOG_ERROR, "notify.given_up", "host", log_str(l->target->host), "id",
                 log_str(l->place), "why", why, NULL);
        l->done = true;
    } else if (l->tries == 1)
        log_line(LOG_WARN, "notify.failed", "host", log_str(l->target->host), "id",
                 log_str(l->place), "why", why, NULL);
    advance(l->target);
}

static void on_sent(struct curl_job *j, CURLcode code)
{
    struct letter *l = LIST_ITEM(j, struct letter, transfer);
    long           status = 0;
    char           why[48];
    curl_easy_getinfo(j->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(j->easy);
    curl_slist_free_all(l->headers);
    j->easy = NULL;
    l->headers = NULL;
    l->sending = false;
    buf_clear(&l->body);
    if (l->target->of->stopped) return;
    if (code == CURLE_OK && status >= 200 && status < 300) {
        settle(l);
        return;
    }
    snprintf(why, sizeof why, code == CURLE_OK ? "status %ld" : "no answer", status);
    put_off(l, l->check.refused ? "a private address that is not allowed" : why);
}

/* One without end, or without a length that could be judged, is cut off. */
static size_t drop_answer(char *data, size_t one, size_t n, void *ctx)
{
    struct letter *l = ctx;
    (void)data;
    l->heard += one * n;
    return l->heard > ANSWER_MAX ? 0 : one * n;
}

static bool add_header(struct letter *l, const char *name, const char *value)
{
    char               line[256];
    struct curl_slist *more;
    snprintf(line, sizeof line, "%s: %s", name, value);
    if (!(more = curl_slist_append(l->headers, line))) return false;
    l->headers = more;
    return true;
}

/* What the first entry with a url sends is named by its place alone, as it always was. */
static bool make_headers(struct letter *l)
{
    char     id[80], at[24], signature[SIGNATURE];
    unsigned nth = l->target->nth;
    int64_t  now_s = clock_wall_ms() / 1000;
    int      n = snprintf(id, sizeof id, "evt_" STR_FMT, STR_ARG(l->place));
    if (nth > 1) snprintf(id + n, sizeof id - (size_t)n, ".%u", nth);
    snprintf(at, sizeof at, "%lld", (long long)now_s);
    return sign(l->target->how->secret, str_c(id), now_s, buf_view(&l->body), signature) &&
           add_header(l, "Content-Type", "application/json") && add_header(l, "Expect", "") &&
           add_header(l, "webhook-id", id) && add_header(l, "webhook-timestamp", at) &&
           add_header(l, "webhook-signature", signature);
}

static void post(struct letter *l)
{
    struct target *t = l->target;
    CURL          *easy = curl_easy_new(false);
    if (!easy || !make_headers(l)) {
        if (easy) curl_easy_cleanup(easy);
        put_off(l, "out of memory");
        return;
    }
    l->check = (struct egress_check){ .egress = &t->egress, .host = t->host };
    egress_guard(easy, &l->check);
    curl_easy_setopt(easy, CURLOPT_URL, t->url.ptr);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, l->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, l->body.ptr);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)l->body.len);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop_answer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, l);
    curl_easy_setopt(easy, CURLOPT_MAXFILESIZE, ANSWER_MAX);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)ATTEMPT_S);
    l->transfer = (struct curl_job){ .easy = easy, .done = on_sent };
    l->heard = 0;
    l->sending = true;
    curl_start(t->of->setup.pool, &l->transfer);
}

/* --- which concern a target ------------------------------------------------------------------- */

static bool concerns(const struct notify_target *how, const struct store_row *row,
                     const struct jv *body)
{
    const struct jv *who = jv_get(body, "who"), *from = jv_get(who, "from");
    if (how->events && !jv_lists(how->events, row->event.kind)) return false;
    if (!how->roles) return true;
    if (!who) return jv_lists(how->roles, STR("owner"));
    if (jv_lists(how->roles, jv_str_at(from, "role"))) return true;
    JV_EACH (role, how->roles) /* of a later step: from the moment that they are asked */
        if (rules_shows(who, &(struct voter){ .roles = jv_str(role) }, row->created_ms))
            return true;
    return false;
}

static void write_body(struct buf *b, const struct hub *h, const struct store_row *row)
{
    char         time[CLOCK_RFC3339_LEN + 1], type[40];
    struct jsonw w;
    struct buf   approval;
    clock_rfc3339(row->created_ms, time);
    snprintf(type, sizeof type, "approval." STR_FMT, STR_ARG(str_cut(row->event.kind, 20)));
    buf_init(&approval, 0);
    sight_row(&approval, h, row->owner, STR_NONE, row->event.body);
    jsonw_init(&w, b);
    jw_obj(&w);
    jw_kstrz(&w, "type", type);
    jw_kstrz(&w, "timestamp", time);
    jw_key(&w, "data");
    jw_obj(&w);
    jw_kstr(&w, "event", row->event.kind);
    jw_kstrz(&w, "at", time);
    jw_kstr(&w, "owner", row->owner);
    jw_key(&w, "approval");
    jw_raw(&w, buf_view(&approval));
    jw_end_obj(&w);
    jw_end_obj(&w);
    if (approval.err) b->err = approval.err;
    buf_done(&approval);
}

/* `before`: the place behind which it is the first. */
static struct letter *letter_new(struct target *t, const struct store_row *row, struct str before)
{
    struct letter *l = mem_alloc(sizeof *l);
    struct jv     *body = NULL;
    if (!l) return NULL;
    arena_init(&l->arena, 0);
    buf_init(&l->body, 0);
    l->target = t;
    l->place = arena_dup(&l->arena, row->place);
    l->before = before.len ? arena_dup(&l->arena, before) : STR_NONE;
    l->kind = arena_dup(&l->arena, row->event.kind);
    l->about = arena_dup(&l->arena, row->event.id);
    l->at_ms = row->created_ms;
    l->next_ms = row->created_ms + (int64_t)t->how->after_s * 1000;
    if (json_parse_own(&l->arena, row->event.body, &body) != OK) body = NULL;
    l->done = !concerns(t->how, row, body);
    if (!l->arena.failed && l->place.ptr) return l;
    letter_free(l);
    return NULL;
}

/* --- one attempt ------------------------------------------------------------------------------ */

/* Nothing of it is kept between attempts: what was erased meanwhile, or lost words, is not sent as
 * it was. */
static void on_event(struct store_list *k, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct letter *l = LIST_ITEM(k, struct letter, list);
    (void)next;
    l->looking = false;
    if (l->target->of->stopped) return;
    if (e) {
        put_off(l, "the store cannot be read");
        return;
    }
    if (!count || !str_eq(rows[0].place, l->place)) {
        settle(l);
        return;
    }
    buf_clear(&l->body);
    write_body(&l->body, l->target->of->setup.hub, &rows[0]);
    if (l->body.err) put_off(l, "out of memory");
    else post(l);
}

static void read_event(struct letter *l)
{
    l->looking = true;
    l->list = (struct store_list){
        .kind = STORE_EVENTS, .everybody = true, .before = l->before, .limit = 1, .done = on_event
    };
    store_list(l->target->of->setup.store, &l->list);
}

static void on_status(struct store_list *k, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct letter *l = LIST_ITEM(k, struct letter, list);
    (void)next;
    l->looking = false;
    if (l->target->of->stopped) return;
    if (e) put_off(l, "the store cannot be read");
    else if (!count || !str_is(rows[0].approval.status, "pending")) settle(l);
    else read_event(l);
}

/* What was to wait is told only if it is still so. */
static void deliver(struct letter *l)
{
    if (!l->target->how->after_s || !str_is(l->kind, "asked")) {
        read_event(l);
        return;
    }
    l->looking = true;
    l->list = (struct store_list){
        .kind = STORE_APPROVALS, .everybody = true, .id = l->about, .limit = 1, .done = on_status
    };
    store_list(l->target->of->setup.store, &l->list);
}

/* --- a target's place ------------------------------------------------------------------------- */

static void read_on(struct target *t);

static void on_saved(struct store_session *x, enum err e)
{
    struct target *t = LIST_ITEM(x, struct target, place_of);
    (void)e; /* then some are sent twice after a restart */
    t->saving = false;
    if (!t->of->stopped) advance(t);
}

static void save(struct target *t)
{
    if (t->saving || strcmp(t->place, t->saved) == 0) return;
    t->saving = true;
    memcpy(t->saved, t->place, sizeof t->saved);
    t->place_of = (struct store_session){ .op = SESSION_PUT,
                                          .key = str_c(t->key),
                                          .body = str_c(t->saved),
                                          .ends_ms = INT64_MAX / 2,
                                          .done = on_saved };
    store_session(t->of->setup.store, &t->place_of);
}

static void keep_place(char to[48], struct str place)
{
    if (!place.ptr || place.len >= 48) return;
    memcpy(to, place.ptr, place.len);
    to[place.len] = '\0';
}

/* What is through leaves the window in order; what is due is sent; then more is read. */
static void advance(struct target *t)
{
    int64_t now = clock_wall_ms(), soonest = INT64_MAX;
    while (t->count && t->window[0]->done) {
        keep_place(t->place, t->window[0]->place);
        letter_free(t->window[0]);
        memmove(t->window, t->window + 1, (--t->count) * sizeof *t->window);
        t->again = true;
    }
    save(t);
    for (unsigned i = 0; i < t->count; i++) {
        struct letter *l = t->window[i];
        if (l->done || l->sending || l->looking) continue;
        if (l->next_ms <= now) deliver(l);
        else if (l->next_ms < soonest) soonest = l->next_ms;
    }
    if (soonest != INT64_MAX) loop_timer_set(&t->timer, (uint64_t)(soonest - now));
    if (t->again && t->count < NOTIFY_WINDOW) read_on(t);
}

static void on_events(struct store_list *k, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct target *t = LIST_ITEM(k, struct target, list);
    t->reading = false;
    (void)next;
    if (t->of->stopped) return;
    for (size_t i = 0; !e && i < count && t->count < NOTIFY_WINDOW; i++) {
        struct letter *l = letter_new(t, &rows[i], i ? rows[i - 1].place : str_c(t->after));
        if (!l) {
            e = ERR_NOMEM;
            break;
        }
        t->window[t->count++] = l;
    }
    if (e) loop_timer_set(&t->timer, PAUSE_MIN_MS);
    if (e || count) t->again = true; /* never unset here: somebody may have woken us meanwhile */
    if (!e) advance(t);
}

static void read_on(struct target *t)
{
    if (t->reading || t->of->stopped || !t->known || !t->of->leads) return;
    t->again = false;
    t->reading = true;
    memcpy(t->after, t->place, sizeof t->after);
    if (t->count) keep_place(t->after, t->window[t->count - 1]->place);
    t->list = (struct store_list){ .kind = STORE_EVENTS,
                                   .everybody = true,
                                   .before = t->after[0] ? str_c(t->after) : STR_NONE,
                                   .limit = NOTIFY_WINDOW - t->count,
                                   .done = on_events };
    store_list(t->of->setup.store, &t->list);
}

static void wake(struct watcher *w)
{
    struct target *t = LIST_ITEM(w, struct target, watcher);
    t->again = true;
    if (t->count < NOTIFY_WINDOW) read_on(t);
}

/* An address that is new begins with what came after our start. An error says nothing of whether it
 * is: it is asked again. */
static void on_place(struct store_session *x, enum err e)
{
    struct target *t = LIST_ITEM(x, struct target, place_of);
    t->saving = false;
    if (t->of->stopped) return;
    if (e && e != ERR_NOT_FOUND) {
        log_line(LOG_WARN, "notify.waits", "host", log_str(t->host), "why",
                 "the store cannot be read", NULL);
        loop_timer_set(&t->timer, PAUSE_MIN_MS);
        return;
    }
    keep_place(t->place, e ? str_c(t->of->head) : x->body);
    if (!e) memcpy(t->saved, t->place, sizeof t->saved);
    t->known = true;
    t->again = true;
    advance(t);
}

static void learn_place(struct target *t)
{
    t->saving = true;
    t->place_of =
        (struct store_session){ .op = SESSION_GET, .key = str_c(t->key), .done = on_place };
    store_session(t->of->setup.store, &t->place_of);
}

static void on_timer(struct loop_timer *timer)
{
    struct target *t = LIST_ITEM(timer, struct target, timer);
    if (t->of->stopped || !t->of->leads) return;
    if (t->known) advance(t);
    else learn_place(t);
}

/* --- who sends -------------------------------------------------------------------------------- */

static void lead(struct notify *n, bool leads)
{
    bool begins = leads && !n->leads;
    n->leads = leads;
    for (size_t i = 0; begins && i < n->setup.count; i++)
        if (!n->targets[i].saving && !n->targets[i].reading) learn_place(&n->targets[i]);
}

static void on_nodes(struct store_list *k, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct notify *n = LIST_ITEM(k, struct notify, nodes);
    struct str     me = store_node(n->setup.store);
    bool           smallest = !e;
    (void)next;
    n->looking = false;
    if (n->stopped) return;
    for (size_t i = 0; i < count; i++)
        if (rows[i].lease_ms > 0 && str_cmp(rows[i].node, me) < 0) smallest = false;
    lead(n, smallest);
    loop_timer_set(&n->leader, LEADER_MS);
}

static void look_at_nodes(struct notify *n)
{
    n->looking = true;
    n->nodes = (struct store_list){ .kind = STORE_NODES, .everybody = true, .done = on_nodes };
    store_list(n->setup.store, &n->nodes);
}

static void on_head(struct store_list *k, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct notify *n = LIST_ITEM(k, struct notify, nodes);
    (void)rows;
    (void)count;
    n->looking = false;
    if (n->stopped) return;
    if (e) {
        loop_timer_set(&n->leader, PAUSE_MIN_MS);
        return;
    }
    keep_place(n->head, next);
    n->headed = true;
    if (store_shared(n->setup.store)) look_at_nodes(n);
    else lead(n, true);
}

static void look_at_head(struct notify *n)
{
    n->looking = true;
    n->nodes = (struct store_list){ .kind = STORE_EVENT_HEAD, .everybody = true, .done = on_head };
    store_list(n->setup.store, &n->nodes);
}

static void on_leader(struct loop_timer *timer)
{
    struct notify *n = LIST_ITEM(timer, struct notify, leader);
    if (n->stopped || n->looking) return;
    if (n->headed) look_at_nodes(n);
    else look_at_head(n);
}

/* --- life ------------------------------------------------------------------------------------- */

/* The first entry with a url has the key that it had when there could be no other. */
static bool make_key(struct target *t)
{
    unsigned char hash[32];
    struct buf    of;
    buf_init(&of, 0);
    buf_str(&of, t->how->url);
    if (t->nth > 1) buf_printf(&of, " %u", t->nth);
    bool ok = !of.err && EVP_Digest(of.ptr, of.len, hash, NULL, EVP_sha256(), NULL) == 1;
    buf_done(&of);
    /* a place in a file's events is none in a database's */
    memcpy(t->key, store_shared(t->of->setup.store) ? "notify/" : "notify:", 7);
    for (int i = 0; ok && i < 32; i++) snprintf(t->key + 7 + 2 * i, 3, "%02x", hash[i]);
    return ok;
}

static bool target_init(struct notify *n, struct target *t, const struct notify_target *how)
{
    struct buf why;
    *t = (struct target){ .of = n, .how = how, .nth = 1, .watcher.wake = wake };
    for (const struct target *other = n->targets; other < t; other++)
        t->nth += str_eq(other->how->url, how->url);
    arena_init(&t->arena, 0);
    buf_init(&why, 1024);
    bool ok = egress_read(&t->arena, &t->egress, how->allow, &why) == OK;
    buf_done(&why);
    t->host = egress_host(&t->arena, how->url);
    t->url = arena_dup(&t->arena, how->url);
    ok &= t->host.ptr && t->url.ptr && make_key(t);
    loop_timer_init(n->setup.loop, &t->timer, on_timer);
    n->open++;
    return ok;
}

/* An answer that is an error ends it too: then the timers go on. */
static bool is_beginning(const struct notify *n)
{
    bool busy = n->looking;
    for (size_t i = 0; i < n->setup.count; i++) busy |= n->targets[i].saving;
    return busy;
}

struct notify *notify_new(const struct notify_setup *s)
{
    struct notify *n = mem_alloc(sizeof *n);
    bool           ok = n != NULL;
    if (!n) return NULL;
    n->setup = *s;
    loop_timer_init(s->loop, &n->leader, on_leader);
    n->open = 1;
    n->targets = mem_alloc((s->count + 1) * sizeof *n->targets);
    for (size_t i = 0; n->targets && i < s->count; i++)
        ok &= target_init(n, &n->targets[i], &s->targets[i]);
    if (!n->targets || !ok) {
        n->stopped = true;
        notify_free(n);
        return NULL;
    }
    for (size_t i = 0; i < s->count; i++) tidings_watch(s->tidings, &n->targets[i].watcher);
    if (s->count) look_at_head(n);
    while (is_beginning(n)) uv_run(&s->loop->uv, UV_RUN_ONCE);
    return n;
}

void notify_stop(struct notify *n)
{
    if (!n || n->stopped) return;
    n->stopped = true;
    loop_timer_stop(&n->leader);
    for (size_t i = 0; i < n->setup.count; i++) {
        struct target *t = &n->targets[i];
        tidings_unwatch(&t->watcher);
        loop_timer_stop(&t->timer);
        for (unsigned k = 0; k < t->count; k++)
            if (t->window[k]->sending) curl_cancel(&t->window[k]->transfer);
    }
}

static void let_go(struct notify *n)
{
    if (--n->open) return;
    mem_free(n->targets);
    mem_free(n);
}

static void target_closed(struct loop_timer *timer)
{
    struct target *t = LIST_ITEM(timer, struct target, timer);
    for (unsigned k = 0; k < t->count; k++) letter_free(t->window[k]);
    arena_done(&t->arena);
    let_go(t->of);
}

static void leader_closed(struct loop_timer *timer)
{
    let_go(LIST_ITEM(timer, struct notify, leader));
}

void notify_free(struct notify *n)
{
    if (!n) return;
    for (size_t i = 0; n->targets && i < n->open - 1; i++)
        loop_timer_close(&n->targets[i].timer, target_closed);
    loop_timer_close(&n->leader, leader_closed);
}
