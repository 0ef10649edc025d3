/* test.h -- unit tests that read as sentences.
 *
 *     TEST(another_session_cannot_approve) { CHECK(...); }
 *
 * TEST registers itself. CHECK notes a failure and goes on; REQUIRE ends the
 * test. `unit WORD` runs the tests whose name or file contains WORD.
 */
#ifndef PARLEY_TEST_H
#define PARLEY_TEST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

struct test {
    const char *name, *file;
    void (*run)(void);
    struct test *next;
};
void           test_register(struct test *t);
void           test_failed(const char *file, int line, const char *what);
extern jmp_buf test_leave;

#define TEST(name)                                                     \
    static void                              test_##name(void);        \
    __attribute__((constructor)) static void register_##name(void)     \
    {                                                                  \
        static struct test t = { #name, __FILE__, test_##name, NULL }; \
        test_register(&t);                                             \
    }                                                                  \
    static void test_##name(void)

#define CHECK(cond) ((cond) ? (void)0 : test_failed(__FILE__, __LINE__, #cond))
#define REQUIRE(cond) \
    ((cond) ? (void)0 : (test_failed(__FILE__, __LINE__, #cond), longjmp(test_leave, 1)))
/* Shows both sides when they differ. */
#define CHECK_STR(got, want) test_check_str(__FILE__, __LINE__, (got), str_c(want))
void        test_check_str(const char *file, int line, struct str got, struct str want);
/* Said beside what fails: in which of several stores, or rounds. NULL: nothing. */
void        test_place(const char *word);
/* What this process and those it waited for have worked so far, in seconds. For what must not take
 * more than so much: unlike a clock it stands still while the machine has no time for us. */
double      test_worked(void);
/* A temporary folder, removed when the tests end. */
const char *test_dir(void);

#endif
