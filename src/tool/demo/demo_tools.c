/* demo_tools.c -- the list of the demo tools and of the reply tools: names, schemas,
 * policies and sentences. What they do is in the file of the same name. */
#include "tool/demo/demo_work.h"

/* Tables, and JSON as it is, without a backslash before every quote. */
/* clang-format off */
#define JSON(...) #__VA_ARGS__

struct entry {
    const char *name, *description, *schema;
    enum tool_where   where;
    enum tool_confirm confirm;
    const char *risk, *intent, *ask, *status, *example;
    bool        idempotent, reads, makes_artifact, hidden;
    const struct tool_ops *ops;
    demo_fn    *fn;
};

static const struct entry DEMO[] = {
    {
        .name = "search_articles", .ops = &demo_ops, .fn = search_articles_run, .idempotent = true, .reads = true,
        .example = "Find articles about CRISPR",
        .description = "Full-text search in the demo's built-in library of short (invented) scientific abstracts. "
                       "Returns titles, authors, years and abstracts, best first.",
        .schema = JSON({"type": "object", "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 500,
                "description": "What to look for, in a few words"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 20,
                "description": "How many articles at most; 5 when absent"}},
            "required": ["query"], "additionalProperties": false}),
        .intent = "I'll search the articles for {query}...", .status = "Searching the articles...",
    },
    {
        .name = "get_weather", .ops = &demo_ops, .fn = get_weather_run, .idempotent = true, .reads = true,
        .example = "What is the weather in Tokyo?",
        .description = "The weather in a city right now. Demo data: made from the city's name, the same every "
                       "time.",
        .schema = JSON({"type": "object", "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Name of the city"}},
            "required": ["city"], "additionalProperties": false}),
        .intent = "I'll check the weather in {city}...", .status = "Checking the weather...",
    },
    {
        .name = "process_payment", .ops = &payment_ops, .confirm = CONFIRM_ALWAYS, .risk = "high",
        .example = "Send 50 dollars to Hanako",
        .description = "Sends money to somebody. Needs the person's approval every time. Demo: writes one line to "
                       "a ledger file.",
        .schema = JSON({"type": "object", "properties": {
            "amount": {"type": "number", "exclusiveMinimum": 0,
                "description": "How much, in units of the currency"},
            "currency": {"type": "string", "minLength": 1, "maxLength": 16,
                "description": "Currency code such as USD, EUR or JPY"},
            "recipient": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Who receives it"}},
            "required": ["recipient", "amount", "currency"], "additionalProperties": false}),
        .intent = "I'll send {amount} {currency} to {recipient}...",
        .ask = "Send {amount} {currency} to {recipient}?",
        .status = "Processing the payment...",
    },
    {
        .name = "change_bgm", .where = TOOL_CLIENT, .confirm = CONFIRM_ALWAYS,
        .example = "Change the BGM to track 1",
        .description = "Changes the background music that the person's browser plays.",
        .schema = JSON({"type": "object", "properties": {
            "track": {"type": ["integer", "string"],
                "description": "Number of the track, counted from 0, or its name"}},
            "required": ["track"], "additionalProperties": false}),
        .intent = "I'll change the music to track {track}...",
        .ask = "Change the background music to track {track}?",
    },
    {
        .name = "get_location", .where = TOOL_CLIENT, .confirm = CONFIRM_ALWAYS, .idempotent = true,
        .example = "Where am I?",
        .description = "Asks the person's browser where it is: latitude, longitude and accuracy in metres.",
        .schema = JSON({"type": "object", "properties": {}, "additionalProperties": false}),
        .intent = "I'll ask your browser where you are...", .ask = "Share your location with the assistant?",
    },
    {
        .name = "generate_artifact", .ops = &demo_ops, .fn = generate_artifact_run,
        .idempotent = true, .makes_artifact = true,
        .example = "Build me a todo app",
        .description = "Builds a small self-contained HTML page that works by itself: a todo list, calculator, "
                       "timer, dice, notes, or a simple page.",
        .schema = JSON({"type": "object", "properties": {
            "prompt": {"type": "string", "maxLength": 2000, "description": "What to build"},
            "artifactType": {"type": "string", "maxLength": 40,
                "description": "Kind of artifact wanted; the demo always makes html"},
            "title": {"type": "string", "maxLength": 100, "description": "Title of the page"}},
            "additionalProperties": false}),
        .status = "Planning your interactive component...",
    },
    {
        .name = "generate_image", .ops = &demo_ops, .fn = generate_image_run,
        .idempotent = true, .makes_artifact = true,
        .example = "Draw a sunset over the sea",
        .description = "Draws an SVG picture from the words of the prompt: sunset, night, mountains, sea, forest, "
                       "city, cat and more.",
        .schema = JSON({"type": "object", "properties": {
            "prompt": {"type": "string", "maxLength": 2000, "description": "What the picture shows"},
            "mode": {"type": "string", "enum": ["generate", "edit"],
                "description": "edit: draw it anew with these words"}},
            "additionalProperties": false}),
        .status = "Preparing your picture...",
    },
    {
        .name = "browser.search", .ops = &demo_ops, .fn = browser_search_run, .idempotent = true, .reads = true,
        .description = "Searches for information. Demo: there is no internet here, only the built-in library of "
                       "(invented) abstracts.",
        .schema = JSON({"type": "object", "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What to look for"}},
            "required": ["query"], "additionalProperties": false}),
        .status = "Searching...",
    },
    {
        .name = "apply_schema", .ops = &demo_ops, .fn = apply_schema_run, .idempotent = true, .hidden = true,
        .description = "Applies a proposed schema. Reached by the button under the proposal. Demo: remembered, "
                       "nothing else is changed.",
        .schema = JSON({"type": "object", "properties": {
            "schema_id": {"type": ["integer", "string"], "maxLength": 100, "description": "Id of the proposal"}},
            "required": ["schema_id"]}),
        .intent = "I'll apply schema {schema_id}...", .status = "Applying the schema...",
    },
};
/* clang-format on */

