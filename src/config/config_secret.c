/* config_secret.c -- values that must not stand in the file, and values that travel in requests.
 *
 * "env:NAME" and "file:PATH" are fetched once, at load, so that a missing key is
 * a line of `parley check` and not a failed conversation. "text:..." is the way to write a
 * value that begins like one of them. Everything fetched is listed in
 * c->secrets, which config_done wipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "config/config_private.h"

/* Far above any key or token; a path that leads to something else is told early. */
#define SECRET_MAX (64 * 1024)

void cfg_remember(struct config_build *b, struct str text)
{
    struct config_secret *s = arena_new(&b->c->arena, struct config_secret);

    if (!s) return;
    *s = (struct config_secret){ text, b->c->secrets };
    b->c->secrets = s;
}

static bool from_env(struct config_build *b, const struct jv *at, const char *what, struct str name,
                     struct str *out)
{
    struct str  z = arena_dup(&b->c->arena, name);
    const char *v = z.ptr && name.len ? getenv(z.ptr) : NULL;

    if (!v || !*v) {
        cfg_bad(b, at,
                "%s: the environment variable " STR_FMT " is not set; set it before the start",
                what, STR_ARG(name.len ? name : STR("(no name)")));
        return false;
    }
    *out = arena_dup(&b->c->arena, str_c(v));
    cfg_remember(b, *out);
    return out->ptr != NULL;
}

/* Not by file_read, whose buffer would be given back with it. -1: why not. */
static ssize_t read_secret(const char *path, char *into, size_t room, const char **why)
{
    int fd = file_open(path, O_RDONLY, why);

    if (fd < 0) return -1;
    ssize_t n = read(fd, into, room);
    if (n < 0) *why = os_words(errno);
    close(fd);
    return n;
}

static void remember_file(struct config_build *b, struct str path)
{
    struct config_path *p = arena_new(&b->c->arena, struct config_path);

    if (!p) return; /* the arena has failed, and so will the load */
    *p = (struct config_path){ path, b->c->secret_files };
    b->c->secret_files = p;
}

static bool from_file(struct config_build *b, const struct jv *at, const char *what,
                      struct str path, struct str *out)
{
    struct str  z = arena_dup(&b->c->arena, path);
    char       *into = arena_alloc(&b->c->arena, SECRET_MAX);
    const char *why;

    if (!z.ptr || !into) return false;
    ssize_t n = read_secret(z.ptr, into, SECRET_MAX, &why);
    if (n < 0) {
        cfg_bad(b, at, "%s: cannot read the file " STR_FMT ": %s", what, STR_ARG(path), why);
        return false;
    }
    remember_file(b, z);
    cfg_remember(b, str_n(into, (size_t)n));
    *out = str_trim(str_n(into, (size_t)n));
    if (out->len > 0 && n < SECRET_MAX && !memchr(into, 0, (size_t)n)) return true;
    cfg_bad(b, at, "%s: the file " STR_FMT " is %s", what, STR_ARG(path),
            out->len == 0 ? "empty; put the secret into it"
                          : "no secret: it is too long or has NUL bytes");
    return false;
}

static bool fetch(struct config_build *b, const struct jv *at, const char *what, struct str in,
                  struct str *out, bool *literal)
{
    *literal = false;
    if (str_starts(in, STR("env:"))) return from_env(b, at, what, str_from(in, 4), out);
    if (str_starts(in, STR("file:"))) return from_file(b, at, what, str_from(in, 5), out);
    *literal = true;
    *out = str_starts(in, STR("text:")) ? str_from(in, 5) : in;
    /* The mark of other programs; sent as it is it would only fail much later. */
    if (str_starts(in, STR("${")))
        cfg_warn(b, at,
                 "%s: \"${...}\" is taken as it is; write \"env:NAME\" for an environment variable",
                 what);
    return true;
}

bool cfg_secret(struct config_build *b, const struct jv *v, const char *what, struct str *out,
                bool *literal)
{
    return jv_is(v, JSON_STRING) && fetch(b, v, what, v->str, out, literal);
}

bool cfg_secret_word(struct config_build *b, const char *word, const char *what, struct str *out)
{
    bool literal;

    if (!fetch(b, NULL, what, str_c(word), out, &literal)) return false;
    if (literal) *out = arena_dup(&b->c->arena, *out);
    return out->ptr != NULL;
}

