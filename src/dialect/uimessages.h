/* uimessages.h -- a thread as a list of AI SDK UIMessages: what a page shows when
 * it is opened. Made from facts; the assistant message of a run has the run's id.
 */
#ifndef PARLEY_UIMESSAGES_H
#define PARLEY_UIMESSAGES_H

#include "base/jsonw.h"
#include "run/thread.h"

enum approval_form { FORM_NATIVE, FORM_ADK };

/* Which of them: about `limit` (0: all) before the question `before` (none: up to the end). They
 * begin with a question, so that none is parted from its answer; `earlier` is then its id, if the
 * conversation did not begin with it. */
struct uipage {
    struct str before;
    uint64_t   upto; /* nothing later than this fact; 0: all of it */
    size_t     limit;
    struct str earlier;
};

/* The array. A run that is going on is left out (its stream tells it whole); one that
 * waits is there with its question. ERR_NOT_FOUND: `before` is no question of this conversation.
 * ERR_NOMEM. */
MUST_CHECK enum err uimessages_write(struct jsonw *w, const struct thread *t,
                                     enum approval_form form, struct uipage *p);
/* What edits and retries replaced, oldest first: [{"of": id of the question that stands there now,
 * "messages": […]}], each from the old question on. Of a page those of its questions, of the last
 * page also those within other versions. ERR_NOMEM. */
MUST_CHECK enum err uimessages_versions(struct jsonw *w, const struct thread *t,
                                        enum approval_form form, const struct uipage *p);
/* The input of adk_request_confirmation. */
void uimessage_confirmation_input(struct jsonw *w, const char *key, const struct call *c,
                                  const struct fact *asked);

#endif
