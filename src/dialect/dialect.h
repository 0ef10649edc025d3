/* dialect.h -- facts and slices of the open step become the events of one wire form.
 *
 * An encoder is a cursor with a small memory. encode_into() looks at what lies after its place (the
 * next fact, or more of the step being spoken) and appends the events for it to a buffer. It never
 * looks at connections and never changes a thread. First stream, reconnect, second tab: the same
 * code with another start.
 *
 * Three parts, and each knows nothing of the others:
 *   the encoder (encode.c)   the walk, places, and the cut: what did not fit goes out with the next
 *                            call, byte for byte as if it had fitted
 *   a dialect                what events there are and what stands in them; one file, one row in
 *                            door/routes.c, its own memory
 *   a carrier                how one event travels: server-sent events, or texts of a WebSocket
 *
 * Places. "41.17" means: facts up to 41 are told, and 17 units of what follows. Units of a step are
 * those of step.h, units of another fact are its events. Each event carries the place after it as
 * its id.
 *
 * Starting in the middle is a silent replay: encoder_start() goes to the beginning of the run and
 * passes over everything up to the cursor without writing, so that counters, open parts and
 * separators are as they were. No dialect has seek code.
 *
 * What every dialect keeps (test_encode.c checks it for every one that a route names):
 *   1. The same log gives the same events: what is told of a fact depends on facts up to the
 *      horizon and on the memory, never on the clock, the carrier or the room.
 *   2. Cut at any event and begun again at that event's id, the stream goes on as if never cut,
 *      adjacent deltas of one part taken together.
 *   3. Silent or not, the same units are counted, so a place means the same to every reader.
 *   4. Only what is true at the head and no fact (status, progress) has no place; it may be left
 *      out.
 *   5. A stream of one run ends: with the run, or where it waits for somebody.
 */
#ifndef PARLEY_DIALECT_H
#define PARLEY_DIALECT_H

#include "base/buf.h"
#include "base/jsonw.h"
#include "run/marker.h"
#include "run/thread.h"

struct encoder;
struct held;

enum stream_mode {
    STREAM_RUN,    /* one run: ends with it, and at a gate */
    STREAM_THREAD, /* everything, until the client leaves */
};

/* Where a stream begins, and what its reader wants of it. */
struct stream_start {
    enum stream_mode mode;
    struct str       run;          /* STREAM_RUN: whose; owned by the caller */
    uint64_t         seq, units;   /* after this place */
    bool             replay;       /* a known run again: no opening, gates that are past quiet */
    bool             quiet_gates;  /* the same for the gates alone */
    bool             continuation; /* of a run that another stream told up to here */
    /* Each is for the dialects that know it. */
    bool             reasoning; /* told on request only */
    bool             native;    /* the form of approvals: the client's own, or a tool that asks */
    bool             whole;     /* one turn is one run: a gate does not end it */
    bool             settled;   /* only what is over: nothing of the step being spoken */
    bool             older;     /* a client of before the protocol's first whole version */
    /* what the client calls this stream, where it has a name of its own; owned by the caller */
    struct str       segment;
    uint64_t         verdicts; /* those up to this fact it has been told of */
    struct str       response; /* the one told (response.h); owned by the caller, as the next */
    struct str       model;    /* what the client calls it */
    struct str       link;     /* the server's public address, for ever; STR_NONE: nobody said */
    uint64_t         after;    /* its reader has the events whose numbers are lower */
    bool             usage;    /* asked for */
    /* whose run it is: leaving this stream before its end is stopping. STR_NONE: it is not */
    struct str       leaves;
};

/* Kinds of facts of which no wire form tells: `UNTOLD_FACTS: return;`. A new kind goes here, or
 * gets a case in every dialect: the compiler asks for it. */
