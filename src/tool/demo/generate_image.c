/* generate_image.c -- an SVG picture composed from the words of the prompt.
 *
 * LAYERS lists what can be seen, from the back to the front; each entry is drawn
 * when one of its words is in the prompt. The sky is always there: night, sunset
 * or day. What varies (stars, windows, trees) is drawn from a small generator
 * seeded by the prompt, so the same words always give the same picture.
 */
#include "tool/demo/demo_work.h"

#define W         800
#define H         500
#define HORIZON   330
#define MOUNTAINS "mountain|mountains|hill|hills|alps|fuji|peak|peaks"

enum sky { SKY_DAY, SKY_SUNSET, SKY_NIGHT };

struct canvas {
    struct buf *out;
    uint32_t    seed;
    enum sky    sky;
};

/* xorshift: good enough for stars. 0 <= result < n */
static int pick(struct canvas *c, int n)
{
    c->seed ^= c->seed << 13;
    c->seed ^= c->seed >> 17;
    c->seed ^= c->seed << 5;
    return (int)(c->seed % (uint32_t)n);
}

static uint32_t seed_of(struct str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++) h = (h ^ (unsigned char)s.ptr[i]) * 16777619u;
    return h ? h : 1;
}

/* --- the sky ---------------------------------------------------------------------- */

/* The colour for day, sunset and night. */
static const char *tint(const struct canvas *c, const char *day, const char *sunset,
                        const char *night)
{
    return c->sky == SKY_NIGHT ? night : c->sky == SKY_SUNSET ? sunset : day;
}

static void draw_sky(struct canvas *c)
{
    buf_printf(c->out,
               "<defs><linearGradient id='sky' x1='0' y1='0' x2='0' y2='1'><stop offset='0' "
               "stop-color='%s'/>"
               "<stop offset='.65' stop-color='%s'/><stop offset='1' "
               "stop-color='%s'/></linearGradient></defs>\n"
               "<rect width='%d' height='%d' fill='url(#sky)'/>\n",
               tint(c, "#5aa9e6", "#3b2a6b", "#0b1030"), tint(c, "#a9d6f5", "#e2604f", "#1b2450"),
               tint(c, "#e8f4fb", "#ffd27a", "#39406f"), W, H);
}

static void draw_stars(struct canvas *c)
{
    for (int i = 0; i < 70; i++) {
        int x = pick(c, W), y = pick(c, HORIZON), r = 1 + pick(c, 2), light = 4 + pick(c, 6);
        buf_printf(c->out, "<circle cx='%d' cy='%d' r='%d' fill='#fff' opacity='.%d'/>\n", x, y, r,
                   light);
    }
}

/* Sun or moon. With mountains in front the setting sun stands higher, or nobody would see it. */
static void draw_light(struct canvas *c, bool mountains)
{
    switch (c->sky) {
    case SKY_DAY: buf_lit(c->out, "<circle cx='640' cy='100' r='44' fill='#fff3b0'/>\n"); return;
    case SKY_SUNSET:
        buf_printf(c->out, "<circle cx='400' cy='%d' r='70' fill='#ffcf5c'/>\n",
                   HORIZON - (mountains ? 130 : 20));
        return;
    case SKY_NIGHT:
        draw_stars(c);
        buf_lit(c->out,
                "<path d='M640 62 a38 38 0 1 0 18 60 a34 34 0 0 1 -18 -60' fill='#f4f1d6'/>\n");
        return;
    }
}

/* --- what stands in it --------------------------------------------------------------- */

static void draw_clouds(struct canvas *c)
{
    for (int i = 0; i < 4; i++) {
        int x = 60 + i * 190 + pick(c, 60), y = 60 + pick(c, 110);
        buf_printf(c->out,
                   "<g fill='#fff' opacity='.75'><ellipse cx='%d' cy='%d' rx='60' ry='18'/>"
                   "<ellipse cx='%d' cy='%d' rx='34' ry='24'/></g>\n",
                   x, y, x + 12, y - 12);
    }
}

/* A zigzag from left to right: every second point is a peak. */
static void draw_range(struct canvas *c, const char *colour, int base, int height)
{
    buf_printf(c->out, "<path fill='%s' d='M0 %d", colour, H);
    for (int i = 0; i <= W / 80; i++) {
        int up = i % 2 ? height / 2 + pick(c, height) : pick(c, height / 2);
        buf_printf(c->out, " L%d %d", i * 80, base - up);
    }
    buf_printf(c->out, " L%d %d Z'/>\n", W, H);
}

