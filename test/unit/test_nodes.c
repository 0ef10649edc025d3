/* test_nodes.c -- threads between nodes: two hubs on one database, and a link between them that is
 * made of nothing but the texts, so that it can be cut after any of them.
 *
 * Both hubs share the stage's model and tools: whoever calls them, they are counted once.
 */
#include "pg_help.h"
#include "run/feed.h"
#include "run/nodewords.h"
#include "stage.h"

struct pipe { /* one node dials the other */
    struct nodes  nodes;
    struct hub  **to;
    const char   *url;
    struct peer   peer;
    struct feeds *feeds; /* NULL: not linked */
    struct buf    up;    /* texts on their way, each with its length before it */
    bool          wanted, refuses;
    long          left; /* texts before it is cut; < 0: never */
    long          carried;
};

struct pair {
    struct stage  a;
    struct store *b_store;
    struct hub   *b;
    struct pipe   pipe, back; /* b dials a, a dials b */
    uv_prepare_t  turn;
    char          url[512];
};
static struct pair *now;

static void pipe_cut(struct pipe *p)
{
    if (p->feeds) feeds_free(p->feeds);
    p->feeds = NULL;
    p->wanted = false;
    buf_clear(&p->up);
    peer_down(&p->peer);
}

/* False: it is cut in the place of this text. */
static bool pipe_pays(struct pipe *p)
{
    p->carried++;
    if (p->left < 0 || p->left-- > 0) return true;
    p->left = -1;
    pipe_cut(p);
    return false;
}

static void pipe_wake(void *ctx)
{
    (void)ctx;
}

static struct peer *pipe_reach(struct nodes *n, struct str node, struct str url)
{
    struct pipe *p = LIST_ITEM(n, struct pipe, nodes);
    CHECK_STR(url, p->url);
    CHECK(node.len > 0);
    p->wanted = true;
    return &p->peer;
}

static void pipe_send(struct peer *peer, struct str text)
{
    struct pipe *p = LIST_ITEM(peer, struct pipe, peer);
    buf_add(&p->up, &text.len, sizeof text.len);
    buf_str(&p->up, text);
}

static void pipe_farewell(struct nodes *n)
{
    (void)n;
}

static bool pipe_up(struct pipe *p)
{
    size_t len;
    if (!p->feeds || !p->up.len) return false;
    if (!pipe_pays(p)) return true;
    memcpy(&len, p->up.ptr, sizeof len);
    struct arena a;
    arena_init(&a, 0);
    struct str text = arena_dup(&a, str_n(p->up.ptr + sizeof len, len));
    buf_eat(&p->up, sizeof len + len);
    CHECK(feeds_message(p->feeds, text));
    arena_done(&a);
    return true;
}

static bool pipe_down(struct pipe *p)
{
    struct buf text;
    buf_init(&text, 0);
    bool any = p->feeds && feeds_next(p->feeds, &text);
    if (any && pipe_pays(p)) CHECK(peer_message(&p->peer, buf_view(&text)));
    buf_done(&text);
    return any;
}

static void pipe_carry(struct pipe *p)
{
    if (p->refuses && p->wanted) pipe_cut(p);
    if (p->wanted && !p->feeds) {
        p->feeds = feeds_new(*p->to, pipe_wake, NULL);
        peer_up(&p->peer);
    }
    while (pipe_up(p) || pipe_down(p))
        ;
}

static void pipe_turn(uv_prepare_t *t)
{
    (void)t;
    pipe_carry(&now->pipe);
    pipe_carry(&now->back);
}

static void pipe_init(struct pipe *p, struct hub **to, const char *url)
{
    *p = (struct pipe){
        .nodes = { pipe_reach, pipe_send, pipe_farewell }, .to = to, .url = url, .left = -1
    };
    buf_init(&p->up, 0);
}

static void pipe_done(struct pipe *p)
{
    map_done(&p->peer.mirrors);
    buf_done(&p->up);
}

/* The stage's tools have 60 ms, then 100 to stop, and then nobody knows. Here an answer that was
 * cut off takes a new link and several questions to the database, which is longer on a busy
 * machine. */
