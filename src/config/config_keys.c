/* config_keys.c -- the table of every key there is, and what follows from it alone.
 *
 * A row says path, kind, default, range or words, and one line of help. From the
 * rows come: unknown keys with a guess, wrong types, ranges, the defaults, and the
 * storing of simple keys. To add a key, add a row; when it is a simple one and has
 * a place in struct config, nothing else is needed but a line in docs/configuration.md,
 * which a test asks for.
 *
 * '*' in a path is any name ("tools.*.timeout"), "[]" each item of a list. "model" as an
 * object takes what "models.*" takes, and so do others whose row says so.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "config/config_private.h"

enum kind {
    K_TEXT,
    K_SECRET,
    K_WORD,
    K_COUNT,
    K_BYTES,
    K_SECONDS,
    K_BOOL,
    K_OBJECT,
    K_FREE,
    K_TEXTS,
    K_OBJECTS,
    K_MODEL,
    K_NAMES,
    K_POLICY,
    K_THINKING,
    K_TRUE,
    K_SAID,
    K_SAIDS,
    K_PRICE,
    K_WHO,
    K_WHEN,
    K_LIST,
};

#define J(t) (1u << (t))
static const struct {
    unsigned    json;
    const char *words, *hint;
} KINDS[] = {
    [K_TEXT] = { J(JSON_STRING), "text", "write it in double quotes" },
    [K_SECRET] = { J(JSON_STRING), "text, \"env:NAME\" or \"file:PATH\"",
                   "write \"env:NAME\", \"file:PATH\" or the text itself, in double quotes" },
    [K_WORD] = { J(JSON_STRING), "a word", "write one of the words, in double quotes" },
    [K_COUNT] = { J(JSON_NUMBER), "a whole number", "write a whole number without quotes" },
    [K_BYTES] = { J(JSON_NUMBER), "a number of bytes",
                  "write a whole number of bytes without quotes" },
    [K_SECONDS] = { J(JSON_NUMBER), "a number of seconds",
                    "write a number of seconds without quotes" },
    [K_BOOL] = { J(JSON_BOOL), "true or false", "write true or false without quotes" },
    [K_OBJECT] = { J(JSON_OBJECT), "an object", "write {...}" },
    [K_FREE] = { J(JSON_OBJECT), "an object", "write {...}" },
    [K_TEXTS] = { J(JSON_ARRAY), "a list of text", "write [\"one\", \"two\"]" },
    [K_OBJECTS] = { J(JSON_ARRAY), "a list of objects", "write [{...}, {...}]" },
    [K_MODEL] = { J(JSON_STRING) | J(JSON_ARRAY) | J(JSON_OBJECT),
                  "an object, a name or a list of names",
                  "write {\"provider\": ...}, or a name from \"models\"" },
    [K_NAMES] = { J(JSON_STRING) | J(JSON_ARRAY), "a name or a list of names",
                  "write a name from \"models\" or a list of them" },
    [K_POLICY] = { J(JSON_STRING) | J(JSON_OBJECT), "a policy",
                   "write \"never\", \"always\" or {\"when\": ...}" },
    [K_THINKING] = { J(JSON_BOOL) | J(JSON_NUMBER) | J(JSON_OBJECT),
                     "true, false, a number or an object",
                     "write true, false, a number of tokens, or what the provider takes" },
    [K_TRUE] = { J(JSON_BOOL), "true", "write true without quotes" },
    [K_SAID] = { J(JSON_STRING) | J(JSON_OBJECT), "text, or an object with one per language",
                 "write it in double quotes, or as {\"en\": \"...\", \"de\": \"...\"}" },
    [K_PRICE] = { J(JSON_NUMBER), "a number", "write a number without quotes" },
    [K_WHO] = { J(JSON_STRING) | J(JSON_OBJECT), "a role, or an object with one",
                "write \"finance\" or {\"role\": \"finance\", \"count\": 2}" },
    [K_WHEN] = { J(JSON_OBJECT) | J(JSON_ARRAY), "a condition, or a list of them",
                 "write {\"pointer\": \"/amount\", \"op\": \">\", \"value\": 100}" },
    [K_LIST] = { J(JSON_STRING) | J(JSON_ARRAY), "text or a list of text",
                 "write it in double quotes, or as [\"one\", \"two\"]" },
    [K_SAIDS] = { J(JSON_ARRAY), "a list of such texts", "write [\"one\", \"two\"]" },
};

/* How a simple value is kept in struct config. */
enum keep { KEEP_NOT, KEEP_STR, KEEP_UNSIGNED, KEEP_SIZE, KEEP_I64, KEEP_MS, KEEP_S };

struct row {
    const char *path;
    enum kind   kind;
    const char *otherwise; /* the value; in parentheses: words about it */
    const char *help;
    double      min, max;
    /* K_WORD: "a|b|c"; K_OBJECT: the row whose members it takes, NULL: its own */
    const char *words;
    enum keep   keep;
    size_t      at;
};

#define AT(keep_as, member) .keep = keep_as, .at = offsetof(struct config, member)
#define KIB                 1024.0
#define MIB                 (1024 * KIB)
#define GIB                 (1024 * MIB)
#define DAY                 86400.0
/* Bounds where there is no natural one: generous, but a slip of the finger
 * (milliseconds for seconds, an extra zero) is still caught. */
#define MANY 10000000

