/* asklink.c -- links by which one person decides one question: POST /v1/approvals/{id}/links makes
 * one, /a/k.TOKEN is where it leads.
 *
 *   token = base64url(payload) "." base64url(HMAC-SHA256(links.key, payload))
 *   payload = {"i": confirmation, "o": owner, "d": digest of the arguments, "p": person, "u": until,
 *              "m": when it was made, in milliseconds}
 *
 * GET shows the question and changes nothing: mail scanners and chat previews open links. POST
 * decides as that person, by the same command as every other door, so all that is judged there is
 * judged here. Pages are whole without script. The token is the proof of who it is; it stands in
 * no log.
 *
 * Who may make one: a notifier for anybody, everybody else for themselves. (Somebody who could make
 * one for a colleague could vote twice.) */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "auth/jwt.h"
#include "base/clock.h"
#include "base/glyph.h"
#include "base/log.h"
#include "door/app.h"
#include "run/rules.h"

#define PREFIX    "k."
#define LIFE_S    (7 * 86400)
#define TOKEN_MAX 2048

struct asklink {
    struct str id, owner, digest, person;
    int64_t    until_s, made_ms;
};

/* --- tokens ----------------------------------------------------------------------------------- */

static void put_base64url(struct buf *out, const void *data, size_t len)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (i + 1 < len ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < len ? p[i + 2] : 0);
        buf_chr(out, LETTERS[v >> 18]);
        buf_chr(out, LETTERS[v >> 12 & 63]);
        if (i + 1 < len) buf_chr(out, LETTERS[v >> 6 & 63]);
        if (i + 2 < len) buf_chr(out, LETTERS[v & 63]);
    }
}

static bool sign(struct str key, struct str payload, unsigned char mac[32])
{
    unsigned len = 32;
    return HMAC(EVP_sha256(), key.ptr, (int)key.len, (const unsigned char *)payload.ptr,
                payload.len, mac, &len) != NULL;
}

static bool write_token(struct buf *out, struct str key, const struct asklink *k)
{
    unsigned char mac[32];
    struct buf    payload;
    struct jsonw  w;
    buf_init(&payload, 0);
    jsonw_init(&w, &payload);
    jw_obj(&w);
    jw_kstr(&w, "i", k->id);
    jw_kstr(&w, "o", k->owner);
    jw_kstr(&w, "d", k->digest);
    jw_kstr(&w, "p", k->person);
    jw_kint(&w, "u", k->until_s);
    jw_kint(&w, "m", k->made_ms);
    jw_end_obj(&w);
    bool ok = !payload.err && sign(key, buf_view(&payload), mac);
    if (ok) {
        put_base64url(out, payload.ptr, payload.len);
        buf_chr(out, '.');
        put_base64url(out, mac, sizeof mac);
    }
    buf_done(&payload);
    return ok && !out->err;
}

/* Ours, and its time is not over? */
static bool read_token(struct arena *a, struct str key, struct str token, struct asklink *out)
{
    unsigned char mac[32];
    struct str    head, payload, given;
    struct jv    *v;
    if (!key.len || token.len > TOKEN_MAX || !str_starts(token, STR(PREFIX))) return false;
    token = str_from(token, sizeof PREFIX - 1);
    if (!str_split(&token, '.', &head) || jwt_base64url(a, head, &payload) != OK ||
        jwt_base64url(a, token, &given) != OK || given.len != sizeof mac ||
        !sign(key, payload, mac) || CRYPTO_memcmp(given.ptr, mac, sizeof mac) != 0 ||
        json_parse(a, payload, &v, NULL) != OK)
        return false;
    *out = (struct asklink){ jv_str_at(v, "i"), jv_str_at(v, "o"),    jv_str_at(v, "d"),
                             jv_str_at(v, "p"), jv_int_at(v, "u", 0), jv_int_at(v, "m", 0) };
    return out->until_s > clock_wall_ms() / 1000;
}

/* Of the arguments as they are shown. */
static struct str digest_of(struct arena *a, const struct jv *row)
{
    unsigned char hash[32];
    struct buf    text, hex;
    struct jsonw  w;
    struct str    out = STR_NONE;
    buf_init(&text, 0);
    buf_init(&hex, 0);
    jsonw_init(&w, &text);
    jw_obj(&w);
    jw_kstr(&w, "tool", jv_str_at(row, "tool"));
    jw_key(&w, "input");
    if (jv_get(row, "input")) jw_canonical(&w, jv_get(row, "input"));
    else jw_null(&w);
    jw_end_obj(&w);
    if (!text.err && EVP_Digest(text.ptr, text.len, hash, NULL, EVP_sha256(), NULL) == 1) {
        put_base64url(&hex, hash, sizeof hash);
        if (!hex.err) out = arena_dup(a, buf_view(&hex));
    }
    buf_done(&text);
    buf_done(&hex);
    return out;
}