void cfg_secret_members(struct config_build *b, struct jv *map, const char *what)
{
    bool       literal;
    struct str label, value;

    if (!jv_is(map, JSON_OBJECT)) return;
    for (struct jv *v = map->child; v; v = v->next) {
        label = arena_printf(&b->c->arena, "%s." STR_FMT, what, STR_ARG(v->key));
        if (label.ptr && cfg_secret(b, v, label.ptr, &value, &literal)) v->str = value;
    }
}

/* --- headers ---------------------------------------------------------------------- */

static bool is_one_line(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 127) return false;
    return true;
}

static bool names_a_secret(struct str name)
{
    static const char *const WORDS[] = { "authorization",  "x-api-key", "api-key",
                                         "x-goog-api-key", "cookie",    "proxy-authorization" };

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_eq_nocase(name, str_c(WORDS[i]))) return true;
    return false;
}

bool cfg_header(struct config_build *b, const struct jv *v, struct config_header *out)
{
    struct str label = arena_printf(&b->c->arena, "header " STR_FMT, STR_ARG(v->key));
    struct str value, scheme = STR("Bearer ");
    bool       literal = false;

    if (!label.ptr || !jv_is(v, JSON_STRING)) return false;
    if (!str_is_token(v->key)) {
        cfg_bad(b, v, "\"" STR_FMT "\" cannot be a header's name; use letters, digits and '-'",
                STR_ARG(v->key));
        return false;
    }
    if (str_starts(v->str, STR("Bearer env:")) || str_starts(v->str, STR("Bearer file:"))) {
        if (!fetch(b, v, label.ptr, str_from(v->str, scheme.len), &value, &literal)) return false;
        value = arena_printf(&b->c->arena, STR_FMT STR_FMT, STR_ARG(scheme), STR_ARG(value));
        cfg_remember(b, value);
    } else if (!fetch(b, v, label.ptr, v->str, &value, &literal)) {
        return false;
    }
    if (!is_one_line(value)) {
        cfg_bad(b, v, "%s: the value has a line break or control character; take it out",
                label.ptr);
        return false;
    }
    if (literal && names_a_secret(v->key))
        cfg_warn(b, v,
                 "%s: the secret stands in the file; better \"env:NAME\", \"file:PATH\" or "
                 "\"Bearer env:NAME\"",
                 label.ptr);
    *out = (struct config_header){ v->key, value };
    return value.ptr != NULL;
}

/* --- addresses --------------------------------------------------------------------- */

/* host, [v6] or host:port -> host. */
static struct str authority_host(struct str a)
{
    ptrdiff_t end = str_find(a, STR("]"));

    if (str_starts(a, STR("["))) return end < 0 ? STR("") : str_n(a.ptr + 1, (size_t)end - 1);
    end = str_find(a, STR(":"));
    return end < 0 ? a : str_cut(a, (size_t)end);
}

static struct str url_authority(struct str url)
{
    ptrdiff_t  at = str_find(url, STR("://"));
    struct str rest = str_from(url, at < 0 ? url.len : (size_t)at + 3);
    ptrdiff_t  end = str_find(rest, STR("/"));

    return end < 0 ? rest : str_cut(rest, (size_t)end);
}

bool cfg_url_is_loopback(struct str url)
{
    return config_host_is_loopback(authority_host(url_authority(url)));
}

static const char *url_fault(struct str url)
{
    if (!str_starts(url, STR("http://")) && !str_starts(url, STR("https://")))
        return "must begin with http:// or https://";
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 127)
            return "has a blank or control character; take it out";
    if (str_find(url_authority(url), STR("@")) >= 0)
        return "has a user name or password in it; use \"headers\" or \"api_key\" instead";
    if (authority_host(url_authority(url)).len == 0) return "has no host";
    return NULL;
}

bool cfg_url(struct config_build *b, const struct jv *v, const char *what, struct str *out)
{
    if (!jv_is(v, JSON_STRING)) return false;
    const char *fault = url_fault(v->str);
    if (fault) {
        cfg_bad(b, v, "%s %s", what, fault);
        return false;
    }
    *out = v->str;
    while (str_ends(*out, STR("/"))) out->len--;
    return true;
}
