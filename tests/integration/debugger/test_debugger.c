// SPDX-License-Identifier: Apache-2.0
/* sonde_block_print() and sonde_stacks_print() called by gdb and lldb, and the commands that share/
 * has for both, on programs whose sources give the truth (locked.c, blocks/corpus/cycles.m). */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "debuggers.h"
#include "programs.h"
#include "test.h"

enum { TEXT = 4300 };

typedef struct test_run (*debugger)(const struct debugger_job *job);

/* --- functions called while locks are held --- */

/* Lines of the block and of the thread that holds the loader's lock, both of locked.c. */
static void check_printed(const char *out)
{
    unsigned long long block = 0;
    const char *at = strstr(out, "block 0x"), *holder = strstr(out, "\"holder\"\n");
    if (at == NULL || holder == NULL) {
        FAIL("nothing printed: %s", out);
    }
    CHECK_EQ(sscanf(at, "block 0x%llx", &block), 1);
    CHECK_CONTAINS(at, ", on a stack, 44 bytes\n    handler_block_invoke  debugger_locked\n"
                       "    void (^)(void)\n");
    CHECK_CONTAINS(at, "    +32    data        ");
    CHECK_CONTAINS(at, "78563412\n");
    CHECK_CONTAINS(out, ", global, 44 bytes\n    everywhere_block_invoke  debugger_locked\n");
    CHECK_CONTAINS(out, " is no block: its first word is not a class of blocks\n");
    CHECK_CONTAINS(out, "0x8 cannot be read\n");
    CHECK_CONTAINS(out, "0x0 is no block\n");
    /* the thread that makes the call */
    at = strstr(out, ", which prints this\n");
    CHECK(at != NULL);
    CHECK_CONTAINS(at,
                   "    called by a debugger, which has the innermost functions; perhaps these");
    CHECK_CONTAINS(at, "  malloc+0x");
    CHECK_CONTAINS(strstr(at, "  malloc+0x"), "  main+0x");
    CHECK_CONTAINS(strstr(at, "  main+0x"), "  _start+0x");
    /* the commands: the same blocks as the program sonde sees them */
    CHECK_CONTAINS(out, "    44 bytes at 0x");
    CHECK_CONTAINS(strstr(out, "    44 bytes at 0x"), ", on a stack\n");
    CHECK_CONTAINS(strstr(out, "    44 bytes at 0x"), ", global\n");
    /* the other one */
    CHECK_CONTAINS(holder, "  hold_loader+0x");
    CHECK_CONTAINS(strstr(holder, "  hold_loader+0x"), "  dl_iterate_phdr+0x");
    CHECK_CONTAINS(strstr(holder, "  dl_iterate_phdr+0x"), "  run_holder+0x");
}

static void check_calls(debugger debug, const char *preload, const char *stop, const char *call,
                        const char *source)
{
    static const char *const calls[] = {
        "sonde_block_print(block)",       "sonde_block_print(&everywhere)",
        "sonde_block_print((char *)$sp)", "sonde_block_print((void *)8)",
        "sonde_block_print((void *)0)",   "sonde_stacks_print()"};
    enum { CALLS = sizeof calls / sizeof calls[0] };
    char set[TEXT], load[TEXT], commands[CALLS][96];
    snprintf(set, sizeof set, "%s%s/src/libsonde.so", preload, test_build_dir());
    snprintf(load, sizeof load, "%s %s/share/sonde_%s.py", source, test_source_dir(),
             debug == debugger_gdb ? "gdb" : "lldb");
    struct debugger_job job = {.program = program_built("debugger/debugger_locked"),
                               .commands = {set, load, stop, "run"}};
    size_t count = 4;
    for (size_t i = 0; i < CALLS; i++) {
        snprintf(commands[i], sizeof commands[i], "%s (void)%s", call, calls[i]);
        job.commands[count++] = commands[i];
    }
    job.commands[count++] = "sonde block block";
    job.commands[count++] = "sonde block everywhere";
    job.commands[count++] = "kill";
    struct test_run run = debug(&job);
    char *all = NULL; /* lldb prints the program's output, gdb lets the program print */
    CHECK(asprintf(&all, "%s%s", run.err, run.out) > 0);
    check_printed(all);
    free(all);
    test_run_done(&run);
}

