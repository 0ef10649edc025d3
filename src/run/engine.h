/* engine.h -- private to run/: the structs behind thread.h and hub.h, and which
 * file does what.
 *
 *   hub.c       finds, loads, forgets threads; recovery; expiry
 *   thread.c    the mailbox: commands in, facts appended, committed, told
 *   hold.c      whose a thread is: claimed, read, lost; erase.c: removed, renamed
 *   decide.c    what follows from the state: facts, jobs, the model; places for runs
 *   command.c   each command: state + wish -> facts or a refusal; begin.c, verdict.c, outcome.c,
 *               end.c: its handlers (handle.h)
 *   judge.c     which gate a call goes through
 *   work.c      the effects: calling the model; jobs.c: running tools
 *   declared.c  what a client brings for one run: functions, words, what must be called
 *   answer.c    answers that have a form
 *   spend.c     what it costs, and budgets
 *   brief.c     what a model is asked; basis.c: what of that is in no fact; trace.c: what was asked
 *   compact.c   older turns become a summary when they do not fit any more
 *   journal.c   what was committed, told in the log and in the metrics
 *   title.c     the name that a model makes for a conversation
 *   lookup.c    what a command asks the store beside its thread's log
 *   mirror.c    threads that another node holds
 *   feed.c      threads that this node holds, for other nodes
 *   seen.c      definitions of MCP servers' tools that changed
 *   approval.c  confirmations: ids, digests, the rows of the approvals list
 *   gain.c      votes that count again
 *   sight.c     what of a question others may read
 *   lapse.c     grants that a change of tools or rules ends
 *   rules.c     who is asked; grant.c, effect.c: what is taken by the append that starts a call
 *   callcheck.c     calls of unknown outcome that settle themselves
 *   taking.c    what a batch takes, and what could not be had
 *   response.c  requests of OpenAI's shape: their facts and the keys that find them
 *   notice.c    what the server says about questions in words
 *   codes.c     that no model is told their codes
 */
#ifndef PARLEY_ENGINE_H
#define PARLEY_ENGINE_H

#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "run/approval.h"
#include "run/basis.h"
#include "run/declared.h"
#include "run/history.h"
#include "run/hub.h"
#include "run/metrics.h"
#include "run/mirror.h"
#include "run/response.h"
#include "run/spend.h"
#include "tool/budget.h"

#define BATCH_EVENTS    160 /* beyond these a batch tells of no more */
#define BATCH_APPROVALS 64  /* list rows one append may carry */
#define BATCH_KEYS      16  /* names that one append may give its log */
#define RESUMES_MAX     3   /* a step that so many restarts in a row were cut in ends its run */
#define TITLE_CHARS     60
#define TITLE_BYTES     (TITLE_CHARS * 4 + 1)
/* so long a command waits for a node that holds its thread and cannot be reached */
#define STRANDED_MS 5000
#define NODE_MOVED  "moved" /* between nodes: another one holds the thread */
#define PARKED_MAX  8       /* messages that may wait for one run to end */
/* A call's input and output come back inside the messages of AI SDK clients, some levels deeper:
 * they must be readable there too. */
#define VALUE_DEPTH_MAX 100

struct job;
struct mirror;
struct note;
struct stock_look;

enum spend_verdict { SPEND_FINE, SPEND_ASK, SPEND_STOP, SPEND_WAIT };
struct spending {                     /* spend.c: what was found at the last look */
    struct spend_reading    *reading; /* on its way; NULL: none */
    uint64_t                 seq;     /* committed when it was looked at */
    enum spend_verdict       verdict;
    const struct spend_rule *rule; /* the one that is used up */
    bool                     cost; /* of money; else of tokens */
    int64_t                  used, limit;
    bool                     known; /* the day's sum of its owner was just told to the quota */
};

struct compacting {               /* compact.c */
    bool                 on;      /* the model makes a summary now, not a step */
    bool                 refused; /* a provider said that it is too long */
    unsigned             halves;  /* how often it said so of what was to be summarised */
    size_t               max;     /* bytes to be summarised at once; 0: as many as fit */
    struct history_range range;
    struct buf           text;
};

