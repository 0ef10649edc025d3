/* registry.h -- every tool there is, by both its names. Owns the tools it is given. */
#ifndef PARLEY_REGISTRY_H
#define PARLEY_REGISTRY_H

#include "base/list.h"
#include "base/map.h"
#include "tool/tool.h"

/* bytes of an input schema: the first digest of the tool sorts all of it, in 3 ms */
#define TOOL_SCHEMA_MAX (128u * 1024)

/* Where tools come from later: an MCP server that has not listed its tools yet. Embedded in its
 * owner, and expected from registry_expect until registry_settle. */
struct registry_source {
    struct list node;
    struct str  prefix;   /* of its tools' names; borrowed */
    uint64_t    until_ms; /* clock_mono_ms: nobody waits longer */
    /* private: registry_look's */
    struct list look_node;
    void (*look)(struct registry_source *s);
};

/* Somebody else who wants to know when the list of tools changed. Embedded in its owner, who
 * removes the node before it goes. */
struct registry_watch {
    struct list node;
    void (*changed)(void *ctx);
    void *ctx;
};

struct registry {
    struct arena  arena;
    struct tool **tools;
    size_t        count, cap; /* listed, in the order they were added */
    /* private: kept behind the listed ones until registry_done */
    size_t        removed;
    /* another one whenever what models are told of tools may be another: registry_add,
     * registry_remove, and whoever changes a listed tool */
    uint64_t      version;
    struct map    by_name, by_wire;
    /* of the approvals of tools made from now on, also those MCP servers list later */
    unsigned      expires_s;
    struct list   sources; /* private: those that are expected */
    struct list   lookers; /* private: those that can look */
    /* NULL: nobody wants to know. See registry_tell */
    void (*changed)(void *ctx);
    void       *changed_ctx;
    struct list watchers; /* private */
};

void                registry_init(struct registry *r);
/* frees every tool, removed ones too: no job may be running */
void                registry_done(struct registry *r);
/* A zeroed tool in the registry's arena with the defaults of tool.h filled in; not yet listed. */
struct tool        *registry_tool(struct registry *r, struct str name);
/* Lists it: parses schema_text, makes the wire name unless it has one (registry_tool gives it none;
 * invalid characters become '_', one stands
 * before a digit or '-'; one that is taken or longer than 64 ends in a mark of the name),
 * puts confirm_text when policy_read did not. ERR_EXISTS: the name is taken.
 * ERR_SYNTAX: the schema is no JSON object. ERR_FULL: it is larger than TOOL_SCHEMA_MAX. ERR_RANGE:
 * no name. On error the tool is still the caller's to free. */
MUST_CHECK enum err registry_add(struct registry *r, struct tool *t);
/* MCP list changes; the struct stays until registry_done */
void                registry_remove(struct registry *r, struct tool *t);
/* One that is never listed (a check): freed with the others. */
MUST_CHECK enum err registry_keep(struct registry *r, struct tool *t);
struct tool        *registry_find(const struct registry *r, struct str name);
struct tool        *registry_find_wire(const struct registry *r, struct str wire_name);

/* What models may be told of a tool of this name, listed or not: a history may name one that is
 * gone, or that a model made up, and a provider refuses all of it for one name outside
 * [A-Za-z0-9_-]. "_" for no name. */
#define TOOL_WIRE_MAX 64
struct str registry_wire(const struct registry *r, struct str name, char out[TOOL_WIRE_MAX]);

/* A tool that is not listed is gone, unless it is only not listed yet: right after a start nobody
 * can know before its source has answered. Whoever misses a tool asks registry_expects, waits for
 * `changed`, and looks again; the wait is bounded by the source, which settles when it has listed
 * its tools, cannot, or its time is over. */
void registry_expect(struct registry *r, struct registry_source *s, struct str prefix,
                     uint64_t until_ms);
/* twice, or never expected, is harmless */
void registry_settle(struct registry *r, struct registry_source *s);
/* a source may still list this name */
bool registry_expects(const struct registry *r, struct str tool_name);
bool registry_settled(const struct registry *r); /* no source is expected any more */
/* A source that may list more because of what happened at another node, once it looks. */
void registry_can_look(struct registry *r, struct registry_source *s, struct str prefix,
                       void (*look)(struct registry_source *s));
/* Has the source of this name look now: it is expected until it has. Once for whatever misses a
 * tool, or the waiting would not end. */
void registry_look(struct registry *r, struct str tool_name);
/* Sources call it after a list came or an expectation ended, at the end of a loop turn, never from
 * inside a tool's start or cancel: `changed` may do anything. */
void registry_tell(struct registry *r);
void registry_watch(struct registry *r, struct registry_watch *w); /* told after `changed` */
/* For whoever judges tools after they were listed: until then they are not offered, so those who
 * looked when they were told have not found them. */
void registry_tell_watchers(struct registry *r);

/* Of the definition, for a listed tool: its names and words, schema, policy, and what runs it. An
 * approval remembers it: a tool that changed is asked again. 128 bits, because a stranger's server
 * may choose its definitions. Made when it is wanted, which is when somebody is asked: a server
 * that starts need not wake OpenSSL for it. */
#define TOOL_DIGEST 33
MUST_CHECK enum err tool_digest(const struct tool *t, char hex[TOOL_DIGEST]);

#endif
