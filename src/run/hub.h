/* hub.h -- all threads of the process: finds, loads and forgets them, recovers
 * what a crash interrupted, and lets gates expire with one timer for all.
 */
#ifndef PARLEY_HUB_H
#define PARLEY_HUB_H

#include "model/model.h"
#include "run/people.h"
#include "run/quota.h"
#include "run/thread.h"
#include "run/vouch.h"
#include "tool/registry.h"

struct tidings;
struct otel;
struct hub_payload {
    struct str       type;
    const struct jv *schema;
};
struct hub_page {
    struct str          name, system;
    bool                all_tools;
    struct str         *tools;
    size_t              tool_count;
    struct model       *model;
    struct hub_payload *payloads;
    size_t              payload_count;
    const struct jv    *answer; /* the schema of its answers; NULL: they are words */
    const struct str   *roles;  /* for whom it is; none: everybody */
    size_t              role_count;
};
struct hub_action {
    struct str name, tool;
};

/* approvals.context: what an approver may read of somebody else's conversation beside the
 * request */
enum context { CONTEXT_NONE, CONTEXT_QUESTION, CONTEXT_CONVERSATION };

struct nodes;
struct hub_setup { /* all borrowed: outlives the hub */
    struct loop             *loop;
    struct store            *store;
    struct nodes            *nodes; /* NULL: there are no others */
    struct registry         *registry;
    struct hub_page         *pages;
    size_t                   page_count; /* [0] is the default */
    struct hub_action       *actions;
    size_t                   action_count;
    unsigned                 max_iterations;
    /* a waiting gate refuses new messages instead of being superseded */
    bool                     hold;
    bool                     titles; /* a model names conversations after their first answer */
    /* how long prompts are kept after their last use (basis.h); 0: for ever */
    int64_t                  basis_ms;
    size_t                   tool_text_max;
    unsigned                 keep_turns; /* the newest, which are never summarised; 0: one */
    unsigned                 runs_max, threads_max;
    size_t                   idle_bytes_max; /* of all idle threads in memory together */
    struct quota            *quota;          /* what one principal may use; NULL: no limits */
    /* spend.h */
    const struct spend_rule *budgets;
    size_t                   budget_count;
    struct str               currency;
    /* there is no sign-in: who may not decide lacks the start token, and answers nothing at all */
    bool                     token;
    /* organisations' approvals: docs/approvals.md */
    const struct jv         *rules;     /* approvals.rules; NULL: none */
    bool                     approvers; /* approvals.who: "approver" */
    enum context             context;   /* asked by sight.h */
    unsigned        deny_limit;         /* noes in a run, after which its gated tools are refused */
    struct tidings *tidings;            /* NULL: nobody is told */
    struct people  *people;             /* NULL: nobody is known */
    struct otel    *otel;               /* NULL: no spans are made */
    struct vouch    vouch;              /* what is removed is signed by */
    /* 10 s: a tool that was told to stop must report within this */
    unsigned        cancel_grace_ms;
};

struct hub *hub_new(const struct hub_setup *s); /* NULL: no memory */
void        hub_free(struct hub *h);
/* Something is overdue and its timer has not rung (the machine slept, the clock was set): let it
 * expire now. */
void        hub_sweep(struct hub *h);
/* Somebody has a role that they had not: what their votes are enough for now is decided (gain.c).
 * "": anybody may, by another configuration. `hub` is the hub; so it is what people_on_gain
 * wants. */
void        hub_gained(void *hub, struct str name);
/* Tools or rules may be others than before: grants that rested on what changed end (lapse.c). */
void        hub_lapse(struct hub *h);
/* Looks for runs that were under way and lets them go on. */
void        hub_recover(struct hub *h);
/* Into the mailbox of its thread, at once: commands are taken in the order of these calls. One that
 * names no thread but a confirmation goes to the thread that has asked it; the store knows
 * which. */
void        hub_submit(struct hub *h, struct command *c);
/* Several commands on one thread, without request ids: they stand in the log together. */
void        hub_submit_all(struct hub *h, struct command **list, size_t count);

/* The definition that an MCP server's tool has now is what is wanted: its policy holds again.
 * False: there is no such tool, or no memory; else `done` is told when it is on disk. */
bool hub_accept_tool(struct hub *h, struct str name, void (*done)(void *ctx, bool saved),
                     void *ctx);

/* The store, as doors ask for it: they call nothing of store/ (scripts/layers). Its lists; its rows
 * by key; do other nodes share it; and how it is, with the words of store.h. */
struct hub_store {
    enum err   health;
    struct str promise, problem;
    uint64_t   log_bytes;
};
void             hub_list(struct hub *h, struct store_list *l);
void             hub_row(struct hub *h, struct store_session *x);
bool             hub_shared(const struct hub *h);
struct hub_store hub_store(const struct hub *h);

/* No new runs; models are hung up (their steps are repeated at the next start); followers are woken
 * and see hub_draining. `done` when every running tool has its outcome. */
void hub_drain(struct hub *h, void (*done)(void *ctx), void *ctx);
bool hub_draining(const struct hub *h);

const struct hub_setup *hub_setup(const struct hub *h);
/* The plain values of `s` hold for what begins from now on; what it borrows outlives the hub,
 * too. */
void                    hub_change(struct hub *h, const struct hub_setup *s);
/* STR_NONE: default; NULL: unknown */
const struct hub_page  *hub_page(const struct hub *h, struct str name);
bool                    hub_page_allows(const struct hub_page *page, const struct tool *tool);
struct thread          *hub_find(const struct hub *h, struct log_name log); /* in memory only */
unsigned                hub_runs(const struct hub *h);
/* Threads of this node and of others, as they are; and what was done since the start. */
struct hub_counts {
    unsigned held, mirrored;
    uint64_t claims, forwards, lapses; /* asked for, sent on to their holder, leases interrupted */
};
struct hub_counts hub_counts(const struct hub *h);
unsigned          hub_jobs(const struct hub *h); /* tools running on the server right now */

#endif
