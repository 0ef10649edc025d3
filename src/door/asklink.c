/* asklink.c -- links by which one person decides one question: POST /v1/approvals/{id}/links makes
 * one, /a/k.TOKEN is where it leads.
 *
 *   token = base64url(payload) "." base64url(HMAC-SHA256(links.key, payload))
 *   payload = {"i": confirmation, "o": owner, "d": digest of the arguments, "p": person,
 *              "u": until, "m": when it was made, in milliseconds}
 *
 * GET shows the question and changes nothing: mail scanners and chat previews open links. POST
 * decides as that person, by the same command as every other door, so all that is judged there is
 * judged here: also what is typed into the fields of a tool's form, or in the place of arguments
 * that may be changed (linkform.h). Pages are whole without script, and speak the page's languages
 * (linkwords.h). The token is the proof of who it is;
 * it stands in no log.
 *
 * Who may make one: a notifier for anybody, everybody else for themselves. (Somebody who could make
 * one for a colleague could vote twice.) */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/jwt.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "door/app.h"
#include "door/linkform.h"
#include "run/rules.h"
#include "run/sight.h"

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

/* Not after the question: then there is nothing to decide. (What the store has beside it, when it
 * is looked at next, may be a step of its escalation.) */
static int64_t sooner(int64_t until_s, struct str expires_at)
{
    int64_t ms;
    return clock_parse_rfc3339(expires_at, &ms) && ms / 1000 < until_s ? ms / 1000 : until_s;
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
            link.owner = rows[0].owner;
            link.digest = digest_of(&k->arena, row);
            link.until_s = sooner(link.until_s, jv_str_at(row, "expires_at"));
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
                   "Nobody of this name has a key, or was here with a role.");
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

/* The colours of the page (web/src/app/styles/tokens.css) written once more. */
static const char STYLE[] =
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:0 auto;padding:1.5rem 1rem 0;"
    "color:#1b1d1f;background:#fbfbfa;overflow-wrap:anywhere}"
    "main{white-space:pre-wrap}"
    ".by,dt,label,.as{color:#5d6469;font-size:.875rem;line-height:1.5rem}"
    ".by,.as{margin:0}"
    "h1{font-size:1.3rem;line-height:1.35;margin:.25rem 0 1rem}"
    "dl{display:grid;grid-template-columns:fit-content(40%) minmax(0,1fr);margin:0 0 "
    "1rem;padding:.5rem 1rem;border:1px solid #e4e4e1;border-radius:.75rem}"
    ".what{border-color:#cdb4f5;background:#f5efff}"
    "dt,dd{margin:0;padding:.25rem 0}dt{padding-right:1rem}"
    /* a value has lines of its own: what is another row is told by more than where it stands */
    "dt~dt,dt~dt+dd{border-top:1px solid;border-color:inherit}"
    "p>small,fieldset>small{padding-left:.5rem;border-left:2px solid #8b9096}"
    "input,select,textarea{display:block;width:100%;box-sizing:border-box;padding:.6rem "
    ".75rem;font:1rem/1.5 "
    "system-ui,sans-serif;color:inherit;background:#fff;border:1px solid #8b9096;border-radius:"
    ".625rem}"
    "input,select,textarea{color:#1b1d1f}small{color:#5d6469}small,.wrong{display:block}"
    "input[type=checkbox]{display:inline;width:auto}.tick{display:block}.wrong{color:#b3261e}"
    ".act{position:sticky;bottom:0;display:flex;gap:.5rem;margin-top:.5rem;padding:.75rem 0;"
    "background:#fbfbfa}"
    "button{flex:1;min-height:48px;font:600 1rem/1.5 system-ui,sans-serif;color:inherit;background:"
    "#fff;border:1px solid #8b9096;border-radius:.75rem}"
    "button.yes{color:#fff;background:#7a2ee6;border-color:#7a2ee6}"
    ":focus-visible{outline:2px solid #7a2ee6;outline-offset:2px}"
    "@media(prefers-color-scheme:dark){"
    "body,.act{color:#eceef0;background:#16181b}"
    ".by,dt,label,.as,small{color:#a2abb3}"
    "dl{border-color:#2e3338}"
    ".what{border-color:#5b4685;background:#2b2140}"
    "input,select,textarea,button{background:#1d2024;border-color:#737b83}"
    "input,select,textarea{color:#eceef0}.wrong{color:#ffb4ab}"
    "button.yes{color:#1d1230;background:#c4a2ff;border-color:#c4a2ff}"
    ":focus-visible{outline-color:#c4a2ff}}";

/* In the language that this browser asks for. */
static const struct linkwords *words_for(const struct app *a, struct conn *c)
{
    const struct strs *l = &a->look.languages;
    return linkwords_for(l->list, l->count, request_header(conn_request(c), "accept-language"));
}

