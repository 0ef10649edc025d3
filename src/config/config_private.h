/* config_private.h -- shared by the config_*.c files, and by nobody else.
 *
 *   config.c        reads the file, runs the parts below in order, checks the whole
 *   config_keys.c   the table of keys; config_check.c: unknown ones, types, ranges;
 *                   config_values.c: defaults (config_rows.h)
 *   config_secret.c secrets, headers, addresses
 *   config_model.c  models and their fallback lists
 *   config_options.c  how they are to speak: temperature and the like
 *   config_tools.c  pages, actions, tools, MCP servers
 *   config_identity.c  for whom they are, and what they are told of them
 *   config_schema.c the JSON schemas in them
 *   config_budget.c what models may be used for
 *   config_look.c   the page: name, logo, words, colour, languages
 *   config_approvals.c  who is asked, and what a yes may be worth
 *   config_auth.c   who may come in: keys, tokens, origins, host names
 *   config_tls.c    the certificate
 *   config_explain.c  says in words what came out
 *
 * Every part notes what is wrong and goes on, so that one run finds all mistakes.
 * The table has checked types before a part runs, but a part may still meet a
 * value of a wrong type: jv_* answers "absent" for it, and the mistake is noted already.
 */
#ifndef PARLEY_CONFIG_PRIVATE_H
#define PARLEY_CONFIG_PRIVATE_H

#include "config/config.h"

struct config_secret {
    struct str            text;
    struct config_secret *next;
};

struct config_build {
    struct config             *c;
    struct config_error       *e;
    struct jv                 *root; /* an object; NULL: no file */
    const struct config_flags *flags;
};

/* Notes an error or a warning at a place of the file (`at` NULL, or made by hand: not from the
 * file). */
void cfg_bad(struct config_build *b, const struct jv *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void cfg_warn(struct config_build *b, const struct jv *at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Room for `count` items, never NULL for 0; NULL only when memory is used up (the arena
 * remembers). */
void              *cfg_array(struct config_build *b, size_t count, size_t size);
/* Copies a list of text; items that are no text are left out (the table noted them). */
struct config_strs cfg_strs(struct config_build *b, const struct jv *list);
/* The best candidate for a mistyped name: nearest, and near enough. */
struct cfg_guess {
    struct str want, best;
    unsigned   distance;
};
void        cfg_guess_add(struct cfg_guess *g, struct str candidate);
/* " (did you mean \"x\"?)" or "". In the arena. */
const char *cfg_guess_text(struct config_build *b, const struct cfg_guess *g);

/* --- the table --- */
void     cfg_defaults(struct config *c); /* every simple key */
/* unknown keys, types, ranges; stores the simple ones */
void     cfg_check_keys(struct config_build *b);
/* v, or the table's default for `path` */
int64_t  cfg_int(const char *path, const struct jv *v);
/* seconds in the file, milliseconds here */
unsigned cfg_ms(const char *path, const struct jv *v);
/* whole seconds, rounded up */
unsigned cfg_s(const char *path, const struct jv *v, unsigned otherwise);
/* Calls `each` for every number whose value differs from its default. */
void     cfg_changed(const struct config *c,
                     void (*each)(void *ctx, const char *path, double now, double otherwise),
                     void *ctx);

/* --- secrets --- */
/* to be wiped by config_done */
void cfg_remember(struct config_build *b, struct str secret);
/* What `v` means: the text itself, or what it refers to. False when the reference leads nowhere
 * (noted). `literal`: it stands in the file itself. */
bool cfg_secret(struct config_build *b, const struct jv *v, const char *what, struct str *out,
                bool *literal);
/* Likewise of a word of the command line. */
bool cfg_secret_word(struct config_build *b, const char *word, const char *what, struct str *out);
/* The same inside a kept subtree: every text member of `map` is replaced in place. */
void cfg_secret_members(struct config_build *b, struct jv *map, const char *what);
/* A header's name and value can be sent; "Bearer env:NAME" is understood. */
bool cfg_header(struct config_build *b, const struct jv *v, struct config_header *out);
/* http(s)://host[:port][/path], no user, no query; noted when not. The slash at the end is taken
 * off. */
bool cfg_url(struct config_build *b, const struct jv *v, const char *what, struct str *out);
bool cfg_url_is_loopback(struct str url);

/* --- the parts, in this order --- */
void    cfg_read_models(struct config_build *b);
/* temperature and the like; "options" */
void    cfg_read_options(struct config_build *b, struct config_model *m, const struct jv *def);
/* A name or a list of names -> a fallback list. */
void    cfg_model_list(struct config_build *b, const struct jv *v, struct config_models *out);
/* "roles", "claims", "identity" and the templates of a tool or a server; `headers`: those it has
 * beside. */
void    cfg_read_terms(struct config_build *b, const struct jv *def, const struct jv *headers,
                       struct config_terms *t);
/* one name; NULL: there is none */
void    cfg_read_role(struct config_build *b, const struct jv *v);
void    cfg_read_roles(struct config_build *b, const struct jv *list, struct config_strs *out);
/* the claims that a prompt asks for */
void    cfg_gather_template(struct config_build *b, struct str text, const struct jv *at);
/* one of the three, or one that something above asks for */
bool    cfg_known_role(const struct config *c, struct str role);
void    cfg_read_tools(struct config_build *b);
/* keywords that schema.c would pass over */
void    cfg_check_schema(struct config_build *b, const struct jv *schema);
void    cfg_read_mcp(struct config_build *b);
void    cfg_read_pages(struct config_build *b);
void    cfg_read_demo(struct config_build *b);
void    cfg_check_pages(struct config_build *b); /* the names of their tools */
/* money as a number, in millionths */
int64_t cfg_micro(const struct jv *v);
void    cfg_read_budgets(struct config_build *b); /* before the keys: they may have its roles */
void    cfg_read_look(struct config_build *b);
void    cfg_read_actions(struct config_build *b);
/* the members of one tool that docs/approvals.md is about */
/* "edit" of an MCP server: pointers by tool. */
void    cfg_check_edits(struct config_build *b, const struct jv *edits);
void    cfg_check_terms(struct config_build *b, const struct jv *tool, bool client);
void    cfg_read_approvals(struct config_build *b);
void    cfg_check_rules(struct config_build *b, const struct jv *rules);
void    cfg_explain_rules(const struct config *c, FILE *out);
/* Text of the file on a terminal: control characters become '?', long text is cut. */
void    cfg_put(FILE *out, struct str s, size_t max);
void    cfg_read_auth(struct config_build *b);
void    cfg_read_origins(struct config_build *b);
void    cfg_read_openai(struct config_build *b);
void    cfg_read_door(struct config_build *b); /* "mcp", the door */
void    cfg_read_audit(struct config_build *b);
void    cfg_read_otel(struct config_build *b);
void    cfg_read_tls(struct config_build *b);

#endif