static void draw_mountains(struct canvas *c)
{
    draw_range(c, tint(c, "#8aa0b4", "#7a3f63", "#2a3058"), HORIZON, 150);
    draw_range(c, tint(c, "#5f7a8f", "#4f2b52", "#1d2345"), HORIZON + 30, 110);
}

static void draw_ground(struct canvas *c)
{
    buf_printf(c->out, "<path fill='%s' d='M0 %d C200 %d 400 %d 800 %d L800 500 L0 500 Z'/>\n",
               tint(c, "#6fae5c", "#3a2440", "#16223a"), HORIZON + 60, HORIZON + 10, HORIZON + 90,
               HORIZON + 40);
}

static void draw_sea(struct canvas *c)
{
    buf_printf(c->out, "<rect y='%d' width='%d' height='%d' fill='%s'/>\n", HORIZON, W, H - HORIZON,
               tint(c, "#2d7fb8", "#8a3f5c", "#14204a"));
    for (int i = 0; i < 26; i++) {
        int x = pick(c, W), y = HORIZON + 10 + pick(c, H - HORIZON - 20);
        buf_printf(
            c->out,
            "<path d='M%d %d q10 -5 20 0' stroke='#fff' stroke-width='2' fill='none' opacity='.4'/>"
            "\n",
            x, y);
    }
}

static void draw_forest(struct canvas *c)
{
    for (int i = 0; i < 26; i++) {
        int x = i * 32 + pick(c, 20), y = HORIZON + 60 + pick(c, 70), h = 60 + pick(c, 60);
        buf_printf(c->out, "<path fill='%s' d='M%d %d l%d %d l%d 0 Z'/>\n",
                   tint(c, "#2f6b3c", "#18301f", "#18301f"), x, y - h, h / 4, h, -h / 2);
    }
}

static void draw_windows(struct canvas *c, int x, int top)
{
    for (int y = top + 10; y < HORIZON + 60; y += 18)
        for (int k = 0; k < 3; k++)
            if (pick(c, 3))
                buf_printf(c->out, "<rect x='%d' y='%d' width='7' height='9' fill='%s'/>\n",
                           x + 7 + k * 13, y, tint(c, "#c9d6e6", "#ffd978", "#ffd978"));
}

static void draw_city(struct canvas *c)
{
    for (int x = 0; x < W; x += 50) {
        int top = HORIZON + 60 - 70 - pick(c, 150);
        buf_printf(c->out, "<rect x='%d' y='%d' width='46' height='%d' fill='%s'/>\n", x, top,
                   H - top, tint(c, "#7d8796", "#1a1d2e", "#1a1d2e"));
        draw_windows(c, x, top);
    }
}

static void draw_house(struct canvas *c)
{
    buf_lit(
        c->out,
        "<g transform='translate(150 330)'><rect width='120' height='80' y='20' fill='#d9b08c'/>"
        "<path d='M-12 22 L60 -36 L132 22 Z' fill='#8c3b3b'/>"
        "<rect x='48' y='52' width='26' height='48' fill='#5b3a29'/>"
        "<rect x='14' y='40' width='22' height='22' fill='#ffe9a8'/></g>\n");
}

static void draw_boat(struct canvas *c)
{
    buf_printf(
        c->out,
        "<g transform='translate(%d 380)'><path d='M0 0 h120 l-22 28 h-76 Z' fill='#6b3f2a'/>"
        "<path d='M58 -6 V-92 L112 -14 Z' fill='#fff'/>"
        "<path d='M52 -6 V-70 L14 -12 Z' fill='#f3d9d0'/></g>\n",
        180 + pick(c, 360));
}

static void draw_birds(struct canvas *c)
{
    for (int i = 0; i < 7; i++) {
        int x = 60 + pick(c, 640), y = 50 + pick(c, 160);
        buf_printf(
            c->out,
            "<path d='M%d %d q9 -10 18 0 q9 -10 18 0' stroke='#222' stroke-width='3' fill='none'/>"
            "\n",
            x, y);
    }
}

static void draw_flowers(struct canvas *c)
{
    static const char *const petals[] = { "#ff6b8b", "#ffd166", "#c77dff", "#ffffff" };
    for (int i = 0; i < 40; i++) {
        int x = pick(c, W), y = 420 + pick(c, 70);
        buf_printf(c->out,
                   "<path d='M%d %d v14' stroke='#2f6b3c' stroke-width='2'/>"
                   "<circle cx='%d' cy='%d' r='6' fill='%s'/>\n",
                   x, y, x, y, petals[pick(c, 4)]);
    }
}

