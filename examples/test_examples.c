// SPDX-License-Identifier: Apache-2.0
/* Runs the examples and checks their output. */
#include <stdio.h>
#include <string.h>

#include "test.h"

static struct test_run run_example(const char *name)
{
    char path[4096];
    struct test_run run;
    snprintf(path, sizeof path, "%s/examples/example_%s", test_build_dir(), name);
    const char *const argv[] = {path, NULL};
    run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("%s ended with %d: %s%s", name, run.status, run.out, run.err);
    }
    CHECK_STR(run.err, "");
    return run;
}

static void expect(const char *name, const char *const parts[])
{
    struct test_run run = run_example(name);
    for (; *parts != NULL; parts++) {
        CHECK_CONTAINS(run.out, *parts);
    }
    test_run_done(&run);
}

#define EXPECT(name, ...) expect(name, (const char *const[]){__VA_ARGS__, NULL})

TEST(audit_calls)
{
    EXPECT("audit_calls", "getenv: 100 calls, the caller at 0x", "qsort: 1 calls, ",
           "no_such_function: no loaded library defines it\n");
}

/* Also a test of the way from a file of rules to a report, with installed programs only. */
TEST(audit_rules)
{
    static const char rules[] = "[rule \"environment\"]\napi = getenv\n"
                                "[rule \"early\"]\napi = getenv\nphase = before consent\n";
    char sonde[4096], example[4096], source[512], compiled[512], report[512];
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    snprintf(example, sizeof example, "%s/examples/example_audit_rules", test_build_dir());
    snprintf(source, sizeof source, "%s/rules.ini", test_folder());
    snprintf(compiled, sizeof compiled, "%s/rules.audit", test_folder());
    snprintf(report, sizeof report, "%s/audit.sonde", test_folder());
    test_write_file(source, rules, strlen(rules));
    const char *const argvs[3][7] = {{sonde, "audit", "compile", source, "-o", compiled, NULL},
                                     {example, compiled, report, NULL},
                                     {sonde, "show", report, NULL}};
    const char *const parts[3][4] = {
        {"2 rules, 1 function\n"},
        {"environment: getenv by load_settings < main < _start in phase start\n",
         "early: getenv by load_settings < main < _start in phase start\n",
         "environment: getenv by send_statistics < main < _start in phase consent\n"},
        {"build 1.2.3  tags tester=ann\n", "  101 calls from 2 stacks\n",
         "  100 calls from 1 stack\n"},
    };
    for (unsigned i = 0; i < 3; i++) {
        struct test_run run = test_run(argvs[i], NULL, NULL, 60);
        CHECK_STR(run.err, "");
        CHECK_EQ(run.status, 0);
        for (unsigned k = 0; k < 4 && parts[i][k] != NULL; k++) {
            CHECK_CONTAINS(run.out, parts[i][k]);
        }
        test_run_done(&run);
    }
}

TEST(block_registry)
{
    EXPECT("block_registry", "4 blocks, 2 before, made at 0x", "a block of 32 bytes\n",
           "4 made, 4 ended\n");
}

TEST(blocks)
{
    EXPECT("blocks", "a block of 48 bytes with 1 captures\n", "  +32  data, 16 bytes", ": 42\n");
}
TEST(debugger)
{
    EXPECT("debugger", ", on a stack, 40 bytes\n    count_block_invoke  example_debugger\n",
           "    void (^)(void)\n    +32    data        2b000000", " is no block", "\nthread ",
           ", which prints this\n#0  0x", "  main+0x", "  _start+0x");
}
TEST(depot_count)
{
    EXPECT("depot_count", "1000 calls from a stack of ", "\n1 calls from a stack of ",
           "ended: root", "0 lost");
}
TEST(images)
{
    EXPECT("images", "example_images", "libc.so", "this code is the program's own",
           "this code is in: ");
}
TEST(index_lookup)
{
    EXPECT("index_lookup", " units, ", "  main  ", "/index_lookup.c:", "in the symbol main+0x0",
           "print_offset is on line ");
}
TEST(stack_capture)
{
    EXPECT("stack_capture", "  registers\n", "  cfi\n", "ended: root");
}
TEST(stack_fiber)
{
    EXPECT("stack_fiber", "wait_for_work+0x", "fiber_main+0x", "resumed");
}
TEST(stack_frame)
{
    EXPECT("stack_frame", "#0", "  run_script+0x", "main+0x");
}
TEST(stack_handler)
{
    EXPECT("stack_handler", "compare+0x", "qsort", "main+0x");
}
TEST(stack_symbols)
{
    EXPECT("stack_symbols", "#0", "  main+0x", "main of ", "_start");
}

TEST(text_handler)
{
    EXPECT("text_handler", " compare + ", " main + ", "0   libc.so.6 ");
}
TEST(text_strings)
{
    EXPECT("text_strings", "0   example_text_strings ", " main + ", "made\n", "the same strings\n",
           "libc.so.6(__libc_start_main+0x");
}
TEST(text_threads)
{
    EXPECT("text_threads", "libc.so.6(__libc_start_main+0x", "Call Backtrace of 2 threads:\n",
           "\n\nBacktrace of Thread ");
}

