/* desk.h -- a person at a terminal, and a running server that they talk to.
 *
 * The commands that talk to a server (`parley approvals`, `parley chat`) share this: its address
 * and key, asking it, showing what strangers wrote, and a yes or no to what waits.
 *
 * Words of models, tools and people are shown by desk_put alone, so that none of them does anything
 * to the terminal (glyph_show) or turns around what stands beside it (order.h); in one line they
 * push nothing away and are in no disguise (guise.h). Rows of a request that are longer than the
 * screen go on below their words, so that none of theirs passes for one of ours. The server decides
 * whether an answer counts; this asks by the same door as everybody.
 */
#ifndef PARLEY_CLI_DESK_H
#define PARLEY_CLI_DESK_H

#include <stdio.h>

#include "base/glyph.h"
#include "base/json.h"

struct curl_slist;

struct desk {
    struct str   base;    /* the server's address, no slash at its end */
    bool         screen;  /* somebody is there to answer */
    bool         colours; /* a screen, and NO_COLOR is not set */
    struct arena arena;   /* what the server said; the owner resets it when nobody looks any more */
    unsigned     troubles;
};

/* `url` NULL: the server of this machine. It is borrowed. */
void               desk_init(struct desk *k, const char *url);
void               desk_done(struct desk *k);
/* What each request says: JSON, and PARLEY_KEY of the environment (a bearer key, or the token of a
 * start; not an argument, others see those). For curl_slist_free_all(); NULL: no memory. */
struct curl_slist *desk_headers(struct desk *k);
/* The server's answer as a tree, also when it is a refusal; NULL: said why. `body` NULL: GET. */
struct jv         *desk_ask(struct desk *k, const char *path, const char *body, long *status);
/* On stderr: "parley: its sentence (409)", and what to do about a 401. */
void               desk_refused(const struct jv *answer, long status);

void desk_put(FILE *out, struct str s, enum glyph_way way);
/* A line of JSON on stdout, the same value to whoever parses it: what a terminal might act on, or
 * nobody sees (glyph_hidden), is written as \u009b, also into a file. False: it was not written. */
bool desk_json(struct str json);
/* "  asked.by   ann" for every member on stdout, those of objects under their name. */
void desk_members(const struct jv *v, const char *under, int indent);
/* As "\033[31m" and the like, where there are colours; else nothing. */
void desk_style(const struct desk *k, FILE *out, const char *code);

/* One request of /v1/approvals with its sentence and everything that it would be run with, as the
 * server wrote it: no digit is lost. */
void desk_show(const struct desk *k, const struct jv *approval, size_t number, size_t all);
/* What is typed before the question is on the screen does not count as an answer to it, and only a
 * whole "y" or "yes" is a yes. */
enum choice { CHOICE_UNCLEAR, CHOICE_YES, CHOICE_NO, CHOICE_LATER, CHOICE_END };
enum choice desk_choose(void);
/* Says the answer, and what became of it. True: it does not wait any more, whoever decided it. */
bool        desk_decide(struct desk *k, struct str id, bool yes);

#endif