static void patient(struct pair *p, const char *tool)
{
    registry_find(&p->a.registry, str_c(tool))->timeout_ms = 60000;
}

static void pair_up(struct pair *p)
{
    struct str why = STR_NONE;
    *p = (struct pair){ 0 };
    now = p;
    pg_url(p->url, sizeof p->url);
    stage_up(&p->a);
    hub_free(p->a.hub);
    REQUIRE(store_close(p->a.store, 1000));
    REQUIRE(store_open(&p->a.loop, str_c(p->url), &(struct store_place){ .url = STR("http://a:1") },
                       &p->a.arena, &p->a.store, &why) == OK);
    REQUIRE(store_open(&p->a.loop, str_c(p->url), &(struct store_place){ .url = STR("http://b:1") },
                       &p->a.arena, &p->b_store, &why) == OK);
    pipe_init(&p->pipe, &p->a.hub, "http://a:1");
    pipe_init(&p->back, &p->b, "http://b:1");
    p->a.setup.store = p->a.store;
    p->a.setup.nodes = &p->back.nodes;
    stage_hub(&p->a);
    struct hub_setup b = p->a.setup;
    b.store = p->b_store;
    b.nodes = &p->pipe.nodes;
    p->b = hub_new(&b);
    REQUIRE(p->b);
    peer_init(&p->pipe.peer, p->b);
    peer_init(&p->back.peer, p->a.hub);
    patient(p, "pay");
    patient(p, "work");
    uv_prepare_init(&p->a.loop.uv, &p->turn);
    uv_prepare_start(&p->turn, pipe_turn);
}

static void pair_down(struct pair *p)
{
    uv_close((uv_handle_t *)&p->turn, NULL);
    pipe_cut(&p->pipe);
    pipe_cut(&p->back);
    REQUIRE(store_close(p->b_store, 60000));
    pipe_done(&p->pipe);
    pipe_done(&p->back);
    hub_free(p->b);
    stage_down(&p->a);
}

static struct thread *b_thread(struct pair *p)
{
    return hub_find(p->b, (struct log_name){ STR("ann"), STR("t_1") });
}

static bool b_is_at(struct pair *p, const char *state)
{
    struct thread *t = b_thread(p);
    return t && t->loaded && !t->inflight && strcmp(thread_state(t), state) == 0;
}

static struct str b_story(struct pair *p)
{
    struct hub *a = p->a.hub;
    p->a.hub = p->b;
    struct str s = story(&p->a);
    p->a.hub = a;
    return s;
}

static struct said b_sent(struct pair *p, struct command *c, struct said *x)
{
    hub_submit(p->b, c);
    UNTIL(x->done);
    return *x;
}

static void on_wake(struct follower *f)
{
    (void)f;
}

static struct said b_follow(struct pair *p, struct follower *f)
{
    struct said x;
    struct said got = b_sent(p, command(CMD_FOLLOW, &x), &x);
    *f = (struct follower){ .wake = on_wake, .counts = true };
    if (got.status < 400) thread_follow(b_thread(p), f);
    return got;
}

TEST(a_thread_that_another_node_holds_is_shown_and_answered_here)
{
    static struct pair p;
    struct follower    f;
    struct said        x;
    pair_up(&p);
    CHECK(say(&p.a, "hello").status == 200);
    UNTIL(p.a.speaking);
    says(&p.a, "Good ");
    CHECK(b_follow(&p, &f).status == 200);
    CHECK(b_thread(&p)->mirror != NULL);
    UNTIL(b_thread(&p)->step.count == 1);
    CHECK_STR(b_thread(&p)->step.parts[0].text, "Good ");
    says(&p.a, "day");
    UNTIL(b_thread(&p)->step.parts[0].text.len == 8);
    CHECK(the_thread(&p.a)->watching == 1); /* somebody looks, there */
    stops(&p.a, STOP_END);
    UNTIL(b_is_at(&p, "idle"));
    CHECK_STR(b_story(&p), "message step:end ended:complete");
    CHECK(!b_thread(&p)->step.active);

    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("and again");
    CHECK(b_sent(&p, c, &x).status == 200);
    CHECK(b_thread(&p)->committed >= 4); /* the facts are here before the answer is */
    UNTIL(p.a.speaking);
    CHECK(p.a.asked == 2);
    stops(&p.a, STOP_END);
    UNTIL(b_is_at(&p, "idle"));
    CHECK_STR(b_story(&p), "message step:end ended:complete message step:end ended:complete");
    thread_unfollow(&f);
    pair_down(&p);
}

