/* inbox.c -- `parley approvals [URL]`: what waits for a person on a running server, and on a
 * terminal a y or n to each. */
#include "cli/cli.h"
#include "cli/desk.h"

#define LIST "/v1/approvals?status=pending&limit=500"

/* The oldest first: they have waited longest. */
static void go_through(struct desk *k, const struct jv *list)
{
    for (size_t i = list->count; i-- > 0;) {
        const struct jv *a = jv_at(list, i);
        desk_show(k, a, list->count - i, list->count);
        if (!k->screen) continue;
        enum choice c = desk_choose();
        if (c == CHOICE_END) return;
        if (c != CHOICE_LATER) desk_decide(k, jv_str_at(a, "id"), c == CHOICE_YES);
    }
}

int cli_approvals(int argc, char **argv)
{
    struct cli_line line;
    struct desk     k;
    long            status = 0;

    if (!cli_read(argc, argv, "", 1, &line)) return 2;
    desk_init(&k, line.count ? line.words[0] : NULL);
    struct jv       *answer = desk_ask(&k, LIST, NULL, &status);
    const struct jv *list = jv_get(answer, "approvals");
    if (answer && !jv_is(list, JSON_ARRAY)) desk_refused(answer, status);
    else if (answer && !list->count) puts("nothing waits");
    else if (answer) go_through(&k, list);
    bool good = jv_is(list, JSON_ARRAY) && !k.troubles; /* the list lives in the arena */
    desk_done(&k);
    return good ? 0 : 1;
}
