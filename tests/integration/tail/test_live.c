// SPDX-License-Identifier: Apache-2.0
/* `sonde stacks` of a program in a tail call: it shows the functions that gdb infers from gcc's
 * debug information. It shows the same ones where gdb infers none: with clang, or without debug
 * information. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { BYTES = 4096 };

/* Build the chain, start it with `argument`, run `look` on it ("$P" is its pid). */
static char *look_at(const char *compile, const char *argument, const char *look)
{
    char command[3 * BYTES];
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run;
    char *out;
    snprintf(command, sizeof command,
             "cd %s && %s -w -o chain %s/tests/integration/tail/chain.c || exit 77\n"
             "rm -f started; mkfifo started; ./chain %s > started &\n"
             "P=$!; read line < started; sleep 0.2\n"
             "%s; R=$?; kill $P; exit $R",
             test_folder(), compile, test_source_dir(), argument, look);
    run = test_run(argv, NULL, NULL, 60);
    if (run.status == 77 || run.status == 127) {
        SKIP("%s", run.err);
    }
    CHECK_EQ(run.status, 0);
    out = strdup(run.out);
    test_run_done(&run);
    return out;
}

static char *sonde_stacks(const char *compile, const char *argument)
{
    char look[BYTES];
    snprintf(look, sizeof look, "%s/cli/sonde stacks $P", test_build_dir());
    return look_at(compile, argument, look);
}

/* The functions from leaf to main, one per line; "*" precedes an inferred one. */
static void functions_of(const char *text, char *ret_list)
{
    bool inside = false;
    ret_list[0] = '\0';
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        const char *name = line + strspn(line, " ");
        bool numbered = *name == '#';
        size_t length;
        if (numbered) {
            name += strcspn(name, " ");
            name += strspn(name, " ");
        }
        if (strncmp(name, "0x", 2) == 0 && strstr(name, " in ") != NULL) { /* gdb */
            name = strstr(name, " in ") + 4;
        }
        length = strcspn(name, "+ \n");
        inside = inside || (length == 4 && strncmp(name, "leaf", length) == 0);
        if (inside && length != 0) {
            sprintf(ret_list + strlen(ret_list), "%s%.*s\n", numbered ? "" : "*", (int)length,
                    name);
        }
        if (inside && length == 4 && strncmp(name, "main", length) == 0) {
            return;
        }
        line = end != NULL ? end + 1 : NULL;
    }
}

static void check_chain(const char *compile, const char *expected)
{
    char list[BYTES];
    char *text = sonde_stacks(compile, "");
    functions_of(text, list);
    CHECK_STR(list, expected);
    free(text);
}

TEST_TIMEOUT(as_gdb_infers, 120)
{
    char ours[BYTES], gdb[BYTES];
    char *a = sonde_stacks("gcc -O2 -g", "");
    char *b = look_at("gcc -O2 -g", "", "gdb -nx -p $P -batch -ex bt");
    functions_of(a, ours);
    functions_of(b, gdb);
    CHECK_STR(ours, "leaf\n*mid2\n*mid1\ntop\nmain\n");
    CHECK_STR(gdb, "leaf\nmid2\nmid1\ntop\nmain\n");
    CHECK_CONTAINS(a, "[tail call, inferred]");
    free(a);
    free(b);
}

TEST_TIMEOUT(without_debug_information, 120)
{
    check_chain("gcc -O2 -g1", "leaf\n*mid2\n*mid1\ntop\nmain\n");
    check_chain("gcc -O2", "leaf\n*mid2\n*mid1\ntop\nmain\n");
    check_chain("gcc -O2 -s -rdynamic", "leaf\n*mid2\n*mid1\ntop\nmain\n");
}

TEST_TIMEOUT(of_clang, 120)
{
    check_chain("clang-19 -O2 -g", "leaf\n*mid2\n*mid1\ntop\nmain\n");
    check_chain("clang-19 -O2", "leaf\n*mid2\n*mid1\ntop\nmain\n");
}

TEST_TIMEOUT(several_ways_are_a_gap, 120)
{
    char *text = sonde_stacks("gcc -O2", "x");
    const char *ways = strstr(text, "... tail calls, 2 ways ...");
    const char *called = strstr(text, "either");
    CHECK(ways != NULL && called != NULL && ways < called); /* called in any case */
    CHECK(strstr(text, "mid") == NULL && strstr(text, "side") == NULL);
    free(text);
}

/* Without names, leaf, mid1 and mid2 could be cold parts of one function. */
TEST_TIMEOUT(nothing_without_any_name, 120)
{
    char *text = sonde_stacks("gcc -O2 -s", "");
    CHECK(strstr(text, "tail call") == NULL);
    free(text);
}

/* python3's main() is a jump: start-up code calls main by a register, and passes its result to
 * exit(). */