struct thread {
    struct hub        *hub;
    struct str         key, owner, id; /* one block: owner NUL id */
    struct fold        fold;           /* includes what is being appended right now */
    uint64_t           committed;
    struct str         match; /* of a program's call that was begun here: thread_match */
    struct str         title;
    bool               retitled; /* the batch gives the title its first words */
    bool               named;    /* by a person, as far as this process knows */
    bool               loading, loaded, exists;
    bool               stalled; /* an append failed; tried again by the hub's timer */
    bool               gone; /* ... because the store's files are gone: nobody knows for how long */
    /* By which claim it is ours; {0}: it is not, as far as we know. `claimed`: it is, by a claim
     * that was made just now, and is to be read. */
    struct store_hold  hold;
    bool               claimed;
    struct store_claim claim;
    struct mirror     *mirror;      /* another node holds it; NULL: not that we know */
    uint64_t           known;       /* facts when it was last lost: have others written since? */
    uint64_t           stranded_ms; /* nobody answers for it since then; 0: somebody does */
    /* just read: what the last process left is not yet judged */
    bool               fresh;
    bool               revived; /* its run was begun by another process */
    /* the first fact of the run whose step was cut somewhere and is to be begun over; 0: none */
    uint64_t           cut;
    bool               awaiting; /* a tool that is not listed yet */
    /* taken as new without asking the store; only an append may confirm it */
    bool               assumed;
    /* has one of the places for runs: it may call the model */
    bool               placed;
    struct list        line; /* linked while it waits for one */

    /* the pump runs or acts: what is posted meanwhile waits until it comes round */
    bool              busy;
    struct list       queue;  /* commands not looked at yet */
    struct list       parked; /* messages that wait until the run is over */
    struct list       acting; /* commands whose facts are in the append under way */
    /* the last of them, if it removes, renames or trims: done and answered after the append */
    struct command   *editor;
    struct store_edit edit;
    struct store_trim trim; /* what it takes out */

    bool                     inflight;
    struct store_append      append;
    struct store_read        read;
    uint64_t                 batch_from; /* first seq of the batch; 0: nothing in it */
    struct arena             batch;
    struct store_fact       *rows;
    size_t                   row_cap;
    /* in the batch's arena, for the few batches that have any */
    struct store_approval   *approvals;
    size_t                   approval_count, approval_cap;
    struct store_tool_count *counts;
    size_t                   count_count;
    struct store_key        *keys;
    size_t                   key_count;
    struct store_spent      *spent;
    size_t                   spent_count;
    struct str               request_id, request_run; /* claimed by this batch */
    struct store_take       *takes;
    size_t                   take_count;
    struct store_event      *events;
    size_t                   event_count;
    /* what earlier batches could not take: taking.h */
    struct note             *notes;
    struct arena             notes_mem;
    struct stock_look       *look;   /* lookup.c; NULL: nothing was looked up yet */
    struct store_origin      origin; /* of the log that this batch makes */

    struct open_step       step;
    bool                   step_closed; /* its fact is in the append under way */
    struct model_run      *model;
    struct model          *model_of;
    const struct hub_page *page;     /* of the run for which the model speaks */
    struct declared_run    declared; /* of that run; in step.arena */
    struct model_sink      sink;
    bool                   closing; /* the model was told not to call tools any more */
    /* preallocated: the end of a step must not need memory */
    struct command        *step_done;
    enum model_stop        stop;
    /* the model is through; the step ends when its calls are judged */
    bool                   over;
    /* linked in the hub while some wait for the next turn */
    struct list            judging;
    bool                   step_failed, step_retryable;
    struct str             fail_code, fail_text; /* in step.arena */
    int64_t                input_tokens, output_tokens;
    const struct model    *said_by;    /* of several the one that answers */
    bool                   said_plain; /* it was asked again without signatures */
    /* what it was asked with: facts, basis.h; when, and when it began to answer (0: not yet) */
    uint64_t               asked_upto, asked_ms, first_ms;
    char                   asked_basis[BASIS_DIGEST];
    /* answer.c, in step.arena: what the step is as an answer that has a form, or why it is none */
    struct str             answer_value, answer_why;
    struct compacting      compact;
    struct spending        spend;

    struct list        jobs;
    struct list        followers;
    unsigned           watching; /* followers that count */
    unsigned           wanting;  /* ... that want it */
    const struct call *looked;   /* its tool was looked for everywhere; only compared */
    uint64_t           progress_no;
    struct list        lru;
    size_t             idle_bytes; /* linked while idle; what it holds */
};

