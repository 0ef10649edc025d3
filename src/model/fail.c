/* fail.c -- the table of failures, and the sentence for each. */
#include "model/fail.h"

#include "base/id.h"

/* In sentences %m is the model's name and %h the host that was asked, which people are not told:
 * for them it is "the model's service", and what stands in brackets with it is left out. */
static const struct kind {
    const char *code;
    bool        retryable; /* helps a person to try again later */
    bool        again;     /* worth an automatic attempt */
    const char *sentence;
} kinds[FAIL_COUNT] = {
    [FAIL_NONE] = { "model_error", false, false, "The model did not answer." },
    [FAIL_AUTH] = { "model_auth", false, false,
                    "%h did not accept the API key. Trying again will not help until the key is "
                    "corrected." },
    [FAIL_FORBIDDEN] = { "model_auth", false, false,
                         "%h does not allow this API key to use %m. Trying again will not help "
                         "until that is changed." },
    [FAIL_MODEL] = { "model_not_found", false, false,
                     "%h does not know the model %m, or there is no model service at this address. "
                     "Trying again will not help until the configuration is corrected." },
    [FAIL_QUOTA] = { "model_quota", false, false,
                     "The account at %h has no credit left or has reached its spending limit. "
                     "Trying again will not help until that is settled." },
    [FAIL_RATE] = { "model_rate_limit", true, true,
                    "%h is limiting how often it may be asked. Trying again will help" },
    [FAIL_OVERLOADED] = { "model_overloaded", true, true,
                          "The model is overloaded at the moment. Trying again will help" },
    [FAIL_SERVER] = { "model_error", true, true,
                      "%h had an error of its own. Trying again may help." },
    [FAIL_REQUEST] = { "model_refused", false, false,
                       "%h did not accept the request. Something in this turn is not to its "
                       "liking, and it does not say what; writing again will help: what this turn "
                       "brought is then told more plainly." },
    [FAIL_CONTEXT] = { "model_context", false, false,
                       "This conversation has become longer than %m can read. Trying again will "
                       "not help; a new conversation will." },
    [FAIL_TOO_LARGE] = { "model_context", false, false,
                         "What was sent is larger than %h accepts. Trying again will not help; "
                         "smaller attachments will." },
    [FAIL_SLOW] = { "model_timeout", true, true,
                    "The model did not begin to answer in time. Trying again may help." },
    [FAIL_SILENT] = { "model_timeout", true, true,
                      "The model stopped in the middle of its answer. Trying again may help." },
    [FAIL_TOTAL] = { "model_timeout", true, false,
                     "The answer took longer than is allowed. Trying again may help, perhaps with "
                     "a smaller question." },
    [FAIL_CONNECT] = { "model_unreachable", true, true,
                       "There is no connection to %h. Trying again helps once it can be reached." },
    [FAIL_NAME] = { "model_unreachable", true, true,
                    "The name of the model's service (%h) could not be resolved: it is wrong, or "
                    "there is no network. Trying again helps once it can be reached." },
    [FAIL_TLS] = { "model_tls", false, false,
                   "No secure connection to %h could be made: its certificate was not accepted, or "
                   "it does not speak TLS. Trying again will not help until that is put right." },
    [FAIL_PROXY] = { "model_unreachable", true, true,
                     "The proxy on the way to %h could not be reached or refused. Trying again "
                     "helps once it works." },
    [FAIL_CUT] = { "model_cut", true, true,
                   "The connection to the model broke in the middle of its answer. Trying again "
                   "may help." },
    [FAIL_PROTOCOL] = { "model_protocol", true, true,
                        "%h sent something that is not an answer of a model. Trying again may "
                        "help." },
    [FAIL_ADDRESS] = { "model_protocol", false, false,
                       "There is no model service at this address (%h). Trying again will not help "
                       "until the configuration (base_url) is corrected." },
    [FAIL_BAD_CALL] = { "model_error", true, true,
                        "The model tried to use a tool in a way its service does not allow. Trying "
                        "again may help." },
    [FAIL_SIGNATURE] = { "model_error", true, false,
                         "The model could not take up the conversation where another one left it. "
                         "Trying again may help." },
    [FAIL_BUSY] = { "model_busy", true, false,
                    "The model is answering as many people as it may at the same time. Trying "
                    "again will help" },
    [FAIL_NOMEM] = { "model_error", true, false,
                     "The server is short of memory. Trying again later will help." },
};

void trouble_init(struct trouble *t)
{
    *t = (struct trouble){ .after_ms = -1 };
}

void trouble_set(struct trouble *t, enum fail kind)
{
    t->kind = kind;
    t->again = kinds[kind].again;
}

static enum fail from_status(int status)
{
    switch (status) {
    case 401: return FAIL_AUTH;
    case 402: return FAIL_QUOTA;
    case 403: return FAIL_FORBIDDEN;
    case 404:
    case 405: return FAIL_MODEL;
    case 407: return FAIL_PROXY;
    case 408:
    case 504: return FAIL_SLOW;
    case 409: return FAIL_SERVER;
    case 413: return FAIL_TOO_LARGE;
    case 429: return FAIL_RATE;
    case 503:
    case 529: return FAIL_OVERLOADED;
    default: break;
    }
    if (status >= 500) return FAIL_SERVER;
    if (status >= 400) return FAIL_REQUEST;
    if (status >= 300) return FAIL_ADDRESS;
    return FAIL_PROTOCOL;
}

void trouble_status(struct trouble *t, int status)
{
    trouble_set(t, from_status(status));
    t->status = status;
}

void trouble_word(struct trouble *t, struct str word)
{
    if (word.len >= sizeof t->word) return;
    for (size_t i = 0; i < word.len; i++)
        if (!id_valid(str_n(word.ptr + i, 1), 1) && word.ptr[i] != '.') return;
    if (word.len) memcpy(t->word, word.ptr, word.len);
    t->word[word.len] = '\0';
}

const char *fail_code(enum fail f)
{
    return kinds[f].code;
}
bool fail_retryable(enum fail f)
{
    return kinds[f].retryable;
}

static void write_wait(struct buf *out, int64_t after_ms)
{
    int64_t s = (after_ms + 999) / 1000;
    if (after_ms < 1000) buf_lit(out, " in a moment.");
    else if (s < 120) buf_printf(out, " in %lld second%s.", (long long)s, s == 1 ? "" : "s");
    else buf_printf(out, " in %lld minutes.", (long long)(s + 59) / 60);
}

void fail_sentence(struct buf *out, const struct trouble *t, struct str name, struct str host)
{
    const char *s = kinds[t->kind].sentence, *begin = s;
    bool        open = s[strlen(s) - 1] != '.'; /* the wait is still to be said */
    for (; *s; s++) {
        if (!host.len && !strncmp(s, " (%h)", 5)) s += 4;
        else if (s[0] == '%' && s[1] == 'm') buf_str(out, name), s++;
        else if (s[0] == '%' && s[1] == 'h') {
            if (host.len) buf_str(out, host);
            else buf_lit(out, s == begin ? "The model's service" : "the model's service");
            s++;
        } else buf_chr(out, *s);
    }
    if (open) write_wait(out, t->after_ms);
}
