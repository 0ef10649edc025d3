/* pattern.c -- parse into a tree, write the tree out as a program, run the
 * program on all its threads at once (Thompson, Pike).
 *
 * The program has at most OPS_MAX steps, a text position costs at most one visit of each, so
 * the time is bounded by OPS_MAX x characters whatever the pattern. Writing it visits at most
 * VISITS_MAX nodes: what is empty writes nothing, and yet could be repeated a thousand times a
 * thousand times. Everything lives in the arena of pattern_compile.
 */
#include "tool/pattern.h"

#include "base/utf8.h"

#define OPS_MAX     2000 /* {1,1000} of one character still fits */
#define VISITS_MAX  20000
#define DEPTH_MAX   64 /* nested groups; the parser recurses */
#define REPEAT_MAX  1000
#define REPEAT_OPEN UINT32_MAX
#define SOURCE_MAX  10000
#define NO_CHAR     UINT32_MAX

struct range {
    uint32_t lo, hi;
};
struct class
{
    struct range *ranges;
    size_t        count;
    bool          negated;
};

enum node_type {
    N_EMPTY,
    N_CHAR,
    N_ANY,
    N_CLASS,
    N_BEGIN,
    N_END,
    N_WORD,
    N_NOT_WORD,
    N_CAT,
    N_ALT,
    N_REPEAT
};

struct node {
    enum node_type type;
    uint32_t       ch;
    struct class class;
    struct node *left, *right;
    uint32_t     min, max; /* REPEAT; max may be REPEAT_OPEN */
};

enum op_type {
    OP_CHAR,
    OP_ANY,
    OP_CLASS,
    OP_BEGIN,
    OP_END,
    OP_WORD,
    OP_NOT_WORD,
    OP_SPLIT,
    OP_JUMP,
    OP_MATCH
};

struct op {
    enum op_type type;
    uint32_t     ch;
    struct class *class;
    unsigned x, y; /* SPLIT: both; JUMP: x */
};

struct threads {
    unsigned *pc;
    unsigned  count;
    unsigned *mark;
    unsigned  stamp;
};

struct pattern {
    struct op     *ops;
    unsigned       count;
    struct threads now, next;
    unsigned      *stack;
};

struct parser {
    struct arena *arena;
    struct str    src;
    size_t        at;
    unsigned      depth;
    enum err      err;
};

static bool is_word(uint32_t c)
{
    return c < 128 &&
           ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_');
}

/* --- parsing ---------------------------------------------------------------- */

static struct node *parse_alternatives(struct parser *p);

static struct node *fail(struct parser *p, enum err e)
{
    if (!p->err) p->err = e;
    return NULL;
}

static bool more(const struct parser *p)
{
    return !p->err && p->at < p->src.len;
}
static char look(const struct parser *p)
{
    return more(p) ? p->src.ptr[p->at] : '\0';
}

static bool take(struct parser *p, char c)
{
    if (!more(p) || look(p) != c) return false;
    p->at++;
    return true;
}

static struct node *new_node(struct parser *p, enum node_type type)
{
    struct node *n = arena_new(p->arena, struct node);
    if (!n) return fail(p, ERR_NOMEM);
    n->type = type;
    return n;
}

static struct node *pair(struct parser *p, enum node_type type, struct node *left,
                         struct node *right)
{
    struct node *n = new_node(p, type);
    if (!n) return NULL;
    n->left = left;
    n->right = right;
    return n;
}

static uint32_t next_char(struct parser *p)
{
    uint32_t cp = 0;
    p->at += utf8_decode(str_from(p->src, p->at), &cp);
    return cp;
}

static void add_range(struct parser *p, struct class *c, uint32_t lo, uint32_t hi)
{
    if ((c->count & (c->count - 1)) == 0) { /* full: 0, 1, 2, 4, 8 ... */
        struct range *wider = arena_array(p->arena, c->count ? 2 * c->count : 1, sizeof *wider);
        if (!wider) {
            fail(p, ERR_NOMEM);
            return;
        }
        if (c->count) memcpy(wider, c->ranges, c->count * sizeof *wider);
        c->ranges = wider;
    }
    c->ranges[c->count++] = (struct range){ lo, hi };
}

/* \d \w \s and their opposites. The complement is spelled out in ranges, so that it can stand
 * inside a class. */