static void draw_cat(struct canvas *c)
{
    static const char *const furs[] = { "#2b2b2b", "#c9803f", "#8d8d8d", "#e9dcc7" };
    const char              *fur = furs[pick(c, 4)];
    buf_printf(c->out,
               "<g transform='translate(500 330)'><g fill='%s'>"
               "<path d='M150 110 q60 -10 40 -80' stroke='%s' stroke-width='14' fill='none' "
               "stroke-linecap='round'/>",
               fur, fur);
    buf_lit(c->out, "<ellipse cx='90' cy='100' rx='72' ry='50'/><circle cx='40' cy='48' r='42'/>"
                    "<path d='M4 30 L8 -22 L38 10 Z M44 10 L74 -20 L76 32 Z'/></g>"
                    "<circle cx='26' cy='44' r='6' fill='#cfe86b'/><circle cx='56' cy='44' r='6' "
                    "fill='#cfe86b'/>"
                    "<path d='M36 58 h10 l-5 6 Z' fill='#e08a8a'/>"
                    "<path d='M30 64 h-34 M30 68 l-32 8 M54 64 h34 M54 68 l32 8' stroke='#fff' "
                    "stroke-width='2'/>"
                    "</g>\n");
}

static void draw_dog(struct canvas *c)
{
    buf_lit(
        c->out,
        "<g transform='translate(120 360)' fill='#a9743f'><ellipse cx='100' cy='60' rx='80' "
        "ry='38'/>"
        "<rect x='40' y='80' width='16' height='50'/><rect x='140' y='80' width='16' height='50'/>"
        "<circle cx='190' cy='30' r='34'/><ellipse cx='222' cy='40' rx='22' ry='14'/>"
        "<path d='M168 12 q-22 30 -6 50 Z' fill='#6b4423'/>"
        "<circle cx='198' cy='22' r='5' fill='#111'/><circle cx='240' cy='36' r='6' fill='#111'/>"
        "<path d='M24 50 q-40 -20 -30 -50' stroke='#a9743f' stroke-width='12' fill='none'/></g>\n");
}

static void draw_unicorn(struct canvas *c)
{
    buf_lit(c->out,
            "<g transform='translate(300 270)' fill='#fdfbff' stroke='#cbbfe0' stroke-width='2'>"
            "<ellipse cx='110' cy='110' rx='90' ry='48'/>"
            "<rect x='40' y='140' width='18' height='70'/><rect x='160' y='140' width='18' "
            "height='70'/>"
            "<path d='M160 110 L190 20 L240 30 L250 62 L208 64 L194 130 Z'/>"
            "<path d='M206 20 L226 -52 L220 22 Z' fill='#ffd166'/>"
            "<path d='M190 20 q-40 30 -30 90' stroke='#ff8fc7' stroke-width='14' fill='none'/>"
            "<path d='M22 100 q-40 30 -30 80' stroke='#9b8cff' stroke-width='14' fill='none'/>"
            "<circle cx='222' cy='42' r='4' fill='#333'/></g>\n");
}

static void draw_snow(struct canvas *c)
{
    for (int i = 0; i < 120; i++) {
        int x = pick(c, W), y = pick(c, H), r = 2 + pick(c, 2);
        buf_printf(c->out, "<circle cx='%d' cy='%d' r='%d' fill='#fff'/>\n", x, y, r);
    }
}

static void draw_rain(struct canvas *c)
{
    for (int i = 0; i < 120; i++) {
        int x = pick(c, W), y = pick(c, H);
        buf_printf(c->out,
                   "<path d='M%d %d l-5 18' stroke='#cfe3ff' stroke-width='2' opacity='.7'/>\n", x,
                   y);
    }
}

/* Nothing known in the prompt: circles in colours of its own. */
static void draw_abstract(struct canvas *c)
{
    for (int i = 0; i < 24; i++) {
        int x = pick(c, W), y = pick(c, H), r = 20 + pick(c, 90), hue = pick(c, 360);
        buf_printf(c->out,
                   "<circle cx='%d' cy='%d' r='%d' fill='hsl(%d 70%% 60%%)' opacity='.55'/>\n", x,
                   y, r, hue);
    }
}

