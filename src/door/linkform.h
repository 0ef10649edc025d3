/* linkform.h -- forms on pages without script: text and fields out, what was typed back in.
 *
 * A field for each member of an object: what a tool at work asks for (all of its schema), or the
 * arguments that may be changed before a yes (those that `only` names, "" for all of the schema;
 * deeper ones than "/amount" have no field here). The schema says which kind of field; what is not
 * simple is typed as JSON. An argument that was left as it was is not changed. What comes back has
 * the schema's types where it can; where it cannot it stays text, and whoever judges it says so:
 * linkform_judge, the same check as behind every door.
 */
#ifndef PARLEY_LINKFORM_H
#define PARLEY_LINKFORM_H

#include "base/buf.h"
#include "base/json.h"
#include "door/linkwords.h"

struct linkform {
    const struct jv *schema; /* of the object */
    const struct jv *values; /* what stands there before anything is typed; NULL: defaults */
    const struct jv *only;   /* pointers; NULL: all members */
    struct str       typed;  /* an application/x-www-form-urlencoded body; STR_NONE: nothing yet */
    struct str       why;    /* what is wrong with it; STR_NONE: nothing */
    bool             judged; /* it is the schema's sentence, which is English */
    const struct linkwords *words;
};

/* As it is seen, in its order, with nothing hidden or in disguise. */
void       html_put(struct buf *out, struct str s);
/* What something is called by: the same, in one line. */
void       html_name(struct buf *out, struct str s);
/* One member of such a body, in `a`; STR_NONE: it is not there. */
struct str form_member(struct arena *a, struct str body, struct str name);
unsigned   form_count(struct arena *a, struct str body, struct str name);

bool       linkform_any(const struct linkform *f); /* is there a field? */
void       linkform_write(struct buf *out, const struct linkform *f);
/* What was typed, as an object; STR_NONE: no memory. */
struct str linkform_read(struct arena *a, const struct linkform *f);
/* STR_NONE: what came has the form's fields and no others, each as often as it may be there; else
 * the sentence: whoever sent it meant something that a yes would not do. */
struct str linkform_stray(struct arena *a, const struct linkform *f);
/* STR_NONE: it fits; else the schema's sentence, which linkform_write puts to its field. */
struct str linkform_judge(struct arena *a, const struct linkform *f, struct str object);

#endif
