// SPDX-License-Identifier: Apache-2.0
/* The programs that exports are for open them. Each is compared with `sonde show --json` of the
 * same report: the total weight, and each function's weight alone and with its callees.
 *
 * Missing readers are skipped: chromium, and the readers that are npm packages (./dev setup test
 * fetches them). OTLP and Perfetto have no reader that can be installed: protoc reads the bytes by
 * the published field numbers, and the test gives them their meaning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "rich.h"
#include "sample.h"
#include "start.h"
#include "test.h"

#define SPEEDSCOPE "speedscope@1.25.0", "dist/release"
#define PROFILER   "@firefox-devtools+profiler-cli@0.10.0", "dist/profiler-cli.js"

static const struct kind {
    const char *name;
    struct sonde__report *(*make)(void);
} kinds[] = {
    {"watch", rich_watch},
    {"stacks", sample_stacks},
    {"calls", rich_calls},
    {"blocks", sample_heap_blocks},
};
enum { WATCH, STACKS, CALLS, BLOCKS, KINDS };

static bool is_installed(const char *program)
{
    char line[128];
    snprintf(line, sizeof line, "command -v %s", program);
    struct test_run run = shell(line);
    bool is_there = run.status == 0;
    test_run_done(&run);
    return is_there;
}

static void must_run(const char *line)
{
    struct test_run run = shell(line);
    if (run.status != 0) {
        FAIL("%s\n%s%s", line, run.out, run.err);
    }
    test_run_done(&run);
}

/* $DIR/NAME.sonde, its JSON, and its export as $DIR/NAME.FORMAT. */
static void export_one(const struct kind *kind, const char *format)
{
    char path[512], line[1024];
    struct sample_bytes bytes;
    struct sonde__report *report = kind->make();
    sample_file(report, false, &bytes);
    snprintf(path, sizeof path, "%s/%s.sonde", test_folder(), kind->name);
    test_write_file(path, bytes.data, bytes.size);
    sample_bytes_done(&bytes);
    sonde__report_destroy(report);
    snprintf(line, sizeof line,
             "\"$SONDE\" show --json $DIR/%s.sonde >$DIR/%s.json && "
             "\"$SONDE\" export --format=%s $DIR/%s.sonde >$DIR/%s.%s",
             kind->name, kind->name, format, kind->name, kind->name, format);
    must_run(line);
}

/* Run a script of this folder on the export of one kind. */
static void check(const struct kind *kind, const char *format, const char *script, const char *rest)
{
    char line[4096];
    export_one(kind, format);
    snprintf(line, sizeof line,
             "python3 -B '%s/tests/integration/export/%s' $DIR/%s.json $DIR/%s.%s %s",
             test_source_dir(), script, kind->name, kind->name, format, rest);
    must_run(line);
}

TEST_TIMEOUT(pprof_is_read_by_go_tool_pprof, 100)
{
    if (!is_installed("go")) {
        SKIP("no go");
    }
    for (unsigned i = 0; i < KINDS; i++) {
        check(&kinds[i], "pprof", "check_pprof.py", "");
    }
}

TEST_TIMEOUT(firefox_profiles_are_read_by_the_firefox_profiler, 100)
{
    if (program_npm(PROFILER) == NULL || !is_installed("node")) {
        SKIP("no profiler-cli of the Firefox Profiler, or no node (./dev setup test)");
    }
    for (unsigned i = 0; i < KINDS; i++) {
        char rest[2048];
        snprintf(rest, sizeof rest, "'%s' $DIR", program_npm(PROFILER));
        check(&kinds[i], "firefox", "check_firefox.py", rest);
    }
}

TEST_TIMEOUT(files_are_read_by_speedscope, 100)
{
    static const struct {
        unsigned kind;
        const char *format;
    } files[] = {{WATCH, "speedscope"},  {STACKS, "speedscope"}, {CALLS, "speedscope"},
                 {BLOCKS, "speedscope"}, {WATCH, "pprof"},       {WATCH, "folded"}};
    char line[4096];
    if (program_npm(SPEEDSCOPE) == NULL || !is_installed("chromium")) {
        SKIP("no speedscope, or no chromium (./dev setup test)");
    }
    int used = snprintf(line, sizeof line,
                        "python3 -B '%s/tests/integration/export/check_speedscope.py' '%s' $DIR",
                        test_source_dir(), program_npm(SPEEDSCOPE));
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        const char *name = kinds[files[i].kind].name;
        export_one(&kinds[files[i].kind], files[i].format);
        used += snprintf(line + used, sizeof line - (size_t)used, " $DIR/%s.json $DIR/%s.%s", name,
                         name, files[i].format);
    }
    must_run(line);
}

static void check_protos(const struct kind *kind, const char *format)
{
    char rest[1024];
    if (!is_installed("protoc")) {
        SKIP("no protoc");
    }
    snprintf(rest, sizeof rest, "'%s/tests/integration/export'", test_source_dir());
    check(kind, format, "check_protos.py", rest);
}

TEST_TIMEOUT(otlp_is_read_by_protoc, 100)
{
    for (unsigned i = 0; i < KINDS; i++) {
        check_protos(&kinds[i], "otlp-1.10");
    }
}

TEST_TIMEOUT(perfetto_is_read_by_protoc, 100)
{
    check_protos(&kinds[WATCH], "perfetto");
}

/* A format that cannot hold a kind says so, and writes nothing. */
TEST(formats_refuse_what_does_not_fit)
{
    static const struct {
        unsigned kind;
        const char *format, *why;
    } cases[] = {
        {STACKS, "perfetto", "a Perfetto trace is a time line, and this report has no stalls"},
        {CALLS, "perfetto", "a Perfetto trace is a time line, and this report has no stalls"},
        {CALLS, "apple", "apple is a text of threads, and this report has recorded calls"},
        {BLOCKS, "glibc", "glibc is a text of threads, and this report has blocks"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        export_one(&kinds[cases[i].kind], "folded");
        snprintf(line, sizeof line, "\"$SONDE\" export --format %s $DIR/%s.sonde", cases[i].format,
                 kinds[cases[i].kind].name);
        struct test_run run = shell(line);
        CHECK_EQ(run.status, 1);
        CHECK_STR(run.out, "");
        check_one_line(run.err, cases[i].why);
        test_run_done(&run);
    }
}

/* Values of the older option. */
TEST(styles_are_formats)
{
    static const char *const same[][2] = {{"folded", "folded"}, {"json", "json"},
                                          {"sonde", "text"},    {"callstack", "apple"},
                                          {"bs", "bs"},         {"glibc", "glibc"}};
    export_one(&kinds[STACKS], "folded");
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "\"$SONDE\" export --style %s $DIR/stacks.sonde >$DIR/a && "
                 "\"$SONDE\" export --format %s $DIR/stacks.sonde >$DIR/b && test -s $DIR/a && "
                 "cmp $DIR/a $DIR/b",
                 same[i][0], same[i][1]);
        must_run(line);
    }
}
