/* cli.h -- the commands behind `parley NAME`. Each gets the arguments after its name
 * and returns the exit status: 0 good, 1 it did not work, 2 the words are off. */
#ifndef PARLEY_CLI_H
#define PARLEY_CLI_H

#include "config.h"

int cli_serve(int argc, char **argv);     /* serve.c */
int cli_check(int argc, char **argv);     /* check.c */
int cli_key(int argc, char **argv);       /* key.c */
int cli_models(int argc, char **argv);    /* models.c */
int cli_tools(int argc, char **argv);     /* tools.c */

/* Reads --config, --listen, --store (those in `allowed`, e.g. "cls"). False: said why on stderr. */
bool cli_flags(int argc, char **argv, const char *allowed, struct config_flags *out);

#endif
