/* mcp_int.h -- the inside of the MCP client. Private to mcp*.c and its tests.
 *
 *   mcp.c         the server's life: opening, eras, requests and their clocks, dispatch
 *   mcp_list.c    tools/list into the registry
 *   mcp_call.c    tools/call, elicitation
 *   mcp_result.c  a result's content as text and value (pure)
 *   mcp_header.c  x-mcp-header (pure)
 *   mcp_stdio.c, mcp_http.c   the two transports
 *   mcp_line.c    a person's own connection, for servers with "oauth"
 *   mcp_read.c    configuration
 *
 * A request is pending from mcp_request() until its done() was called, exactly
 * once: with a result, an error of the server's, or `lost`. It is freed after that.
 */
#ifndef PARLEY_MCP_INT_H
#define PARLEY_MCP_INT_H

#include "base/jsonw.h"
#include "tool/egress.h"
#include "tool/mcp/mcp.h"
#include "tool/mcp/oauth.h"
#include "tool/text.h"

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25"

enum mcp_code {
    MCP_NOT_READ = -32700,
    MCP_BAD_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_BAD_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_HEADER_MISMATCH = -32020,
    MCP_NO_CAPABILITY = -32021,
    MCP_BAD_VERSION = -32022,
    MCP_URL_WANTED = -32042,
};

/* after so long without an answer it is asked in the old way, too */
#define MCP_BOTH_MS 3000
#define MCP_OPEN_MS 15000
#define MCP_LIST_MS 30000
/* between two lists: a server that is always changing must not keep us busy */
#define MCP_RELIST_MS 1000
/* thousands of changes; without an end a server could fill our memory */
#define MCP_KEPT_MAX (64u << 20)
/* at least so long a tool it has not listed yet is waited for, after a start */
#define MCP_FIRST_MS    10000
#define MCP_CALL_MAX_MS (30 * 60 * 1000)
#define MCP_MESSAGE_MAX (16u << 20)
#define MCP_BACKOFF_MAX 60000
/* a connection that lasted so long was a good one: the next failure is the first */
#define MCP_STEADY_MS 10000
/* before a connection is made anew on which questions cannot be told apart */
#define MCP_RENEW_MS 2000

enum mcp_era { ERA_UNKNOWN, ERA_LEGACY, ERA_MODERN };
enum mcp_state { MCP_DOWN, MCP_OPENING, MCP_LISTING, MCP_READY, MCP_AUTH, MCP_STOPPING };

struct mcp_reply {
    const struct jv *result; /* NULL: none */
    int64_t          code;   /* of a JSON-RPC error; 0: none */
    struct str       message;
    const struct jv *data;
    /* status, when the answer was that, with or without an error in its body */
    long             http;
    /* no answer: why. The fate of the request is not known ... */
    const char      *lost;
    bool             unsent;    /* ... unless it never left */
    struct str       challenge; /* with 401 and 403; STR_NONE: none */
};

struct mcp_request {
    struct list node;
    struct mcp *m;
    int64_t     id;
    const char *method;
    uint64_t    deadline_ms; /* 0: none */
    void (*done)(struct mcp_request *q, const struct mcp_reply *r);
    void *ctx;
    void *exchange; /* the transport's */
};

/* How bytes get there and back. */
struct mcp_transport {
    enum err (*open)(struct mcp *m);
    /* q NULL: a notification or an answer. `extra`: header lines for HTTP, taken. ERR_NOMEM: it
     * certainly did not leave. */
    enum err (*send)(struct mcp *m, struct mcp_request *q, struct str message,
                     struct curl_slist *extra);
    /* It does not take answers as fast as it asks: those that only courtesy wants are left out. */
    bool (*busy)(const struct mcp *m);
    /* What comes without a request of ours can only be meant for this connection's calls. */
    bool (*private_line)(const struct mcp *m);
    /* q is over, whatever comes for it is not wanted */
    void (*release)(struct mcp *m, struct mcp_request *q);
    /* it left, or may have; NULL: as soon as it is given to send */
    bool (*sent)(const struct mcp_request *q);
    void (*opened)(struct mcp *m); /* the legacy opening is complete */
    void (*close)(struct mcp *m);  /* ends with mcp_transport_closed */
    void (*free)(struct mcp *m);
};

/* x-mcp-header: where the argument is, what it is called */
struct mcp_param {
    struct str pointer, header;
};

struct mcp_tool {        /* in the registry's arena; tool->ctx */
    struct mcp       *m; /* NULL: the server is gone */
    struct tool      *tool;
    struct str        name;       /* the server's */
    struct str        definition; /* as received; a changed one is a new tool */
    const struct jv  *output_schema;
    struct mcp_param *params;
    size_t            param_count;
    bool              listed, seen;
    bool              connects; /* ours: connects the person's account, and nothing else */
};

