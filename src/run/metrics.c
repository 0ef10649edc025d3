/* metrics.c -- counters and histograms in the Prometheus text form. */
#include "run/metrics.h"

#include "base/arena.h"
#include "base/clock.h"

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

struct tool_count {
    struct str  tool;
    const char *outcome;
    uint64_t    n;
};
static struct tool_count *tools;
static size_t             tool_count, tool_cap;
static uint64_t           runs[3], tokens[2];
static const char *const  RUNS[] = { "complete", "error", "cancelled" };

void metrics_observe(enum metric_histogram h, uint64_t ns)
{
    double s = (double)ns / 1e9;
    histograms[h].count++;
    histograms[h].sum += s;
    for (size_t i = 0; i < BOUND_COUNT; i++) histograms[h].bucket[i] += s <= BOUNDS[i];
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

void metrics_tool(struct str tool, const char *outcome)
{
    for (size_t i = 0; i < tool_count; i++)
        if (str_eq(tools[i].tool, tool) && strcmp(tools[i].outcome, outcome) == 0) {
            tools[i].n++;
            return;
        }
    if (tool_count == tool_cap) {
        size_t cap = tool_cap ? tool_cap * 2 : 16;
        void  *grown = mem_realloc(tools, cap * sizeof *tools);
        if (!grown) return;
        tools = grown;
        tool_cap = cap;
    }
    char *name = mem_alloc(tool.len + 1);
    if (!name) return;
    memcpy(name, tool.ptr, tool.len);
    tools[tool_count++] = (struct tool_count){ { name, tool.len }, outcome, 1 };
}

void metrics_run(const char *outcome)
{
    for (int i = 0; i < 3; i++) runs[i] += strcmp(RUNS[i], outcome) == 0;
}

void metrics_tokens(int64_t input, int64_t output)
{
    tokens[0] += input > 0 ? (uint64_t)input : 0;
    tokens[1] += output > 0 ? (uint64_t)output : 0;
}

static void write_histogram(struct buf *out, int h)
{
    const char *name = HISTOGRAM_NAMES[h][0];
    buf_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, HISTOGRAM_NAMES[h][1], name);
    for (size_t i = 0; i < BOUND_COUNT; i++)
        buf_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, BOUNDS[i],
                   (unsigned long long)histograms[h].bucket[i]);
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9f\n%s_count %llu\n", name,
               (unsigned long long)histograms[h].count, name, histograms[h].sum, name,
               (unsigned long long)histograms[h].count);
}

/* Label values: the tool's name comes from a configuration or a server, so it is escaped. */
static void write_label(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"' || s.ptr[i] == '\\') buf_chr(out, '\\');
        buf_chr(out, s.ptr[i] == '\n' ? ' ' : s.ptr[i]);
    }
}

static void write_gauge(struct buf *out, const char *name, const char *help, unsigned v)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %u\n", name, help, name, name, v);
}

void metrics_write(struct buf *out, unsigned connections, unsigned streams)
{
    for (int h = 0; h < METRIC_HISTOGRAM_COUNT; h++) write_histogram(out, h);
    buf_lit(
        out,
        "# HELP parley_tool_runs_total Calls by outcome\n# TYPE parley_tool_runs_total counter\n");
    for (size_t i = 0; i < tool_count; i++) {
        buf_lit(out, "parley_tool_runs_total{tool=\"");
        write_label(out, tools[i].tool);
        buf_printf(out, "\",outcome=\"%s\"} %llu\n", tools[i].outcome,
                   (unsigned long long)tools[i].n);
    }
    buf_lit(out, "# HELP parley_runs_total Runs by outcome\n# TYPE parley_runs_total counter\n");
    for (int i = 0; i < 3; i++)
        buf_printf(out, "parley_runs_total{outcome=\"%s\"} %llu\n", RUNS[i],
                   (unsigned long long)runs[i]);
    buf_lit(out, "# HELP parley_tokens_total Tokens as the models count them\n# TYPE "
                 "parley_tokens_total counter\n");
    buf_printf(out, "parley_tokens_total{direction=\"input\"} %llu\n",
               (unsigned long long)tokens[0]);
    buf_printf(out, "parley_tokens_total{direction=\"output\"} %llu\n",
               (unsigned long long)tokens[1]);
    write_gauge(out, "parley_connections", "Open connections", connections);
    write_gauge(out, "parley_streams", "Open event streams and sockets", streams);
}

void metrics_done(void)
{
    for (size_t i = 0; i < tool_count; i++) mem_free((char *)(uintptr_t)tools[i].tool.ptr);
    mem_free(tools);
    tools = NULL;
    tool_count = tool_cap = 0;
}
