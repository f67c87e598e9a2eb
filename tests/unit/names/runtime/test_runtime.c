// SPDX-License-Identifier: Apache-2.0
/* Script frames from the recorded memory of real interpreters, CPython 3.8 to 3.14: the same
 * program, whose stack is as below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_memory.h"
#include "test.h"

struct expected {
    const char *function, *before_3_11;
    uint32_t line;
    uint8_t kind;
};

static const struct expected stack[] = {
    {"Order.parts", "parts", 18, SONDE__SCRIPT_GENERATOR},
    {"Order.parts", "parts", 17, SONDE__SCRIPT_GENERATOR},
    {"Order.parts", "parts", 17, SONDE__SCRIPT_GENERATOR},
    {"Order.add", "add", 13, SONDE__SCRIPT_FUNCTION},
    {"Order.total.<locals>.<lambda>", "<lambda>", 10, SONDE__SCRIPT_FUNCTION},
    {"Order.total", "total", 10, SONDE__SCRIPT_FUNCTION},
    {"rec", "rec", 23, SONDE__SCRIPT_FUNCTION},
    {"rec", "rec", 23, SONDE__SCRIPT_FUNCTION},
    {"rec", "rec", 23, SONDE__SCRIPT_FUNCTION},
    {"rec", "rec", 23, SONDE__SCRIPT_FUNCTION},
    {"rec", "rec", 23, SONDE__SCRIPT_FUNCTION},
    {"<module>", "<module>", 26, SONDE__SCRIPT_MODULE},
};
enum { DEPTH = sizeof stack / sizeof stack[0] };

static uint8_t *load(const char *name, struct recorded_memory *ret)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz/regress/runtime/%s", test_source_dir(), name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    uint8_t *data = malloc(1 << 20);
    CHECK(data != NULL);
    size_t size = fread(data, 1, 1 << 20, file);
    fclose(file);
    CHECK(recorded_open(data, size, ret));
    return data;
}

static void check_version(unsigned minor, uint32_t runs)
{
    char name[32];
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    struct sonde__script script;
    snprintf(name, sizeof name, "python3.%u", minor);
    uint8_t *data = load(name, &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    CHECK(sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime, NULL) ==
          SONDE_OK);
    CHECK(strncmp(sonde__runtime_name(runtime), "Python 3.", 9) == 0);
    for (int again = 0; again < 2; again++) {
        uint64_t before = runtime->view.reads;
        sonde__runtime_read(runtime, recorded.tid, &script);
        uint64_t calls = runtime->view.reads - before;
        /* the parts of all code objects by one; a known path by two at most */
        CHECK(calls <= (again != 0 ? 2u : minor >= 12 ? 36u : 30u));
        CHECK_EQ(script.state, SONDE__SCRIPT_READ);
        CHECK_EQ(script.count, DEPTH);
        CHECK_EQ(script.run_count, runs);
        CHECK_EQ(script.lock, SONDE__SCRIPT_LOCK_NOT_HELD);
        for (uint32_t i = 0; i < script.count && i < DEPTH; i++) {
            CHECK_STR(script.frames[i].function,
                      minor >= 11 ? stack[i].function : stack[i].before_3_11);
            CHECK_STR(script.frames[i].file, "/srv/app/app.py");
            CHECK_EQ(script.frames[i].line, stack[i].line);
            CHECK_EQ(script.frames[i].kind, stack[i].kind);
        }
    }
    sonde__runtime_read(runtime, recorded.tid + 1, &script);
    CHECK_EQ(script.state, SONDE__SCRIPT_NONE);
    sonde__runtime_close(runtime);
    free(data);
}

TEST(frames_of_3_8)
{
    check_version(8, 12);
}
TEST(frames_of_3_9)
{
    check_version(9, 12);
}
TEST(frames_of_3_10)
{
    check_version(10, 12);
}
TEST(frames_of_3_11)
{
    check_version(11, 5);
}
TEST(frames_of_3_12)
{
    check_version(12, 3);
}
TEST(frames_of_3_13)
{
    check_version(13, 3);
}
TEST(frames_of_3_14)
{
    check_version(14, 3);
}

