/* key.c -- `parley key [NAME [ROLE...]]`: makes a bearer key.
 *
 * The key is printed once and kept nowhere; the configuration gets its SHA-256, with which nobody
 * can come in.
 */
#include <string.h>

#include "base/id.h"
#include "base/jsonw.h"
#include "base/secret.h"
#include "cli/cli.h"

#define KEY_LETTERS 43 /* of six bits: a little more than 256 */

/* "pk_" lets a scanner of logs and repositories know it for what it is. */
static bool make_key(char out[80], char hex[65])
{
    memcpy(out, "pk_", 3);
    id_letters(out + 3, KEY_LETTERS);
    out[3 + KEY_LETTERS] = '\0';
    return auth_key_digest(str_c(out), hex);
}

static bool known_role(const char *word)
{
    return strcmp(word, "user") == 0 || strcmp(word, "approver") == 0 ||
           strcmp(word, "admin") == 0 || strcmp(word, "agent") == 0;
}

static void write_entry(struct buf *b, const char *hex, const char *name, int role_count,
                        char **roles)
{
    struct jsonw w;

    jsonw_init(&w, b);
    jw_obj(&w);
    jw_kstrz(&w, "sha256", hex);
    jw_kstrz(&w, "principal", name);
    jw_key(&w, "roles");
    jw_arr(&w);
    if (role_count < 1) jw_strz(&w, "user");
    for (int i = 0; i < role_count; i++) jw_strz(&w, roles[i]);
    jw_end_arr(&w);
    jw_end_obj(&w);
}

/* The line that is printed must be one that `check` takes. */
static bool sound(int argc, char **words)
{
    if (argc && !config_principal_fits(str_c(words[0]))) {
        cli_fail("a name has 1 to %d bytes of UTF-8 and no control characters; say parley "
                 "key NAME.",
                 PRINCIPAL_MAX);
        return false;
    }
    for (int i = 1; i < argc; i++) {
        if (known_role(words[i])) continue;
        cli_fail("\"%s\" is not a role; say parley key NAME, then user, approver, admin or "
                 "agent.",
                 words[i]);
        return false;
    }
    return true;
}

int cli_key(int argc, char **argv)
{
    struct cli_line line;
    char            key[80], hex[65];
    struct buf      b;

    if (!cli_read(argc, argv, "", argc, &line) || !sound(line.count, line.words)) return 2;
    if (!make_key(key, hex)) {
        fprintf(stderr, "parley: out of memory.\n");
        return 1;
    }
    buf_init(&b, 0);
    write_entry(&b, hex, line.count ? line.words[0] : "somebody", line.count - 1, line.words + 1);
    buf_chr(&b, '\0');
    if (b.err) {
        fprintf(stderr, "parley: out of memory.\n");
        buf_done(&b);
        return 1;
    }
    printf("%s\n\nThis key is shown once; hand it over and keep no copy. In the configuration, "
           "under \"auth\": {\"keys\": [...]}:\n\n  %s\n",
           key, b.ptr);
    buf_done(&b);
    secret_wipe(key, sizeof key);
    return 0;
}
