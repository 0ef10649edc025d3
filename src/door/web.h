/* web.h -- the page inside the program. The table is made by scripts/embed at build time. */
#ifndef PARLEY_WEB_H
#define PARLEY_WEB_H

struct web_file {
    const char *path, *type, *etag;
    /* NULL: not that way (scripts/embed says which have what); one of the first two is there, and
     * of index.html the plain one */
    const char *raw, *raw_end, *gz, *gz_end, *br, *br_end;
};
extern const struct web_file web_files[]; /* ended by an entry without a path */

#endif