static void begin_page(struct buf *out, const struct app *a, const struct linkwords *w,
                       const char *title)
{
    buf_printf(out, "<!doctype html><html lang=\"%s\"><meta charset=\"utf-8\">", w->lang);
    buf_lit(out, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                 "<meta name=\"color-scheme\" content=\"light dark\">"
                 "<meta name=\"robots\" content=\"noindex\"><title>");
    buf_printf(out, "%s</title><style>%s</style><main><p class=\"by\">", title, STYLE);
    html_put(out, a->look.name);
    buf_lit(out, "</p><h1>");
}

static void reply_page(struct conn *c, int status, struct buf *b)
{
    conn_header(c, "Content-Security-Policy",
                STR("default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
                    "frame-ancestors 'none'; base-uri 'none'"));
    conn_header(c, "Referrer-Policy", STR("same-origin"));
    conn_header(c, "X-Content-Type-Options", STR("nosniff"));
    conn_header(c, "Vary", STR("Accept-Language"));
    buf_lit(b, "</main></html>");
    if (b->err) conn_error(c, 503, "out_of_memory", "The server is out of memory; try again.");
    else conn_reply(c, status, "text/html; charset=utf-8", buf_view(b));
    buf_done(b);
}

/* A page of one sentence; below it what the server says more exactly, which is English at every
 * door (NULL: nothing). */
static void say(struct conn *c, const struct app *a, int status, const char *title,
                const char *what, const char *exactly)
{
    struct buf b;
    buf_init(&b, 0);
    begin_page(&b, a, words_for(a, c), title);
    buf_printf(&b, "%s</h1><p>%s</p>", title, what);
    if (exactly) {
        buf_lit(&b, "<p class=\"as\" lang=\"en\">");
        html_put(&b, str_c(exactly));
        buf_lit(&b, "</p>");
    }
    reply_page(c, status, &b);
}

static void say_void(struct conn *c, const struct app *a)
{
    const struct linkwords *w = words_for(a, c);
    say(c, a, 410, w->void_link, w->void_why, NULL);
}

static void say_not_theirs(struct conn *c, const struct app *a, const char *exactly)
{
    const struct linkwords *w = words_for(a, c);
    say(c, a, 403, w->not_yours, w->not_yours_why, exactly);
}

static void put_row_by(struct buf *b, const char *name, struct str value,
                       void (*put)(struct buf *, struct str))
{
    if (!value.len) return;
    buf_printf(b, "<dt>%s</dt><dd>", name);
    put(b, value);
    buf_lit(b, "</dd>");
}

static void put_row(struct buf *b, const char *name, struct str value)
{
    put_row_by(b, name, value, html_name);
}

/* What there is to be typed: a tool's own form, or the arguments that may be changed. */
static struct linkform form_of(const struct app *a, struct conn *c, const struct jv *row)
{
    const struct linkwords *words = words_for(a, c);
    const struct jv        *schema = jv_get(row, "schema");
    const struct tool *tool = registry_find(hub_setup(a->hub)->registry, jv_str_at(row, "tool"));
    if (schema) return (struct linkform){ .schema = schema, .words = words };
    if (!tool || !jv_is(jv_get(row, "edit"), JSON_ARRAY))
        return (struct linkform){ .words = words };
    return (struct linkform){ .schema = tool->schema,
                              .values = jv_get(row, "input"),
                              .only = jv_get(row, "edit"),
                              .words = words };
}

/* To the minute, as people read it; the record has the rest. */
static void put_moment(struct buf *b, const char *name, struct str rfc3339)
{
    char text[32];
    if (rfc3339.len < 16) return;
    int n = snprintf(text, sizeof text, "%.10s, %.5s UTC", rfc3339.ptr, rfc3339.ptr + 11);
    put_row(b, name, (struct str){ text, (size_t)n });
}

static void put_arguments(struct buf *b, const struct linkwords *w, const struct jv *input)
{
    size_t n = 0;
    if (!jv_is(input, JSON_OBJECT)) return;
    JV_EACH (m, input) {
        buf_lit(b, n++ ? "<dt>" : "<dl class=\"what\"><dt>");
        if (m->key.len) html_name(b, m->key);
        else buf_printf(b, "<i>%s</i>", w->no_name);
        buf_lit(b, "</dt><dd>");
        struct str value = m->type == JSON_STRING ? m->str : m->raw;
        if (value.len) html_put(b, value);
        else buf_printf(b, "<i>%s</i>", w->empty);
        if (order_mixes(value)) buf_printf(b, " <small>(%s)</small>", w->in_order);
        buf_lit(b, "</dd>");
    }
    if (n) buf_lit(b, "</dl>");
}