#define UNTOLD_FACTS     \
    case FACT_CREATED:   \
    case FACT_RESULT:    \
    case FACT_CLAIMED:   \
    case FACT_CONTINUED: \
    case FACT_STOP:      \
    case FACT_SETTLED:   \
    case FACT_LATE:      \
    case FACT_CHECKED:   \
    case FACT_VOTED:     \
    case FACT_ESCALATED: \
    case FACT_REVOKED:   \
    case FACT_BROUGHT:   \
    case FACT_FORKED:    \
    case FACT_FORGOTTEN: \
    case FACT_LABELLED:  \
    case FACT_TRIED:     \
    case FACT_HANDED:    \
    case FACT_NAMED:     \
    case FACT_TRIMMED:   \
    case FACT_KIND_COUNT

struct dialect {
    const char *name;
    bool        ids;   /* its events carry their places, and a reader comes back with one */
    bool        named; /* each event's type stands before it, too: "event: ..." */

    /* The memory is all zero: takes what it wants of the start. NULL: nothing. */
    void (*start)(struct encoder *e, const struct stream_start *s);
    /* The silent replay is over, and another stream told what it passed. NULL: nothing. */
    void (*continues)(struct encoder *e);
    /* Called once, before the first event of this stream (not when replaying a known run). */
    void (*open)(struct encoder *e, const struct thread *t);
    /* Beginnings and ends of steps and parts count one unit each, whether an event comes of them or
     * not: use event_begin_at(). `first` is the step's first part; NULL: it has none. */
    void (*step_begin)(struct encoder *e, const struct part *first);
    void (*part_begin)(struct encoder *e, const struct part *p);
    /* Takes bytes of a part; returns how many. `last`: the part ends with them. Silent passes must
     * take all. */
    size_t (*bytes)(struct encoder *e, const struct part *p, struct str bytes, bool last);
    void (*part_end)(struct encoder *e, const struct part *p);
    void (*fact)(struct encoder *e, const struct thread *t, const struct fact *f);
    /* At the head of the log: what is true now but no fact (status, progress). */
    void (*head)(struct encoder *e, const struct thread *t);
    /* The words told since the last fact were lost in a crash. */
    void (*reset)(struct encoder *e, const struct thread *t);
    void (*restart)(struct encoder *e); /* the server is going away, or its store: e->stuck */
    void (*close)(struct encoder *e);   /* after the last event: "[DONE]" or nothing */
};

/* How one event travels. A carrier whose events are texts of their own (`put`) has them marked by
 * the encoder; without, an item is a string of bytes that may be cut anywhere. */
struct carrier {
    size_t need;   /* no item is begun with less room than this */
    size_t around; /* of that, for what stands around the events */
    size_t head;   /* what `put` may add to a piece */
    void (*begin)(struct encoder *e, bool with_id);
    void (*end)(struct encoder *e);
    void (*raw)(struct encoder *e, struct str text);
    /* the carrier's own last words instead of the dialect's; NULL: it has none */
    void (*restart)(struct encoder *e);
    /* A text, or a piece of one when it is not both first and last. */
    void (*put)(struct encoder *e, struct buf *out, struct str piece, bool first, bool last);
};
/* list: the members of one JSON list, without its brackets */
extern const struct carrier carrier_sse, carrier_list;

#define DIALECT_MEMORY 64 /* bytes; each dialect asserts that its own fits */

struct encoder {
    const struct dialect *d;
    const struct carrier *carrier;
    void                 *ctx;        /* the carrier's */
    struct buf           *out;        /* NULL while passing silently */
    uint64_t              seq, units; /* the place */
    uint64_t              skip;       /* units still to be passed silently */
    uint64_t              horizon;    /* facts up to here are known while this item is encoded */
    uint64_t              events;     /* told by this stream so far */
    uint64_t              progress_told;
    enum stream_mode      mode;
    struct str            run, response, model, link;
    const bool           *shown; /* by fact, borrowed: others are passed over. NULL: all of them */
    const char           *type;  /* of the event being begun */
    bool                  opened, ended;
    bool                  stuck;       /* it leaves because nothing can be saved: encode_last */
    bool                  quiet;       /* this piece is passed silently */
    bool                  rewound;     /* reset() moved the place back */
    bool                  quiet_gates; /* questions that were answered since are not asked again */
    struct {
        size_t       sent, whole; /* bytes of the item at the place that are out, and all of them */
        struct held *held;        /* the item itself, if there was room to keep it */
        /* it is encoded once more instead, and must come out the same: the horizon stays */
        bool         again;
    } cut;
    /* the dialect's own: encoder_memory() */
    _Alignas(max_align_t) char memory[DIALECT_MEMORY];
};

