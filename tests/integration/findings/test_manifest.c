// SPDX-License-Identifier: Apache-2.0
/* Recordings against privacy manifests that Python's plistlib writes, as XML and binary. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

/* Run a line of shell in the test's folder, with `manifest FORMAT CATEGORY=REASONS…` to make one,
 * and a recording of a program that calls stat() 3 times and statvfs() once. */
static struct test_run run_privacy(const char *line)
{
    static char command[8192];
    const char *const argv[] = {"bash", "-c", command, NULL};
    snprintf(command, sizeof command,
             "cd %s; export SONDE=%s XDG_CACHE_HOME=$PWD/cache\n"
             "manifest() { /usr/bin/python3 - \"$@\" <<'END'\n"
             "import plistlib, sys\n"
             "types = [{'NSPrivacyAccessedAPIType': 'NSPrivacyAccessedAPICategory' + name,\n"
             "          'NSPrivacyAccessedAPITypeReasons': reasons.split(',') if reasons else []}\n"
             "         for name, reasons in (a.split('=') for a in sys.argv[2:])]\n"
             "plistlib.dump({'NSPrivacyTracking': False, 'NSPrivacyAccessedAPITypes': types},\n"
             "              open('PrivacyInfo.xcprivacy', 'wb'),\n"
             "              fmt=getattr(plistlib, 'FMT_' + sys.argv[1]))\n"
             "END\n}\n"
             "if [ ! -e app.sonde ]; then cat >app.c <<'END'\n"
             "#include <sys/stat.h>\n"
             "#include <sys/statvfs.h>\n"
             "static int ask(void) { struct statvfs s; return statvfs(\"/\", &s); }\n"
             "int main(void) { struct stat s; int r = 0; for (int i = 0; i < 3; i++) r += "
             "stat(\"/\", &s); return r + ask(); }\n"
             "END\n"
             "gcc -g -O0 app.c -o app && printf 'stat\\nlstat\\nstatvfs\\n' >list && "
             "\"$SONDE\" run --record list --report app.sonde --quiet -- ./app || exit 99; fi\n"
             "privacy() { \"$SONDE\" privacy --no-network \"$@\" PrivacyInfo.xcprivacy app.sonde; "
             "}\n%s",
             test_folder(), program_sonde(), line);
    return test_run(argv, NULL, NULL, 60);
}

/* The line of a category. */
static void check(const char *line, int status, const char *out)
{
    struct test_run run = run_privacy(line);
    if (run.status != status || strstr(run.out, out) == NULL) {
        FAIL("%s\n%d instead of %d\n%s%s", line, run.status, status, run.out, run.err);
    }
    test_run_done(&run);
}

#define CATEGORY "NSPrivacyAccessedAPICategory"

TEST_TIMEOUT(privacy_compares_declared_and_called, 60)
{
    static const char *const formats[] = {"XML", "BINARY"};
    for (unsigned i = 0; i < 2; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "manifest %s FileTimestamp=C617.1,3B52.1 SystemBootTime=35F9.1 UserDefaults= "
                 "Wrong=X; privacy --color never",
                 formats[i]);
        struct test_run run = run_privacy(line);
        CHECK_EQ(run.status, 0);
        CHECK_CONTAINS(run.out, "called but undeclared: " CATEGORY "DiskSpace, 1 call\n"
                                "  statvfs, 1 call\n");
        CHECK_CONTAINS(run.out, " ask+0x");
        CHECK_CONTAINS(run.out, "declared without a reason: " CATEGORY "UserDefaults\n");
        CHECK_CONTAINS(run.out, "no category of Apple's: " CATEGORY "Wrong\n");
        CHECK_CONTAINS(run.out,
                       "not known: " CATEGORY "SystemBootTime, its functions were not recorded\n");
        CHECK_CONTAINS(run.out, "declared and called: " CATEGORY "FileTimestamp, 3 calls\n");
        test_run_done(&run);
    }
}

