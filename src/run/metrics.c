/* metrics.c -- counters and histograms in the Prometheus text form. */
#include "run/metrics.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/measure.h"

/* Seconds; from well under the promised 2 ms to a stuck second. */
static const double BOUNDS[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                 0.025,  0.05,    0.1,    0.25,  1,     5 };
#define BOUND_COUNT (sizeof BOUNDS / sizeof BOUNDS[0])

static struct {
    uint64_t bucket[BOUND_COUNT], count;
    double   sum;
} histograms[METRIC_HISTOGRAM_COUNT];
static const char *const HISTOGRAM_NAMES[][2] = {
    { "parley_intent_seconds", "From a call being complete to its intent line being told" },
    { "parley_commit_seconds", "From an append being asked for to its answer" },
    { "parley_loop_lag_seconds", "How long one turn kept the loop busy" },
    { "parley_link_seconds", "From a sign of life being asked of another node to its coming" },
};

/* One member of a family that has a name: a tool, a model. As many as there are tools and
 * models. */
struct row {
    struct str             name;
    const char            *outcome;
    uint64_t               n, input, output, cost;
    struct measure_seconds seconds;
};
static struct table {
    struct row *rows;
    size_t      count, cap;
} outcomes, durations, models;
static uint64_t          runs[3];
static const char *const RUNS[] = { "complete", "error", "cancelled" };

void metrics_observe(enum metric_histogram h, uint64_t ns)
{
    double s = (double)ns / 1e9;
    histograms[h].count++;
    histograms[h].sum += s;
    for (size_t i = 0; i < BOUND_COUNT; i++) histograms[h].bucket[i] += s <= BOUNDS[i];
}

void metrics_commit(void *nobody, uint64_t ns)
{
    (void)nobody;
    metrics_observe(METRIC_COMMIT, ns);
}

void metrics_turn(void *nobody, uint64_t busy_ns)
{
    (void)nobody;
    metrics_observe(METRIC_LAG, busy_ns);
}

/* Intents to be told, each in the place its call's name gives. A later call may take the place
 * over: one measurement less, and those that nobody comes for need no cleaning up. */
#define UNTOLD_COUNT 1024
/* Whoever is told after this long was not there before: no latency of ours. */
#define UNTOLD_MAX_NS (60 * 1000000000ull)
static struct {
    uint64_t call, since_ns;
} untold[UNTOLD_COUNT];

void metrics_intent_due(struct str call)
{
    uint64_t hash = str_hash(call);
    untold[hash % UNTOLD_COUNT].call = hash;
    untold[hash % UNTOLD_COUNT].since_ns = clock_mono_ns();
}

void metrics_intent_told(struct str call)
{
    uint64_t hash = str_hash(call), since = untold[hash % UNTOLD_COUNT].since_ns;
    if (!since || untold[hash % UNTOLD_COUNT].call != hash) return;
    untold[hash % UNTOLD_COUNT].since_ns = 0;
    uint64_t ns = clock_mono_ns() - since;
    if (ns <= UNTOLD_MAX_NS) metrics_observe(METRIC_INTENT, ns);
}

static struct row *new_row(struct table *t, struct str name, const char *outcome)
{
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        void  *grown = mem_realloc(t->rows, cap * sizeof *t->rows);
        if (!grown) return NULL;
        t->rows = grown;
        t->cap = cap;
    }
    char *kept = mem_alloc(name.len + 1);
    if (!kept) return NULL;
    memcpy(kept, name.ptr, name.len);
    t->rows[t->count] = (struct row){ .name = { kept, name.len }, .outcome = outcome };
    return &t->rows[t->count++];
}

/* NULL: there is no memory for a new one, which is then not counted. */
static struct row *row_of(struct table *t, struct str name, const char *outcome)
{
    for (size_t i = 0; i < t->count; i++)
        if (str_eq(t->rows[i].name, name) && strcmp(t->rows[i].outcome, outcome) == 0)
            return &t->rows[i];
    return new_row(t, name, outcome);
}

void metrics_tool(struct str tool, const char *outcome)
{
    struct row *r = row_of(&outcomes, tool, outcome);
    if (r) r->n++;
}

void metrics_tool_seconds(struct str tool, double seconds)
{
    struct row *r = row_of(&durations, tool, "");
    if (r) measure_observe(&r->seconds, seconds);
}