static struct str risk_word(const struct linkwords *w, struct str risk)
{
    if (str_is(risk, "low")) return str_c(w->risk_low);
    return str_is(risk, "high") ? str_c(w->risk_high) : risk;
}

/* A no needs no form: its button passes the browser's own check of the fields. */
static void put_buttons(struct buf *b, const struct linkwords *w)
{
    buf_printf(b, "<label>%s<input name=\"reason\" maxlength=\"500\"></label>", w->reason);
    buf_printf(b, "<p class=\"act\"><button class=\"yes\" name=\"decision\" value=\"approve\">%s",
               w->approve);
    buf_printf(b, "</button><button name=\"decision\" value=\"deny\" formnovalidate>%s", w->deny);
    buf_lit(b, "</button></p>");
}

static void put_filled(struct buf *b, const char *words, struct str with, struct str value)
{
    buf_lit(b, "<dt>");
    linkwords_fill(b, words, with, html_name);
    buf_lit(b, "</dt><dd>");
    html_put(b, value);
    buf_lit(b, "</dd>");
}

/* "2 × finance" */
static void put_level(struct buf *b, const struct jv *level, struct str owner)
{
    struct str role = jv_str_at(level, "role");
    int64_t    count = jv_int_at(level, "count", 1);
    if (count > 1) buf_printf(b, "%lld × ", (long long)count);
    html_name(b, str_is(role, "owner") ? owner : role);
}

/* Whom the rule names as it stands, who of them has said yes, and how many are still to. */
static void put_ballot(struct buf *b, const struct app *a, const struct linkwords *w,
                       const struct jv *row, struct str owner)
{
    const struct jv *who = jv_get(row, "who"), *votes = jv_get(row, "votes"),
                    *steps = jv_get(who, "escalate");
    int64_t now = clock_wall_ms(), at, open = jv_int_at(row, "needed", 1);
    if (!who) return;
    buf_printf(b, "<dt>%s</dt><dd>", w->decided_by);
    put_level(b, jv_get(who, "from"), owner);
    JV_EACH (l, steps)
        if (clock_parse_rfc3339(jv_str_at(l, "at"), &at) && at <= now) {
            buf_lit(b, " / ");
            put_level(b, jv_get(l, "to"), owner);
        }
    buf_lit(b, "</dd>");
    JV_EACH (v, votes) {
        struct str by = jv_str_at(v, "by");
        bool       counts = rules_counts(who, owner, hub_setup(a->hub)->people, by, now);
        put_row(b, counts ? w->yes_of : w->yes_void, by);
        open -= counts;
    }
    if (votes && votes->count)
        buf_printf(b, "<dt>%s</dt><dd>%lld</dd>", w->still, (long long)(open > 1 ? open : 1));
}

/* What somebody made of another proposal, and what it was before. */
static void put_change(struct buf *b, const struct linkwords *w, const struct jv *row)
{
    const struct jv *old = jv_get(row, "replaces"), *changed = jv_get(old, "changed");
    if (!old) return;
    put_row(b, w->changed_by, jv_str_at(old, "by"));
    JV_EACH (at, changed) {
        const struct jv *was = jv_pointer(jv_get(old, "input"), jv_str(at));
        struct str       text = !was ? STR("–") : was->type == JSON_STRING ? was->str : was->raw;
        put_filled(b, w->was, str_from(jv_str(at), 1), text);
    }
}

/* What is asked about stands first; the buttons stay in sight, however long it is. */
static void write_question(struct buf *b, const struct app *a, const struct asklink *k,
                           const struct jv *row, const struct linkform *form)
{
    char                    until[CLOCK_RFC3339_LEN + 1];
    const struct linkwords *w = form->words;
    begin_page(b, a, w, w->waiting);
    html_put(b, jv_str_at(row, "ask"));
    buf_lit(b, "</h1><form method=\"post\">");
    put_arguments(b, w, jv_get(row, "input"));
    buf_lit(b, "<dl>");
    put_row(b, w->asked_by, k->owner);
    if (sight_words(a->hub, k->owner, k->person))
        put_row_by(b, w->said, jv_str_at(row, "said"), html_put);
    put_change(b, w, row);
    put_ballot(b, a, w, row, k->owner);
    put_row(b, w->tool, jv_str_at(row, "tool"));
    put_row(b, w->risk, risk_word(w, jv_str_at(row, "risk")));
    clock_rfc3339(k->until_s * 1000, until);
    put_moment(b, w->waits_until, jv_str_at(row, "expires_at"));
    put_moment(b, w->good_until, str_c(until));
    buf_lit(b, "</dl>");
    linkform_write(b, form);
    put_buttons(b, w);
    buf_lit(b, "</form><p class=\"as\">");
    linkwords_fill(b, w->decide_as, k->person, html_name);
    buf_lit(b, "</p>");
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
            struct linkform form = form_of(a, c, row);
            buf_init(&b, 0);
            write_question(&b, a, &link, row, &form);
            reply_page(c, 200, &b);
        }
    }
    listing_free(k);
}

