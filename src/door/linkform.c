/* linkform.c -- see linkform.h. */
#include "door/linkform.h"

#include "base/guise.h"
#include "base/jsonw.h"
#include "base/order.h"
#include "run/approval.h"

#define NAME "f." /* what a field's name begins with */

/* --- text ------------------------------------------------------------------------------------- */

/* Exactly, inside an attribute. */
static void html_attr(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '&') buf_lit(out, "&amp;");
        else if (c == '<') buf_lit(out, "&lt;");
        else if (c == '>') buf_lit(out, "&gt;");
        else if (c == '"') buf_lit(out, "&quot;");
        else if (c == '\'') buf_lit(out, "&#39;");
        else buf_chr(out, c);
    }
}

/* How a text that turns is put together: around it, and around each stretch of it. */
struct frame {
    const char *open, *back, *forth, *close;
};
static const struct frame ELEMENTS = { "<bdo dir=\"ltr\">", "<bdi dir=\"rtl\">", "</bdi>",
                                       "</bdo>" };
/* Where there are no elements: LRO, RLI, PDI, PDF. */
static const struct frame SIGNS = { "&#x202d;", "&#x2067;", "&#x2069;", "&#x202c;" };

/* In its order (order.h). */
static void put_ordered(struct buf *out, struct str s, const struct frame *f)
{
    bool turns = order_turns(s);
    if (turns) buf_str(out, str_c(f->open));
    while (s.len) {
        size_t plain = order_plain(s), back = order_stretch(str_from(s, plain));
        html_attr(out, str_cut(s, plain));
        s = str_from(s, plain);
        if (!back) continue;
        buf_str(out, str_c(f->back));
        html_attr(out, str_cut(s, back));
        buf_str(out, str_c(f->forth));
        s = str_from(s, back);
    }
    if (turns) buf_str(out, str_c(f->close));
}

static void put_seen(struct buf *out, struct str s, void (*show)(struct buf *, struct str),
                     const struct frame *f)
{
    struct buf shown;
    buf_init(&shown, 0);
    show(&shown, s);
    put_ordered(out, buf_view(&shown), f);
    if (shown.err) out->err = ERR_NOMEM;
    buf_done(&shown);
}

void html_put(struct buf *out, struct str s)
{
    put_seen(out, s, guise_show, &ELEMENTS);
}

void html_name(struct buf *out, struct str s)
{
    put_seen(out, s, guise_name, &ELEMENTS);
}

/* --- what came -------------------------------------------------------------------------------- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static struct str decode(struct arena *a, struct str s)
{
    char  *out = arena_alloc(a, s.len + 1);
    size_t n = 0;
    for (size_t i = 0; out && i < s.len; i++) {
        int high = s.ptr[i] == '%' && i + 2 < s.len ? hex(s.ptr[i + 1]) : -1;
        int low = high >= 0 ? hex(s.ptr[i + 2]) : -1;
        if (low >= 0) {
            out[n++] = (char)(high * 16 + low);
            i += 2;
        } else out[n++] = s.ptr[i] == '+' ? ' ' : s.ptr[i];
    }
    return out ? str_n(out, n) : STR_NONE;
}

/* The `at`th of that name. */
static struct str nth_member(struct arena *a, struct str body, struct str name, unsigned at)
{
    struct str pair, key;
    while (str_split(&body, '&', &pair))
        if (str_split(&pair, '=', &key) && str_eq(decode(a, key), name) && !at--)
            return decode(a, pair);
    return STR_NONE;
}

struct str form_member(struct arena *a, struct str body, struct str name)
{
    return nth_member(a, body, name, 0);
}

unsigned form_count(struct arena *a, struct str body, struct str name)
{
    struct str pair, key;
    unsigned   n = 0;
    while (str_split(&body, '&', &pair))
        if (str_split(&pair, '=', &key) && str_eq(decode(a, key), name)) n++;
    return n;
}

/* --- fields ----------------------------------------------------------------------------------- */

enum kind { TEXT, NUMBER, FLAG, CHOICE, MANY, JSON };

struct field {
    struct str       name;    /* of the member */
    const struct jv *schema;  /* NULL: nothing is said of it */
    const struct jv *options; /* a list of values, or of {"const","title"} */
    const struct jv *names;   /* beside them, what people are shown; NULL: the values */
    const struct jv *value;   /* NULL: there is none */
    enum kind        kind;
    bool             needed;
};

