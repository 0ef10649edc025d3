/* people.c -- see people.h. */
#include "run/people.h"

#include "base/buf.h"
#include "base/map.h"

struct person {
    struct str name, roles;
    bool       certain;
    char       text[];
};

struct people {
    struct map by_name;
    bool       whole;
};

struct people *people_new(void)
{
    struct people *p = mem_alloc(sizeof *p);
    if (p) map_init(&p->by_name);
    return p;
}

void people_free(struct people *p)
{
    struct person *x;
    if (!p) return;
    for (size_t i = 0; (x = map_each(&p->by_name, &i));) mem_free(x);
    map_done(&p->by_name);
    mem_free(p);
}

static void put(struct people *p, struct str name, struct str roles, bool certain)
{
    struct person *old = map_get(&p->by_name, name), *x;
    if (!(x = mem_alloc(sizeof *x + name.len + roles.len + 1))) return;
    x->certain = certain;
    memcpy(x->text, name.ptr, name.len);
    if (roles.len) memcpy(x->text + name.len, roles.ptr, roles.len);
    x->name = str_n(x->text, name.len);
    x->roles = str_n(x->text + name.len, roles.len);
    map_remove(&p->by_name, name);
    mem_free(old);
    if (map_put(&p->by_name, x->name, x) != OK) mem_free(x);
}

void people_know(struct people *p, struct str name, struct str roles)
{
    if (p && name.len) put(p, name, roles, true);
}

void people_saw(struct people *p, struct str name, struct str roles)
{
    const struct person *old = p && name.len ? map_get(&p->by_name, name) : NULL;
    if (!p || !name.len || (old && (old->certain || str_eq(old->roles, roles)))) return;
    if (old || p->by_name.count < PEOPLE_MAX) put(p, name, roles, false);
}

struct str people_roles(const struct people *p, struct str name)
{
    const struct person *x = p ? map_get(&p->by_name, name) : NULL;
    return x ? x->roles : STR_NONE;
}

bool roles_have(struct str roles, struct str word)
{
    struct str one;
    while (str_split(&roles, ' ', &one))
        if (one.len && str_eq(one, word)) return true;
    return false;
}

void people_whole(struct people *p)
{
    p->whole = true;
}

struct str people_still(const struct people *p, struct arena *a, struct str name, struct str roles)
{
    struct str now = people_roles(p, name), one;
    struct buf b;
    if (!now.ptr && !(p && p->whole)) return roles;
    buf_init(&b, 0);
    while (str_split(&roles, ' ', &one))
        if (one.len && roles_have(now, one)) buf_printf(&b, STR_FMT " ", STR_ARG(one));
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

bool people_may(const struct people *p, struct str name, struct str role)
{
    struct str roles = people_roles(p, name);
    if (!role.len || str_is(role, "owner")) return true;
    if (!roles.ptr) return !p || !p->whole;
    return roles_have(roles, role);
}
