/* intent.c -- the sentence said before a tool starts.
 *
 * Three built-in rules find what the call is about in its prompt,
 * which may be the person's whole sentence or only the subject of it:
 *
 *     generate_artifact   the thing to build:  verb, "me", article, NOUN WORDS
 *     generate_image      the subject:         verb, "an image of", SUBJECT
 *     browser.search      the topic:           "what are the", TOPIC
 *
 * Everything else is a template. Arguments are untrusted text: they are made
 * one line, cut on a character boundary, and never trusted to have a type. A person decides by the
 * sentence, so a value in it must neither hide anything nor read like words of ours.
 * All word lists are lower case; matching ignores ASCII case.
 */
#include "run/intent.h"

#include "base/glyph.h"
#include "base/utf8.h"

/* bytes of a prompt that are looked at: more cannot matter to one line */
#define PROMPT_MAX  2000
#define SUBJECT_MAX 40 /* characters: the sentence stays one line */
#define TOPIC_MAX   50 /* characters: the sentence stays one line */
#define VALUE_MAX   80 /* characters of one argument in a template; a longer one is shown by */
#define VALUE_HEAD  50 /* its beginning */
#define VALUE_TAIL  25 /* and its end */
#define PLAIN_MAX   40 /* characters of a text that may stand without quotation marks */
#define NOUN_WORDS  5

typedef const char *const words; /* a list of phrases, ended by NULL */

static words LEAD_IN[] = { "please",
                           "kindly",
                           "hi",
                           "hello",
                           "hey",
                           "ok",
                           "okay",
                           "now",
                           "just",
                           "can you",
                           "could you",
                           "would you",
                           "will you",
                           "i want you to",
                           "i'd like you to",
                           "i would like you to",
                           "i want",
                           "i need",
                           "i'd like",
                           "i would like",
                           "let's",
                           "help me",
                           "to",
                           NULL };
static words MAKE[] = { "build",   "create", "make",      "design",  "generate", "write",
                        "develop", "code",   "implement", "prepare", NULL };
static words PAINT[] = { "generate", "create",     "draw",    "make", "paint", "sketch", "design",
                         "render",   "illustrate", "produce", "show", "give",  NULL };
static words FOR_WHOM[] = { "me", "us", NULL };
static words ARTICLES[] = { "a", "an", "the", NULL };
static words PICTURES[] = { "image",    "picture",      "photo",  "photograph", "drawing",
                            "painting", "illustration", "sketch", "pic",        NULL };
static words SHOWING[] = { "of", "showing", "with", "depicting", NULL };
static words KINDS[] = { "app",  "application", "component", "dashboard", "page", "chart",
                         "game", "form",        "widget",    "tool",      NULL };
static words NOUN_ENDS[] = { "with",    "that",   "for",   "which", "using", "to", "and",
                             "in",      "on",     "where", "who",   "from",  "by", "so",
                             "because", "please", "a",     "an",    "the",   NULL };
static words OWNERS[] = { "my",   "our",   "your",  "his", "her",   "their",   "some", "this",
                          "that", "these", "those", "two", "three", "several", "many", NULL };
static words ASKED[] = { "search the web for",
                         "search the internet for",
                         "search online for",
                         "search for",
                         "search about",
                         "search",
                         "google",
                         "look up",
                         "look for",
                         "find out about",
                         "find out",
                         "find me",
                         "find",
                         "show me",
                         "tell me about",
                         "tell me",
                         "give me",
                         "some",
                         "information about",
                         "information on",
                         "info about",
                         "info on",
                         "news about",
                         "what is",
                         "what's",
                         "what are",
                         "what was",
                         "what were",
                         "what do",
                         "what does",
                         "what",
                         "how to",
                         "how do i",
                         "how do you",
                         "how does",
                         "how do",
                         "how can i",
                         "how is",
                         "how are",
                         "how",
                         "why is",
                         "why are",
                         "why does",
                         "why do",
                         "why",
                         "when is",
                         "when was",
                         "when did",
                         "when",
                         "where is",
                         "where are",
                         "where can i find",
                         "where",
                         "who is",
                         "who's",
                         "who are",
                         "who was",
                         "who",
                         NULL };
