/* config.h -- the configuration: one JSON file, read once, checked whole.
 *
 *     struct config c; struct config_error e;
 *     if (config_load_flags(&c, &flags, &e)) { config_error_print(&e, stderr); exit(1); }
 *     ...
 *     config_done(&c);
 *
 * Every key stands in one table (config_keys.c) with its type, default and one
 * line of help. The check for unknown keys and wrong types, the defaults and the
 * test that docs/configuration.md is complete all come from that table, so a key
 * cannot exist half.
 *
 * Errors are collected, not only the first one, and each says file, line and what
 * to do. A configuration that loaded is complete: names are bound (a page's
 * models, an action's tool name), secrets are fetched, defaults are filled in.
 *
 * Secrets: "env:NAME" and "file:PATH" are replaced by what they name, once, at
 * load ("text:..." is taken as it is, for a value that looks like one of them).
 * In the subtrees kept as JSON (exec.env, http.headers, an MCP server's env and headers)
 * `jv->str` holds the secret and `jv->raw` still the reference: print raw, never str.
 *
 * Ownership: struct config owns everything it points to, in its own arena, and
 * does not change once it is read. config_done wipes the secrets.
 */
#ifndef PARLEY_CONFIG_H
#define PARLEY_CONFIG_H

#include <stdio.h>

#include "auth/auth.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/log.h"
#include "base/seal.h"
#include "http/conn.h"
#include "run/quota.h"
#include "run/spend.h"
#include "tool/identity.h"

/* --- errors -------------------------------------------------------------------- */

#define CONFIG_PROBLEMS_MAX 20

struct config_problem {
    unsigned line;      /* 0: not from the file (a flag, the environment) */
    char     text[300]; /* what is wrong and what to do; safe for a terminal */
};

/* Needs no memory but itself, so that "out of memory" can be told as well. */
struct config_error {
    char                  file[200];
    size_t                count; /* in `problem` */
    size_t                more;  /* found beyond those */
    struct config_problem problem[CONFIG_PROBLEMS_MAX];
};

/* Notes what was found wrong after the loading; `at`: a node of c->root, or NULL. */
struct config;
void config_error_add(struct config_error *e, const struct config *c, const struct jv *at,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);

/* "parley.json:12: unknown key \"lisen\" (did you mean \"listen\"?)", one line each. */
void config_error_print(const struct config_error *e, FILE *out);

/* --- what is configured ----------------------------------------------------------- */

struct config_path {
    struct str          path;
    struct config_path *next;
};
struct config_header {
    struct str name, value;
}; /* value: secret */

struct config_model {
    struct str            name;     /* under "models"; "default" when there is only "model" */
    struct str            provider; /* "demo", "anthropic", "gemini", "openai" */
    struct str            model;    /* the provider's name for it */
    struct str            api_key;  /* secret; STR_NONE: none is sent */
    struct str            base_url; /* without a slash at its end; STR_NONE: the provider's own */
    struct str            version;  /* Anthropic's API version; STR_NONE: the adapter's default */
    /* "x-api-key" or "bearer": Anthropic's two ways; STR_NONE: the adapter's default */
    struct str            auth;
    int64_t               max_tokens; /* already the top-level one when the model has none */
    int64_t               context; /* tokens of a request, its answer not counted; 0: not known */
    /* true, false, a token budget, or the provider's own object; NULL: not said */
    const struct jv      *thinking;
    const struct jv      *options;             /* members of the request's body; NULL: none */
    const struct jv      *prices;              /* {input, output, currency}; NULL: not said */
    int64_t               price_in, price_out; /* the same in millionths */
    struct config_header *headers;
    size_t                header_count;
    unsigned              connect_ms, first_byte_ms, idle_ms, total_ms, wait_max_ms;
    unsigned              retries, concurrent;
};

/* a fallback list: the next one if one fails before its first delta */
struct config_models {
    const struct config_model **list;
    size_t                      count; /* at least 1 */
};

struct config_payload {
    struct str       type;
    const struct jv *schema; /* an object */
    struct str       schema_text;
};

