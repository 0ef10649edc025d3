/* cli.h -- the commands behind `parley NAME`. Each gets the arguments after its name
 * and returns the exit status: 0 good, 1 it did not work, 2 the words are off. */
#ifndef PARLEY_CLI_H
#define PARLEY_CLI_H

#include "config/config.h"

int cli_serve(int argc, char **argv);     /* serve.c */
int cli_approvals(int argc, char **argv); /* inbox.c */
int cli_audit(int argc, char **argv);     /* audit.c */
int cli_backup(int argc, char **argv);    /* backup.c */
int cli_chat(int argc, char **argv);      /* talk.c */
int cli_check(int argc, char **argv);     /* check.c */
int cli_health(int argc, char **argv);    /* health.c */
int cli_key(int argc, char **argv);       /* key.c */
int cli_mcp(int argc, char **argv);       /* bridge.c */
int cli_models(int argc, char **argv);    /* models.c */
int cli_move(int argc, char **argv);      /* move.c */
int cli_nodes(int argc, char **argv);     /* nodes.c */
int cli_people(int argc, char **argv);    /* person.c */
int cli_restore(int argc, char **argv);   /* restore.c */
int cli_show(int argc, char **argv);      /* show.c */
int cli_tools(int argc, char **argv);     /* tools.c */

struct cli_line {
    struct config_flags flags;
    bool                check, anyway, anew, json;
    const char         *from, *to, *url, *page, *as, *claims, *checkpoint, *public;
    char              **words;
    int                 count; /* what is no option, in order */
};

/* Takes the options in `allowed` ('c' --config, 'l' --listen, 's' --store, 'f' --from, 't' --to,
 * 'k'
 * --check, 'a' --anyway, 'n' --anew, 'j' --json, 'u' --url, 'p' --page, 'w' --as NAME and --claims
 * JSON, 'h' --checkpoint, 'b' --public) out of the line, wherever they stand; behind "--"
 * everything is a word. At most `words_max` words may be left. False: said why on stderr. Moves the
 * words to the front of argv. */
bool cli_read(int argc, char **argv, const char *allowed, int words_max, struct cli_line *out);

/* "parley: ", the sentence and the end of a line, on stderr. Arguments, names of files and words of
 * others stand in it, so what is hidden in them is spelled out and nothing moves a cursor. */
void cli_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* How far it is, on one line that is written over, for whoever watches a terminal; a log file gets
 * none of it. cli_far_end before anything else is said. */
void cli_far(void *ctx, uint64_t done, uint64_t all);
void cli_far_end(void);

#endif