/* --- driving ---------------------------------------------------------------------------------- */

enum encoded {
    ENCODED_NOTHING, /* at the head: ask again when woken */
    ENCODED_ITEM,    /* something was passed (maybe without bytes) */
    ENCODED_CUT,     /* the room is used up: ask again when there is more */
    ENCODED_END,     /* this stream is over */
    ENCODED_FAILED,  /* no memory for an event: the reader has to come back by its place */
};

/* Zeroes the encoder and puts it where a stream is to begin; nothing is written. */
void encoder_start(struct encoder *e, const struct dialect *d, const struct carrier *carrier,
                   void *ctx, const struct thread *t, const struct stream_start *s);
/* Appends the events of the next item, at most `room` bytes. Words are cut to fit; of an event that
 * is too large as much as fits, and the rest in the next calls: until then encoder_is_cut(), and
 * nothing else may be put between. Reports at the head that do not fit are left out. */
enum encoded encode_into(struct encoder *e, const struct thread *t, struct buf *out, size_t room);
/* The last words of a stream that does not end by itself: its thread is gone, or (`restart`) the
 * server goes away, or (e->stuck, too) its store has. ENCODED_END, ENCODED_FAILED; ENCODED_CUT:
 * encode_into() gives the rest. */
enum encoded encode_last(struct encoder *e, struct buf *out, size_t room, bool restart);
/* Of both: for the dialect's restart(). */
const char  *encoder_farewell(const struct encoder *e);
const char  *encoder_farewell_code(const struct encoder *e);
bool         encoder_is_cut(const struct encoder *e);
void         encoder_done(struct encoder *e); /* gives back what it holds */

/* "seq.units"; false when it is not that. */
bool place_parse(struct str s, uint64_t *seq, uint64_t *units);
/* Can an event of this thread have that place? Not beyond its head, and not inside a character. */
bool place_fits(const struct thread *t, uint64_t seq, uint64_t units);

/* --- for dialects ----------------------------------------------------------------------------- */

/* Zeroed at the start, kept and taken back with the place. */
static inline void *encoder_memory(const struct encoder *e)
{
    return (void *)(uintptr_t)e->memory;
}
/* May it stand in the middle of a step, without ending the words before it? */
bool fact_is_aside(const struct fact *f);
/* Begins an event that is a unit of its place (has an id), or one that is not (status, progress).
 * False: passing silently, write nothing. Then jw_... and event_end. */
bool event_begin(struct encoder *e, struct jsonw *w, const char *type);
bool event_begin_live(struct encoder *e, struct jsonw *w, const char *type);
/* With the id of the place as it is, counting nothing: for steps, parts and slices of them, which
 * count themselves. */
bool event_begin_at(struct encoder *e, struct jsonw *w, const char *type);
/* A unit that this stream leaves out, counted so that places stay the same for all. */
void event_leave_out(struct encoder *e);
/* A server action's call has no step: its end is passed as if it stood in one. */
void encode_part_end(struct encoder *e, const struct part *p);
/* passing over what the client has already */
bool event_silent(const struct encoder *e);
void event_end(struct encoder *e, struct jsonw *w);
/* A frame of raw text: "[DONE]". */
void event_raw(struct encoder *e, struct str text);

extern const struct dialect dialect_typed, dialect_toolcalls, dialect_aisdk, dialect_agui,
    dialect_adk;
extern const struct dialect dialect_responses, dialect_completions;

#endif