TEST_TIMEOUT(main_of_python, 120)
{
    char look[BYTES];
    snprintf(look, sizeof look,
             "test -x /usr/bin/python3 || exit 77\n"
             "nm -D \"$(readlink -f /usr/bin/python3)\" | grep -q ' T Py_BytesMain' || exit 77\n"
             "/usr/bin/python3 -c 'import time; time.sleep(60)' &\n"
             "Q=$!; sleep 1; %s/cli/sonde stacks --unfolded $Q; kill $Q",
             test_build_dir());
    char *text = look_at("cc -O2", "", look);
    const char *inner = strstr(text, "Py_BytesMain+");
    CHECK(inner != NULL);
    inner = strchr(inner, '\n') + 1;
    const char *end = strchr(inner, '\n');
    const char *mark = strstr(inner, "[tail call, inferred]");
    CHECK(mark != NULL && mark < end);
    CHECK_CONTAINS(end, "libc");
    free(text);
}

/* A stack with its physical frames only, named from the program's index. */
TEST_TIMEOUT(symbolize_puts_them_in, 120)
{
    char look[2 * BYTES];
    const char *const compilers[] = {"gcc -O2 -g", "clang-19 -O2 -g"};
    snprintf(look, sizeof look,
             "%s/cli/sonde index -o . chain >/dev/null || exit 1\n"
             "%s/cli/sonde stacks $P | grep -v inferred | grep ' chain+' |"
             " sed 's/^\\( *#[0-9]*\\) *[^ ]* */\\1 /; s|  /.*||' > kept\n"
             "grep -c . kept; %s/cli/sonde symbolize --symbols . -m ./chain < kept",
             test_build_dir(), test_build_dir(), test_build_dir());
    for (unsigned i = 0; i < 2; i++) {
        char *text = look_at(compilers[i], "", look);
        const char *leaf = strstr(text, "[leaf at");
        const char *mid2 = strstr(text, "\n      tail call (inferred) [mid2 at");
        const char *mid1 = strstr(text, "\n      tail call (inferred) [mid1 at");
        const char *top = strstr(text, "[top at");
        if (leaf == NULL || mid2 == NULL || mid1 == NULL || top == NULL || leaf > mid2 ||
            mid2 > mid1 || mid1 > top) {
            FAIL("%s: %s", compilers[i], text);
        }
        CHECK(strstr(mid1 + 1, "tail call") == strstr(mid1, "tail call"));
        free(text);
        text = look_at(compilers[i], "x", look);
        CHECK_CONTAINS(text, "... tail calls, 2 ways ...\n      tail call (inferred) [either at");
        CHECK(strstr(text, "mid") == NULL && strstr(text, "side") == NULL);
        free(text);
    }
}

/* In JSON inferred frames belong to the frame that made the call. Frames that are not adjacent have
 * none between them. */
TEST_TIMEOUT(symbolize_json_has_them, 120)
{
    char look[2 * BYTES];
    snprintf(look, sizeof look,
             "%s/cli/sonde stacks $P | grep -v inferred | grep ' chain+' |"
             " sed 's/^\\( *#[0-9]*\\) *[^ ]* */\\1 /; s|  /.*||' > kept\n"
             "show() { %s/cli/sonde symbolize --json -m ./chain | python3 -c '\n"
             "import json, sys\n"
             "for e in json.load(sys.stdin):\n"
             "    print(e[\"frames\"][-1][\"function\"], [c.get(\"alternatives\") or"
             " c[\"frames\"][-1][\"function\"] for c in e.get(\"tail_calls\", [])])\n'; }\n"
             "show < kept; echo; sed 2d kept | show",
             test_build_dir(), test_build_dir());
    char *text = look_at("gcc -O2 -g", "", look);
    CHECK_CONTAINS(text, "leaf []\ntop ['mid2', 'mid1']\nmain []\n");
    CHECK_CONTAINS(text, "\n\nleaf []\nmain []\n");
    free(text);
    text = look_at("gcc -O2 -g", "x", look);
    CHECK_CONTAINS(text, "leaf []\nfork_top [2, 'either']\n");
    free(text);
}

/* The same from a debug file alone, which has call sites and no code: the called function is
 * certain; the compiler may have omitted other ways on from there. */