/* --- states of other threads --- */

static struct sonde__script by_place(struct sonde__runtime *runtime, uint64_t tid, uint64_t pc,
                                     uint64_t sp, uint64_t outer_sp)
{
    uint64_t pcs[2] = {0x7000, pc};
    uint8_t how[2] = {SONDE_HOW_EXACT, SONDE_FOUND_CFI};
    struct sonde_stack native;
    struct sonde__script script;
    sonde_stack_init(&native, pcs, how, 2, 0);
    native.count = native.lost_at = 2;
    native.end = SONDE_END_ROOT;
    const struct sonde__runtime_native with = {.stack = &native, .sp = sp, .outer_sp = outer_sp};
    runtime->python.heads = 0; /* list the threads anew: what the last one found is kept */
    sonde__runtime_read(runtime, tid, &script);
    sonde__runtime_read_by_place(runtime, tid, &with, &script);
    return script;
}

/* A state is found by the native stack that has its calls, whatever thread it states; what is on
 * another stack is not shown. */
static void check_place(unsigned minor)
{
    enum { LOOP = 0x1000, ELSEWHERE = 0x9000, FRAME = 512 };
    char name[32];
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    snprintf(name, sizeof name, "python3.%u", minor);
    uint8_t *data = load(name, &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    CHECK_OK(sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime, NULL));
    runtime->loops[runtime->loop_count++] = (struct sonde__runtime_range){LOOP, LOOP + 16};
    struct sonde__script script = by_place(runtime, recorded.tid, LOOP + 4, 0, 0);
    CHECK_EQ(script.state, SONDE__SCRIPT_READ);
    uint64_t low = script.frames[0].anchor, high = script.frames[script.count - 1].anchor;
    CHECK((low != 0 && low < high) == (minor >= 11));
    for (unsigned i = 0; low != 0 && i < 2; i++) { /* it states this thread, or another one */
        script = by_place(runtime, recorded.tid + i, LOOP + 4, low - FRAME, high + 8);
        CHECK_EQ(script.state, SONDE__SCRIPT_READ);
        CHECK_EQ(script.count, DEPTH);
        CHECK_STR(script.frames[0].function, stack[0].function);
    }
    if (low != 0) {
        CHECK_EQ(by_place(runtime, recorded.tid, ELSEWHERE, high + FRAME, high + 1024).state,
                 SONDE__SCRIPT_NONE);
        CHECK_EQ(by_place(runtime, recorded.tid, ELSEWHERE, low - 1024, low - FRAME).state,
                 SONDE__SCRIPT_NONE);
        CHECK_EQ(by_place(runtime, recorded.tid, ELSEWHERE, low - FRAME, high).state,
                 SONDE__SCRIPT_READ); /* the outermost call is beyond, the innermost is not */
    }
    for (unsigned i = 0; i < 2; i++) {
        script =
            by_place(runtime, recorded.tid + 1, LOOP + 4, i * (high + FRAME), i * (high + 1024));
        CHECK_EQ(script.state, SONDE__SCRIPT_DAMAGED);
        CHECK_STR(script.why, "no thread that the interpreter knows has this stack");
    }
    CHECK_EQ(by_place(runtime, recorded.tid + 1, ELSEWHERE, 0, 0).state, SONDE__SCRIPT_NONE);
    sonde__runtime_close(runtime);
    free(data);
}

TEST(states_are_found_by_their_stack)
{
    for (unsigned minor = 8; minor <= 14; minor++) {
        check_place(minor);
    }
}