/* Common first words of image prompts: a capital on them is the sentence's, not a name's. */
static words COMMON[] = { "sunset",     "sunrise",   "mountain", "forest",    "sea",
                          "ocean",      "city",      "night",    "cat",       "dog",
                          "unicorn",    "dragon",    "horse",    "bird",      "robot",
                          "castle",     "house",     "tree",     "flower",    "beach",
                          "river",      "lake",      "car",      "boat",      "ship",
                          "hourglass",  "beautiful", "cute",     "red",       "blue",
                          "green",      "old",       "small",    "big",       "happy",
                          "futuristic", "abstract",  "colorful", "colourful", "landscape",
                          "portrait",   "logo",      NULL };
/* What cannot be counted takes no article. */
static words MASS[] = { "snow",   "rain",     "water", "space", "nature", "music",
                        "fog",    "fire",     "food",  "art",   "light",  "love",
                        "people", "children", "men",   "women", "outer",  NULL };
/* Japanese puts the verb last: the topic ends where one of these begins. */
static words JAPANESE_ENDS[] = { "について", "を検索", "を調べ", "を探", "を作",
                                 "を描",     "を生成", "の画像", "の絵", NULL };

/* --- words ----------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}
static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}
static bool is_stop(char c)
{
    return c == ',' || c == '.' || c == ';' || c == ':' || c == '!' || c == '?';
}

static struct str skip_blanks(struct str s)
{
    while (s.len && s.ptr[0] == ' ') s = str_from(s, 1);
    return s;
}

/* The first word, up to the next blank. */
static struct str word_of(struct str s)
{
    size_t n = 0;
    while (n < s.len && s.ptr[n] != ' ') n++;
    return str_cut(s, n);
}

static struct str without_stops(struct str s)
{
    while (s.len && (is_stop(s.ptr[s.len - 1]) || s.ptr[s.len - 1] == ' ')) s.len--;
    return s;
}

/* Takes `phrase` off the front when it stands there as whole words. */
static bool eat(struct str *s, const char *phrase)
{
    size_t n = strlen(phrase);
    if (s->len < n || !str_eq_nocase(str_cut(*s, n), str_n(phrase, n))) return false;
    if (s->len > n && s->ptr[n] != ' ' && !is_stop(s->ptr[n])) return false;
    struct str rest = str_from(*s, n);
    while (rest.len && (is_stop(rest.ptr[0]) || rest.ptr[0] == ' ')) rest = str_from(rest, 1);
    *s = rest;
    return true;
}

static bool eat_any(struct str *s, words *list)
{
    for (; *list; list++)
        if (eat(s, *list)) return true;
    return false;
}

static void eat_all(struct str *s, words *list)
{
    while (s->len && eat_any(s, list)) {}
}

static bool is_any(struct str word, words *list)
{
    for (; *list; list++)
        if (str_eq_nocase(word, str_c(*list))) return true;
    return false;
}

/* "a house with a" -> "a house": a cut must not leave a word that promises another. */
static struct str without_dangling(struct str s)
{
    for (size_t at = s.len; at > 0; at--) {
        if (s.ptr[at - 1] != ' ') continue;
        struct str last = str_from(s, at);
        if (!is_any(last, NOUN_ENDS) && !str_eq_nocase(last, STR("of")) &&
            !str_eq_nocase(last, STR("over")))
            break;
        s = without_stops(str_cut(s, at));
    }
    return s;
}

/* The first `max` characters; back to the last blank when that does not lose much. */
static struct str cut_words(struct str s, size_t max)
{
    size_t n = utf8_take(s, max);
    if (n >= s.len) return s;
    size_t at = n;
    while (at > n / 2 && s.ptr[at] != ' ') at--;
    if (s.ptr[at] != ' ') return str_cut(s, n);
    return without_dangling(without_stops(str_cut(s, at)));
}

static struct str cut_japanese(struct str s)
{
    for (words *w = JAPANESE_ENDS; *w; w++) {
        ptrdiff_t at = str_find(s, str_c(*w));
        if (at > 0) s = str_cut(s, (size_t)at);
    }
    return s;
}

static bool breaks_line(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp <= 0xa0) || cp == 0x2028 || cp == 0x2029;
}

/* Appends `s` as one line of words: what breaks a line is a blank, what is hidden left out, runs of
 * blanks one, none at the ends. */
