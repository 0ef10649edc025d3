/* form.h -- a tool's schema in the form the asked provider takes.
 *
 * Schemas come from configurations and MCP servers, in any dialect and with any slip, and one
 * that a provider refuses takes down every chat: it is listed with each request. So none goes out
 * as it is. Every provider gets an object with properties at the top; choices and references
 * there (anyOf, oneOf, allOf, $ref) are laid together into one object that allows what any of them
 * allows. Below that, keywords whose value has the wrong form are left out, names in `required` are
 * ones that are described, and each provider's own rules hold (the members of struct form).
 *
 * What goes out is meant to allow more than the original, not less (but for properties that are
 * left out for size, and Gemini's functions without any property, which are listed without
 * parameters): the original stays what calls are checked against. Pure, and bounded: what is nested
 * deeper than FORM_DEPTH or lies beyond FORM_BYTES goes out as {} (anything).
 */
#ifndef PARLEY_FORM_H
#define PARLEY_FORM_H

#include "base/jsonw.h"

#define FORM_DEPTH 24
#define FORM_BYTES (64u << 10)

struct form {
    /* the only ones it knows, ended by NULL; NULL: it passes over those it does not */
    const char *const *keywords;
    bool               no_refs;    /* references are replaced by what they mean */
    bool               whole;      /* an object must have properties, an array items */
    bool               plain_keys; /* properties are [A-Za-z0-9_.-]{1,64} */
};

/* Writes one value. `schema` may be anything. Returns how many properties it has at the top. */
size_t form_schema(struct jsonw *w, const struct form *f, struct str schema);

#endif
