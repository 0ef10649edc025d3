/* providers.c -- every provider there is, a row each: what the configuration has to know of it. */
#include "model/wire.h"

/* In the order in which the environment is searched for a key. */
static const struct provider ALL[] = {
    { .name = "anthropic",
      .wire = &wire_anthropic,
      .key = "ANTHROPIC_API_KEY",
      .base_url = "ANTHROPIC_BASE_URL",
      .model = "ANTHROPIC_MODEL",
      .usual = "claude-sonnet-5",
      .options = { [OPTION_TEMPERATURE] = "temperature",
                   [OPTION_TOP_P] = "top_p",
                   [OPTION_TOP_K] = "top_k",
                   [OPTION_STOP] = "stop_sequences" },
      .sampled = "2023-06-01" },
    { .name = "gemini",
      .wire = &wire_gemini,
      .key = "GEMINI_API_KEY",
      .base_url = "GEMINI_BASE_URL",
      .model = "GEMINI_MODEL",
      .usual = "gemini-flash-latest",
      .options = { [OPTION_TEMPERATURE] = "temperature",
                   [OPTION_TOP_P] = "topP",
                   [OPTION_TOP_K] = "topK",
                   [OPTION_SEED] = "seed",
                   [OPTION_STOP] = "stopSequences" },
      .options_in = "generationConfig" },
    { .name = "openai",
      .wire = &wire_openai,
      .key = "OPENAI_API_KEY",
      .base_url = "OPENAI_BASE_URL",
      .keyless = true,
      .model = "OPENAI_MODEL",
      .usual = "gpt-5.4-mini",
      .options = { [OPTION_TEMPERATURE] = "temperature",
                   [OPTION_TOP_P] = "top_p",
                   [OPTION_SEED] = "seed",
                   [OPTION_STOP] = "stop" } },
    { .name = "demo",
      .usual = "demo",
      .options = { [OPTION_TEMPERATURE] = "temperature",
                   [OPTION_TOP_P] = "top_p",
                   [OPTION_SEED] = "seed",
                   [OPTION_STOP] = "stop" } },
};

size_t provider_count(void)
{
    return sizeof ALL / sizeof *ALL;
}

const struct provider *provider_at(size_t i)
{
    return &ALL[i];
}

const struct provider *provider_find(struct str name)
{
    for (size_t i = 0; i < provider_count(); i++)
        if (str_is(name, ALL[i].name)) return &ALL[i];
    return NULL;
}

const struct provider *provider_demo(void)
{
    return &ALL[provider_count() - 1];
}

bool provider_is_demo(struct str name)
{
    return str_is(name, provider_demo()->name);
}

bool provider_takes(struct str name, const char *media_type)
{
    const struct provider *p = provider_find(name);
    const char *const     *f = p && p->wire ? p->wire->taste.files : NULL;
    while (f && *f && strcmp(*f, media_type) != 0) f++;
    return f && *f;
}

const struct wire *wire_find(struct str provider)
{
    const struct provider *p = provider_find(provider);
    return p ? p->wire : NULL;
}

struct str model_provider_url(struct str provider)
{
    const struct wire *w = wire_find(provider);
    return w ? str_c(w->base_url) : STR_NONE;
}
