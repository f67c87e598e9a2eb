// SPDX-License-Identifier: Apache-2.0
/* Declared and called categories. That manifests are read is tested by tests/integration/findings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings_manifest.h"
#include "made.h"
#include "test.h"

#define PREFIX "NSPrivacyAccessedAPICategory"

/* The state of a category, with the calls by the program and by libraries: "called but undeclared 2
 * 0". declared: its name without the prefix, "" for none; a ! before it: without a reason. */
static const char *state_of(const struct made *made, const char *declared, const char *category)
{
    static char text[128];
    static struct sonde__manifest_result result;
    struct sonde__manifest manifest = {0};
    char name[128];
    if (*declared != '\0') {
        bool has_reason = *declared != '!';
        snprintf(manifest.entries[0].category, sizeof manifest.entries[0].category, PREFIX "%s",
                 declared + !has_reason);
        manifest.entries[0].reason_count = has_reason;
        manifest.count = 1;
    }
    sonde__manifest_compare(&manifest, NULL, made->report, &result);
    snprintf(name, sizeof name, PREFIX "%s", category);
    for (uint32_t i = 0; i < result.count; i++) {
        const struct sonde__manifest_line *line = &result.lines[i];
        if (strcmp(line->category, name) == 0) {
            snprintf(text, sizeof text, "%s %u %u", sonde__manifest_state_text(line->state),
                     (unsigned)line->calls, (unsigned)line->system_calls);
            return text;
        }
    }
    return "missing";
}

TEST(manifest_declared_and_called)
{
    struct made made = made_recording();
    made_call(&made, "statvfs", 0, "main", 2);
    made_call(&made, "statvfs", 0, "main @find", 5); /* a library calls it */
    made_call(&made, "mach_absolute_time", 0, "", 0);
    CHECK_STR(state_of(&made, "", "DiskSpace"), "called but undeclared 2 5");
    CHECK_STR(state_of(&made, "DiskSpace", "DiskSpace"), "declared and called 2 5");
    CHECK_STR(state_of(&made, "!DiskSpace", "DiskSpace"), "declared without a reason 2 5");
    CHECK_STR(state_of(&made, "SystemBootTime", "SystemBootTime"), "declared but never called 0 0");
    CHECK_STR(state_of(&made, "UserDefaults", "UserDefaults"), "not known 0 0");
    CHECK_STR(state_of(&made, "UserDefault", "UserDefault"), "no category of Apple's 0 0");
    CHECK_STR(state_of(&made, "", "ActiveKeyboards"), "neither 0 0");
    sonde__report_destroy(made.report);
}

/* The pack of the same categories has Apple's list once more: all of its functions are known. */
TEST(manifest_knows_the_functions_of_the_pack)
{
    char path[600], functions[2000] = "", *rest = NULL, *list_rest = NULL;
    unsigned known = 0;
    snprintf(path, sizeof path, "%s/packs/apple-required-reason.ini", test_source_dir());
    char *text = test_read_file(path, NULL);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *value = strstr(line, "= ");
        if (strstr(line, "  api ") == line) {
            strcat(functions, value + 2); /* NOLINT: the file is ours */
            strcat(functions, ", ");      /* NOLINT */
        } else if (strstr(line, "  class ") == line) {
            for (char *f = strtok_r(functions, ",", &list_rest); f != NULL;
                 f = strtok_r(NULL, ",", &list_rest)) {
                struct made made = made_recording();
                f += strspn(f, " ");
                made_call(&made, f, 0, "main", 1);
                const char *state = state_of(&made, "", value + 2 + strlen(PREFIX));
                if (*f != '\0' && strcmp(state, "called but undeclared 1 0") != 0) {
                    FAIL("%s: %s: %s", f, value, state);
                }
                known += *f != '\0';
                sonde__report_destroy(made.report);
            }
            functions[0] = '\0';
        }
    }
    free(text);
    CHECK(known >= 20);
}

TEST(manifest_knows_the_names_of_functions)
{
    static const struct {
        const char *function, *category;
    } cases[] = {
        {"stat64", "FileTimestamp"},
        {"__xstat64", "FileTimestamp"},
        {"__fxstatat", "FileTimestamp"},
        {"fstatat$INODE64", "FileTimestamp"},
        {"lstat@GLIBC_2.33", "FileTimestamp"},
        {"-[NSUserDefaults objectForKey:]", "UserDefaults"},
        {"+[UITextInputMode activeInputModes]", "ActiveKeyboards"},
        {"-[NSProcessInfo systemUptime]", "SystemBootTime"},
        {"fstatvfs64", "DiskSpace"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made made = made_recording();
        made_call(&made, cases[i].function, 0, "main", 1);
        CHECK_STR(state_of(&made, "", cases[i].category), "called but undeclared 1 0");
        sonde__report_destroy(made.report);
    }
    struct made made = made_recording();
    made_call(&made, "statx", 0, "main", 1);
    made_call(&made, "fstatvfs6", 0, "main", 1);
    made_call(&made, "-[UITextInputMode activeInputModes]", 0, "main", 1);
    CHECK_STR(state_of(&made, "", "FileTimestamp"), "neither 0 0");
    CHECK_STR(state_of(&made, "", "DiskSpace"), "neither 0 0");
    CHECK_STR(state_of(&made, "", "ActiveKeyboards"), "neither 0 0");
    sonde__report_destroy(made.report);
}

/* One declaration is enough for a function of two categories. */
TEST(manifest_function_of_two_categories)
{
    struct made made = made_recording();
    made_call(&made, "getattrlist", 0, "main", 1);
    CHECK_STR(state_of(&made, "FileTimestamp", "DiskSpace"), "neither 0 0");
    CHECK_STR(state_of(&made, "DiskSpace", "FileTimestamp"), "neither 0 0");
    CHECK_STR(state_of(&made, "", "FileTimestamp"), "called but undeclared 1 0");
    sonde__report_destroy(made.report);
}

/* What was not called may have been missed. */
TEST(manifest_says_what_may_be_missing)
{
    struct made made = made_recording();
    struct sonde__report_call missed = {
        .function = sonde__report_string(made.report, "mach_absolute_time"),
        .missed = sonde__report_string(made.report, "direct calls inside /lib/libc.so.6")};
    made_call(&made, "mach_absolute_time", 0, "", 0);
    sonde__report_add_call(made.report, &missed); /* it would be the library's call */
    CHECK_STR(state_of(&made, "SystemBootTime", "SystemBootTime"), "declared but never called 0 0");
    missed.missed = sonde__report_string(made.report, "direct calls inside /opt/app");
    sonde__report_add_call(made.report, &missed);
    CHECK_STR(state_of(&made, "SystemBootTime", "SystemBootTime"), "not known 0 0");
    sonde__report_destroy(made.report);
}