static void decide(struct pair *p, bool yes, int want)
{
    struct said     x;
    struct command *c = command(CMD_DECIDE, &x);
    c->id = arena_dup(&c->arena, b_thread(p)->fold.run->calls[0]->asked->id);
    c->decide.confirmed = yes;
    CHECK(b_sent(p, c, &x).status == want);
}

/* One gated payment, asked for and approved on b, run by a; the link is cut in the place of text
 * `cut`. Whatever is lost, it is paid once and b sees all of it. */
static long pay_with_cut(long cut)
{
    static struct pair p;
    struct follower    f;
    struct said        x;
    char               place[40];
    snprintf(place, sizeof place, "cut at text %ld", cut);
    test_place(place);
    pair_up(&p);
    CHECK(say(&p.a, "hello").status == 200);
    UNTIL(p.a.speaking);
    stops(&p.a, STOP_END);
    UNTIL(idle(&p.a));
    p.pipe.left = cut;
    CHECK(b_follow(&p, &f).status == 200);
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("pay");
    CHECK(b_sent(&p, c, &x).status == 200);
    UNTIL(p.a.speaking);
    CHECK(p.a.asked == 2);
    says(&p.a, "Paying.");
    calls(&p.a, "pay", "{\"amount\":50}");
    stops(&p.a, STOP_CALLS);
    UNTIL(b_is_at(&p, "waiting"));
    decide(&p, true, 200);
    UNTIL(p.a.job);
    finishes(&p.a, TOOL_DONE);
    UNTIL(p.a.speaking);
    says(&p.a, "Paid.");
    stops(&p.a, STOP_END);
    UNTIL(b_is_at(&p, "idle") && b_thread(&p)->committed == 11);
    CHECK(p.a.begun == 1);
    CHECK_STR(b_story(&p), "message step:end ended:complete message step:calls asked "
                           "decided:approved started finished:done step:end ended:complete");
    thread_unfollow(&f);
    long carried = p.pipe.carried;
    pair_down(&p);
    test_place(NULL);
    return carried;
}

TEST(a_link_that_is_cut_after_any_text_loses_nothing_and_repeats_nothing)
{
    long all = pay_with_cut(-1);
    CHECK(all > 10);
    for (long cut = 0; cut < all; cut++) pay_with_cut(cut);
}

TEST(a_mirror_that_nobody_looks_at_is_not_forgotten_while_it_asks_who_holds_it)
{
    static struct pair p;
    struct follower    f;
    pair_up(&p);
    CHECK(say(&p.a, "hello").status == 200);
    UNTIL(p.a.speaking);
    CHECK(b_follow(&p, &f).status == 200);
    UNTIL(b_thread(&p)->loaded);
    thread_unfollow(&f);
    says(&p.a, "Good ");
    UNTIL(list_linked(&b_thread(&p)->lru)); /* anybody's need of room may end it now */
    pipe_cut(&p.pipe);
    CHECK(b_thread(&p)->loading && !list_linked(&b_thread(&p)->lru));
    UNTIL(b_thread(&p)->mirror && b_thread(&p)->loaded);
    stops(&p.a, STOP_END);
    UNTIL(b_is_at(&p, "idle"));
    CHECK_STR(b_story(&p), "message step:end ended:complete");
    UNTIL(list_linked(&b_thread(&p)->lru));
    pair_down(&p);
}

static void end_lease_of_a(struct pair *p)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "UPDATE parley_node SET until = now() - interval '1 s' WHERE id = '%s'",
             store_node(p->a.store).ptr);
    pg_run(p->url, sql);
}