struct config_strs {
    struct str *list;
    size_t      count;
};

/* For whom something is, and what it is told of them: config_identity.c. */
struct config_terms {
    struct config_strs    roles, claims;
    const struct jv      *identity; /* NULL: nothing is said */
    struct identity_setup sign;
};

struct config_page {
    /* "default" is the page of a request that names none; it is always pages[0] */
    struct str             name;
    /* already the top-level one when the page has none; STR_NONE: no system prompt */
    struct str             system;
    bool                   all_tools; /* the page lists no tools: it may use every one */
    struct str            *tools;
    size_t                 tool_count;
    struct config_models   models;
    struct config_payload *payloads;
    size_t                 payload_count;
    struct config_strs     roles; /* for whom it is; none: everybody */
    const struct jv       *answer_schema;
};

struct config_action {
    struct str name, tool;
};

/* Another name for a model, as clients of OpenAI's shape say it. */
struct config_alias {
    struct str name, page; /* the page's name; "" is the default one */
};

enum config_runner { RUNNER_EXEC, RUNNER_HTTP, RUNNER_CLIENT };

/* Who can say what became of a call: run/callcheck.h. */
struct config_check {
    struct str       tool; /* of which it tells; of an MCP server also "*": of all others */
    const struct jv *run;  /* the "exec" or "http" object */
    bool             exec;
    unsigned         timeout_ms, tries, pause_ms;
};

struct config_tool {
    struct str          name, description;
    const struct jv    *def; /* the whole entry */
    enum config_runner  runner;
    const struct jv    *run;          /* the "exec" or "http" object; NULL for a client tool */
    const struct jv    *input_schema; /* NULL: an object with any members */
    /* for policy_read(); NULL: "always" for exec and http, "never" for client */
    const struct jv    *confirm;
    struct str          risk;        /* "low" or "high"; STR_NONE: not said */
    struct str          intent, ask; /* templates; STR_NONE: the default sentence */
    bool                idempotent;
    bool                shows_artifact;
    struct str          example; /* words that lead to it; STR_NONE: none */
    unsigned            timeout_ms;
    unsigned            expires_s; /* of its approvals; 0: never */
    struct config_terms terms;
    struct config_check check; /* run NULL: none */
};

struct config_mcp {
    struct str           name;
    /* command,args,env,cwd | url,headers,type; confirm, trust_annotations, timeout */
    const struct jv     *def;
    bool                 http; /* has a url */
    bool                 trust_annotations;
    unsigned             timeout_ms; /* of one call, restarted by each progress notice */
    struct config_terms  terms;
    struct config_check *checks;
    size_t               check_count;
}; /* entries with "disabled": true are checked and left out */

/* How the page at "/" presents itself: config_look.c. */
struct config_look {
    struct str           name;      /* of the product */
    struct str           logo;      /* the bytes of a picture */
    const char          *logo_type; /* NULL: the one that is built in */
    bool                 has_accent;
    unsigned             accent, accent_dark; /* 0xRRGGBB, each readable on its theme */
    struct config_strs   languages;           /* of en, de, ja; at least one; the first is spoken to
                                               those whose browser asks for another */
    /* text, or an object with a text per language; a list of those; NULL: the page's own */
    const struct jv     *greeting, *footer, *starters;
    /* those that people may choose from; count 0: there is nothing to choose */
    struct config_models models;
};

/* Spans to a collector: run/otel.h. */
struct config_otel {
    struct str            endpoint; /* STR_NONE: to nobody */
    struct config_header *headers;
    size_t                header_count;
};

/* Signed checkpoints over all conversations: audit/checkpoint.h. */
struct config_audit {
    struct str key;     /* PEM; secret; STR_NONE: there are none */
    struct str file;    /* STR_NONE: not into a file */
    struct str webhook; /* STR_NONE: to nobody */
    unsigned   every_ms;
};

struct config {
    struct arena     arena;
    struct str       path; /* the file read; STR_NONE: there is none */
    struct str       text; /* its bytes */
    /* and as a tree, for the places of errors; NULL: there is none */
    const struct jv *root;

