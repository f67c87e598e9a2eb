// SPDX-License-Identifier: Apache-2.0
/* Programs with a JIT, from outside: one made by the test, with known frames; LuaJIT, whose code
 * runs in its interpreter's frame and has no frame pointer; V8, which writes its names to a file
 * for perf. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "programs.h"
#include "test.h"

static struct json *stacks_of(pid_t pid, const char *option)
{
    char pid_text[16];
    const char *const argv[] = {program_sonde(), "stacks", pid_text, "--json", option, NULL};
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *report = json_parse(run.out);
    test_run_done(&run);
    return report;
}

static const struct json *main_thread(const struct json *report)
{
    JSON_EACH(thread, json_need(report, "threads"))
    {
        if (json_bool(thread, "main")) {
            return thread;
        }
    }
    FAIL("no main thread");
}

static uint64_t address_of(const struct json *frame)
{
    return strtoull(json_text(frame, "address"), NULL, 16);
}

/* The code without an image, innermost first, must be `expected` (0: the end), and the next frame
 * `caller`. */
static void check_made(const struct json *thread, const uint64_t *expected, const char *caller)
{
    unsigned at = 0;
    CHECK(strcmp(json_text(thread, "end"), "root") == 0);
    JSON_EACH(frame, json_need(thread, "frames"))
    {
        uint64_t address = address_of(frame);
        if (address != 0) {
            CHECK_EQ(address, expected[at]);
            at++;
        } else if (at > 0 && expected[at] == 0) {
            CHECK(strcmp(json_text(frame, "function"), caller) == 0);
            return;
        }
    }
    FAIL("%u frames of the JIT", at);
}

static void check_host(const char *mode, const char *option)
{
    const char *const argv[] = {program_built("jit/jit_host"), mode, NULL};
    uint64_t expected[64] = {0};
    struct program program = program_start(argv);
    program_await(&program, "\n", 20);
    char *text = program_output(&program), *next = text;
    unsigned count = 0;
    for (uint64_t value; (value = strtoull(next, &next, 16)) != 0 && count < 63;) {
        expected[count++] = value;
    }
    free(text);
    CHECK_EQ(count, 12);
    program_pause_ms(50);
    struct json *report = stacks_of(program.pid, option);
    check_made(main_thread(report), expected, "enter_jit");
    json_free(report);
    program_stop(&program, 10);
}

TEST(made_blocked)
{
    check_host("wait", NULL);
}

TEST(made_stopped)
{
    check_host("wait", "--stop");
    check_host("spin", "--stop");
}

/* --- LuaJIT --- */

/* Compiled code calls C, and fills registers with numbers so that some lie on the stack. `print`
 * comes after the loop was compiled. */
static const char lua[] =
    "local ffi = require('ffi')\n"
    "ffi.cdef[[int poll(void *, unsigned long, int);]]\n"
    "local wait = tonumber(arg[1])\n"
    "local function nap(n) return ffi.C.poll(nil, 0, n) end\n"
    "local function work(a, b, c, d, e, g, turns)\n"
    "  local p, q, r, t, s, n = a, b, c, d, 0, 0\n"
    "  for i = 1, turns do\n"
    "    local v = p * i + b; local w = q - i * c; local x = r * v; local y = t + w * x\n"
    "    p = w; q = x % 7; r = y % 5; t = v % 3; s = s + v * w + x * y + a * b * c + d * e * g\n"
    "    if wait > 0 then s = s + nap(n) end\n"
    "    if i == 200 then n = wait; print('compiled'); io.stdout:flush() end\n"
    "  end\n"
    "  return s\n"
    "end\n"
    "print(work(1, 2, 3, 4, 5, 6, 1e12))\n";

static struct program start_lua(const char *wait)
{
    const char *luajit = program_unpacked("luajit", "usr/bin/luajit");
    char path[1024];
    const char *const argv[] = {luajit, path, wait, NULL};
    if (luajit == NULL) {
        SKIP("luajit is not unpacked");
    }
    snprintf(path, sizeof path, "%s/work.lua", test_folder());
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(lua, file) >= 0);
    fclose(file);
    struct program program = program_start(argv);
    program_await(&program, "compiled", 20);
    program_pause_ms(100);
    return program;
}

/* Frames of main and lua_pcall without compiled code, by gdb of the same program. JIT code is
 * innermost or called C. Returns how often it was seen. */
