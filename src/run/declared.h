/* declared.h -- what a client brings for one run: functions it runs itself, words for the model,
 * and whether the model must call something.
 *
 * OpenAI's shapes and AG-UI say all this with every request. A door reads its own wire into a
 * struct declared, has it checked, and hands its stored form to the command (command.declared). It
 * stands in the fact that begins the run, so a restart knows it and whatever continues the run
 * keeps it; a retry that brings nothing takes what the run before had.
 *
 * A declared function is a client tool for as long as its run lives: listed beside the page's
 * tools, its input checked against its schema (what does not fit goes back to the model), its calls
 * offered and answered like those of any client tool. It waits as long as a question does, because
 * people are asked through it. Its part and its call say `declared`: no tool of the server has
 * anything to do with it, whatever it is called.
 *
 * Names. A guarded name means one thing, to the model, in the log and on the card: a server tool
 * that may ask or is not of low risk, a reply tool and our own adk_request_confirmation cannot be
 * declared (422 tool_name_reserved, which OpenAI's doors tell as 400). One that never asks and is
 * of low risk is replaced for this run. A door whose protocol leaves every name of the server to
 * the server drops those beforehand (declared_name). What was stored is looked at again before each
 * model call, because tools change while a run waits: what is reserved by then is not offered.
 *
 * The stored form, each member only if it is there:
 *   {"tools":[{"name","description","parameters"}],"system":"...",
 *    "context":[{"description","value"}],"choice":"none"|"required","named":"...",
 *    "only":["name"],"ask":true,"max_tokens":100}
 */
#ifndef PARLEY_DECLARED_H
#define PARLEY_DECLARED_H

#include "model/model.h"
#include "tool/registry.h"

struct thread;
struct command;
struct call;

#define DECLARED_NAME_MAX   64
#define DECLARED_SCHEMA_MAX (64u * 1024)  /* of one function */
#define DECLARED_ALL_MAX    (256u * 1024) /* of all of them */

struct declared_tool {
    struct str name;
    struct str description; /* STR_NONE: nothing is said */
    struct str parameters;  /* its schema as JSON text; STR_NONE: any object */
};

struct declared {
    struct declared_tool *tools;
    size_t                tool_count;
    /* said behind the operator's system prompt, for this run */
    struct str            system;
    /* a JSON list of {"description","value"}: told before the person's words, as data of the page,
     * for as long as the message is */
    struct str            context;
    /* MUST and NAMED hold for the run's first model call, NONE for all of them */
    enum model_choice     choice;
    struct str            named; /* CHOICE_NAMED */
    /* no other tools than these may be used; NULL: all */
    struct str           *only;
    size_t                only_count;
    /* every tool of the server asks, whatever its policy: clients can raise it, never lower it */
    bool                  ask;
    int64_t               max_tokens; /* of one answer: it can only lower the limit; 0: not said */
};

/* --- for doors -------------------------------------------------------------------------------- */

/* NULL, or a sentence about tools[*which] (or all of them): names, sizes, depth, two of one name.
 * `max`: how many the door takes. */
const char *declared_bad(const struct declared *d, size_t max, size_t *which);

enum declared_name {
    NAME_FREE,     /* the server has none of this name */
    NAME_REPLACES, /* one that never asks and is of low risk */
    NAME_RESERVED
};
enum declared_name declared_name(const struct registry *r, struct str name);

/* The stored form, in the arena; STR_NONE when there is nothing in it. On no memory a->failed. */
struct str declared_write(struct arena *a, const struct declared *d);

/* --- for run/ --------------------------------------------------------------------------------- */

/* Refuses a command that declares a reserved name; sets its receipt. */
bool declared_refused(struct thread *t, struct command *c);

/* What a run declared, ready for one model call. */
struct declared_run {
    struct tool      *tools; /* those that are offered now */
    size_t            count;
    struct str        system, named;
    enum model_choice choice;
    const struct jv  *only; /* NULL: all */
    bool              ask;
    int64_t           max_tokens;
};
/* Reads `stored` (also STR_NONE, also what cannot be read: nothing). All in the arena.
 * ERR_NOMEM. */
MUST_CHECK enum err declared_read(struct arena *a, const struct registry *r, struct str stored,
                                  struct declared_run *out);
/* By its name, or by what models call it; NULL: none. */
struct tool        *declared_find(const struct declared_run *d, struct str name);
bool                declared_allows(const struct declared_run *d, const struct tool *t);
/* The message's `context` as words for the model; STR_NONE: it has none. */
struct str          declared_context(struct arena *a, struct str stored);
/* Appends its functions and sets what must be called; the server's tools are added after it. */
void declared_offer(const struct declared_run *d, bool first, struct model_tool *list,
                    struct model_request *q);

#endif
