/* script.c -- the demo model's lines. Edit here; nothing else has to change. */
#include "model/demo/script.h"

#include <stddef.h>

/* Tables, and JSON as it is, without a backslash before every quote. */
/* clang-format off */
#define JSON(...) #__VA_ARGS__

#define TRY_ARTICLES "Find articles about CRISPR"
#define TRY_WEATHER  "What is the weather in Tokyo?"
#define TRY_PAY      "Send 50 dollars to Hanako"
#define TRY_PAY_TWO  "Send 50 dollars to Hanako and 20 dollars to Taro"
#define TRY_APP      "Build me a todo app"
#define TRY_IMAGE    "Generate an image of a sunset over mountains"
#define TRY_SEARCH   "Search for the latest React 19 features"
#define TRY_BGM      "Change the BGM to track 1"
#define TRY_WHERE    "Where am I?"
#define TRY_SCHEMA   "Propose a schema"
#define TRY_STORY    "Tell me a long story"
#define TRY_HELP     "What can you do?"

const char DEMO_BEFORE[] = "please|pls|plz|kindly|hi|hello|hey|hiya|yo|ok|okay|so|well|now|just|also|then|and|"
                           "could|would|can|will|you|i|i'd|i’d|we|want|like|need|to|let's|let’s|lets|dear|parley|"
                           "there|good|morning|afternoon|evening|everyone|um|mind|thanks|thank|こんにちは";
const char DEMO_AFTER[] = "please|pls|plz|thanks|thank|you|kindly|asap|ok|okay|too|now|again";
const char DEMO_BETWEEN[] = "and|then|also|plus|&|と";

#define THE_STORY                                                                                                      \
    "There was once a lighthouse at the end of a long stone pier, and in it lived a keeper named Mio, who had a "     \
    "simple rule: write it down first, then wave the lamp.\n\n"                                                       \
    "Every ship that passed got one line in her book. The captains laughed at that. \"The sea does not read,\" "      \
    "they called across the water, and Mio waved and wrote that down as well.\n\n"                                    \
    "One winter a storm came that took the lamp, the stairs and half of the roof. For two days nobody saw a light. "  \
    "On the third morning a boy from the village climbed up through the wreck and found the book, dry in its iron "   \
    "box, and beside it Mio, mending a window.\n\n"                                                                   \
    "\"What now?\" he asked. She opened the book at its last line. \"A boat from the north, two lanterns, heading "   \
    "for the bay,\" she read. \"It was promised a light. So we begin there.\"\n\n"                                    \
    "They lit a fire in a fish barrel, and before noon a boat came in from the north with two lanterns burning. "     \
    "Its captain had been laughing at the book for thirty years. He tied up, climbed the broken stairs, and asked "   \
    "very politely whether he might see his line.\n\n"                                                                \
    "Mio turned the book around for him. It said: promised, and underneath, in fresh ink: kept."

