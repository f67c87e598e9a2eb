// SPDX-License-Identifier: Apache-2.0
/* A program has secrets in a child's command line and in a file's path (secrets.py). No byte of
 * them is in a file that sonde writes, or in its output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

static const char *const formats[] = {"folded",    "firefox",  "speedscope", "pprof",
                                      "otlp-1.10", "perfetto", "apple",      "bs",
                                      "glibc",     "json",     "text"};

/* Run it with these rules, in the test's folder, whose part "people/kimsecret" is HOME: with a
 * report, a spool folder, whose live file is copied during each stall, all exports, and printed
 * output. The followed program has a watch of its own. */
static void run_program(const char *rules)
{
    static char command[8192];
    const char *const argv[] = {"sh", "-c", command, NULL};
    unsigned ms = 600 * test_slack();
    int used = snprintf(
        command, sizeof command,
        "set -e; cd %s; rm -rf out people; mkdir -p out people/kimsecret; export "
        "HOME=$PWD/people/kimsecret "
        "USER=kimsecret; mkfifo $HOME/fifo; unset SONDE_SCRUB XDG_CONFIG_HOME; cp %s $HOME/run.py;"
        "(i=0; while [ $i -lt 200 ] && ! [ -e done ]; do cp out/*.live out/live.$i 2>/dev/null || "
        "true; "
        "i=$((i+1)); sleep 0.1; done) & "
        "%s run --stall=%ums %s --spool out --report out/report.sonde -- "
        "/usr/bin/python3 $HOME/run.py $HOME/fifo %u.%03u >out/stdout 2>out/stderr; touch done;",
        test_folder(), program_source("privacy/secrets.py"), program_sonde(), 200 * test_slack(),
        rules, ms / 1000, ms % 1000);
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) {
        used += snprintf(command + used, sizeof command - (size_t)used,
                         "%s export --format=%s out/report.sonde >out/export.%s;", program_sonde(),
                         formats[i], formats[i]);
    }
    snprintf(command + used, sizeof command - (size_t)used, "wait; rm -f done");
    struct test_run run = test_run(argv, NULL, NULL, 100);
    if (run.status != 0) {
        FAIL("%s\n%s%s", command, run.out, run.err);
    }
    test_run_done(&run);
}

/* The files of out/ that contain a text, separated by spaces. */
static char *files_with(const char *text)
{
    static char command[1024];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command,
             "cd %s/out && grep -l -a -r -F -e '%s' . | sort | tr '\\n' ' '", test_folder(), text);
    struct test_run run = test_run(argv, NULL, NULL, 30);
    char *files = strdup(run.out);
    test_run_done(&run);
    return files;
}

static void check_nowhere(const char *text)
{
    char *files = files_with(text);
    if (files[0] != '\0') {
        FAIL("%s is in %s", text, files);
    }
    free(files);
}

static void check_in(const char *text, const char *file)
{
    char *files = files_with(text);
    CHECK_CONTAINS(files, file);
    free(files);
}

TIMED_TEST(privacy_no_secret_is_written, 100)
{
    run_program("");
    check_nowhere("hunter2");
    check_nowhere("kimsecret");
    check_nowhere("pass3");
    check_nowhere("key4secret=1");
    /* the text around the secrets is there */
    check_in("--password=***", "./report.sonde");
    check_in("--password=***", "./live.");
    check_in("--password=***", "./export.json");
    check_in("--password=***", "./stderr");
    check_in("~/fifo", "./report.sonde");
    check_in("~/fifo", "./live.");
}

/* Without rules the search finds the secrets. */
TIMED_TEST(privacy_can_be_turned_off, 100)
{
    run_program("--scrub=none");
    check_in("--password=hunter2secret", "./report.sonde");
    check_in("--password=hunter2secret", "./live.");
    check_in("people/kimsecret/fifo", "./export.json");
}

TIMED_TEST(privacy_arguments_and_own_texts, 100)
{
    run_program("--scrub=arguments,text:fifo");
    check_nowhere("--password");
    check_nowhere("~/fifo");
    check_in("~/***", "./report.sonde");
    check_in("(sh \xe2\x80\xa6)", "./report.sonde");
}

/* Rules come from a file and the environment. A wrong rule ends sonde before it writes anything. */
TEST(privacy_rules_are_read_or_sonde_ends)
{
    static const struct {
        const char *setup, *out;
        int status;
    } cases[] = {
        {"mkdir -p c/sonde; printf '# ours\\n\\ntext:bluebird\\n' >c/sonde/scrub;"
         "XDG_CONFIG_HOME=$PWD/c $SONDE stacks --tag p=bluebird1 $P",
         "p=***1", 0},
        {"SONDE_SCRUB=text:bluebird $SONDE stacks --tag p=bluebird2 $P", "p=***2", 0},
        {"$SONDE stacks --scrub text:bluebird --tag p=bluebird3 $P", "p=***3", 0},
        {"mkdir -p d/sonde; echo everything >d/sonde/scrub; XDG_CONFIG_HOME=$PWD/d $SONDE stacks "
         "$P",
         "", 2},
        {"mkdir -p f/sonde/scrub; XDG_CONFIG_HOME=$PWD/f $SONDE stacks $P", "", 2},
        {"SONDE_SCRUB=ip,bad $SONDE stacks $P", "", 2},
        {"$SONDE stacks --scrub=ips $P", "", 2},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[1024];
        const char *const argv[] = {"sh", "-c", command, NULL};
        snprintf(command, sizeof command,
                 "cd %s; SONDE=%s; sleep 60 & P=$!; sleep 0.1; %s >o 2>e; s=$?; kill $P; cat o; "
                 "cat e >&2; exit $s",
                 test_folder(), program_sonde(), cases[i].setup);
        struct test_run run = test_run(argv, NULL, NULL, 30);
        if (run.status != cases[i].status) {
            FAIL("%s: %d\n%s%s", cases[i].setup, run.status, run.out, run.err);
        }
        CHECK_CONTAINS(run.out, cases[i].out);
        CHECK((run.err[0] != '\0') == (cases[i].status != 0));
        test_run_done(&run);
    }
}