    struct str     host; /* as listen() takes it: "127.0.0.1", "::1" (no brackets) */
    unsigned       port;
    struct str     tls_cert, tls_key;        /* paths; "": plain HTTP */
    struct str     cluster_url, cluster_key; /* "": alone with its store */
    struct str     store;                    /* store_open()'s url */
    struct str     store_file;               /* its path; STR_NONE: it is a database */
    struct str     store_shown;              /* for people: without a password */
    struct str     work;                     /* the folder in which tools get theirs */
    enum log_level log;

    struct config_model *models;
    size_t               model_count;
    struct config_models model; /* of the default page */
    /* "Demo model: no model is configured and no key is in the environment." */
    struct str           model_why;
    bool                 demo_model; /* some page may use the demo model */
    struct str           system;
    unsigned             max_iterations;
    int64_t              max_tokens;
    int64_t              context_limit; /* 0: not said */
    unsigned             context_keep;

    unsigned   demo_token_ms;
    struct str demo_ledger;
    bool       demo_tools; /* add the demo tools to the registry */

    bool                  model_titles; /* titles: "model"; false: "words" */
    struct config_look    look;
    struct config_page   *pages;
    size_t                page_count; /* at least one */
    struct config_action *actions;
    size_t                action_count;
    unsigned              reply_tools; /* bits by enum reply_tool */
    struct config_tool   *tools;
    size_t                tool_count;
    struct config_mcp    *mcp;
    size_t                mcp_count;
    /* that something above asks for: the configuration's own roles, and claims of tokens */
    struct config_strs    role_names, claim_names;

    bool               mcp_serve;
    struct config_strs mcp_tools; /* with mcp_some: only these */
    bool               mcp_some;
    unsigned           mcp_wait_ms, mcp_pending;
    struct str         mcp_link;   /* STR_NONE: http:// and where it listens */
    bool               mcp_sealed; /* there is a key: */
    struct seal_key    mcp_seal;

    bool             hold;      /* approvals.on_new_message: "hold"; false: "supersede" */
    bool             approvers; /* approvals.who: "approver"; false: "owner" */
    /* approvals.rules, a list; NULL: none (run/rules.h) */
    const struct jv *rules;
    unsigned         deny_limit;
    /* approvals.context: 0 none, 1 question, 2 conversation, as door/app.h has them */
    unsigned         context;
    /* page.share: 0 off, 1 signed_in, 2 anyone, likewise */
    unsigned         share;
    struct str       links_key; /* secret; STR_NONE: no links */
    struct config_notify {
        struct str       url, secret;
        const struct jv *events, *roles, *allow; /* lists; NULL: all, all, none */
        unsigned         after_s;
    } * notify;
    size_t   notify_count;
    /* approvals.expires: of a tool that does not say; 0: never */
    unsigned expires_s;

    struct net_limits   limits;
    unsigned            runs_max;     /* at once, in the whole process */
    unsigned            programs_max; /* of exec tools, at once */
    struct quota_limits each;         /* limits.per_principal */
    struct spend_rule  *budgets;
    size_t              budget_count;
    struct str          currency;        /* of all prices; STR_NONE: of none, or of several */
    size_t              tool_output_max; /* bytes of a result that the model is told */
    size_t              threads_bytes;   /* and so are those beyond these, together */
    /* idle threads beyond this are forgotten and read again when asked for */
    unsigned            threads_in_memory;

    /* browser origins beside our own, as browsers send them: "https://example.org" */
    struct config_strs origins;
    /* Host names beside the loopback names and the listen host; no port, lower case */
    struct config_strs hosts;
    struct config_strs cors;  /* origins that get CORS headers */
    struct config_strs embed; /* origins that get them, and may frame the page */
    /* addresses whose X-Forwarded-Proto is believed, beside loopback */
    struct config_strs proxies;
    /* what links to us begin with, without a slash at its end; STR_NONE: as each request says */
    struct str         public_url;
    struct auth_setup  auth;

    bool                 words, functions; /* openai.words, openai.functions */
    struct config_alias *aliases;
    size_t               alias_count;
    struct config_strs   chat_headers;

