// SPDX-License-Identifier: Apache-2.0
/* Indexes made on the way: `sonde stacks` and `sonde symbolize` share them. `sonde show --symbols`
 * names the frames of a report. */
#include <stdio.h>
#include <string.h>

#include "start.h"

#define START                                                                                      \
    "$W & pid=$!; until [ \"$(cut -d' ' -f2,3 /proc/$pid/stat)\" = \"(waits) S\" ]; do sleep "     \
    "0.02; done; "
#define BUILD "cd $DIR && gcc -O2 -g -Wl,--build-id -o waits waits.c && W=./waits; "

static void write_program(void)
{
    static const char waits[] = "#include <unistd.h>\n"
                                "static volatile int n;\n"
                                "static inline __attribute__((always_inline)) void inner(void)\n"
                                "{ n += pause(); }\n"
                                "__attribute__((noinline)) static void outer(void)\n"
                                "{ inner(); n++; }\n"
                                "int main(void)\n"
                                "{ outer(); return n; }\n";
    char path[600];
    snprintf(path, sizeof path, "%s/waits.c", test_folder());
    test_write_file(path, waits, sizeof waits - 1);
}

TEST_TIMEOUT(stacks_keeps_what_it_made, 60)
{
    write_program();
    struct test_run run =
        shell(BUILD START "$SONDE stacks $pid; ls -l cache/sonde/index; kill $pid");
    CHECK_CONTAINS(run.out, "inner ");
    CHECK_CONTAINS(run.out, "waits.c:4  [inlined]");
    CHECK_CONTAINS(run.out, ".sndidx");
    test_run_done(&run);
    /* without debug information both commands depend on the kept index */
    run = shell("cd $DIR; at=$(nm waits | sed -n 's/ t outer//p'); strip waits; W=./waits; " START
                "$SONDE stacks $pid; echo with; $SONDE symbolize ./waits+0x$at; echo without; "
                "$SONDE stacks --no-cache $pid; kill $pid");
    CHECK_EQ(run.status, 0);
    char *with = strstr(run.out, "with\n");
    char *without = strstr(run.out, "without\n");
    CHECK(with != NULL && without != NULL);
    *with = *without = '\0';
    CHECK_CONTAINS(run.out, "waits.c:4  [inlined]");
    CHECK_CONTAINS(with + 1, "waits.c:");
    CHECK(strstr(without + 1, "waits.c") == NULL);
    test_run_done(&run);
    /* --no-cache keeps nothing, and still reads */
    run = shell("rm -r $DIR/cache; " BUILD START "$SONDE stacks --no-cache $pid; kill $pid; ls");
    CHECK_CONTAINS(run.out, "waits.c:4  [inlined]");
    CHECK(strstr(run.out, "cache") == NULL);
    test_run_done(&run);
}

/* A killed writer blocks nobody, and its leftover is removed. A running writer keeps its file. */
TEST_TIMEOUT(leftovers_of_a_killed_writer_are_removed, 60)
{
    write_program();
    struct test_run run =
        shell(BUILD START "$SONDE stacks $pid >x; cd cache/sonde/index; at=$(echo *.sndidx); "
                          "for n in 1 $$ 00ff; do head -c 99 $at >$at.$n.part; done; rm $at; "
                          "echo >writing.part; exec 9<writing.part; flock 9; cd $DIR; "
                          "$SONDE stacks $pid >x; ls cache/sonde/index; kill $pid");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, ".sndidx\nwriting.part\n");
    CHECK(strstr(run.out, ".sndidx.") == NULL);
    test_run_done(&run);
}

