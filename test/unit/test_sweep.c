/* test_sweep.c -- conversations that go by themselves: by age, and with the person they were of. */
#include "run/record.h"
#include "run/sweep.h"
#include "stage.h"

static void stopped(void *ctx)
{
    *(bool *)ctx = true;
}

static bool is_gone(struct stage *s)
{
    struct said x = { 0 };
    return sent(s, command(CMD_FOLLOW, &x), &x).status == 404;
}

/* One turn, to its end. */
static void talk(struct stage *s)
{
    say(s, "hello");
    UNTIL(s->speaking);
    says(s, "Done.");
    ends(s);
}

TEST(a_conversation_goes_when_it_is_too_old_and_not_before)
{
    struct stage  s;
    bool          done = false;
    struct sweep *w;

    stage_up(&s);
    talk(&s);
    w = sweep_start(s.hub, (struct sweep_rules){ .plain_ms = 1 });
    UNTIL(is_gone(&s));
    sweep_stop(w, stopped, &done);
    UNTIL(done);
    stage_down(&s);
}

TEST(a_conversation_in_which_somebody_was_asked_has_an_age_of_its_own)
{
    struct stage  s;
    struct said   x;
    bool          done = false;
    struct sweep *w;

    stage_up(&s);
    stage_gate(&s);
    w = sweep_start(s.hub, (struct sweep_rules){ .plain_ms = 1 });
    struct command *c = command(CMD_STOP, &x);
    CHECK(sent(&s, c, &x).status == 200);
    UNTIL(idle(&s));
    for (int i = 0; i < 20; i++) uv_run(&s.loop.uv, UV_RUN_NOWAIT);
    CHECK(!is_gone(&s)); /* asked: kept for ever here */
    sweep_stop(w, stopped, &done);
    UNTIL(done);
    done = false;
    w = sweep_start(s.hub, (struct sweep_rules){ .plain_ms = 1, .asked_ms = 1 });
    UNTIL(is_gone(&s));
    sweep_stop(w, stopped, &done);
    UNTIL(done);
    stage_down(&s);
}

struct waiting {
    struct erase x;
    bool         done;
    enum err     e;
};

static void on_erased(struct erase *x, enum err e)
{
    struct waiting *w = LIST_ITEM(x, struct waiting, x);
    w->done = true;
    w->e = e;
}

static struct waiting erase_all(struct stage *s, const char *name)
{
    struct waiting w = { .x = { .name = str_c(name), .by = STR("root"), .done = on_erased } };

    erase_begin(&w.x, s->hub);
    CHECK(!w.done);
    UNTIL(w.done);
    return w;
}

struct seen {
    struct store_list l;
    struct buf        text;
    bool              done;
};

static void on_stubs(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct seen *x = LIST_ITEM(l, struct seen, l);

    (void)next;
    CHECK(e == OK);
    for (size_t i = 0; i < count; i++) {
        buf_str(&x->text, rows[i].owner);
        buf_chr(&x->text, ' ');
        buf_str(&x->text, rows[i].line);
        buf_chr(&x->text, '\n');
    }
    x->done = true;
}

/* All stubs that have these words. */
static struct str stubs_with(struct stage *s, const char *words)
{
    struct seen x = { .l = { .kind = STORE_STUBS, .search = str_c(words), .done = on_stubs } };
    struct str  text;

    buf_init(&x.text, 0);
    x.l.owner = STR("nobody");
    store_list(s->store, &x.l);
    UNTIL(x.done);
    text = arena_dup(&s->arena, buf_view(&x.text));
    buf_done(&x.text);
    return text;
}

TEST(whoever_is_erased_leaves_stubs_without_a_name)
{
    struct stage   s;
    struct waiting w;

    stage_up(&s);
    stage_gate(&s);
    CHECK(decides(&s, gate_of(&s), true).status == 200);
    UNTIL(s.job);
    finishes(&s, TOOL_DONE);
    ends(&s);
    CHECK(erase_all(&s, "somebody else").x.logs == 0);
    CHECK(!is_gone(&s));

    w = erase_all(&s, "ann");
    CHECK(w.e == OK && w.x.logs == 1 && w.x.stubs == 1 && !w.x.left);
    CHECK(is_gone(&s));
    struct str left = stubs_with(&s, "\"calls\"");
    CHECK(str_find(left, STR("erased-")) == 0);
    CHECK(str_find(left, STR("\"by\":\"erased-")) > 0); /* who approved */
    CHECK(str_find(left, STR("\"by\":\"root\"")) > 0);  /* who wanted it */
    CHECK(str_find(left, STR("ann")) < 0);
    w = erase_all(&s, "ann"); /* once more changes nothing */
    CHECK(w.e == OK && w.x.logs == 0 && w.x.stubs == 0);
    stage_down(&s);
}

TEST(a_name_is_taken_out_of_a_stub_only_where_it_is_one)
{
    struct arena a;

    arena_init(&a, 0);
    CHECK_STR(record_erased(&a,
                            STR("{\"by\":\"ann\",\"calls\":[{\"tool\":\"ann\",\"decided\":{\"by\":"
                                "\"ann\",\"at\":1.50}},{\"by\":\"anna\"}]}"),
                            STR("ann"), STR("x"), 7),
              "{\"by\":\"x\",\"calls\":[{\"tool\":\"ann\",\"decided\":{\"by\":\"x\",\"at\":1.50}},{"
              "\"by\":\"anna\"}],\"created_ms\":7}");
    CHECK_STR(record_erased(&a, STR("{\"created_ms\":7}"), STR("ann"), STR("x"), 8),
              "{\"created_ms\":7}"); /* the chain holds the first, not the column */
    for (int i = 0; i < 2; i++)
        CHECK_STR(record_erased(&a, i ? STR("ann") : STR("[]"), STR("ann"), STR("x"), 7),
                  "{\"unread\":true,\"created_ms\":7}");
    arena_done(&a);
}
