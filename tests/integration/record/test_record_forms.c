// SPDX-License-Identifier: Apache-2.0
/* Callers and counts, against the program's source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "forms.h"
#include "programs.h"

static const char *write_list(const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/list", test_folder());
    test_write_file(path, text, strlen(text));
    return path;
}

static struct test_run record(const char *list, const char *program, const char *report,
                              const char *other)
{
    const char *argv[] = {program_sonde(),
                          "run",
                          "--verbose",
                          "--record",
                          write_list(list),
                          "--report",
                          report,
                          "--",
                          program,
                          program_built("record/libforms_loaded.so"),
                          other,
                          NULL};
    return test_run(argv, NULL, NULL, 60);
}

static char *show(const char *report)
{
    const char *argv[] = {program_sonde(), "show", report, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    CHECK_EQ(run.status, 0);
    char *text = strdup(run.out);
    test_run_done(&run);
    return text;
}

static void check_forms(const char *program)
{
    char report[512];
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct test_run run = record("# what is recorded\napi_call\n", program_built(program), report,
                                 program_built("record/libforms_api.so"));
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "done\n");
    char *text = show(report);
    CHECK_EQ(count_from(text, "form_plt"), FORM_PLT);
    CHECK_EQ(count_from(text, "form_no_plt"), FORM_NO_PLT);
    CHECK_EQ(count_from(text, "form_static_pointer"), FORM_STATIC_POINTER);
    CHECK_EQ(count_from(text, "form_dlsym_default"), FORM_DLSYM_DEFAULT);
    CHECK_EQ(count_from(text, "form_dlsym_next"), FORM_DLSYM_NEXT);
    CHECK_EQ(count_from(text, "form_dlsym_handle"), FORM_DLSYM_HANDLE);
    CHECK_EQ(count_from(text, "form_loaded_constructor"), 2 * FORM_LOADED_CONSTRUCTOR);
    CHECK_EQ(count_from(text, "form_loaded"), 2 * FORM_LOADED);
    CHECK_EQ(count_from(text, "form_started_constructor"), FORM_STARTED_CONSTRUCTOR);
    CHECK_EQ(count_from(text, "form_started_destructor"), FORM_STARTED_DESTRUCTOR);
    CHECK_EQ(count_from(text, "form_inside_by_table"), FORM_INSIDE_BY_TABLE);
    CHECK_EQ(count_from(text, "form_threads"), 4 * FORM_THREADS);
    /* calls that are not recorded, and reported as such */
    CHECK_EQ(count_from(text, "form_inside_hidden"), 0);
    CHECK_EQ(count_from(text, "form_other_space"), 0);
    CHECK_EQ(count_from(text, "form_forked"), 0);
    CHECK_CONTAINS(run.err, "libforms_api.so: api_call: calls inside the library that defines it");
    CHECK_CONTAINS(run.err, "it may load into another namespace (dlmopen)");
    free(text);
    test_run_done(&run);
}

TEST(every_form_of_call_bound_when_it_is_first_made)
{
    check_forms("record/forms_lazy");
}

TEST(every_form_of_call_bound_at_the_start)
{
    check_forms("record/forms_now");
}

/* An alias counts as the function where its slot is bound. */
TEST(an_alias_counts_where_it_is_bound)
{
    char report[512];
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct test_run run = record("api_call\n", program_built("record/forms_now"), report, NULL);
    char *text = show(report);
    CHECK_EQ(count_from(text, "form_alias"), FORM_ALIAS);
    free(text);
    test_run_done(&run);
}

/* The same with all names known to other images. A name that an earlier library defines means that
 * library's function. */
TEST(other_names_of_a_function_count)
{
    char report[512];
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct test_run run = record("alias_one\n", program_built("record/alias_calls"), report, NULL);
    CHECK_EQ(run.status, 0);
    char *text = show(report);
    CHECK_CONTAINS(text, "alias_one  1 call from");
    CHECK_CONTAINS(text, "alias_three  2 calls from");
    CHECK(strstr(text, "alias_two") == NULL);
    free(text);
    test_run_done(&run);
}

TEST(symbols_that_are_no_functions_are_reported)
{
    char report[512];
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct test_run run = record("api_call\nenviron\nno_such_function_anywhere\n",
                                 program_built("record/forms_lazy"), report, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "environ: it is a variable, not a function");
    CHECK_CONTAINS(run.err, "no_such_function_anywhere: no loaded library defines it");
    test_run_done(&run);
}

TEST(a_bad_list_is_refused)
{
    char report[512];
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct test_run run = record("getenv\n\nnot a name\n", "/bin/true", report, NULL);
    CHECK_EQ(run.status, 125);
    CHECK_CONTAINS(run.err,
                   "list:3: column 4: expected a letter, a digit, _ $ . * or ?: not a name");
    test_run_done(&run);
    run = record("# nothing\n", "/bin/true", report, NULL);
    CHECK_EQ(run.status, 125);
    CHECK_CONTAINS(run.err, "no function is named in it");
    test_run_done(&run);
}

/* Frames of the system are folded; counts do not change. */
TEST(only_the_programs_own_frames)
{
    const char *argv[] = {program_sonde(),
                          "run",
                          "--app-only",
                          "--record",
                          write_list("api_call\n"),
                          "--",
                          program_built("record/forms_now"),
                          program_built("record/libforms_loaded.so"),
                          NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_CONTAINS(run.err, "of the program's own frames\n");
    CHECK_CONTAINS(run.err, "    #0  form_plt+");
    CHECK_CONTAINS(run.err, "        ... 2 system frames ...\n    #4  _start+");
    CHECK(strstr(run.err, "__libc_start_main") == NULL);
    test_run_done(&run);
}

/* The same with a user's rule: libc counts as app code, the program does not. */
TEST(rules_say_which_frames_are_the_apps)
{
    const char *argv[] = {program_sonde(),
                          "run",
                          "--app-only",
                          "--record",
                          write_list("api_call\n"),
                          "--",
                          program_built("record/forms_now"),
                          program_built("record/libforms_loaded.so"),
                          NULL};
    char not_app[600];
    snprintf(not_app, sizeof not_app, "SONDE_NOT_APP=/nowhere:%s", test_build_dir());
    const char *env[] = {"SONDE_APP=/lib/:/usr/lib/", not_app, NULL};
    struct test_run run = test_run(argv, env, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "__libc_start_main");
    CHECK(strstr(run.err, "form_plt+") == NULL);
    test_run_done(&run);
    const char *bad[] = {"SONDE_APP=relative", NULL};
    run = test_run(argv, bad, NULL, 60);
    CHECK(run.status != 0);
    CHECK_CONTAINS(run.err, "SONDE_APP: not an absolute path");
    test_run_done(&run);
}