static const struct jv *options_of(const struct jv *schema)
{
    const struct jv *one =
        jv_get(schema, "oneOf") ? jv_get(schema, "oneOf") : jv_get(schema, "anyOf");
    JV_EACH (o, one)
        if (!jv_get(o, "const")) return jv_get(schema, "enum");
    return jv_get(schema, "enum") ? jv_get(schema, "enum") : one;
}

static enum kind kind_of(const struct field *f)
{
    struct str type = jv_str_at(f->schema, "type");
    if (str_is(type, "array")) return f->options ? MANY : JSON;
    if (str_is(type, "object")) return JSON;
    if (f->options) return CHOICE;
    if (str_is(type, "boolean")) return FLAG;
    if (str_is(type, "number") || str_is(type, "integer")) return NUMBER;
    if (str_is(type, "string")) return TEXT;
    return !f->value || f->value->type == JSON_STRING ? TEXT : JSON;
}

static struct field field_of(const struct linkform *k, struct str name)
{
    struct field f = { .name = name };
    f.schema = jv_get_str(jv_get(k->schema, "properties"), name);
    f.options = options_of(f.schema);
    if (str_is(jv_str_at(f.schema, "type"), "array"))
        f.options = options_of(jv_get(f.schema, "items"));
    f.names = jv_get(f.schema, "enumNames");
    f.value = k->values ? jv_get_str(k->values, name) : jv_get(f.schema, "default");
    f.needed = jv_lists(jv_get(k->schema, "required"), name);
    f.kind = kind_of(&f);
    return f;
}

/* "/amount": a member; anything deeper, or with a ~ in it, has no field here. */
static bool is_member(struct str pointer)
{
    struct str rest = pointer.len > 1 ? str_from(pointer, 1) : STR("/");
    return !memchr(rest.ptr, '/', rest.len) && !memchr(rest.ptr, '~', rest.len);
}

/* A field of its own: a member, and not one that is listed twice. */
static bool is_offered(const struct linkform *k, const struct jv *pointer)
{
    for (const struct jv *p = k->only->child; p != pointer; p = p->next)
        if (str_eq(jv_str(p), jv_str(pointer))) return false;
    return is_member(jv_str(pointer));
}

/* The next field: of the pointers, or of the schema's properties; the pointer "" is all of them. */
static bool next_field(const struct linkform *k, const struct jv **at, struct field *out)
{
    bool             all = !k->only || jv_lists(k->only, STR(""));
    const struct jv *from = all ? jv_get(k->schema, "properties") : k->only;
    *at = *at ? (*at)->next : jv_is(from, all ? JSON_OBJECT : JSON_ARRAY) ? from->child : NULL;
    while (!all && *at && !is_offered(k, *at)) *at = (*at)->next;
    if (!*at) return false;
    *out = field_of(k, all ? (*at)->key : str_from((*at)->str, 1));
    return true;
}

#define EACH_FIELD(k, f) for (const struct jv *at_ = NULL; next_field(k, &at_, f);)

bool linkform_any(const struct linkform *k)
{
    const struct jv *at = NULL;
    struct field     f;
    return next_field(k, &at, &f);
}

static const struct jv *value_of_option(const struct jv *o)
{
    return jv_is(o, JSON_OBJECT) && jv_get(o, "const") ? jv_get(o, "const") : o;
}

/* --- reading ---------------------------------------------------------------------------------- */

static const struct jv *option_at(const struct field *f, struct str number)
{
    const struct jv *o = NULL;
    for (size_t i = 0, n = 0; i < number.len; i++) {
        if (number.ptr[i] < '0' || number.ptr[i] > '9' || i > 4) return NULL;
        n = n * 10 + (size_t)(number.ptr[i] - '0');
        o = jv_at(f->options, n);
    }
    return o ? value_of_option(o) : NULL;
}

static void write_typed(struct jsonw *w, struct arena *a, const struct field *f, struct str text)
{
    const struct jv *o = f->kind == CHOICE || f->kind == MANY ? option_at(f, text) : NULL;
    struct jv       *v;
    bool             flag = f->kind == FLAG && (str_is(text, "true") || str_is(text, "false"));
    bool value = (f->kind == NUMBER || f->kind == JSON) && json_parse(a, text, &v, NULL) == OK &&
                 (f->kind == JSON || v->type == JSON_NUMBER);
    if (o) jw_jv(w, o);
    else if (flag) jw_bool(w, str_is(text, "true"));
    else if (value) jw_raw(w, text);
    else jw_str(w, text);
}