TEST_TIMEOUT(privacy_has_exit_codes, 60)
{
    check("manifest XML FileTimestamp=C617.1; privacy --fail-on error", 8,
          "called but undeclared: " CATEGORY "DiskSpace");
    check("manifest XML FileTimestamp=C617.1 DiskSpace=E174.1; privacy --fail-on note", 0, "");
    check("manifest BINARY FileTimestamp=C617.1 DiskSpace=E174.1 UserDefaults=CA92.1; "
          "privacy --fail-on warning",
          7, "not known: " CATEGORY "UserDefaults");
    check("\"$SONDE\" run --record list --report app.sonde --quiet -- /bin/true; manifest XML "
          "DiskSpace=E174.1; privacy --fail-on warning",
          8, "declared but never called: " CATEGORY "DiskSpace\n");
    check("privacy --fail-on error", 0, "");
}

/* Declarations of several files count together. */
TEST_TIMEOUT(privacy_takes_the_manifests_of_sdks, 60)
{
    check("manifest XML DiskSpace=E174.1; mv PrivacyInfo.xcprivacy sdk.xcprivacy; manifest BINARY "
          "FileTimestamp=C617.1; privacy --fail-on note sdk.xcprivacy",
          0, "declared and called: " CATEGORY "DiskSpace, 1 call\n");
}

/* A bundle: the app with its resources and each framework have calls and declarations of their own.
 */
#define BUNDLE                                                                                     \
    "mkdir -p Foo.app/Frameworks/Stat.framework Foo.app/Frameworks/Bare.framework/Resources "      \
    "Foo.app/Kit.bundle && printf '#include <sys/statvfs.h>\n#include <sys/stat.h>\nint "          \
    "ask(void) { "                                                                                 \
    "struct statvfs s; struct stat t; return statvfs(\"/\", &s) + stat(\"/\", &t) + stat(\"/\", "  \
    "&t); }\n' "                                                                                   \
    ">sdk.c && gcc -g -shared -fPIC sdk.c -o Foo.app/Frameworks/Stat.framework/Stat && printf "    \
    "'#include <sys/stat.h>\nint ask(void); int main(void) { struct stat s; return stat(\"/\", "   \
    "&s) + "                                                                                       \
    "ask(); }\n' >main.c && gcc -g main.c Foo.app/Frameworks/Stat.framework/Stat -o Foo.app/Foo "  \
    "&& "                                                                                          \
    "\"$SONDE\" run --record list --report app.sonde --quiet -- Foo.app/Foo; manifest XML "        \
    "DiskSpace=E174.1; mv PrivacyInfo.xcprivacy Foo.app/Kit.bundle; manifest BINARY "              \
    "FileTimestamp=C617.1; mv PrivacyInfo.xcprivacy Foo.app; manifest XML FileTimestamp=C617.1; "  \
    "mv PrivacyInfo.xcprivacy Foo.app/Frameworks/Stat.framework; \"$SONDE\" privacy --no-network "

TEST_TIMEOUT(privacy_compares_the_parts_of_a_bundle, 60)
{
    struct test_run run = run_privacy(BUNDLE "--color never Foo.app/ app.sonde");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "Foo.app: PrivacyInfo.xcprivacy, Kit.bundle/PrivacyInfo.xcprivacy\n"
                            "declared but never called: " CATEGORY "DiskSpace\n"
                            "declared and called: " CATEGORY "FileTimestamp, 1 call\n");
    CHECK_CONTAINS(run.out, "\nBare.framework: no manifest\n");
    CHECK_CONTAINS(run.out,
                   "\nStat.framework: Frameworks/Stat.framework/PrivacyInfo.xcprivacy\n"
                   "called but undeclared: " CATEGORY "DiskSpace, 1 call\n  statvfs, 1 call\n");
    CHECK_CONTAINS(run.out, "\ndeclared and called: " CATEGORY "FileTimestamp, 2 calls\n");
    test_run_done(&run);
    check(BUNDLE "--fail-on error Foo.app app.sonde", 8, "Stat.framework");
    run = run_privacy(BUNDLE "--json Foo.app app.sonde");
    struct json *json = json_parse(run.out);
    const struct json *first = json_need(json, "parts")->first;
    CHECK_STR(json_text(first, "name"), "Foo.app");
    CHECK_STR(json_text(json_need(first, "categories")->first, "state"),
              "declared but never called");
    json_free(json);
    test_run_done(&run);
}

