/* provider.h -- models behind a network: how one is configured, made and checked.
 *
 *     struct upstream *up = upstream_new(&loop);
 *     struct model_config c = { .name = STR("main"), .provider = STR("anthropic"),
 *                               .model = STR("..."), .api_key = key, .retries = MODEL_RETRIES };
 *     struct model *m = model_remote_new(up, &c, &why);
 *
 * Providers are the rows of providers.c; "openai" is everything that speaks chat completions
 * (llama.cpp, vLLM, Ollama, Mistral, Groq ...). A new one is a row there and its wire (wire.h); the
 * configuration asks here and names none. The configuration is copied. Secrets in it are copied
 * into the request headers only, which are wiped when the model is freed.
 */
#ifndef PARLEY_PROVIDER_H
#define PARLEY_PROVIDER_H

#include "base/buf.h"
#include "base/json.h"
#include "model/model.h"

struct upstream; /* model/upstream.h: the connections, one per loop */

/* How a model is to speak, under one name for all; the table of names is config_options.c. */
enum model_option {
    OPTION_TEMPERATURE,
    OPTION_TOP_P,
    OPTION_TOP_K,
    OPTION_SEED,
    OPTION_STOP,
    OPTION_COUNT
};

struct wire;
struct provider {
    const char        *name;
    const struct wire *wire;                   /* NULL: the demo model, which is compiled in */
    const char        *key, *base_url, *model; /* variables of the environment; NULL: none */
    bool               keyless; /* its address is reason enough to choose it: local servers */
    const char        *usual;   /* the model where none is named */
    const char        *options[OPTION_COUNT]; /* what it calls them; NULL: it has none */
    const char        *options_in; /* the member of the body that they stand in; NULL: itself */
    /* the only version of its service that takes temperature, top_p and top_k; NULL: all do */
    const char        *sampled;
};
size_t                 provider_count(void);
const struct provider *provider_at(size_t i);
const struct provider *provider_find(struct str name); /* NULL: unknown */
const struct provider *provider_demo(void);
bool                   provider_is_demo(struct str name);
/* Do its models take files of this type ("application/pdf")? */
bool                   provider_takes(struct str name, const char *media_type);

struct model_header {
    struct str name, value;
};

/* What is used where the configuration says nothing; its table of keys tells these numbers. */
#define MODEL_CONNECT_S    10
#define MODEL_FIRST_BYTE_S 120
#define MODEL_IDLE_S       120
#define MODEL_TOTAL_S      1800
#define MODEL_WAIT_S       60
#define MODEL_RETRIES      2
/* far from what a process can hold, and a hanging service leaves room for others */
#define MODEL_CONCURRENT   500
#define MODEL_RESPONSE_MAX (64u << 20) /* has no key */

struct model_config {
    struct str                 name; /* how the configuration calls it; STR_NONE: the model */
    struct str                 provider;
    struct str                 model;   /* required */
    struct str                 api_key; /* secret; STR_NONE: none is sent (local servers) */
    /* STR_NONE: the vendor's. anthropic: "/v1/messages" is appended ("/v1" not twice); openai:
     * "/chat/completions"; gemini: "/models/..." */
    struct str                 base_url;
    struct str                 version; /* anthropic-version; STR_NONE: 2026-10-21 */
    bool                       bearer;  /* anthropic, gemini: the key as Authorization: Bearer */
    /* 0: anthropic 8192 (it must be sent), others: the provider's own */
    int64_t                    max_tokens;
    /* NULL: not said. true, false; a number: a budget of tokens (0: off); a string: the effort
     * ("low" ...); an object, the provider's own: anthropic's `thinking`, gemini's
     * `thinkingConfig`, for openai members of the body. */
    const struct jv           *thinking;
    /* one of the same name as ours replaces it */
    const struct model_header *headers;
    size_t                     header_count;
    /* NULL, or an object; its members are added to the request body (temperature ...) */
    const struct jv           *extra;
    bool                       no_cache_marks; /* anthropic: no cache_control */
    /* openai: reasoning_content on assistant messages (DeepSeek tool turns) */
    bool                       replay_reasoning;
    unsigned                   connect_ms; /* these four: 0 takes the default, in seconds above */
    unsigned                   first_byte_ms; /* until the response's headers */
    unsigned                   idle_ms; /* between two reads; comments and pings count as life */
    unsigned                   total_ms;
    /* a longer wait asked for by the provider is not slept but told */
    unsigned                   wait_max_ms;
    unsigned                   retries; /* further attempts; 0: none */
    /* calls at the same time; as many more wait in order, up to first_byte_ms; 0: the default */
    unsigned                   concurrent;
    size_t                     response_max; /* bytes of one answer; 0: the default */
};
/* A model, or NULL and in *why a sentence about the configuration (static text). */
struct model *model_remote_new(struct upstream *up, const struct model_config *c, struct str *why);

/* The body that a model was sent for `q`, byte for byte. `how`: struct model.how, parsed; `name`:
 * which model of a list, STR_NONE: the first; `stripped`: without signatures. False: nothing was
 * sent, as to the demo model; then it is the request in OpenAI's form, so that there is something
 * to read. */
bool model_sent(struct buf *out, const struct jv *how, struct str name, bool stripped,
                const struct model_request *q);

/* For /metrics, by model: calls that it answers now and that wait for a place, how long answers
 * took, and what failed. */
void model_metrics(struct buf *out);

/* The base URL used when none is given; STR_NONE: no such provider. */
struct str model_provider_url(struct str provider);

/* A list of models that looks like one: when a model fails before its first delta, the
 * next is asked. One that is away (model_ops.away_ms) is passed over until it is worth asking
 * again. Does not own them; they must outlive it. Its provider is theirs when all are the same;
 * else "fallback", and its opaque parts say whose they are. NULL: no memory, or count 0. */
struct model *model_fallback_new(struct str name, struct model *const *models, size_t count);

/* One token's worth: does this configuration work? `done` is called once, never from inside, with
 * ok or a sentence (valid during the call). Every model has its deadlines cut to what a person
 * waits. */
struct model_check;
struct model_check *model_check(struct upstream *up, const struct model_config              *c,
                                void (*done)(void *ctx, bool ok, struct str sentence), void *ctx);

#endif