void metrics_run(const char *outcome)
{
    for (int i = 0; i < 3; i++) runs[i] += strcmp(RUNS[i], outcome) == 0;
}

void metrics_tokens(struct str model, int64_t input, int64_t output, int64_t cost)
{
    struct row *r = row_of(&models, model, "");
    if (!r) return;
    r->input += input > 0 ? (uint64_t)input : 0;
    r->output += output > 0 ? (uint64_t)output : 0;
    r->cost += cost > 0 ? (uint64_t)cost : 0;
}

static void write_histogram(struct buf *out, int h)
{
    const char *name = HISTOGRAM_NAMES[h][0];
    measure_head(out, name, "histogram", HISTOGRAM_NAMES[h][1]);
    for (size_t i = 0; i < BOUND_COUNT; i++)
        buf_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, BOUNDS[i],
                   (unsigned long long)histograms[h].bucket[i]);
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9f\n%s_count %llu\n", name,
               (unsigned long long)histograms[h].count, name, histograms[h].sum, name,
               (unsigned long long)histograms[h].count);
}

static void write_gauge(struct buf *out, const char *name, const char *help, unsigned v)
{
    measure_head(out, name, "gauge", help);
    buf_printf(out, "%s %u\n", name, v);
}

static void write_tools(struct buf *out)
{
    measure_head(out, "parley_tool_runs_total", "counter", "Calls by outcome");
    for (size_t i = 0; i < outcomes.count; i++) {
        buf_lit(out, "parley_tool_runs_total{");
        measure_label(out, "tool", outcomes.rows[i].name);
        buf_printf(out, ",outcome=\"%s\"} %llu\n", outcomes.rows[i].outcome,
                   (unsigned long long)outcomes.rows[i].n);
    }
    measure_head(out, "parley_tool_seconds", "histogram",
                 "How long calls took, from their start to their outcome");
    for (size_t i = 0; i < durations.count; i++)
        measure_seconds_write(out, "parley_tool_seconds", "tool", durations.rows[i].name,
                              &durations.rows[i].seconds);
}

static void write_tokens(struct buf *out, struct str model, const char *direction, uint64_t n)
{
    buf_printf(out, "parley_tokens_total{direction=\"%s\",", direction);
    measure_label(out, "model", model);
    buf_printf(out, "} %llu\n", (unsigned long long)n);
}

static void write_models(struct buf *out)
{
    measure_head(out, "parley_tokens_total", "counter", "Tokens as the models count them");
    for (size_t i = 0; i < models.count; i++) {
        write_tokens(out, models.rows[i].name, "input", models.rows[i].input);
        write_tokens(out, models.rows[i].name, "output", models.rows[i].output);
    }
    measure_head(out, "parley_cost_total", "counter",
                 "What answers cost by the prices of their models, in the currency of those");
    for (size_t i = 0; i < models.count; i++) {
        buf_lit(out, "parley_cost_total{");
        measure_label(out, "model", models.rows[i].name);
        buf_printf(out, "} %llu.%06llu\n", (unsigned long long)models.rows[i].cost / 1000000,
                   (unsigned long long)models.rows[i].cost % 1000000);
    }
}

void metrics_write(struct buf *out, unsigned connections, unsigned streams)
{
    for (int h = 0; h < METRIC_HISTOGRAM_COUNT; h++) write_histogram(out, h);
    write_tools(out);
    measure_head(out, "parley_runs_total", "counter", "Runs by outcome");
    for (int i = 0; i < 3; i++)
        buf_printf(out, "parley_runs_total{outcome=\"%s\"} %llu\n", RUNS[i],
                   (unsigned long long)runs[i]);
    write_models(out);
    write_gauge(out, "parley_connections", "Open connections", connections);
    write_gauge(out, "parley_streams", "Open event streams and sockets, links of nodes among them",
                streams);
}

static void free_table(struct table *t)
{
    for (size_t i = 0; i < t->count; i++) mem_free((char *)(uintptr_t)t->rows[i].name.ptr);
    mem_free(t->rows);
    *t = (struct table){ 0 };
}

void metrics_done(void)
{
    free_table(&outcomes);
    free_table(&durations);
    free_table(&models);
}