static void add_line(struct buf *out, struct str s)
{
    bool begun = false, gap = false;
    for (size_t at = 0; at < s.len;) {
        uint32_t   cp;
        struct str rest = str_from(s, at);
        unsigned   n = utf8_decode(rest, &cp);
        at += n;
        if (cp == ' ' || breaks_line(cp)) {
            gap = begun;
            continue;
        }
        if (glyph_hidden(cp)) continue;
        if (gap) buf_chr(out, ' ');
        if (cp == 0xfffd && n == 1) buf_lit(out, "\xef\xbf\xbd");
        else buf_str(out, str_cut(rest, n));
        begun = true;
        gap = false;
    }
}

/* --- articles ----------------------------------------------------------------- */

static bool has_lower(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] >= 'a' && s.ptr[i] <= 'z') return true;
    return false;
}

static bool starts_any(struct str s, words *list)
{
    for (; *list; list++) {
        size_t n = strlen(*list);
        if (s.len >= n && str_eq_nocase(str_cut(s, n), str_c(*list))) return true;
    }
    return false;
}

/* Does the word begin with a vowel when spoken? "hour" does, "unicorn" does not, "HTML" does. */
static bool sounds_vowel(struct str word, bool shouting)
{
    static words silent[] = { "hour", "honest", "honor", "honour", "heir", NULL };
    static words you[] = { "uni", "use", "usu", "usa", "uti", "uto", "ubi",  "ufo",
                           "uk",  "url", "ura", "eu",  "ewe", "one", "once", NULL };
    static words not_you[] = { "unin", "unim", "unid", NULL };
    if (!word.len) return false;
    if (word.ptr[0] == '8' || str_is(word, "11") || str_is(word, "18")) return true;
    if (!shouting && word.len > 1 && word.len <= 5 && is_upper(word.ptr[0]) && !has_lower(word))
        return strchr("AEFHILMNORSX", word.ptr[0]) != NULL; /* spelled out: "an FAQ", "a URL" */
    if (starts_any(word, silent)) return true;
    if (starts_any(word, you) && !starts_any(word, not_you)) return false;
    return strchr("aeiou", lower(word.ptr[0])) != NULL;
}

static const char *article_for(struct str noun)
{
    return sounds_vowel(word_of(noun), !has_lower(noun)) ? "an " : "a ";
}

static bool is_plural(struct str word)
{
    size_t n = word.len;
    if (n < 4 || lower(word.ptr[n - 1]) != 's') return false;
    return strchr("sui", lower(word.ptr[n - 2])) == NULL;
}

/* East Asian text takes no article. */
static bool is_east_asian(struct str s)
{
    for (size_t at = 0; at < s.len;) {
        uint32_t cp;
        at += utf8_decode(str_from(s, at), &cp);
        if (cp >= 0x2e80 && cp != 0xfffd) return true;
    }
    return false;
}

/* The word that says whether it is one or many: the last before "over", "in", "of" ... */
static struct str head_noun(struct str s)
{
    static words after[] = { "over",   "in",      "on",      "at",     "of",     "with",
                             "by",     "under",   "near",    "behind", "and",    "from",
                             "riding", "playing", "wearing", "during", "across", NULL };
    struct str   head = word_of(s);
    for (struct str rest = s; rest.len;) {
        struct str w = word_of(rest);
        if (is_any(w, after)) break;
        head = w;
        rest = skip_blanks(str_from(rest, w.len));
    }
    return head;
}

static bool takes_article(struct str noun)
{
    struct str first = word_of(noun), head = head_noun(noun);
    return !is_any(first, OWNERS) && !is_any(first, MASS) && !is_any(head, MASS) &&
           !is_plural(head) && !is_east_asian(noun);
}

static void add_lower(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) buf_chr(out, lower(s.ptr[i]));
}

/* --- generate_artifact ---------------------------------------------------------- */

/* Words up to one that opens a clause, or up to punctuation. */
static struct str noun_words(struct str s)
{
    size_t     end = 0;
    struct str rest = s;
    for (int i = 0; i < NOUN_WORDS && rest.len; i++) {
        struct str w = word_of(rest), bare = without_stops(w);
        if (!bare.len || is_any(bare, NOUN_ENDS)) break;
        end = (size_t)(bare.ptr - s.ptr) + bare.len;
        if (bare.len < w.len) break;
        rest = skip_blanks(str_from(rest, w.len));
    }
    return cut_words(cut_japanese(str_cut(s, end)), SUBJECT_MAX);
}

