/* quota.c -- see quota.h. */
#include "run/quota.h"

#include "base/arena.h"

#define DAY_MS     86400000
#define MINUTE_MS  60000
#define RUN_WAIT_S 5 /* nobody knows when a run ends; looking again so often is cheap */
#define SWEEP_MIN  1024

struct person {
    double   requests;  /* in the bucket */
    uint64_t leaked_ms; /* up to here it has leaked */
    unsigned runs;
    int64_t  day, tokens, aside; /* aside: what the store's sum does not have */
    size_t   len;
    char     name[];
};

void quota_init(struct quota *q, const struct quota_limits *l)
{
    *q = (struct quota){ .limits = *l, .sweep_at = SWEEP_MIN };
    map_init(&q->people);
}

void quota_done(struct quota *q)
{
    struct person *p;
    for (size_t i = 0; (p = map_each(&q->people, &i));) mem_free(p);
    map_done(&q->people);
}

static bool limited(const struct quota *q)
{
    return q && (q->limits.requests_per_minute || q->limits.runs || q->limits.tokens_per_day);
}

static void leak(const struct quota *q, struct person *p, uint64_t mono_ms)
{
    uint64_t past = mono_ms > p->leaked_ms ? mono_ms - p->leaked_ms : 0;
    p->requests -= (double)past * q->limits.requests_per_minute / MINUTE_MS;
    if (p->requests < 0) p->requests = 0;
    p->leaked_ms = mono_ms;
}

/* Removing moves entries about, so the walk begins again; `sweep_at` keeps sweeps rare. */
static void sweep(struct quota *q, uint64_t mono_ms)
{
    struct person *p;
    for (size_t i = 0; (p = map_each(&q->people, &i));) {
        leak(q, p, mono_ms);
        if (p->requests > 0 || p->runs || ((p->tokens || p->aside) && p->day >= q->today)) continue;
        map_remove(&q->people, str_n(p->name, p->len));
        mem_free(p);
        i = i > 1 ? i - 1 : 0; /* what was behind the gap may stand in it now */
    }
    q->sweep_at = q->people.count * 2 > SWEEP_MIN ? q->people.count * 2 : SWEEP_MIN;
}

static struct person *person(struct quota *q, struct str who, uint64_t mono_ms)
{
    struct person *p = map_get(&q->people, who);

    if (p) return p;
    if (q->people.count >= q->sweep_at && mono_ms) sweep(q, mono_ms);
    if (!(p = mem_alloc(sizeof *p + who.len))) return NULL;
    memcpy(p->name, who.ptr, who.len);
    p->len = who.len;
    p->leaked_ms = mono_ms;
    if (map_put(&q->people, str_n(p->name, p->len), p) == OK) return p;
    mem_free(p);
    return NULL;
}

bool quota_request(struct quota *q, struct str who, uint64_t mono_ms, unsigned *retry_s)
{
    if (!q || !q->limits.requests_per_minute) return true;
    struct person *p = person(q, who, mono_ms);
    unsigned       max = q->limits.requests_per_minute;

    if (!p) return true;
    leak(q, p, mono_ms);
    if (p->requests + 1 <= max) {
        p->requests += 1;
        return true;
    }
    *retry_s = (unsigned)((p->requests + 1 - max) * 60 / max) + 1;
    return false;
}

static void begin_day(struct quota *q, struct person *p, int64_t wall_ms)
{
    q->today = wall_ms / DAY_MS;
    if (p->day == q->today) return;
    p->day = q->today;
    p->tokens = p->aside = 0;
}

enum quota_verdict quota_admit(struct quota *q, struct str who, int64_t wall_ms, unsigned *retry_s)
{
    struct person *p = limited(q) ? map_get(&q->people, who) : NULL;

    if (!p) return QUOTA_FINE;
    begin_day(q, p, wall_ms);
    if (q->limits.tokens_per_day && p->tokens + p->aside >= q->limits.tokens_per_day) {
        *retry_s = (unsigned)((DAY_MS - wall_ms % DAY_MS) / 1000) + 1;
        return QUOTA_TOKENS;
    }
    *retry_s = RUN_WAIT_S;
    return q->limits.runs && p->runs >= q->limits.runs ? QUOTA_RUNS : QUOTA_FINE;
}

void quota_run(struct quota *q, struct str who, int change)
{
    struct person *p = limited(q) ? person(q, who, 0) : NULL;

    if (!p) return;
    if (change > 0) p->runs++;
    else if (p->runs) p->runs--; /* there may have been no memory when it began */
}

void quota_learn(struct quota *q, struct str who, int64_t tokens, int64_t wall_ms)
{
    struct person *p = limited(q) && tokens > 0 ? person(q, who, 0) : NULL;

    if (!p) return;
    begin_day(q, p, wall_ms);
    p->tokens = tokens;
}

void quota_tokens(struct quota *q, struct str who, int64_t tokens, int64_t wall_ms)
{
    struct person *p = limited(q) && tokens > 0 ? person(q, who, 0) : NULL;

    if (!p) return;
    begin_day(q, p, wall_ms);
    p->aside += tokens;
}
