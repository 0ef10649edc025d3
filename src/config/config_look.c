/* config_look.c -- "page": how the page presents itself as somebody's product.
 *
 * A name, a logo, words of welcome, a colour, and the languages it speaks. All of it is
 * checked here, because a person who opens a page with a broken picture or with text that nobody
 * can read does not read logs.
 *
 * Words that people read are text, or an object with one text per language of the page.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "base/file.h"
#include "base/jsonw.h"
#include "base/utf8.h"
#include "config/config_private.h"
#include "model/provider.h"

/* In the order of the page's own preference; web/src/words has one table for each. */
static const char *const LANGUAGES[] = { "en", "de", "ja" };
#define COUNT(a) (sizeof(a) / sizeof *(a))

#define LOGO_MAX     ((size_t)256 * 1024) /* it is loaded by everybody who opens the page */
#define NAME_MAX_LEN 60                   /* characters; it stands in the list's head */
#define WORDS_MAX    400                  /* of a greeting, a footer, a starter */
#define STARTERS_MAX 6

/* --- colours --------------------------------------------------------------------------------- */

/* The page's surfaces that the colour is written on, and that are written on it (tokens.css):
 * the darkest of the light ones, the lightest of the dark ones. */
#define LIGHT_SURFACE 0xf4f4f2u
#define DARK_SURFACE  0x1d2024u
#define READABLE      4.5 /* WCAG 2.2, 1.4.3 */

static double channel(unsigned v)
{
    double c = v / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(unsigned rgb)
{
    return 0.2126 * channel(rgb >> 16) + 0.7152 * channel(rgb >> 8 & 255) +
           0.0722 * channel(rgb & 255);
}

static double contrast(unsigned a, unsigned b)
{
    double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
    return x > y ? x / y : y / x;
}

/* `share` of 100 towards white or black. */
static unsigned mix(unsigned rgb, unsigned towards, unsigned share)
{
    unsigned out = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        unsigned from = rgb >> shift & 255, to = towards >> shift & 255;
        out |= (from * (100 - share) + to * share) / 100 << shift;
    }
    return out;
}

/* The nearest shade of it that can be read on `surface`. */
static unsigned readable(unsigned rgb, unsigned towards, unsigned surface)
{
    unsigned share = 0;
    while (share < 100 && contrast(mix(rgb, towards, share), surface) < READABLE) share++;
    return mix(rgb, towards, share);
}

static bool read_colour(struct str s, unsigned *out)
{
    unsigned rgb = 0;

    if (s.len != 7 || s.ptr[0] != '#') return false;
    for (size_t i = 1; i < 7; i++) {
        char     ch = s.ptr[i];
        unsigned digit = ch >= '0' && ch <= '9'   ? (unsigned)(ch - '0')
                         : ch >= 'a' && ch <= 'f' ? (unsigned)(ch - 'a' + 10)
                         : ch >= 'A' && ch <= 'F' ? (unsigned)(ch - 'A' + 10)
                                                  : 16;
        if (digit == 16) return false;
        rgb = rgb << 4 | digit;
    }
    *out = rgb;
    return true;
}

static void read_accent(struct config_build *b, const struct jv *v)
{
    unsigned rgb;

    if (!jv_is(v, JSON_STRING)) return;
    if (!read_colour(v->str, &rgb)) {
        cfg_bad(b, v, "\"page.accent\": \"" STR_FMT "\" is no colour; write \"#1f5eff\"",
                STR_ARG(str_cut(v->str, 40)));
        return;
    }
    if (contrast(rgb, LIGHT_SURFACE) < READABLE) {
        cfg_bad(b, v,
                "\"page.accent\": " STR_FMT
                " cannot be read on a light page (contrast %.1f:1, %.1f:1 is needed); the nearest "
                "that can is \"#%06x\"",
                STR_ARG(v->str), contrast(rgb, LIGHT_SURFACE), READABLE,
                readable(rgb, 0x000000, LIGHT_SURFACE));
        return;
    }
    b->c->look.has_accent = true;
    b->c->look.accent = rgb;
    b->c->look.accent_dark = readable(rgb, 0xffffff, DARK_SURFACE);
}

