/* wire.h -- what a provider's wire is made of. Private to model/.
 *
 * Three pure parts per provider: the request writer (struct model_request ->
 * JSON), the decoder (payload of one event -> sink), and the reader of error bodies. None does
 * I/O or keeps time, so that recordings can be replayed and the decoders fuzzed.
 * remote.c joins them to model/upstream.
 */
#ifndef PARLEY_WIRE_H
#define PARLEY_WIRE_H

#include "base/jsonw.h"
#include "base/sse_in.h"
#include "model/blocks.h"
#include "model/fail.h"
#include "model/form.h"
#include "model/provider.h"
#include "model/tidy.h"

/* A response being read. The shared part is what remote.c looks at. */
struct decoder {
    struct blocks      blocks;
    struct arena      *scratch; /* for one event; reset before the next */
    const struct wire *wire;
    /* a stop reason was seen: with it the end of the body is no accident */
    bool               stopped;
    bool               ended; /* nothing more will come that matters */
    enum model_stop    stop;
    struct trouble     trouble; /* kind != FAIL_NONE: the attempt failed */
    int64_t            input_tokens, output_tokens;
    union {
        struct {
            uint64_t id_hash;
            bool     began, any_block;
            int64_t  cached, fresh;
        } anthropic;
        struct {
            int64_t    last_key;
            bool       refused, any_call;
            struct buf ids; /* hashes of the calls so far */
            /* the last chunk that was only text, without that text */
            struct buf mould;
            size_t     hole; /* where in it the text stood */
        } openai;
        struct {
            struct gemini_args *args;
        } gemini;
    } u;
};

struct wire {
    const char *base_url;
    const char *version_header, *version; /* NULL: the wire has none */
    /* The address; `base` has no '/' at its end. */
    void (*url)(struct buf *out, struct str base, struct str model);
    /* Name of the header that carries the key, and what stands before the key in it. */
    void (*key_header)(const struct model_config *c, const char **name, const char **prefix);
    struct taste taste;
    struct form  form;
    /* The request is tidy (tidy.h): what it says is written as it stands. */
    void (*body)(struct buf *out, const struct model_config *c, const struct model_request *q);
    /* a body of its own once more, less all signatures; may be NULL */
    void (*unsigned_body)(struct buf *out, const struct jv *body);
    void (*begin)(struct decoder *d); /* state that does not begin with 0; may be NULL */
    void (*event)(struct decoder *d, struct str name, struct str data);
    void (*finish)(struct decoder *d); /* end of body; may be NULL */
    void (*done)(struct decoder *d);   /* frees; may be NULL */
    /* refines what the status said; body as it was sent */
    void (*error)(struct trouble *t, const struct jv *body);
};

extern const struct wire wire_anthropic, wire_openai, wire_gemini;
const struct wire       *wire_find(struct str provider); /* NULL: unknown, or demo */

/* Any request as this provider takes it; errors are the buf's. `tokens`: about what it will be
 * counted as. */
void wire_body(const struct wire *w, struct buf *out, const struct model_config *c,
               const struct model_request *q, int64_t *tokens);

/* The body has ended: decides between stopped and cut. Afterwards `ended` or `trouble` is set. */
void decoder_finish(struct decoder *d);
/* Bytes of a stream to sink calls: the event framing and the decoder together. */
struct reader {
    struct sse_in  sse;
    struct decoder dec;
    bool           last;
};
void reader_init(struct reader *r, const struct wire *w, struct arena *scratch,
                 struct model_sink *sink);
void reader_done(struct reader *r);
/* then look at dec.ended and dec.trouble */
void reader_feed(struct reader *r, struct str bytes);
void reader_end(struct reader *r);
/* the sink is not called any more; also from inside it */
void reader_mute(struct reader *r);

/* What an HTTP answer that is no stream says. */
void wire_http_error(const struct wire *w, struct arena *scratch, int status, struct str body,
                     struct trouble *t);

/* struct model.how of a model so configured, in `a`; STR_NONE: no memory. */
struct str model_how(struct arena *a, const struct model_config *c, struct str host);
/* The request as `provider` may see it, where models have different ones; shares all but the parts
 * with `q`. False: no memory. */
bool       fallback_show(struct arena *a, const struct model_request *q, struct str provider,
                         struct model_request *to);

/* --- for the wires ------------------------------------------------------------ */

void       decoder_fail(struct decoder *d, enum fail kind);
/* calls win over STOP_END and the other way round */
void       decoder_stop(struct decoder *d, enum model_stop stop);
/* An HTTP status that stands in a payload (number or numeric string), 0: none. */
int        wire_status(const struct jv *v);
/* An error that already says so: {"error":...}. It is sent as it is, whatever the wire does with
 * others. */
bool       wire_says_error(struct str text);
/* The members of `extra`, except those named in `taken` (ends with NULL). */
void       wire_extra(struct jsonw *w, const struct jv *extra, const char *const *taken);
/* Thinking as one word, for wires that take an effort; STR_NONE when it is an object or was not
 * said. */
struct str wire_effort(const struct jv *thinking);
bool       wire_thinking_off(const struct jv *thinking); /* false or 0 */

#endif
