/* tool.h -- a power the agent has: what it is called, what it takes, who must say
 * yes, and how it is run.
 *
 * Runners (built in, exec, http, mcp) implement struct tool_ops. A runner starts
 * only after the call's `started` fact is on disk, is given the call id as its
 * idempotency key, reports progress and exactly one result, all on the loop
 * thread, never from inside start(). Client tools have no ops: the browser runs them.
 */
#ifndef PARLEY_TOOL_H
#define PARLEY_TOOL_H

#include "base/arena.h"
#include "base/json.h"
#include "loop/loop.h"

enum tool_where { TOOL_SERVER, TOOL_CLIENT };
enum tool_confirm { CONFIRM_NEVER, CONFIRM_ALWAYS, CONFIRM_WHEN };

struct tool;
struct tool_job;

struct tool_progress {
    struct str stage, message; /* may be STR_NONE */
    double     progress;       /* 0..1, negative: not known */
    struct str data;           /* JSON or STR_NONE */
};

/* UNKNOWN: it may or may not have happened. ASKS: it is at rest until a person has answered;
 * nothing of it is left but `resume`. */
enum tool_outcome { TOOL_DONE, TOOL_FAILED, TOOL_CANCELLED, TOOL_UNKNOWN, TOOL_ASKS };

struct tool_result {
    enum tool_outcome outcome;
    struct str        text;  /* what the model is told; capped by run/ with a note */
    struct str        value; /* JSON for the card; STR_NONE: the text as a string */
    struct str        note;  /* for the card only, e.g. the end of stderr; STR_NONE: none */
    /* TOOL_ASKS: JSON that start() gets back with the answer; `text` is the question, `value` the
     * answer's schema */
    struct str        resume;
    bool              unbegun; /* TOOL_ASKS: nothing has been done of it yet */
};

/* changed_ms of a tool whose first definition has not been looked up yet */
#define TOOL_UNCHECKED (-1)

/* Tools whose arguments are their effect. */
enum reply_tool { REPLY_NONE, REPLY_REPLIES, REPLY_ACTIONS, REPLY_PRESENT, REPLY_COUNT };

/* Who may have a tool used, and what it is told of them: identity.h. */
struct identity_way;
struct tool_terms {
    const struct str *roles; /* somebody with one of these; none: everybody */
    size_t            role_count;
    const struct str *claims; /* of the person's token: a name, or a JSON pointer */
    size_t            claim_count;
    const struct identity_way
        *identity; /* how it is told over HTTP; NULL: the runner's usual way */
};

/* Who can say what became of a call of unknown outcome: run/callcheck.h. The runner is a tool of
 * its own that is in no list; several tools may share it. */
struct tool_check {
    struct tool *tool;
    unsigned     tries;    /* how often it is asked about one call */
    unsigned     pause_ms; /* after the first time; four times as long after each further one */
};

struct tool_ops {
    /* Takes the job (reads what it needs, keeps the pointer); ERR means it could not be started at
     * all. With job->resume it goes on where it asked, perhaps in another process. */
    enum err (*start)(struct tool *t, struct tool_job *job);
    /* Asks it to stop; a result must still come (TOOL_CANCELLED, or what happened after all). */
    void (*cancel)(struct tool_job *job);
    /* The person's answer to job->ask: `content` is JSON (STR_NONE when not accepted). NULL: never
     * asks that way. */
    void (*answer)(struct tool_job *job, bool accepted, struct str content);
    void (*free)(struct tool *t);
};

