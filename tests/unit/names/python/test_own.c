// SPDX-License-Identifier: Apache-2.0
/* A thread's own frames, from the recorded memory of real interpreters, 3.8 to 3.14: those that the
 * reader of other processes finds, and with damaged memory an end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_own.h"
#include "recorded_memory.h"
#include "test.h"

static const char *const names[] = {"python3.8",  "python3.9",        "python3.10",
                                    "python3.11", "python3.12",       "python3.13",
                                    "python3.14", "python3.11-tasks", "python3.14-loop"};
enum { NAMES = sizeof names / sizeof names[0] };

static struct recorded_memory recorded;
static uint32_t copies;

static size_t copy(uint64_t address, void *ret_bytes, size_t size)
{
    copies++;
    return recorded_copy(&recorded, address, ret_bytes, (uint32_t)size);
}

static uint8_t *load(const char *name, struct sonde__runtime **ret_runtime)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz/regress/runtime/%s", test_source_dir(), name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    uint8_t *data = malloc(1 << 20);
    CHECK(data != NULL);
    size_t size = fread(data, 1, 1 << 20, file);
    fclose(file);
    CHECK(recorded_open(data, size, &recorded));
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    CHECK(sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, ret_runtime, NULL) ==
          SONDE_OK);
    return data;
}

static enum python_own_result read_own(const struct sonde__runtime *runtime,
                                       struct python_own_stack *stack)
{
    static struct python_own_frame frames[PYTHON_OWN_FRAMES];
    struct python_own_reader reader = {
        .layout = &runtime->python.layout, .copy = copy, .copies_left = 96};
    stack->frames = frames;
    copies = 0;
    return sonde__python_own_read(&reader, runtime->state, stack);
}

/* The reader of other processes numbers the calls of the loop; empty ones have no frame. */
static void check_equal(const struct sonde__runtime *runtime, const struct python_own_stack *stack)
{
    const struct python_chain *chain = &runtime->chain;
    bool is_object = runtime->python.layout.code_start == PYTHON_NO;
    uint32_t at = 0, run = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        uint64_t code = stack->frames[i].code & ~(uint64_t)PYTHON_OWN_FLAGS;
        unsigned flags = (unsigned)stack->frames[i].code & PYTHON_OWN_FLAGS;
        if (code != 0) {
            const struct python_frame *frame = &chain->frames[at++];
            CHECK_EQ(code, frame->code);
            CHECK_EQ(run, frame->run);
            CHECK_EQ((flags & PYTHON_OWN_GENERATOR) != 0, !is_object && frame->owner == 1);
            CHECK_EQ(stack->frames[i].at, is_object ? frame->instr + 1 : frame->instr - code);
        }
        run += (flags & PYTHON_OWN_ENDS_RUN) != 0;
    }
    CHECK_EQ(at, chain->count);
    CHECK_EQ(run, chain->run_count);
}

TEST(own_frames_are_those_that_another_process_reads)
{
    for (size_t n = 0; n < NAMES; n++) {
        struct sonde__runtime *runtime;
        struct sonde__script script;
        struct python_own_stack stack;
        uint8_t *data = load(names[n], &runtime);
        sonde__runtime_read(runtime, recorded.tid, &script);
        CHECK_EQ(script.state, SONDE__SCRIPT_READ);
        CHECK_EQ(read_own(runtime, &stack), PYTHON_OWN_READ);
        CHECK(stack.count != 0);
        check_equal(runtime, &stack);
        sonde__runtime_close(runtime);
        free(data);
    }
}

/* With any byte damaged: frames, or a result that says why not, by few copies. */
TEST(damaged_memory_ends)
{
    for (size_t n = 0; n < NAMES; n++) {
        struct sonde__runtime *runtime;
        struct sonde__script script;
        struct python_own_stack stack;
        uint8_t *data = load(names[n], &runtime);
        sonde__runtime_read(runtime, recorded.tid, &script);
        for (size_t at = RECORDED_HEAD; at + 8 < recorded.size; at += 24) {
            uint64_t was, now;
            memcpy(&was, data + at, sizeof was);
            now = was ^ (at % 48 == 0 ? (uint64_t)1 << at % 61 : UINT64_MAX);
            memcpy(data + at, &now, sizeof now);
            enum python_own_result result = read_own(runtime, &stack);
            CHECK(result <= PYTHON_OWN_ENTERS && stack.count <= PYTHON_OWN_FRAMES && copies <= 96);
            memcpy(data + at, &was, sizeof was);
        }
        sonde__runtime_close(runtime);
        free(data);
    }
}
