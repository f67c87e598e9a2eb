// SPDX-License-Identifier: Apache-2.0
/* Contents of a list, tested through the whole command. */
#include <stdio.h>
#include <string.h>

#include "programs.h"

static struct test_run record(const char *text, const char *option)
{
    static char list[512];
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, text, strlen(text));
    const char *argv[] = {program_sonde(),
                          "run",
                          option,
                          "--record",
                          list,
                          "--",
                          program_built("record/named_calls"),
                          NULL};
    return test_run(argv, NULL, NULL, 60);
}

TEST(patterns_and_names_of_cpp)
{
    static const struct {
        const char *text, *calls;
    } lists[] = {
        {"ns::f\n", "5 calls of 2 functions recorded"},
        {"ns::f(int)\n", "2 calls of 1 function recorded"},
        {"ns::f(char) # this one\nns::f(char)\n", "3 calls of 1 function recorded"},
        {"ns::*\n", "10 calls of 3 functions recorded"},
        {"ns::?(int)\n", "7 calls of 2 functions recorded"},
        {"_ZN2ns1?Ei\n", "7 calls of 2 functions recorded"},
        {"_ZN2ns1fEi\nns::g\n", "7 calls of 2 functions recorded"},
        {"_ZN2ns1fEi@V1\n", "_ZN2ns1fEi@V1: no loaded library defines it"},
    };
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct test_run run = record(lists[i].text, "-v");
        CHECK_EQ(run.status, 0);
        CHECK_CONTAINS(run.err, lists[i].calls);
        test_run_done(&run);
    }
}

TEST(wrong_lines)
{
    static const char text[] = "ns::f\n  1st\nns::nothing\n";
    struct test_run run = record(text, "-v");
    CHECK_EQ(run.status, 125);
    CHECK_CONTAINS(run.err, "/list:2: column 3: expected the name of a function: 1st");
    test_run_done(&run);
    run = record(text, "--keep-going");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "/list:2: column 3: expected the name of a function: 1st");
    CHECK_CONTAINS(run.err, "ns::nothing: matches no function of the libraries that the program "
                            "starts with");
    CHECK_CONTAINS(run.err, "5 calls of 2 functions recorded");
    test_run_done(&run);
}
