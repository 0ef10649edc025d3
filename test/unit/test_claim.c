/* test_claim.c -- a tool that runs in a browser is begun by one tab, which says so first: what becomes
 * of the call when that tab, its socket or the server is gone. */
#include "stage.h"

static int claims(struct stage *s, const char *tab, int64_t socket)
{
    struct said     x;
    struct command *c = command(CMD_CLAIM, &x);
    c->id = arena_dup(&c->arena, thread_fold(the_thread(s))->calls[0]->id);
    c->claim.client = str_c(tab);
    c->claim.owner = socket;
    return sent(s, c, &x).status;
}

static size_t claims_kept(struct stage *s)
{
    const struct fold *f = thread_fold(the_thread(s));
    size_t             n = 0;
    for (size_t i = 0; i < f->count; i++) n += f->facts[i]->kind == FACT_CLAIMED;
    return n;
}

/* The process is gone, or the conversation from its memory: a tab has its own name still. */
static void restart_claimed(struct stage *s, bool idempotent)
{
    stage_restart(s);
    CHECK(does(s, CMD_FOLLOW).status == 200);
    if (!idempotent) CHECK(claims(s, "tab-1", 8) == 200);
}

enum then { STOPPED, SUPERSEDED, IN_VAIN };

/* What becomes of a call that a tab has begun, when its socket is cut, or all of the server, and
 * then ... */
static enum word begun_in_a_browser(bool idempotent, bool restart, enum then how)
{
    struct stage s;
    stage_up(&s);
    struct tool *tool = registry_find(&s.registry, STR("locate"));
    tool->idempotent = idempotent;
    tool->timeout_ms = 60000;
    say(&s, "pay in my browser");
    UNTIL(s.speaking);
    calls(&s, "locate", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(thread_fold(the_thread(&s))->call_count &&
          thread_fold(the_thread(&s))->calls[0]->state == CALL_STARTED);
    CHECK(claims(&s, "tab-1", 7) == 200);
    if (restart) restart_claimed(&s, idempotent);
    else command_unclaim(the_thread(&s), 7);
    CHECK(claims(&s, "tab-2", 9) == (idempotent ? 200 : 409));
    CHECK(claims_kept(&s) == (idempotent ? 0 : 1));
    registry_find(&s.registry, STR("locate"))->timeout_ms = how == IN_VAIN ? 1 : 60000;
    if (how == STOPPED) CHECK(does(&s, CMD_STOP).status == 200);
    if (how == SUPERSEDED) CHECK(say(&s, "something else").status == 200);
    if (how == IN_VAIN) { /* whoever comes finds it overdue */
        while (thread_fold(the_thread(&s))->calls[0]->state != CALL_FINISHED)
            CHECK(does(&s, CMD_FOLLOW).status == 200);
    }
    UNTIL(thread_fold(the_thread(&s))->calls[0]->state == CALL_FINISHED);
    enum word was = thread_fold(the_thread(&s))->calls[0]->finished->outcome;
    stage_down(&s);
    return was;
}

TEST(what_a_browser_may_have_begun_is_not_begun_by_another_and_not_told_as_undone)
{
    for (int restart = 0; restart < 2; restart++) {
        CHECK(begun_in_a_browser(false, restart, STOPPED) == WORD_UNKNOWN);
        CHECK(begun_in_a_browser(false, restart, SUPERSEDED) == WORD_UNKNOWN);
        CHECK(begun_in_a_browser(false, restart, IN_VAIN) == WORD_UNKNOWN);
        CHECK(begun_in_a_browser(true, restart, STOPPED) == WORD_CANCELLED);
        CHECK(begun_in_a_browser(true, restart, SUPERSEDED) == WORD_CANCELLED);
        CHECK(begun_in_a_browser(true, restart, IN_VAIN) == WORD_FAILED);
    }
}