TEST_TIMEOUT(symbolize_with_a_debug_file, 120)
{
    char look[2 * BYTES];
    const char *const compilers[] = {"gcc -O2 -g -Wl,--build-id",
                                     "gcc -O2 -gdwarf-4 -Wl,--build-id",
                                     "clang-19 -O2 -g -Wl,--build-id"};
    snprintf(look, sizeof look,
             "rm -rf d; mkdir d; objcopy --only-keep-debug chain d/chain || exit 1\n"
             "%s/cli/sonde index -o d d/chain >/dev/null && %s/cli/sonde index --info d/*.sndidx\n"
             "%s/cli/sonde stacks $P | grep -v inferred | grep ' chain+' |"
             " sed 's/^\\( *#[0-9]*\\) *[^ ]* */\\1 /; s|  /.*||' > kept\n"
             /* not the index that `stacks` kept: that one includes the code */
             "XDG_CACHE_HOME=$PWD/none %s/cli/sonde symbolize --symbols d -m d/chain < kept",
             test_build_dir(), test_build_dir(), test_build_dir(), test_build_dir());
    for (unsigned i = 0; i < sizeof compilers / sizeof compilers[0]; i++) {
        char *text = look_at(compilers[i], "", look);
        CHECK_CONTAINS(text, "  tail calls 5 of 4 functions, 0 to other images, 2 call sites "
                             "of such functions; "
                             "from call sites\n");
        const char *leaf = strstr(text, "[leaf at");
        CHECK(leaf != NULL);
        CHECK_CONTAINS(leaf, "\n      ... tail calls, any number of ways ...\n"
                             "      tail call (inferred) [mid1 at");
        CHECK(strstr(leaf, "mid2") == NULL);
        free(text);
    }
}

/* Chains through other images: main -> top -> a1 => b1 => a2 => leaf, of a program and two
 * libraries. The oracle is the same program without sibling calls, whose stack has all frames. */
static char *look_across(const char *compiler, const char *flags, const char *link,
                         const char *argument, const char *look)
{
    char command[3 * BYTES], list[BYTES];
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run;
    snprintf(
        command, sizeof command,
        "SONDE=%s/cli/sonde; cd %s && S=%s/tests/integration/tail/across.c && C='%s -w %s' &&\n"
        "$C -shared -fPIC -DIMAGE_B -o libb.so $S -Wl,-z,lazy && "
        "$C -shared -fPIC -DIMAGE_A -o liba.so $S ./libb.so %s && "
        "$C -o across $S ./liba.so ./libb.so -Wl,-rpath,$PWD || exit 77\n"
        "rm -f started; mkfifo started; ./across %s > started &\n"
        "P=$!; read line < started; sleep 0.2\n"
        "%s; R=$?; kill $P; exit $R",
        test_build_dir(), test_folder(), test_source_dir(), compiler, flags, link, argument, look);
    run = test_run(argv, NULL, NULL, 100);
    if (run.status == 77 || run.status == 127) {
        SKIP("%s", run.err);
    }
    CHECK_EQ(run.status, 0);
    functions_of(run.out, list);
    test_run_done(&run);
    return strdup(list);
}

static char *across(const char *compiler, const char *flags, const char *link, const char *argument)
{
    return look_across(compiler, flags, link, argument, "$SONDE stacks $P");
}

static void check_across(const char *compiler, const char *flags, const char *link,
                         const char *argument, const char *expected)
{
    char all[BYTES];
    char *ours = across(compiler, flags, link, argument);
    CHECK_STR(ours, expected);
    snprintf(all, sizeof all, "%s -fno-optimize-sibling-calls", flags);
    char *truth = across(compiler, all, link, argument);
    char *to = ours;
    for (const char *from = ours; (*to = *from) != '\0'; from++) {
        to += *from != '*';
    }
    CHECK_STR(ours, truth);
    free(ours);
    free(truth);
}

TEST_TIMEOUT(through_other_images, 200)
{
    static const char expected[] = "leaf\n*a2\n*b1\n*a1\ntop\nmain\n";
    check_across("gcc", "-O2 -g", "-Wl,-z,now", "", expected); /* from index files */
    check_across("clang-19", "-O2 -fno-plt", "-Wl,-z,now", "", expected);
    if (test_long()) {
        check_across("gcc", "-O2", "-Wl,-z,now", "", expected);
        check_across("clang-19", "-O2 -g -gdwarf-4", "-Wl,-z,now", "", expected);
    }
}

/* Two ways exist through another image, or the loader has not bound a slot yet, so its target is
 * unknown: no way is shown. */
TEST_TIMEOUT(through_other_images_not_certain, 200)
{
    char *list = across("gcc", "-O2", "-Wl,-z,now", "x");
    CHECK_STR(list, "leaf\n*...\n*either\neither_top\nmain\n");
    free(list);
    list = across("gcc", "-O2", "-Wl,-z,lazy", "x");
    CHECK(strstr(list, "*b") == NULL && strstr(list, "*a") == NULL);
    free(list);
}

/* Keep only the physical frames of a stack, as a log does. */
#define KEEP_ALL                                                                                   \
    "$SONDE stacks $P | grep -v inferred | "                                                       \
    "sed 's/^\\( *#[0-9]*\\) .* \\([^ ]*+0x[0-9a-f]*\\).*/\\1 \\2/' >kept; "
