/* match.c -- tokens, patterns and the few kinds of slots; see match.h. */
#include "model/demo/match.h"

#include "base/utf8.h"

/* Where Japanese text may be cut: every Japanese word of the script's patterns. */
static const char *const JAPANESE[] = {
    "さん",   "様",       "ちゃん",     "くん",     "君",         "氏",         "に",   "へ",
    "を",     "の",       "は",         "宛",       "送金",       "送って",     "送り", "振り込",
    "振込",   "支払",     "払",         "米ドル",   "ドル",       "ユーロ",     "円",   "ポンド",
    "ウォン", "元",       "天気",       "気温",     "論文",       "記事",       "探",   "検索",
    "調べ",   "について", "関する",     "変え",     "変更",       "トラック",   "私",   "ここ",
    "どこ",   "現在地",   "こんにちは", "おはよう", "こんばんは", "ありがとう", "と",   NULL,
};

static const struct {
    const char *words, *code;
} CURRENCIES[] = {
    { "$|dollar|dollars|buck|bucks|usd|ドル|米ドル", "USD" },
    { "€|euro|euros|eur|ユーロ", "EUR" },
    { "¥|￥|yen|jpy|円", "JPY" },
    { "£|pound|pounds|quid|gbp|sterling|ポンド", "GBP" },
    { "franc|francs|chf", "CHF" },
    { "₹|rupee|rupees|inr", "INR" },
    { "₩|won|krw|ウォン", "KRW" },
    { "yuan|renminbi|rmb|cny|元", "CNY" },
    { "peso|pesos|mxn", "MXN" },
    { "real|reais|brl", "BRL" },
    { "krona|kronor|sek", "SEK" },
    { "krone|kroner|nok", "NOK" },
    { "dkk", "DKK" },
    { "zloty|zlotys|zł|pln", "PLN" },
    { "koruna|korunas|czk", "CZK" },
    { "forint|forints|huf", "HUF" },
    { "lira|liras|₺|try", "TRY" },
    { "ruble|rubles|rouble|roubles|rub", "RUB" },
    { "hryvnia|hryvnias|uah", "UAH" },
    { "shekel|shekels|₪|ils", "ILS" },
    { "rand|zar", "ZAR" },
    { "naira|ngn", "NGN" },
    { "shilling|shillings|kes", "KES" },
    { "dirham|dirhams|aed", "AED" },
    { "riyal|riyals|sar", "SAR" },
    { "baht|thb", "THB" },
    { "ringgit|myr", "MYR" },
    { "rupiah|idr", "IDR" },
    { "dong|vnd", "VND" },
    { "cad", "CAD" },
    { "aud", "AUD" },
    { "nzd", "NZD" },
    { "sgd", "SGD" },
    { "hkd", "HKD" },
    { "bitcoin|bitcoins|btc", "BTC" },
    { "ether|eth", "ETH" },
};
/* "Canadian dollars": the first word decides. */
static const struct {
    const char *words, *code;
} DOLLARS[] = {
    { "us|u.s|american", "USD" },
    { "canadian", "CAD" },
    { "australian", "AUD" },
    { "singapore", "SGD" },
};

static const char SIGNS[] = "$€¥￥£₹₩₺₪&";
static const char WHO_ENDS[] = "and|to|for|because|then|also|&|と";

/* --- tokens ------------------------------------------------------------------ */

enum kind { BLANK, POINT, SIGN, DIGIT, LETTER, ASIAN };

static bool is_wide_digit(uint32_t cp)
{
    return cp >= 0xff10 && cp <= 0xff19;
}

