/* verify.c -- see verify.h. */
#include "audit/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "audit/verify_int.h"
#include "base/clock.h"
#include "run/fact.h"
#include "run/vouch.h"

static void found(struct verifying *k, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void found(struct verifying *k, const char *fmt, ...)
{
    char    text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    k->v->problems++;
    if (k->v->found) k->v->found(k->v->ctx, str_c(text));
}

/* --- checkpoints --------------------------------------------------------------------- */

static struct noted *noted_of(struct verifying *k, struct str name)
{
    struct noted *n = map_get(&k->logs, name);

    if (n) return n;
    n = arena_new(k->a, struct noted);
    if (!n) return NULL;
    *n = (struct noted){ 0 };
    snprintf(n->name, sizeof n->name, STR_FMT, STR_ARG(name));
    return map_put(&k->logs, str_c(n->name), n) ? NULL : n;
}

bool verify_hex(struct str s, uint8_t *out, size_t len)
{
    if (s.len != 2 * len) return false;
    for (size_t i = 0; i < s.len; i++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, s.ptr[i]);
        if (!at || !*at) return false;
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | (at - digits));
    }
    return true;
}

/* False: not one of ours. */
static bool note_head(struct verifying *k, const struct jv *h, uint64_t number)
{
    struct str    name = jv_str(jv_at(h, 0)), hex = jv_str(jv_at(h, 2));
    int64_t       seq = 0;
    uint8_t       head[CHAIN_LEN];
    struct noted *n;
    struct point *p;

    if (name.len != CHAIN_NAME || !jv_int(jv_at(h, 1), &seq) || !verify_hex(hex, head, CHAIN_LEN))
        return false;
    n = noted_of(k, name);
    p = n ? arena_new(k->a, struct point) : NULL;
    if (!p) {
        k->failed = true;
        return true;
    }
    *p = (struct point){ .seq = (uint64_t)seq, .number = number };
    memcpy(p->head, head, CHAIN_LEN);
    if (n->last) n->last->next = p;
    else n->first = n->next = p;
    n->last = p;
    k->v->heads++;
    return true;
}

static bool note_heads(struct verifying *k, const struct jv *root, uint64_t number)
{
    bool good = true;

    JV_EACH (h, jv_get(root, "heads")) good &= note_head(k, h, number);
    return good;
}

/* Whether it was signed by whom it should be; the payload as a tree, in `scratch`. */
static struct jv *open_line(struct verifying *k, struct str line, const char *where,
                            uint64_t *number)
{
    struct str payload = STR_NONE;
    struct jv *root = NULL;
    int64_t    n = 0;
    enum err   e = sign_check(k->v->keys, line, &k->scratch, &payload);

    if (e == ERR_NOMEM) k->failed = true;
    if (e == ERR_NOT_FOUND && !k->v->keys->count) e = OK;
    if (payload.ptr && json_parse(&k->scratch, payload, &root, NULL)) root = NULL;
    if (!root || !str_is(jv_str_at(root, "type"), "parley-checkpoint") ||
        !jv_int(jv_get(root, "number"), &n) || n < 1) {
        found(k, "a line among the checkpoints %s is none", where);
        return NULL;
    }
    *number = (uint64_t)n;
    if (e == ERR_DENIED)
        found(k, "checkpoint %llu %s is not what was signed", (unsigned long long)n, where);
    if (e == ERR_NOT_FOUND)
        found(k, "checkpoint %llu %s was signed by another key than those given",
              (unsigned long long)n, where);
    return root;
}

static bool keep_line(struct verifying *k, const struct told_line *l)
{
    if (k->last == k->line_cap) {
        size_t            cap = k->line_cap ? 2 * k->line_cap : 64;
        struct told_line *more = mem_realloc(k->lines, cap * sizeof *more);
        if (!more) return false;
        k->lines = more;
        k->line_cap = cap;
    }
    k->lines[k->last++] = *l;
    return true;
}

/* Is it tied to the one before it? */
static bool is_tied(const struct verifying *k, const struct jv *root)
{
    struct str before = jv_str_at(root, "previous");
    uint8_t    hash[SHA256_LEN];

    if (!k->last) return !before.ptr;
    return verify_hex(before, hash, sizeof hash) &&
           memcmp(hash, k->lines[k->last - 1].hash, sizeof hash) == 0;
}

/* Does it say that it was made when the store says so? */
static bool is_of(const struct jv *root, int64_t at_ms)
{
    int64_t at;

    return clock_parse_rfc3339(jv_str_at(root, "at"), &at) && at == at_ms;
}

