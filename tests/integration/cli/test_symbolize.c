// SPDX-License-Identifier: Apache-2.0
/* sonde symbolize: addresses alone, and in the logs of a sanitizer, of glibc and of sonde. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

/* Line numbers matter. */
static const char source[] = "#include <execinfo.h>\n"
                             "#include <stdlib.h>\n"
                             "volatile int sink;\n"
                             "__attribute__((noinline)) int leaf(volatile int *p) {\n"
                             "    sink = p[4];\n"
                             "    void *pcs[20];\n"
                             "    if (getenv(\"TRACE\")) { backtrace_symbols_fd(pcs,\n"
                             "        backtrace(pcs, 20), 1); }\n"
                             "    return sink; }\n"
                             "static inline int between(volatile int *p) {\n"
                             "    return leaf(p) + 1; }\n"
                             "__attribute__((noinline)) int branch(volatile int *p) {\n"
                             "    return between(p) * 3; }\n"
                             "int main(int argc, char **argv) {\n"
                             "    volatile int *p = malloc(argc * 16 + 16 * !!getenv(\"TRACE\"));\n"
                             "    int r = branch(p);\n"
                             "    free((void *)p); (void)argv;\n"
                             "    return r == 12345; }\n";

static void build(const char *command)
{
    char path[600];
    snprintf(path, sizeof path, "%s/prog.c", test_folder());
    test_write_file(path, source, sizeof source - 1);
    struct test_run run = shell(command);
    if (run.status != 0) {
        FAIL("%s", run.err);
    }
    test_run_done(&run);
}

/* backtrace_symbols has return addresses: in brackets stand the lines of the calls. */
static void check_glibc(const char *options)
{
    char command[300];
    snprintf(command, sizeof command, "cd $DIR && gcc -O1 -g %s -o prog prog.c", options);
    build(command);
    struct test_run run = shell("cd $DIR && TRACE=1 ./prog >log && $SONDE symbolize <log");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, " [leaf at ");
    CHECK_CONTAINS(run.out, "prog.c:7]");
    CHECK_CONTAINS(run.out, "[between at ");
    CHECK_CONTAINS(run.out, "prog.c:11, inlined into branch at ");
    CHECK_CONTAINS(run.out, "prog.c:13]");
    CHECK_CONTAINS(run.out, "prog.c:16]");
    test_run_done(&run);
    /* what was there stays: without what is in brackets of ours it is the log */
    run = shell("cd $DIR && $SONDE symbolize <log 2>x | sed 's/ \\[[a-z_]* at [^]]*\\]//; s/ "
                "\\[__libc[^]]*\\]//; s/ \\[_start[^]]*\\]//' | diff - log");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "");
    test_run_done(&run);
}

TEST(symbolize_log_of_backtrace_symbols)
{
    check_glibc("");
}

TEST(symbolize_log_of_backtrace_symbols_with_functions)
{
    check_glibc("-rdynamic");
}

TEST(symbolize_log_of_a_sanitizer)
{
    build("cd $DIR && clang -O1 -g -fsanitize=address -Wl,--build-id -o prog prog.c");
    struct test_run run =
        shell("cd $DIR && ASAN_OPTIONS=symbolize=0 ./prog 2>log; $SONDE symbolize <log 2>x");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "heap-buffer-overflow");
    CHECK_CONTAINS(run.out, "#0 ");
    CHECK_CONTAINS(run.out, "prog.c:5]");
    CHECK_CONTAINS(run.out, "prog.c:11, inlined into branch at ");
    CHECK_CONTAINS(run.out, "prog.c:16]");
    test_run_done(&run);
    /* another build has another build-id: names of the first while its index is kept, then none,
     * never wrong ones */
    run =
        shell("cd $DIR && mv prog first && clang -O0 -g -fsanitize=address -Wl,--build-id -o prog "
              "prog.c && $SONDE symbolize <log 2>err");
    CHECK_CONTAINS(run.out, "prog.c:11, inlined into branch at ");
    test_run_done(&run);
    run = shell("cd $DIR && rm -r cache first && clang -O0 -g -fsanitize=address -Wl,--build-id -o "
                "prog prog.c && "
                "$SONDE symbolize <log 2>err; cat err");
    CHECK(strstr(run.out, "prog.c:") == NULL);
    CHECK_CONTAINS(run.out, "no file or index of it with build-id");
    test_run_done(&run);
}

