// SPDX-License-Identifier: Apache-2.0
/* JavaScript functions from the recorded memory of real processes, Node.js 20 and 26: the same
 * program, whose stack is as below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_v8.h"
#include "test.h"

static const struct {
    const char *function, *file;
    uint32_t line;
} stack[] = {
    {"wait", "/tmp/srv/app.js", 3},
    {"größe ☃", "/tmp/srv/app.js", 7},
    {"get1", "/tmp/srv/app.js", 10},
    {"get1", "/tmp/srv/app.js", 10},
    {"get1", "/tmp/srv/app.js", 10},
    {"get1", "/tmp/srv/app.js", 10},
    {"each", "", 1},
    {"forEach", "", 0},
    {"eval", "", 1},
    {"tick", "/tmp/srv/app.js", 14},
};
enum { DEPTH = sizeof stack / sizeof stack[0], FILE_MAX = 1 << 18 };

static struct recorded_v8 recorded;

static uint8_t *load(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz/regress/v8/%s", test_source_dir(), name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    uint8_t *data = malloc(FILE_MAX);
    CHECK(data != NULL);
    size_t size = fread(data, 1, FILE_MAX, file);
    fclose(file);
    CHECK(recorded_v8_open(data, size, &recorded));
    return data;
}

static struct sonde__runtime *open_recorded(void)
{
    const struct sonde__runtime_memory memory = {recorded_read, &recorded.memory};
    struct sonde__runtime *runtime = NULL;
    CHECK_OK(sonde__runtime_open_v8(&recorded.stated, &memory, &runtime, NULL));
    return runtime;
}

static struct sonde__script read_recorded(struct sonde__runtime *runtime)
{
    const struct sonde__runtime_native native = {.stack = &recorded.stack, .fps = recorded.fps};
    struct sonde__script script;
    sonde__runtime_read_stack(runtime, recorded.memory.tid, &native, &script);
    return script;
}

static void check_recorded(const char *name, const char *version)
{
    uint8_t *data = load(name);
    struct sonde__runtime *runtime = open_recorded();
    CHECK_STR(sonde__runtime_name(runtime), version);
    for (int again = 0; again < 2; again++) {
        struct sonde__script script = read_recorded(runtime);
        CHECK_EQ(script.state, SONDE__SCRIPT_READ);
        CHECK(script.doubt == NULL);
        CHECK_EQ(script.count, DEPTH);
        for (uint32_t i = 0; i < DEPTH && i < script.count; i++) {
            CHECK_STR(script.frames[i].function, stack[i].function);
            CHECK_STR(script.frames[i].file, stack[i].file);
            CHECK_EQ(script.frames[i].line, stack[i].line);
        }
    }
    sonde__runtime_close(runtime);
    free(data);
}

TEST(functions_of_node_20)
{
    check_recorded("node20", "V8 11.3");
}
TEST(functions_of_node_26)
{
    check_recorded("node26", "V8 14.6");
}

/* The innermost native frame runs code: what the frame says of its line is old. */
TEST(the_line_of_a_running_function_is_not_told)
{
    uint8_t *data = load("node20");
    struct sonde__runtime *runtime = open_recorded();
    (void)read_recorded(runtime);
    recorded.how[runtime->natives[0]] |= SONDE_HOW_EXACT;
    struct sonde__script script = read_recorded(runtime);
    CHECK_EQ(script.count, DEPTH);
    CHECK_STR(script.frames[0].function, "wait");
    CHECK_EQ(script.frames[0].line, 0);
    CHECK_EQ(script.frames[1].line, 7);
    CHECK(script.doubt != NULL);
    sonde__runtime_close(runtime);
    free(data);
}

/* A native stack that is not that of the memory any more. */
TEST(a_stack_that_changed_gives_a_reason)
{
    uint8_t *data = load("node20");
    struct sonde__runtime *runtime = open_recorded();
    (void)read_recorded(runtime);
    recorded.pcs[runtime->natives[3] + 1] ^= 16;
    struct sonde__script script = read_recorded(runtime);
    CHECK_EQ(script.state, SONDE__SCRIPT_DAMAGED);
    CHECK_STR(script.why, "its native stack changed");
    sonde__runtime_close(runtime);
    free(data);
}

/* Change the code at which the function of a native frame goes on. */
static void poke_loads(uint8_t *data, uint32_t native, uint64_t code)
{
    recorded_poke(&recorded.memory, data, recorded.pcs[native], code);
}