struct mcp {
    struct mcp_host             host;
    struct arena                config; /* lives as long as the struct */
    /* "files", and "files__", with which the names of its tools begin */
    struct str                  alias, prefix;
    /* expected from the start until it has listed its tools, or its time is over */
    struct registry_source      source;
    struct loop_dirty           news; /* for registry_tell */
    const struct mcp_transport *transport;
    void                       *link;     /* the transport's */
    struct str                  url_host; /* of its address; STR_NONE: it has none */
    /* what runs its tools, as canonical JSON: command or address, names of variables and headers */
    struct str                  runner;
    const struct jv            *confirm;
    bool                        trust;
    uint64_t                    call_ms;
    enum mcp_era                pinned, era;
    /* questions of the opening that stand; NULL: not asked, or answered */
    struct mcp_request         *discovering, *initializing;
    uint64_t                    both_ms; /* when to ask in the old way, too; 0: not waiting */
    enum mcp_state              state;
    bool                        settled; /* nothing to wait for */
    bool                        listed;  /* the tools of this connection are known */
    /* it listed its tools once: our credentials were good */
    bool                        welcomed;
    bool                        list_again, list_changes, listening;
    char                        version[32];
    int64_t                     next_id;
    struct list                 requests, calls;
    struct loop_timer           tick;       /* deadlines and restarts */
    uint64_t                    restart_ms; /* 0: not waiting */
    uint64_t                    listen_ms;  /* when to listen for changes again; 0: not waiting */
    unsigned                    failures, listen_failures;
    uint64_t                    ready_ms; /* since when it is ready; 0: it is not */
    /* whose calls on this connection ended here without an answer: the server may still work on
     * one, and ask */
    struct buf                  given_up;
    /* one at all; of several people */
    bool                        given_up_any, given_up_several;
    /* when to make the connection anew, so that questions can be told apart again; 0: not
     * waiting */
    uint64_t                    renew_ms;
    bool                        rude;        /* answers were left out, and it was said */
    bool                        nobody_said; /* a question was put to nobody, and it was said */
    unsigned                    skipped;     /* tools on this connection that could not be listed */
    uint64_t                    list_expires_ms;
    uint64_t                    list_began_ms; /* the last one */
    uint64_t                    relist_ms;     /* when to list again; 0: not waiting */
    /* bytes of the registry's arena its definitions took, ever; and may take */
    size_t                      kept, kept_max;
    bool                        full;    /* kept_max was reached, and it was said */
    struct buf                  trouble; /* the last failure, for people */
    struct arena                arena;   /* of the message being read */
    struct arena                pages;   /* of the list being fetched */
    struct mcp_tool           **tools;
    size_t                      tool_count, tool_cap;
    const struct jv           **found; /* definitions of the list being fetched; in `pages` */
    size_t                      found_count, found_cap, page_count;
    struct str                  cursor;
    void (*on_closed)(struct mcp *m);

    /* with "oauth" */
    struct oauth_setup account;
    struct oauth      *oauth; /* of a line: its server's */
    /* goes with every request; wiped */
    struct buf         bearer;
    struct oauth_want  want;    /* of the server: while it is opened */
    bool               renewed; /* its token was refused once since it was good */
    /* nobody's token lists the tools, and somebody may connect at another node */
    bool               looking, look_again;
    uint64_t           look_ms; /* 0: not waiting */
    struct mcp_tool   *connect;
    struct list        lines; /* of the server: of its people */
    unsigned           line_count;
    bool               ended;  /* its own connection is closed; lines may be left */
    struct mcp        *server; /* of a line; NULL: it is none */
    struct str         person;
    struct list        line_node;
    uint64_t           leave_ms; /* a line that nobody uses is left then; 0: it is used */
};

