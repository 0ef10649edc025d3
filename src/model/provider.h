/* provider.h -- models behind a network: how one is configured, made and checked.
 *
 *     struct upstream *up = upstream_new(&loop);
 *     struct model_config c = { .name = STR("main"), .provider = STR("anthropic"),
 *                               .model = STR("..."), .api_key = &key };
 *     struct model *m = model_remote_new(up, &c, &why);
 *
 * Providers: "anthropic", "gemini", "openai" (everything that speaks chat
 * completions: llama.cpp, vLLM, Ollama, Mistral, Groq ...). The configuration is
 * copied; what is 0 or STR_NONE takes its default.
 */
#ifndef PARLEY_PROVIDER_H
#define PARLEY_PROVIDER_H

#include "base/secret.h"
#include "model/model.h"

struct upstream;             /* model/upstream.h: the connections, one per loop */

struct model_config {
    struct str name;                   /* how the configuration calls it; default: the model */
    struct str provider;
    struct str model;                  /* required */
    const struct secret *api_key;      /* NULL or empty: none is sent (local servers) */
    struct str base_url;               /* default: the vendor's. anthropic: ".../v1/messages" is appended ("/v1" not
                                          twice); openai: "/chat/completions"; gemini: "/models/..." */
    int64_t    max_tokens;             /* default: anthropic 8192 (it must be sent), others: the provider's own */
    struct str thinking;               /* raw JSON. anthropic: the `thinking` object; gemini: `thinkingConfig`;
                                          openai: a string, sent as reasoning_effort */
    const struct jv *headers;          /* object of strings, sent as they are; one of the same name as ours replaces it */
    const struct jv *extra;            /* object; its members are added to the request body (temperature ...) */
    struct str version;                /* anthropic-version; default 2026-10-21 */
    bool       bearer;                 /* anthropic: key as Authorization: Bearer instead of x-api-key */
    bool       no_cache_marks;         /* anthropic: no cache_control */
    bool       replay_reasoning;       /* openai: reasoning_content on assistant messages (DeepSeek tool turns) */
    unsigned   connect_ms;             /* 10,000 */
    unsigned   first_byte_ms;          /* 120,000: until the response's headers */
    unsigned   idle_ms;                /* 120,000 between two reads; comments and pings count as life */
    unsigned   total_ms;               /* 1,800,000 */
    unsigned   wait_max_ms;            /* 60,000: a longer wait asked for by the provider is not slept but told */
    int        retries;                /* 0: the default (2); negative: none */
    size_t     response_max;           /* 64 MiB: bytes of one answer */
};

/* A model, or NULL and in *why a sentence about the configuration (static text). */
struct model *model_remote_new(struct upstream *up, const struct model_config *c, struct str *why);

/* The base URL used when none is given; STR_NONE: no such provider. */
struct str model_provider_url(struct str provider);

/* A list of models that looks like one: when a model fails before its first delta, the
 * next is asked. Does not own them; they must outlive it. Its provider is theirs when all are
 * the same; else "fallback", and its opaque parts say whose they are. NULL: no memory, or count 0. */
struct model *model_fallback_new(struct str name, struct model *const *models, size_t count);

/* One token's worth: does this configuration work? `done` is called once, never from inside, with
 * ok or a sentence (valid during the call). Every model has its deadlines cut to what a person waits. */
struct model_check;
struct model_check *model_check(struct upstream *up, const struct model_config *c,
                                void (*done)(void *ctx, bool ok, struct str sentence), void *ctx);
void model_check_cancel(struct model_check *k);      /* before `done` only */

#endif