/* On aarch64, V8 signs return addresses. */
TEST(a_signed_return_address_leads_to_the_caller)
{
    uint8_t *data = load("node20");
    struct sonde__runtime *runtime = open_recorded();
    (void)read_recorded(runtime);
    uint32_t native = runtime->natives[3];
    sonde__runtime_close(runtime);
    recorded_poke(&recorded.memory, data, recorded.fps[native] + 8,
                  recorded.pcs[native + 1] | (uint64_t)0x2a5 << 49);
    runtime = open_recorded();
    struct sonde__script script = read_recorded(runtime);
    CHECK_STR(script.why, "its native stack changed"); /* not on x86 */
    sonde__runtime_close(runtime);
    recorded.stated.arch = SONDE_ARCH_AARCH64;
    runtime = open_recorded();
    script = read_recorded(runtime);
    CHECK_EQ(script.count, DEPTH);
    CHECK_STR(script.frames[3].function, stack[3].function);
    CHECK_EQ(script.frames[3].line, 0); /* x86 code */
    sonde__runtime_close(runtime);
    poke_loads(data, native, 0xb89dc3b3f85e03b4); /* ldur x20, [x29, -32]; ldursw x19, [x29, -36] */
    runtime = open_recorded();
    script = read_recorded(runtime);
    CHECK_EQ(script.frames[3].line, stack[3].line);
    sonde__runtime_close(runtime);
    free(data);
}

/* A loop that was compiled while it ran: its frame still has the bytecode and an offset in it,
 * those of the moment when the compiled code took over. */
TEST(the_line_of_a_loop_that_was_compiled_while_it_ran_is_not_told)
{
    uint8_t *data = load("node26");
    struct sonde__runtime *runtime = open_recorded();
    struct sonde__script script = read_recorded(runtime);
    CHECK_EQ(script.frames[0].line, stack[0].line);
    poke_loads(data, runtime->natives[0], 0xdc5d8b44e0658b4c); /* other registers */
    sonde__runtime_close(runtime);
    runtime = open_recorded();
    script = read_recorded(runtime);
    CHECK_EQ(script.count, DEPTH);
    for (uint32_t i = 0; i < DEPTH && i < script.count; i++) {
        CHECK_STR(script.frames[i].function, stack[i].function);
        CHECK_EQ(script.frames[i].line, 0);
    }
    CHECK_STR(script.doubt,
              "functions that V8 compiled have no line here, and those in them no name");
    sonde__runtime_close(runtime);
    free(data);
}

/* --- while V8 collects garbage --- */

static uint64_t word_at(uint64_t address)
{
    uint8_t bytes[8] = {0};
    (void)recorded_copy(&recorded.memory, address, bytes, sizeof bytes);
    return sonde__base_le64(bytes);
}

/* Move an object: its new address is where its map was. */
static void move(uint8_t *data, uint64_t object)
{
    enum { BYTES = 192, TO = 0x10000 };
    static uint64_t to = TO;
    uint8_t *piece = data + recorded.memory.size, *bytes = piece + RECORDED_PIECE;
    CHECK(recorded.memory.size + RECORDED_PIECE + BYTES <= FILE_MAX);
    sonde__base_put_le64(piece, to);
    sonde__base_put_le32(piece + 8, BYTES);
    for (unsigned i = 0; i < BYTES; i++) {
        bytes[i] = 0;
        (void)recorded_copy(&recorded.memory, object - 1 + i, &bytes[i], 1);
    }
    recorded_poke(&recorded.memory, data, object - 1, to);
    recorded.memory.size += RECORDED_PIECE + BYTES;
    to += TO;
}

/* Its function, what V8 knows of it, and its name. */
static void each_object(struct sonde__runtime *runtime, uint32_t frame, uint64_t ret_objects[3])
{
    const int32_t *of = runtime->v8->v8.layout.of;
    ret_objects[0] =
        word_at(recorded.fps[runtime->natives[frame]] + (uint64_t)(int64_t)of[V8_FP_FUNCTION]);
    ret_objects[1] = word_at(ret_objects[0] - 1 + (uint64_t)of[V8_FUNCTION_SHARED]);
    ret_objects[2] = word_at(ret_objects[1] - 1 + (uint64_t)of[V8_SHARED_NAME]);
}

static void check_moved(const char *name)
{
    uint8_t *data = load(name);
    uint64_t objects[3];
    struct sonde__runtime *runtime = open_recorded();
    (void)read_recorded(runtime);
    each_object(runtime, 0, objects);
    uint64_t context = word_at(recorded.fps[runtime->natives[0]] +
                               (uint64_t)(int64_t)runtime->v8->v8.layout.of[V8_FP_CONTEXT]);
    sonde__runtime_close(runtime);
    for (int i = 0; i < 3; i++) {
        move(data, objects[i]);
    }
    move(data, context);
    runtime = open_recorded();
    struct sonde__script script = read_recorded(runtime);
    CHECK_EQ(script.state, SONDE__SCRIPT_READ);
    CHECK_EQ(script.count, DEPTH);
    CHECK_STR(script.frames[0].function, stack[0].function);
    CHECK_STR(script.frames[0].file, stack[0].file);
    CHECK_EQ(script.frames[0].line, stack[0].line);
    sonde__runtime_close(runtime);
    free(data);
}