static const struct layer {
    const char *words, *name;
    void (*draw)(struct canvas *c);
} LAYERS[] = {
    { "cloud|clouds|cloudy", "clouds", draw_clouds },
    { MOUNTAINS, "mountains", draw_mountains },
    { "sea|ocean|lake|beach|water|river|harbour|harbor|waves", "the sea", draw_sea },
    { "field|meadow|garden|park|house|home|cottage|dog|dogs|unicorn|unicorns|flower|flowers",
      "a meadow", draw_ground },
    { "forest|tree|trees|wood|woods|jungle|pine", "a forest", draw_forest },
    { "city|town|skyline|tokyo|paris|london|building|buildings|street", "a city", draw_city },
    { "house|home|cottage|cabin", "a house", draw_house },
    { "boat|boats|ship|ships|sailing|sail", "a boat", draw_boat },
    { "flower|flowers|garden|roses|tulips|spring", "flowers", draw_flowers },
    { "unicorn|unicorns", "a unicorn", draw_unicorn },
    { "dog|dogs|puppy", "a dog", draw_dog },
    { "cat|cats|kitten", "a cat", draw_cat },
    { "bird|birds|seagulls|gulls", "birds", draw_birds },
    { "snow|snowy|winter|christmas", "snow", draw_snow },
    { "rain|rainy|storm|stormy", "rain", draw_rain },
};

/* --- composing ------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool word_listed(struct str word, const char *list)
{
    struct str rest = str_c(list), one;
    while (str_split(&rest, '|', &one))
        if (str_eq_nocase(word, one)) return true;
    return false;
}

static bool mentions(struct str prompt, const char *list)
{
    for (size_t at = 0; at < prompt.len;) {
        size_t n = 0;
        while (at + n < prompt.len && is_letter(prompt.ptr[at + n])) n++;
        if (n && word_listed(str_n(prompt.ptr + at, n), list)) return true;
        at += n ? n : 1;
    }
    return false;
}

static enum sky sky_of(struct str prompt)
{
    if (mentions(prompt, "sunset|sunrise|dusk|dawn|evening")) return SKY_SUNSET;
    return mentions(prompt, "night|moon|stars|midnight|dark|space|galaxy") ? SKY_NIGHT : SKY_DAY;
}

static void add_xml(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '&') buf_lit(out, "&amp;");
        else if (c == '<') buf_lit(out, "&lt;");
        else if (c == '>') buf_lit(out, "&gt;");
        else buf_chr(out, (unsigned char)c < ' ' ? ' ' : c);
    }
}

/* Draws the picture and lists what is in it: "a sunset sky, mountains". */
static void compose(struct buf *svg, struct buf *seen, struct str prompt)
{
    static const char *const skies[] = { "a bright sky", "a sunset sky", "a night sky" };
    struct canvas            c = { svg, seed_of(prompt), sky_of(prompt) };
    bool                     any = c.sky != SKY_DAY || mentions(prompt, "sun|sky|day|summer");
    buf_printf(svg,
               "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' role='img'>\n<title>",
               W, H);
    add_xml(svg, prompt);
    buf_lit(svg, "</title>\n");
    draw_sky(&c);
    draw_light(&c, mentions(prompt, MOUNTAINS));
    buf_lit(seen, skies[c.sky]);
    for (size_t i = 0; i < sizeof LAYERS / sizeof *LAYERS; i++) {
        if (!mentions(prompt, LAYERS[i].words)) continue;
        LAYERS[i].draw(&c);
        buf_printf(seen, ", %s", LAYERS[i].name);
        any = true;
    }
    if (!any) draw_abstract(&c);
    if (!any) buf_lit(seen, ", and circles for the words I have no picture of");
    buf_lit(svg, "</svg>\n");
}

static void write_value(struct demo_work *w, struct str title, struct str svg)
{
    struct jsonw j;
    jsonw_init(&j, &w->value);
    jw_obj(&j);
    struct str id = arena_printf(&w->arena, "image-" STR_FMT, STR_ARG(w->job->call_id));
    jw_kstr(&j, "id", id);
    jw_kstrz(&j, "type", "svg");
    jw_kstr(&j, "title", title);
    jw_kstr(&j, "content", svg);
    jw_end_obj(&j);
}

void generate_image_run(struct demo_work *w)
{
    struct str prompt = str_trim(jv_str_at(w->job->args, "prompt"));
    struct buf svg, seen;
    if (!prompt.len) prompt = STR("a sunset over mountains");
    buf_init(&svg, 0);
    buf_init(&seen, 0);
    compose(&svg, &seen, prompt);
    demo_stage(w, "sketching", 0.3, "Sketching...");
    demo_stage(w, "painting", 0.8, "Painting " STR_FMT "...", STR_ARG(buf_view(&seen)));
    buf_lit(&w->text, "Drew \"");
    buf_str(&w->text, prompt);
    buf_lit(&w->text, "\": ");
    buf_str(&w->text, buf_view(&seen));
    buf_chr(&w->text, '.');
    if (svg.err || seen.err) w->text.err = ERR_NOMEM;
    write_value(w, prompt, buf_view(&svg));
    buf_done(&svg);
    buf_done(&seen);
}