/* May this person decide it as it stands? The same is judged again when they do. */
static bool may_answer(const struct app *a, const struct jv *row, struct str owner,
                       struct str person)
{
    const struct jv *who = jv_get(row, "who");
    struct voter     v = { person, people_roles(hub_setup(a->hub)->people, person) };
    if (who) return rules_lets(who, owner, &v, clock_wall_ms());
    return a->approvers_only ? roles_have(v.roles, STR("approver")) : str_eq(person, owner);
}

/* --- making one ------------------------------------------------------------------------------- */

static bool read_wish(struct request *q, struct str *person, int64_t *until_s)
{
    struct jv *body;
    int64_t    now = clock_wall_ms() / 1000;
    *until_s = now + LIFE_S;
    if (json_parse(q->arena, q->body, &body, NULL) != OK || !jv_str_at(body, "for").len) {
        conn_error(q->conn, 422, "bad_field",
                   "Send {\"for\":\"NAME\"}, and \"until\" if you like.");
        return false;
    }
    *person = jv_str_at(body, "for");
    const struct jv *until = jv_get(body, "until");
    int64_t          ms;
    if (!until || until->type == JSON_NULL) return true;
    if (!jv_is(until, JSON_STRING) || !clock_parse_rfc3339(until->str, &ms) || ms / 1000 <= now) {
        conn_error(q->conn, 422, "bad_field",
                   "\"until\" must be a time to come, as RFC 3339 says.");
        return false;
    }
    if (ms / 1000 < *until_s) *until_s = ms / 1000;
    return true;
}

static void reply_link(struct conn *c, const struct app *a, const struct asklink *k)
{
    char         time[CLOCK_RFC3339_LEN + 1];
    struct buf   url, b;
    struct jsonw w;
    buf_init(&url, 0);
    buf_printf(&url, STR_FMT "/a/" PREFIX, STR_ARG(a->public_url));
    bool ok = write_token(&url, a->links_key, k);
    clock_rfc3339(k->until_s * 1000, time);
    json_reply_begin(&b, &w);
    jw_kbuf(&w, "url", &url);
    jw_kstrz(&w, "until", time);
    jw_kstr(&w, "for", k->person);
    if (!ok) b.err = ERR_NOMEM;
    json_reply_end(c, 201, &b, &w);
    buf_done(&url);
}

static void on_row(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                   struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct conn    *c = k->ask.conn;
    struct jv      *row = NULL;
    (void)next;
    if (c && !listing_failed(k, e)) {
        struct request *q = conn_request(c);
        struct asklink  link = { .id = l->id, .made_ms = clock_wall_ms() };
        struct buf      seen;
        buf_init(&seen, 0);
        struct store_row as_event = count ? rows[0] : (struct store_row){ 0 };
        as_event.event.body = as_event.approval.body;
        bool visible = count && approval_show_event(&seen, k->ask.app, &as_event, q->principal,
                                                    approvals_all(k->ask.app, q), 0);
        buf_done(&seen);
        if (!visible || json_parse_own(&k->arena, rows[0].approval.body, &row) != OK)
            conn_error(c, 404, "unknown_confirmation", "There is no such request here.");
        else if (!str_is(rows[0].approval.status, "pending"))
            conn_error(c, 409, "already_decided", "This does not wait for anybody any more.");
        else if (read_wish(q, &link.person, &link.until_s)) {
            int64_t end = rows[0].approval.expires_ms / 1000;
            link.owner = rows[0].owner;
            link.digest = digest_of(&k->arena, row);
            if (end && !jv_get(row, "who") && end < link.until_s) link.until_s = end;
            if (may_answer(k->ask.app, row, link.owner, link.person))
                reply_link(c, k->ask.app, &link);
            else
                conn_error(c, 403, "not_approver",
                           "This is not for them to decide as it stands; no link was made.");
        }
    }
    listing_free(k);
}