TEST(objects_that_v8_has_moved_are_followed)
{
    check_moved("node20");
    check_moved("node26");
}

/* It must not pass for a function without a name. */
TEST(a_function_whose_name_cannot_be_read_gives_a_reason)
{
    uint8_t *data = load("node20");
    uint64_t objects[3];
    struct sonde__runtime *runtime = open_recorded();
    (void)read_recorded(runtime);
    each_object(runtime, 0, objects);
    sonde__runtime_close(runtime);
    recorded_poke(&recorded.memory, data, objects[2] - 1, 0x7000000000000001);
    runtime = open_recorded();
    struct sonde__script script = read_recorded(runtime);
    CHECK_EQ(script.state, SONDE__SCRIPT_DAMAGED);
    CHECK_STR(script.why, "the name of a function or file cannot be read");
    sonde__runtime_close(runtime);
    free(data);
}

/* Frames that were read by the pointers of a sample are found in the walked stack, or not at all.
 */
TEST(frames_are_placed_by_their_pointers)
{
    uint8_t *data = load("node20");
    struct sonde__runtime *runtime = open_recorded();
    struct sonde__script script = read_recorded(runtime);
    uint32_t first = runtime->natives[0], second = runtime->natives[1];
    const struct sonde__runtime_native native = {.stack = &recorded.stack, .fps = recorded.fps};
    memset(runtime->natives, 0xff, sizeof runtime->natives);
    CHECK(sonde__runtime_place(runtime, script.run_count, &native));
    CHECK_EQ(runtime->natives[0], first);
    CHECK_EQ(runtime->natives[1], second);
    recorded.fps[second] += 16;
    CHECK(!sonde__runtime_place(runtime, script.run_count, &native));
    sonde__runtime_close(runtime);
    free(data);
}

/* The innermost frame is being made: where its function will be is that of an earlier call. */
TEST(a_frame_without_its_function_yet_is_left_out)
{
    uint8_t *data = load("node20");
    struct sonde__runtime *runtime = open_recorded();
    struct sonde__script script = read_recorded(runtime);
    const struct sonde__runtime_native native = {
        .stack = &recorded.stack, .fps = recorded.fps, .sp = recorded.fps[runtime->natives[0]]};
    sonde__runtime_read_stack(runtime, recorded.memory.tid, &native, &script);
    CHECK_EQ(script.state, SONDE__SCRIPT_READ);
    CHECK_EQ(script.count, DEPTH - 1);
    for (uint32_t i = 0; i < DEPTH - 1 && i < script.count; i++) {
        CHECK_STR(script.frames[i].function, stack[i + 1].function);
        CHECK_EQ(script.frames[i].line, stack[i + 1].line);
    }
    CHECK_STR(script.doubt, "it may be about to enter a function, which has no frame yet");
    sonde__runtime_close(runtime);
    free(data);
}

TEST(an_unknown_version_is_refused)
{
    uint8_t *data = load("node20");
    const struct sonde__runtime_memory memory = {recorded_read, &recorded.memory};
    struct sonde__runtime *runtime = NULL;
    struct sonde_error error;
    recorded.stated.values[V8_MINOR] = 4;
    CHECK_EQ(sonde__runtime_open_v8(&recorded.stated, &memory, &runtime, &error),
             SONDE_UNSUPPORTED);
    CHECK_STR(error.what, "V8 11.4 is not known");
    recorded.stated.values[V8_MINOR] = 3;
    recorded.stated.has[V8_SHARED_NAME] = false;
    CHECK_EQ(sonde__runtime_open_v8(&recorded.stated, &memory, &runtime, &error),
             SONDE_UNSUPPORTED);
    free(data);
}

/* With any byte damaged: names from the memory, or a reason for their absence. */
TEST(damaged_memory_gives_functions_or_a_reason)
{
    static const char *const names[] = {"node20", "node26"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        uint8_t *data = load(names[n]);
        size_t size = recorded.memory.size;
        for (size_t at = RECORDED_HEAD; at < size; at += 5) {
            struct sonde__runtime *runtime = NULL;
            uint8_t kept = data[at];
            data[at] ^= 0x18;
            const struct sonde__runtime_memory memory = {recorded_read, &recorded.memory};
            if (recorded_v8_open(data, size, &recorded) &&
                sonde__runtime_open_v8(&recorded.stated, &memory, &runtime, NULL) == SONDE_OK) {
                struct sonde__script script = read_recorded(runtime);
                CHECK((script.why != NULL) == (script.state == SONDE__SCRIPT_DAMAGED));
                CHECK(script.count <= recorded.stack.count);
                sonde__runtime_close(runtime);
            }
            data[at] = kept;
        }
        free(data);
    }
}