/* With any byte damaged: frames, or a reason for their absence. */
TEST(damaged_memory_gives_frames_or_a_reason)
{
    static const char *const names[] = {"python3.8",       "python3.10",      "python3.11",
                                        "python3.12",      "python3.14",      "python3.11-tasks",
                                        "python3.11-loop", "python3.14-loop", "python3.14-created"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct recorded_memory recorded;
        struct sonde__runtime *runtime;
        struct sonde__script script;
        uint8_t *data = load(names[n], &recorded);
        const struct sonde__runtime_memory memory = {recorded_read, &recorded};
        for (size_t at = RECORDED_HEAD; at + 8 < recorded.size; at += 40) {
            uint8_t kept = data[at];
            data[at] ^= 0x18;
            if (sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime,
                                       NULL) == SONDE_OK) {
                sonde__runtime_read(runtime, recorded.tid, &script);
                sonde__runtime_read_loop(runtime, &script);
                CHECK(script.state != SONDE__SCRIPT_READ || script.count > 0);
                CHECK(script.state != SONDE__SCRIPT_DAMAGED || script.why != NULL);
                CHECK(script.waiting_count == 0 ||
                      script.waiting[script.waiting_count - 1].task != NULL);
                sonde__runtime_close(runtime);
            }
            data[at] = kept;
        }
        free(data);
    }
}

/* A call that the interpreter's loop has just begun: its _PyCFrame has an earlier frame, above the
 * top of the frame stack. */
TEST(frames_beyond_the_top_are_not_taken)
{
    static const char *const names[] = {"python3.11", "python3.12"};
    for (size_t n = 0; n < 2; n++) {
        struct recorded_memory recorded;
        struct sonde__runtime *runtime;
        struct sonde__script script;
        uint8_t *data = load(names[n], &recorded);
        const struct sonde__runtime_memory memory = {recorded_read, &recorded};
        CHECK_OK(
            sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime, NULL));
        sonde__runtime_read(runtime, recorded.tid, &script);
        CHECK_EQ(script.state, SONDE__SCRIPT_READ);
        uint64_t at = runtime->python.threads[0].state + runtime->python.layout.ts_top;
        recorded_poke(&recorded, data, at, runtime->chain.frames[0].at);
        recorded_poke(&recorded, data, at + 8, runtime->chain.frames[0].at + 8);
        sonde__runtime_read(runtime, recorded.tid, &script);
        CHECK_EQ(script.state, SONDE__SCRIPT_DAMAGED);
        CHECK_STR(script.why, "it enters the interpreter's loop");
        sonde__runtime_close(runtime);
        free(data);
    }
}

/* A program may give code another name, which tracebacks show: here that of its file. */
TEST(code_is_shown_by_the_name_that_tracebacks_show)
{
    static const char *const names[] = {"python3.8", "python3.11", "python3.12", "python3.14"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct recorded_memory recorded;
        struct sonde__runtime *runtime;
        struct sonde__script script;
        uint64_t file = 0;
        uint8_t *data = load(names[n], &recorded);
        const struct sonde__runtime_memory memory = {recorded_read, &recorded};
        for (unsigned again = 0; again < 2; again++) { /* known already, and changed */
            CHECK_OK(sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime,
                                            NULL));
            sonde__runtime_read(runtime, recorded.tid, &script);
            const struct python_layout *l = &runtime->python.layout;
            uint64_t code = runtime->chain.frames[0].code;
            recorded_copy(&recorded, code + l->code_filename, (uint8_t *)&file, 8);
            recorded_poke(&recorded, data, code + l->code_name, file);
            sonde__runtime_read(runtime, recorded.tid, &script);
            CHECK_EQ(script.count, DEPTH);
            CHECK_STR(script.frames[0].function, "/srv/app/app.py");
            CHECK_STR(script.frames[DEPTH - 1].function, "<module>");
            sonde__runtime_close(runtime);
        }
        free(data);
    }
}

