/* get_weather.c -- weather made from the city's name: any city has one, and always the same. */
#include "tool/demo/demo_work.h"

/* FNV-1a over the name in lower case: str_hash would differ in every process. */
static uint32_t hash_name(struct str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        h = (h ^ (c >= 'A' && c <= 'Z' ? c + 32u : c)) * 16777619u;
    }
    return h ^ h >> 15;
}

static const char *condition(uint32_t h, int temperature)
{
    static const char *const mild[] = {
        "clear sky", "a few clouds", "light rain", "overcast",
        "showers",   "sunshine",     "mist",       "a fresh breeze"
    };
    static const char *const cold[] = { "light snow", "clear and frosty", "snow showers",
                                        "freezing fog" };
    return temperature <= 1 ? cold[h % 4] : mild[h % 8];
}

/* "tokyo" is shown as "Tokyo". */
static struct str shown(struct arena *a, struct str city)
{
    struct str s = arena_dup(a, city);
    if (!s.ptr || !s.len || s.ptr[0] < 'a' || s.ptr[0] > 'z') return s;
    ((char *)(uintptr_t)s.ptr)[0] = (char)(s.ptr[0] - 32); /* our own copy */
    return s;
}

void get_weather_run(struct demo_work *w)
{
    struct str city = str_trim(jv_str_at(w->job->args, "city"));
    uint32_t   h = hash_name(city);
    int        temperature = (int)(h % 41) - 6, wind = (int)(h >> 8 & 31),
        humidity = 35 + (int)(h >> 16) % 61;
    const char  *sky = condition(h >> 4, temperature);
    struct jsonw j;
    if (!city.len) {
        demo_fail(w, "Which city? The name is empty.");
        return;
    }
    city = shown(&w->arena, city);
    buf_str(&w->text, city);
    buf_printf(&w->text, ": %d °C, %s, wind %d km/h, humidity %d %%.", temperature, sky, wind,
               humidity);
    jsonw_init(&j, &w->value);
    jw_obj(&j);
    jw_kstr(&j, "city", city);
    jw_kint(&j, "temperature_c", temperature);
    jw_kstrz(&j, "condition", sky);
    jw_kint(&j, "wind_kmh", wind);
    jw_kint(&j, "humidity", humidity);
    jw_end_obj(&j);
}
