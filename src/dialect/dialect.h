/* dialect.h -- facts and slices of the open step become the events of one wire form.
 *
 * An encoder is a cursor with a small memory. encode_next() looks at what lies
 * after its place (the next fact, or more of the step being spoken) and appends
 * the events for it to a buffer. It never looks at connections and never changes
 * a thread. First stream, reconnect, second tab: the same code with another start.
 *
 * Places. "41.17" means: facts up to 41 are told, and 17 units of what follows. Units
 * of a step are those of step.h, units of another fact are its events. Each event
 * carries the place after it as its id.
 *
 * Starting in the middle is a silent replay: encoder_seek() goes to the beginning of
 * the run and passes over everything up to the cursor without writing, so that
 * counters, open parts and separators are as they were. No dialect has seek code.
 */
#ifndef PARLEY_DIALECT_H
#define PARLEY_DIALECT_H

#include "base/buf.h"
#include "base/jsonw.h"
#include "run/marker.h"
#include "run/thread.h"

struct encoder;

struct dialect {
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
    void (*restart)(struct encoder *e); /* the server is going away */
    void (*close)(struct encoder *e);   /* after the last event: "[DONE]" or nothing */
};

/* How one event is wrapped on its carrier. */
struct framing {
    void (*begin)(struct encoder *e, bool with_id);
    void (*end)(struct encoder *e);
    void (*raw)(struct encoder *e, struct str text);
    /* the events written last were taken back, e->out ends before them; NULL: nobody counts */
    void (*left_out)(struct encoder *e);
};

enum stream_mode {
    STREAM_RUN,    /* one run: ends with it, and at a gate */
    STREAM_THREAD, /* everything, until the client leaves */
};

struct encoder {
    const struct dialect *d;
    struct buf           *out;        /* NULL while passing silently */
    uint64_t              seq, units; /* the place */
    uint64_t              skip;       /* units still to be passed silently */
    uint64_t              horizon;    /* facts up to here are known while this item is encoded */
    /* the item was cut: it is encoded once more and must come out the same, so the horizon stays */
    bool                  again;
    bool                  quiet; /* this piece is one of them */
    enum stream_mode      mode;
    struct str            run; /* STREAM_RUN: whose; owned by the caller */
    bool                  opened, ended;
    bool                  rewound;   /* reset() moved the place back */
    bool                  reasoning; /* told on request only (typed) */
    /* a replay: completes of gates that are past are left out */
    bool                  quiet_gates;
    uint64_t              gate_told; /* seq of the gate this stream ended at */
    /* the last `complete`, or where a continuation's stream began: what is told since then is
     * new */
    uint64_t              told_from;
    uint64_t              status_seq; /* the head for which "Thinking..." was told */
    uint64_t              progress_told;
    unsigned              index; /* outcomes told in this run */
    /* now; and at the last fact, for words that are lost */
    struct marker_weave   weave, weave_before;
    /* the place right after the beginning of the text at hand: the blank line before its words has
     * it */
    uint64_t              part_units;
    const struct framing *framing; /* NULL: server-sent events */
    void                 *ctx;
    struct {             /* the AI SDK's own memory */
        bool     native; /* approval form */
        /* one turn is one run: a gate does not end it, and an answered confirmation gets its own
         * output */
        bool     whole;
        /* between start and finish, start-step and finish-step, as the log has it */
        bool     in_turn, in_step;
        /* a tool outcome was told in this step: no words may follow in it */
        bool     outcome_in_step;
        /* words or a call stand in this step: the client keeps it */
        bool     said_in_step;
        /* the reasoning part at the place was begun: it has words */
        bool     reasoning_open;
        bool     asked_in_step;          /* adk: this step holds confirmations */
        bool     shown_turn, shown_step; /* the same as this stream's client has it */
        bool     hidden; /* a gate that is over is being passed: counted, not shown */
        unsigned texts;  /* names the text parts */
    } ai;
};

/* --- driving ---------------------------------------------------------------------- */

enum encoded {
    ENCODED_NOTHING, /* at the head: ask again when woken */
    ENCODED_ITEM,    /* something was passed (maybe without bytes) */
    ENCODED_END,     /* this stream is over */
};
/* Places the encoder after `seq`.`units`; nothing is written. */
void         encoder_seek(struct encoder *e, const struct thread *t, uint64_t seq, uint64_t units);
/* Appends the events of the next item. `room`: text is cut to fit; a large fact may exceed it and
 * then comes out the same when it is encoded again (see `again`). Reports at the head cannot be
 * encoded again: those that do not fit are left out. */
enum encoded encode_next(struct encoder *e, const struct thread *t, struct buf *out, size_t room);
/* The server goes away: the last words. */
void         encode_restart(struct encoder *e, struct buf *out);

/* "seq.units"; false when it is not that. */
bool place_parse(struct str s, uint64_t *seq, uint64_t *units);
/* Can an event of this thread have that place? Not beyond its head, and not inside a character. */
bool place_fits(const struct thread *t, uint64_t seq, uint64_t units);

/* --- for dialects ------------------------------------------------------------------ */

/* Begins an event that is a unit of its place (has an id), or one that is not
 * (status, progress). False: passing silently, write nothing. Then jw_... and event_end. */
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

extern const struct dialect dialect_typed, dialect_toolcalls, dialect_aisdk;

#endif