/* A report from a machine without debug information gets its names on one that has it. */
TEST_TIMEOUT(show_names_by_symbols, 60)
{
    write_program();
    struct test_run run =
        shell(BUILD "mkdir to dbg; cp waits whole; strip waits; " START
                    "$SONDE stacks --report r $pid >x; kill $pid; rm waits; rm -rf cache; "
                    "$SONDE show r && $SONDE index -o to whole >x");
    CHECK_EQ(run.status, 0);
    CHECK(strstr(run.out, "outer") == NULL);
    test_run_done(&run);
    static const char *const folders[] = {
        "to", /* an index */
        "dbg" /* a debug file of the image's name */
    };
    for (unsigned i = 0; i < 2; i++) {
        char line[600];
        snprintf(line, sizeof line,
                 "cd $DIR && rm -rf cache; cp whole dbg/waits; "
                 "$SONDE show --symbols %s r; $SONDE show --symbols %s --json r",
                 folders[i], folders[i]);
        run = shell(line);
        CHECK_EQ(run.status, 0);
        CHECK_CONTAINS(run.out, "inner ");
        CHECK_CONTAINS(run.out, "waits.c:4  [inlined]");
        CHECK_CONTAINS(run.out, " outer+0x");
        CHECK_CONTAINS(run.out, "waits.c:6");
        CHECK_CONTAINS(run.out, "\"function\": \"outer\"");
        test_run_done(&run);
    }
    /* debug information of another build is refused */
    run = shell("cd $DIR && gcc -O2 -g -Wl,--build-id=0x1234567890123456 -o dbg/waits "
                "waits.c && rm -rf cache; $SONDE show --symbols dbg r");
    CHECK_EQ(run.status, 0);
    CHECK(strstr(run.out, "outer") == NULL);
    test_run_done(&run);
}

/* Names from mini debug information, live and offline, equal gdb's. */
TEST_TIMEOUT(mini_debug_information_as_gdb, 60)
{
    write_program();
    struct test_run run = shell(
        BUILD
        "nm waits --format=posix --defined-only | awk '$2 == \"t\" || $2 == \"T\" {print $1}' "
        "> keep; objcopy --only-keep-debug waits debug; "
        "objcopy -S --remove-section .comment --keep-symbols=keep debug mini; "
        "at=$(nm waits | sed -n 's/ t outer//p'); strip waits; xz mini; "
        "objcopy --add-section .gnu_debugdata=mini.xz waits; " START
        "$SONDE stacks $pid; $SONDE symbolize ./waits+0x$at; gdb -nx -q -batch -ex "
        "'set debuginfod enabled off' -p $pid -ex bt 2>x | grep -E ' in (main|outer)'; "
        "kill $pid");
    CHECK_CONTAINS(run.out, " outer+0x");
    CHECK_CONTAINS(run.out, " main+0x");
    CHECK_CONTAINS(run.out, "\n  outer\n"); /* of symbolize */
    CHECK_CONTAINS(run.out, " in outer (");
    CHECK_CONTAINS(run.out, " in main (");
    test_run_done(&run);
}

/* The hint says what would give names to a stripped program: the package is the one that dpkg
 * lists. */
TEST_TIMEOUT(hints_name_the_package, 60)
{
    struct test_run run =
        shell("cd $DIR; command -v dpkg >/dev/null || exit 77; unset DEBUGINFOD_URLS; n=0; "
              "for f in /usr/bin/dash /usr/bin/xz /usr/bin/make /usr/bin/gdb /usr/bin/diff; do "
              "$SONDE symbolize $f+0x6000 2>err >out; grep -q 'no file or index' err || continue; "
              "p=$( { dpkg -S $f || dpkg -S ${f#/usr}; } 2>x | head -1 | cut -d: -f1); "
              "grep -q \"(package $p-dbgsym has them, or DEBUGINFOD_URLS=https\" err || { cat err; "
              "exit 1; }; "
              "n=$((n + 1)); done; [ $n -ge 2 ]");
    if (run.status == 77) {
        SKIP("no dpkg here");
    }
    if (run.status != 0) {
        FAIL("%s", run.out);
    }
    test_run_done(&run);
    run = shell(
        "DEBUGINFOD_URLS=http://127.0.0.1:1 $SONDE symbolize --no-network /usr/bin/dash+0x6000");
    CHECK_CONTAINS(run.err, "no server was asked");
    test_run_done(&run);
}

/* The hint about `stacks` is printed on a terminal only. */
TEST_TIMEOUT(hints_of_stacks_on_a_terminal, 60)
{
    write_program();
    struct test_run run =
        shell(BUILD "strip waits; " START "script -qec \"$SONDE stacks $pid\" /dev/null; echo ---; "
                    "$SONDE stacks $pid 2>&1; kill $pid");
    char *second = strstr(run.out, "---");
    CHECK(second != NULL);
    CHECK_CONTAINS(run.out, "waits: functions without names: --symbols names a folder");
    CHECK(strstr(second, "functions without names") == NULL);
    test_run_done(&run);
}
