/* reload.h -- SIGHUP: the configuration is read anew, and no stream notices.
 *
 * The whole file is checked first, as `parley check` does; one that does not check, or that is not
 * there any more, changes nothing.
 * Then what is a plain value takes effect, for whatever begins from now on: who is let in by name
 * and origin, limits, prompts, rules of who is asked, further keys of people, the log. What was
 * built from the file (tools, models, pages, the store, the address) stays as it was built, and the
 * keys that would change it are named in one line of the log: they wait for the next start.
 *
 * A question that was asked keeps the rule by which it was asked; that stands in the log.
 *
 * A key of somebody may be added so, but not taken away or changed: connections and sessions that
 * were opened with it would go on. That takes a restart, which the log says. What is added in the
 * same edit counts all the same; until then a digest that is known is whose it was, as it was.
 *
 * A file that turns sign-in on or off is refused: the rest of it was written for a server that
 * asks, or does not ask, who somebody is.
 *
 * Ownership: configurations whose values are in use are kept until reload_done, because runs and
 * connections may still look at their texts.
 */
#ifndef PARLEY_CLI_RELOAD_H
#define PARLEY_CLI_RELOAD_H

#include "cli/assembly.h"
#include "door/app.h"

struct kept_config;

struct reload {
    struct config_flags flags;
    struct config      *first; /* of the start; its keys of people grow */
    struct kept_config *kept;  /* read since, the newest first */
    struct assembly    *assembly;
    struct hub         *hub;
    struct app         *app;
    struct people      *people;
};

void reload_now(struct reload *r);
void reload_done(struct reload *r);

#endif