static struct str next_word(struct str s)
{
    return skip_blanks(str_from(s, word_of(s).len));
}

/* "... build me a todo app with ...": what follows verb and article, wherever they stand. */
static struct str noun_after_verb(struct str s)
{
    for (; s.len; s = next_word(s)) {
        struct str at = s;
        if (!eat_any(&at, MAKE)) continue;
        eat_any(&at, FOR_WHOM);
        if (eat_any(&at, ARTICLES)) return noun_words(at);
    }
    return STR_NONE;
}

/* "... wants a todo app": an article, then words that end in a kind of thing. */
static struct str noun_of_kind(struct str s)
{
    for (; s.len; s = next_word(s)) {
        struct str at = s;
        if (!eat_any(&at, ARTICLES)) continue;
        struct str noun = noun_words(at), last = noun;
        for (struct str w = noun; w.len; w = next_word(w)) last = word_of(w);
        if (is_any(last, KINDS)) return noun;
    }
    return STR_NONE;
}

static struct str artifact_noun(struct str prompt)
{
    struct str noun = noun_after_verb(prompt);
    if (!noun.len) noun = noun_of_kind(prompt);
    if (noun.len) return noun;
    eat_all(&prompt, LEAD_IN);
    if (eat_any(&prompt, MAKE)) eat_any(&prompt, FOR_WHOM);
    eat_any(&prompt, ARTICLES);
    return noun_words(prompt);
}

/* Without a prompt the type has to say it: "react" alone is no thing. */
static struct str artifact_type(const struct jv *args)
{
    struct str type = jv_str_at(args, "artifactType");
    if (!type.len) return STR("component");
    if (str_eq_nocase(type, STR("react"))) return STR("react component");
    if (str_eq_nocase(type, STR("html"))) return STR("HTML page");
    if (str_eq_nocase(type, STR("svg"))) return STR("SVG picture");
    return type;
}

static void artifact_line(struct buf *out, struct str prompt, const struct jv *args)
{
    struct buf type;
    buf_init(&type, 0);
    struct str noun = artifact_noun(prompt);
    if (!noun.len) {
        add_line(&type, str_cut(artifact_type(args), PROMPT_MAX));
        noun = cut_words(buf_view(&type), SUBJECT_MAX);
    }
    if (!noun.len) noun = STR("component");
    buf_lit(out, "I'll build ");
    if (takes_article(noun)) buf_lit(out, article_for(noun));
    add_lower(out, noun);
    buf_lit(out, " for you...");
    buf_done(&type);
}

/* --- generate_image ------------------------------------------------------------- */

/* "an image of", "a beautiful picture of": not said twice. */
static void eat_picture_of(struct str *s)
{
    struct str at = *s;
    for (int i = 0; i < 4 && at.len; i++) {
        struct str word = word_of(at);
        at = next_word(at);
        if (is_any(word, PICTURES) && eat_any(&at, SHOWING)) {
            *s = at;
            return;
        }
    }
}

/* Up to a comma, or a full stop that ends a sentence ("Next.js" does not). */
static struct str first_clause(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool last = i + 1 == s.len || s.ptr[i + 1] == ' ';
        if (c == ',' || c == ';' || ((c == '.' || c == '!' || c == '?') && last))
            return str_cut(s, i);
    }
    return s;
}

/* Writes the subject with its own article in lower case, or with the one it lacks. */
static void add_subject(struct buf *out, struct str s, bool at_start)
{
    struct str subject = s;
    for (words *article = ARTICLES; *article; article++) {
        if (!eat(&subject, *article)) continue;
        if (!subject.len) break;
        buf_lit(out, *article);
        buf_chr(out, ' ');
        buf_str(out, cut_words(subject, SUBJECT_MAX));
        return;
    }
    subject = cut_words(s, SUBJECT_MAX);
    struct str word = word_of(subject);
    bool       common = !is_upper(s.ptr[0]) || (at_start && is_any(word, COMMON));
    if (common && takes_article(subject)) buf_lit(out, article_for(subject));
    if (common) add_lower(out, word);
    else buf_str(out, word);
    buf_str(out, str_from(subject, word.len));
}

