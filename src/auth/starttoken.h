/* starttoken.h -- proof that a person asks, on a server without sign-in whose tools can reach it.
 *
 * Without "auth" everybody on this machine is "local". That includes the programs we start
 * ourselves: one that has the network (exec with "network", as a tool or a check, an MCP server on
 * stdio) could say yes to its own question. There, what is a person's alone (decide, result, claim,
 * settle, votes, grants, links, sharing, accounts) needs a token that only the person has:
 * PARLEY_TOKEN, or a random one that is printed with the address at the start. A page exchanges it
 * for a cookie (signin.c), programs send it as a bearer token. Reading and writing messages needs
 * none.
 *
 * Tools must not find it: it is taken out of the environment before anything is read or started,
 * what is kept is its digest, and other processes may not look into ours while there is one.
 */
#ifndef PARLEY_STARTTOKEN_H
#define PARLEY_STARTTOKEN_H

#include "base/err.h"
#include "base/str.h"

#define START_TOKEN_MIN 16
#define START_TOKEN_MAX 256

#define START_TOKEN_RULE                                                                           \
    "PARLEY_TOKEN must be 16 to 256 letters, digits, or characters of \"-._~\"; unset it to have " \
    "one made"

struct start_token {
    uint8_t sha256[32];
    bool    needed;
};

/* First of all in a process: takes PARLEY_TOKEN out of the environment, also out of the bytes that
 * /proc shows. With it, or with PARLEY_KEY, which commands that answer carry, the process cannot be
 * looked into by others of its user. */
void                start_token_hide(void);
/* PARLEY_TOKEN was not set, or follows START_TOKEN_RULE; asked before start_token_make */
bool                start_token_good(void);
/* The token of this start; `text` gets it when it is a random one to be printed and wiped, else ""
 * (whoever set PARLEY_TOKEN knows it). What start_token_hide kept is wiped. ERR_SYNTAX:
 * PARLEY_TOKEN is none; ERR_NOMEM. */
MUST_CHECK enum err start_token_make(struct start_token *t, char text[START_TOKEN_MAX + 1]);
bool                start_token_fits(const struct start_token *t, struct str shown);

#endif