static struct tool *make_tool(struct registry *r, const struct entry *e)
{
    struct tool *t = registry_tool(r, str_c(e->name));
    if (!t) return NULL;
    t->description = str_c(e->description);
    t->schema_text = str_c(e->schema);
    t->where = e->where;
    t->confirm = e->confirm;
    if (e->risk) t->risk = str_c(e->risk);
    t->intent = str_c(e->intent); /* NULL stays STR_NONE */
    t->ask = str_c(e->ask);
    t->status = str_c(e->status);
    t->example = str_c(e->example);
    t->idempotent = e->idempotent;
    t->reads = e->reads;
    t->makes_artifact = e->makes_artifact;
    t->hidden = e->hidden;
    return t;
}

static enum err add_demo(struct registry *r, struct demo_tools *all, const struct entry *e)
{
    struct tool     *t = make_tool(r, e);
    struct demo_ctx *ctx = arena_new(&r->arena, struct demo_ctx);
    if (!t || !ctx) return ERR_NOMEM;
    *ctx = (struct demo_ctx){ all, e->fn };
    t->source = e->where == TOOL_CLIENT ? STR("client") : STR("demo");
    t->ctx = ctx;
    t->ops = e->ops;
    enum err err = registry_add(r, t);
    if (!err && e->ops) all->users++;
    return err;
}

enum err demo_tools_add(struct registry *r, struct loop *l, struct str ledger, unsigned stage_ms)
{
    struct demo_tools *all = arena_new(&r->arena, struct demo_tools);
    if (!all) return ERR_NOMEM;
    all->loop = l;
    all->stage_ms = stage_ms;
    all->ledger = arena_dup(&r->arena, ledger);
    if (!all->ledger.ptr) return ERR_NOMEM;
    must(uv_mutex_init(&all->ledger_lock) == 0);
    for (size_t i = 0; i < sizeof DEMO / sizeof *DEMO; i++) {
        enum err e = add_demo(r, all, &DEMO[i]);
        if (e && !all->users) uv_mutex_destroy(&all->ledger_lock);
        if (e) return e;
    }
    return OK;
}

const char *demo_tool_name(size_t i)
{
    return i < sizeof DEMO / sizeof *DEMO ? DEMO[i].name : NULL;
}