/* ... and it sleeps: its process is ours, and would say on its next turn that it is alive. */
static void a_sleeps(struct pair *p)
{
    pg_run(p->url, "CREATE FUNCTION asleep() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'BEGIN IF NEW.id = OLD.id AND OLD.until < now() THEN NEW.until = OLD.until;"
                   " END IF; RETURN NEW; END'");
    pg_run(p->url, "CREATE TRIGGER asleep BEFORE UPDATE ON parley_node"
                   " FOR EACH ROW EXECUTE FUNCTION asleep()");
    end_lease_of_a(p);
}

/* What a node does that was stopped for longer than its lease, and wakes up with a tool that has
 * paid meanwhile. */
TEST(a_node_that_slept_through_its_lease_changes_nothing_but_its_report_is_kept)
{
    static struct pair p;
    pair_up(&p);
    CHECK(say(&p.a, "pay").status == 200);
    UNTIL(p.a.speaking);
    calls(&p.a, "work", "{}");
    stops(&p.a, STOP_CALLS);
    UNTIL(p.a.job);
    p.pipe.refuses = true; /* it does not answer either */
    a_sleeps(&p);
    hub_recover(p.b);
    UNTIL(b_thread(&p) && !b_thread(&p)->mirror && b_thread(&p)->loaded && p.a.speaking);
    CHECK_STR(b_story(&p), "message step:calls started finished:unknown");
    CHECK(p.a.begun == 1);
    /* and now the sleeper wakes */
    pg_run(p.url, "DROP TRIGGER asleep ON parley_node");
    finishes(&p.a, TOOL_DONE);
    UNTIL(b_thread(&p)->fold.calls[0]->late);
    says(&p.a, "I do not know.");
    stops(&p.a, STOP_END);
    UNTIL(b_is_at(&p, "idle"));
    CHECK_STR(b_story(&p),
              "message step:calls started finished:unknown late:done step:end ended:complete");
    CHECK(p.a.begun == 1);
    UNTIL(!hub_jobs(p.a.hub));
    pair_down(&p);
}

static void on_drained(void *ctx)
{
    (void)ctx;
}

TEST(a_node_that_goes_gives_its_threads_back_and_another_goes_on)
{
    static struct pair p;
    struct follower    f;
    pair_up(&p);
    CHECK(say(&p.a, "hello").status == 200);
    UNTIL(p.a.speaking);
    CHECK(b_follow(&p, &f).status == 200);
    says(&p.a, "Half a sen");
    UNTIL(b_thread(&p)->step.count == 1);
    p.a.speaking = false;
    hub_drain(p.a.hub, on_drained, NULL);
    UNTIL(p.a.speaking); /* b has called the model anew */
    CHECK(!b_thread(&p)->mirror);
    CHECK(p.a.asked == 2);
    says(&p.a, "A whole sentence.");
    stops(&p.a, STOP_END);
    UNTIL(b_is_at(&p, "idle"));
    CHECK_STR(b_story(&p), "message resumed step:end ended:complete");
    thread_unfollow(&f);
    pair_down(&p);
}

/* One node after the other has the run, as processes on a database of which one lives at a time. */
static void next_node(struct stage *s, const char *url, bool in_order)
{
    struct str why = STR_NONE;
    bool       there = s->hub != NULL;
    if (there && in_order) {
        hub_drain(s->hub, on_drained, NULL);
        UNTIL(s->hub->release.done && !s->hub->drained);
    }
    if (there) {
        UNTIL(!s->hub->expiry_busy && !s->hub->recover.busy);
        REQUIRE(store_close(s->store, 60000));
        hub_free(s->hub);
    }
    s->speaking = false;
    REQUIRE(store_open(&s->loop, str_c(url), &(struct store_place){ .url = STR("http://a:1") },
                       &s->arena, &s->store, &why) == OK);
    s->setup.store = s->store;
    stage_hub(s);
    if (there) hub_recover(s->hub);
}