static unsigned check_lua(const struct json *thread)
{
    static const char *const callers[] = {"lua_pcall", "lua_cpcall", "main", NULL};
    unsigned compiled = 0, at = 0;
    CHECK(strcmp(json_text(thread, "end"), "root") == 0);
    JSON_EACH(frame, json_need(thread, "frames"))
    {
        if (address_of(frame) != 0) {
            CHECK_EQ(at, 0);
            compiled++;
        } else if (callers[at] != NULL && strcmp(json_text(frame, "function"), callers[at]) == 0) {
            at++;
        }
    }
    CHECK(callers[at] == NULL);
    CHECK(compiled <= 1);
    return compiled;
}

TEST(luajit_blocked)
{
    struct program program = start_lua("1000");
    unsigned compiled = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct json *report = stacks_of(program.pid, i == 2 ? "--stop" : NULL);
        compiled += check_lua(main_thread(report));
        json_free(report);
    }
    CHECK(compiled >= 2); /* one look may fall between two naps, and report that the thread moved */
    program_stop(&program, 10);
}

TEST(luajit_running)
{
    struct program program = start_lua("0");
    unsigned compiled = 0;
    for (unsigned i = 0; i < 10; i++) {
        struct json *report = stacks_of(program.pid, "--stop");
        compiled += check_lua(main_thread(report));
        json_free(report);
        program_pause_ms(7);
    }
    CHECK(compiled >= 9);
    program_stop(&program, 10);
}

/* --- V8 --- */

static const char js[] =
    "const cell = new Int32Array(new SharedArrayBuffer(4));\n"
    "function leafWait() { Atomics.wait(cell, 0, 0, 60000); return 1; }\n"
    "function leafWarm() { return 1; }\n"
    "let leaf = leafWarm;\n"
    "function recur(d) { if (d === 0) return leaf(); return (recur(d - 1) + 1) | 0; }\n"
    "function outermost(d) { return [1].map(function callback(x) { return recur(d) + x; })[0]; }\n"
    "for (let i = 0; i < 50000; i++) outermost(9);\n"
    "console.log('compiled'); leaf = leafWait; outermost(9);\n";

/* V8's name of the code at `address`: the last one for a place counts. */
static bool v8_name(const char *map, uint64_t address, char *ret_name, size_t size)
{
    FILE *file = fopen(map, "r");
    char line[4096], name[2048];
    unsigned long long start, length;
    bool is_there = false;
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%llx %llx %2047[^\n]", &start, &length, name) == 3 &&
            address - start < length) {
            snprintf(ret_name, size, "%s", name);
            is_there = true;
        }
    }
    fclose(file);
    return is_there;
}

static void check_v8(const char *option, const char *map, pid_t pid)
{
    unsigned recur = 0, callback = 0, outermost = 0;
    struct json *report = stacks_of(pid, option);
    const struct json *thread = main_thread(report);
    CHECK(strcmp(json_text(thread, "end"), "root") == 0);
    JSON_EACH(frame, json_need(thread, "frames"))
    {
        uint64_t address = address_of(frame);
        char name[2048];
        if (address == 0) {
            continue;
        }
        if (!v8_name(map, address - 1, name, sizeof name)) {
            FAIL("no code of V8 at %#llx", (unsigned long long)address);
        }
        recur += strstr(name, "recur") != NULL;
        callback += strstr(name, "callback") != NULL;
        outermost += strstr(name, "outermost") != NULL;
    }
    /* the interpreter, which is node's own code, may still run some */
    CHECK(recur >= 8 && recur <= 10);
    CHECK(callback <= 1 && outermost <= 1);
    json_free(report);
}

TEST(v8_blocked)
{
    char map[64], script[1024];
    const char *const argv[] = {"node", "--perf-basic-prof", script, NULL};
    if (!program_on_path("node")) {
        SKIP("no node here");
    }
    snprintf(script, sizeof script, "%s/deep.js", test_folder());
    FILE *file = fopen(script, "w");
    CHECK(file != NULL);
    CHECK(fputs(js, file) >= 0);
    fclose(file);
    struct program program = program_start(argv);
    program_await(&program, "compiled", 60);
    program_pause_ms(200);
    snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)program.pid);
    check_v8(NULL, map, program.pid);
    check_v8("--stop", map, program.pid);
    program_stop(&program, 10);
    unlink(map);
}