static const struct row ROWS[] = {
    { "listen", K_TEXT, "127.0.0.1:8000",
      "Address and port of the server: \"HOST:PORT\" or \"[::1]:PORT\"; port 0 lets the system "
      "choose." },
    { "store", K_SECRET, "parley.db",
      "Where conversations are kept: a path, \"sqlite:PATH\", or "
      "\"postgresql://USER@HOST/DATABASE\".",
      AT(KEEP_STR, store) },
    { "cluster", K_OBJECT, "", "Several processes (nodes) on one database." },
    { "cluster.url", K_SECRET, "(this process is the only one)",
      "How the other nodes reach this one: \"http://HOST:PORT\"." },
    { "cluster.key", K_SECRET, "",
      "What all nodes of a database know and nobody else: \"env:NAME\" or \"file:PATH\"." },
    { "work", K_TEXT, "(the store's path + .work; parley.work beside a database)",
      "Folder in which each call of a tool's program gets one of its own.", AT(KEEP_STR, work) },
    { "log", K_WORD, "info", "The least important kind of log line that is written.",
      .words = "debug|info|warn|error" },
    { "system", K_TEXT, "", "The system prompt.", AT(KEEP_STR, system) },
    { "max_iterations", K_COUNT, "5",
      "Model calls with tools in one turn, before the closing answer without tools.", 1, 1000,
      AT(KEEP_UNSIGNED, max_iterations) },
    { "max_tokens", K_COUNT, "8192",
      "Most tokens of one model answer, for models that do not say their own.", 1, MANY,
      AT(KEEP_I64, max_tokens) },

    { "context", K_OBJECT, "",
      "Conversations that outgrow their model: older turns are summarised." },
    { "context.limit", K_COUNT, "(known by the model's name)",
      "Tokens of a request and its answer together, for models that do not say their own.", 1000,
      100000000, AT(KEEP_I64, context_limit) },
    { "context.keep", K_COUNT, "4", "The newest turns, which are never summarised.", 1, 1000,
      AT(KEEP_UNSIGNED, context_keep) },

    { "titles", K_WORD, "words",
      "How conversations get their names: \"words\", the first ones of the first message, or "
      "\"model\", which is asked for one after the first answer.",
      .words = "words|model" },

    { "model", K_MODEL, "(from the environment, else the demo model)",
      "The model to use: its description, or a name from \"models\", or a list of names tried in "
      "order." },
    { "models", K_OBJECT, "", "Models by name." },
    { "models.*", K_OBJECT, "", "One model." },
    { "models.*.provider", K_WORD, "", "Which wire it speaks; \"openai\" is any compatible server.",
      .words = "anthropic|gemini|openai|demo" },
    { "models.*.model", K_TEXT, "(the provider's default below)",
      "The provider's name for the model." },
    { "models.*.api_key", K_SECRET, "(the provider's environment variable)",
      "The key, best as \"env:NAME\" or \"file:PATH\"." },
    { "models.*.base_url", K_TEXT, "(the provider's own)",
      "Another server: Anthropic without /v1, OpenAI with /v1, Gemini with /v1beta." },
    { "models.*.max_tokens", K_COUNT, "(the top-level max_tokens)", "Most tokens of one answer.", 1,
      MANY },
    { "models.*.thinking", K_THINKING, "(the provider's default)",
      "Whether the model thinks before it answers, or with how many tokens." },
    { "models.*.temperature", K_PRICE, "(the provider's default)",
      "How freely it chooses its words; 0: as little as it can.", 0, 2 },
    { "models.*.top_p", K_PRICE, "(the provider's default)",
      "It chooses among the likeliest words that make up this share.", 0, 1 },
    { "models.*.top_k", K_COUNT, "(the provider's default)",
      "Not OpenAI: it chooses among so many words.", 1, 100000 },
    { "models.*.seed", K_COUNT, "(none)", "Not Anthropic: the same again, as far as it can be had.",
      0, 2147483647 },
    { "models.*.stop", K_TEXTS, "(none)", "It ends its answer before any of these." },
    { "models.*.options", K_FREE, "",
      "Further members of the request's body, as the provider takes them." },
    { "models.*.version", K_TEXT, "(the adapter's default)",
      "Anthropic only: the anthropic-version header." },
    { "models.*.auth", K_WORD, "(the adapter's default)",
      "Anthropic only: the header that carries the key.", .words = "x-api-key|bearer" },
    { "models.*.headers", K_OBJECT, "", "Further request headers." },
    { "models.*.headers.*", K_SECRET, "", "A header's value; \"Bearer env:NAME\" works too." },
    { "models.*.retries", K_COUNT, "2",
      "Further attempts when a request fails before its first word.", 0, 20 },
    { "models.*.concurrent", K_COUNT, "500",
      "Calls to it at the same time. As many more wait in order, for as long as its "
      "timeouts.first_byte; beyond that the turn fails and says so.",
      1, MANY },
    { "models.*.context", K_OBJECT, "", "How much it can read." },
    { "models.*.context.limit", K_COUNT, "(context.limit, else known by its name)",
      "Tokens of a request and its answer together.", 1000, 100000000 },
    { "models.*.prices", K_OBJECT, "", "What it costs; the page shows what an answer came to." },
    { "models.*.prices.input", K_PRICE, "0", "For a million tokens that it reads.", 0, 1000000 },
    { "models.*.prices.output", K_PRICE, "0", "For a million tokens that it writes.", 0, 1000000 },
    { "models.*.prices.currency", K_TEXT, "USD", "In which currency: its three letters." },
    { "models.*.timeouts", K_OBJECT, "", "How long to wait for the provider." },
    { "models.*.timeouts.connect", K_SECONDS, "10", "Until the connection stands.", 0.01, 3600 },
    { "models.*.timeouts.first_byte", K_SECONDS, "120", "From the request to the answer's head.",
      0.01, 3600 },
    { "models.*.timeouts.idle", K_SECONDS, "120", "Between two pieces of the answer.", 0.01, 3600 },
    { "models.*.timeouts.total", K_SECONDS, "1800", "For the whole answer.", 0.01, DAY },
    { "models.*.timeouts.wait", K_SECONDS, "60",
      "The longest pause asked for by the provider that is slept; beyond it the turn fails and "
      "says when to try again.",
      0, 3600 },

    { "demo", K_OBJECT, "", "The demo model and its tools." },
    { "demo.token_ms", K_COUNT, "15", "Milliseconds between two words of the demo model.", 0, 60000,
      AT(KEEP_UNSIGNED, demo_token_ms) },
    { "demo.ledger", K_TEXT,
      "(the store's path + .ledger.jsonl; parley.ledger.jsonl beside a database)",
      "File to which the demo payments are written.", AT(KEEP_STR, demo_ledger) },
    { "demo.tools", K_BOOL, "(true when neither tools nor mcpServers are configured)",
      "Whether the demo tools are offered." },

    { "page", K_OBJECT, "", "How the page at / presents itself." },
    { "page.name", K_TEXT, "parley",
      "The product's name: in the list's head and the tab's title." },
    { "page.logo", K_TEXT, "(a built-in sign)",
      "Path of an SVG, PNG, JPEG, WebP or GIF file up to 256 KiB, or "
      "\"data:image/png;base64,...\"." },
    { "page.greeting", K_SAID, "(a sentence of the page)",
      "What an empty conversation says under the name." },
    { "page.starters", K_SAIDS, "(made from the tools)",
      "Up to six messages that an empty conversation offers; [] for none." },
    { "page.accent", K_TEXT, "#1f5eff",
      "The person's colour: bubbles, links, focus. It must be readable on a light page; the shade "
      "for the dark one is made from it." },
    { "page.footer", K_SAID, "", "A line under the composer." },
    { "page.languages", K_TEXTS, "[\"en\",\"de\",\"ja\"]",
      "The languages people may read it in; the first is for browsers that ask for none of them." },
    { "page.models", K_TEXTS, "",
      "Names from \"models\" that people may choose from; the first stands for those who have not "
      "chosen." },
    { "page.share", K_WORD, "signed_in",
      "Who may read a conversation by the link that its owner made: nobody (there are no links), "
      "who is signed in, or everybody who has it.",
      .words = "off|signed_in|anyone" },
    { "page.embed", K_TEXTS, "",
      "Sites that may show the assistant in their own pages: their scripts may read the answers, "
      "and their pages may frame ours." },

    { "pages", K_OBJECT, "",
      "Pages of your product by name; a request says \"page\". \"default\" is the page of requests "
      "that name none." },
    { "pages.*", K_OBJECT, "", "One page." },
    { "pages.*.system", K_TEXT, "(the top-level system)", "The page's system prompt." },
    { "pages.*.tools", K_TEXTS, "(every tool)", "The tools this page may use." },
    { "pages.*.model", K_NAMES, "(the top-level model)",
      "The model of this page, or a list tried in order." },
    { "pages.*.roles", K_TEXTS, "(everybody)",
      "For whom it is: those with one of these roles. For others it is an unknown page." },
    { "pages.*.answer_schema", K_FREE, "",
      "JSON schema of the answers on this page; one that does not fit is asked for once more." },
    { "pages.*.payloads", K_OBJECT, "", "The custom payload types this page can show." },
    { "pages.*.payloads.*", K_FREE, "", "The JSON schema of that type's data." },

    { "reply_tools", K_TEXTS, "[\"suggest_replies\",\"suggest_actions\",\"present\"]",
      "The built-in tools with which a model fills what stands under its answer; [] for none." },
    { "actions", K_OBJECT, "", "Suggested server actions by name." },
    { "actions.*", K_OBJECT, "", "One action." },
    { "actions.*.tool", K_TEXT, "", "The tool it runs, under that tool's policy." },

    { "openai", K_OBJECT, "", "The doors for clients that speak OpenAI's shapes." },
    { "openai.words", K_BOOL, "true",
      "Whether questions may be answered in words (\"yes 4821\"); false: by link, items and inbox "
      "alone." },
    { "openai.functions", K_BOOL, "true", "Whether clients may declare functions of their own." },
    { "openai.models", K_OBJECT, "", "Further names of models, for clients with fixed ones." },
    { "openai.models.*", K_TEXT, "", "What it stands for: \"parley\" or \"parley/PAGE\"." },
    { "openai.chat_headers", K_TEXTS, "",
      "Headers by which a chat program names its conversation, such as X-OpenWebUI-Chat-Id." },

    { "approvals", K_OBJECT, "", "How questions to people behave." },
    { "approvals.on_new_message", K_WORD, "supersede",
      "A new message while a question waits: \"supersede\" cancels the question, \"hold\" refuses "
      "the message.",
      .words = "supersede|hold" },
    { "approvals.who", K_WORD, "owner",
      "Who may decide: \"owner\", whose conversation it is, or \"approver\", who has that role, "
      "for everybody.",
      .words = "owner|approver" },
    { "approvals.context", K_WORD, "question",
      "What an approver may read of somebody else's conversation beside the request: nothing, the "
      "message that led to it, or the last lines.",
      .words = "none|question|conversation" },
    { "approvals.expires", K_SECONDS, "86400",
      "How long a question waits, in whole seconds (rounded up); 0: for ever.", 0, 3660 * DAY,
      AT(KEEP_S, expires_s) },

    { "approvals.rules", K_OBJECTS, "",
      "Who is asked, by tool and arguments: the first that matches counts; none: approvals.who." },
    { "approvals.rules[].tool", K_TEXT, "", "The tool's name; * stands for anything: \"pay_*\"." },
    { "approvals.rules[].when", K_WHEN, "(always)",
      "A condition on the arguments, or a list of which one is enough; as in a tool's confirm." },
    { "approvals.rules[].from", K_WHO, "",
      "Who is asked: a role, \"owner\" (whose conversation it is), or an object." },
    { "approvals.rules[].from.role", K_TEXT, "", "The role; or \"owner\"." },
    { "approvals.rules[].from.count", K_COUNT, "1", "How many of them have to say yes.", 1, 20 },
    { "approvals.rules[].from.not_requester", K_BOOL, "false",
      "True: whose conversation it is does not count, whatever their roles." },
    { "approvals.rules[].expires", K_COUNT, "(the tool's)",
      "How long these questions wait, in whole seconds; 0: for ever.", 0, 3660 * DAY },
    { "approvals.rules[].escalate", K_OBJECTS, "",
      "Who is asked as well when nobody has decided in time." },
    { "approvals.rules[].escalate[].after", K_COUNT, "", "Seconds after the question.", 1,
      3660 * DAY },
    { "approvals.rules[].escalate[].to", K_WHO, "", "Who: as \"from\"." },
    { "approvals.rules[].escalate[].to.role", K_TEXT, "", "The role." },
    { "approvals.rules[].escalate[].to.count", K_COUNT, "1", "How many of them.", 1, 20 },
    { "approvals.rules[].escalate[].to.not_requester", K_BOOL, "false", "As in \"from\"." },
    { "approvals.deny_limit", K_COUNT, "3",
      "Noes in one turn, after which nothing more is asked in it; 0: no limit.", 0, 1000,
      AT(KEEP_UNSIGNED, deny_limit) },

    { "links", K_OBJECT, "", "Links by which one person decides one question." },
    { "links.key", K_SECRET, "",
      "What they are signed with, at least 32 characters; \"env:NAME\"." },
    { "notify", K_OBJECTS, "", "Addresses that are told what is asked and decided (webhooks)." },
    { "notify[].url", K_TEXT, "", "The address; redirects are not followed." },
    { "notify[].secret", K_SECRET, "",
      "What the messages are signed with: \"whsec_\" and base64, or any text; \"env:NAME\"." },
    { "notify[].events", K_TEXTS, "(all)",
      "Of asked, voted, escalated, decided, expired, cancelled, unknown, settled." },
    { "notify[].roles", K_TEXTS, "(all)",
      "Only of questions that are asked of one of these roles; \"owner\" for those without a "
      "rule." },
    { "notify[].after", K_COUNT, "0",
      "Seconds to wait; what is not waiting any more then is not told as asked.", 0, 7 * DAY },
    { "notify[].allow", K_TEXTS, "",
      "Private addresses or networks it may connect to, or the host of url." },

    { "budgets", K_OBJECTS, "",
      "What models may be used for: tokens and money, per day in UTC or per conversation." },
    { "budgets[].for", K_WORD, "",
      "Whose it is: each person's, a role's (all who have it together), a conversation's, or "
      "everybody's together.",
      .words = "principal|role|thread|everybody" },
    { "budgets[].role", K_TEXT, "",
      "With \"for\": \"role\" the role; with \"principal\": only for those who have it." },
    { "budgets[].tokens", K_OBJECT, "", "In tokens, read and written." },
    { "budgets[].tokens.soft", K_COUNT, "(none)",
      "From here on somebody is asked, once per conversation and day.", 1, 1e15 },
    { "budgets[].tokens.hard", K_COUNT, "(none)", "From here on nothing more is said.", 1, 1e15 },
    { "budgets[].cost", K_OBJECT, "", "In money, by models.*.prices." },
    { "budgets[].cost.soft", K_PRICE, "(none)", "As tokens.soft, in the currency of the prices.",
      0.000001, 1e9 },
    { "budgets[].cost.hard", K_PRICE, "(none)", "As tokens.hard.", 0.000001, 1e9 },

    { "limits", K_OBJECT, "", "What one peer, and all together, may use." },
    { "limits.connections", K_COUNT, "10000", "Connections at once.", 1, MANY,
      AT(KEEP_UNSIGNED, limits.connections) },
    { "limits.connections_per_address", K_COUNT, "1000",
      "Connections at once from one address; not applied to loopback.", 1, MANY,
      AT(KEEP_UNSIGNED, limits.per_address) },
    { "limits.head", K_BYTES, "16384", "A request's line and headers.", 1 * KIB, 1 * MIB,
      AT(KEEP_SIZE, limits.head_max) },
    { "limits.body", K_BYTES, "8388608", "A request's body.", 1 * KIB, 1 * GIB,
      AT(KEEP_SIZE, limits.body_max) },
    { "limits.bodies", K_BYTES, "268435456", "All bodies in flight together.", 1 * KIB, 1024 * GIB,
      AT(KEEP_SIZE, limits.bodies_max) },
    { "limits.answers", K_BYTES, "67108864",
      "All long answers together that wait for slow readers.", 64 * KIB, 1024 * GIB,
      AT(KEEP_SIZE, limits.answers_max) },
    { "limits.message", K_BYTES, "1048576", "One WebSocket message.", 1 * KIB, 1 * GIB,
      AT(KEEP_SIZE, limits.message_max) },
    { "limits.head_seconds", K_SECONDS, "10", "A request's head must be there within.", 0.01, 3600,
      AT(KEEP_MS, limits.head_ms) },
    { "limits.body_seconds", K_SECONDS, "30", "A whole request must be there within.", 0.01, 3600,
      AT(KEEP_MS, limits.body_ms) },
    { "limits.idle_seconds", K_SECONDS, "60", "A connection without a request is closed after.",
      0.01, DAY, AT(KEEP_MS, limits.idle_ms) },
    { "limits.write_seconds", K_SECONDS, "30",
      "A peer that takes none of the bytes waiting for it is closed after.", 0.01, DAY,
      AT(KEEP_MS, limits.write_ms) },
    { "limits.runs", K_COUNT, "2000", "Turns running at once in the whole process.", 1, MANY,
      AT(KEEP_UNSIGNED, runs_max) },
    { "limits.per_principal", K_OBJECT, "", "What one principal may use; 429 beyond it." },
    { "limits.per_principal.requests_per_minute", K_COUNT, "(1200 with auth, else no limit)",
      "Requests and socket messages; a minute's worth may come at once. 0: no limit.", 0, MANY },
    { "limits.per_principal.runs", K_COUNT, "(50 with auth, else no limit)",
      "Turns running at once. 0: no limit.", 0, MANY },
    { "limits.per_principal.tokens_per_day", K_COUNT, "(no limit)",
      "Tokens in and out per UTC day, as the models count them. 0: no limit.", 0, 1e15 },
    { "limits.programs", K_COUNT, "16",
      "Programs of exec tools running at once; further calls wait for their turn.", 1, 4000,
      AT(KEEP_UNSIGNED, programs_max) },
    { "limits.tool_output", K_BYTES, "65536", "How much of a tool's result the model is told.", 256,
      64 * MIB, AT(KEEP_SIZE, tool_output_max) },
    { "limits.threads_bytes", K_BYTES, "67108864",
      "What idle conversations in memory may hold together.", 64 * KIB, 1024 * GIB,
      AT(KEEP_SIZE, threads_bytes) },
    { "limits.threads_in_memory", K_COUNT, "10000",
      "Idle conversations kept in memory; further ones are read from the store when asked for.", 1,
      MANY, AT(KEEP_UNSIGNED, threads_in_memory) },

    { "origins", K_TEXTS, "", "Browser origins that may use the server, beside its own." },
    { "hosts", K_TEXTS, "",
      "Host names that the server answers to, beside the loopback names and the listen host." },
    { "proxies", K_TEXTS, "",
      "Addresses of proxies whose X-Forwarded-Proto is believed, beside loopback." },
    { "public_url", K_TEXT, "(the Host of each request)",
      "The address people reach this server by: what links to it begin with." },
    { "cors", K_TEXTS, "", "Origins whose pages may read the answers (CORS headers)." },

    { "tools", K_OBJECT, "", "Tools by name; each has exactly one of exec, http and client." },
    { "tools.*", K_OBJECT, "", "One tool." },
    { "tools.*.description", K_TEXT, "", "What it does, for the model." },
    { "tools.*.input_schema", K_FREE, "{\"type\":\"object\"}", "JSON schema of its arguments." },
    { "tools.*.confirm", K_POLICY, "(\"always\" for exec and http, \"never\" for client)",
      "Whether a person is asked first: \"never\", \"always\" or {\"when\": condition}." },
    { "tools.*.shows", K_WORD, "(nothing)",
      "\"artifact\": its result {type, title, content} is shown as a page or a picture of its own.",
      .words = "artifact" },
    { "tools.*.example", K_TEXT, "(its name)",
      "What somebody might say to have it used; the page offers it as a start." },
    { "tools.*.risk", K_WORD, "(not said)", "Shown on the approval card.", .words = "low|high" },
    { "tools.*.idempotent", K_BOOL, "false",
      "True: it may be run again with the same call id after a crash." },
    { "tools.*.timeout", K_SECONDS, "60", "Longest time of one execution.", 0.01, DAY },
    { "tools.*.intent", K_TEXT, "I'll help you with that...",
      "What is said before it starts: \"I'll send {amount} to {recipient}...\"" },
    { "tools.*.ask", K_TEXT, "Run NAME?",
      "The question on the approval card, with the same {members}." },
    { "tools.*.expires", K_SECONDS, "(approvals.expires)",
      "How long its questions wait, rounded up in the same way; 0: for ever.", 0, 3660 * DAY },
    { "tools.*.grant", K_OBJECT, "(every call is asked about)",
      "The widest that a yes may be worth beyond its call; the person chooses within it." },
    { "tools.*.grant.for", K_COUNT, "", "Seconds.", 1, 366 * DAY },
    { "tools.*.grant.count", K_COUNT, "(no limit)", "Calls, the first one among them.", 1,
      1000000 },
    { "tools.*.grant.sum", K_TEXT, "", "Pointer to the amount that is added up: \"/amount\"." },
    { "tools.*.grant.max", K_PRICE, "", "The sum, exact to six places behind the point.", 0,
      9000000000000.0 },
    { "tools.*.grant.same", K_TEXTS, "",
      "Pointers to arguments that stay as they were in the first call: [\"/recipient\"]." },
    { "tools.*.edit", K_TEXTS, "",
      "Pointers to arguments that a person may change before the yes: [\"/amount\"]; [\"\"]: "
      "all." },
    { "tools.*.check", K_OBJECT, "(a person has to tell)",
      "Who can say what became of a call of unknown outcome: exec or http. It must not act." },
    { "tools.*.check.exec", K_OBJECT, "", "A program, as tools.*.exec.", .words = "tools.*.exec" },
    { "tools.*.check.http", K_OBJECT, "", "An address, as tools.*.http.", .words = "tools.*.http" },
    { "tools.*.check.timeout", K_SECONDS, "10", "Longest time of one answer.", 0.01, 300 },
    { "tools.*.check.tries", K_COUNT, "8", "How often it is asked about one call.", 1, 100 },
    { "tools.*.check.pause", K_SECONDS, "5",
      "From the first time to the second; then four times as long each time, at most a day.", 0.01,
      DAY },
    { "tools.*.effect", K_TEXT, "",
      "What a call does, from its arguments: \"invoice:{invoice}\". The same is done once." },
    { "tools.*.effect_scope", K_WORD, "all",
      "Once for everybody (\"all\"), or once for each principal (\"owner\").",
      .words = "all|owner" },
    { "tools.*.effect_days", K_COUNT, "0", "Days after which the same may be done again; 0: never.",
      0, 36600 },
    { "tools.*.roles", K_TEXTS, "(everybody)",
      "For whom it is: those with one of these roles. For others it is not there." },
    { "tools.*.claims", K_TEXTS, "",
      "Claims of the person's token that it is told: names, or JSON pointers." },
    { "tools.*.identity", K_OBJECT, "(plain headers)",
      "http only: says whose call it is by a signed token instead." },
    { "tools.*.identity.sign", K_SECRET, "",
      "The key: a secret of at least 32 bytes (HS256), or a PEM private key of P-256 (ES256) or "
      "Ed25519 (EdDSA)." },
    { "tools.*.identity.issuer", K_TEXT, "parley", "The token's iss." },
    { "tools.*.identity.audience", K_TEXT, "(the host of url)", "The token's aud." },
    { "tools.*.identity.header", K_TEXT, "Parley-Identity",
      "The header that carries it; in \"Authorization\" it stands behind \"Bearer\"." },
    { "tools.*.identity.seconds", K_SECONDS, "60", "How long a token is good, in whole seconds.", 1,
      3600 },
    { "tools.*.exec", K_OBJECT, "",
      "Runs a program: arguments on its input, JSON lines from its output." },
    { "tools.*.exec.command", K_TEXTS, "", "The program and its arguments; no shell." },
    { "tools.*.exec.cwd", K_TEXT, "(the configuration's folder, not readable)",
      "Its working directory, readable with all that is in it; it must not hold the store, the "
      "configuration or a secret's file." },
    { "tools.*.exec.env", K_OBJECT, "",
      "Its environment, beside PATH, LANG, HOME, TMPDIR and what says whose call it is "
      "(PARLEY_PRINCIPAL and others)." },
    { "tools.*.exec.env.*", K_SECRET, "", "A variable's value." },
    { "tools.*.exec.read", K_TEXTS, "",
      "Further files and folders it may read; as with cwd, none with the server's own files." },
    { "tools.*.exec.sandbox", K_TEXT, "required",
      "\"required\": refused at the start where this machine cannot isolate it; \"best_effort\": "
      "with what there is." },
    { "tools.*.exec.network", K_BOOL, "false", "Whether it may use the network." },
    { "tools.*.exec.limits", K_OBJECT, "", "What it may use." },
    { "tools.*.exec.limits.output", K_BYTES, "(1 MiB)", "Bytes it may write to its output.",
      1 * KIB, 1 * GIB },
    { "tools.*.exec.limits.memory", K_BYTES, "(1 GiB)",
      "Memory of each of its processes, and of all together.", 1 * MIB, 1024 * GIB },
    { "tools.*.exec.limits.processes", K_COUNT, "(64)", "Processes.", 1, 100000 },
    { "tools.*.exec.limits.files", K_COUNT, "(256)", "Open files.", 4, 1000000 },
    { "tools.*.exec.limits.work", K_BYTES, "(1 GiB)", "All that it keeps in its work directory.",
      1 * KIB, 1024 * GIB },
    { "tools.*.exec.limits.file_size", K_BYTES, "(256 MiB)", "Size of one file it writes.", 1,
      1024 * GIB },
    { "tools.*.http", K_OBJECT, "", "Posts the arguments to an address." },
    { "tools.*.http.url", K_TEXT, "", "The address." },
    { "tools.*.http.method", K_WORD, "POST", "The request's method.", .words = "POST|PUT|PATCH" },
    { "tools.*.http.headers", K_OBJECT, "", "Further request headers." },
    { "tools.*.http.headers.*", K_SECRET, "", "A header's value; \"Bearer env:NAME\" works too." },
    { "tools.*.http.allow", K_TEXTS, "",
      "Private addresses or networks it may connect to (\"10.0.0.0/8\"), or the host of url; all "
      "other private ones are refused." },
    { "tools.*.http.response_max", K_BYTES, "(the runner's default)",
      "Longest answer that is read.", 1 * KIB, 1 * GIB },
    { "tools.*.client", K_TRUE, "", "Runs in the person's browser." },

    { "mcpServers", K_OBJECT, "",
      "MCP servers by name, in the shape other clients use. A name has no two underscores in a row "
      "and none at its end: its tools are `NAME__tool`." },
    { "mcpServers.*", K_OBJECT, "", "One server: command (stdio) or url (streamable HTTP)." },
    { "mcpServers.*.command", K_TEXT, "", "The program to start." },
    { "mcpServers.*.args", K_TEXTS, "", "Its arguments." },
    { "mcpServers.*.env", K_OBJECT, "",
      "Its environment, beside HOME, LOGNAME, PATH, SHELL, TERM and USER." },
    { "mcpServers.*.env.*", K_SECRET, "", "A variable's value." },
    { "mcpServers.*.cwd", K_TEXT, "(the configuration's folder)", "Its working directory." },
    { "mcpServers.*.url", K_TEXT, "", "The address of a server reached over HTTP." },
    { "mcpServers.*.headers", K_OBJECT, "", "Further request headers." },
    { "mcpServers.*.headers.*", K_SECRET, "", "A header's value; \"Bearer env:NAME\" works too." },
    { "mcpServers.*.type", K_WORD, "(command: stdio, url: http)", "The transport.",
      .words = "stdio|http|streamable-http" },
    { "mcpServers.*.era", K_WORD, "(found out)", "Which protocol it speaks.",
      .words = "legacy|modern" },
    { "mcpServers.*.confirm", K_POLICY, "always",
      "One policy for all its tools, or an object with one per tool name and \"*\" for the "
      "others." },
    { "mcpServers.*.edit", K_OBJECT, "",
      "As tools.*.edit, by the tool's name; \"*\": all others." },
    { "mcpServers.*.edit.*", K_TEXTS, "", "JSON pointers: \"/amount\"." },
    { "mcpServers.*.check", K_OBJECT, "",
      "As tools.*.check, by the tool's name; \"*\": all others." },
    { "mcpServers.*.check.*", K_OBJECT, "", "One check.", .words = "tools.*.check" },
    { "mcpServers.*.trust_annotations", K_BOOL, "false",
      "True: a tool that the server calls read-only is not asked about." },
    { "mcpServers.*.roles", K_TEXTS, "(everybody)", "As tools.*.roles, for all its tools." },
    { "mcpServers.*.claims", K_TEXTS, "", "As tools.*.claims; told in _meta." },
    { "mcpServers.*.identity", K_OBJECT, "(in _meta alone)",
      "Says whose call it is in headers, too; with \"sign\" by a token, in _meta and header." },
    { "mcpServers.*.identity.sign", K_SECRET, "", "As tools.*.identity.sign." },
    { "mcpServers.*.identity.issuer", K_TEXT, "parley", "The token's iss." },
    { "mcpServers.*.identity.audience", K_TEXT,
      "(the host of url; the server's name for a command)", "The token's aud." },
    { "mcpServers.*.identity.header", K_TEXT, "Parley-Identity", "The header that carries it." },
    { "mcpServers.*.identity.seconds", K_SECONDS, "60", "How long a token is good.", 1, 3600 },
    { "mcpServers.*.oauth", K_OBJECT, "(no accounts)",
      "Its people have accounts of their own there, and connect them by OAuth; {} where it "
      "registers "
      "clients by itself. Needs mcp.token_key." },
    { "mcpServers.*.oauth.client_id", K_TEXT, "(registered by itself)",
      "The client that was registered at its authorization server." },
    { "mcpServers.*.oauth.client_secret", K_SECRET, "(a public client)", "Its secret." },
    { "mcpServers.*.oauth.scopes", K_TEXTS, "(what the server asks for)",
      "What people are asked to allow." },
    { "mcpServers.*.oauth.issuer", K_TEXT, "(the one the server names)",
      "The only authorization server that is believed." },
    { "mcpServers.*.timeout", K_SECONDS, "60", "Longest silence of one call.", 0.01, 1800 },
    { "mcpServers.*.disabled", K_BOOL, "false", "True: checked, but not started." },

    { "mcp", K_OBJECT, "", "The door for MCP clients: /mcp and `parley mcp`." },
    { "mcp.serve", K_BOOL, "true", "False: there is no such door." },
    { "mcp.tools", K_TEXTS, "(those of the page)", "The tools that are offered there." },
    { "mcp.wait", K_SECONDS, "50",
      "How long a call that a person must approve is held before it answers that it waits.", 0, 600,
      AT(KEEP_MS, mcp_wait_ms) },
    { "mcp.link", K_TEXT, "(http:// and the listen address)",
      "The server's address as people and clients reach it, for links; https:// beyond loopback." },
    { "mcp.token_key", K_SECRET, "",
      "What people's tokens for MCP servers are encrypted with: 32 bytes in hex or base64, "
      "\"env:NAME\"; "
      "`openssl rand -hex 32` makes one." },
    { "mcp.pending", K_COUNT, "20",
      "Open questions of one principal by this door; beyond it calls are refused.", 1, 10000,
      AT(KEEP_UNSIGNED, mcp_pending) },

    { "auth", K_OBJECT, "", "Who may come in. Needed to listen beyond loopback." },
    { "auth.keys", K_OBJECTS, "", "Bearer keys." },
    { "auth.keys[].sha256", K_TEXT, "", "SHA-256 of the key, 64 hex digits." },
    { "auth.keys[].principal", K_TEXT, "", "Whose key it is." },
    { "auth.keys[].roles", K_TEXTS, "[\"user\"]",
      "Of user, approver, admin, agent, notifier, the words that approvals.rules name, and the "
      "roles that tools, MCP servers, pages and budgets are for." },
    { "auth.keys[].shared", K_BOOL, "false",
      "True: several people or a program use it, so on OpenAI's doors it answers no question." },
    { "auth.keys[].user_header", K_TEXT, "",
      "The header that says for whom a chat program asks; believed with this key only." },
    { "auth.keys[].claims", K_FREE, "",
      "What a token would say of them beside: {\"email\": \"ada@example.org\"}." },
    { "auth.jwt", K_OBJECT, "", "Tokens of your identity provider." },
    { "auth.jwt.issuer", K_TEXT, "", "The token's iss." },
    { "auth.jwt.audience", K_LIST, "", "The token's aud; a list: one of them." },
    { "auth.jwt.roles_claim", K_TEXT, "roles",
      "The claim with the roles: its name, or a JSON pointer." },
    { "auth.jwt.keys_file", K_TEXT, "", "File with the keys (JWKS, PEM, or the HS256 secret)." },
    { "auth.jwt.jwks_url", K_TEXT, "", "Address of the keys." },
    { "auth.oidc", K_OBJECT, "", "Signing in at an identity provider, in the browser." },
    { "auth.oidc.issuer", K_TEXT, "", "The provider: its address is discovered from there." },
    { "auth.oidc.client_id", K_TEXT, "", "What the provider calls this server." },
    { "auth.oidc.client_secret", K_SECRET, "(none: PKCE alone)",
      "The client's secret, best as \"env:NAME\" or \"file:PATH\"." },
    { "auth.oidc.scope", K_TEXT, "openid", "What is asked for; with \"openid\" in it." },
    { "auth.oidc.roles_claim", K_TEXT, "roles",
      "The claim of the id token with the roles: its name, or a JSON pointer." },
    { "auth.oidc.name", K_TEXT, "", "What people call the provider, for the button." },
    { "auth.jwt.algorithms", K_TEXTS, "[\"RS256\",\"ES256\"]", "Of HS256, RS256, ES256." },
    { "auth.cookie_seconds", K_SECONDS, "900", "How long a browser's cookie is good.", 10, 31 * DAY,
      AT(KEEP_S, auth.cookie_s) },
};
#define ROW_COUNT (sizeof ROWS / sizeof *ROWS)

