/* script.h -- what the demo model knows: one readable table.
 *
 * A rule says which sentences it is for (patterns: match.h), what is said, and
 * which tool is called with what. plan.c picks the rules for a message, tell.c
 * says what came of the calls, demo.c streams it all.
 */
#ifndef PARLEY_DEMO_SCRIPT_H
#define PARLEY_DEMO_SCRIPT_H

#include "base/str.h"

#define PATTERNS_MAX 14
#define SUGGEST_MAX  4

enum demo_act {
    DEMO_SAY,    /* words only: `say` is the whole answer */
    DEMO_CALL,   /* `say`, then the call; the outcome is told in the next step */
    DEMO_KEEP,   /* a call in every step, for as long as it is allowed */
    DEMO_COUNT,  /* as many words as were asked for */
    DEMO_SCHEMA, /* presents a schema and offers actions */
    DEMO_FAIL,   /* breaks after a few words */
};

struct demo_rule {
    enum demo_act act;
    const char   *patterns[PATTERNS_MAX];
    const char   *say;
    const char   *tool;  /* its wire name */
    const char   *input; /* <slot> is filled in as JSON */
    const char   *each;  /* "Tokyo and Osaka" in this slot are two calls */
    /* only after another clause for the same tool: "... and 20 dollars to Taro" */
    bool          follows;
    const char   *suggest[SUGGEST_MAX];
};

/* the first that fits wins; ended by a rule without patterns: all else */
extern const struct demo_rule DEMO_RULES[];

/* Words that may stand around a request without changing it. */
extern const char DEMO_BEFORE[], DEMO_AFTER[], DEMO_BETWEEN[];

extern const char *const DEMO_CITIES[]; /* for DEMO_KEEP; ended by NULL */
/* inputs of present and suggest_actions */
extern const char        DEMO_SCHEMA_SHOWN[], DEMO_SCHEMA_ACTIONS[];

/* How an outcome is told: `task` completes "I could not ...", {member} is of the call's input. */
struct demo_outcome {
    const char *tool; /* wire name; NULL: any other */
    const char *task;
    const char *suggest[SUGGEST_MAX];
};
extern const struct demo_outcome DEMO_OUTCOMES[];

#endif