TEST(a_step_that_nodes_hand_on_is_not_given_up_and_one_that_ends_them_is)
{
    struct stage s;
    char         url[512];
    pg_url(url, sizeof url);
    stage_up(&s);
    hub_free(s.hub);
    REQUIRE(store_close(s.store, 1000));
    s.hub = NULL;
    next_node(&s, url, false);
    CHECK(say(&s, "hello").status == 200);
    for (int i = 0; i < 6; i++) {
        UNTIL(s.speaking);
        if (i == 5) s.setup.runs_max = 0;
        next_node(&s, url, true);
    }
    for (int i = 0; i < 5; i++) { /* nodes that die while it waits for a place there */
        UNTIL(the_thread(&s) && list_linked(&the_thread(&s)->line));
        next_node(&s, url, false);
    }
    UNTIL(the_thread(&s) && list_linked(&the_thread(&s)->line));
    s.setup.runs_max = 10;
    next_node(&s, url, false);
    for (int i = 0; i < 3; i++) {
        UNTIL(s.speaking);
        next_node(&s, url, false);
    }
    UNTIL(the_thread(&s) && idle(&s));
    CHECK(s.asked == 9);
    CHECK(str_ends(story(&s), STR(" resumed resumed resumed ended:error")));
    stage_down(&s);
}

static void is_beside(struct command *c, const char *member, const char *raw)
{
    struct buf   text;
    struct jsonw w;
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    node_write_command(&w, c);
    REQUIRE(json_parse_own(&a, buf_view(&text), &v) == OK);
    const struct jv *found = jv_get(jv_get(v, "of_all"), member);
    CHECK(found && str_is(found->raw, raw) && !jv_get(jv_get(v, "wish"), member));
    buf_done(&text);
    arena_done(&a);
    command_free(c);
}

/* While a cluster is updated one node after the other, the others read what this one sends. */
TEST(members_that_went_to_their_kind_stay_where_the_version_before_reads_them)
{
    struct command *c = command_new(CMD_MESSAGE);
    c->message.family = STR("t_1");
    is_beside(c, "family", "\"t_1\"");
    c = command_new(CMD_RESPOND);
    c->respond.brought = STR("[]");
    is_beside(c, "brought", "\"[]\"");
    c = command_new(CMD_FOLLOW);
    c->follow.peek = true;
    is_beside(c, "peek", "true");
    c = command_new(CMD_RENAME);
    c->title_was = STR("old");
    is_beside(c, "title_was", "\"old\"");
}

TEST(every_kind_of_command_reads_back_as_it_was_written)
{
    for (int kind = CMD_CREATE; kind < CMD_EXPIRE; kind++) {
        struct command *c = command_new((enum command_kind)kind), *back;
        struct buf      text, again;
        struct jsonw    w;
        struct arena    a;
        struct jv      *v;
        arena_init(&a, 0);
        buf_init(&text, 0);
        buf_init(&again, 0);
        c->by = STR("ann \"\\ \xc3\xa9");
        c->request_id = STR("r");
        c->number = 7;
        c->may_decide = true;
        if (kind == CMD_DECIDE) {
            c->decide.confirmed = true;
            REQUIRE(json_parse(&a, STR("{\"amount\": 1.50}"), &v, NULL) == OK);
            c->decide.echo_args = v;
        }
        if (kind == CMD_CLAIM) c->claim.owner = INT64_MAX - 1;
        if (kind == CMD_MESSAGE) c->message.text = STR(""), c->message.effects = STR("[]");
        if (kind == CMD_RESPOND) c->respond.brought = STR("[]");
        if (kind == CMD_FOLLOW) c->follow.peek = true;
        if (kind == CMD_RENAME) c->title_was = STR("old");
        jsonw_init(&w, &text);
        node_write_command(&w, c);
        REQUIRE(json_parse_own(&a, buf_view(&text), &v) == OK);
        back = node_read_command(v);
        REQUIRE(back);
        CHECK(back->forwarded && (int)back->kind == kind);
        jsonw_init(&w, &again);
        node_write_command(&w, back);
        CHECK(str_eq(buf_view(&text), buf_view(&again)));
        buf_done(&text);
        buf_done(&again);
        arena_done(&a);
        command_free(c);
        command_free(back);
    }
}