static void image_line(struct buf *out, struct str prompt, const struct jv *args)
{
    if (str_is(jv_str_at(args, "mode"), "edit")) {
        buf_lit(out, "I'll edit that image for you...");
        return;
    }
    struct str s = prompt;
    eat_all(&s, LEAD_IN);
    if (eat_any(&s, PAINT)) eat_any(&s, FOR_WHOM);
    eat_picture_of(&s);
    s = str_trim(cut_japanese(first_clause(s)));
    buf_lit(out, "I'll create an image of ");
    if (s.len) add_subject(out, s, s.ptr == prompt.ptr);
    else buf_lit(out, "that");
    buf_lit(out, " for you...");
}

/* --- browser.search -------------------------------------------------------------- */

static void search_line(struct buf *out, struct str query)
{
    eat_all(&query, LEAD_IN);
    eat_all(&query, ASKED);
    eat(&query, "the");
    query = cut_words(without_stops(cut_japanese(query)), TOPIC_MAX);
    buf_lit(out, "I'll search for information about ");
    buf_str(out, query.len ? query : STR("that"));
    buf_lit(out, "...");
}

/* --- values in a sentence ---------------------------------------------------------- */

/* Letters of scripts that are written from left to right without marks; others are quoted, which
 * harms nobody. */
static bool is_letter(uint32_t cp)
{
    static const struct {
        uint32_t from, to;
    } letters[] = { { '0', '9' },       { 'A', 'Z' },       { 'a', 'z' },       { 0xc0, 0xd6 },
                    { 0xd8, 0xf6 },     { 0xf8, 0x24f },    { 0x388, 0x3ff },   { 0x400, 0x481 },
                    { 0x48a, 0x52f },   { 0x1e00, 0x1eff }, { 0x3005, 0x3005 }, { 0x3041, 0x3096 },
                    { 0x30a1, 0x30fa }, { 0x30fc, 0x30fc }, { 0x3400, 0x4dbf }, { 0x4e00, 0x9fff },
                    { 0xac00, 0xd7a3 } };
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (cp >= letters[i].from && cp <= letters[i].to) return true;
    return false;
}

/* Words that cannot end our sentence and begin one of their own: letters, single blanks between
 * them, and a sign inside a word. */
static bool is_plain(struct str s, size_t max)
{
    uint32_t before = ' ', cp = ' ';
    size_t   n = 0;
    for (; s.len; before = cp, n++) {
        s = str_from(s, utf8_decode(s, &cp));
        bool sign = before < 0x80 && before != ' ' && !is_letter(before);
        if (n == max || (cp == ' ' && (sign || before == ' '))) return false;
        if (cp != ' ' && !is_letter(cp) && (cp >= 0x80 || !cp || !strchr("-_.'@/#+&%:", (int)cp)))
            return false;
    }
    return n && is_letter(cp);
}

/* How wide a character is shown: an escape is more than one. */
static size_t width(uint32_t cp)
{
    return glyph_hidden(cp) || glyph_mark(cp) ? sizeof "\\u{0000}" - 1 : 1;
}

/* Bytes at the front of `s` that are shown within `max`; all of them: s.len. */
static size_t head(struct str s, size_t max)
{
    size_t   at = 0, used = 0;
    uint32_t cp;
    while (at < s.len) {
        unsigned n = utf8_decode(str_from(s, at), &cp);
        if ((used += width(cp)) > max) break;
        at += n;
    }
    return at;
}

static bool is_tail(char c)
{
    return (c & 0xc0) == 0x80;
}

/* Where its end begins that is shown within `max`. */
static size_t tail(struct str s, size_t max)
{
    size_t   at = s.len, used = 0;
    uint32_t cp;
    while (at) {
        size_t from = at - 1;
        while (from && at - from < 4 && is_tail(s.ptr[from])) from--;
        /* a byte that is no text */
        if (utf8_decode(str_from(s, from), &cp) != at - from) from = at - 1;
        if ((used += width(cp)) > max) break;
        at = from;
    }
    return at;
}

static size_t characters(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += !is_tail(s.ptr[i]);
    return n;
}

/* A long one keeps its beginning and its end, and what is left out is counted, in our words. */
static void add_shown(struct buf *out, struct str s, enum glyph_way way)
{
    if (head(s, VALUE_MAX) == s.len) {
        glyph_show(out, s, way);
        return;
    }
    size_t from = head(s, VALUE_HEAD), to = tail(s, VALUE_TAIL);
    glyph_show(out, str_cut(s, from), way);
    buf_printf(out, " … %zu more characters … ", characters(str_n(s.ptr + from, to - from)));
    glyph_show(out, str_from(s, to), way);
}

