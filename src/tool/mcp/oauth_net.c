/* oauth_net.c -- see oauth_int.h. Every request has an end in time and size, follows no redirect
 * and is sent once; what it carried is wiped. */
#include "base/oauthform.h"
#include "tool/mcp/oauth_int.h"

#define FETCH_MS   10000L
#define ANSWER_MAX (256 * 1024)

/* --- requests --------------------------------------------------------------------------------- */

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct oauth_transfer *t = ctx;
    (void)size;
    buf_add(&t->body, p, n);
    return t->body.err ? 0 : n; /* less than n ends the transfer */
}

void oauth_transfer_free(struct oauth_transfer *t)
{
    if (t->job.easy) curl_easy_cleanup(t->job.easy);
    curl_slist_free_all(t->headers);
    secret_wipe(t->form.ptr, t->form.cap);
    secret_wipe(t->body.ptr, t->body.cap);
    buf_done(&t->form);
    buf_done(&t->body);
    arena_done(&t->arena);
    mem_free(t);
}

static void on_done(struct curl_job *job, CURLcode code)
{
    struct oauth_transfer *t = LIST_ITEM(job, struct oauth_transfer, job);
    struct oauth          *o = t->o;
    struct oauth_answer    a = { 0 };
    struct jv             *doc = NULL;

    list_remove(&t->node);
    if (o->closing) a.why = "the server is being stopped";
    else if (t->body.err) a.why = "its answer is too long";
    else if (code != CURLE_OK) a.why = curl_words(code);
    curl_easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &a.status);
    if (!a.why && json_parse(&t->arena, buf_view(&t->body), &doc, NULL) == OK) a.doc = doc;
    t->done(t, &a);
    oauth_transfer_free(t);
    oauth_close(o);
}

struct oauth_transfer *oauth_transfer_new(struct oauth *o, struct str url,
                                          void (*done)(struct oauth_transfer *,
                                                       const struct oauth_answer *))
{
    struct oauth_transfer *t = url.ptr ? mem_alloc(sizeof *t) : NULL;
    CURL                  *e;
    if (!t) return NULL;
    t->o = o;
    t->done = done;
    arena_init(&t->arena, 0);
    buf_init(&t->body, ANSWER_MAX);
    buf_init(&t->form, 0);
    e = curl_easy_new(!url_is_loopback(url));
    t->job = (struct curl_job){ .easy = e, .done = on_done };
    t->headers = curl_slist_append(NULL, "Accept: application/json");
    if (!e || !t->headers || curl_easy_setopt(e, CURLOPT_URL, url.ptr) != CURLE_OK) {
        oauth_transfer_free(t);
        return NULL;
    }
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, FETCH_MS);
    return t;
}

bool oauth_post(struct oauth_transfer *t, const char *type)
{
    struct curl_slist *next = curl_slist_append(t->headers, type);
    if (next) t->headers = next;
    next = next ? curl_slist_append(t->headers, "Expect:") : NULL;
    if (!next || t->form.err) return false;
    t->headers = next;
    curl_easy_setopt(t->job.easy, CURLOPT_POSTFIELDSIZE, (long)t->form.len);
    curl_easy_setopt(t->job.easy, CURLOPT_POSTFIELDS, t->form.ptr);
    curl_once(t->job.easy); /* codes and rotating tokens are good once */
    return true;
}

void oauth_start(struct oauth_transfer *t)
{
    curl_easy_setopt(t->job.easy, CURLOPT_HTTPHEADER, t->headers);
    list_add(&t->o->transfers, &t->node);
    t->o->open++;
    curl_start(t->o->setup.pool, &t->job);
}

bool oauth_authenticate(struct oauth_transfer *t, const struct oauth_source *s)
{
    oauth_field(&t->form, "client_id", s->client.id);
    if (!s->client.secret.ptr) return true;
    if (!s->secret_posted) return curl_client(t->job.easy, s->client.id, s->client.secret);
    oauth_field(&t->form, "client_secret", s->client.secret);
    return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void row_free(struct oauth_row *r)
{
    struct oauth *o = r->o;
    arena_done(&r->arena);
    mem_free(r);
    oauth_close(o);
}

static void on_row(struct vault_job *j, enum err e)
{
    struct oauth_row *r = LIST_ITEM(j, struct oauth_row, job);
    struct str        plain = STR_NONE;
    struct jv        *v = NULL;

    if (j->op == VAULT_GET && e == OK) {
        e = unseal(r->o->setup.key, j->key, j->body, &r->arena, &plain);
        if (e == OK) e = json_parse(&r->arena, plain, &v, NULL);
        /* sealed with another key: as good as none, and they connect again */
        if (e == ERR_SYNTAX) e = OK, v = NULL;
    } else if (j->op == VAULT_GET && e == ERR_NOT_FOUND) e = OK;
    if (r->done) r->done(r, e, v);
    if (plain.ptr) secret_wipe((void *)(uintptr_t)plain.ptr, plain.len);
    row_free(r);
}

static struct oauth_row *row_new(struct oauth *o, enum vault_op op, struct str key)
{
    struct oauth_row *r = o->closing ? NULL : mem_alloc(sizeof *r);
    if (!r) return NULL;
    r->o = o;
    arena_init(&r->arena, 0);
    o->open++;
    r->job = (struct vault_job){ .op = op, .key = arena_dup(&r->arena, key), .done = on_row };
    return r;
}

static bool row_send(struct oauth_row *r)
{
    struct vault *k = r->o->setup.vault;
    if (!r->arena.failed && k->ask(k, &r->job)) return true;
    row_free(r);
    return false;
}

bool oauth_row_get(struct oauth *o, struct str                                          key,
                   void (*done)(struct oauth_row *, enum err, const struct jv *), void *ctx)
{
    struct oauth_row *r = row_new(o, VAULT_GET, key);
    if (!r) return false;
    r->done = done;
    r->ctx = ctx;
    return row_send(r);
}

bool oauth_row_put(struct oauth *o, struct str key, struct buf *plain, struct str was,
                   void (*done)(struct oauth_row *, enum err, const struct jv *), void *ctx)
{
    struct oauth_row *r = row_new(o, was.ptr ? VAULT_KEEP : VAULT_PUT, key);
    struct buf        sealed;
    if (!r) return false;
    r->done = done;
    r->ctx = ctx;
    r->job.was = was.ptr ? arena_dup(&r->arena, was) : STR_NONE;
    buf_init(&sealed, 0);
    bool ok = !plain->err && seal(o->setup.key, key, buf_view(plain), &sealed) == OK;
    secret_wipe(plain->ptr, plain->cap);
    r->job.body = arena_dup(&r->arena, buf_view(&sealed));
    buf_done(&sealed);
    if (ok) return row_send(r);
    row_free(r);
    return false;
}

void oauth_row_end(struct oauth *o, struct str key, struct str was)
{
    struct oauth_row *r = row_new(o, VAULT_END, key);
    if (!r) return;
    r->job.was = was.ptr ? arena_dup(&r->arena, was) : STR_NONE;
    (void)row_send(r);
}
