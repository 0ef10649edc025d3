/* address.c -- see address.h. */
#include "base/address.h"

#include <string.h>

#define DATABASE_WORDS "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
#define FILE_WORDS     ", or ./NAME if it is the name of a file"

bool address_is_database(struct str store)
{
    return str_starts(store, STR("postgresql://")) || str_starts(store, STR("postgres://"));
}

static bool begins(struct str s, const char *word)
{
    return str_eq_nocase(str_cut(s, strlen(word)), str_c(word));
}

static bool equals_follows(struct str rest)
{
    return str_starts(str_trim(rest), STR("="));
}

/* "host=db password=...", as libpq takes it and others write it ("Server=db;Password=..."). */
static bool is_keywords(struct str s)
{
    static const char *const FIRST[] = { "host",    "hostaddr", "port",    "dbname", "user",
                                         "service", "sslmode",  "options", "server", "data source",
                                         "user id", "username", "database" };
    static const char *const SECRET[] = { "password", "pwd" };

    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++)
        if (begins(s, FIRST[i]) && equals_follows(str_from(s, strlen(FIRST[i])))) return true;
    for (size_t at = 0; at < s.len; at++)
        for (size_t i = 0; i < sizeof SECRET / sizeof *SECRET; i++) {
            struct str rest = str_from(s, at);
            if (begins(rest, SECRET[i]) && equals_follows(str_from(rest, strlen(SECRET[i]))))
                return true;
        }
    return false;
}

/* "user:password@host" */
static bool has_password(struct str s)
{
    ptrdiff_t colon = str_find(s, STR(":"));

    return colon >= 0 && str_find(str_from(s, (size_t)colon), STR("@")) >= 0;
}

const char *address_fault(struct str store)
{
    struct str s = str_trim(store);
    bool       file = begins(s, "sqlite:");

    if (file) s = str_trim(str_from(s, strlen("sqlite:")));
    if (str_starts(s, STR("./")) || str_starts(s, STR("../"))) return NULL;
    if (str_starts(s, STR("/")) && !str_starts(s, STR("//"))) return NULL;
    ptrdiff_t scheme = str_find(s, STR("://"));
    if (is_keywords(scheme < 0 ? s : str_cut(s, (size_t)scheme)))
        return "it is a list of keywords, which is no address; " DATABASE_WORDS FILE_WORDS;
    if (!file && scheme > 0) return NULL; /* its scheme says what it is */
    if (begins(s, "postgres:") || begins(s, "postgresql:"))
        return "a database's address begins with postgresql://; " DATABASE_WORDS FILE_WORDS;
    if (has_password(s))
        return "it has a colon and an @, as an address with a password in it has, and is "
               "none; " DATABASE_WORDS FILE_WORDS;
    return NULL;
}

/* Up to the last @ all may be a password that was not escaped, and so may be what stands behind ?
 * (or, in a server's address, behind #). */
struct str address_shown(struct arena *a, struct str address)
{
    ptrdiff_t  scheme = str_find(address, STR("://"));
    size_t     start = (size_t)scheme + 3, end, at = start;
    bool       database = address_is_database(address);
    struct str user, shown;

    if (scheme < 0 || memchr(address.ptr, '/', (size_t)scheme)) return address;
    for (size_t i = start; database && i < address.len && address.ptr[i] != '/'; i++)
        if (address.ptr[i] == '@') at = i + 1; /* for libpq a ? before it is the password's */
    for (end = at; end < address.len; end++)
        if (address.ptr[end] == '?' || (address.ptr[end] == '#' && !database)) break;
    for (size_t i = start; i < end; i++)
        if (address.ptr[i] == '@') at = i + 1;
    user = str_n(address.ptr + start, at - start);
    if (user.len) user.len--; /* its @ */
    const char *colon = user.len ? memchr(user.ptr, ':', user.len) : NULL;
    if (colon) user.len = (size_t)(colon - user.ptr);
    shown = arena_printf(a, STR_FMT STR_FMT "%s" STR_FMT, STR_ARG(str_cut(address, start)),
                         STR_ARG(user), at > start ? "@" : "",
                         STR_ARG(str_n(address.ptr + at, end - at)));
    return shown.ptr ? shown : str_cut(address, start);
}
