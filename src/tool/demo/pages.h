/* pages.h -- the pages that generate_artifact can build. */
#ifndef PARLEY_DEMO_PAGES_H
#define PARLEY_DEMO_PAGES_H

struct page {
    /* any of these in the prompt; none: the page for everything else, the last */
    const char *words[8];
    const char *title, *what; /* "Todo app"; "a list that ..." */
    const char *body;         /* {title} and {prompt} are put in, escaped */
};
extern const struct page PAGES[];
extern const char        PAGE_HEAD[], PAGE_FOOT[];

#endif