size_t config_doc_count(void)
{
    return ROW_COUNT;
}

struct config_doc config_doc_at(size_t i)
{
    must(i < ROW_COUNT);
    const struct row *r = &ROWS[i];
    return (struct config_doc){ r->path, KINDS[r->kind].words, r->otherwise, r->help };
}

static const struct row *find(const char *path)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(ROWS[i].path, path) == 0) return &ROWS[i];
    return NULL;
}

/* --- values and defaults -------------------------------------------------------- */

static bool has_number(const struct row *r)
{
    return r->otherwise[0] >= '0' && r->otherwise[0] <= '9';
}

/* Whole seconds, upwards: 0 means "for ever" or "none", and what is only short must not become
 * that. */
static unsigned whole_seconds(double s)
{
    unsigned n = (unsigned)s;
    return n + ((double)n < s);
}

static void keep_number(const struct row *r, struct config *c, double v)
{
    char *at = (char *)c + r->at;

    switch (r->keep) {
    case KEEP_UNSIGNED: *(unsigned *)(void *)at = (unsigned)v; return;
    case KEEP_SIZE: *(size_t *)(void *)at = (size_t)v; return;
    case KEEP_I64: *(int64_t *)(void *)at = (int64_t)v; return;
    case KEEP_MS: *(unsigned *)(void *)at = (unsigned)(v * 1000 + 0.5); return;
    case KEEP_S: *(unsigned *)(void *)at = whole_seconds(v); return;
    case KEEP_STR:
    case KEEP_NOT: return;
    }
}