TEST(stack_async)
{
    EXPECT("stack_async", "0x", "no async function");
}

TEST(threads_snapshot)
{
    EXPECT("threads_snapshot", "main: waits", "  poll+0x", "busy: ran", "work+0x", "held for");
}

TEST(stack_whole)
{
    EXPECT("stack_whole", "1000", " frames, ended: root");
}
TEST(threads_list)
{
    EXPECT("threads_list", "(main) (this one)");
}

/* One example writes a report of itself, another shows it. */
TEST(report_write_and_read)
{
    char path[4096], reader[4096];
    struct test_run run = run_example("report_write");
    snprintf(path, sizeof path, "%s/report", test_folder());
    test_write_file(path, run.out, run.out_size);
    test_run_done(&run);
    snprintf(reader, sizeof reader, "%s/examples/example_report_read", test_build_dir());
    const char *const argv[] = {reader, path, NULL};
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "example_report_write");
    CHECK_CONTAINS(run.out, "main");
    CHECK_CONTAINS(run.out, "_start");
    CHECK(strstr(run.out, "sonde_report_write") == NULL); /* no frame of sonde is in a stack */
    CHECK_STR(run.err, "");
    test_run_done(&run);
}

/* An emulator does not show where threads wait; the program reports that. */
static void expect_worker(const char *name)
{
    struct test_run run = run_example(name);
    if (strstr(run.out, "not read: ") == NULL) {
        CHECK_CONTAINS(run.out, "read by: passive");
        CHECK_CONTAINS(run.out, "  work+0x");
    } else {
        CHECK_CONTAINS(run.out, "not supported on this platform");
    }
    test_run_done(&run);
}

TEST(thread_capture)
{
    expect_worker("thread_capture");
}
TEST(threads_capture)
{
    expect_worker("threads_capture");
}

TEST(watch_loop)
{
    char path[4096], report[4096];
    snprintf(path, sizeof path, "%s/examples/example_watch_loop", test_build_dir());
    snprintf(report, sizeof report, "%s/report", test_folder());
    const char *const argv[] = {path, report, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) { /* an emulator does not show where threads wait */
        CHECK_CONTAINS(run.err, "no watch: ");
        test_run_done(&run);
        return;
    }
    CHECK_CONTAINS(run.out, "held its loop up for ");
    CHECK_CONTAINS(run.out, ", in turn 11\n");
    CHECK_CONTAINS(run.out, "save_document");
    CHECK_CONTAINS(run.out, "stalls: 1\n");
    CHECK_STR(run.err, "");
    test_run_done(&run);
    snprintf(path, sizeof path, "%s/examples/example_report_read", test_build_dir());
    const char *const reader[] = {path, report, NULL};
    run = test_run(reader, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "save_document");
    test_run_done(&run);
}

/* Returns false if an emulator hides where threads wait. */
static bool run_watched(const char *name, struct test_run *ret_run)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/example_%s", test_build_dir(), name);
    const char *const argv[] = {path, NULL};
    *ret_run = test_run(argv, NULL, NULL, 60);
    if (ret_run->status != 0) {
        CHECK_CONTAINS(ret_run->err, "no watch: ");
        test_run_done(ret_run);
        return false;
    }
    CHECK_STR(ret_run->err, "");
    return true;
}

TEST(watch_scope)
{
    struct test_run run;
    if (run_watched("watch_scope", &run)) {
        CHECK_CONTAINS(run.out, "\"page\", limit 200 ms, in \"request\", limit 2000 ms");
        CHECK_CONTAINS(run.out, "scope stall ");
        CHECK_CONTAINS(run.out, "render_page");
        CHECK_CONTAINS(run.out, "stalls: 1\n");
        test_run_done(&run);
    }
}

TEST(upload_start)
{
    char path[4096], folder[4096];
    snprintf(path, sizeof path, "%s/examples/example_upload_start", test_build_dir());
    snprintf(folder, sizeof folder, "%s/spool", test_folder());
    const char *const argv[] = {path, folder, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_STR(run.err, "");
    CHECK_STR(run.out, "2 reports, the first is whole\n"
                       "POST https://collector.example/api/reports, with a report\n"
                       "answer 503: later\n"
                       "POST https://collector.example/api/reports, with a report\n"
                       "answer 201: stored\n"
                       "1 stored\n");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST(upload_spool)
{
    char path[4096], folder[4096];
    snprintf(path, sizeof path, "%s/examples/example_upload_spool", test_build_dir());
    snprintf(folder, sizeof folder, "%s/spool", test_folder());
    const char *const argv[] = {path, folder, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status == 127) {
        SKIP("libsonde-upload was not built");
    }
    CHECK_STR(run.err, "");
    CHECK_CONTAINS(run.out, ".sonde, try 1: later the server cannot be reached: ");
    CHECK_CONTAINS(run.out, "0 stored, 1 for later\n");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}