    struct config_audit audit;
    struct config_otel  otel;
    /* days since the last change; 0: for ever. asked: where somebody was asked for a decision */
    unsigned            retain_plain_days, retain_asked_days, retain_prompt_days;
    unsigned            retain_kind_days[STORE_TRIM_KINDS]; /* by trim.h's bits */

    struct config_strs    warnings; /* sentences; for serve to log and check to print */
    struct config_secret *secrets;  /* private: what config_done wipes */
    /* those that "file:PATH" named; no tool may read them */
    struct config_path   *secret_files;
};

/* The command line's part: what is not NULL wins over the file. A store is given as in the file:
 * itself, or where it stands ("env:NAME", "file:PATH"), because others can see a command line. */
struct config_flags {
    const char *path, *listen, *store;
};

/* Reads and checks. `path` NULL: ./parley.json when it exists, else defaults alone.
 * On an error (ERR_NOT_FOUND, ERR_IO, ERR_SYNTAX, ERR_NOMEM) *c is left empty: nothing to give
 * back. */
MUST_CHECK enum err config_load_flags(struct config *c, const struct config_flags *f,
                                      struct config_error *e);
/* The same from memory; `name` stands for the file in errors. The text is copied. For tests and
 * fuzzing. */
MUST_CHECK enum err config_load_text(struct config *c, struct str text, const char *name,
                                     const struct config_flags *f, struct config_error *e);
/* An address of a store that stands in an option, as --store does, for a command that has no
 * configuration. `c` is for config_done alone; on an error it is empty. */
MUST_CHECK enum err config_address(struct config *c, const char *option, const char *word,
                                   struct str *out, struct config_error *e);
void                config_done(struct config *c);

/* What this configuration means, in plain words; no secret is printed. */
void config_explain(const struct config *c, FILE *out);
/* One line: "gpt-x of openai at http://…, because …"; the model of the default page and why. */
void config_explain_model(const struct config *c, FILE *out);

/* What the page is told of its look, as one JSON object. */
struct jsonw;
void config_look_write(const struct config *c, struct jsonw *w);

/* STR_NONE or "": the default; NULL: unknown */
const struct config_page   *config_page(const struct config *c, struct str name);
const struct config_model  *config_model(const struct config *c, struct str name);
const struct config_action *config_action(const struct config *c, struct str name);
bool        config_principal_fits(struct str name); /* may be the name of a principal */
/* All roles there are, as principal.h has them: what everybody has who need not say who they are.
 * ptr NULL: no memory. */
struct str  config_every_role(const struct config *c, struct arena *a);
bool        config_has_auth(const struct config *c); /* somebody must prove who they are */
const char *config_scheme(const struct config *c);   /* "https" with a certificate, else "http" */
/* Its address for somebody on the same machine, in `a`; STR_NONE: no memory. */
struct str  config_reach(const struct config *c, struct arena *a);
bool        config_is_public(const struct config *c); /* listens beyond loopback */
/* Nobody has to say who they are, and programs that it starts can reach the server: answers need
 * the start token (auth/starttoken.h). */
bool        config_needs_token(const struct config *c);

/* "127.0.0.1:8000", "[::1]:8000", "localhost:0", ":8000" (loopback), "8000". *why is a sentence on
 * error. *host points into text (or is a literal). Port 0 lets the system choose. */
MUST_CHECK enum err config_listen_parse(struct str text, struct str *host, unsigned *port,
                                        const char **why);
bool                config_host_is_loopback(struct str host);

/* --- the table ------------------------------------------------------------------------ */

/* One key. `path` has a '*' for "any name" and "[]" for "each item": "models.*.api_key",
 * "auth.keys[].sha256". */
struct config_doc {
    const char *path;
    const char *type;      /* in words: "text", "a number of seconds" ... */
    const char *otherwise; /* the default in words; "" when absent means nothing */
    const char *help;      /* one line */
};
size_t            config_doc_count(void);
struct config_doc config_doc_at(size_t i);

#endif