/* --- the logo -------------------------------------------------------------------------------- */

static bool begins(struct str s, size_t at, const char *with, size_t len)
{
    return s.len >= at + len && memcmp(s.ptr + at, with, len) == 0;
}

/* By its content: a name can lie. NULL: no picture that browsers show. */
static const char *picture_type(struct str s)
{
    if (begins(s, 0, "\x89PNG\r\n\x1a\n", 8)) return "image/png";
    if (begins(s, 0, "\xff\xd8\xff", 3)) return "image/jpeg";
    if (begins(s, 0, "GIF87a", 6) || begins(s, 0, "GIF89a", 6)) return "image/gif";
    if (begins(s, 0, "RIFF", 4) && begins(s, 8, "WEBP", 4)) return "image/webp";
    if (utf8_valid(s) && str_starts(str_trim(s), STR("<")) && str_find(s, STR("<svg")) >= 0)
        return "image/svg+xml";
    return NULL;
}

/* Reads the file into the arena; a sentence when that cannot be done. */
static const char *slurp_logo(struct config_build *b, struct str path, struct str *out)
{
    struct str  z = arena_dup(&b->c->arena, path);
    char       *into = arena_alloc(&b->c->arena, LOGO_MAX + 1);
    const char *why = "there is not enough memory";
    int         fd = z.ptr && into ? file_open(z.ptr, O_RDONLY, &why) : -1;

    if (fd < 0) return why;
    ssize_t n = read(fd, into, LOGO_MAX + 1);
    why = n < 0 ? os_words(errno) : NULL;
    close(fd);
    if (!why) *out = str_n(into, (size_t)n);
    return why;
}

/* "data:image/png;base64,...": the picture stands in the configuration. */
static const char *unpack_logo(struct config_build *b, struct str url, struct str *out)
{
    ptrdiff_t  at = str_find(url, STR(";base64,"));
    struct str text = at < 0 ? STR_NONE : str_from(url, (size_t)at + sizeof ";base64," - 1);
    char      *into = text.ptr ? arena_alloc(&b->c->arena, text.len / 4 * 3 + 3) : NULL;

    if (at < 0) return "write data:image/png;base64,... or the path of a file";
    if (!into) return "there is not enough memory";
    int n =
        text.len % 4 == 0 && text.len <= LOGO_MAX * 2
            ? EVP_DecodeBlock((unsigned char *)into, (const unsigned char *)text.ptr, (int)text.len)
            : -1;
    if (n < 0) return "what follows base64, is not base64";
    size_t padding = str_ends(text, STR("==")) ? 2 : str_ends(text, STR("="));
    *out = str_n(into, (size_t)n - padding);
    return NULL;
}

static void read_logo(struct config_build *b, const struct jv *v)
{
    struct config_look *look = &b->c->look;

    if (!jv_is(v, JSON_STRING)) return;
    bool        data = str_starts(v->str, STR("data:"));
    const char *why =
        data ? unpack_logo(b, v->str, &look->logo) : slurp_logo(b, v->str, &look->logo);
    struct str shown = data ? STR("the data") : str_cut(v->str, 120);

    if (why) {
        cfg_bad(b, v, "\"page.logo\": " STR_FMT ": %s", STR_ARG(shown), why);
    } else if (look->logo.len > LOGO_MAX) {
        cfg_bad(b, v,
                "\"page.logo\": " STR_FMT
                " is larger than 256 KiB, and everybody loads it; make it smaller",
                STR_ARG(shown));
    } else if (!(look->logo_type = picture_type(look->logo))) {
        cfg_bad(b, v,
                "\"page.logo\": " STR_FMT
                " is no picture; it must be an SVG, PNG, JPEG, WebP or GIF file",
                STR_ARG(shown));
    }
}

/* --- words ------------------------------------------------------------------------------------ */

static bool is_spoken(const struct config_look *look, struct str language)
{
    for (size_t i = 0; i < look->languages.count; i++)
        if (str_eq(look->languages.list[i], language)) return true;
    return false;
}