static double kept_number(const struct row *r, const struct config *c)
{
    const char *at = (const char *)c + r->at;

    switch (r->keep) {
    case KEEP_S:
    case KEEP_UNSIGNED: return *(const unsigned *)(const void *)at;
    case KEEP_SIZE: return (double)*(const size_t *)(const void *)at;
    case KEEP_I64: return (double)*(const int64_t *)(const void *)at;
    case KEEP_MS: return *(const unsigned *)(const void *)at / 1000.0;
    case KEEP_STR:
    case KEEP_NOT: return 0;
    }
    must(!"keep");
    return 0;
}

void cfg_defaults(struct config *c)
{
    c->limits.ping_ms = NET_PING_MS; /* has no key */
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct row *r = &ROWS[i];
        if (r->keep == KEEP_STR && r->otherwise[0] && r->otherwise[0] != '(')
            *(struct str *)(void *)((char *)c + r->at) = str_c(r->otherwise);
        else if (r->keep != KEEP_NOT && has_number(r))
            keep_number(r, c, strtod(r->otherwise, NULL));
    }
}

void cfg_changed(const struct config *c,
                 void (*each)(void *ctx, const char *path, double now, double otherwise), void *ctx)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct row *r = &ROWS[i];
        if (r->keep == KEEP_NOT || r->keep == KEEP_STR) continue;
        double now = kept_number(r, c), otherwise = strtod(r->otherwise, NULL);
        if (now != otherwise) each(ctx, r->path, now, otherwise);
    }
}