static bool on_checkpoint(struct store_walk *w, uint64_t number, int64_t at_ms, struct str text)
{
    struct verifying *k = WORK(w);
    struct told_line  l;
    uint64_t          says = 0;
    struct jv        *root = open_line(k, text, "of the store", &says);

    k->v->checkpoints++;
    sha256_of(text, l.hash);
    if (!k->signs && str_is(jv_str_at(root, "removals"), "signed")) k->signs = says;
    if (root && (says != number || number != k->last + 1))
        found(k, "checkpoint %llu of the store stands in the place of %llu",
              (unsigned long long)says, (unsigned long long)k->last + 1);
    else if (root && !is_tied(k, root))
        found(k, "checkpoint %llu of the store is not tied to the one before it",
              (unsigned long long)says);
    if (root && !is_of(root, at_ms))
        found(k, "beside checkpoint %llu of the store stands another time than the one in it",
              (unsigned long long)says);
    if (root && !note_heads(k, root, says))
        found(k, "checkpoint %llu of the store has a head that is none", (unsigned long long)says);
    if (!keep_line(k, &l)) k->failed = true;
    arena_reset(&k->scratch);
    return !k->failed;
}

static void check_kept(struct verifying *k, struct str text)
{
    uint8_t    hash[SHA256_LEN];
    uint64_t   number = 0;
    struct jv *root = open_line(k, text, "that was kept", &number);

    if (!root) return;
    k->v->kept_count++;
    sha256_of(text, hash);
    if (number > k->last)
        found(k,
              "checkpoint %llu that was kept is not in the store: this is an older state of it, or "
              "its end was taken away",
              (unsigned long long)number);
    else if (memcmp(hash, k->lines[number - 1].hash, sizeof hash) == 0) return;
    else
        found(k, "checkpoint %llu of the store is not the one that was kept: it was made anew",
              (unsigned long long)number);
    if (!note_heads(k, root, number))
        found(k, "checkpoint %llu that was kept has a head that is none",
              (unsigned long long)number);
}

static void check_all_kept(struct verifying *k)
{
    struct str rest = k->v->kept, line;

    while (rest.len && str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len) check_kept(k, line);
        arena_reset(&k->scratch);
    }
    line = str_trim(rest);
    if (line.len) check_kept(k, line);
    arena_reset(&k->scratch);
}

/* --- logs -------------------------------------------------------------------------- */

void verify_broken(struct verifying *k, struct log_name log, const char *what, uint64_t seq)
{
    if (!k->broken)
        found(k, "conversation " STR_FMT " of " STR_FMT ": %s at fact %llu", STR_ARG(log.thread),
              STR_ARG(log.owner), what, (unsigned long long)seq);
    k->broken = true;
}

/* Its points at this seq. */
static void compare(struct verifying *k, struct log_name log, uint64_t seq, const uint8_t *head)
{
    struct noted *n = k->noted;

    while (n && n->next && n->next->seq <= seq) {
        if (n->next->seq < seq || memcmp(n->next->head, head, CHAIN_LEN) != 0)
            verify_broken(k, log, "it is not what a checkpoint noted", n->next->seq);
        n->next = n->next->next;
    }
}

/* Does one of its points have this seq? */
static bool is_noted(const struct noted *n, uint64_t seq)
{
    for (const struct point *p = n ? n->first : NULL; p; p = p->next)
        if (p->seq == seq) return true;
    return false;
}

/* A twin beside it would be compared with what checkpoints noted of the other one, or with nothing,
 * and might be what a server goes on with; beside a stub it would be one deletion told as two, or
 * what was deleted. */
static void only_once(struct verifying *k, struct log_name log, struct str key)
{
    struct str kept = arena_dup(k->a, key);

    if (map_get(&k->told, key)) verify_broken(k, log, "it is in the store twice", k->seq);
    else if (!kept.ptr || map_put(&k->told, kept, k)) k->failed = true;
}

static void begin(struct verifying *k, struct str name)
{
    k->chain = (struct chain_check){ 0 };
    k->noted = map_get(&k->logs, name);
    if (k->noted) k->noted->seen = true;
    snprintf(k->name, sizeof k->name, STR_FMT, STR_ARG(name));
    k->broken = false;
    k->seq = k->linked = 0;
    k->loss_count = 0;
}

static void end(struct verifying *k, struct log_name log, uint64_t seq)
{
    if (k->noted && k->noted->next && !k->broken)
        found(k,
              "conversation " STR_FMT " of " STR_FMT
              ": it ends at fact %llu, and checkpoint %llu noted fact %llu",
              STR_ARG(log.thread), STR_ARG(log.owner), (unsigned long long)seq,
              (unsigned long long)k->noted->next->number, (unsigned long long)k->noted->next->seq);
    k->done++;
    if (k->v->far) k->v->far(k->v->ctx, k->done, k->w.logs + k->w.stubs);
}