static void write_many(struct jsonw *w, struct arena *a, const struct field *f, struct str typed,
                       struct str name)
{
    unsigned n = form_count(a, typed, name);
    jw_arr(w);
    for (unsigned i = 0; i < n; i++) {
        struct str text = nth_member(a, typed, name, i);
        if (text.len) write_typed(w, a, f, text);
    }
    jw_end_arr(w);
}

static struct str shown_value(struct arena *a, const struct field *f);
static bool       is_chosen(const struct field *f, const struct jv *option);

static bool has_typed(struct arena *a, struct str typed, struct str name, struct str text)
{
    unsigned n = form_count(a, typed, name);
    for (unsigned i = 0; i < n; i++)
        if (str_eq(nth_member(a, typed, name, i), text)) return true;
    return false;
}

/* The boxes that were ticked before, in whatever order the value has them, and no others. */
static bool is_left_many(struct arena *a, const struct field *f, struct str typed, struct str name)
{
    unsigned n = form_count(a, typed, name), at = 0;
    for (unsigned i = 0; i < n; i++) {
        struct str text = nth_member(a, typed, name, i);
        if (text.len && !option_at(f, text)) return false;
    }
    JV_EACH (o, f->options)
        if (is_chosen(f, o) != has_typed(a, typed, name, arena_printf(a, "%u", at++))) return false;
    return true;
}

/* Several choices. Of arguments, what was left as it was stays as it is, also where there is none;
 * of a form, nothing chosen is not there unless it is needed. */
static void read_many(struct jsonw *w, struct arena *a, const struct linkform *k,
                      const struct field *f, struct str name)
{
    bool any = form_member(a, k->typed, name).ptr;
    bool left = k->only && (!any || is_left_many(a, f, k->typed, name));
    bool none = form_count(a, k->typed, name) == has_typed(a, k->typed, name, STR(""));
    if (left ? !f->value : !k->only && none && !f->needed) return;
    jw_key_str(w, f->name);
    if (left) jw_jv(w, f->value);
    else write_many(w, a, f, k->typed, name);
}

/* Alike but for line breaks: a browser takes them out of a line, and sends its own of several. */
static bool is_same_typed(struct str a, struct str b)
{
    for (;;) {
        while (a.len && (a.ptr[0] == '\r' || a.ptr[0] == '\n')) a = str_from(a, 1);
        while (b.len && (b.ptr[0] == '\r' || b.ptr[0] == '\n')) b = str_from(b, 1);
        if (!a.len || !b.len || a.ptr[0] != b.ptr[0]) return !a.len && !b.len;
        a = str_from(a, 1);
        b = str_from(b, 1);
    }
}

/* A field that was left as it was keeps what stood there, digit for digit. */
static void read_field(struct jsonw *w, struct arena *a, const struct linkform *k,
                       const struct field *f)
{
    struct str name = arena_printf(a, NAME STR_FMT, STR_ARG(f->name));
    struct str text = form_member(a, k->typed, name);
    bool       left = k->only && f->value && (!text.ptr || is_same_typed(text, shown_value(a, f)));
    bool       empty = !text.len && !(k->only && f->value && f->kind == TEXT && text.ptr);
    if (f->kind == MANY) read_many(w, a, k, f, name);
    else if (left) {
        jw_key_str(w, f->name);
        jw_jv(w, f->value);
    } else if (!empty) {
        jw_key_str(w, f->name);
        write_typed(w, a, f, text);
    }
}

static bool has_field(const struct linkform *k, struct str name)
{
    struct field f;
    EACH_FIELD(k, &f)
    if (str_eq(f.name, name)) return true;
    return false;
}

/* One value; of several choices each once, and the empty one that says that the field was there. */
static size_t most_values(const struct field *f)
{
    size_t n = 1;
    JV_EACH (o, f->kind == MANY ? f->options : NULL) n += o != NULL;
    return n;
}

/* The first of the body's fields that is none of the form's; STR_NONE: there is none. */
static struct str find_stray(struct arena *a, const struct linkform *k)
{
    struct str body = k->typed, pair, key;
    while (str_split(&body, '&', &pair)) {
        if (!str_split(&pair, '=', &key)) continue;
        key = decode(a, key);
        if (str_starts(key, STR(NAME)) && !has_field(k, str_from(key, strlen(NAME))))
            return str_from(key, strlen(NAME));
    }
    return STR_NONE;
}

static struct str filled(struct arena *a, const char *words, struct str value)
{
    struct buf b;
    buf_init(&b, 0);
    linkwords_fill(&b, words, value, buf_str);
    return buf_into(&b, a);
}

