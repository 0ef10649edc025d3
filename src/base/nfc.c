/* nfc.c -- see nfc.h. As UAX #15 has it: take apart, put the marks of each character in order, put
 * together again. */
#include "base/nfc.h"

#include "base/arena.h"
#include "base/nfc_table.h"
#include "base/utf8.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Hangul syllables are computed: an initial, a vowel, maybe a final. */
#define S_BASE  0xac00u
#define L_BASE  0x1100u
#define V_BASE  0x1161u
#define T_BASE  0x11a7u
#define L_COUNT 19u
#define V_COUNT 21u
#define T_COUNT 28u
#define S_COUNT (L_COUNT * V_COUNT * T_COUNT)

/* --- the tables ------------------------------------------------------------------------------- */

/* Its row in NFC_PARTS; NULL: it is not made of others. */
static const uint32_t *parts_of(uint32_t cp)
{
    size_t low = 0, high = COUNT(NFC_PARTS);
    while (low < high) {
        size_t at = (low + high) / 2;
        if (NFC_PARTS[at][0] == cp) return NFC_PARTS[at];
        if (NFC_PARTS[at][0] < cp) low = at + 1;
        else high = at;
    }
    return NULL;
}

/* What two become; 0: they stay two. */
static uint32_t joined(uint32_t a, uint32_t b)
{
    size_t low = 0, high = COUNT(NFC_JOINS);
    if (a - L_BASE < L_COUNT && b - V_BASE < V_COUNT)
        return S_BASE + ((a - L_BASE) * V_COUNT + (b - V_BASE)) * T_COUNT;
    if (a - S_BASE < S_COUNT && (a - S_BASE) % T_COUNT == 0 && b - T_BASE - 1 < T_COUNT - 1)
        return a + (b - T_BASE);
    while (low < high) {
        size_t          at = (low + high) / 2;
        const uint32_t *p = NFC_PARTS[NFC_JOINS[at]];
        if (p[1] == a && p[2] == b) return p[0];
        if (p[1] < a || (p[1] == a && p[2] < b)) low = at + 1;
        else high = at;
    }
    return 0;
}

/* Where a mark is drawn: marks of different classes may be written in any order. 0: no mark. */
static unsigned class_of(uint32_t cp)
{
    size_t low = 0, high = COUNT(NFC_CLASSES);
    while (low < high) {
        size_t at = (low + high) / 2;
        if (cp < NFC_CLASSES[at][0]) high = at;
        else if (cp > NFC_CLASSES[at][1]) low = at + 1;
        else return NFC_CLASSES[at][2];
    }
    return 0;
}

/* --- taking apart ----------------------------------------------------------------------------- */

struct chars {
    uint32_t *cp;
    size_t    count;
};

static void put(struct chars *out, uint32_t cp)
{
    out->cp[out->count++] = cp;
}

#define APART_MAX 4 /* of one character; Unicode promises it */
static void put_apart(struct chars *out, uint32_t cp)
{
    uint32_t        tail[APART_MAX];
    size_t          n = 0;
    const uint32_t *p;
    if (cp - S_BASE < S_COUNT) {
        uint32_t s = cp - S_BASE, t = s % T_COUNT;
        put(out, L_BASE + s / (V_COUNT * T_COUNT));
        put(out, V_BASE + s % (V_COUNT * T_COUNT) / T_COUNT);
        if (t) put(out, T_BASE + t);
        return;
    }
    for (; cp >= 0xc0 && (p = parts_of(cp)); cp = p[1])
        if (p[2]) tail[n++] = p[2];
    put(out, cp);
    while (n) put(out, tail[--n]);
}

/* --- marks in order --------------------------------------------------------------------------- */

/* Those of one class stay in their order. Counted, not compared: a million marks on one letter are
 * a text, too. */
static void sort_marks(uint32_t *cp, size_t count, uint32_t *room)
{
    size_t at[256] = { 0 }, sum = 0;
    for (size_t i = 0; i < count; i++) at[class_of(cp[i])]++;
    for (size_t c = 0; c < 256; c++) {
        size_t n = at[c];
        at[c] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++) room[at[class_of(cp[i])]++] = cp[i];
    memcpy(cp, room, count * sizeof *cp);
}

static void sort_all(struct chars *x, uint32_t *room)
{
    for (size_t i = 0; i < x->count; i++) {
        size_t from = i;
        while (i < x->count && class_of(x->cp[i])) i++;
        if (i - from > 1) sort_marks(x->cp + from, i - from, room);
    }
}

/* --- together again --------------------------------------------------------------------------- */

/* A character joins the last that is no mark unless one stands between them that is drawn at the
 * same place, or is no mark. */
static void join(struct chars *x)
{
    size_t   kept = 0, base = SIZE_MAX;
    unsigned last = 0; /* class of what was kept last behind `base`; 0: nothing was */
    for (size_t i = 0; i < x->count; i++) {
        uint32_t cp = x->cp[i], both = 0;
        unsigned here = class_of(cp);
        bool     next = base != SIZE_MAX && (kept == base + 1 || (last && last < here));
        if (next && (both = joined(x->cp[base], cp))) {
            x->cp[base] = both;
            continue;
        }
        if (!here) base = kept;
        last = here;
        x->cp[kept++] = cp;
    }
    x->count = kept;
}

/* --- a text ----------------------------------------------------------------------------------- */

/* Below U+0300 nothing is a mark, and nothing is made of what others write as one. */
#define FIRST_LEAD 0xcc
bool nfc_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= FIRST_LEAD) return false;
    return true;
}

static void add_hard(struct buf *out, struct str text)
{
    struct chars x = { .cp = mem_alloc((utf8_count(text) * APART_MAX + 1) * sizeof *x.cp) };
    uint32_t    *room, cp;
    unsigned     n;
    char         bytes[4];
    if (!x.cp) {
        out->err = ERR_NOMEM;
        return;
    }
    for (; text.len; text = str_from(text, n)) {
        n = utf8_decode(text, &cp);
        put_apart(&x, cp);
    }
    if ((room = mem_alloc((x.count + 1) * sizeof *room))) {
        sort_all(&x, room);
        join(&x);
        for (size_t i = 0; i < x.count; i++) buf_add(out, bytes, utf8_encode(x.cp[i], bytes));
    } else out->err = ERR_NOMEM;
    mem_free(room);
    mem_free(x.cp);
}

void nfc_add(struct buf *out, struct str text)
{
    if (nfc_plain(text)) buf_str(out, text);
    else add_hard(out, text);
}