static void add_text(struct buf *out, struct str s, size_t plain_max)
{
    if (is_plain(s, plain_max)) buf_str(out, s);
    else add_shown(out, s, GLYPH_QUOTED);
}

/* Numbers digit by digit as they run, objects and lists as JSON. */
static void add_value(struct buf *out, const struct jv *v)
{
    if (!v || v->type == JSON_NULL) buf_chr(out, '?');
    else if (v->type == JSON_STRING) add_text(out, v->str, PLAIN_MAX);
    else add_shown(out, v->raw, GLYPH_LINE);
}

/* --- templates ------------------------------------------------------------------ */

/* A member that some receiver would read in place of the one named (glyph.h) must not go unsaid. */
static void add_twin(struct buf *out, const struct jv *obj, struct str name)
{
    if (!jv_is(obj, JSON_OBJECT)) return;
    JV_EACH (m, obj) {
        if (str_eq(m->key, name) || !glyph_alike(m->key, name)) continue;
        buf_lit(out, " (also ");
        add_shown(out, m->key, GLYPH_QUOTED);
        buf_lit(out, ": ");
        add_value(out, m);
        buf_chr(out, ')');
        return;
    }
}

/* {a.b}: the member, or "?". */
static void add_member(struct buf *out, const struct jv *args, struct str path)
{
    const struct jv *in = NULL, *v = args;
    struct str       name = STR_NONE;
    while (v && str_split(&path, '.', &name)) {
        in = v;
        v = jv_get_str(in, name);
    }
    add_value(out, v);
    add_twin(out, in, name);
}

/* The server's own word for it: an argument of the same name must not be taken for that. False: it
 * is a member of the arguments. */
static bool add_known(struct buf *out, const struct jv *known, struct str path)
{
    struct str       claim = STR("claim.");
    const struct jv *claims = str_starts(path, claim) ? jv_get(known, "claim") : NULL;
    const struct jv *v = jv_get_str(known, path);
    if (claims) add_value(out, jv_get_str(claims, str_from(path, claim.len)));
    else if (jv_is(v, JSON_STRING)) add_value(out, v);
    else return false;
    return true;
}

static void add_template(struct buf *out, struct str tmpl, const struct jv *args,
                         const struct jv *known)
{
    while (tmpl.len) {
        ptrdiff_t open = str_find(tmpl, STR("{"));
        if (open < 0) break;
        buf_str(out, str_cut(tmpl, (size_t)open));
        tmpl = str_from(tmpl, (size_t)open + 1);
        if (str_starts(tmpl, STR("{"))) {
            buf_chr(out, '{');
            tmpl = str_from(tmpl, 1);
            continue;
        }
        ptrdiff_t close = str_find(tmpl, STR("}"));
        if (close < 0) {
            buf_chr(out, '{');
            break;
        }
        struct str path = str_cut(tmpl, (size_t)close);
        if (!add_known(out, known, path)) add_member(out, args, path);
        tmpl = str_from(tmpl, (size_t)close + 1);
    }
    buf_str(out, tmpl);
}

static void clean_prompt(struct buf *out, const struct jv *args, const char *key)
{
    struct str s = jv_str_at(args, key);
    buf_init(out, 0);
    add_line(out, str_cut(s, utf8_cut(s, PROMPT_MAX)));
}

void intent_line(struct buf *out, struct str tool, struct str tmpl, const struct jv *args,
                 const struct jv *known)
{
    struct buf prompt;
    clean_prompt(&prompt, args, str_is(tool, "browser.search") ? "query" : "prompt");
    struct str p = buf_view(&prompt);
    if (tmpl.ptr) add_template(out, tmpl, args, known);
    else if (str_is(tool, "generate_artifact")) artifact_line(out, p, args);
    else if (str_is(tool, "generate_image")) image_line(out, p, args);
    else if (str_is(tool, "browser.search")) search_line(out, p);
    else buf_lit(out, "I'll help you with that...");
    buf_done(&prompt);
}

void intent_ask(struct buf *out, struct str tool, struct str tmpl, const struct jv *args,
                const struct jv *known)
{
    if (tmpl.ptr) {
        add_template(out, tmpl, args, known);
        return;
    }
    buf_lit(out, "Run ");
    add_text(out, tool, VALUE_MAX);
    buf_chr(out, '?');
}