void rest_links(struct server *s, struct request *q)
{
    struct app *a = app_of(s);
    struct str  person;
    int64_t     until_s;
    if (!a->links_key.len || !a->public_url.len) {
        conn_error(q->conn, 409, "links_off", "Links need \"links\".\"key\" and \"public_url\".");
        return;
    }
    if (!read_wish(q, &person, &until_s)) return;
    bool notifier = roles_have(q->principal->words, STR("notifier"));
    if (!notifier && !str_eq(person, owner_of(q))) {
        log_refused(owner_of(q), "rest", STR_NONE, q->param[0], "not_notifier");
        conn_error(q->conn, 403, "not_notifier",
                   "A link for somebody else is made by a program with the role notifier.");
        return;
    }
    if (!people_roles(hub_setup(a->hub)->people, person).ptr && !str_eq(person, owner_of(q))) {
        conn_error(q->conn, 404, "unknown_person",
                   "Nobody of this name has a key, or was here since the start.");
        return;
    }
    struct listing *k = listing_new(s, q, STORE_APPROVALS);
    if (!k) return;
    k->list.id = arena_dup(&k->arena, q->param[0]);
    k->list.everybody = true;
    k->list.limit = 1;
    k->list.done = on_row;
    listing_send(k);
}

/* --- the page --------------------------------------------------------------------------------- */

static void put_html(struct buf *out, struct str s)
{
    struct buf shown;
    buf_init(&shown, 0);
    glyph_show(&shown, s, GLYPH_LINE);
    for (size_t i = 0; i < shown.len; i++) {
        char c = shown.ptr[i];
        if (c == '&') buf_lit(out, "&amp;");
        else if (c == '<') buf_lit(out, "&lt;");
        else if (c == '>') buf_lit(out, "&gt;");
        else if (c == '"') buf_lit(out, "&quot;");
        else if (c == '\'') buf_lit(out, "&#39;");
        else buf_chr(out, c);
    }
    if (shown.err) out->err = shown.err;
    buf_done(&shown);
}

static void begin_page(struct buf *out, const struct app *a, const char *title)
{
    buf_lit(out, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                 "<meta name=\"robots\" content=\"noindex\"><title>");
    buf_lit(out, title);
    buf_lit(out, "</title><style>body{font:1.05rem/1.5 system-ui,sans-serif;max-width:36rem;margin:"
                 "2rem auto;padding:0 1rem;color:#16181d;background:#fff}h1{font-size:1.3rem}"
                 "dl{border:1px solid #c9ced8;border-radius:.5rem;padding:.5rem 1rem}dt{color:#555}"
                 "dd{margin:0 0 .5rem;overflow-wrap:anywhere}button{font:inherit;padding:.8rem "
                 "1.4rem;margin:.5rem .5rem 0 0;border-radius:.5rem;border:1px solid #16181d;"
                 "background:#fff;min-width:8rem}button.yes{background:#16181d;color:#fff}input{"
                 "font:inherit;width:100%;box-sizing:border-box;padding:.6rem}@media(prefers-color-"
                 "scheme:dark){body{background:#16181d;color:#f2f3f5}dt{color:#b6bcc8}button,input{"
                 "background:#22252c;color:#f2f3f5;border-color:#8a93a5}button.yes{background:"
                 "#f2f3f5;color:#16181d}}</style><main><p>");
    put_html(out, a->look.name);
    buf_lit(out, "</p><h1>");
}

static void reply_page(struct conn *c, int status, struct buf *b)
{
    conn_header(c, "Content-Security-Policy",
                STR("default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
                    "frame-ancestors 'none'; base-uri 'none'"));
    conn_header(c, "Referrer-Policy", STR("same-origin"));
    conn_header(c, "X-Content-Type-Options", STR("nosniff"));
    buf_lit(b, "</main></html>");
    if (b->err) conn_error(c, 503, "out_of_memory", "The server is out of memory; try again.");
    else conn_reply(c, status, "text/html; charset=utf-8", buf_view(b));
    buf_done(b);
}

/* A page of one sentence. */
static void say(struct conn *c, const struct app *a, int status, const char *title,
                const char *what)
{
    struct buf b;
    buf_init(&b, 0);
    begin_page(&b, a, title);
    put_html(&b, str_c(title));
    buf_lit(&b, "</h1><p>");
    put_html(&b, str_c(what));
    buf_lit(&b, "</p>");
    reply_page(c, status, &b);
}

static void say_void(struct conn *c, const struct app *a)
{
    say(c, a, 410, "This link is of no use",
        "It is not one of ours, its time is over, or what it asked about is decided. Nothing was "
        "changed.");
}

static void say_not_theirs(struct conn *c, const struct app *a, const char *why)
{
    say(c, a, 403, "Not yours to decide", why ? why : "Somebody else has to decide this.");
}

static void put_row(struct buf *b, const char *name, struct str value)
{
    if (!value.len) return;
    buf_printf(b, "<dt>%s</dt><dd>", name);
    put_html(b, value);
    buf_lit(b, "</dd>");
}

