/* talk.c -- `parley chat [URL]`: a conversation with a running server in the terminal.
 *
 *     > Send 50 dollars to Hanako
 *       I'll send 50 USD to Hanako...
 *     1 of 1  process_payment  high risk
 *       Send 50 USD to Hanako?
 *       input    {"amount":50,"currency":"USD","recipient":"Hanako"}
 *       yes or no? [y, n; s: later, q: end] y
 *
 * What the model says goes to stdout; on a screen so does everything around it (tools, questions,
 * the prompt), elsewhere that goes to stderr, so that a pipe gets the words alone. Only somebody at
 * a screen is asked: with a pipe as stdin each line is a message, a question is told and left to
 * whoever answers it elsewhere, and nothing more is sent, because a new message would withdraw it.
 */
#include <signal.h>

#include "base/address.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "cli/keys.h"
#include "cli/turn.h"

#define LINE_MAX_LEN (1u << 20) /* of what is typed; the server has its own limits */
#define SHORT        160        /* of an input or an output on a card */
#define THREADS      "20"       /* listed by /threads */
#define MESSAGES     "12"       /* shown by /open */
#define WAITING_MAX  32         /* questions of one answer that are asked here */

static const char HELP[] = "  /new        a new conversation\n"
                           "  /threads    the newest conversations\n"
                           "  /open ID    go on with one of them\n"
                           "  /help       this\n"
                           "  /quit       leave; so does the end of the input\n"
                           "  //word      a message that begins with a slash\n"
                           "  Ctrl-C stops an answer; a second one leaves.\n";

struct chat {
    struct turn turn;
    struct desk desk;
    FILE       *aside; /* for what is not the model's words */
    const char *page;
    struct buf  line, body;
    char        waiting[WAITING_MAX][ID_MAX + 1];
    size_t      waiting_count;
    size_t      cards;    /* outcomes of this run that were shown */
    uint64_t    progress; /* of the sentence that was shown last: it is not shown again */
    bool        mid_line; /* the cursor stands behind words */
    bool        marker;   /* the next delta may be a card's place in the text */
    bool        asked;    /* somebody elsewhere must answer before it goes on */
    bool        decides;  /* whose conversation it is answers for it, or this is an approver */
    bool        failed, left;
};

/* --- showing ------------------------------------------------------------------------------- */

static struct chat *chat_of(struct turn *t)
{
    return LIST_ITEM(t, struct chat, turn);
}

static void end_line(struct chat *c)
{
    if (c->mid_line) putchar('\n');
    c->mid_line = false;
}

/* Opens a line beside the words; end_aside closes it. */
static FILE *aside(struct chat *c)
{
    end_line(c);
    fflush(stdout);
    desk_style(&c->desk, c->aside, "\033[2m");
    fputs("  ", c->aside);
    return c->aside;
}

static void end_aside(struct chat *c)
{
    desk_style(&c->desk, c->aside, "\033[0m");
    fputc('\n', c->aside);
    fflush(c->aside);
}

static void note(struct chat *c, const char *sentence)
{
    fputs(sentence, aside(c));
    end_aside(c);
}

static void put_short(FILE *out, struct str s)
{
    s = str_trim(s);
    size_t len = s.len > SHORT ? SHORT : s.len;

    while (len < s.len && len && (s.ptr[len] & 0xc0) == 0x80) len--; /* whole characters */
    desk_put(out, str_cut(s, len), GLYPH_LINE);
    if (len < s.len) fputs("...", out);
}

static void on_connection(struct turn *t, const char *sentence)
{
    note(chat_of(t), sentence);
}

/* --- events -------------------------------------------------------------------------------- */

static bool is_marker(struct str s)
{
    return str_starts(s, STR("[[tool:")) && str_ends(s, STR("]]"));
}

static bool on_words(struct chat *c, const struct jv *e)
{
    struct str s = jv_str_at(e, "text");
    bool       marker = c->marker && is_marker(s);

    if (marker) c->marker = false;
    /* the blank lines around a card are on the screen already */
    if (marker || !s.len || (!c->mid_line && !str_trim(s).len)) return false;
    desk_put(stdout, s, GLYPH_TEXT);
    c->mid_line = s.ptr[s.len - 1] != '\n';
    fflush(stdout);
    return false;
}

