/* library.h -- the built-in abstracts and their full-text index. */
#ifndef PARLEY_DEMO_LIBRARY_H
#define PARLEY_DEMO_LIBRARY_H

#include "tool/demo/demo_work.h"

struct article {
    const char *title, *authors;
    int         year;
    const char *abstract, *keywords;
};
extern const struct article CORPUS[]; /* ended by a NULL title */

#define HITS_MAX 20
struct hits {
    const struct article *at[HITS_MAX];
    size_t                count;
    size_t                total;
};

/* The best `limit` articles for the words of `query`, which may be any text: all words first, then
 * any of them. ERR_IO, ERR_NOMEM: the index could not be built or read. */
MUST_CHECK enum err library_search(struct demo_tools *all, struct str query, size_t limit,
                                   struct hits *out);
/* "1. Title (Authors, year)\n   abstract" per article; and the JSON list of them. */
void                library_text(struct buf *out, const struct hits *h);
/* base: of their addresses; NULL: they have none */
void                library_json(struct jsonw *j, const struct hits *h, const char *base);

#endif
