/* The chain of words: blanks are nothing, everything else counts. */
#include "run/chain.h"
#include "test.h"

static struct str hash_of(char out[CHAIN_LEN], const char *const *words)
{
    struct chain c;
    chain_init(&c);
    for (; *words; words++)
        chain_add(&c, **words == '>' ? CHAIN_USER : CHAIN_ASSISTANT, str_from(str_c(*words), 1));
    CHECK(chain_hash(&c, out));
    chain_done(&c);
    return str_n(out, CHAIN_LEN);
}
#define HASH(...) hash_of((char[CHAIN_LEN]){ 0 }, (const char *const[]){ __VA_ARGS__, NULL })

TEST(the_same_words_have_the_same_hash_however_they_are_spaced_and_cut)
{
    struct str h = HASH(">Hello there", "<Hi!", ">Pay");
    CHECK(str_eq(h, HASH("> Hello\n there ", "<", "<Hi!\n", ">P", ">ay")));
    CHECK(str_eq(h, HASH(">Hello\u00a0there", "<H", "<i!", ">Pay")));
    CHECK(!str_eq(h, HASH(">Hello there", "<Hi", ">Pay")));
    CHECK(!str_eq(h, HASH(">Hello there<Hi!", ">Pay")));
    CHECK(!str_eq(h, HASH("<Hello there", ">Hi!", "<Pay")));
    CHECK(!str_eq(HASH(">ab", "<c"), HASH(">a", "<bc")));
}

TEST(a_chain_goes_on_from_the_hash_of_its_beginning)
{
    struct chain c;
    char         start[CHAIN_LEN], end[CHAIN_LEN];
    hash_of(start, (const char *const[]){ ">Hello", NULL });
    chain_init(&c);
    chain_resume(&c, str_n(start, CHAIN_LEN), CHAIN_USER);
    chain_add(&c, CHAIN_ASSISTANT, STR("Hi!"));
    chain_add(&c, CHAIN_USER, STR("Pay"));
    CHECK(chain_hash(&c, end));
    chain_done(&c);
    CHECK(str_eq(str_n(end, CHAIN_LEN), HASH(">Hello", "<Hi!", ">Pay")));
}

TEST(a_beginning_is_a_beginning)
{
    CHECK(chain_begins(STR("Once upon a time"), STR("Once up")));
    CHECK(chain_begins(STR("Once upon a time"), STR(" Once upon\na time ")));
    CHECK(!chain_begins(STR("Once upon a time"), STR("upon")));
    CHECK(!chain_begins(STR("Once"), STR(" ")));
    CHECK(!chain_begins(STR("Once"), STR("Once more")));
}