static bool on_intent(struct chat *c, const struct jv *e)
{
    desk_put(aside(c), jv_str_at(e, "message"), GLYPH_LINE);
    end_aside(c);
    return false;
}

static bool on_start(struct chat *c, const struct jv *e)
{
    const struct jv *input = jv_get(e, "input");
    FILE            *out = aside(c);

    fputs("> ", out);
    desk_put(out, jv_str_at(e, "tool"), GLYPH_LINE);
    fputc(' ', out);
    if (input) put_short(out, input->raw);
    end_aside(c);
    return false;
}

static bool on_progress(struct chat *c, const struct jv *e)
{
    struct str message = jv_str_at(e, "message");
    bool       same = str_hash(message) == c->progress;
    FILE      *out = message.len && !same && c->desk.screen ? aside(c) : NULL;

    if (!out) return false;
    c->progress = str_hash(message);
    fputs("  ", out);
    put_short(out, message);
    end_aside(c);
    return false;
}

static bool on_complete_tool(struct chat *c, const struct jv *e)
{
    FILE *out = aside(c);

    if (!jv_true(jv_get(e, "ok"))) desk_style(&c->desk, out, "\033[0;31m");
    fputs("= ", out);
    desk_put(out, jv_str_at(e, "tool"), GLYPH_LINE);
    fputs(": ", out);
    desk_put(out, jv_str_at(e, "outcome"), GLYPH_LINE);
    end_aside(c);
    c->marker = true;
    return false;
}

/* What the tools said comes with the end of the answer. */
static void show_cards(struct chat *c, const struct jv *history)
{
    size_t i = 0;

    JV_EACH (h, history) {
        if (i++ < c->cards) continue;
        FILE *out = aside(c);
        desk_put(out, jv_str_at(h, "tool_name"), GLYPH_LINE);
        fputs(": ", out);
        put_short(out, jv_str_at(h, "output"));
        end_aside(c);
    }
    c->cards = i;
}

static void show_replies(struct chat *c, const struct jv *values)
{
    if (!jv_is(values, JSON_ARRAY) || !values->count) return;
    FILE *out = aside(c);
    fputs("you could say:", out);
    JV_EACH (v, values) {
        fputs(v == values->child ? " " : " / ", out);
        put_short(out, jv_is(v, JSON_STRING) ? v->str : jv_str_at(v, "label"));
    }
    end_aside(c);
}

static void keep_waiting(struct chat *c, const struct jv *ids, const char *member)
{
    c->waiting_count = 0;
    JV_EACH (v, ids) {
        struct str id = member ? jv_str_at(v, member) : jv_str(v);
        if (c->waiting_count == WAITING_MAX || !id_valid(id, ID_MAX)) continue;
        memcpy(c->waiting[c->waiting_count], id.ptr, id.len);
        c->waiting[c->waiting_count++][id.len] = '\0';
    }
}

static bool on_complete(struct chat *c, const struct jv *e)
{
    const struct jv *p = jv_get(e, "payload");

    end_line(c);
    show_cards(c, jv_get(p, "tool_history"));
    show_replies(c, jv_get(p, "suggested_values"));
    if (str_is(jv_str_at(p, "finish_reason"), "length"))
        note(c, "(the answer was cut at the model's limit)");
    keep_waiting(c, jv_get(p, "awaiting"), NULL);
    return true;
}

static bool on_error(struct chat *c, const struct jv *e)
{
    FILE *out = aside(c);

    desk_style(&c->desk, out, "\033[0;31m");
    desk_put(out, jv_str_at(e, "message"), GLYPH_LINE);
    end_aside(c);
    c->failed = true;
    return true;
}

static bool on_cancelled(struct chat *c, const struct jv *e)
{
    (void)e;
    note(c, "(stopped)");
    return true;
}

static bool on_reset(struct chat *c, const struct jv *e)
{
    (void)e;
    note(c, "(the last words were lost with the server; this part again)");
    return false;
}