static enum kind kind_of(struct str c, uint32_t cp)
{
    if (cp <= ' ' || cp == 0xa0 || cp == 0x3000) return BLANK;
    if (str_find(str_c(SIGNS), c) >= 0) return SIGN;
    if ((cp >= '0' && cp <= '9') || is_wide_digit(cp)) return DIGIT;
    if ((cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z') ||
        (cp < 0x80 && strchr("_@+#", (int)cp)))
        return LETTER;
    if (cp < 0x80 || (cp >= 0x2010 && cp <= 0x205e) || (cp >= 0x3001 && cp <= 0x3020) ||
        cp == 0x30fb)
        return POINT;
    if (cp >= 0xff01 && cp <= 0xff0f) return POINT;
    if (cp == 0xff1f || cp == 0xff1a || cp == 0xff1b) return POINT;
    return cp >= 0x2e80 ? ASIAN : LETTER;
}

static enum kind kind_at(struct str s, size_t at, unsigned *len)
{
    uint32_t cp;
    if (at >= s.len) {
        *len = 0;
        return BLANK;
    }
    *len = utf8_decode(str_from(s, at), &cp);
    return kind_of(str_n(s.ptr + at, *len), cp);
}

/* Length of the longest known Japanese word that stands at `at`; 0: none. */
static size_t japanese_at(struct str s, size_t at)
{
    size_t best = 0;
    for (const char *const *w = JAPANESE; *w; w++) {
        size_t n = strlen(*w);
        if (n > best && str_starts(str_from(s, at), str_n(*w, n))) best = n;
    }
    return best;
}

static size_t asian_end(struct str s, size_t at)
{
    size_t   known = japanese_at(s, at);
    unsigned n;
    if (known) return at + known;
    do {
        kind_at(s, at, &n);
        at += n;
    } while (kind_at(s, at, &n) == ASIAN && !japanese_at(s, at));
    return at;
}

/* Inside a word: "Next.js", "don't", "COVID-19", "1,000"; at its end it is punctuation. */
static bool joins(struct str s, size_t at, bool number)
{
    unsigned n;
    if (!strchr(number ? ".," : ".'-", s.ptr[at]))
        return str_starts(str_from(s, at), STR("’")) && !number;
    enum kind next = kind_at(s, at + 1, &n);
    return next == DIGIT || (!number && next == LETTER);
}

static size_t word_end(struct str s, size_t at, enum kind first)
{
    bool     number = first == DIGIT;
    unsigned n;
    for (;;) {
        enum kind k = kind_at(s, at, &n);
        if (at < s.len && k == POINT && joins(s, at, number)) {
            at += n;
            continue;
        }
        if (k != DIGIT && (number || k != LETTER)) return at;
        at += n;
    }
}

/* ".50" and "-5" are numbers too: dropping the sign would change them. */
static bool signed_number(struct str s, size_t at)
{
    unsigned n;
    return (s.ptr[at] == '.' || s.ptr[at] == '-') && kind_at(s, at + 1, &n) == DIGIT;
}

static size_t token_end(struct str s, size_t at, enum kind k, unsigned n)
{
    switch (k) {
    case SIGN: return at + n;
    case ASIAN: return asian_end(s, at);
    case POINT: return word_end(s, at + 1, DIGIT);
    default: return word_end(s, at, k);
    }
}

void tokens_read(struct tokens *t, struct str s)
{
    unsigned n;
    t->count = 0;
    for (size_t at = 0; at < s.len && t->count < TOKENS_MAX;) {
        enum kind k = kind_at(s, at, &n);
        if (k == POINT && t->count && strchr(",;.!?:", s.ptr[at])) t->at[t->count - 1].ends = true;
        if (k == POINT && n > 1 && t->count) t->at[t->count - 1].ends = true;
        if (k == BLANK || (k == POINT && !signed_number(s, at))) {
            at += n;
            continue;
        }
        size_t end = token_end(s, at, k, n);
        t->at[t->count++] = (struct token){ str_n(s.ptr + at, end - at), false };
        at = end;
    }
}

static bool word_in(struct str word, struct str alternatives)
{
    struct str one;
    while (str_split(&alternatives, '|', &one))
        if (str_eq_nocase(word, one)) return true;
    return false;
}

bool token_is(const struct token *t, const char *alternatives)
{
    return word_in(t->text, str_c(alternatives));
}

/* --- numbers ------------------------------------------------------------------- */

static const char *const SMALL[] = { "zero",    "one",     "two",       "three",    "four",
                                     "five",    "six",     "seven",     "eight",    "nine",
                                     "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                     "fifteen", "sixteen", "seventeen", "eighteen", "nineteen" };
static const char *const TENS[] = { "twenty", "thirty",  "forty",  "fifty",
                                    "sixty",  "seventy", "eighty", "ninety" };

/* "five", "fifty", "fifty-five" */
static bool number_word(struct str w, int *value)
{
    struct str rest = w, tens;
    int        ones = 0;
    str_split(&rest, '-', &tens);
    for (int i = 0; i < 20; i++)
        if (str_eq_nocase(w, str_c(SMALL[i]))) {
            *value = i;
            return true;
        }
    for (int i = 1; i < 10; i++)
        if (rest.ptr && str_eq_nocase(rest, str_c(SMALL[i]))) ones = i;
    for (int i = 0; i < 8 && (!rest.ptr || ones); i++)
        if (str_eq_nocase(tens, str_c(TENS[i]))) {
            *value = 20 + 10 * i + ones;
            return true;
        }
    return false;
}

static bool is_digits(struct str w)
{
    unsigned n;
    size_t   at = w.len && w.ptr[0] == '.' ? 1 : 0;
    return w.len && kind_at(w, at, &n) == DIGIT;
}

/* How many zeros a word after the number adds. */
static int zeros_of(struct str w)
{
    if (word_in(w, STR("hundred"))) return 2;
    if (word_in(w, STR("thousand|k"))) return 3;
    return word_in(w, STR("million")) ? 6 : 0;
}

/* Tokens that make one amount: "50", "twenty five", "5 thousand"; 0: none. */
static size_t amount_tokens(const struct token *t, size_t n)
{
    int    v;
    size_t k = 0;
    if (!n) return 0;
    if (is_digits(t[0].text)) k = 1;
    else if (number_word(t[0].text, &v)) {
        k = 1;
        if (v >= 20 && v % 10 == 0 && n > 1 && number_word(t[1].text, &v) && v > 0 && v < 10) k = 2;
    }
    if (k && k < n && zeros_of(t[k].text)) {
        /* "1.5 million": rather not understood than wrong */
        if (str_find(t[0].text, STR(".")) >= 0) return 0;
        k++;
    }
    return k;
}

/* A comma before exactly three digits groups thousands; else it is a decimal point. */
static bool groups(struct str w, size_t at)
{
    size_t n = 0;
    while (at + 1 + n < w.len && w.ptr[at + 1 + n] >= '0' && w.ptr[at + 1 + n] <= '9') n++;
    return n == 3;
}

static void add_digits(struct buf *out, struct str w)
{
    size_t   begin = out->len;
    unsigned n;
    for (size_t at = 0; at < w.len; at += n) {
        uint32_t cp;
        n = utf8_decode(str_from(w, at), &cp);
        if (is_wide_digit(cp)) cp = cp - 0xff10 + '0';
        if (cp == ',' && groups(w, at)) continue;
        if (cp == ',') cp = '.';
        if (cp == '.' && out->len == begin) buf_chr(out, '0');
        if (cp != '.' && out->len == begin + 1 && out->ptr && out->ptr[begin] == '0')
            buf_truncate(out, begin);
        buf_chr(out, (char)cp);
    }
}

void slot_number(struct buf *out, const struct slot *s)
{
    int sum = 0, v;
    if (is_digits(s->from[0].text)) add_digits(out, s->from[0].text);
    else {
        for (size_t i = 0; i < s->count; i++)
            if (number_word(s->from[i].text, &v)) sum += v;
        buf_i64(out, sum);
    }
    for (int z = zeros_of(s->from[s->count - 1].text); z > 0; z--) buf_chr(out, '0');
}

bool slot_is_number(const struct slot *s)
{
    return s->count == 1 && is_digits(s->from[0].text);
}

/* --- currencies ------------------------------------------------------------------ */

static bool is_code(struct str w)
{
    for (size_t i = 0; i < w.len; i++)
        if (w.ptr[i] < 'A' || w.ptr[i] > 'Z') return false;
    return w.len == 3;
}

static const char *currency_of(struct str w)
{
    for (size_t i = 0; i < sizeof CURRENCIES / sizeof *CURRENCIES; i++)
        if (word_in(w, str_c(CURRENCIES[i].words))) return CURRENCIES[i].code;
    return NULL;
}

static size_t currency_tokens(const struct token *t, size_t n)
{
    if (!n) return 0;
    for (size_t i = 0; i < sizeof DOLLARS / sizeof *DOLLARS; i++)
        if (n > 1 && token_is(t, DOLLARS[i].words) && token_is(t + 1, "dollar|dollars|$")) return 2;
    return currency_of(t[0].text) || is_code(t[0].text);
}

struct str slot_currency(const struct slot *s)
{
    for (size_t i = 0; s->count == 2 && i < sizeof DOLLARS / sizeof *DOLLARS; i++)
        if (token_is(s->from, DOLLARS[i].words)) return str_c(DOLLARS[i].code);
    const char *code = currency_of(s->from[0].text);
    return code ? str_c(code) : s->from[0].text;
}

/* --- patterns ---------------------------------------------------------------------- */

static bool here(struct str p, const struct token *t, size_t n, struct match *m);

static bool fits(const struct slot *s, struct str rest, const struct token *t, size_t n,
                 struct match *m)
{
    if (!here(rest, t + s->count, n - s->count, m)) return false;
    if (m->count < SLOTS_MAX) m->slots[m->count++] = *s;
    return true;
}

/* The fewest tokens that let the rest of the pattern fit. */
static bool slot_here(struct str name, struct str rest, const struct token *t, size_t n,
                      struct match *m)
{
    struct slot s = { name, t, 0 };
    bool        who = str_starts(name, STR("who"));
    if (str_is(name, "amount")) return (s.count = amount_tokens(t, n)) && fits(&s, rest, t, n, m);
    if (str_is(name, "currency"))
        return (s.count = currency_tokens(t, n)) && fits(&s, rest, t, n, m);
    for (s.count = 1; s.count <= n; s.count++) {
        const struct token *last = t + s.count - 1;
        if (who && (s.count > 4 || token_is(last, WHO_ENDS) || is_digits(last->text))) return false;
        if (fits(&s, rest, t, n, m)) return true;
    }
    return false;
}

static bool here(struct str p, const struct token *t, size_t n, struct match *m)
{
    struct str e;
    p = str_trim(p);
    if (!p.len) return n == 0;
    str_split(&p, ' ', &e);
    if (str_is(e, "...")) return true;
    if (str_is(e, "~")) return n == 0 || token_is(t, "for|because|as|since");
    if (e.ptr[0] == '<') return slot_here(str_n(e.ptr + 1, e.len - 2), p, t, n, m);
    bool optional = e.ptr[0] == '[';
    if (optional) e = str_n(e.ptr + 1, e.len - 2);
    if (n && word_in(t->text, e) && here(p, t + 1, n - 1, m)) return true;
    return optional && here(p, t, n, m);
}

bool match_tokens(const char *pattern, const struct token *t, size_t n, struct match *out)
{
    struct match m = { .count = 0 };
    if (!here(str_c(pattern), t, n, &m)) return false;
    *out = m;
    return true;
}

const struct slot *match_slot(const struct match *m, struct str name)
{
    for (size_t i = 0; i < m->count; i++)
        if (str_eq(m->slots[i].name, name)) return &m->slots[i];
    return NULL;
}

struct str slot_text(const struct slot *s)
{
    const struct token *last = s->from + s->count - 1;
    return str_n(s->from->text.ptr, (size_t)(last->text.ptr + last->text.len - s->from->text.ptr));
}