const struct demo_rule DEMO_RULES[] = {
    {
        .act = DEMO_CALL, .tool = "search_articles", .input = JSON({"query":<topic>}),
        .say = "Let me search for that...",
        .patterns = {
            "find|search|look|show|get|list|give|fetch [me|us] [for] [some|any|the|more|all] [recent|new|latest|"
            "good|scientific] articles|papers|studies|abstracts|publications|literature|research about|on|for|"
            "regarding|concerning|of [the] <topic>",
            "find|search|look|show|get|list|give|fetch [me|us] [for] [some] <topic> articles|papers|studies|"
            "abstracts",
            "articles|papers|studies|research about|on|regarding [the] <topic>",
            "are|is there [any|some] articles|papers|studies|research about|on [the] <topic>",
            "what do|does [the] articles|papers|studies|research say about|on [the] <topic>",
            "<topic> について の 論文|記事 ...", "<topic> に 関する 論文|記事 ...", "<topic> の 論文|記事 を 探|検索|調べ ...",
        },
    },
    {
        .act = DEMO_CALL, .tool = "get_weather", .input = JSON({"city":<city>}), .each = "city",
        .say = "Let me look at the sky there...",
        .patterns = {
            "what|what's|what’s|whats|how|how's|how’s [is] [the] [current] weather|temperature|forecast [like] "
            "[today] in|at|for|of <city> [like] [today|right] [now]",
            "[tell|show|give|get|check] [me|us] [about] [what] [the] [current] weather|temperature|forecast [is] "
            "[like] [today] in|at|for|of <city> [today]",
            "tell me how|what the weather|temperature is [like] in <city>",
            "is it raining|cold|warm|hot|sunny|snowing|windy in <city> [today]",
            "weather <city>",
            "<city> の 天気|気温 ...",
        },
    },
    {
        .act = DEMO_SAY,
        .say = "I can look that up. Which city? For example: \"What is the weather in Tokyo?\"",
        .patterns = { "what|what's|what’s|whats|how|how's|how’s [is] [the] weather|temperature|forecast [like] "
                      "[today]",
                      "[tell] [me] [the] weather [today]", "is it raining|cold|warm|hot|sunny [outside] [today]" },
        .suggest = { TRY_WEATHER, "What is the weather in Paris?", "What is the weather in Nairobi?" },
    },
    {
        .act = DEMO_CALL, .tool = "process_payment",
        .input = JSON({"amount":<amount>,"currency":<currency>,"recipient":<who>}),
        .say = "Let me prepare that payment.",
        .patterns = {
            "send|sending|pay|paying|transfer|transferring|wire|remit|give|move <amount> [of] <currency> to <who> ~",
            "send|pay|transfer|wire|remit|give|move [us] <currency> <amount> [usd] to <who> ~",
            "send|pay|transfer|wire|remit|give|move <amount> to <who> ~",
            "send|pay|transfer|wire|remit|give <who> <amount> <currency> ~",
            "send|pay|transfer|wire|remit|give <who> [us] <currency> <amount> ~",
            "pay <who> <amount> ~",
            "send|pay|transfer|wire to <who> <amount> <currency> ~",
            "make|do a payment|transfer of <amount> <currency> to <who> ~",
            "make|do a payment|transfer of <currency> <amount> to <who> ~",
            "make|do a <amount> <currency> payment|transfer to <who> ~",
            "<who> [さん|様|ちゃん|くん|君|氏] [宛] に|へ <amount> <currency> [を] 送金|送って|送り|振り込|振込|支払|払 ...",
            "<who> [さん|様|ちゃん|くん|君|氏] [宛] に|へ <amount> <currency> [を]",
            "<amount> <currency> [を] <who> [さん|様|ちゃん|くん|君|氏] [宛] に|へ 送金|送って|送り|振り込|振込|支払|払 ...",
        },
    },
    {
        .act = DEMO_CALL, .tool = "process_payment", .follows = true,
        .input = JSON({"amount":<amount>,"currency":<currency>,"recipient":<who>}),
        .patterns = {
            "<amount> <currency> to <who> ~", "<currency> <amount> to <who> ~", "<amount> to <who> ~",
            "<who> <amount> <currency> ~", "<who> <currency> <amount> ~",
            "<who> [さん|様|ちゃん|くん|君|氏] に|へ <amount> <currency> [を] [送金|送って|送り|振り込|振込|支払|払] ...",
        },
    },
    {
        .act = DEMO_SAY,
        .say = "I would rather ask than guess with money: should each of them get the full amount? Please write "
               "out both payments, for example: \"" TRY_PAY_TWO "\".",
        .patterns = { "send|pay|transfer|wire|remit|give <amount> <currency> to <who> and <who2> ~",
                      "send|pay|transfer|wire|remit|give <currency> <amount> to <who> and <who2> ~" },
        .suggest = { TRY_PAY_TWO, TRY_PAY },
    },
    {
        .act = DEMO_SAY,
        .say = "Gladly. Tell me how much and to whom, for example: \"" TRY_PAY "\". Nothing is sent before you say "
            "yes.",
        .patterns = { "send|transfer|pay [some] [money] [to] <who>", "send|transfer money", "make a payment" },
        .suggest = { TRY_PAY, "Pay Taro 20 euros", TRY_PAY_TWO },
    },
    {
        .act = DEMO_CALL, .tool = "change_bgm", .input = JSON({"track":<track>}),
        .say = "Let me change the music.",
        .patterns = {
            "change|switch|set|turn|put [the] [background] bgm|music|song|track to|on [the] [track|song|number|"
            "bgm] <track>",
            "change|switch [to] track|song|bgm [number] <track>",
            "play track|song|bgm [number] <track>", "play <track> music|bgm",
            "bgm を [トラック] <track> に 変え|変更 ...",
        },
    },
    {
        .act = DEMO_CALL, .tool = "get_location", .input = JSON({}),
        .say = "Let me ask your browser.",
        .patterns = {
            "where am i [right]", "where i am", "[tell|show] me where i am", "what|what's|what’s|whats [is] my "
            "[current] location|position",
            "[tell|show|get|find|share|use] [me] my [current] location|position", "find me", "locate me",
                "get_location",
            "ここ|私 は どこ ...", "現在地 ...",
        },
    },
    {
        .act = DEMO_SCHEMA,
        .say = "Here is a schema for a small reading list: articles, the people who wrote them, and your notes. "
               "Have a look, and apply it if you like it. Nothing changes before you do.",
        .patterns = { "propose|suggest|design|show|make|create|draft|give [me|us] [a|an|the|some] [new|small|"
                      "database|db] [database] schema [for|of] ...", "schema [proposal]" },
    },
    {
        .act = DEMO_SAY, .say = THE_STORY,
        .patterns = { "tell|write|read|give|make [me|us] [a|another|one] [very] [long|short|nice|good|little|"
                      "bedtime] [long] story ...",
                      "[a] [long] story" },
        .suggest = { TRY_ARTICLES, TRY_APP, TRY_PAY },
    },
    {
        .act = DEMO_KEEP, .tool = "get_weather",
        .say = "One more city: ",
        .patterns = { "keep|continue|go using|calling|running|on [with] [on] [using] [the] tool|tools ...",
                      "use|call|run tools forever|endlessly|always ...", "never stop using|calling tools" },
    },
    {
        .act = DEMO_FAIL, .say = "Let me think about how to",
        .patterns = { "simulate|cause|trigger|fake|show|make|force|raise [me] [a|an|the] [model] error|failure|"
                      "crash ...",
                      "fail|crash [for] [me]" },
    },
    {
        .act = DEMO_COUNT,
        .patterns = { "say|speak|write|stream|count [to|me] <amount> [words|word]" },
    },
    {
        .act = DEMO_CALL, .tool = "generate_image", .input = JSON({"prompt":<subject>}),
        .say = "Let me get the paint.",
        .patterns = {
            "generate|create|draw|make|paint|render|produce|show|give [me|us] [a|an|the] [nice|beautiful|new] "
            "image|picture|photo|photograph|drawing|painting|illustration|sketch of|showing|with <subject>",
            "[a|an|the] image|picture|photo|drawing|painting|illustration of <subject>",
            "draw|paint|sketch|illustrate [me|us] <subject>",
        },
    },
    {
        .act = DEMO_CALL, .tool = "generate_artifact", .input = JSON({"prompt":<thing>,"artifactType":"html"}),
        .say = "Let me put that together.",
        .patterns = {
            "build|create|make|design|code|develop|generate|program|implement [me|us] a|an|the|my|another <thing>",
            "build|code|program me|us <thing>",
        },
    },
    {
        .act = DEMO_CALL, .tool = "browser_search", .input = JSON({"query":<topic>}),
        .say = "Let me look around.",
        .patterns = {
            "search [the] [web|internet|online] for [some|more|the] [latest] information|info|news|facts about|on [the] <topic>",
            "search|browse|look [on] [in] [the] [web|internet|net|online] for [the] <topic>",
            "search [the] web|internet|net|online about [the] <topic>",
            "look up [the] <topic>", "look <topic> up", "google [the] <topic>", "search [the] <topic>",
            "find|get|show|give [me|us] [some|more|the] [latest] information|info|news|facts about|on [the] <topic>",
            "<topic> について 調べ|検索 ...", "<topic> を 検索|調べ ...",
        },
    },
    {
        .act = DEMO_SAY,
        .say = "You are welcome! If you want to see more, here are a few things to try.",
        .patterns = { "[ok|okay|great|well] thanks|thank|thx|ありがとう ...", "[so|very] much ...", "a lot|million|bunch",
            "[that] [was|is] great|nice|cool|perfect|awesome ..." },
        .suggest = { TRY_ARTICLES, TRY_APP, TRY_PAY },
    },
    {
        .act = DEMO_SAY,
        .say = "Goodbye! This conversation is saved. Come back to it whenever you like, from any device.",
        .patterns = { "bye|goodbye|farewell ...", "see|good you|bye|night ..." },
        .suggest = { TRY_HELP, TRY_STORY },
    },
    {
        .act = DEMO_SAY,
        .say = "Nothing is waiting for a yes or a no right now. When something risky comes up, such as a payment, "
               "I ask first and you get two buttons. Try it:",
        .patterns = { "yes|yep|yeah|sure|no|nope|nah|cancel|proceed|stop|confirm ..." },
        .suggest = { TRY_PAY, TRY_PAY_TWO, TRY_BGM },
    },
    {
        .act = DEMO_SAY,
        .say = "Here is the tour:\n\n"
               "- I **search** a small library of abstracts, with progress while it works: \"" TRY_ARTICLES "\".\n"
               "- I **ask before anything risky**: \"" TRY_PAY "\" waits for your yes, for a second or until "
               "tomorrow, and is never run twice.\n"
               "- I **make things**: \"" TRY_APP "\", or \"" TRY_IMAGE "\".\n"
               "- I **use your browser**, if you agree: \"" TRY_BGM "\", \"" TRY_WHERE "\".\n"
               "- I **offer buttons**: \"" TRY_SCHEMA "\".\n\n"
               "You can stop me at any time, reload the page in the middle of an answer, or open it on a second "
               "device: nothing is lost.",
        .patterns = { "help [me] ...", "what|how [else|all] can|could|do|does you|i|we|this|it do|try|ask|work|"
                                       "show ...", "what can|should i ...",
                      "show me around|more|everything ...", "who|what are|is [you|this|parley]", "how do|does i|this|"
                      "it work|begin|start",
                      "tell me what you|i can do ..." },
        .suggest = { TRY_ARTICLES, TRY_PAY, TRY_APP, TRY_WHERE },
    },
    {
        .act = DEMO_SAY,
        .say = "Hello! I am parley's demo model: I come with the program and need no key and no network. My words "
               "are from a small script, but everything around them is real: the streaming, the tools, the "
               "approvals, and a log that remembers all of it. What shall we try?",
        .patterns = { "hi|hello|hey|hiya|yo|good|こんにちは|おはよう|こんばんは|greetings|howdy ...", "how are [you] ...",
            "how's it going" },
        .suggest = { TRY_ARTICLES, TRY_WEATHER, TRY_PAY, TRY_APP },
    },
    {   /* all else */
        .act = DEMO_SAY,
        .say = "That is not in my script: I am only the demo model that comes with parley, and I know a handful of "
               "things by heart. Connect a real model and it will take it from here, with the same tools around "
               "it. Until then, one of these will show you something:",
        .suggest = { TRY_ARTICLES, TRY_PAY, TRY_APP, TRY_HELP },
    },
};