int64_t cfg_int(const char *path, const struct jv *v)
{
    int64_t           n;
    const struct row *r = find(path);

    must(r);
    if (jv_int(v, &n) && (double)n >= r->min && (double)n <= r->max) return n;
    return has_number(r) ? (int64_t)strtod(r->otherwise, NULL) : 0;
}

unsigned cfg_ms(const char *path, const struct jv *v)
{
    double            s;
    const struct row *r = find(path);

    must(r);
    if (!jv_f64(v, &s) || !(s >= r->min && s <= r->max)) s = strtod(r->otherwise, NULL);
    return (unsigned)(s * 1000 + 0.5);
}

unsigned cfg_s(const char *path, const struct jv *v, unsigned otherwise)
{
    double            s;
    const struct row *r = find(path);

    must(r);
    return jv_f64(v, &s) && s >= r->min && s <= r->max ? whole_seconds(s) : otherwise;
}

/* --- checking ------------------------------------------------------------------- */

#define PATH_MAX_LEN 160

struct place {
    char pattern[PATH_MAX_LEN]; /* as in the table */
    char shown[PATH_MAX_LEN];   /* as the person wrote it */
};

static void check_value(struct config_build *b, struct jv *v, const struct row *r,
                        const struct place *at);

static const char *type_name(const struct jv *v)
{
    static const char *const NAMES[] = {
        [JSON_NULL] = "null",   [JSON_BOOL] = "true or false", [JSON_NUMBER] = "a number",
        [JSON_STRING] = "text", [JSON_ARRAY] = "a list",       [JSON_OBJECT] = "an object",
    };
    return NAMES[v->type];
}

