/* answer.c -- a page whose answers have a form: "answer_schema".
 *
 * The model is told the schema with its system prompt. The step that would end the run is read as
 * JSON and checked; what fits is the run's custom payload, of the type "answer", so that every door
 * tells it. What does not fit stands in the step's fact as its `reason`, and the model is asked
 * once more (fold.c, history.c); after a second one the run ends in words.
 */
#include "base/jsonw.h"
#include "run/engine.h"
#include "tool/schema.h"

static void text_of(const struct open_step *s, struct buf *out)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->parts[i].type == STEP_TEXT) buf_str(out, s->parts[i].text);
}

/* Many put it between ```json and ```, whatever they are told. */
static struct str unfenced(struct str s)
{
    ptrdiff_t line;
    s = str_trim(s);
    if (!str_starts(s, STR("```")) || !str_ends(s, STR("```")) || s.len < 6) return s;
    line = str_find(s, STR("\n"));
    return line < 0 ? s : str_trim(str_n(s.ptr + line, s.len - 3 - (size_t)line));
}

static void wrap(struct buf *out, const struct jv *v)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstrz(&w, "type", "answer");
    jw_key(&w, "data");
    jw_jv(&w, v);
    jw_end_obj(&w);
}

static bool has_calls(const struct open_step *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->parts[i].type == STEP_CALL) return true;
    return false;
}

enum err answer_read(struct thread *t)
{
    struct arena *a = &t->step.arena;
    struct buf    text, out;
    struct jv    *v = NULL;
    t->answer_value = t->answer_why = STR_NONE;
    if (!t->page->answer || has_calls(&t->step) || t->stop == STOP_REFUSAL) return OK;
    buf_init(&text, 0);
    buf_init(&out, 0);
    text_of(&t->step, &text);
    struct str said = arena_dup(a, unfenced(buf_view(&text)));
    enum err   e = said.ptr ? json_parse(a, said, &v, NULL) : ERR_NOMEM;
    if (e == ERR_SYNTAX) buf_lit(&out, "it is not JSON.");
    else if (!e && schema_check(t->page->answer, v, &t->hub->judge, &out) == OK) {
        buf_clear(&out);
        wrap(&out, v);
        t->answer_value = arena_dup(a, buf_view(&out));
    }
    if (!t->answer_value.ptr && e != ERR_NOMEM) t->answer_why = arena_dup(a, buf_view(&out));
    bool ok = !text.err && !out.err && (t->answer_value.ptr || t->answer_why.ptr);
    buf_done(&text);
    buf_done(&out);
    return ok ? OK : ERR_NOMEM;
}

bool answer_failed(const struct thread *t)
{
    return t->answer_why.len && t->fold.run->repairs;
}

enum err answer_give_up(struct thread *t)
{
    const struct run *r = t->fold.run;
    struct fact       f = { .kind = FACT_ENDED,
                            .run = r->id,
                            .outcome = WORD_ERROR,
                            .code = STR("answer_misfit"),
                            .text = STR("The answer does not have the form that this page needs, "
                                              "also not at the second attempt. Try again."),
                            .retryable = true,
                            .input_tokens = r->input_tokens,
                            .output_tokens = r->output_tokens };
    return thread_add(t, &f);
}