struct str linkform_stray(struct arena *a, const struct linkform *k)
{
    struct str   why = STR_NONE, stray;
    struct field f;
    EACH_FIELD(k, &f)
    if (form_count(a, k->typed, arena_printf(a, NAME STR_FMT, STR_ARG(f.name))) > most_values(&f))
        why = filled(a, k->words->too_many, f.name);
    stray = why.ptr ? STR_NONE : find_stray(a, k);
    if (stray.ptr) why = filled(a, k->words->not_changed, stray);
    return a->failed ? str_c(k->words->unreadable) : why;
}

struct str linkform_read(struct arena *a, const struct linkform *k)
{
    struct buf   b;
    struct jsonw w;
    struct field f;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    JV_EACH (m, k->only ? k->values : NULL) {
        if (has_field(k, m->key)) continue;
        jw_key_str(&w, m->key);
        jw_jv(&w, m);
    }
    EACH_FIELD(k, &f) read_field(&w, a, k, &f);
    jw_end_obj(&w);
    return buf_into(&b, a);
}

struct str linkform_judge(struct arena *a, const struct linkform *k, struct str object)
{
    struct jv *v;
    if (json_parse(a, object, &v, NULL) != OK) return str_c(k->words->unreadable);
    return approval_misfit(a, k->schema, v);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Is the sentence about this field? It begins with the place, or names the member that is
 * missing. */
static bool is_about(struct str why, const struct field *f)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "/" STR_FMT " ", STR_ARG(f->name));
    bool yes = str_starts(why, buf_view(&b));
    if (!yes && b.len) {
        b.ptr[b.len - 1] = '/';
        yes = str_starts(why, buf_view(&b));
    }
    buf_clear(&b);
    buf_printf(&b, " lacks the required member \"" STR_FMT "\"", STR_ARG(f->name));
    yes = yes || (why.ptr && why.ptr[0] != '/' && str_find(why, buf_view(&b)) >= 0);
    buf_done(&b);
    return yes;
}

/* As it stands in the field before anybody types. */
static struct str shown_value(struct arena *a, const struct field *f)
{
    unsigned n = 0;
    if (!f->value) return STR("");
    if (f->kind == CHOICE) {
        JV_EACH (o, f->options) {
            if (jv_equal(value_of_option(o), f->value)) return arena_printf(a, "%u", n);
            n++;
        }
        return STR("");
    }
    return f->value->type == JSON_STRING ? f->value->str : f->value->raw;
}

static void write_option(struct buf *out, struct str value, struct str shown, bool chosen)
{
    buf_lit(out, "<option value=\"");
    html_attr(out, value);
    buf_lit(out, chosen ? "\" selected>" : "\">");
    put_seen(out, shown, guise_name, &SIGNS);
    buf_lit(out, "</option>");
}

static struct str name_of_option(const struct field *f, const struct jv *o, size_t n)
{
    const struct jv *named = jv_at(f->names, n), *v = value_of_option(o);
    if (jv_is(named, JSON_STRING)) return named->str;
    if (jv_str_at(o, "title").len) return jv_str_at(o, "title");
    return v->type == JSON_STRING ? v->str : v->raw;
}

static void write_choice(struct buf *out, struct arena *a, const struct linkform *k,
                         const struct field *f, struct str text)
{
    size_t n = 0;
    write_option(out, STR(""), STR(""), !text.len);
    if (f->kind == FLAG) {
        write_option(out, STR("true"), str_c(k->words->yes), str_is(text, "true"));
        write_option(out, STR("false"), str_c(k->words->no), str_is(text, "false"));
        return;
    }
    JV_EACH (o, f->options) {
        struct str at = arena_printf(a, "%zu", n);
        write_option(out, at, name_of_option(f, o, n), str_eq(at, text));
        n++;
    }
}

static bool is_chosen(const struct field *f, const struct jv *option)
{
    JV_EACH (v, f->value)
        if (jv_equal(v, value_of_option(option))) return true;
    return false;
}

/* The empty one tells "none of them" from a field that was not on the page. */
static void write_many_boxes(struct buf *out, struct arena *a, const struct linkform *k,
                             const struct field *f, struct str name)
{
    size_t n = 0;
    bool   typed = form_count(a, k->typed, name);
    buf_lit(out, "<input type=\"hidden\" value=\"\" name=\"");
    html_attr(out, name);
    buf_lit(out, "\">");
    JV_EACH (o, f->options) {
        struct str at = arena_printf(a, "%zu", n);
        bool       on = typed ? has_typed(a, k->typed, name, at) : is_chosen(f, o);
        buf_lit(out, "<label class=\"tick\"><input type=\"checkbox\" name=\"");
        html_attr(out, name);
        buf_printf(out, "\" value=\"%zu\"%s> ", n, on ? " checked" : "");
        html_name(out, name_of_option(f, o, n));
        buf_lit(out, "</label>");
        n++;
    }
}