TEST_TIMEOUT(gdb_calls_while_the_heap_and_the_loader_are_locked, 250)
{
    check_calls(debugger_gdb, "set environment LD_PRELOAD ", "break here", "call", "source");
}
TEST_TIMEOUT(lldb_calls_while_the_heap_and_the_loader_are_locked, 250)
{
    check_calls(debugger_lldb, "settings set target.env-vars LD_PRELOAD=", "breakpoint set -n here",
                "expr", "command script import");
}

/* --- the corpus of blocks --- */

static const char *kind_text(char kind)
{
    switch (kind) {
    case 's':
        return "strong";
    case 'w':
        return "weak";
    case 'b':
        return "block";
    case 'r':
        return "byref";
    default:
        return "C++ object";
    }
}

/* The lines of one block: up to the next one. */
static size_t size_of(const char *printed)
{
    const char *end = strstr(printed, "\nblock 0x");
    return end != NULL ? (size_t)(end - printed) : strlen(printed);
}

/* True if there is a capture of that kind at that offset. */
static bool has_capture(const char *printed, size_t size, const char *kind, unsigned offset)
{
    char begins[32];
    snprintf(begins, sizeof begins, "\n    +%-6u", offset);
    const char *at = printed;
    while ((at = strstr(at, begins)) != NULL && (size_t)(at - printed) < size) {
        at += strlen(begins);
        const char *text = at + strspn(at, " ");
        if (strncmp(text, kind, strlen(kind)) == 0) {
            return true;
        }
    }
    return false;
}

/* The output lists each capture that the runtime retains or releases, and no other as strong, weak,
 * block or byref. `owned`: the line of corpus/program.c, up to "found". */
static unsigned check_owned(const char *name, const char *owned, const char *printed)
{
    size_t size = size_of(printed);
    unsigned wanted = 0, shown = 0, depth = 0, checked = 0;
    for (const char *at = owned; *at != '\0' && strncmp(at, "found", 5) != 0; at++) {
        if (at[0] >= 'a' && at[0] <= 'z' && depth == 0) {
            unsigned offset = (unsigned)strtoul(at + 1, NULL, 10);
            /* an array is one object, listed by its first element */
            if (at[0] == 'c') {
                CHECK(memmem(printed, size, "C++ object", 10) != NULL);
            } else if (!has_capture(printed, size, kind_text(at[0]), offset)) {
                FAIL("%s: %s at %u is not printed: %.*s", name, kind_text(at[0]), offset, (int)size,
                     printed);
            }
            wanted += at[0] != 'c';
            checked++;
        }
        depth += at[0] == '(';
        depth -= at[0] == ')';
    }
    for (const char *at = printed;
         (at = strstr(at, "\n    +")) != NULL && (size_t)(at - printed) < size;) {
        at += 6;
        at += strspn(at, "0123456789");
        at += strspn(at, " ");
        shown += strncmp(at, "strong ", 7) == 0 || strncmp(at, "weak ", 5) == 0 ||
                 strncmp(at, "block ", 6) == 0 || strncmp(at, "byref ", 6) == 0;
    }
    if (shown != wanted) {
        FAIL("%s: %u owned, %u printed: %.*s", name, wanted, shown, (int)size, printed);
    }
    return checked;
}

TEST_TIMEOUT(gdb_prints_the_corpus, 250)
{
    char program[700], preload[TEXT], list[1000], start[1100], script[1300];
    snprintf(program, sizeof program, "%s/corpus-apple", corpus_built("-O2", CORPUS_ALL));
    snprintf(preload, sizeof preload, "set environment LD_PRELOAD %s/src/libsonde.so",
             test_build_dir());
    snprintf(list, sizeof list, "%s/list", test_folder());
    snprintf(start, sizeof start, "run > %s", list);
    snprintf(script, sizeof script,
             "python [gdb.execute('call (void)sonde_block_print((void*)' + line.split()[1] + ')') "
             "for line in open('%s') if ' 0x' in line and ' here ' not in line]",
             list);
    struct debugger_job job = {
        .program = program,
        .commands = {preload, "set breakpoint pending on", "break getchar", start, script, "kill"}};
    struct test_run run = debugger_gdb(&job);
    char *rest = test_read_file(list, NULL), *whole = rest;
    unsigned blocks = 0, captures = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char name[64], address[32], where[16], begins[64];
        const char *owned = strstr(line, " owned");
        if (owned == NULL || sscanf(line, "%63s %31s %15s", name, address, where) != 3 ||
            strcmp(where, "here") == 0) {
            continue;
        }
        snprintf(begins, sizeof begins, "block %s, %s, ", address,
                 strcmp(where, "heap") == 0 ? "on the heap" : "global");
        const char *printed = strstr(run.err, begins);
        if (printed == NULL) {
            FAIL("%s is not printed as: %s", name, begins);
        }
        captures += check_owned(name, owned + 6, printed);
        blocks++;
    }
    CHECK(blocks >= 130);
    CHECK(captures >= 130);
    free(whole);
    test_run_done(&run);
}