static void read_languages(struct config_build *b, const struct jv *v)
{
    struct config_strs *to = &b->c->look.languages;

    to->list = cfg_array(b, jv_is(v, JSON_ARRAY) ? v->count + COUNT(LANGUAGES) : COUNT(LANGUAGES),
                         sizeof *to->list);
    if (!to->list) return;
    if (jv_is(v, JSON_ARRAY))
        JV_EACH (item, v) {
            struct cfg_guess g = { .want = jv_str(item) };
            bool             known = false;
            if (item->type != JSON_STRING) continue;
            for (size_t i = 0; i < COUNT(LANGUAGES); i++) {
                known |= str_is(item->str, LANGUAGES[i]);
                cfg_guess_add(&g, str_c(LANGUAGES[i]));
            }
            if (!known)
                cfg_bad(b, item,
                        "\"page.languages\": the page does not speak \"" STR_FMT
                        "\"; it speaks en, de and ja",
                        STR_ARG(str_cut(item->str, 20)));
            else if (is_spoken(&b->c->look, item->str))
                cfg_bad(b, item, "\"page.languages\" has \"" STR_FMT "\" twice; take one out",
                        STR_ARG(item->str));
            else to->list[to->count++] = item->str;
        }
    if (jv_is(v, JSON_ARRAY) && v->count == 0)
        cfg_bad(b, v, "\"page.languages\" is empty; list at least one of en, de and ja");
    if (!v)
        for (size_t i = 0; i < COUNT(LANGUAGES); i++) to->list[to->count++] = str_c(LANGUAGES[i]);
}

static void check_words(struct config_build *b, const struct jv *v, const char *what)
{
    if (str_trim(v->str).len == 0)
        cfg_bad(b, v, "%s is empty; write something, or leave it out", what);
    else if (utf8_count(v->str) > WORDS_MAX)
        cfg_bad(b, v, "%s is longer than %d characters; say it shorter", what, WORDS_MAX);
}

/* Text, or one text per language: no page is half in one language and half in another. */
static void check_said(struct config_build *b, const struct jv *v, const char *what)
{
    const struct config_look *look = &b->c->look;

    if (jv_is(v, JSON_STRING)) check_words(b, v, what);
    if (!jv_is(v, JSON_OBJECT)) return;
    JV_EACH (m, v) {
        if (!is_spoken(look, m->key))
            cfg_bad(b, m,
                    "%s: \"" STR_FMT "\" is none of the page's languages; see \"page.languages\"",
                    what, STR_ARG(str_cut(m->key, 20)));
        else if (m->type != JSON_STRING)
            cfg_bad(b, m, "%s: write the text in \"" STR_FMT "\" in double quotes", what,
                    STR_ARG(m->key));
        else check_words(b, m, what);
    }
    for (size_t i = 0; i < look->languages.count; i++)
        if (!jv_get_str(v, look->languages.list[i]))
            cfg_bad(b, v,
                    "%s says nothing in \"" STR_FMT
                    "\"; add it, or take that language out of \"page.languages\"",
                    what, STR_ARG(look->languages.list[i]));
}

static void read_starters(struct config_build *b, const struct jv *v)
{
    if (!jv_is(v, JSON_ARRAY)) return;
    if (v->count > STARTERS_MAX)
        cfg_bad(b, v, "\"page.starters\" has %u; more than %d are a list, not a start", v->count,
                STARTERS_MAX);
    JV_EACH (item, v) {
        if (item->type != JSON_STRING && item->type != JSON_OBJECT)
            cfg_bad(b, item, "\"page.starters\": write each as text, or as {\"en\": ..., ...}");
        check_said(b, item, "a text of \"page.starters\"");
    }
}

static void read_name(struct config_build *b, const struct jv *v)
{
    b->c->look.name = STR("parley");
    if (!jv_is(v, JSON_STRING)) return;
    b->c->look.name = str_trim(v->str);
    if (b->c->look.name.len == 0 || utf8_count(b->c->look.name) > NAME_MAX_LEN)
        cfg_bad(b, v, "\"page.name\" must have 1 to %d characters", NAME_MAX_LEN);
}

