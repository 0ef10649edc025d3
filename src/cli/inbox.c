/* inbox.c -- `parley approvals [URL]`: what waits for a person on a running server, and on a
 * terminal a y or n to each. */
#include <curl/curl.h>

#include "cli/cli.h"
#include "cli/desk.h"

#define LIST "/v1/approvals?status=pending&limit=500"

/* One page of the list, which begins with the newest. */
struct inbox_page {
    const struct jv   *list;
    struct inbox_page *newer;
};

/* The oldest first: they have waited longest. */
static void go_through(struct desk *k, const struct inbox_page *p, size_t all)
{
    size_t number = 0;
    for (; p; p = p->newer)
        for (size_t i = p->list->count; i-- > 0;) {
            const struct jv *a = jv_at(p->list, i);
            desk_show(k, a, ++number, all);
            if (!k->screen) continue;
            enum choice c = desk_choose();
            if (c == CHOICE_END) return;
            if (c != CHOICE_LATER) desk_decide(k, jv_str_at(a, "id"), c == CHOICE_YES);
        }
}

/* The page after `next` ("": the first); NULL: said why. */
static struct jv *ask_page(struct desk *k, struct str next)
{
    char      *escaped = curl_easy_escape(NULL, next.ptr, (int)next.len);
    struct str path = arena_printf(&k->arena, LIST "%s%s", next.len ? "&before=" : "",
                                   next.len && escaped ? escaped : "");
    long       status = 0;
    struct jv *answer = path.ptr && escaped ? desk_ask(k, path.ptr, NULL, &status) : NULL;
    curl_free(escaped);
    if (!answer || jv_is(jv_get(answer, "approvals"), JSON_ARRAY)) return answer;
    desk_refused(answer, status);
    return NULL;
}

/* All pages, the oldest in front; *all: how many wait. False: said why. */
static bool read_pages(struct desk *k, struct inbox_page **oldest, size_t *all)
{
    struct str next = STR("");
    do {
        struct jv         *answer = ask_page(k, next);
        struct inbox_page *p = answer ? arena_new(&k->arena, struct inbox_page) : NULL;
        if (!p) return false;
        *p = (struct inbox_page){ jv_get(answer, "approvals"), *oldest };
        *oldest = p;
        *all += p->list->count;
        next = jv_str_at(answer, "next");
    } while (next.len);
    return true;
}

int cli_approvals(int argc, char **argv)
{
    struct cli_line    line;
    struct desk        k;
    struct inbox_page *oldest = NULL; /* in the desk's arena */
    size_t             all = 0;

    if (!cli_read(argc, argv, "", 1, &line)) return 2;
    desk_init(&k, line.count ? line.words[0] : NULL);
    bool good = read_pages(&k, &oldest, &all);
    if (good && !all) puts("nothing waits");
    else if (good) go_through(&k, oldest, all);
    good = good && !k.troubles;
    desk_done(&k);
    return good ? 0 : 1;
}
