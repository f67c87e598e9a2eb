// SPDX-License-Identifier: Apache-2.0
/* Names of code outside of images, in the stacks of other processes: perf maps, jitdump, GDB's
 * list, which gdb also reads; node's own maps; untrusted files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

enum { BYTES = 8192 };

static char *shell(const char *command)
{
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    char *out;
    if (run.status == 77) {
        SKIP("%s", run.out);
    }
    if (run.status != 0) {
        FAIL("%s: %d %s %s", command, run.status, run.out, run.err);
    }
    out = strdup(run.out);
    test_run_done(&run);
    return out;
}

static const char *code_at = "0x7e0000000";

/* Start the program with these arguments, run `look` on it ("$P" is its pid, "$S" sonde). */
static char *look_at(const char *arguments, const char *look)
{
    char command[2 * BYTES];
    snprintf(command, sizeof command,
             "cd %s; D=%s/tests/integration/jitnames; S=%s/cli/sonde\n"
             "[ \"$(uname -m)\" = x86_64 ] || { echo only x86-64; exit 77; }\n"
             "gcc -O1 -g -fno-omit-frame-pointer -w -o jitted $D/jitted.c &&\n"
             "gcc -nostdlib -static -Wl,-Ttext=%s,--build-id=none,-e,made_outer "
             "-o code.elf $D/code.S || exit 1\n"
             "rm -f started; mkfifo started; ./jitted code.elf %s > started &\n"
             "P=$!; read line < started; sleep 0.1\n"
             "%s; R=$?; kill $P; rm -f /tmp/perf-$P.map; exit $R",
             test_folder(), test_source_dir(), test_build_dir(), code_at, arguments, look);
    return shell(command);
}

/* The text has the parts in this order, each on a later line. */
static void check_order(const char *text, const char *const *parts, unsigned count)
{
    const char *at = text;
    for (unsigned i = 0; i < count; i++) {
        const char *found = strstr(at, parts[i]);
        if (found == NULL) {
            FAIL("no %s behind that in: %s", parts[i], text);
        }
        at = found + strlen(parts[i]);
    }
}
#define CHECK_ORDER(text, ...)                                                                     \
    do {                                                                                           \
        const char *const parts_[] = {__VA_ARGS__};                                                \
        check_order(text, parts_, sizeof parts_ / sizeof parts_[0]);                               \
    } while (0)

static void ids_of(const char *text, char ret_ids[4][24], unsigned *ret_count)
{
    *ret_count = 0;
    for (const char *at = text; (at = strstr(at, "[code ")) != NULL; at++) {
        CHECK(*ret_count < 4);
        snprintf(ret_ids[(*ret_count)++], 24, "%.16s", at + 6);
    }
}

/* The same code at another address of another process has the same id; other code has another one.
 * So does an image without a build-id. */
TEST_TIMEOUT(jit_without_names_has_an_id, 100)
{
    static const char look[] = "$S stacks $P; $S stacks $P --json | grep -c code_id; "
                               "$S stacks $P -o - | $S show - | grep -o 'code [0-9a-f]*'";
    char ids[4][24], others[4][24];
    unsigned count, other_count;
    char *text = look_at("none", look);
    CHECK_CONTAINS(text, "[no image]  [code ");
    CHECK_CONTAINS(text, "\n2\ncode ");
    ids_of(text, ids, &count);
    CHECK_EQ(count, 2);
    CHECK(strcmp(ids[0], ids[1]) != 0);
    CHECK_ORDER(strstr(text, "\n2\n"), ids[0], ids[1]);
    free(text);
    code_at = "0x5a0340000";
    text = look_at("none", look);
    ids_of(text, others, &other_count);
    CHECK_CONTAINS(text, "0x5a0340");
    CHECK_EQ(other_count, 2);
    CHECK_STR(ids[0], others[0]);
    CHECK_STR(ids[1], others[1]);
    free(text);
    text = look_at("map", "$S stacks $P"); /* with names, ids follow names */
    ids_of(text, others, &other_count);
    CHECK_EQ(other_count, 2);
    CHECK(strcmp(ids[0], others[0]) != 0);
    CHECK_CONTAINS(text, "[JIT]  [code ");
    free(text);
}

TEST_TIMEOUT(image_without_build_id_has_an_id, 100)
{
    static const char command[] =
        "cd %s; S=%s/cli/sonde; printf 'int pause(void); int main(void) { %s; return 0; }' > x.c\n"
        "gcc -w -Wl,--build-id=none -o x x.c || exit 77\n"
        "for i in 1 2; do ./x & P=$!; sleep 0.3; $S stacks $P --images | grep '/x$'; kill $P; done";
    char line[BYTES], other[BYTES];
    snprintf(line, sizeof line, command, test_folder(), test_build_dir(), "pause()");
    char *text = shell(line);
    snprintf(other, sizeof other, command, test_folder(), test_build_dir(), "pause() + pause()");
    char *changed = shell(other);
    CHECK(strncmp(text, "  no build-id, code ", 20) == 0);
    CHECK_CONTAINS(strchr(text, '\n') + 1, "  no build-id, code ");
    CHECK(strncmp(text, strchr(text, '\n') + 1, 36) == 0);
    CHECK(strncmp(changed, "  no build-id, code ", 20) == 0 && strncmp(text, changed, 36) != 0);
    free(text);
    free(changed);
}