/* --- deciding --------------------------------------------------------------------------------- */

/* What came of it: a yes may be one of several, and one to other arguments is asked about anew
 * where a rule wants others' yes to them. */
static void say_taken(struct ask *k, const struct command *c, const struct receipt *r)
{
    const struct linkwords *w = words_for(k->app, k->conn);
    const struct fold      *f = thread_fold(r->thread);
    const struct fact      *d = fold_verdict(f, c->id), *asked = fold_asked(f, c->id);
    const struct call      *call = fold_confirmation(f, c->id);
    const char *title = c->decide.confirmed ? w->said_yes : w->said_no, *what = w->recorded;
    if (!d && asked && asked->who.ptr) what = w->counted;
    else if (d && d->outcome == WORD_REPLACED && call->replaced_by &&
             call_pending(call->replaced_by)) {
        title = w->changed;
        what = w->asked_anew;
    }
    say(k->conn, k->app, 200, title, what, NULL);
}

static void on_decided(struct ask *k, struct command *c, const struct receipt *r)
{
    const struct linkwords *w = words_for(k->app, k->conn);
    if (r->status == 200 && !r->duplicate) say_taken(k, c, r);
    else if (r->status >= 500) say(k->conn, k->app, 503, w->not_now, w->not_saved, NULL);
    else if (r->status == 403) say_not_theirs(k->conn, k->app, r->message);
    else if (r->status == 422) say(k->conn, k->app, 422, w->undecided, w->elsewhere, r->message);
    else say_void(k->conn, k->app);
}

/* What was typed goes with the yes: as the tool's answer, or as other arguments. Unchanged ones are
 * a plain yes. */
static void add_typed(struct command *c, const struct linkform *form, struct str typed)
{
    struct jv *input;
    if (!c->decide.confirmed || !typed.ptr) return;
    typed = arena_dup(&c->arena, typed);
    if (!form->only) c->decide.payload = typed;
    else if (json_parse(&c->arena, typed, &input, NULL) != OK) c->arena.failed = true;
    else if (!jv_equal(input, form->values)) c->decide.input = input;
}

static void decide(struct listing *k, struct request *q, const struct asklink *link,
                   const struct linkform *form, struct str typed)
{
    struct app     *a = k->ask.app;
    struct str      decision = form_member(q->arena, q->body, STR("decision")), roles;
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
        arena_dup(&c->arena, str_cut(form_member(q->arena, q->body, STR("reason")), 2000));
    add_typed(c, form, typed);
    ask_submit(ask, c);
}

/* It is one of ours, and decides nothing (now, or any more). Looking at it again is nobody's
 * fault. */
static void log_void(const struct request *q, const struct asklink *k, const char *why)
{
    log_line(LOG_SECURITY, "link.refused", "why", why, "by", log_str(k->person), "id",
             log_str(k->id), "peer", log_str(conn_peer(q->conn)), NULL);
}

/* A yes with a form that does not fit is the same page once more, with what was typed and the
 * reason at its field. */
static void answer(struct listing *k, struct request *q, const struct asklink *link,
                   const struct jv *row)
{
    struct linkform form = form_of(k->ask.app, q->conn, row);
    struct str      typed = STR_NONE;
    struct buf      b;
    bool            yes = str_is(form_member(q->arena, q->body, STR("decision")), "approve");
    form.typed = q->body;
    if (yes) form.why = linkform_stray(q->arena, &form);
    if (form.why.ptr) log_void(q, link, "edit_not_allowed");
    else if (yes && linkform_any(&form)) {
        typed = linkform_read(q->arena, &form);
        form.why = linkform_judge(q->arena, &form, typed);
        form.judged = true;
    }
    if (!form.why.ptr) {
        decide(k, q, link, &form, typed);
        return;
    }
    buf_init(&b, 0);
    write_question(&b, k->ask.app, link, row, &form);
    reply_page(q->conn, 422, &b);
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
        struct str decision = form_member(q->arena, q->body, STR("decision"));
        bool       twice = form_count(q->arena, q->body, STR("decision")) != 1;
        bool       theirs = row && may_answer(a, row, link.owner, link.person);
        if (!theirs) log_void(q, &link, row ? "not_approver" : "used_or_over");
        if (!row) say_void(c, a);
        else if (!theirs) say_not_theirs(c, a, NULL);
        else if (twice || (!str_is(decision, "approve") && !str_is(decision, "deny")))
            say(c, a, 422, words_for(a, c)->undecided, words_for(a, c)->press, NULL);
        else answer(k, q, &link, row);
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
