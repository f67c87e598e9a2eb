// SPDX-License-Identifier: Apache-2.0
/* Counts of 90 functions of libc and libm against a program that knows what it calls (exact.c), in
 * each form that a program can be bound in. */
#include <stdio.h>
#include <string.h>

#include "counts.h"
#include "programs.h"

static const char functions[] =
#define EACH(name, ...) #name "\n"
#include "exact.def"
#undef EACH
    ;

static void check_form(const char *form)
{
    char list[512], program[64], caller[128];
    snprintf(list, sizeof list, "%s/list", test_folder());
    snprintf(program, sizeof program, "record/exact_%s", form);
    test_write_file(list, functions, strlen(functions));
    const char *plain[] = {program_built(program), NULL};
    const char *argv[] = {program_sonde(), "run", "--record", list, "--", plain[0], NULL};
    struct test_run knows = test_run(plain, NULL, "", 60);
    struct test_run run = test_run(argv, NULL, "", 120);
    unsigned count = 0;
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, knows.out);
    for (const char *line = knows.out; *line != '\0'; line = strchr(line, '\n') + 1) {
        unsigned long long calls = 0;
        CHECK_EQ(sscanf(line, "%127s %llu", caller, &calls), 2);
        unsigned long long seen = count_from(run.err, caller);
        if (seen != calls) {
            test_fail(__FILE__, __LINE__, "%s: %s: %llu calls, %llu recorded", form, caller, calls,
                      seen);
        }
        count++;
    }
    CHECK(count > 80);
    test_run_done(&knows);
    test_run_done(&run);
}

#if defined(__x86_64__)
TEST(versions_are_told_apart)
{
    static const char versions[] = "realpath@GLIBC_2.2.5\npow@@GLIBC_2.29\nmemcpy@GLIBC_2.14\n";
    char list[512];
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, versions, strlen(versions));
    const char *argv[] = {program_sonde(),
                          "run",
                          "--record",
                          list,
                          "--",
                          program_built("record/exact_nopie_lazy"),
                          NULL};
    struct test_run run = test_run(argv, NULL, "", 120);
    CHECK_EQ(count_from(run.err, "call_old_realpath"), 6 * 203);
    CHECK_EQ(count_from(run.err, "call_realpath"), 0);
    CHECK_EQ(count_from(run.err, "call_old_pow"), 0);
    CHECK(count_from(run.err, "call_pow") > 0);
    CHECK_EQ(count_from(run.err, "call_old_memcpy"), 0);
    CHECK(count_from(run.err, "call_memcpy") > 0);
    test_run_done(&run);
}
#endif

TEST(pie_bound_lazily)
{
    check_form("pie_lazy");
}

TEST(pie_bound_at_the_start)
{
    check_form("pie_now");
}

TEST(pie_without_linkage_table)
{
    check_form("pie_noplt");
}

TEST(at_its_own_address_bound_lazily)
{
    check_form("nopie_lazy");
}

TEST(at_its_own_address_bound_at_the_start)
{
    check_form("nopie_now");
}

TEST(at_its_own_address_without_linkage_table)
{
    check_form("nopie_noplt");
}