/* A name with one of these could be mistaken for a path of the table. */
static bool plain_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (strchr(".*[]", s.ptr[i])) return false;
    return s.len > 0;
}

/* Is `path` directly below `parent`? Then its last part, else NULL. */
static const char *child_of(const char *path, const char *parent)
{
    size_t n = strlen(parent);

    if (n > 0) {
        if (strncmp(path, parent, n) != 0 || path[n] != '.') return NULL;
        path += n + 1;
    }
    return strpbrk(path, ".[") ? NULL : path;
}

static void known_keys(struct buf *out, const char *parent)
{
    const char *sep = "";

    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *last = child_of(ROWS[i].path, parent);
        if (!last || last[0] == '*') continue;
        buf_printf(out, "%s%s", sep, last);
        sep = ", ";
    }
    buf_chr(out, '\0');
}

/* The only key of that name elsewhere: people forget which object a key stands in. */
static const char *elsewhere(struct str key)
{
    const char *found = NULL;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *path = ROWS[i].path, *dot = strrchr(path, '.');
        if (!str_is(key, path) && !(dot && str_is(key, dot + 1))) continue;
        if (found) return NULL;
        found = path;
    }
    return found;
}

/* Other clients' files carry keys of their own beside a server's; only what looks like a
 * slip of one of ours is an error there. */