static bool on_log(struct store_walk *w, const struct walk_log *l)
{
    struct verifying *k = WORK(w);
    char              name[CHAIN_NAME + 1];

    if (!k->v->logs && !k->v->stubs) check_all_kept(k);
    chain_name(l->log, l->created_ms, name);
    begin(k, str_c(name));
    only_once(k, l->log, str_c(name));
    only_once(k, l->log,
              arena_printf(&k->scratch, STR_FMT "\n" STR_FMT, STR_ARG(l->log.owner),
                           STR_ARG(l->log.thread)));
    arena_reset(&k->scratch);
    k->v->logs++;
    return !k->failed;
}

/* --- their facts -------------------------------------------------------------------- */

static bool on_fact(struct store_walk *w, const struct walk_log *l, const struct store_fact *f,
                    struct chain_mark m)
{
    struct verifying *k = WORK(w);

    k->v->facts++;
    if (f->seq != k->seq + 1) verify_broken(k, l->log, "facts are missing", k->seq + 1);
    k->seq = f->seq;
    if (!chain_follows(&k->chain, l->log, f, m))
        verify_broken(k, l->log, "it is not what was appended", f->seq);
    if (m.link.ptr && !k->linked) k->linked = f->seq;
    if (m.digest.ptr) verify_lost(k, l->log, f, m.digest);
    if (str_is(f->kind, fact_name(FACT_FORKED))) verify_forked(k);
    if (str_is(f->kind, fact_name(FACT_TRIMMED))) verify_trimmed(k, l->log, f);
    if (f->seq == 1 && f->at_ms != l->created_ms)
        verify_broken(k, l->log, "it was made at another time", f->seq);
    if (k->chain.begun) compare(k, l->log, f->seq, k->chain.head);
    return !k->failed;
}

static bool on_log_end(struct store_walk *w, const struct walk_log *l)
{
    struct verifying *k = WORK(w);

    if (k->seq != l->seq) verify_broken(k, l->log, "its end is missing", k->seq + 1);
    else if (!chain_ends(&k->chain, l->head))
        verify_broken(k, l->log, "its head is another", k->seq);
    if (l->noted && !is_noted(k->noted, l->noted))
        verify_broken(k, l->log, "no checkpoint noted what the store says is noted", l->noted);
    verify_losses(k, l->log);
    k->v->before += k->chain.before;
    if (k->chain.begun && !is_noted(k->noted, k->seq)) k->v->ahead++;
    end(k, l->log, k->seq);
    return true;
}

/* --- stubs ------------------------------------------------------------------------- */

/* Is it called as it must be, and made when it says? The name is a hash of both and of the owner;
 * an owner who was erased took that away, and left the name as that of the thread and the time in
 * the last fact. */
static bool is_named(struct verifying *k, const struct walk_stub *s)
{
    char             name[CHAIN_NAME + 1];
    struct jv       *body = NULL;
    const struct jv *made;
    int64_t          ms = 0;
    bool             good;

    chain_name(s->log, s->created_ms, name);
    if (str_is(s->name, name)) return true;
    if (!str_is(s->kind, "erased") || !str_eq(s->name, s->log.thread)) return false;
    if (json_parse(&k->scratch, s->body, &body, NULL) == ERR_NOMEM) k->failed = true;
    made = jv_get(body, "created_ms");
    good = !made || (jv_int(made, &ms) && ms == s->created_ms);
    k->v->undated += !made;
    arena_reset(&k->scratch);
    return good;
}

/* Is this what the server signed of it? NULL: it is; else what is wrong. */
static const char *judge_claim(struct verifying *k, const struct walk_stub *s, struct str bare,
                               struct str jws)
{
    struct str payload = STR_NONE;
    struct jv *said = NULL;
    struct buf claim;
    enum err   e = sign_check(k->v->keys, jws, &k->scratch, &payload);

    if (e == ERR_NOT_FOUND) return "its stub was signed by another key than those given";
    if (e == ERR_NOMEM || (!e && json_parse(&k->scratch, payload, &said, NULL) == ERR_NOMEM))
        k->failed = true;
    int64_t from = jv_int_at(said, "unsigned", 0);
    buf_init(&claim, 0);
    vouch_stub_claim(&claim, k->name, s->removed_ms, bare, (uint64_t)from);
    bool same = !e && !claim.err && str_eq(payload, buf_view(&claim));
    buf_done(&claim);
    if (!same) return "its stub is not what was signed";
    return from && !verify_is_early(k, (uint64_t)from) ? "nobody had signed its stub" : NULL;
}