/* The program drops a function and makes another: the same addresses have other texts. */
TEST(code_that_took_the_place_of_other_code_is_read_again)
{
    static const char *const names[] = {"python3.8", "python3.10", "python3.11", "python3.13"};
    static const char *const wanted[] = {"xarts", "xarts", "Xrder.parts", "Xrder.parts"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct recorded_memory recorded;
        struct sonde__runtime *runtime;
        struct sonde__script script;
        uint8_t *data = load(names[n], &recorded);
        const struct sonde__runtime_memory memory = {recorded_read, &recorded};
        CHECK_OK(
            sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime, NULL));
        sonde__runtime_read(runtime, recorded.tid, &script);
        CHECK_EQ(script.state, SONDE__SCRIPT_READ);
        CHECK_EQ(script.frames[0].line, 18);
        const struct python_layout *l = &runtime->python.layout;
        uint64_t code = runtime->chain.frames[0].code, name = 0, file = 0, lines = 0, word = 0;
        recorded_copy(&recorded,
                      code + (l->code_qualname != PYTHON_NO ? l->code_qualname : l->code_name),
                      (uint8_t *)&name, 8);
        recorded_copy(&recorded, code + l->code_filename, (uint8_t *)&file, 8);
        recorded_copy(&recorded, code + l->code_linetable, (uint8_t *)&lines, 8);

        recorded_copy(&recorded, name + l->text_ascii_bytes, (uint8_t *)&word, 8);
        recorded_poke(&recorded, data, name + l->text_ascii_bytes,
                      word ^ (n < 2 ? 'p' ^ 'x' : 'O' ^ 'X'));
        sonde__runtime_read(runtime, recorded.tid, &script);
        CHECK_STR(script.frames[0].function, wanted[n]);

        recorded_copy(&recorded, file + l->text_ascii_bytes, (uint8_t *)&word, 8);
        recorded_poke(&recorded, data, file + l->text_ascii_bytes,
                      word ^ ((uint64_t)('s' ^ 'S') << 8));
        sonde__runtime_read(runtime, recorded.tid, &script);
        CHECK_STR(script.frames[0].file, "/Srv/app/app.py");

        recorded_copy(&recorded, lines + l->bytes_start, (uint8_t *)&word, 8);
        recorded_poke(&recorded, data, lines + l->bytes_start, 0);
        sonde__runtime_read(runtime, recorded.tid, &script);
        CHECK(script.state == SONDE__SCRIPT_DAMAGED || script.frames[0].line != 18);
        sonde__runtime_close(runtime);
        free(data);
    }
}

/* --- tasks --- */

/* A program whose task "save order 7" blocks; "client 3" awaits it, and Task-1 that. */
static struct sonde__script read_tasks(const struct sonde__runtime_memory *memory,
                                       struct sonde__runtime **ret_runtime)
{
    struct sonde__script script;
    const struct recorded_memory *recorded = memory->ctx;
    CHECK_OK(
        sonde__runtime_open_at(recorded->runtime, recorded->version, memory, ret_runtime, NULL));
    sonde__runtime_read(*ret_runtime, recorded->tid, &script);
    CHECK_EQ(script.state, SONDE__SCRIPT_READ);
    CHECK_EQ(script.count, 9);
    CHECK_STR(script.frames[1].function, "save");
    return script;
}