static bool is_pasted(const char *parent)
{
    return strcmp(parent, "mcpServers.*") == 0;
}

static void unknown_key(struct config_build *b, const struct jv *v, const struct place *in)
{
    struct cfg_guess g = { .want = v->key };
    struct buf       known;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *last = child_of(ROWS[i].path, in->pattern);
        if (last && last[0] != '*') cfg_guess_add(&g, str_c(last));
    }
    const char *other = elsewhere(v->key), *guess = cfg_guess_text(b, &g);
    const char *where = in->shown[0] ? " in " : "";
    if (guess[0]) {
        cfg_bad(b, v, "unknown key \"" STR_FMT "\"%s%s%s", STR_ARG(v->key), where, in->shown,
                guess);
    } else if (is_pasted(in->pattern)) {
        cfg_warn(b, v, "\"" STR_FMT "\" in %s is not a key of this program and is ignored",
                 STR_ARG(v->key), in->shown);
    } else if (other) {
        cfg_bad(b, v, "unknown key \"" STR_FMT "\"%s%s (did you mean \"%s\"?)", STR_ARG(v->key),
                where, in->shown, other);
    } else {
        buf_init(&known, 0);
        known_keys(&known, in->pattern);
        cfg_bad(b, v, "unknown key \"" STR_FMT "\"%s%s; take it out, or use one of: %s",
                STR_ARG(v->key), where, in->shown,
                known.err ? "(see docs/configuration.md)" : known.ptr);
        buf_done(&known);
    }
}