/* A name without a folder: the program of this name in the working directory, and no other file. */
TEST(symbolize_log_in_the_folder_of_the_program)
{
    build("cd $DIR && gcc -O1 -g -o prog prog.c && echo text >words && mkdir -p folder fifos && "
          "mkfifo fifos/prog && cp prog folder/other");
    struct test_run run =
        shell("cd $DIR && at=$(nm prog | sed -n 's/^0*\\([0-9a-f]*\\) T branch/\\1/p') && "
              "printf 'at prog+0x%s, words+0x10 folder+0x10 other+0x%s\n' $at $at >log && "
              "$SONDE symbolize <log 2>err; cat err");
    CHECK_CONTAINS(run.out, "at prog+0x");
    CHECK_CONTAINS(run.out, " [branch at ");
    CHECK_CONTAINS(run.out, "prog.c:12]");
    CHECK_CONTAINS(run.out, "words: no file or index of it");
    CHECK_CONTAINS(run.out, "folder: no file or index of it");
    CHECK_CONTAINS(run.out, "other: no file or index of it");
    test_run_done(&run);
    /* nothing waits for a writer of it */
    run = shell("cd $DIR/fifos && $SONDE symbolize <../log 2>&1 || true");
    CHECK_CONTAINS(run.out, "prog: no file or index of it");
    test_run_done(&run);
}

TEST(symbolize_absolute_addresses_by_a_map)
{
    build("cd $DIR && gcc -O1 -g -o prog prog.c");
    struct test_run run = shell(
        "cd $DIR && at=$(nm prog | sed -n 's/^0*\\([0-9a-f]*\\) T branch/\\1/p') && "
        "printf '555555554000-555555555000 r--p 00000000 08:01 7 %s/prog\\n"
        "555555555000-555555556000 r-xp 00001000 08:01 7 %s/prog\\n' \"$DIR\" \"$DIR\" >maps && "
        "abs=$(printf '0x%x' $((0x555555554000 + 0x$at))) && "
        "$SONDE symbolize --maps maps $abs && echo \"pc $abs.\" | $SONDE symbolize --maps maps && "
        "$SONDE symbolize --maps maps 0x123456789");
    CHECK_CONTAINS(run.out, "\n  branch  ");
    CHECK_CONTAINS(run.out, "prog.c:12\npc 0x");
    CHECK_CONTAINS(run.out, " [branch at ");
    CHECK_CONTAINS(run.out, "0x123456789\n  ??\n");
    test_run_done(&run);
}

/* Of sonde's own lines frame 0 is exact, the others are return addresses: behind a call that does
 * not return stands another function. */
TEST(symbolize_lines_of_sonde)
{
    static const char ends[] = "#include <stdlib.h>\n"
                               "void last(void);\n"
                               "__attribute__((noinline)) void last(void) {\n"
                               "    abort();\n"
                               "}\n"
                               "__asm__(\".globl other\\n.type other,@function\\nother: ret\\n"
                               ".size other,.-other\\n\");\n"
                               "int main(void) { last(); }\n";
    char path[600];
    snprintf(path, sizeof path, "%s/ends.c", test_folder());
    test_write_file(path, ends, sizeof ends - 1);
    struct test_run run = shell(
        "cd $DIR && gcc -O2 -g -fno-toplevel-reorder -falign-functions=1 -o ends ends.c && "
        "at=$(objdump -d ends | sed -n '/<last>:/,/^$/s/^ *\\([0-9a-f]*\\):.*call.*/\\1/p') && "
        "next=$(printf '%x' $((0x$at + 5))) && "
        "printf '#0  0x00  ends+0x%s\n#1  f+0x1  ends+0x%s\n#2  <signal>  ends+0x1\n"
        "#3  g+0x1  ends+0x%s\n' $next $next $next | $SONDE symbolize -m ends");
    CHECK_EQ(run.status, 0);
    char *line[4];
    line[0] = run.out;
    for (unsigned i = 1; i < 4; i++) {
        line[i] = strchr(line[i - 1], '#');
        line[i] = strchr(line[i] + 1, '#');
        CHECK(line[i] != NULL);
    }
    for (unsigned i = 1; i < 4; i++) {
        line[i][-1] = '\0';
    }
    CHECK(strstr(line[0], "[last at") == NULL);
    CHECK_CONTAINS(line[1], " [last at ");
    CHECK_CONTAINS(line[1], "ends.c:4]");
    CHECK(strstr(line[3], "[last at") == NULL); /* interrupted, not called */
    test_run_done(&run);
}

