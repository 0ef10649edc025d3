/* verify_trim.c -- facts that lost words: whether the server took them out, as later facts say and
 * signatures vouch for (run/trim.h, run/vouch.h). */
#include "audit/verify_int.h"
#include "run/trim.h"
#include "run/vouch.h"

#define NEITHER "it is neither what was appended nor what was left of that"

/* Its link speaks for what was appended. What is there now must be named by a later fact, and may
 * be no decision: otherwise this would be a way to rewrite one. */
void verify_lost(struct verifying *k, struct log_name log, const struct store_fact *f,
                 struct str digest)
{
    if (!trim_may(f->kind)) verify_broken(k, log, "words are gone where none may go", f->seq);
    if (k->loss_count == k->loss_cap) {
        size_t       cap = k->loss_cap ? 2 * k->loss_cap : 64;
        struct loss *more = mem_realloc(k->losses, cap * sizeof *more);
        if (!more) {
            k->failed = true;
            return;
        }
        k->losses = more;
        k->loss_cap = cap;
    }
    struct loss *x = &k->losses[k->loss_count++];
    *x = (struct loss){ .seq = f->seq };
    if (digest.len == CHAIN_LEN) memcpy(x->was, digest.ptr, CHAIN_LEN);
    memcpy(x->left, x->was, CHAIN_LEN);
    chain_digest(log, f, x->now);
}

static struct loss *loss_at(const struct verifying *k, uint64_t seq)
{
    size_t lo = 0, hi = k->loss_count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (k->losses[mid].seq < seq) lo = mid + 1;
        else hi = mid;
    }
    return lo < k->loss_count && k->losses[lo].seq == seq ? &k->losses[lo] : NULL;
}

/* What was said so far was copied from another log, and is about that one. */
void verify_forked(struct verifying *k)
{
    for (size_t i = 0; i < k->loss_count; i++) {
        struct loss *x = &k->losses[i];
        memcpy(x->left, x->was, CHAIN_LEN);
        x->said = false;
        x->unsigned_by = 0;
        x->wrong = NULL;
    }
}

enum trim_is { TRIM_SIGNED, TRIM_UNSIGNED, TRIM_ELSEWHERE, TRIM_FORGED };

/* Whether this is what the server signed. A line for another log came with a copy of its facts. */
static enum trim_is judge_trim(struct verifying *k, const struct store_fact *f,
                               const struct jv *root, const char **wrong)
{
    const struct jv *data = jv_get(root, "data");
    struct str       jws = jv_str_at(root, "jws"), payload = STR_NONE;
    struct jv       *said = NULL;
    struct buf       claim;

    if (!k->v->keys->count || !jws.ptr || !data) return TRIM_UNSIGNED;
    enum err e = sign_check(k->v->keys, jws, &k->scratch, &payload);
    buf_init(&claim, 0);
    vouch_trim_claim(&claim, k->name, f->at_ms, jv_str_at(root, "note"), data->raw);
    bool same = !claim.err && str_eq(payload, buf_view(&claim));
    if (claim.err || e == ERR_NOMEM) k->failed = true;
    buf_done(&claim);
    if (!e && same) return TRIM_SIGNED;
    if (!e && json_parse(&k->scratch, payload, &said, NULL)) said = NULL;
    if (str_is(jv_str_at(said, "type"), "parley-trim") && !str_is(jv_str_at(said, "log"), k->name))
        return TRIM_ELSEWHERE;
    *wrong = e == ERR_NOT_FOUND ? "that words of it went was signed by another key than those given"
                                : "what is said of the words it lost is not what was signed";
    return TRIM_FORGED;
}

/* It goes on where what was said before ended. What earlier versions wrote does not say from where;
 * of several the last one counts. */
static void take_trim(struct loss *x, const struct jv *v, bool is_signed, uint64_t by)
{
    uint8_t left[CHAIN_LEN], was[CHAIN_LEN];
    bool    from = jv_at(v, 2) != NULL;

    if (!verify_hex(jv_str(jv_at(v, 1)), left, CHAIN_LEN) || (is_signed && !from) ||
        (from && (!verify_hex(jv_str(jv_at(v, 2)), was, CHAIN_LEN) ||
                  memcmp(was, x->left, CHAIN_LEN) != 0)))
        x->wrong = NEITHER;
    else memcpy(x->left, left, CHAIN_LEN);
    x->said = true;
    if (!is_signed) x->unsigned_by = by;
}

void verify_trimmed(struct verifying *k, struct log_name log, const struct store_fact *f)
{
    struct jv  *root = NULL;
    int64_t     seq = 0;
    const char *wrong = NULL;
    enum err    e = json_parse(&k->scratch, f->body, &root, NULL);

    if (e == ERR_NOMEM) k->failed = true;
    if (e) root = NULL;
    enum trim_is is = judge_trim(k, f, root, &wrong);
    JV_EACH (v, jv_get(root, "data")) {
        if (is == TRIM_ELSEWHERE || !jv_int(jv_at(v, 0), &seq)) continue;
        struct loss *x = loss_at(k, (uint64_t)seq);
        if (x && is == TRIM_FORGED) x->wrong = wrong;
        else if (x) take_trim(x, v, is == TRIM_SIGNED, f->seq);
        else if (is == TRIM_SIGNED && k->linked && (uint64_t)seq >= k->linked)
            verify_broken(k, log, "words that went are there again", (uint64_t)seq);
    }
    arena_reset(&k->scratch);
}

bool verify_is_early(const struct verifying *k, uint64_t seq)
{
    if (!k->signs) return true;
    for (const struct point *p = k->noted ? k->noted->first : NULL; p; p = p->next)
        if (p->number <= k->signs && p->seq >= seq) return true;
    return false;
}

void verify_losses(struct verifying *k, struct log_name log)
{
    uint64_t doubts = 0, first = 0;

    for (size_t i = 0; i < k->loss_count; i++) {
        const struct loss *x = &k->losses[i];
        if (x->wrong || !x->said || memcmp(x->left, x->now, CHAIN_LEN) != 0)
            verify_broken(k, log, x->wrong ? x->wrong : NEITHER, x->seq);
        else if (x->unsigned_by && k->v->keys->count && !verify_is_early(k, x->unsigned_by))
            verify_broken(k, log, "it lost words, and nobody signed that", x->seq);
        if (!x->unsigned_by) continue;
        if (!doubts++) first = x->seq;
    }
    k->v->trimmed += k->loss_count;
    k->v->unvouched += doubts;
    if (doubts && k->v->doubt && k->v->keys->count && !k->broken)
        k->v->doubt(
            k->v->ctx,
            arena_printf(&k->scratch,
                         "conversation " STR_FMT " of " STR_FMT
                         ": %llu facts lost words, from fact %llu on, and nobody signed that",
                         STR_ARG(log.thread), STR_ARG(log.owner), (unsigned long long)doubts,
                         (unsigned long long)first));
    arena_reset(&k->scratch);
}
