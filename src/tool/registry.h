/* registry.h -- every tool there is, by both its names. Owns the tools it is given. */
#ifndef PARLEY_REGISTRY_H
#define PARLEY_REGISTRY_H

#include "base/map.h"
#include "tool/tool.h"

struct registry {
    struct arena  arena;
    struct tool **tools; size_t count, cap;
    struct map    by_name, by_wire;
};

void registry_init(struct registry *r);
void registry_done(struct registry *r);
/* A zeroed tool in the registry's arena with the defaults of tool.h filled in; not yet listed. */
struct tool *registry_tool(struct registry *r, struct str name);
/* Lists it: parses schema_text, makes the wire name (invalid characters become '_', cut at 64, made unique),
 * computes the digest. ERR_EXISTS: the name is taken. ERR_SYNTAX: the schema is no JSON object. */
MUST_CHECK enum err registry_add(struct registry *r, struct tool *t);
void registry_remove(struct registry *r, struct tool *t);      /* MCP list changes; the struct stays until registry_done */
struct tool *registry_find(const struct registry *r, struct str name);
struct tool *registry_find_wire(const struct registry *r, struct str wire_name);

#endif