/* What is left must be what the server left: its digests would follow from any other as well. */
static void check_signed(struct verifying *k, const struct walk_stub *s)
{
    struct str  bare, jws;
    const char *wrong = NULL;

    if (!k->v->keys->count) return;
    if (vouch_open(&k->scratch, s->body, &bare, &jws)) k->failed = true;
    else if (jws.ptr) wrong = judge_claim(k, s, bare, jws);
    else if (!verify_is_early(k, s->seq)) wrong = "nobody signed its stub";
    if (wrong) verify_broken(k, s->log, wrong, s->seq);
    arena_reset(&k->scratch);
}

static bool on_stub(struct store_walk *w, const struct walk_stub *s)
{
    struct verifying *k = WORK(w);
    size_t            count = s->digests.len / CHAIN_LEN;
    const uint8_t    *digests = (const uint8_t *)s->digests.ptr;
    struct store_fact last = { s->seq, s->removed_ms, s->kind, s->body };
    uint8_t           digest[CHAIN_LEN];

    if (!k->v->logs && !k->v->stubs) check_all_kept(k);
    begin(k, s->name);
    only_once(k, s->log, s->name);
    k->v->stubs++;
    if (!count || s->digests.len % CHAIN_LEN || count > s->seq) {
        verify_broken(k, s->log, "its stub has no digests", s->seq);
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        chain_link(k->chain.head, digests + i * CHAIN_LEN);
        k->chain.begun = true;
        compare(k, s->log, s->seq - count + 1 + i, k->chain.head);
    }
    chain_digest(s->log, &last, digest);
    if (count && memcmp(digest, digests + (count - 1) * CHAIN_LEN, CHAIN_LEN) != 0)
        verify_broken(k, s->log, "its stub is not what was left", s->seq);
    if (count && !chain_ends(&k->chain, s->head))
        verify_broken(k, s->log, "its head is another", s->seq);
    if (!is_named(k, s))
        verify_broken(k, s->log, "its stub is another's, or of another time", s->seq);
    if (s->noted && !is_noted(k->noted, s->seq))
        verify_broken(k, s->log, "no checkpoint noted what the store says is noted", s->seq);
    if (!is_noted(k->noted, s->seq)) k->v->ahead++;
    check_signed(k, s);
    end(k, s->log, s->seq);
    return !k->failed;
}

/* Nobody's facts: no chain ties them, no reader finds them, and the next conversation that gets
 * this number would begin with them. */
static bool on_stray(struct store_walk *w, const struct walk_stray *s)
{
    struct verifying *k = WORK(w);

    if (s->noted)
        found(k, "fact %llu of conversation number %lld is said to be noted, and there is none",
              (unsigned long long)s->first, (long long)s->thread);
    else
        found(k,
              "%llu facts from fact %llu on belong to conversation number %lld, and there is none",
              (unsigned long long)s->count, (unsigned long long)s->first, (long long)s->thread);
    return true;
}

/* Told by the walk, denied by a server: nothing above sees that. */
static bool on_fault(struct store_walk *w, struct str sentence)
{
    found(WORK(w), STR_FMT, STR_ARG(sentence));
    return true;
}

/* --- the whole --------------------------------------------------------------------- */

/* Noted, and neither a log nor a stub. */
static void check_gone(struct verifying *k)
{
    const struct noted *n;

    for (size_t i = 0; (n = map_each(&k->logs, &i));)
        if (!n->seen)
            found(
                k,
                "the conversation that checkpoint %llu calls %s, with %llu facts, is gone without "
                "a stub",
                (unsigned long long)n->last->number, n->name, (unsigned long long)n->last->seq);
}

enum err verify_store(struct verify *v, struct str url, struct arena *a, struct str *why)
{
    struct verifying k = { .w = { .checkpoint = on_checkpoint,
                                  .log = on_log,
                                  .fact = on_fact,
                                  .log_end = on_log_end,
                                  .stub = on_stub,
                                  .stray = on_stray,
                                  .fault = on_fault },
                           .v = v,
                           .a = a };
    enum err         e;

    arena_init(&k.scratch, 0);
    map_init(&k.logs);
    map_init(&k.told);
    e = store_walk(url, &k.w, a, why);
    if (!e && !v->logs && !v->stubs) check_all_kept(&k);
    if (!e) check_gone(&k);
    if (e == ERR_CLOSED || k.failed) {
        *why = STR("not enough memory to hold all heads");
        e = ERR_NOMEM;
    }
    map_done(&k.logs);
    map_done(&k.told);
    mem_free(k.lines);
    mem_free(k.losses);
    arena_done(&k.scratch);
    return e;
}