TEST(symbolize_text_without_addresses_is_copied)
{
    struct test_run run = shell("head -c 300000 /dev/urandom | tr -d '+' >$DIR/noise && "
                                "$SONDE symbolize <$DIR/noise | cmp - $DIR/noise");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    test_run_done(&run);
    run = shell("printf 'a+0x b+0xg (+0x12) +0x1 0x99999999 x+0x11111111111111111\\nlast' | "
                "$SONDE symbolize");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "a+0x b+0xg (+0x12) +0x1 0x99999999 x+0x11111111111111111\nlast");
    CHECK_STR(run.err, "");
    test_run_done(&run);
}

TEST(symbolize_of_a_missing_file_is_an_error)
{
    struct test_run run = shell("$SONDE symbolize /none/lib.so+0x12");
    CHECK_EQ(run.status, 3);
    CHECK_CONTAINS(run.out, "/none/lib.so+0x12\n  ??\n");
    check_one_line(run.err, "/none/lib.so: no file or index of it");
    test_run_done(&run);
    run = shell("$SONDE symbolize 0123456789abcdef0123456789abcdef01234567+0x12");
    CHECK_EQ(run.status, 3);
    check_one_line(run.err, "--symbols"); /* what would help */
    CHECK_CONTAINS(run.err, "DEBUGINFOD_URLS=https://");
    test_run_done(&run);
    run = shell("printf 'x /none/lib.so+0x12 y\\nagain /none/lib.so+0x13\\n' | $SONDE symbolize");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "x /none/lib.so+0x12 y\nagain /none/lib.so+0x13\n");
    check_one_line(run.err, "/none/lib.so: no file or index of it");
    test_run_done(&run);
}

TEST(symbolize_json_is_json)
{
    build("cd $DIR && gcc -O1 -g -o prog prog.c");
    struct test_run run = shell("cd $DIR && TRACE=1 ./prog | $SONDE symbolize --json 2>x | "
                                "python3 -c 'import json,sys; a=json.load(sys.stdin); "
                                "print([f[\"function\"] for f in a[1][\"frames\"]], "
                                "a[1][\"frames\"][0][\"inlined\"])'; "
                                "$SONDE symbolize --json /none+0x1 2>x | python3 -m json.tool >x");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "['between', 'branch'] True\n");
    test_run_done(&run);
}

/* A program that waits in an inlined call. Its report has no names; symbolize gives those that
 * stacks gives, also when the program is only found by its index, or as a file of another name. */
