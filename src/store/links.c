/* links.c -- see links.h. */
#include "store/links.h"

#include "store/rows.h"

void chain_digest(struct log_name log, const struct store_fact *f, uint8_t out[CHAIN_LEN])
{
    struct sha256 h;

    sha256_begin(&h);
    sha256_text(&h, log.owner);
    sha256_text(&h, log.thread);
    sha256_int(&h, f->seq);
    sha256_int(&h, (uint64_t)f->at_ms);
    sha256_text(&h, f->kind);
    sha256_add(&h, f->body.ptr, f->body.len);
    sha256_end(&h, out);
}

void chain_link(uint8_t head[CHAIN_LEN], const uint8_t digest[CHAIN_LEN])
{
    struct sha256 h;

    sha256_begin(&h);
    sha256_add(&h, head, CHAIN_LEN);
    sha256_add(&h, digest, CHAIN_LEN);
    sha256_end(&h, head);
}

void chain_name(struct log_name log, int64_t created_ms, char out[CHAIN_NAME + 1])
{
    struct sha256 h;
    uint8_t       name[CHAIN_LEN];

    sha256_begin(&h);
    sha256_text(&h, log.owner);
    sha256_text(&h, log.thread);
    sha256_int(&h, (uint64_t)created_ms);
    sha256_end(&h, name);
    sha256_hex(name, CHAIN_NAME / 2, out);
}

/* --- comparing what is read -------------------------------------------------------- */

static bool is_link(struct str s)
{
    return s.len == CHAIN_LEN;
}

bool chain_from(struct chain_check *c, struct chain_mark m)
{
    if (!m.link.ptr) return true;
    if (!is_link(m.link)) return false;
    memcpy(c->head, m.link.ptr, CHAIN_LEN);
    c->begun = true;
    return true;
}

/* Of what was appended. */
static bool digest_of(struct log_name log, const struct store_fact *f, struct chain_mark m,
                      uint8_t out[CHAIN_LEN])
{
    chain_digest(log, f, out);
    if (!m.digest.ptr) return true;
    if (!is_link(m.digest)) return false;
    memcpy(out, m.digest.ptr, CHAIN_LEN);
    return true;
}

bool chain_follows(struct chain_check *c, struct log_name log, const struct store_fact *f,
                   struct chain_mark m)
{
    /* checksums are older than links: who has a link has both */
    bool    sound = m.summed ? m.sum == fact_sum(log, f) : !m.link.ptr;
    uint8_t digest[CHAIN_LEN];

    if (!m.link.ptr) {
        c->before++;
        return sound && !c->begun;
    }
    sound &= digest_of(log, f, m, digest);
    chain_link(c->head, digest);
    c->begun = true;
    return sound && is_link(m.link) && memcmp(c->head, m.link.ptr, CHAIN_LEN) == 0;
}

bool chain_ends(const struct chain_check *c, struct str head)
{
    if (!c->begun) return !head.ptr;
    return is_link(head) && memcmp(c->head, head.ptr, CHAIN_LEN) == 0;
}
