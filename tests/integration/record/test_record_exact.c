// SPDX-License-Identifier: Apache-2.0
/* Counts of 100 functions of libc and libm against a program with known counts (exact.c), in each
 * form of binding. */
#include <stdio.h>
#include <string.h>

#include "counts.h"
#include "programs.h"

static const char functions[] =
#define EACH(name, ...) #name "\n"
#include "exact.def"
#undef EACH
    ;

static void check_form_with(const char *form, const char *const env[])
{
    char list[512], program[64], caller[128];
    snprintf(list, sizeof list, "%s/list", test_folder());
    snprintf(program, sizeof program, "record/exact_%s", form);
    test_write_file(list, functions, strlen(functions));
    const char *plain[] = {program_built(program), NULL};
    const char *argv[] = {program_sonde(), "run", "--record", list,
                          "--top=all",     "--",  plain[0],   NULL};
    struct test_run knows = test_run(plain, env, "", 60);
    struct test_run run = test_run(argv, env, "", 120);
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
    CHECK(count > 90);
    test_run_done(&knows);
    test_run_done(&run);
}

static void check_form(const char *form)
{
    check_form_with(form, NULL);
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

/* Debian's jemalloc as an environment: `variable` is the library (LD_PRELOAD) or its folder. */
static const char *jemalloc(const char *variable)
{
    static char entry[600];
    const char *folder = program_unpacked("libjemalloc2", "usr/lib/x86_64-linux-gnu");
    if (folder == NULL) {
        SKIP("libjemalloc2 is not unpacked (./dev setup test)");
    }
    bool is_folder = strcmp(variable, "LD_LIBRARY_PATH") == 0;
    snprintf(entry, sizeof entry, "%s=%s%s", variable, folder,
             is_folder ? "" : "/libjemalloc.so.2");
    return entry;
}

TEST(with_a_preloaded_jemalloc)
{
    const char *env[] = {jemalloc("LD_PRELOAD"), NULL};
    check_form_with("pie_lazy", env);
}

TEST(with_a_linked_jemalloc)
{
    const char *env[] = {jemalloc("LD_LIBRARY_PATH"), NULL};
    check_form_with("jemalloc", env);
}

/* jemalloc reads its options at the first malloc() of the process, from libc's environment. */
static void check_statistics(const char *const argv[], const char *where)
{
    const char *env[] = {where, "MALLOC_CONF=stats_print:true", NULL};
    struct test_run run = test_run(argv, env, "", 120);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "call_malloc ");
    CHECK_CONTAINS(run.err, "Begin jemalloc statistics");
    CHECK_CONTAINS(run.err, "End jemalloc statistics");
    test_run_done(&run);
}

TEST(a_linked_jemalloc_sees_its_options)
{
    char list[512];
    const char *program = program_built("record/exact_jemalloc");
    const char *watched[] = {program_sonde(), "run", "--", program, NULL};
    const char *recorded[] = {program_sonde(), "run", "--record", list, "--", program, NULL};
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, "malloc\n", 7);
    check_statistics(watched + 3, jemalloc("LD_LIBRARY_PATH"));
    check_statistics(watched, jemalloc("LD_LIBRARY_PATH"));
    check_statistics(recorded, jemalloc("LD_LIBRARY_PATH"));
}

/* Not in sonde, which would print its own. */
TEST(a_preloaded_jemalloc_sees_its_options)
{
    const char *argv[] = {program_sonde(),
                          "run",
                          "--",
                          "/usr/bin/env",
                          jemalloc("LD_PRELOAD"),
                          program_built("record/exact_pie_lazy"),
                          NULL};
    check_statistics(argv, "SONDE_UNUSED=1");
}