const char *const DEMO_CITIES[] = { "Tokyo", "Paris", "Nairobi", "Lima", "Reykjavik", "Sydney", "Toronto", "Mumbai",
                                    "Cairo", "Oslo", "Seoul", "Lisbon", NULL };

const char DEMO_SCHEMA_SHOWN[] = JSON({"type":"schema_proposal","data":{"schema_id":123,"title":"Reading list","tables":[
    {"name":"articles","columns":[
        {"name":"id","type":"integer","key":true}, {"name":"title","type":"text"},
        {"name":"year","type":"integer"}, {"name":"read_at","type":"timestamp"}]},
    {"name":"authors","columns":[
        {"name":"article_id","type":"integer","references":"articles.id"}, {"name":"name","type":"text"}]},
    {"name":"notes","columns":[
        {"name":"article_id","type":"integer","references":"articles.id"}, {"name":"body","type":"text"}]}]}});

const char DEMO_SCHEMA_ACTIONS[] = JSON({"actions":[
    {"label":"Apply Changes","action":"apply_schema","handler":"server","data":{"schema_id":123},"style":"primary"},
    {"label":"Close Chat","action":"close_chat","handler":"client","style":"secondary"}]});

const struct demo_outcome DEMO_OUTCOMES[] = {
    { "search_articles", "search the articles for \"{query}\"", { "Find articles about batteries",
        "Find articles about sleep", TRY_SEARCH } },
    { "get_weather", "look up the weather in {city}", { "What is the weather in Paris?", TRY_PAY, TRY_IMAGE } },
    { "process_payment", "send {amount} {currency} to {recipient}", { TRY_PAY_TWO, "Send 50 dollars to Hanako and "
        "tell me the weather in Tokyo", TRY_ARTICLES } },
    { "change_bgm", "change the music to track {track}", { "Change the BGM to track 0", TRY_WHERE, TRY_HELP } },
    { "get_location", "read your location", { TRY_WEATHER, TRY_BGM, TRY_HELP } },
    { "generate_artifact", "build that for you", { "Build me a calculator", "Build me a timer", TRY_IMAGE } },
    { "generate_image", "draw that picture", { "Draw a cat in a city at night", "Draw a forest by the sea",
        TRY_APP } },
    { "browser_search", "search for \"{query}\"", { TRY_ARTICLES, "Search for vaccines", TRY_APP } },
    { "apply_schema", "apply the schema", { TRY_SCHEMA, TRY_ARTICLES, TRY_HELP } },
    { NULL, "finish that", { TRY_HELP, TRY_ARTICLES } },
};