/* --- commands --- */

static struct program made;
static char *lines;

static void start(void)
{
    char path[700], preload[TEXT];
    snprintf(path, sizeof path, "%s/cycles-apple", corpus_built("-O2", CORPUS_ALL));
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s/src/libsonde.so", test_build_dir());
    const char *argv[] = {"env", preload, path, NULL};
    made = program_start(argv);
    program_await(&made, "made\n", 60);
    lines = program_output(&made);
}

static void end(void)
{
    free(lines);
    (void)program_stop(&made, 30);
}

static const char *address_of(const char *name)
{
    static char addresses[4][32];
    static unsigned next;
    char key[64], *address = addresses[next++ % 4];
    snprintf(key, sizeof key, "%s 0x", name);
    const char *at = strstr(lines, key);
    while (at != NULL && at != lines && at[-1] != '\n') {
        at = strstr(at + 1, key);
    }
    CHECK(at != NULL);
    CHECK_EQ(sscanf(at + strlen(key) - 2, "%31s", address), 1);
    return address;
}

/* A block whose code only runs another block: the output names that one, and the command that shows
 * more. */
TEST_TIMEOUT(gdb_prints_a_block_that_runs_another, 250)
{
    char call[128], runs[128], more[128];
    start();
    snprintf(call, sizeof call, "call (void)sonde_block_print((void*)%s)",
             address_of("handed_on_block"));
    struct debugger_job job = {.pid = (int)made.pid, .commands = {call, "detach"}};
    struct test_run run = debugger_gdb(&job);
    char *printed = program_output(&made);
    snprintf(runs, sizeof runs, "\n    runs block %s in __15-[Ctl handedOn]_block_invoke",
             address_of("handed_on_inner"));
    snprintf(more, sizeof more, "\n    with names of variables: sonde blocks --pid=%d %s\n",
             (int)made.pid, address_of("handed_on_block"));
    CHECK_CONTAINS(printed, runs);
    CHECK_CONTAINS(printed, "\n    on queue 0x51515150\n");
    CHECK_CONTAINS(printed, more);
    free(printed);
    test_run_done(&run);
    end();
}

static void check_commands(debugger debug, const char *source)
{
    char load[TEXT], block[128], cast[128], holders[128], none[128], line[128];
    start();
    snprintf(load, sizeof load, "%s %s/share/sonde_%s.py", source, test_source_dir(),
             debug == debugger_gdb ? "gdb" : "lldb");
    snprintf(block, sizeof block, "sonde block %s", address_of("strong_cycle_block"));
    snprintf(cast, sizeof cast, "sonde block (char *)(%s + 8) - 8",
             address_of("byref_cycle_block"));
    snprintf(holders, sizeof holders, "sonde holders %s", address_of("long_cycle"));
    snprintf(none, sizeof none, "sonde block %s", address_of("byref_cycle"));
    struct debugger_job job = {.pid = (int)made.pid,
                               .commands = {load, block, cast, holders, "sonde stack",
                                            "sonde block", "sonde block no_such_variable",
                                            "sonde stack some", none, "detach"}};
    struct test_run run = debug(&job);
    CHECK_CONTAINS(run.out, "block in -[Ctl strongCycle] (cycles.m:");
    CHECK_CONTAINS(run.out, "block in -[Ctl byrefCycle] (cycles.m:");
    snprintf(line, sizeof line, "Ctl %s\n", address_of("byref_cycle"));
    CHECK_CONTAINS(run.out, line);
    CHECK_CONTAINS(run.out, "it holds itself:\n  Ctl ");
    const char *stack = strstr(run.out, "  stopped by a tracer");
    CHECK(stack != NULL);
    CHECK_CONTAINS(stack, "  #0  ");
    CHECK_CONTAINS(stack, " main+0x");
    CHECK_CONTAINS(stack, " _start+0x");
    CHECK_CONTAINS(run.err, "sonde: which address?");
    CHECK_CONTAINS(run.err, "no_such_variable");
    CHECK_CONTAINS(run.err, "not understood: some");
    CHECK_CONTAINS(run.err, "no live block of the heap is there");
    test_run_done(&run);
    end();
}

