/* paths.h -- can what the server writes be written where the configuration says? It is looked at
 * before anything is made: a start that is refused leaves nothing behind, and `parley check` says
 * what a start would. */
#ifndef PARLEY_PATHS_H
#define PARLEY_PATHS_H

#include "config/config.h"

/* The store, the ledger of the demo, the file of the checkpoints; with `programs` also the folder
 * in which tools work. What will not do is added to `e`. */
void paths_try(const struct config *c, bool programs, struct arena *a, struct config_error *e);
/* NULL: no memory. */
const char *paths_absolute(struct arena *a, struct str path);
bool        paths_is_folder(const char *path);

#endif