static void write_question(struct buf *b, const struct app *a, const struct asklink *k,
                           const struct jv *row)
{
    const struct jv *input = jv_get(row, "input");
    begin_page(b, a, "A decision is waiting");
    put_html(b, jv_str_at(row, "ask"));
    buf_lit(b, "</h1><dl>");
    put_row(b, "Tool", jv_str_at(row, "tool"));
    if (jv_is(input, JSON_OBJECT))
        JV_EACH (m, input) {
            buf_lit(b, "<dt>");
            put_html(b, m->key);
            buf_lit(b, "</dt><dd>");
            put_html(b, m->type == JSON_STRING ? m->str : m->raw);
            buf_lit(b, "</dd>");
        }
    put_row(b, "Asked for by", k->owner);
    put_row(b, "Their words", jv_str_at(row, "said"));
    put_row(b, "Risk", jv_str_at(row, "risk"));
    put_row(b, "Waits until", jv_str_at(row, "expires_at"));
    buf_lit(b,
            "</dl><form method=\"post\"><p><label>Reason (if you like)<br><input name=\"reason\" "
            "maxlength=\"500\"></label></p><button class=\"yes\" name=\"decision\" "
            "value=\"approve\">Approve</button><button name=\"decision\" value=\"deny\">Deny"
            "</button></form><p>You decide as ");
    put_html(b, k->person);
    buf_lit(b, ".</p>");
}

/* Has this person answered since it was made? Also when they took it back: that needs a new one. */
static bool is_used(const struct jv *row, const struct asklink *k)
{
    const struct jv *votes = jv_get(row, "votes"), *back = jv_get(row, "withdrawn");
    int64_t          at;
    JV_EACH (v, votes)
        if (str_eq(jv_str_at(v, "by"), k->person)) return true;
    JV_EACH (v, back)
        if (str_eq(jv_str_at(v, "by"), k->person) &&
            (!clock_parse_rfc3339(jv_str_at(v, "at"), &at) || at > k->made_ms))
            return true;
    return false;
}

/* What the link is about, as it stands; NULL: not any more. */
static const struct jv *open_row(struct arena *a, const struct asklink *k,
                                 const struct store_row *rows, size_t count)
{
    struct jv *row;
    for (size_t i = 0; i < count; i++)
        if (str_eq(rows[i].owner, k->owner) && str_is(rows[i].approval.status, "pending") &&
            !rows[i].damaged && json_parse_own(a, rows[i].approval.body, &row) == OK &&
            str_eq(digest_of(a, row), k->digest) && !is_used(row, k))
            return row;
    return NULL;
}

static void on_look(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct conn    *c = k->ask.conn;
    struct app     *a = k->ask.app;
    struct asklink  link;
    struct buf      b;
    (void)next;
    if (c && !listing_failed(k, e)) {
        const struct jv *row = NULL;
        if (read_token(&k->arena, a->links_key, conn_request(c)->param[0], &link))
            row = open_row(&k->arena, &link, rows, count);
        if (!row) say_void(c, a);
        else if (!may_answer(a, row, link.owner, link.person)) say_not_theirs(c, a, NULL);
        else {
            buf_init(&b, 0);
            write_question(&b, a, &link, row);
            reply_page(c, 200, &b);
        }
    }
    listing_free(k);
}

/* --- deciding --------------------------------------------------------------------------------- */

/* One member of an application/x-www-form-urlencoded body; in `a`. */
static unsigned count_members(struct str body, const char *name)
{
    struct str pair, key;
    unsigned   n = 0;
    while (str_split(&body, '&', &pair))
        if (str_split(&pair, '=', &key) && str_is(key, name)) n++;
    return n;
}

static struct str form_member(struct arena *a, struct str body, const char *name)
{
    struct str pair, key;
    while (str_split(&body, '&', &pair)) {
        if (!str_split(&pair, '=', &key) || !str_is(key, name)) continue;
        char  *out = arena_alloc(a, pair.len + 1);
        size_t n = 0;
        for (size_t i = 0; out && i < pair.len; i++) {
            unsigned v;
            if (pair.ptr[i] == '+') out[n++] = ' ';
            else if (pair.ptr[i] == '%' && i + 2 < pair.len &&
                     sscanf((char[]){ pair.ptr[i + 1], pair.ptr[i + 2], 0 }, "%2x", &v) == 1) {
                out[n++] = (char)v;
                i += 2;
            } else out[n++] = pair.ptr[i];
        }
        return out ? str_n(out, n) : STR_NONE;
    }
    return STR_NONE;
}