static const char *type_of(const struct field *f)
{
    struct str format = jv_str_at(f->schema, "format");
    if (f->kind == NUMBER) return "number\" step=\"any";
    return str_is(format, "email")  ? "email"
           : str_is(format, "uri")  ? "url"
           : str_is(format, "date") ? "date"
                                    : "text";
}

/* The browser says so itself, in its language; an argument that is text may be made empty. */
static bool must_fill(const struct linkform *k, const struct field *f)
{
    return f->needed && !(k->only && f->kind == TEXT);
}

static void write_input(struct buf *out, struct arena *a, const struct linkform *k,
                        const struct field *f, struct str name, struct str text)
{
    bool list = f->kind == CHOICE || f->kind == FLAG, lines = f->kind == JSON;
    buf_lit(out, list    ? "<select name=\""
                 : lines ? "<textarea rows=\"4\" name=\""
                         : "<input name=\"");
    html_attr(out, name);
    if (!list && !lines) buf_printf(out, "\" type=\"%s\" value=\"", type_of(f));
    if (!list && !lines) html_attr(out, text);
    buf_lit(out, must_fill(k, f) ? "\" required" : "\"");
    buf_lit(out, is_about(k->why, f) ? " aria-invalid=\"true\">" : ">");
    if (list) write_choice(out, a, k, f, text);
    if (lines) html_attr(out, text);
    buf_lit(out, list ? "</select>" : lines ? "</textarea>" : "");
}

/* A browser's field hides and turns as it likes: where what stands in it is not what it seems, it
 * is said below. */
static void write_seen(struct buf *out, const struct linkform *k, struct str text)
{
    struct buf shown;
    bool       mixes = order_mixes(text);
    buf_init(&shown, 0);
    guise_show(&shown, text);
    if (mixes || !str_eq(buf_view(&shown), text)) {
        buf_lit(out, "<small>");
        html_put(out, text);
        if (mixes) buf_printf(out, " (%s)", k->words->in_order);
        buf_lit(out, "</small>");
    }
    buf_done(&shown);
}

static void write_why(struct buf *out, const struct linkform *k)
{
    buf_lit(out, "<strong class=\"wrong\">");
    if (k->judged) buf_printf(out, "%s <span lang=\"en\">", k->words->misfit);
    html_name(out, k->why);
    buf_lit(out, k->judged ? "</span></strong>" : "</strong>");
}

static void write_field(struct buf *out, struct arena *a, const struct linkform *k,
                        const struct field *f)
{
    struct str name = arena_printf(a, NAME STR_FMT, STR_ARG(f->name));
    struct str title = jv_str_at(f->schema, "title"), help = jv_str_at(f->schema, "description");
    struct str text = form_member(a, k->typed, name);
    bool       many = f->kind == MANY;
    if (!text.ptr && (k->only || !k->typed.ptr)) text = shown_value(a, f);
    buf_lit(out, many ? "<fieldset><legend>" : "<p><label>");
    struct str called = title.len ? title : f->name;
    if (called.len) html_name(out, called);
    else buf_printf(out, "<i>%s</i>", k->words->no_name);
    if (f->needed) buf_printf(out, " %s", k->words->needed);
    buf_lit(out, many ? "</legend>" : "<br>");
    if (many) write_many_boxes(out, a, k, f, name);
    else write_input(out, a, k, f, name, text);
    if (!many) buf_lit(out, "</label>");
    if (f->kind == TEXT || f->kind == JSON) write_seen(out, k, text);
    if (help.len) {
        buf_lit(out, "<small>");
        html_put(out, help);
        buf_lit(out, "</small>");
    }
    if (is_about(k->why, f)) write_why(out, k);
    buf_lit(out, many ? "</fieldset>" : "</p>");
}

void linkform_write(struct buf *out, const struct linkform *k)
{
    struct field f;
    struct arena a;
    bool         placed = false;
    arena_init(&a, 0);
    EACH_FIELD(k, &f) placed |= is_about(k->why, &f);
    if (k->why.len && !placed) {
        buf_lit(out, "<p>");
        write_why(out, k);
        buf_lit(out, "</p>");
    }
    EACH_FIELD(k, &f) write_field(out, &a, k, &f);
    if (a.failed) out->err = ERR_NOMEM;
    arena_done(&a);
}