static bool add_named(struct parser *p, struct class *c, char name)
{
    static const struct range digit[] = { { '0', '9' } };
    static const struct range word[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
    static const struct range space[] = { { 9, 13 },          { 32, 32 },
                                          { 0xA0, 0xA0 },     { 0x1680, 0x1680 },
                                          { 0x2000, 0x200A }, { 0x2028, 0x2029 },
                                          { 0x202F, 0x202F }, { 0x205F, 0x205F },
                                          { 0x3000, 0x3000 }, { 0xFEFF, 0xFEFF } };
    const struct range       *set;
    size_t                    count;
    uint32_t                  from = 0;

    switch (name | 0x20) {
    case 'd':
        set = digit;
        count = 1;
        break;
    case 'w':
        set = word;
        count = 4;
        break;
    case 's':
        set = space;
        count = sizeof space / sizeof *space;
        break;
    default: return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (name & 0x20) add_range(p, c, set[i].lo, set[i].hi);
        else if (set[i].lo > from) add_range(p, c, from, set[i].lo - 1);
        from = set[i].hi + 1;
    }
    if (!(name & 0x20)) add_range(p, c, from, 0x10FFFF);
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static uint32_t parse_hex(struct parser *p, unsigned min, unsigned max)
{
    uint32_t v = 0;
    unsigned n = 0;
    while (n < max && more(p) && hex_value(look(p)) >= 0) {
        v = v * 16 + (uint32_t)hex_value(look(p));
        p->at++;
        n++;
    }
    if (n < min || v > 0x10FFFF) fail(p, ERR_SYNTAX);
    return v;
}

static uint32_t parse_unicode(struct parser *p)
{
    if (take(p, '{')) {
        uint32_t v = parse_hex(p, 1, 6);
        if (!take(p, '}')) fail(p, ERR_SYNTAX);
        return v;
    }
    uint32_t v = parse_hex(p, 4, 4);
    if (v < 0xD800 || v > 0xDBFF) return v;
    size_t mark = p->at; /* a pair of escapes is one character */
    if (take(p, '\\') && take(p, 'u')) {
        uint32_t low = parse_hex(p, 4, 4);
        if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
    }
    p->at = mark;
    return v;
}

/* The character after a backslash that stands for one character. */
static uint32_t parse_escape(struct parser *p)
{
    if (!more(p)) {
        fail(p, ERR_SYNTAX);
        return 0;
    }
    char c = look(p);
    switch (c) {
    case 't': p->at++; return '\t';
    case 'n': p->at++; return '\n';
    case 'r': p->at++; return '\r';
    case 'f': p->at++; return '\f';
    case 'v': p->at++; return '\v';
    case '0': p->at++; return 0;
    case 'x': p->at++; return parse_hex(p, 2, 2);
    case 'u': p->at++; return parse_unicode(p);
    case 'c':
    case 'k':
    case 'p':
    case 'P': fail(p, ERR_UNSUPPORTED); return 0;
    default: break;
    }
    if (c >= '1' && c <= '9') fail(p, ERR_UNSUPPORTED); /* a back reference */
    return next_char(p);
}

static uint32_t parse_class_char(struct parser *p)
{
    if (!take(p, '\\')) return next_char(p);
    if (take(p, 'b')) return '\b';
    return parse_escape(p);
}

static bool parse_class_named(struct parser *p, struct class *c)
{
    if (look(p) != '\\' || p->at + 1 >= p->src.len) return false;
    if (!add_named(p, c, p->src.ptr[p->at + 1])) return false;
    p->at += 2;
    return true;
}

static struct node *parse_class(struct parser *p)
{
    struct node *n = new_node(p, N_CLASS);
    if (!n) return NULL;
    n->class.negated = take(p, '^');
    while (more(p) && look(p) != ']') {
        if (parse_class_named(p, &n->class)) continue;
        uint32_t lo = parse_class_char(p), hi = lo;
        if (look(p) == '-' && p->at + 1 < p->src.len && p->src.ptr[p->at + 1] != ']') {
            size_t mark = p->at++;
            struct class probe = { 0 };
            if (parse_class_named(p, &probe)) p->at = mark + 1, add_range(p, &n->class, '-', '-');
            else hi = parse_class_char(p);
        }
        if (hi < lo) return fail(p, ERR_SYNTAX);
        add_range(p, &n->class, lo, hi);
    }
    if (!take(p, ']')) return fail(p, ERR_SYNTAX);
    return n;
}

static struct node *parse_group(struct parser *p)
{
    if (take(p, '?')) {
        if (take(p, '<')) { /* (?<name>...): a group like any other; (?<= and (?<! are not */
            while (more(p) && is_word((unsigned char)look(p))) p->at++;
            if (!take(p, '>')) return fail(p, ERR_UNSUPPORTED);
        } else if (!take(p, ':')) return fail(p, ERR_UNSUPPORTED);
    }
    if (++p->depth > DEPTH_MAX) return fail(p, ERR_UNSUPPORTED);
    struct node *n = parse_alternatives(p);
    p->depth--;
    if (!take(p, ')')) return fail(p, ERR_SYNTAX);
    return n;
}

static struct node *parse_backslash(struct parser *p)
{
    struct node *n = new_node(p, N_CLASS);
    if (!n) return NULL;
    if (take(p, 'b')) n->type = N_WORD;
    else if (take(p, 'B')) n->type = N_NOT_WORD;
    else if (more(p) && add_named(p, &n->class, look(p))) p->at++;
    else {
        n->type = N_CHAR;
        n->ch = parse_escape(p);
    }
    return n;
}

static uint32_t parse_count(struct parser *p)
{
    uint32_t v = 0;
    while (more(p) && look(p) >= '0' && look(p) <= '9') {
        v = v * 10 + (uint32_t)(look(p) - '0');
        if (v > REPEAT_MAX) fail(p, ERR_UNSUPPORTED);
        p->at++;
    }
    return v;
}

/* "{n}", "{n,}" or "{n,m}"; anything else after a brace is a literal brace. */
static bool parse_braces(struct parser *p, uint32_t *min, uint32_t *max)
{
    size_t mark = p->at;
    if (!take(p, '{')) return false;
    char c = look(p);
    if (c >= '0' && c <= '9') {
        *min = *max = parse_count(p);
        if (take(p, ',')) *max = look(p) == '}' ? REPEAT_OPEN : parse_count(p);
        if (*max < *min) fail(p, ERR_SYNTAX);
        if (take(p, '}')) return true;
    }
    p->at = mark;
    *min = 0;
    *max = REPEAT_OPEN;
    return false;
}

static struct node *parse_atom(struct parser *p)
{
    struct node *n;
    uint32_t     min, max;
    switch (look(p)) {
    case '(': p->at++; return parse_group(p);
    case '[': p->at++; return parse_class(p);
    case '.': p->at++; return new_node(p, N_ANY);
    case '^': p->at++; return new_node(p, N_BEGIN);
    case '$': p->at++; return new_node(p, N_END);
    case '\\': p->at++; return parse_backslash(p);
    case '*':
    case '+':
    case '?': return fail(p, ERR_SYNTAX);
    case '{':
        if (parse_braces(p, &min, &max)) return fail(p, ERR_SYNTAX); /* nothing to repeat */
        /* fall through */
    default:
        n = new_node(p, N_CHAR);
        if (n) n->ch = next_char(p);
        return n;
    }
}

static struct node *parse_repeat(struct parser *p)
{
    uint32_t     min = 0, max = REPEAT_OPEN;
    struct node *n = parse_atom(p);
    if (!n || p->err) return NULL;
    if (take(p, '*')) min = 0;
    else if (take(p, '+')) min = 1;
    else if (take(p, '?')) max = 1;
    else if (!parse_braces(p, &min, &max)) return n;
    take(p, '?'); /* lazy: the same language */
    struct node *r = pair(p, N_REPEAT, n, NULL);
    if (!r) return NULL;
    r->min = min;
    r->max = max;
    return r;
}

static struct node *parse_sequence(struct parser *p)
{
    struct node *n = new_node(p, N_EMPTY);
    while (more(p) && look(p) != '|' && look(p) != ')') {
        struct node *right = parse_repeat(p);
        if (!right) return NULL;
        n = pair(p, N_CAT, n, right);
    }
    return n;
}

static struct node *parse_alternatives(struct parser *p)
{
    struct node *n = parse_sequence(p);
    while (take(p, '|')) {
        struct node *right = parse_sequence(p);
        n = pair(p, N_ALT, n, right);
    }
    return p->err ? NULL : n;
}

/* --- writing the program ---------------------------------------------------- */

struct writer {
    struct op *ops;
    unsigned   count, visits;
    bool       full;
};

static unsigned put(struct writer *w, enum op_type type)
{
    if (w->count == OPS_MAX) {
        w->full = true;
        return 0;
    }
    w->ops[w->count] = (struct op){ .type = type };
    return w->count++;
}

static void write_node(struct writer *w, struct node *n);

static void write_star(struct writer *w, struct node *child)
{
    unsigned split = put(w, OP_SPLIT);
    w->ops[split].x = w->count;
    write_node(w, child);
    unsigned jump = put(w, OP_JUMP);
    if (w->full) return;
    w->ops[jump].x = split;
    w->ops[split].y = w->count;
}

static void write_repeat(struct writer *w, const struct node *n)
{
    for (uint32_t i = 0; i < n->min && !w->full; i++) {
        unsigned before = w->count;
        write_node(w, n->left);
        if (w->count == before) break; /* repeats nothing: once is enough */
    }
    if (n->max == REPEAT_OPEN) {
        write_star(w, n->left);
        return;
    }
    for (uint32_t i = n->min; i < n->max && !w->full; i++) {
        unsigned split = put(w, OP_SPLIT);
        w->ops[split].x = w->count;
        write_node(w, n->left);
        if (!w->full) w->ops[split].y = w->count;
    }
}

static void write_alt(struct writer *w, const struct node *n)
{
    unsigned split = put(w, OP_SPLIT);
    w->ops[split].x = w->count;
    write_node(w, n->left);
    unsigned jump = put(w, OP_JUMP);
    if (w->full) return;
    w->ops[split].y = w->count;
    write_node(w, n->right);
    w->ops[jump].x = w->count;
}

/* A long sequence leans to the left; it is walked, not recursed into. */
static void write_cat(struct writer *w, struct node *n)
{
    struct node *up = NULL;
    while (n->type == N_CAT) { /* reverse the left spine ... */
        struct node *left = n->left;
        n->left = up;
        up = n;
        n = left;
    }
    write_node(w, n);
    while (up) { /* ... and put it back while going up */
        struct node *above = up->left;
        write_node(w, up->right);
        up->left = n;
        n = up;
        up = above;
    }
}

static void write_node(struct writer *w, struct node *n)
{
    static const enum op_type plain[] = {
        [N_ANY] = OP_ANY,           [N_BEGIN] = OP_BEGIN, [N_END] = OP_END,    [N_WORD] = OP_WORD,
        [N_NOT_WORD] = OP_NOT_WORD, [N_CHAR] = OP_CHAR,   [N_CLASS] = OP_CLASS
    };
    unsigned at;
    if (++w->visits > VISITS_MAX) w->full = true;
    if (w->full) return;
    switch (n->type) {
    case N_EMPTY: return;
    case N_CAT: write_cat(w, n); return;
    case N_ALT: write_alt(w, n); return;
    case N_REPEAT: write_repeat(w, n); return;
    case N_CHAR:
    case N_ANY:
    case N_CLASS:
    case N_BEGIN:
    case N_END:
    case N_WORD:
    case N_NOT_WORD:
        at = put(w, plain[n->type]);
        w->ops[at].ch = n->ch;
        w->ops[at].class = &n->class;
        return;
    }
    must(!"node type");
}

static bool threads_new(struct arena *a, struct threads *t, unsigned count)
{
    t->pc = arena_array(a, count, sizeof *t->pc);
    t->mark = arena_array(a, count, sizeof *t->mark);
    return t->pc && t->mark;
}

enum err pattern_compile(struct arena *a, struct str source, struct pattern **out)
{
    if (source.len > SOURCE_MAX) return ERR_UNSUPPORTED;
    struct parser p = { .arena = a, .src = source };
    struct node  *tree = parse_alternatives(&p);
    if (!p.err && p.at < source.len) p.err = ERR_SYNTAX; /* a ')' too many */
    if (p.err || !tree) return p.err ? p.err : ERR_NOMEM;

    static struct op ops[OPS_MAX]; /* patterns are made on the loop thread only */
    struct writer    w = { .ops = ops };
    write_node(&w, tree);
    put(&w, OP_MATCH);
    if (w.full) return ERR_UNSUPPORTED;

    struct pattern *made = arena_new(a, struct pattern);
    if (!made || !(made->ops = arena_array(a, w.count, sizeof *made->ops))) return ERR_NOMEM;
    memcpy(made->ops, ops, w.count * sizeof *ops);
    made->count = w.count;
    made->stack = arena_array(a, 2 * (size_t)w.count + 1, sizeof *made->stack);
    if (!made->stack || !threads_new(a, &made->now, w.count) ||
        !threads_new(a, &made->next, w.count))
        return ERR_NOMEM;
    *out = made;
    return OK;
}

/* --- running ------------------------------------------------------------------ */

static bool in_class(const struct class *c, uint32_t ch)
{
    for (size_t i = 0; i < c->count; i++)
        if (ch >= c->ranges[i].lo && ch <= c->ranges[i].hi) return !c->negated;
    return c->negated;
}

static bool takes(const struct op *op, uint32_t ch)
{
    switch (op->type) {
    case OP_CHAR: return op->ch == ch;
    case OP_ANY: return ch != '\n' && ch != '\r' && ch != 0x2028 && ch != 0x2029;
    case OP_CLASS: return in_class(op->class, ch);
    default: return false;
    }
}

/* Between `before` and `after` (NO_CHAR at the ends of the text): may it pass? */
static bool passes(enum op_type type, uint32_t before, uint32_t after)
{
    bool edge = (before != NO_CHAR && is_word(before)) != (after != NO_CHAR && is_word(after));
    switch (type) {
    case OP_BEGIN: return before == NO_CHAR;
    case OP_END: return after == NO_CHAR;
    case OP_WORD: return edge;
    case OP_NOT_WORD: return !edge;
    default: return false;
    }
}

/* Follows everything from pc that takes no character. True: the match is there. */
static bool add_thread(struct pattern *p, struct threads *t, unsigned pc, uint32_t before,
                       uint32_t after, uint64_t *steps)
{
    unsigned depth = 0;
    p->stack[depth++] = pc;
    while (depth) {
        pc = p->stack[--depth];
        if (t->mark[pc] == t->stamp) continue;
        t->mark[pc] = t->stamp;
        (*steps)++;
        const struct op *op = &p->ops[pc];
        switch (op->type) {
        case OP_MATCH: return true;
        case OP_JUMP: p->stack[depth++] = op->x; break;
        case OP_SPLIT:
            p->stack[depth++] = op->y;
            p->stack[depth++] = op->x;
            break;
        case OP_CHAR:
        case OP_ANY:
        case OP_CLASS: t->pc[t->count++] = pc; break;
        case OP_BEGIN:
        case OP_END:
        case OP_WORD:
        case OP_NOT_WORD:
            if (passes(op->type, before, after)) p->stack[depth++] = pc + 1;
            break;
        }
    }
    return false;
}

static void threads_clear(struct threads *t)
{
    t->count = 0;
    t->stamp++;
}

enum err pattern_search(struct pattern *p, struct str text, uint64_t *work, bool *found)
{
    struct threads *now = &p->now, *next = &p->next, *swap;
    uint32_t        before = NO_CHAR, ch, after;
    size_t          at = 0;

    threads_clear(now);
    for (;;) {
        uint64_t steps = 1;
        unsigned len = 0;
        ch = NO_CHAR;
        if (at < text.len) len = utf8_decode(str_from(text, at), &ch);
        if (add_thread(p, now, 0, before, ch, &steps)) goto hit; /* a match may begin anywhere */
        if (!len) break;
        after = NO_CHAR;
        if (at + len < text.len) utf8_decode(str_from(text, at + len), &after);
        threads_clear(next);
        for (unsigned i = 0; i < now->count; i++) {
            const struct op *op = &p->ops[now->pc[i]];
            steps += 1 + (op->type == OP_CLASS ? op->class->count / 8 : 0);
            if (steps > *work) break;
            if (takes(op, ch) && add_thread(p, next, now->pc[i] + 1, ch, after, &steps)) goto hit;
        }
        if (steps > *work) return ERR_RANGE;
        *work -= steps;
        swap = now;
        now = next;
        next = swap;
        before = ch;
        at += len;
    }
    *found = false;
    return OK;
hit:
    *found = true;
    return OK;
}