struct tool {
    struct str               name; /* as people see it: "browser.search" */
    /* [A-Za-z_][A-Za-z0-9_-]{0,63}, unique: what models see; filled in by the registry */
    struct str               wire_name;
    struct str               title; /* for people, beside the name; STR_NONE: nobody said */
    struct str               description;
    struct str               schema_text; /* JSON schema of the input, as text */
    const struct jv         *schema;      /* and parsed */
    /* the registry's: of the schema, once a digest was wanted */
    char                    *schema_sum;
    enum tool_where          where;
    enum tool_confirm        confirm;
    const struct jv         *when; /* CONFIRM_WHEN: the condition, see policy.h */
    /* the policy as JSON text, for /v1/tools: "\"always\"" or the object */
    struct str               confirm_text;
    struct str               risk; /* "low" | "high"; STR_NONE: nobody said */
    bool                     idempotent;
    bool                     reads; /* changes nothing: our own word, or a trusted server's */
    /* what its MCP server says of it, as it was received; STR_NONE: it is the configuration's
     * own */
    struct str               definition;
    /* wall clock: since then its server says other things of it than when it was first seen; 0: the
     * same. Then every call is asked about (run/seen.c). */
    int64_t                  changed_ms;
    bool                     compared;   /* run/'s: with what was first seen */
    unsigned                 timeout_ms; /* default 60,000 */
    /* its runner keeps the time: it knows what a timeout means, and stands still while a person is
     * asked */
    bool                     own_clock;
    unsigned                 expires_s;   /* of its approvals; default 86,400; 0: never */
    struct str               intent, ask; /* templates; STR_NONE: the default sentence */
    /* what somebody might say to have it used; STR_NONE: nobody said */
    struct str               example;
    struct str               source; /* "demo", "built in", "exec", "http", "mcp:NAME", "client" */
    /* what runs it, as canonical JSON: part of the digest; secrets by reference */
    struct str               runner;
    /* toolcalls' status_update when it starts; STR_NONE: "Running NAME..." */
    struct str               status;
    enum reply_tool          reply; /* fills the payload: no card, no iteration (replytools.h) */
    /* toolcalls: its value {id,type,title,content} is told as artifact_complete */
    bool                     makes_artifact;
    bool                     hidden; /* not offered to models: reached by a suggested action only */
    /* organisations' approvals (docs/approvals.md), as configured; NULL, empty: not */
    const struct jv         *grant;       /* the widest limits of a grant: run/grant.h */
    const struct jv         *edit;        /* pointers that a person may change */
    struct str               effect;      /* the template of its effect key: run/effect.h */
    bool                     effect_own;  /* one principal's only */
    unsigned                 effect_days; /* how long it is kept; 0: for ever */
    const struct tool_check *check;       /* NULL: only a person can tell */
    struct tool_terms        terms;
    const struct tool_ops   *ops;
    void                    *ctx;          /* the runner's */
    uint64_t                 runs, failed; /* counters since the store was made; loaded at start */
};

/* One execution. Owned by run/, lives until finish() returned. */
struct tool_job {
    struct tool     *tool;
    struct str       call_id; /* the idempotency key */
    /* Nothing is to be done, only told what became of that call: no idempotency key goes with it
     * (whoever remembers answers by it would tell the first one for ever), and what is said is
     * {"happened"} or {"unknown"} instead of {"result"}. */
    bool             checks;
    struct str       thread, owner;
    /* On whose behalf: the person who asked, never the one who approved. Their claims as a JSON
     * object, NULL: none are known. */
    struct str       run, principal;
    const struct jv *claims;
    /* W3C Trace Context for whoever is called over a network; STR_NONE: nobody follows it */
    struct str       trace;
    /* JSON object as text, as the model wrote it and the person saw it */
    struct str       input;
    const struct jv *args;    /* the same, parsed */
    struct str       payload; /* JSON the person sent with the yes; STR_NONE: none */
    /* of a TOOL_ASKS before, with the answer; STR_NONE: from the beginning */
    struct str       resume;
    bool             accepted;
    struct str       content; /* JSON; STR_NONE when not accepted */
    void            *runner;  /* the runner's own state */
    void (*progress)(struct tool_job *job, const struct tool_progress *p);
    /* once; the job is gone afterwards */
    void (*finish)(struct tool_job *job, const struct tool_result *r);
    /* A question to the person from a call that stays under way (MCP elicitation of the older
     * kind): shown through the approval channel; ops->answer brings the reply. It cannot outlive
     * this process; TOOL_ASKS can. */
    void (*ask)(struct tool_job *job, struct str message, struct str schema);
};

#endif