struct hub {
    struct hub_setup  setup;
    char              life[ID_LEN + 1]; /* this process among all that ever held its threads */
    struct map        threads;
    struct list       idle;
    unsigned          idle_count;
    size_t            idle_bytes;
    /* places taken: runs that go on, waiting ones not among them */
    unsigned          runs;
    struct list       line;       /* threads whose run needs a place, in their order */
    struct list       judging;    /* threads with calls to be judged in the next turn */
    struct loop_timer turn;       /* comes in the next turn, for these two */
    uint64_t          judge_turn; /* the turn whose budget it is */
    struct budget     judge;
    /* unrecovered: what the last process left could not all be looked at yet */
    bool              draining, unrecovered;
    void (*drained)(void *ctx);
    void             *drained_ctx;
    struct loop_timer expiry;      /* one for all gates */
    struct loop_timer retry;       /* stalled threads try again */
    unsigned          open_timers; /* while it is freed */
    bool              expiry_busy, expiry_again, expiry_failed;
    unsigned          expiring; /* rows of the last batch that are not through yet */
    struct {
        struct arena       arena;
        struct log_name   *logs;
        struct store_hold *holds; /* by which they are ours */
        size_t             count, next;
        unsigned           open;
        struct loop_timer  pace;
        struct store_list  list;
        bool               busy, again;
    } recover;
    struct store_list        list;   /* expiry */
    struct loop_timer        sweep;  /* with other nodes: what did the dead leave? */
    struct list              feeds;  /* links that other nodes have to us */
    struct hub_counts        counts; /* since the start */
    struct store_release_all release;
    struct store_list        nodes;         /* who is to be told that we go */
    unsigned                 jobs, appends; /* under way */
    struct basis_kept      **bases;         /* basis.c, by page */
    struct lapse            *lapse;         /* lapse.c; NULL: grants are not being looked at */
    struct list              titling;       /* title.c */
    unsigned                 titling_count;
    struct map               codes; /* codes.h, by owner */
};

/* --- thread.c --- */
struct thread *thread_new(struct hub *h, struct log_name log);
void           thread_free(struct thread *t);
/* the store has it already */
void           thread_retitle(struct thread *t, struct str title);
/* Into the mailbox, then pump. Also from inside the pump: a tool that cannot be started, a client
 * that goes on at once. */
void           thread_post(struct thread *t, struct command *c);
void           thread_queue(struct thread *t, struct command *c); /* the first half of that */
void           thread_pump(struct thread *t);
void           thread_park(struct thread *t); /* the open step is put down, if it is due */
void           thread_wake(struct thread *t);
void           thread_tell(struct thread *t, struct str words); /* told() of all followers */
/* Everybody in the list is told why nothing will come of it. */
void           thread_refuse(struct thread *t, struct list *waiting, int status, const char *code,
                             const char *message);
/* They have their turn again, before the others. */
void           thread_put_back(struct thread *t, struct list *commands);
bool           thread_idle(const struct thread *t);
/* Adds a fact to the batch and to the fold. ERR_NOMEM: the batch is dropped by the caller. */
MUST_CHECK enum err thread_add(struct thread *t, struct fact *f);
/* A name (kind and name together) by which the log is found again, with the batch. */
MUST_CHECK enum err thread_key(struct thread *t, const char *kind, struct str name,
                               struct str value);
/* The key of a program's call, until it has an outcome that needs nobody: store_key's `alone`. */
MUST_CHECK enum err thread_match(struct thread *t, struct str match, bool alone);
void        command_answer(struct thread *t, struct command *c, int status, const char *code,
                           const char *message);
/* Out of whatever list it waits in, and done. What an earlier look found for it may have gone with
 * its fold, so nothing of that is told. */
void        command_turn_away(struct thread *t, struct command *c, int status, const char *code,
                              const char *message);
/* Since when the first of them waits that came from outside; 0: there is none. */
uint64_t    thread_since(const struct list *commands);
/* What somebody is told whose command the store did not take. */
const char *thread_sentence(const struct thread *t, enum err e);
/* The thread it points into may go before it is told. */
void        command_detach(struct command *c);

