/* replytools.c -- see replytools.h. */
#include "tool/replytools.h"

#define JSON(...) #__VA_ARGS__

struct entry {
    const char *name, *description, *schema;
};

/* clang-format off */
static const struct entry REPLIES[REPLY_COUNT] = {
    [REPLY_REPLIES] = {
        .name = "suggest_replies",
        .description = "Offers the person short answers to click, shown under your message. Call it together with "
                       "your final answer.",
        .schema = JSON({"type": "object", "properties": {
            "replies": {"type": "array", "minItems": 1, "maxItems": 8, "description": "In the order they are shown",
             "items": {"type": "object", "properties": {
                "label": {"type": "string", "minLength": 1, "maxLength": 100,
                    "description": "What the button says"},
                "value": {"type": "string", "minLength": 1, "maxLength": 1000,
                    "description": "What is sent when it is clicked"}},
                "required": ["label", "value"], "additionalProperties": false}}},
            "required": ["replies"], "additionalProperties": false}),
    },
    [REPLY_ACTIONS] = {
        .name = "suggest_actions",
        .description = "Offers the person buttons that do something: on the server (a tool bound to the action's "
                       "name) or in their browser.",
        .schema = JSON({"type": "object", "properties": {
            "actions": {"type": "array", "minItems": 1, "maxItems": 8, "description": "In the order they are shown",
             "items": {"type": "object", "properties": {
                "label": {"type": "string", "minLength": 1, "maxLength": 100,
                    "description": "What the button says"},
                "action": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Name of the action"},
                "handler": {"type": "string", "enum": ["client", "server"], "description": "Who carries it out"},
                "data": {"type": "object", "description": "Handed to the action"},
                "style": {"type": "string", "enum": ["primary", "secondary", "warning"]}},
                "required": ["label", "action", "handler"], "additionalProperties": false}}},
            "required": ["actions"], "additionalProperties": false}),
    },
    [REPLY_PRESENT] = {
        .name = "present",
        .description = "Shows the person structured data of a type that this page knows, below your message.",
        .schema = JSON({"type": "object", "properties": {
            "type": {"type": "string", "minLength": 1, "maxLength": 100,
                "description": "Type of the data, such as schema_proposal"},
            "data": {"description": "The data, in the form that the type asks for"}},
            "required": ["type", "data"], "additionalProperties": false}),
    },
};
/* clang-format on */

enum reply_tool reply_tool_of(struct str name)
{
    for (size_t i = 1; i < REPLY_COUNT; i++)
        if (str_is(name, REPLIES[i].name)) return (enum reply_tool)i;
    return REPLY_NONE;
}

enum err reply_tools_add(struct registry *r, unsigned which)
{
    for (size_t i = 1; i < REPLY_COUNT; i++) {
        if (!(which & 1u << i)) continue;
        struct tool *t = registry_tool(r, str_c(REPLIES[i].name));
        if (!t) return ERR_NOMEM;
        t->description = str_c(REPLIES[i].description);
        t->schema_text = str_c(REPLIES[i].schema);
        t->reply = (enum reply_tool)i;
        enum err e = registry_add(r, t);
        if (e) return e;
    }
    return OK;
}