TEST(symbolize_report_with_inlined_calls)
{
    static const char waits[] = "#include <unistd.h>\n"
                                "static inline void inner(void) {\n"
                                "    pause();\n"
                                "    pause();\n"
                                "}\n"
                                "static inline void middle(void) {\n"
                                "    inner();\n"
                                "}\n"
                                "__attribute__((noinline)) void outer(void) {\n"
                                "    middle();\n"
                                "    __asm__ volatile(\"\");\n"
                                "}\n"
                                "int main(void) {\n"
                                "    outer();\n"
                                "    return 0;\n"
                                "}\n";
    char path[600];
    snprintf(path, sizeof path, "%s/waits.c", test_folder());
    test_write_file(path, waits, sizeof waits - 1);
    struct test_run run =
        shell("cd $DIR && gcc -O2 -g -Wl,--build-id -o waits waits.c && mkdir to && "
              "$SONDE index -o to waits >/dev/null && { ./waits & } && pid=$! && "
              "until [ \"$(cut -d' ' -f3 /proc/$pid/stat)\" = S ]; do sleep 0.05; done; sleep 0.2; "
              "$SONDE stacks --no-names --report r $pid >bare; $SONDE stacks $pid >names; "
              "kill $pid; mv waits moved; rm -r cache; grep -c 'outer' bare; "
              "$SONDE symbolize --report r | grep -c 'outer'; "
              "$SONDE symbolize --no-cache -s to --report r | diff - names && "
              "$SONDE symbolize --no-cache -m x=moved --report r | diff - names && cat names && "
              "$SONDE symbolize --no-cache -m moved --json --report r >json");
    CHECK_EQ(run.status, 0);
    CHECK(strncmp(run.out, "0\n0\n", 4) == 0);
    CHECK_CONTAINS(run.out, "waits.c:3  [inlined]\n");
    CHECK_CONTAINS(run.out, "waits.c:7  [inlined]\n");
    CHECK_CONTAINS(run.out, "waits.c:10\n");
    CHECK_CONTAINS(run.out, "waits.c:14\n");
    test_run_done(&run);
    run = shell("cd $DIR && cat json");
    check_json(run.out);
    CHECK_CONTAINS(run.out, "\"sonde-report-1\"");
    CHECK_CONTAINS(run.out, "\"outer\"");
    test_run_done(&run);
}

/* The index that was made on the way is taken the next time: when the debug information has gone,
 * lines are still known. A damaged one is made again; without a cache all is as before. */
TEST_TIMEOUT(symbolize_keeps_what_it_made, 120)
{
    build("cd $DIR && gcc -O1 -g -Wl,--build-id -o prog prog.c");
    struct test_run run =
        shell("cd $DIR && at=$(nm prog | sed -n 's/ T leaf//p') && echo $at >at && "
              "$SONDE symbolize ./prog+0x$at && ls cache/sonde/index && "
              "stat -c %a cache/sonde cache/sonde/index/*");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "prog.c:4");
    CHECK_CONTAINS(run.out, ".sndidx");
    CHECK_CONTAINS(run.out, "700\n600\n");
    test_run_done(&run);
    run = shell("cd $DIR && cp prog whole && strip -g prog && $SONDE symbolize ./prog+0x$(cat at)");
    CHECK_CONTAINS(run.out, "prog.c:4");
    test_run_done(&run);
    run = shell("cd $DIR && mkdir e && cd e && $SONDE symbolize $(basename ../cache/sonde/index/* "
                ".sndidx)+0x$(cat ../at)"); /* by its build-id alone */
    CHECK_CONTAINS(run.out, "prog.c:4");
    test_run_done(&run);
    run = shell("cd $DIR && i=$(echo cache/sonde/index/*) && s=$(od -An -tu4 -j12 -N4 $i) && "
                /* the first byte behind the header */
                "printf X | dd of=$i bs=1 seek=$((s)) conv=notrunc 2>x && $SONDE symbolize "
                "./prog+0x$(cat at)");
    CHECK_EQ(run.status, 0);
    CHECK(strstr(run.out, "prog.c") == NULL); /* made again, of what is there: symbols */
    CHECK_CONTAINS(run.out, "leaf");
    test_run_done(&run);
    run = shell("cd $DIR && $SONDE symbolize ./whole+0x$(cat at) && $SONDE index --info "
                "cache/sonde/index/* >x");
    CHECK_EQ(run.status, 0); /* kept anew */
    CHECK_CONTAINS(run.out, "prog.c:4");
    test_run_done(&run);
    run = shell("cd $DIR && printf '\\1' | dd of=$(echo cache/sonde/index/*) bs=1 seek=8 "
                "conv=notrunc 2>x && $SONDE index --info cache/sonde/index/* 2>&1; "
                "$SONDE symbolize ./whole+0x$(cat at) && $SONDE index --info cache/sonde/index/* "
                ">x"); /* of a format that was */
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "an index file of another version: make it again");
    CHECK_CONTAINS(run.out, "prog.c:4");
    test_run_done(&run);
    run = shell("cd $DIR && rm -r cache && touch cache && $SONDE symbolize ./whole+0x$(cat at)");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "prog.c:4");
    CHECK_STR(run.err, "");
    test_run_done(&run);
}