static bool on_event(struct turn *t, const struct jv *e)
{
    static const struct {
        const char *type;
        bool (*heard)(struct chat *c, const struct jv *e);
    } KINDS[] = {
        { "text_delta", on_words },    { "intent_confirmation", on_intent },
        { "tool_start", on_start },    { "tool_progress", on_progress },
        { "step_reset", on_reset },    { "tool_complete", on_complete_tool },
        { "complete", on_complete },   { "error", on_error },
        { "cancelled", on_cancelled },
    };
    struct str type = jv_str_at(e, "type");

    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (str_is(type, KINDS[i].type)) return KINDS[i].heard(chat_of(t), e);
    return false;
}

/* --- what waits ---------------------------------------------------------------------------- */

static bool may_decide(const struct chat *c, const struct jv *approval)
{
    const struct jv *may = jv_get(approval, "may"); /* where rules say who is asked */

    return may ? jv_true(may) : c->decides;
}

static void leave_question(struct chat *c, const struct jv *approval, const char *why)
{
    FILE *out = aside(c);

    c->asked = true;
    fputs("waits: ", out);
    desk_put(out, jv_str_at(approval, "ask"), GLYPH_LINE);
    end_aside(c);
    fprintf(aside(c),
            "%s; \"parley approvals\" and " STR_FMT "/inbox answer it, and a new message"
            " withdraws it",
            why, STR_ARG(address_shown(&c->desk.arena, c->desk.base)));
    end_aside(c);
}

/* True: it does not wait any more. *end: no more of them. */
static bool question(struct chat *c, const char *id, size_t number, bool *end)
{
    struct str path = arena_printf(&c->desk.arena, "/v1/approvals/%s", id);
    long       status = 0;
    struct jv *a = path.ptr ? desk_ask(&c->desk, path.ptr, NULL, &status) : NULL;

    if (!a || status != 200) return a != NULL;
    if (!str_is(jv_str_at(a, "status"), "pending")) return true; /* somebody was faster */
    if (!c->desk.screen) leave_question(c, a, "no question is answered from a pipe");
    else if (!may_decide(c, a)) leave_question(c, a, "it is not yours to decide");
    else {
        desk_show(&c->desk, a, number, c->waiting_count);
        enum choice said = desk_choose();
        *end = said == CHOICE_END;
        if (said == CHOICE_YES || said == CHOICE_NO)
            return desk_decide(&c->desk, str_c(id), said == CHOICE_YES);
        (void)keys_taken(); /* Ctrl-C and Ctrl-D are "later" here */
        if (*end) putchar('\n');
        leave_question(c, a, "left for later");
    }
    return false;
}

/* A call for a browser. Where none has taken it, nobody will: the model is told, and goes on. */
static bool offered(struct chat *c, const char *call)
{
    struct str path =
        arena_printf(&c->desk.arena, "/v1/threads/%s/results/%s", c->turn.thread, call);
    struct str claim = arena_printf(&c->desk.arena, STR_FMT "/claim", STR_ARG(path));
    long       status = 0;

    if (!path.ptr || !claim.ptr) return false;
    (void)desk_ask(&c->desk, claim.ptr, "{\"client\":\"terminal\"}", &status);
    if (status != 200) return true; /* a page has it */
    note(c, "this needs a browser: it is not done here");
    (void)desk_ask(&c->desk, path.ptr,
                   "{\"error\":\"The person is at a terminal, where this cannot be done.\"}",
                   &status);
    return status == 200;
}

/* True: something was decided, so there is more to hear. */
static bool answer(struct chat *c)
{
    bool moved = false, end = false;

    c->asked = false;
    for (size_t i = 0; i < c->waiting_count && !end; i++) {
        bool asks = str_starts(str_c(c->waiting[i]), STR("confirmation-"));
        moved |= asks ? question(c, c->waiting[i], i + 1, &end) : offered(c, c->waiting[i]);
    }
    c->waiting_count = 0;
    return moved;
}

/* --- a turn -------------------------------------------------------------------------------- */

static void refused(struct chat *c)
{
    struct jv *tree = NULL;

    end_line(c);
    c->failed = true;
    if (json_parse(&c->desk.arena, buf_view(&c->turn.answer), &tree, NULL) == OK)
        desk_refused(tree, c->turn.status);
    else fprintf(stderr, "parley: the answer was %ld, not as a parley does.\n", c->turn.status);
}