void cfg_read_look(struct config_build *b)
{
    const struct jv    *v = jv_get(b->root, "page");
    struct config_look *look = &b->c->look;

    read_name(b, jv_get(v, "name"));
    read_logo(b, jv_get(v, "logo"));
    read_accent(b, jv_get(v, "accent"));
    read_languages(b, jv_get(v, "languages"));
    struct str share = jv_str_at(v, "share");
    b->c->share = str_is(share, "off") ? 0 : str_is(share, "anyone") ? 2 : 1;
    look->greeting = jv_get(v, "greeting");
    look->footer = jv_get(v, "footer");
    look->starters = jv_get(v, "starters");
    check_said(b, look->greeting, "\"page.greeting\"");
    check_said(b, look->footer, "\"page.footer\"");
    read_starters(b, look->starters);
}

/* All of those that may be asked. */
static bool takes_pdf(const struct config_models *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (!provider_takes(list->list[i]->provider, "application/pdf")) return false;
    return true;
}

/* What people may choose from, where there is a choice: as a request names it, and what it is. */
static void write_choices(const struct config_models *offered, struct jsonw *w)
{
    if (offered->count < 2) return;
    jw_key(w, "models");
    jw_arr(w);
    for (size_t i = 0; i < offered->count; i++) {
        const struct config_model *m = offered->list[i];
        struct config_models       one = { &offered->list[i], 1 };
        jw_obj(w);
        jw_kstr(w, "name", m->name);
        jw_kstr(w, "model", provider_is_demo(m->provider) ? m->provider : m->model);
        jw_kbool(w, "pdf", takes_pdf(&one));
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

/* Of several models nobody knows beforehand which one answers, and what it costs. */
static void write_model(const struct config *c, struct jsonw *w)
{
    const struct config_models *list = &c->pages[0].models;
    const struct config_model  *m = list->list[0];
    struct str                  currency = jv_str_at(m->prices, "currency");
    double                      price;

    jw_kstr(w, "model", provider_is_demo(m->provider) ? m->provider : m->model);
    if (!m->prices || list->count > 1 || c->look.models.count > 1) return;
    jw_key(w, "prices");
    jw_obj(w);
    jw_key(w, "input");
    jw_f64(w, jv_f64(jv_get(m->prices, "input"), &price) ? price : 0);
    jw_key(w, "output");
    jw_f64(w, jv_f64(jv_get(m->prices, "output"), &price) ? price : 0);
    jw_kstr(w, "currency", currency.ptr ? currency : STR("USD"));
    jw_end_obj(w);
}

/* --- what the page is told -------------------------------------------------------------------- */

void config_look_write(const struct config *c, struct jsonw *w)
{
    const struct config_look *look = &c->look;
    char                      colour[8];

    jw_obj(w);
    jw_kstr(w, "name", look->name);
    jw_kbool(w, "logo", look->logo_type != NULL);
    if (look->has_accent) {
        jw_key(w, "accent");
        jw_arr(w);
        snprintf(colour, sizeof colour, "#%06x", look->accent);
        jw_strz(w, colour);
        snprintf(colour, sizeof colour, "#%06x", look->accent_dark);
        jw_strz(w, colour);
        jw_end_arr(w);
    }
    write_model(c, w);
    if (takes_pdf(&c->pages[0].models)) jw_kbool(w, "pdf", true);
    write_choices(&look->models, w);
    if (c->model_titles) jw_kstrz(w, "titles", "model");
    if (c->share != 1) jw_kstrz(w, "share", c->share ? "anyone" : "off");
    if (c->auth.oidc.issuer.ptr) {
        jw_key(w, "signIn"); /* with what */
        jw_obj(w);
        jw_kstr(w, "provider", c->auth.oidc.name.ptr ? c->auth.oidc.name : STR(""));
        jw_kbool(w, "keys", c->auth.key_count > 0 || c->auth.jwt);
        jw_end_obj(w);
    }
    jw_key(w, "languages");
    jw_arr(w);
    for (size_t i = 0; i < look->languages.count; i++) jw_str(w, look->languages.list[i]);
    jw_end_arr(w);
    if (look->greeting) jw_key(w, "greeting"), jw_jv(w, look->greeting);
    if (look->footer) jw_key(w, "footer"), jw_jv(w, look->footer);
    if (look->starters) jw_key(w, "starters"), jw_jv(w, look->starters);
    jw_end_obj(w);
}