TEST(tasks_and_what_awaits_them)
{
    static const struct {
        const char *function, *task;
        uint32_t line;
    } waiting[] = {{"handle", NULL, 9}, {"serve", "client 3", 11}, {"main", "Task-1", 13}};
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    uint8_t *data = load("python3.11-tasks", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    struct sonde__script script = read_tasks(&memory, &runtime);
    for (uint32_t i = 0; i < script.count; i++) {
        if (i == 1) {
            CHECK_STR(script.frames[i].task, "save order 7");
        } else {
            CHECK(script.frames[i].task == NULL);
        }
    }
    CHECK_EQ(script.waiting_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_STR(script.waiting[i].function, waiting[i].function);
        CHECK_STR(script.waiting[i].file, "/srv/app/app.py");
        CHECK_EQ(script.waiting[i].line, waiting[i].line);
        CHECK_STR(script.waiting[i].task != NULL ? script.waiting[i].task : "",
                  waiting[i].task != NULL ? waiting[i].task : "");
    }
    sonde__runtime_close(runtime);
    free(data);
}

/* A task that now has another coroutine is not the running one; a task that nobody awaits is
 * alone. */
TEST(a_task_of_another_coroutine_is_not_taken)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    uint8_t *data = load("python3.11-tasks", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    struct sonde__script script = read_tasks(&memory, &runtime);
    const struct python *python = &runtime->python;
    uint64_t task = python->tasks[0].task, coroutine = python->tasks[0].coroutine;
    uint16_t member = python->layout.task_coroutine;
    recorded_poke(&recorded, data, task + 24, 0); /* its first callback */
    sonde__runtime_read(runtime, recorded.tid, &script);
    CHECK_STR(script.frames[1].task, "save order 7");
    CHECK_EQ(script.waiting_count, 0);
    recorded_poke(&recorded, data, task + member, coroutine + 16);
    sonde__runtime_read(runtime, recorded.tid, &script);
    CHECK_EQ(script.count, 9);
    CHECK(script.frames[1].task == NULL);
    CHECK_EQ(script.waiting_count, 0);
    recorded_poke(&recorded, data, task + member, coroutine);
    recorded_poke(&recorded, data, task + 8, python->codes.types.text); /* its type */
    sonde__runtime_read(runtime, recorded.tid, &script);
    CHECK(script.frames[1].task == NULL);
    sonde__runtime_close(runtime);
    free(data);
}

/* A circle of tasks that await each other ends. */
TEST(tasks_that_await_each_other_end)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    uint8_t *data = load("python3.11-tasks", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    struct sonde__script script = read_tasks(&memory, &runtime);
    uint64_t first = runtime->python.tasks[0].task, bound = 0, second = 0;
    CHECK_EQ(recorded_copy(&recorded, first + 24, (uint8_t *)&bound, 8), 8);
    CHECK_EQ(recorded_copy(&recorded, bound + 24, (uint8_t *)&second, 8), 8);
    recorded_poke(&recorded, data, second + 24, bound); /* "client 3" awaits itself */
    sonde__runtime_read(runtime, recorded.tid, &script);
    CHECK_EQ(script.count, 9);
    CHECK_EQ(script.waiting_count, 2); /* once */
    sonde__runtime_close(runtime);
    free(data);
}

/* --- loops that wait --- */

/* Five tasks wait in handle(), which main() gathers; two others await each other. */
static struct sonde__script read_loop(const struct sonde__runtime_memory *memory,
                                      struct sonde__runtime **ret_runtime)
{
    struct sonde__script script;
    const struct recorded_memory *recorded = memory->ctx;
    CHECK_OK(
        sonde__runtime_open_at(recorded->runtime, recorded->version, memory, ret_runtime, NULL));
    sonde__runtime_read(*ret_runtime, recorded->tid, &script);
    CHECK_EQ(script.state, SONDE__SCRIPT_READ);
    sonde__runtime_read_loop(*ret_runtime, &script);
    return script;
}

static void check_parked(const struct sonde__script_parked *parked, uint32_t i,
                         const char *function, uint32_t line)
{
    CHECK(i < parked->count);
    CHECK_STR(parked->frames[i].function, function);
    CHECK_EQ(parked->frames[i].line, line);
}

TEST(tasks_of_a_loop_that_waits)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    uint8_t *data = load("python3.11-loop", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    struct sonde__script script = read_loop(&memory, &runtime);
    CHECK(script.doubt == NULL);
    CHECK_EQ(script.parked_count, 2);
    CHECK_EQ(script.parked[0].tasks, 5);
    CHECK_EQ(script.parked[0].count, 3);
    check_parked(&script.parked[0], 0, "sleep", 639);
    check_parked(&script.parked[0], 1, "handle", 4);
    check_parked(&script.parked[0], 2, "main", 13);
    CHECK_STR(script.parked[0].frames[2].task, "Task-1");
    CHECK_EQ(script.parked[1].tasks, 1);
    CHECK_EQ(script.parked[1].count, 2); /* the circle, once */
    check_parked(&script.parked[1], 0, "circle", 7);
    check_parked(&script.parked[1], 1, "circle", 7);
    sonde__runtime_close(runtime);
    free(data);
}

/* 3.14 has a list of tasks for each thread, and values with tags. Four naps wait for main(), one
 * for a shield that a task of a group waits for. */
TEST(tasks_of_a_loop_of_3_14)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    uint8_t *data = load("python3.14-loop", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    struct sonde__script script = read_loop(&memory, &runtime);
    uint32_t tasks = 0, with_main = 0;
    CHECK(script.doubt == NULL);
    for (uint32_t i = 0; i < script.parked_count; i++) {
        const struct sonde__script_parked *parked = &script.parked[i];
        check_parked(parked, 0, "sleep", 712);
        tasks += parked->tasks;
        with_main += strcmp(parked->frames[parked->count - 1].task, "Task-1") == 0;
    }
    CHECK_EQ(tasks, 6);
    CHECK_EQ(with_main, script.parked_count);
    sonde__runtime_close(runtime);
    free(data);
}

/* In debug mode, a task has the stack that created it. */
TEST(creator_of_a_task)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    struct sonde__script script;
    uint8_t *data = load("python3.14-created", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    CHECK_OK(sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime, NULL));
    sonde__runtime_read(runtime, recorded.tid, &script);
    CHECK_EQ(script.state, SONDE__SCRIPT_READ);
    CHECK_STR(script.frames[0].function, "blocks");
    CHECK_STR(script.frames[0].task, "connection");
    CHECK_STR(script.frames[0].created.function, "accept");
    CHECK_EQ(script.frames[0].created.line, 16);
    CHECK_EQ(strcmp(script.frames[0].created.file, "/srv/app/created.py"), 0);
    CHECK(script.waiting_count > 0);
    CHECK_STR(script.waiting[script.waiting_count - 1].created.function, "<module>");
    CHECK(script.doubt == NULL);
    sonde__runtime_close(runtime);
    free(data);
}