/* Follows the run through its questions. `body` STR_NONE: one that is under way. */
static void follow(struct chat *c, struct str body)
{
    do {
        switch (turn_follow(&c->turn, body)) {
        case TURN_OVER: break;
        case TURN_LEFT: c->left = true; return;
        case TURN_REFUSED: refused(c); return;
        case TURN_LOST:
            c->failed = true;
            note(c, "the server does not come back; what it has saved is there with /open");
            return;
        }
        end_line(c);
        (void)keys_taken(); /* the Ctrl-C that stopped it is used up */
        body = STR_NONE;
    } while (answer(c));
}

static void say(struct chat *c, struct str message)
{
    struct jsonw w;

    buf_clear(&c->body);
    jsonw_init(&w, &c->body);
    jw_obj(&w);
    jw_kstr(&w, "message", message);
    jw_kstr(&w, "request_id", id_new(&c->desk.arena, "chat-"));
    if (c->turn.thread[0]) jw_kstrz(&w, "thread_id", c->turn.thread);
    if (c->page) jw_kstrz(&w, "page", c->page);
    jw_end_obj(&w);
    c->cards = 0;
    if (!c->body.err) follow(c, buf_view(&c->body));
}

/* --- commands ------------------------------------------------------------------------------ */

static void show_threads(struct chat *c)
{
    long             status = 0;
    struct jv       *answer = desk_ask(&c->desk, "/v1/threads?limit=" THREADS, NULL, &status);
    const struct jv *list = jv_get(answer, "threads");

    if (answer && !jv_is(list, JSON_ARRAY)) desk_refused(answer, status);
    if (jv_is(list, JSON_ARRAY) && !list->count) note(c, "there are none yet");
    JV_EACH (t, list) {
        FILE *out = aside(c);
        desk_put(out, jv_str_at(t, "id"), GLYPH_LINE);
        fputs("  ", out);
        desk_put(out, jv_str_at(t, "state"), GLYPH_LINE);
        fputs("  ", out);
        put_short(out, jv_str_at(t, "title"));
        end_aside(c);
    }
}

static void show_part(struct chat *c, const struct jv *part, bool user)
{
    struct str type = jv_str_at(part, "type");

    if (str_is(type, "text")) {
        if (user) fputs("> ", stdout);
        desk_put(stdout, jv_str_at(part, "text"), GLYPH_TEXT);
        putchar('\n');
    } else if (str_starts(type, STR("tool-")) || str_is(type, "dynamic-tool")) {
        FILE *out = aside(c);
        fputs("= ", out);
        desk_put(out,
                 type.len > 5 && type.ptr[4] == '-' ? str_from(type, 5)
                                                    : jv_str_at(part, "toolName"),
                 GLYPH_LINE);
        fputs(": ", out);
        desk_put(out, jv_str_at(part, "state"), GLYPH_LINE);
        end_aside(c);
    }
}

static void open_thread(struct chat *c, struct str id)
{
    struct str path =
        arena_printf(&c->desk.arena, "/v1/threads/" STR_FMT "?limit=" MESSAGES, STR_ARG(id));
    long    status = 0;
    int64_t seq;

    if (!id_valid(id, ID_MAX)) {
        note(c, "which one? /threads lists them, /open ID opens one");
        return;
    }
    struct jv *t = path.ptr ? desk_ask(&c->desk, path.ptr, NULL, &status) : NULL;
    if (t && status != 200) desk_refused(t, status);
    if (!t || status != 200 || !jv_int(jv_get(t, "seq"), &seq)) return;
    turn_open(&c->turn, id);
    turn_from(&c->turn, seq);
    JV_EACH (m, jv_get(t, "messages"))
        JV_EACH (part, jv_get(m, "parts")) show_part(c, part, str_is(jv_str_at(m, "role"), "user"));
    keep_waiting(c, jv_get(t, "pending"), "id");
    c->cards = 0;
    if (str_is(jv_str_at(t, "state"), "running")) note(c, "(an answer is being written)");
    if (str_is(jv_str_at(t, "state"), "running") || answer(c)) follow(c, STR_NONE);
}