static void on_decided(struct ask *k, struct command *c, const struct receipt *r)
{
    if (r->status == 200 && !r->duplicate)
        say(k->conn, k->app, 200, c->decide.confirmed ? "You said yes" : "You said no",
            "It is recorded under your name. You may close this page.");
    else if (r->status >= 500)
        say(k->conn, k->app, 503, "Not now", "It could not be saved. Try again in a moment.");
    else if (r->status == 403) say_not_theirs(k->conn, k->app, r->message);
    else if (r->status == 422)
        say(k->conn, k->app, 422, "Nothing was decided",
            "This asks for more than a yes. Answer it in the conversation, or in your inbox.");
    else say_void(k->conn, k->app);
}

static void decide(struct listing *k, struct request *q, const struct asklink *link)
{
    struct app     *a = k->ask.app;
    struct str      decision = form_member(q->arena, q->body, "decision"), roles;
    struct command *c = command_new(CMD_DECIDE);
    struct ask     *ask = c ? ask_new(a->server, q, on_decided) : NULL;
    if (!ask) {
        command_free(c);
        return;
    }
    roles = people_roles(hub_setup(a->hub)->people, link->person);
    c->log.owner = arena_dup(&c->arena, link->owner);
    c->by = arena_dup(&c->arena, link->person);
    c->roles = arena_dup(&c->arena, roles.ptr ? roles : STR(""));
    c->via = STR("link");
    c->id = arena_dup(&c->arena, link->id);
    c->may_decide =
        a->approvers_only ? roles_have(roles, STR("approver")) : str_eq(link->person, link->owner);
    c->decide.confirmed = str_is(decision, "approve");
    c->decide.reason =
        arena_dup(&c->arena, str_cut(form_member(q->arena, q->body, "reason"), 2000));
    ask_submit(ask, c);
}

/* It is one of ours, and decides nothing (any more). Looking at it again is nobody's fault. */
static void log_void(const struct request *q, const struct asklink *k, const char *why)
{
    log_line(LOG_SECURITY, "link.refused", "why", why, "by", log_str(k->person), "id",
             log_str(k->id), "peer", log_str(conn_peer(q->conn)), NULL);
}

static void on_answer(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct conn    *c = k->ask.conn;
    struct app     *a = k->ask.app;
    struct asklink  link = { 0 };
    (void)next;
    if (c && !listing_failed(k, e)) {
        struct request  *q = conn_request(c);
        const struct jv *row = NULL;
        if (read_token(&k->arena, a->links_key, q->param[0], &link))
            row = open_row(&k->arena, &link, rows, count);
        struct str decision = form_member(q->arena, q->body, "decision");
        bool       twice = count_members(q->body, "decision") != 1;
        bool       theirs = row && may_answer(a, row, link.owner, link.person);
        if (!theirs) log_void(q, &link, row ? "not_approver" : "used_or_over");
        if (!row) say_void(c, a);
        else if (!theirs) say_not_theirs(c, a, NULL);
        else if (twice || (!str_is(decision, "approve") && !str_is(decision, "deny")))
            say(c, a, 422, "Nothing was decided", "Press Approve or Deny.");
        else decide(k, q, &link);
    }
    listing_free(k);
}

static void lookup(struct server *s, struct request *q,
                   void (*done)(struct store_list *, enum err, const struct store_row *, size_t,
                                struct str))
{
    struct app    *a = app_of(s);
    struct asklink link;
    /* a void one says the same, whatever is wrong with it */
    if (!read_token(q->arena, a->links_key, q->param[0], &link)) {
        log_line(LOG_SECURITY, "link.refused", "why", "forged_or_old", "peer",
                 log_str(conn_peer(q->conn)), NULL);
        say_void(q->conn, a);
        return;
    }
    struct principal as = a->local;
    as.name = link.owner;
    q->principal = &as;
    struct listing *k = listing_new(s, q, STORE_APPROVALS);
    q->principal = NULL;
    if (!k) return;
    k->list.id = arena_dup(&k->arena, link.id);
    k->list.everybody = true;
    k->list.limit = 8; /* of one id there is one; owners' names are compared */
    k->list.done = done;
    listing_send(k);
}

void link_page(struct server *s, struct request *q)
{
    if (!str_starts(q->param[0], STR(PREFIX))) web_page(s, q);
    else lookup(s, q, on_look);
}

void link_decide(struct server *s, struct request *q)
{
    if (!str_starts(q->param[0], STR(PREFIX))) web_nothing(s, q);
    else lookup(s, q, on_answer);
}