/* --- mcp.c */
struct mcp_send {
    const char        *method;
    /* members of "params" without the braces: "\"name\":\"x\"" */
    struct str         params;
    struct str         meta;       /* further members of "_meta", likewise */
    struct curl_slist *extra;      /* taken */
    uint64_t           timeout_ms; /* 0: none */
    bool               progress;   /* ask for progress notices */
    void (*done)(struct mcp_request *q, const struct mcp_reply *r);
    void *ctx;
};
/* NULL: no memory; nothing was sent */
struct mcp_request *mcp_request(struct mcp *m, const struct mcp_send *s);
/* raw id, raw result */
void                mcp_answer(struct mcp *m, struct str id, struct str result);
/* tells the server; q is gone, done() is not called */
void                mcp_cancel(struct mcp_request *q, const char *reason);
void                mcp_rearm(struct mcp *m); /* after changing a deadline */
void                mcp_tick(struct loop_timer *t);
void                mcp_end_request(struct mcp_request *q, const struct mcp_reply *r);
/* A whole message came; `q` is the request whose stream it came on, NULL: none. */
void                mcp_receive(struct mcp *m, struct str text, struct mcp_request *q);
/* 1, 2, 4 ... 60 s, and up to a quarter more */
uint64_t            mcp_backoff(unsigned failures);
/* the open request a progress token means; NULL: none */
struct mcp_request *mcp_by_token(struct mcp *m, const struct jv *token);
/* the connection is gone; starts again later */
void                mcp_lost(struct mcp *m, const char *why);
/* it does not let us in (401, 403) */
void                mcp_auth(struct mcp *m, struct str challenge, struct str words);
void                mcp_transport_closed(struct mcp *m);
void                mcp_changed(struct mcp *m);
/* state, or anything that waits for a time, changed */
/* Its tools may be listed in a moment: what needs one of them waits so long. */
void                mcp_expect(struct mcp *m);
void                mcp_open_now(struct mcp *m);
void                mcp_maybe_closed(struct mcp *m);
/* its tools are listed, or are not waited for any more */
void                mcp_settle(struct mcp *m);

/* --- mcp_list.c */
void mcp_list(struct mcp *m);
/* something changed: now, or when a second is over */
void mcp_list_soon(struct mcp *m);
void mcp_listen(struct mcp *m);
void mcp_list_done(struct mcp *m); /* forget the tools */

/* --- mcp_call.c */
extern const struct tool_ops mcp_ops;
void                         mcp_calls_done(struct mcp *m); /* every call ends now */
/* it ends without an answer, and may have left */
void                         mcp_call_given_up(struct mcp_request *q);
/* whatever was given up cannot reach us any more */
void                         mcp_calls_fresh(struct mcp *m);
void                         mcp_call_progress(struct mcp_request *q, const struct jv *params);
/* A server asks a person; false: no call is there to ask for. */
bool mcp_call_elicit(struct mcp *m, struct mcp_request *q, struct str id, const struct jv *params);

/* the line it waits for stands, or does not: 401 and 403 are the token's */
void mcp_call_line_ready(struct mcp *line);
void mcp_call_line_lost(struct mcp *line, bool refused);

/* --- mcp_line.c */
/* "oauth" of its entry; sets m->account. */
MUST_CHECK enum err mcp_account_read(struct mcp *m, const struct jv *entry, struct buf *why);
/* Before the first opening: the oauth, and the tool that connects. ERR_NOMEM. */
MUST_CHECK enum err mcp_account_start(struct mcp *m);
/* Has anybody connected at another node? Only while nobody's token lists the tools. */
void                mcp_look(struct mcp *m);
/* A person's line, opened or being opened with this token. NULL: no memory. */
struct mcp         *mcp_line(struct mcp *server, struct str person, struct str token);
void                mcp_line_used(struct mcp *line);   /* a call is on it */
void                mcp_line_unused(struct mcp *line); /* or none any more, perhaps */
void                mcp_line_leave(struct mcp *line);  /* its time is over */
void                mcp_lines_stop(struct mcp *server);
bool                mcp_set_bearer(struct mcp *m, struct str token); /* STR_NONE: none */
/* What a server says must not bring our own token into a log: it is blotted out. */
struct str          mcp_blot(const struct mcp *m, struct arena *a, struct str text);

/* --- mcp_result.c, pure */
struct mcp_said {
    struct buf text, value;
    bool       has_value, is_error;
};
/* buffers initialised by the caller */
void mcp_result_read(const struct jv *result, struct mcp_said *out);

/* --- mcp_header.c, pure */
/* The headers of a tool's schema; false and a reason when the tool must not be listed. */
bool               mcp_params_read(struct arena *a, const struct jv *schema, struct mcp_param **out,
                                   size_t *count, const char **why);
/* A value as a header may carry it; plain or wrapped in base64. */
void               mcp_header_value(struct buf *out, struct str value);
/* NULL: no memory. */
struct curl_slist *mcp_call_headers(const struct mcp_tool *t, const struct jv *args);

/* --- mcp_read.c */
void mcp_init(struct mcp *m); /* its arenas, buffers and lists */
void mcp_undo(struct mcp *m); /* of one that was never started */

/* --- transports */
extern const struct mcp_transport mcp_http;
size_t   mcp_unsent(const struct mcp *m); /* stdio: bytes it has not read; for tests */
enum err mcp_stdio_read(struct mcp *m, const struct jv *entry, struct str base, struct buf *why);
enum err mcp_http_read(struct mcp *m, const struct jv *entry, struct buf *why);
/* the same address and headers, a connection of its own */
enum err mcp_http_copy(struct mcp *line, const struct mcp *server);

#endif