/* --- hold.c --- */
void thread_load(struct thread *t);
/* What is in memory is not what is in the log (any more): it is read again. */
void thread_reread(struct thread *t);
/* Who holds it is not known any more: ask, at once or after a pause, if anybody needs it. */
void thread_lost(struct thread *t, bool soon);
/* Nobody answers for it: whoever has waited for that long enough is told. Was there anybody? */
bool thread_stranded(struct thread *t);
/* The lease was interrupted: others may have it by now. */
void thread_lapsed(struct thread *t);
/* It is not ours: what this process did for it ends, and whoever counts on it being here is
 * told. */
void thread_moved(struct thread *t);
void thread_give_back(struct thread *t); /* so that others can claim it */
/* what waits for its turn will not get it here, and an open step is put down */
void thread_drain(struct thread *t);

/* --- erase.c --- */
void thread_edit(struct thread *t);    /* what t->editor wants: to remove or to rename it */
void thread_deleted(struct thread *t); /* by its holder */
void thread_wipe(struct thread *t);    /* its log is gone: nothing of it stays in memory */

/* --- decide.c --- */
/* adds the facts that follow; true while there may be more */
bool                decide_once(struct thread *t, enum err *e);
/* the first look at a log that was left while the model was to speak */
MUST_CHECK enum err decide_fresh(struct thread *t);
/* The server drains: is it to be said that the open step is put down, and not lost in a crash? */
bool                decide_parks(const struct thread *t);
MUST_CHECK enum err decide_park(struct thread *t);
void                thread_take_place(struct thread *t); /* for a run that was admitted */
/* given back when the run is over, and while it waits for somebody */
void                thread_leave_place(struct thread *t);
void                thread_quit_place(struct thread *t); /* whatever its run does */

/* --- command.c --- */
/* Looks at the state, adds facts, sets c->receipt. False: not now, keep it parked until the run is
 * over. */
bool command_handle(struct thread *t, struct command *c, enum err *e);

/* --- verdict.c --- */
/* Are the votes that are there enough by now, because a step of the escalation needs fewer or
 * somebody has a role again? Then it is decided, without anybody saying so once more. True: a fact
 * was added. */
bool verdict_by_votes(struct thread *t, enum err *e);

/* --- judge.c --- */
/* Which gate a complete call goes through; sets part->gate, client, problem. The only one who may
 * say that something runs. `button`: a person pressed it, which may reach tools that models are not
 * shown. ERR_NOMEM: it could not be told. */
struct caller;
MUST_CHECK enum err judge_call(struct thread *t, const struct hub_page *page,
                               const struct caller *who, struct part *p, bool button);
void                judge_bad(struct thread *t, struct part *p, struct str why); /* it is not run */
/* Did the same call do its work in a version of the conversation that was replaced? */
bool                judge_replaced(struct thread *t, const struct call *c);

/* --- work.c --- */
MUST_CHECK enum err work_model(struct thread *t);    /* calls the model */
void                work_hang_up(struct thread *t);  /* cancels it; the open step stays as it is */
void                work_judge_on(struct thread *t); /* the open step's calls that wait for it */
/* The facts of a closed step, from t->step. */
MUST_CHECK enum err work_step_fact(struct thread *t, const char *stop);
/* The model is through, or has failed: for those who have a sink of their own. */
void                work_step_ended(struct thread *t);
void work_fail_step(struct thread *t, const char *code, struct str message, bool retryable);
/* A sink's `usage`. */
void work_used(struct thread *t, int64_t in, int64_t out);
/* What so far is used by the step, as a fact has it: tokens, the model, and what it cost. */
void work_usage(const struct thread *t, struct fact *f);
/* What the model was asked with, and how long it took: by that the request is told later
 * (trace.h). */
void work_asked(const struct thread *t, struct fact *f);

/* --- jobs.c --- */
/* A job for a call whose `started` fact is in the batch; nothing runs yet. */
MUST_CHECK enum err       jobs_add(struct thread *t, struct call *c);
/* Likewise for a call of unknown outcome, whose `checked` fact is in the batch: asks what became of
 * it. What was said comes with CMD_CHECKED. */