/* A list whose links do not lead back, as if it changed while it was read. */
TEST(a_list_of_tasks_that_changes_is_reported)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    uint64_t first = 0;
    uint8_t *data = load("python3.14-loop", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    (void)read_loop(&memory, &runtime);
    uint64_t head = runtime->state + runtime->python.layout.ts_tasks;
    CHECK_EQ(recorded_copy(&recorded, head, (uint8_t *)&first, 8), 8);
    sonde__runtime_close(runtime);
    recorded_poke(&recorded, data, first + 8, first);
    struct sonde__script script = read_loop(&memory, &runtime);
    CHECK_STR(script.doubt != NULL ? script.doubt : "", "asyncio's list of tasks cannot be read");
    sonde__runtime_close(runtime);
    free(data);
}

/* A task of another class is not read, and that is said. */
TEST(tasks_of_other_classes_are_said_to_be_left_out)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    uint8_t *data = load("python3.11-loop", &recorded);
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    (void)read_loop(&memory, &runtime);
    uint64_t text = runtime->python.codes.types.text, task = runtime->python.codes.types.task;
    sonde__runtime_close(runtime);
    uint32_t changed = 0;
    for (size_t at = RECORDED_HEAD + 8; at + 8 <= recorded.size && changed == 0; at++) {
        bool is_object = sonde__base_le64(data + at - 8) < 1000; /* references */
        if (is_object && sonde__base_le64(data + at) == task) {
            memcpy(data + at, &text, 8);
            changed++;
        }
    }
    CHECK_EQ(changed, 1);
    struct sonde__script script = read_loop(&memory, &runtime);
    CHECK_STR(script.doubt != NULL ? script.doubt : "",
              "the loop has tasks of classes that are not read");
    sonde__runtime_close(runtime);
    free(data);
}