#define KEEP KEEP_ALL "grep across <kept >own; mv own kept; "
/* "#1 leaf" for a frame that symbolize names, "a2" for a tail call. */
#define NAMES                                                                                      \
    " | sed -n 's/^ *\\(#[0-9]*\\) .*\\[\\([a-z0-9_]*\\) at .*/\\1 \\2/p; "                        \
    "s/^ *tail call (inferred) \\[\\([a-z0-9_]*\\) at .*/\\1/p; "                                  \
    "s/^ *[a-z0-9]*+0x[0-9a-f]* .*\\[\\([a-z0-9]*\\) at .*  \\[tail call, inferred\\]$/\\1/p'"

/* The same chain in a log, whose images are bound by names, and in a report, which stores them. */
TEST_TIMEOUT(through_other_images_of_logs, 200)
{
    static const char expected[] = "leaf\n*a2\n*b1\n*a1\ntop\nmain\n";
    static const char *const looks[] = {
        KEEP "$SONDE symbolize -m across -m libb.so -m liba.so <kept" NAMES,
        KEEP "for f in across liba.so libb.so; do mkdir d$f; $SONDE index -o d$f $f >x; "
             "I=\"$I -m $f=$(echo d$f/*)\"; done; $SONDE symbolize $I <kept" NAMES,
        "$SONDE stacks --report r $P >x; $SONDE symbolize --report r",
        "$SONDE stacks $P >text; "
        "$SONDE symbolize -m across -m libb.so -m liba.so <text 2>x" NAMES,
    };
    for (unsigned i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        char *list = look_across("gcc", "-O2 -g -Wl,--build-id", "", "", looks[i]);
        if (strcmp(list, expected) != 0) {
            FAIL("%s\n%s", looks[i], list);
        }
        free(list);
    }
}

/* Two libraries define the name, or no available one does: no way is shown. */
TEST_TIMEOUT(through_other_images_of_logs_not_certain, 200)
{
    char *list = look_across("gcc", "-O2 -g", "", "",
                             KEEP "$C -shared -fPIC -DIMAGE_B -DOTHER -o other.so $S && "
                                  "$SONDE symbolize -m across -m libb.so -m liba.so -m other.so "
                                  "<kept" NAMES);
    CHECK_STR(list, "leaf\ntop\nmain\n");
    free(list);
    list = look_across("gcc", "-O2 -g", "", "",
                       KEEP "$SONDE symbolize -m across -m liba.so <kept" NAMES);
    CHECK_STR(list, "leaf\ntop\nmain\n");
    free(list);
    list = look_across("gcc", "-O2 -g", "", "x",
                       KEEP "$SONDE symbolize -m across -m libb.so -m liba.so <kept" NAMES);
    CHECK_STR(list, "leaf\n*either\neither_top\nmain\n"); /* called in any case */
    free(list);
}

/* The version to which the program is bound selects one of two functions with one name. main(),
 * called by start-up code in another image, has left. */
TEST_TIMEOUT(versions_of_a_name, 200)
{
    static const char *const ways[][2] = {{"", "f_new"}, {"-DOLD", "f_old"}};
    for (unsigned i = 0; i < 2; i++) {
        char command[2 * BYTES];
        const char *argv[] = {"sh", "-c", command, NULL};
        snprintf(command, sizeof command,
                 "SONDE=%s/cli/sonde; cd %s && S=%s/tests/integration/tail/versions.c && "
                 "printf 'OLD { global: f; }; NEW { global: f; } OLD;' >map && C='gcc -O2 -g' && "
                 "$C -shared -fPIC -DLIBRARY -Wl,--version-script=map -o libv.so $S && "
                 "$C -rdynamic %s -o across $S ./libv.so -Wl,-rpath,$PWD || exit 77\n"
                 "rm -f started; mkfifo started; ./across >started & P=$!; read line <started\n"
                 "sleep 0.2; L=$(awk '/libc.so/ { print $6; exit }' /proc/$P/maps)\n" KEEP_ALL
                 "kill $P; $SONDE symbolize --no-cache --no-network --debug-root /nonexistent "
                 "-m across -m libv.so -m $L <kept",
                 test_build_dir(), test_folder(), test_source_dir(), ways[i][0]);
        struct test_run run = test_run(argv, NULL, NULL, 100);
        if (run.status == 77) {
            SKIP("%s", run.err);
        }
        CHECK_EQ(run.status, 0);
        const char *call = strstr(run.out, "tail call (inferred) [");
        const char *line = call != NULL ? strstr(call, "versions.c:") : NULL;
        CHECK(line != NULL);
        CHECK_EQ(atoi(line + strlen("versions.c:")), i == 0 ? 15 : 10);
        CHECK_CONTAINS(line, "tail call (inferred) [main at ");
        test_run_done(&run);
    }
}