/* "parent.name"; cut when it is too long: no path of the table is. */
static void join(char out[PATH_MAX_LEN], const char *parent, struct str name)
{
    size_t at = strnlen(parent, PATH_MAX_LEN - 1);

    memcpy(out, parent, at);
    if (at > 0 && at < PATH_MAX_LEN - 1) out[at++] = '.';
    size_t room = PATH_MAX_LEN - 1 - at, n = name.len < room ? name.len : room;
    if (n) memcpy(out + at, name.ptr, n);
    out[at + n] = '\0';
}

static const struct row *child_row(const struct place *in, struct str key, struct place *out)
{
    const struct row *r = NULL;

    join(out->shown, in->shown, str_cut(key, utf8_cut(key, 60)));
    if (plain_name(key)) {
        join(out->pattern, in->pattern, key);
        r = find(out->pattern);
    }
    if (!r) {
        join(out->pattern, in->pattern, STR("*"));
        r = find(out->pattern);
    }
    return r;
}

static void check_members(struct config_build *b, struct jv *obj, const struct place *in)
{
    struct place at;

    for (struct jv *v = obj->child; v; v = v->next) {
        const struct row *r = child_row(in, v->key, &at);
        if (!r) unknown_key(b, v, in);
        else if (v->key.len == 0) cfg_bad(b, v, "a name in %s is empty; give it one", in->shown);
        else check_value(b, v, r, &at);
    }
}

static void check_items(struct config_build *b, struct jv *list, const struct row *r,
                        const struct place *at)
{
    struct place item;
    unsigned     i = 0;

    /* config_look.c knows the languages, config_approvals.c the conditions */
    if (r->kind == K_SAIDS || r->kind == K_WHEN) return;
    for (struct jv *v = list->child; v; v = v->next, i++) {
        bool want_object = r->kind == K_OBJECTS;
        if (!jv_is(v, want_object ? JSON_OBJECT : JSON_STRING)) {
            cfg_bad(b, v, "\"%s\" must be %s, but item %u is %s", at->shown,
                    KINDS[want_object ? K_OBJECTS : K_TEXTS].words, i + 1, type_name(v));
        } else if (want_object) {
            snprintf(item.pattern, sizeof item.pattern, "%.*s[]", PATH_MAX_LEN - 3, at->pattern);
            snprintf(item.shown, sizeof item.shown, "%.*s[%u]", PATH_MAX_LEN - 13, at->shown, i);
            check_members(b, v, &item);
        }
    }
}

static void check_number(struct config_build *b, const struct jv *v, const struct row *r,
                         const struct place *at)
{
    double  d;
    int64_t n;
    bool    whole = r->kind != K_SECONDS && r->kind != K_PRICE;

    if (whole && !jv_int(v, &n)) {
        cfg_bad(b, v, "\"%s\" must be a whole number, not " STR_FMT, at->shown,
                STR_ARG(str_cut(v->raw, 40)));
        return;
    }
    if (!jv_f64(v, &d) || !(d >= r->min && d <= r->max)) {
        cfg_bad(b, v, "\"%s\" must be between %.10g and %.15g%s, not " STR_FMT, at->shown, r->min,
                r->max,
                r->kind == K_BYTES     ? " bytes"
                : r->kind == K_SECONDS ? " seconds"
                                       : "",
                STR_ARG(str_cut(v->raw, 40)));
        return;
    }
    keep_number(r, b->c, d);
}

static void check_word(struct config_build *b, const struct jv *v, const struct row *r,
                       const struct place *at)
{
    struct str       rest = str_c(r->words), word;
    struct cfg_guess g = { .want = v->str };

    while (str_split(&rest, '|', &word)) {
        if (str_eq(word, v->str)) return;
        cfg_guess_add(&g, word);
    }
    cfg_bad(b, v, "\"%s\" must be one of %s, not \"" STR_FMT "\"%s", at->shown, r->words,
            STR_ARG(str_cut(v->str, 60)), cfg_guess_text(b, &g));
}

static void check_text(struct config_build *b, const struct jv *v, const struct row *r,
                       const struct place *at)
{
    if (v->str.len && memchr(v->str.ptr, 0, v->str.len))
        cfg_bad(b, v, "\"%s\" has a NUL character in it; take it out", at->shown);
    else if (r->kind == K_WORD) check_word(b, v, r, at);
    else if (r->keep == KEEP_STR) *(struct str *)(void *)((char *)b->c + r->at) = v->str;
}

static void check_value(struct config_build *b, struct jv *v, const struct row *r,
                        const struct place *at)
{
    struct place like = { .pattern = "models.*" };

    if (!(KINDS[r->kind].json & J(v->type))) {
        cfg_bad(b, v, "\"%s\" must be %s, not %s: %s", at->shown, KINDS[r->kind].words,
                type_name(v), KINDS[r->kind].hint);
        return;
    }
    switch (v->type) {
    case JSON_STRING: check_text(b, v, r, at); return;
    case JSON_ARRAY: check_items(b, v, r, at); return;
    case JSON_OBJECT:
        memcpy(like.shown, at->shown, sizeof like.shown);
        if (r->words) snprintf(like.pattern, sizeof like.pattern, "%s", r->words);
        if (r->kind == K_OBJECT) check_members(b, v, r->words ? &like : at);
        else if (r->kind == K_MODEL) check_members(b, v, &like);
        return;
    case JSON_NUMBER:
        if (r->kind != K_THINKING) check_number(b, v, r, at);
        return;
    case JSON_BOOL:
        if (r->kind == K_TRUE && !v->boolean)
            cfg_bad(b, v, "\"%s\" can only be true; leave it out otherwise", at->shown);
        return;
    case JSON_NULL: return;
    }
}

void cfg_check_keys(struct config_build *b)
{
    struct place top = { .pattern = "" };

    if (b->root) check_members(b, b->root, &top);
}