TEST_TIMEOUT(privacy_json_has_the_same, 60)
{
    struct test_run run = run_privacy("manifest XML FileTimestamp=C617.1; privacy --json");
    CHECK_EQ(run.status, 0);
    struct json *json = json_parse(run.out);
    const struct json *first = json_need(json, "categories")->first;
    CHECK_STR(json_text(first, "category"), CATEGORY "DiskSpace");
    CHECK_STR(json_text(first, "state"), "called but undeclared");
    CHECK_EQ(json_int(first, "calls"), 1);
    CHECK_STR(json_text(json_need(first, "frames")->first, "function"), "ask");
    json_free(json);
    test_run_done(&run);
}

TEST_TIMEOUT(privacy_refuses_what_is_no_manifest, 60)
{
    static const struct {
        const char *line;
        int status;
    } cases[] = {
        {"echo hello >PrivacyInfo.xcprivacy; privacy", 5},
        {": >PrivacyInfo.xcprivacy; privacy", 5},
        {"manifest BINARY DiskSpace=E174.1; head -c 40 PrivacyInfo.xcprivacy >x; mv x "
         "PrivacyInfo.xcprivacy; privacy",
         5},
        {"/usr/bin/python3 -c 'import plistlib; plistlib.dump({\"NSPrivacyAccessedAPITypes\": "
         "[1]}, "
         "open(\"PrivacyInfo.xcprivacy\", \"wb\"))'; privacy",
         5},
        {"\"$SONDE\" privacy /nowhere/x app.sonde", 3},
        {"\"$SONDE\" privacy app.sonde", 2},
        {"manifest XML; privacy app.sonde", 5}, /* a report is no manifest */
        {"manifest XML; sleep 60 & \"$SONDE\" stacks --report app.sonde $! >s; kill $!; privacy",
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_run run = run_privacy(cases[i].line);
        if (run.status != cases[i].status || *run.err == '\0') {
            FAIL("%s: %d\n%s%s", cases[i].line, run.status, run.out, run.err);
        }
        CHECK_STR(run.out, "");
        test_run_done(&run);
    }
}

/* One method that cannot be seen is named; the functions beside it were recorded. */
TEST_TIMEOUT(privacy_names_what_was_not_recorded, 60)
{
#define METHODS "-[NSURL getResourceValue:forKey:error:]\\n-[NSURL resourceValuesForKeys:error:]\\n"
    check("printf -- 'statfs\\n" METHODS "' >methods; \"$SONDE\" run --record methods --report "
          "app.sonde --quiet -- /bin/true; manifest XML DiskSpace=E174.1; privacy",
          0,
          "not known: " CATEGORY "DiskSpace, calls of -[NSURL getResourceValue:forKey:error:] may "
          "be missing: no runtime of Objective-C is loaded, and of 1 more\n");
    check("\"$SONDE\" run --record list --report app.sonde --quiet -- /bin/true; manifest XML "
          "DiskSpace=E174.1; privacy",
          0, "declared but never called: " CATEGORY "DiskSpace\n");
}

/* An audit does not name the functions that were not called. Its rules say what was looked for. */
TEST_TIMEOUT(privacy_says_what_an_audit_looked_for, 60)
{
#define AUDIT(rules)                                                                               \
    "manifest XML SystemBootTime=35F9.1 DiskSpace=E174.1; printf '" rules "' >rules.ini; "         \
    "\"$SONDE\" run --audit rules.ini --report app.sonde --quiet -- ./app 2>/dev/null; privacy"
    check(AUDIT("[pack]\\nuse = apple-required-reason\\n"), 0,
          "not known: " CATEGORY "SystemBootTime, no call by the audit's rules of this class\n");
    check(AUDIT("[rule \"a\"]\\napi = statvfs\\n"), 0,
          "declared and called: " CATEGORY "DiskSpace");
    check(AUDIT("[rule \"a\"]\\napi = statvfs\\n"), 0,
          "not known: " CATEGORY "SystemBootTime, no rule of the audit has this class\n");
}