TEST_TIMEOUT(commands_of_gdb, 250)
{
    check_commands(debugger_gdb, "source");
}
TEST_TIMEOUT(commands_of_lldb, 250)
{
    check_commands(debugger_lldb, "command script import");
}

/* A core gives stacks; without blocks, or without a process, there is a message. */
static void check_core(debugger debug, const char *source, const char *core)
{
    char load[TEXT];
    const char *program = program_built("debugger/debugger_locked");
    snprintf(load, sizeof load, "%s %s/share/sonde_%s.py", source, test_source_dir(),
             debug == debugger_gdb ? "gdb" : "lldb");
    struct debugger_job job = {
        .program = program,
        .core = core,
        .commands = {load, "sonde stack", "sonde block $sp", "sonde stack all"}};
    struct test_run run = debug(&job);
    const char *one = strstr(run.out, "process "), *all = NULL;
    CHECK(one != NULL);
    all = strstr(one + 1, "process ");
    CHECK(all != NULL);
    CHECK_CONTAINS(one, "  #0  here+0x");
    CHECK_CONTAINS(one, " main+0x");
    CHECK_CONTAINS(one, " hold_loader+0x");
    CHECK(strstr(one, " hold_loader+0x") > all);
    CHECK_CONTAINS(run.err, "no live block of the heap is there");
    test_run_done(&run);
    job = (struct debugger_job){.program = program, .commands = {load, "sonde stack", NULL}};
    run = debug(&job);
    CHECK_CONTAINS(run.err, "no process is being debugged");
    test_run_done(&run);
}

static const char *make_core(void)
{
    static char path[TEXT], command[TEXT + 32];
    snprintf(path, sizeof path, "%s/core", test_folder());
    snprintf(command, sizeof command, "generate-core-file %s", path);
    struct debugger_job job = {.program = program_built("debugger/debugger_locked"),
                               .commands = {"break here", "run", command, "kill"}};
    struct test_run run = debugger_gdb(&job);
    CHECK_CONTAINS(run.out, "Saved corefile");
    test_run_done(&run);
    return path;
}

TEST_TIMEOUT(a_core_in_gdb, 250)
{
    check_core(debugger_gdb, "source", make_core());
}
TEST_TIMEOUT(a_core_in_lldb, 250)
{
    if (!test_long()) {
        SKIP("with --long");
    }
    check_core(debugger_lldb, "command script import", make_core());
}

/* The blocks of a core equal those of the process. */
static void check_blocks_of_core(debugger debug, const char *source)
{
    char load[TEXT], block[128], holders[128], line[128], program[700];
    start();
    snprintf(program, sizeof program, "%s/cycles-apple", corpus_built("-O2", CORPUS_ALL));
    snprintf(load, sizeof load, "%s %s/share/sonde_%s.py", source, test_source_dir(),
             debug == debugger_gdb ? "gdb" : "lldb");
    snprintf(block, sizeof block, "sonde block (char *)(%s + 8) - 8",
             address_of("byref_cycle_block"));
    snprintf(holders, sizeof holders, "sonde holders %s", address_of("long_cycle"));
    struct debugger_job job = {
        .program = program, .core = core_of_program(made.pid), .commands = {load, block, holders}};
    (void)program_stop(&made, 30);
    struct test_run run = debug(&job);
    CHECK_CONTAINS(run.out, "block in -[Ctl byrefCycle] (cycles.m:");
    snprintf(line, sizeof line, "Ctl %s\n", address_of("byref_cycle"));
    CHECK_CONTAINS(run.out, line);
    CHECK_CONTAINS(run.out, "it holds itself:\n  Ctl ");
    test_run_done(&run);
    free(lines);
}

TEST_TIMEOUT(blocks_of_a_core_in_gdb, 250)
{
    check_blocks_of_core(debugger_gdb, "source");
}
TEST_TIMEOUT(blocks_of_a_core_in_lldb, 250)
{
    if (!test_long()) {
        SKIP("with --long");
    }
    check_blocks_of_core(debugger_lldb, "command script import");
}
