/* trial.h -- one model behind an adapter, asked at the scripted service.
 *
 * The service is the program `upstream` beside the tests'; the first trial of a process starts it.
 *
 *     trial_open(&t);
 *     t.model = trial_model(&t, "openai", "sc-error", NULL);
 *     trial_say(&t, "Hello");
 *     CHECK(t.trace.failed);
 *     trial_close(&t);
 */
#ifndef PARLEY_TRIAL_H
#define PARLEY_TRIAL_H

#include "model/upstream.h"
#include "model_trace.h"
#include "test.h"

#define PATIENCE_MS 20000 /* a test that takes longer hangs */

struct trial {
    struct trace      trace;
    /* in front of the trace: stops the loop at the end, cancels on demand */
    struct model_sink watch;
    struct loop       loop;
    struct upstream  *up;
    struct model     *model;
    struct model_run *run;
    struct loop_timer patience;
    char              message[600];
    unsigned          deltas, cancel_at;
    bool              hung;
};

void          trial_open(struct trial *t);
void          trial_close(struct trial *t);
/* `tweak` may be NULL; what it leaves out is filled in: short waits, the service's address. */
struct model *trial_model(struct trial *t, const char *provider, const char *model,
                          const struct model_config *tweak);
/* Asks, and runs the loop until the answer has its end. */
void          trial_ask(struct trial *t, const struct model_request *q);
void          trial_say(struct trial *t, const char *text);
/* The same trial may ask once more. */
void          trial_again(struct trial *t);

/* All there are; and where the service speaks like one of them. */
extern const char *const providers[3];
void                     trial_url(char *out, size_t size, const char *provider);

extern int service_port;
/* What the service says at `path`; the body only. */
void       service_get(const char *path, struct buf *out);
/* One of the numbers it counts. */
int64_t    service_stat(const char *name);

#endif