/* addr2line is the other tool that people give addresses to. */
TEST(symbolize_addresses_as_addr2line_takes_them)
{
    static const char *const ways[] = {"$SONDE symbolize -m prog 0x$a",
                                       "$SONDE symbolize -e prog 0x$a",
                                       "$SONDE symbolize -e prog $a",
                                       "$SONDE symbolize --exe=./prog $((0x$a))x",
                                       "cd / && $SONDE symbolize $DIR/prog+0x$a",
                                       "$SONDE symbolize prog+0x$a",
                                       "echo $a | $SONDE symbolize -e prog",
                                       "echo 0x$a | $SONDE symbolize -m prog",
                                       "printf '0x%s\r\n' $a | $SONDE symbolize -m prog"};
    build("cd $DIR && gcc -O1 -g -o prog prog.c");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char command[400];
        bool is_none = strstr(ways[i], "x\"") != NULL || strstr(ways[i], "))x") != NULL;
        snprintf(command, sizeof command,
                 "cd $DIR && a=$(nm prog | sed -n 's/^0*\\([0-9a-f]*\\) . leaf$/\\1/p') && "
                 "addr2line -e prog $a >expected && %s",
                 ways[i]);
        struct test_run run = shell(command);
        if (is_none) {
            CHECK_EQ(run.status, 2); /* decimal, with a letter behind it */
        } else {
            CHECK_EQ(run.status, 0);
            CHECK_CONTAINS(run.out, "leaf");
            CHECK_CONTAINS(run.out, "prog.c:");
        }
        test_run_done(&run);
    }
    /* a log's bare number is not an address of nobody */
    struct test_run run = shell("cd $DIR && printf '1234\\n' | $SONDE symbolize");
    CHECK_STR(run.out, "1234\n");
    test_run_done(&run);
}

TEST(symbolize_reports_what_is_wrong_with_a_file)
{
    static const struct {
        const char *make, *says;
    } cases[] = {
        {"rm -f bad", "bad: No such file or directory"},
        {"gcc -c prog.c && rm -f bad && ar rcs bad prog.o",
         "bad: an archive of object files: their addresses are not final"},
        {"head -c 600 prog >bad", "bad: truncated: its section headers are beyond its end"},
        {"head -c $(($(wc -c <prog) - 100)) prog >bad", "bad: truncated: "},
        {"echo text >bad", "bad: not an ELF"},
        {": >bad", "bad: not an ELF"},
        {"rm bad && mkdir bad", "bad: not a regular file"},
    };
    build("cd $DIR && gcc -O1 -g -o prog prog.c");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char command[400];
        snprintf(command, sizeof command, "cd $DIR && { %s; } && $SONDE symbolize -m bad 0x1234",
                 cases[i].make);
        struct test_run run = shell(command);
        CHECK_CONTAINS(run.err, cases[i].says);
        test_run_done(&run);
        if (i != 0 && i + 1 < sizeof cases / sizeof cases[0]) {
            run = shell("cd $DIR && $SONDE index -o made/here bad");
            CHECK_CONTAINS(run.err, "bad: ");
            test_run_done(&run);
        }
    }
    /* the first --module is the one of plain addresses, also when it is not there */
    struct test_run run = shell("cd $DIR && $SONDE symbolize -m none -m prog 0x1234");
    CHECK_CONTAINS(run.err, "none: No such file");
    CHECK_CONTAINS(run.out, "??");
    test_run_done(&run);
    run = shell("cd $DIR && $SONDE index -o some/new/folder prog && ls some/new/folder/*.sndidx");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    /* nobody listens there */
    run = shell("cd $DIR && cp prog other && objcopy --strip-all other && "
                "DEBUGINFOD_URLS=http://127.0.0.1:1 XDG_CACHE_HOME=$DIR $SONDE symbolize "
                "--no-cache $(readelf -n prog | sed -n 's/.*Build ID: //p')+0x1234");
    if (strstr(run.err, "libdebuginfod1") == NULL) {
        CHECK_CONTAINS(run.err, "DEBUGINFOD_URLS=http://127.0.0.1:1: Connection refused");
    }
    test_run_done(&run);
}