MUST_CHECK enum err       jobs_check(struct thread *t, struct call *c, struct tool *check);
const struct tool_result *jobs_checked(const struct command *c);
void                      jobs_cancel_checks(struct thread *t);
void                      jobs_start(struct thread *t); /* after the commit */
/* those of calls that are over or being stopped */
void                      jobs_cancel(struct thread *t);
void                      jobs_drop_unstarted(struct thread *t);
/* the thread was deleted: their outcomes are nobody's */
void                      jobs_orphan(struct thread *t);
/* after a reload: calls find their jobs again */
void                      jobs_adopt(struct thread *t);
/* handed over by jobs_start */
void                      jobs_answer(struct call *c, bool accepted, struct str content);
/* Nobody knows what became of it, and it may be run again under the same id: once, it is. Then its
 * job is gone. */
bool                      jobs_once_more(const struct command *c, struct call *call);
/* Makes a FINISHED fact of the job's result, or an ASKED one when it rests until a person
 * answers. */
void         jobs_outcome(const struct command *c, const struct call *call, struct fact *f);
/* Of a TOOL_DONE whose call is another node's by now: what is to be told there. */
void         jobs_late(const struct command *c, struct command *late);
/* The server's tool behind a call; NULL: it is gone, or the client's own function. */
struct tool *call_tool(const struct thread *t, const struct call *c);
/* How long a call has been under way; 0 when it was not, or when the clock was set back
 * meanwhile. */
int64_t      call_ms(const struct call *c);
/* how long a browser may take for it */
int64_t      call_client_ms(const struct thread *t, const struct call *c);
/* when an offered call has waited long enough; 0: never */
int64_t      call_client_due(const struct thread *t, const struct call *c);

/* --- compact.c --- */
/* Before the model is called with `q`: calls it for a summary instead when that is too long. Then
 * t->model is set. */
MUST_CHECK enum err compact_begin(struct thread *t, struct arena *a, const struct model_request *q,
                                  const struct history_names *names);
/* A step has ended: was it a summary's? Adds its fact, or has another try. */
bool                compact_ended(struct thread *t, enum err *e);
/* The provider says that it is too long: true when there is something left that can be summarised;
 * the model is called again. */
bool                compact_again(struct thread *t);

/* --- answer.c --- */
/* The step is about to be closed: sets t->answer_*. */
MUST_CHECK enum err answer_read(struct thread *t);
/* It does not fit, and it was the second one. */
bool                answer_failed(const struct thread *t);
MUST_CHECK enum err answer_give_up(struct thread *t);

/* --- spend.c --- */
/* Before a command is taken that begins a run: what its owner has used today, where that is
 * limited. True: it is being read; nothing is looked at (`inflight`) until the pump is turned
 * again. */
bool                spend_first(struct thread *t);
/* May the model be called? WAIT: the sums are being read, and the pump is turned again. */
enum spend_verdict  spend_look(struct thread *t);
MUST_CHECK enum err spend_stop(struct thread *t); /* the run ends, in words */
MUST_CHECK enum err spend_ask(struct thread *t);  /* somebody is asked */
/* what a step's fact adds to the sums, in the same append */
MUST_CHECK enum err spend_rows(struct thread *t, const struct fact *f);

/* --- approval.c --- */
/* The fact that asks. */
MUST_CHECK enum err approval_fact(struct thread *t, struct call *c, struct fact *f,
                                  struct arena *a);
/* Is what would run now what the person was asked about: these arguments, this definition of the
 * tool? Looked at when the yes comes and once more before the start, which may be in another
 * process. */
MUST_CHECK enum err approval_holds(const struct thread *t, const struct call *c, bool *holds);
/* Is the tool that would go on the one that asked in the middle of its work? */
MUST_CHECK enum err approval_same_tool(const struct thread *t, const struct call *c, bool *same);
/* The result of a call whose gate ended in anything but a yes. */
struct str          approval_refusal(struct arena *a, const struct call *c);
/* A no stays a no: was the same call denied in this run, or so many that nothing is asked any
 * more? Then it ends without a question, and the model is told by whom and why. */
bool                approval_refused_before(const struct thread *t, const struct call *c);
MUST_CHECK enum err approval_refuse_again(struct thread *t, const struct call *c);
/* Room for so many rows in the batch; without it there is some for BATCH_APPROVALS. */
MUST_CHECK enum err approval_room(struct thread *t, size_t rows);
/* Puts the call's row into the batch when the last fact changed it. */
MUST_CHECK enum err approval_row(struct thread *t, const struct call *c);
/* A member of such a row: a time, or null for 0. */
void                approval_time(struct jsonw *w, const char *key, int64_t ms);
/* And the event that tells of it, after that: tidings.h. */
MUST_CHECK enum err approval_event(struct thread *t, const struct call *c, const struct fact *f);