/* False: it is a message. */
static bool command(struct chat *c, struct str line, bool *quit)
{
    struct str rest = line, word = STR_NONE;

    if (line.ptr[0] != '/' || str_starts(line, STR("//"))) return false;
    if (!str_split(&rest, ' ', &word)) word = line;
    if (str_is(word, "/new")) {
        turn_open(&c->turn, STR(""));
        c->asked = false;
        note(c, "a new conversation");
    } else if (str_is(word, "/threads")) show_threads(c);
    else if (str_is(word, "/open")) open_thread(c, str_trim(rest));
    else if (str_is(word, "/quit")) *quit = true;
    else {
        if (!str_is(word, "/help")) note(c, "there is no such command; // begins a message with /");
        fputs(HELP, c->aside);
    }
    return true;
}

/* --- the conversation ---------------------------------------------------------------------- */

/* One line, whole; false: the end of the input, or Ctrl-C. A line that is too long is passed over
 * and said. */
static bool read_line(struct chat *c)
{
    enum keys typed = keys_line(&c->line);

    c->left |= typed == KEYS_PRESSED;
    if (c->line.err) {
        note(c, "that line is too long to be sent");
        c->failed = true;
        buf_clear(&c->line);
    }
    return typed == KEYS_LINE;
}

static void prompt(struct chat *c)
{
    if (!c->desk.screen) return;
    desk_style(&c->desk, stdout, "\033[1m");
    fputs("> ", stdout);
    desk_style(&c->desk, stdout, "\033[0m");
    fflush(stdout);
}

static void converse(struct chat *c)
{
    bool quit = false;

    for (prompt(c); !quit && read_line(c); quit || c->left ? (void)0 : prompt(c)) {
        struct str line = str_trim(buf_view(&c->line));
        arena_reset(&c->desk.arena);
        if (!line.len || command(c, line, &quit)) continue;
        if (c->asked && !c->desk.screen) {
            note(c, "a question waits: this line and those after it were not sent");
            c->failed = true;
            return;
        }
        say(c, str_from(line, str_starts(line, STR("//")) ? 1 : 0));
        if (c->left) return;
    }
}

static bool has_role(const struct jv *session, const char *role)
{
    JV_EACH (r, jv_get(session, "roles"))
        if (str_is(jv_str(r), role)) return true;
    return false;
}

/* Who this is there, and that somebody is there at all. */
static bool greet(struct chat *c)
{
    long       status = 0;
    struct jv *session = desk_ask(&c->desk, "/v1/session", NULL, &status);

    if (session && status != 200) desk_refused(session, status);
    if (!session || status != 200) return false;
    c->decides = str_is(jv_str_at(session, "decides"), "owner") || has_role(session, "approver");
    if (!c->desk.screen) return true;
    FILE *out = aside(c);
    desk_put(out, jv_str_at(session, "principal"), GLYPH_LINE);
    fprintf(out, " at " STR_FMT "; /help lists the commands",
            STR_ARG(address_shown(&c->desk.arena, c->desk.base)));
    end_aside(c);
    return true;
}

static int finish(struct chat *c)
{
    if (c->left && c->turn.thread[0]) {
        fprintf(aside(c), "left; /open %s goes on", c->turn.thread);
        end_aside(c);
    } else if (c->desk.screen) putchar('\n');
    turn_done(&c->turn);
    buf_done(&c->line);
    buf_done(&c->body);
    desk_done(&c->desk);
    return c->left ? 130 : c->failed && !c->desk.screen ? 1 : 0;
}

int cli_chat(int argc, char **argv)
{
    static struct chat c;
    struct cli_line    line;

    if (!cli_read(argc, argv, "p", 1, &line)) return 2;
    desk_init(&c.desk, line.count ? line.words[0] : NULL);
    c.turn.desk = &c.desk;
    c.turn.event = on_event;
    c.turn.tell = on_connection;
    c.aside = c.desk.screen ? stdout : stderr;
    c.page = line.page;
    signal(SIGPIPE, SIG_IGN);
    turn_init(&c.turn);
    buf_init(&c.line, LINE_MAX_LEN);
    buf_init(&c.body, 0);
    if (!greet(&c)) return 1;
    if (!keys_listen()) {
        fputs("parley: there are no file descriptors left.\n", stderr);
        return 1;
    }
    converse(&c);
    return finish(&c);
}
