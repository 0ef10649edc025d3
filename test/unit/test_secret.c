/* test_secret.c -- secrets are copied, and gone when they are done. */
#include "test.h"

#include "base/secret.h"

TEST(a_secret_is_a_copy_and_is_empty_when_done)
{
    char          key[] = "sk-123";
    struct secret s = { 0 };
    CHECK(!secret_is_set(&s) && secret_view(&s).len == 0);
    REQUIRE(secret_set(&s, str_c(key)) == OK);
    secret_wipe(key, sizeof key);
    CHECK(key[0] == '\0' && key[5] == '\0');
    CHECK_STR(secret_view(&s), "sk-123");
    REQUIRE(secret_set(&s, STR("other")) == OK);
    CHECK_STR(secret_view(&s), "other");
    secret_done(&s);
    CHECK(!secret_is_set(&s) && s.ptr == NULL);
}