/* The bad entry comes after the tables of good ones are full. */
TEST_TIMEOUT(jit_list_of_good_and_bad_ones, 100)
{
    char arguments[32];
    for (unsigned count = 8; count <= 64; count *= 2) {
        snprintf(arguments, sizeof arguments, "many %u", count);
        char *text = look_at(arguments, "$S stacks $P; $S stacks --stop $P");
        CHECK_ORDER(text, "wait_here", "made_inner+0x", "made_outer+0x", "main+", "wait_here",
                    "made_inner+0x", "made_outer+0x", "main+");
        free(text);
    }
}

TEST_TIMEOUT(jit_without_names, 60)
{
    char *text = look_at("none", "$S stacks $P");
    CHECK_ORDER(text, "wait_here", "0x7e00000", "[no image]", "0x7e00000", "[no image]", "main+");
    free(text);
}

TEST_TIMEOUT(jit_perf_map, 60)
{
    char *text = look_at("map", "$S stacks $P; $S stacks --json $P");
    CHECK_ORDER(text, "wait_here", "mapped_inner+0x", "[JIT]",
                "LazyCompile:~outer /app/main.js:1:2+0x", "[JIT]", "main+",
                "\"function\": \"mapped_inner\"", "\"name_source\": \"jit\"");
    CHECK(strstr(text, "older_name") == NULL); /* the later entry counts */
    free(text);
}

TEST_TIMEOUT(jit_perf_map_of_others, 60)
{
    char *text;
    if (geteuid() != 0) {
        SKIP("only root may give files away");
    }
    text = look_at("map", "chown 12345 /tmp/perf-$P.map; $S stacks $P 2>&1");
    CHECK_ORDER(text, "wait_here", "[no image]", "main+", "belongs to another user");
    CHECK(strstr(text, "mapped_inner") == NULL);
    free(text);
    text = look_at("map $PWD/elsewhere", "$S stacks $P 2>&1"); /* the map is a link */
    CHECK_ORDER(text, "wait_here", "[no image]", "main+");
    CHECK(strstr(text, "mapped_inner") == NULL);
    free(text);
}

TEST_TIMEOUT(jit_dump, 60)
{
    char *text = look_at("dump", "$S stacks $P");
    CHECK_ORDER(text, "wait_here", "dumped_inner+0x", "[JIT]", "dumped_outer+0x", "[JIT]", "main+");
    free(text);
}

TEST_TIMEOUT(jit_list_as_gdb_reads_it, 60)
{
    char *text = look_at("list", "$S stacks $P");
    CHECK_ORDER(text, "wait_here", "made_inner+0x", "[JIT]", "made_outer+0x", "[JIT]", "main+");
    free(text);
    text = look_at("list", "command -v gdb >/dev/null || { echo no gdb; kill $P; exit 77; }\n"
                           "gdb -nx -p $P -batch -ex bt 2>/dev/null");
    CHECK_ORDER(text, "wait_here", "made_inner", "made_outer", "main");
    free(text);
}

TEST_TIMEOUT(jit_symbolize_with_a_perf_map, 60)
{
    char *text =
        look_at("map $PWD/names", "$S symbolize --perf-map names 0x7e0000004;\n"
                                  "printf 'at 0x7e0000014, and 0x7e0ffffff\\n' |"
                                  " $S symbolize --perf-map names;\n"
                                  "$S symbolize --json --perf-map names 0x7e0000014;\n"
                                  "$S symbolize --perf-map jitted 0x7e0000014 2>&1; [ $? = 5 ]");
    CHECK_ORDER(text, "0x7e0000004\n  LazyCompile:~outer /app/main.js:1:2  [JIT]\n",
                "at 0x7e0000014 [mapped_inner], and 0x7e0ffffff\n", "\"jit\": \"mapped_inner\"",
                "neither a perf map nor a jitdump");
    free(text);
}

/* Two processes are each process 1 of a namespace: the map is by the process' own /tmp and pid. */
TEST_TIMEOUT(jit_in_a_namespace, 60)
{
    char command[BYTES];
    char *text;
    free(look_at("none", "true")); /* builds the program */
    snprintf(command, sizeof command,
             "cd %s; S=%s/cli/sonde; rm -f started; mkfifo started; mkdir -p tmp\n"
             "unshare -mpf --kill-child true 2>/dev/null || { echo no namespaces; exit 77; }\n"
             "unshare -mpf --kill-child sh -c 'mount --bind tmp /tmp && exec ./jitted code.elf map'"
             " > started &\n"
             "U=$!; read line < started; sleep 0.1\n"
             "P=$(cat /proc/$U/task/$U/children | tr -d ' ')\n"
             "ls tmp; $S stacks $P; R=$?; kill -9 $P $U; exit $R",
             test_folder(), test_build_dir());
    text = shell(command);
    CHECK_ORDER(text, "perf-1.map", "wait_here", "mapped_inner+0x", "LazyCompile:~outer", "main+");
    free(text);
}

TEST_TIMEOUT(jit_of_node, 60)
{
    char command[BYTES];
    char *text;
    snprintf(command, sizeof command,
             "cd %s; S=%s/cli/sonde; command -v node >/dev/null || { echo no node; exit 77; }\n"
             "cat > wait.js <<'E'\n"
             "function innermostOfOurs() {\n"
             "  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000);\n"
             "}\n"
             "function aroundIt() { innermostOfOurs(); }\n"
             "aroundIt();\n"
             "E\n"
             "node --perf-basic-prof --interpreted-frames-native-stack wait.js & P=$!\n"
             "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3;"
             " $S stacks --unfolded --thread $P $P > out;"
             " grep -q aroundIt out && break; done\n"
             "cat out; kill $P; rm -f /tmp/perf-$P.map",
             test_folder(), test_build_dir());
    text = shell(command);
    CHECK_ORDER(text, "innermostOfOurs", "[JIT]", "aroundIt", "[JIT]");
    free(text);
}