/* --- response.c --- */
/* The fact and its keys, if the command wants to be told so. `text`: all of its words; STR_NONE:
 * what follows in the run. */
MUST_CHECK enum err response_add(struct thread *t, struct command *c, struct str run,
                                 struct str text);
MUST_CHECK enum err response_wish_read(struct arena *a, struct str text, struct response_wish *w);
/* The copied facts are the first of this batch. */
MUST_CHECK enum err response_paste(struct thread *t, struct str copied);
/* The fact behind them, with what other versions did (command.message.effects) and these facts do
 * not show. Nothing, if there is neither. */
MUST_CHECK enum err response_fork(struct thread *t, const struct command *c);
/* Before the append: those that end in this batch are found by their words, too; and the thread,
 * as one that did something. */
MUST_CHECK enum err response_close(struct thread *t);
enum store_listed   response_listed(const struct thread *t);

/* --- notice.c --- */
/* Tells the next question in words, if whoever reads wants them so. True: there may be more. */
bool                notice_tell(struct thread *t, enum err *e);
MUST_CHECK enum err notice_respond(struct thread *t, struct command *c); /* CMD_RESPOND */

/* --- journal.c --- */
/* What a line of the log is about: this thread, its newest run, the person it goes for, and `c`
 * (NULL: no call). */
struct log_about thread_about(const struct thread *t, const struct call *c);
/* The batch is on disk: its lines in the log, and what is counted. */
void             journal_committed(struct thread *t);

/* --- title.c --- */
void       title_consider(struct thread *t); /* its run may just have ended */
void       title_stop(struct hub *h);        /* nobody waits for them */
void       title_forget(struct thread *t);   /* a person has named it */
/* The first words of a message on one line: the name until there is a better one. */
struct str title_words(struct str text, char into[TITLE_BYTES]);

/* --- seen.c --- */
/* The list of tools changed: those of MCP servers that are new in it are compared with what they
 * were when they were first seen. */
void seen_check(struct hub *h);

/* --- lookup.c --- */
/* Fills in the thread that has asked for c->id, then posts; or answers 404. */
void lookup_confirmation(struct hub *h, struct command *c);
/* `c` is about to be refused (its receipt says why, and points into no thread): tells it, unless
 * its request id was used before. Then that run is the answer. */
void lookup_request(struct hub *h, struct command *c);
/* Answers from a copy that is read for it and lives as long as the answer. */
void lookup_thread(struct hub *h, struct command *c);

/* Before a person is asked about this call: what is in the store's stock that concerns it? False:
 * it is being looked up, and the thread is pumped when that is known. */
struct stock_found {                  /* valid until the next look */
    struct store_stock        effect; /* key STR_NONE: there is none */
    const struct store_stock *grants; /* of its owner */
    size_t                    grant_count;
};
bool lookup_stock(struct thread *t, const struct call *c, struct stock_found *out);
bool lookup_busy(const struct thread *t);
void lookup_done(struct thread *t); /* what was looked up is used; the next one looks again */
void lookup_free(struct thread *t);

/* --- hub.c --- */
void hub_post(struct hub *h, struct command *c); /* to the thread it names */
void hub_idle(struct hub *h, struct thread *t);  /* it became idle: may be forgotten */
void hub_busy(struct hub *h, struct thread *t);
void hub_due(struct hub *h, int64_t at_ms); /* something expires at this time */
void hub_stalled(struct hub *h, struct thread *t);
bool hub_has_place(const struct hub *h);
void hub_place_free(struct hub *h); /* whoever waits in line may go on */
void hub_wait_place(struct hub *h, struct thread *t);
void hub_job_ended(struct hub *h);
void hub_append_ended(struct hub *h);
/* Of another node; `more`: the next one follows at once and stands in the log together with it. */
void hub_carry(struct hub *h, struct command *c, bool more);
void hub_look(struct hub *h);      /* somebody gave threads back: what of them runs? */
void feeds_sweep(struct hub *h);   /* feed.c: tells those who are linked to us to look */
bool hub_may_judge(struct hub *h); /* is anything left of this turn's budget? */
void hub_judge_later(struct hub *h, struct thread *t);

#endif
