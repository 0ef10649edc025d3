/* budget.c -- see budget.h. */
#include "tool/budget.h"

bool budget_pay(struct budget *b, uint64_t steps)
{
    bool enough = steps <= b->left;
    b->left = enough ? b->left - steps : 0;
    return enough;
}

void budget_close(const struct budget *check, struct budget *turn)
{
    uint64_t used = BUDGET_CHECK - check->left;
    if (turn) turn->left -= used < turn->left ? used : turn->left;
}

/* Containers may have to be sorted: every byte of them is then looked at once per doubling of their
 * members. */
uint64_t budget_equal(const struct jv *a, const struct jv *b)
{
    size_t   shorter = a->raw.len < b->raw.len ? a->raw.len : b->raw.len;
    uint64_t per_byte = 2;
    if (a->type != b->type) return 1;
    switch (a->type) {
    case JSON_NULL:
    case JSON_BOOL: return 1;
    case JSON_NUMBER: return 3 + (a->raw.len + b->raw.len) / 4;
    case JSON_STRING: return a->str.len == b->str.len ? 2 + a->str.len / 64 : 1;
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    if (a->count != b->count) return 1;
    for (uint32_t n = a->count; n; n /= 2) per_byte++;
    return 1 + per_byte * shorter;
}
