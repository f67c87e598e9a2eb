// SPDX-License-Identifier: Apache-2.0
/* JavaScript functions of a sampled thread, from the recorded memory of a real Node.js
 * (fuzz/regress/v8): its registers and stack, as a perf sample has them, are made from the record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_v8.h"
#include "target_private.h"
#include "test.h"

enum { FILE_MAX = 1 << 18, FUNCTIONS = 10, STACK_MAX = 1 << 16 };

struct sampled {
    struct recorded_v8 recorded;
    uint8_t *data;
    struct sonde__target target;
    struct sonde__regs regs;
    uint8_t stack[STACK_MAX];
    struct sonde__runtime_moment moment;
};

static void load(struct sampled *s)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz/regress/v8/node20", test_source_dir());
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    s->data = malloc(FILE_MAX);
    CHECK(s->data != NULL);
    size_t size = fread(s->data, 1, FILE_MAX, file);
    fclose(file);
    CHECK(recorded_v8_open(s->data, size, &s->recorded));
}

/* The target's memory is the record; its stack was walked as it is there. */
static void open_target(struct sampled *s)
{
    const struct sonde__runtime_memory memory = {recorded_read, &s->recorded.memory};
    const struct sonde_stack *stack = &s->recorded.stack;
    s->target.scripts.wanted = true;
    CHECK_OK(
        sonde__runtime_open_v8(&s->recorded.stated, &memory, &s->target.scripts.runtime, NULL));
    uint64_t *fps = sonde__target_script_fps(&s->target, stack->count);
    CHECK(fps != NULL);
    memcpy(fps, s->recorded.fps, stack->count * sizeof *fps);
}

/* The innermost frame that the walk left by its frame pointer. */
static uint32_t innermost_by_pointer(const struct sonde_stack *stack)
{
    uint32_t i = 0;
    while (i + 2 < stack->count && (stack->how[i + 1] & SONDE_HOW_FOUND_MASK) != SONDE_FOUND_FP) {
        i++;
    }
    return i;
}

/* The stack as far as the record has the frames that the pointers link. */
static void sample(struct sampled *s)
{
    const struct sonde_stack *stack = &s->recorded.stack;
    uint32_t first = innermost_by_pointer(stack);
    uint64_t begin = s->recorded.fps[first], fp = begin;
    uint8_t link[16];
    size_t size = 0;
    while (recorded_copy(&s->recorded.memory, fp, link, sizeof link) == sizeof link) {
        size = (size_t)(fp - begin) + sizeof link;
        fp = sonde__base_le64(link);
        CHECK(size <= STACK_MAX);
    }
    for (size_t at = 0; at < size; at += 8) {
        (void)recorded_copy(&s->recorded.memory, begin + at, s->stack + at, 8);
    }
    s->regs.arch = SONDE__ARCH_HOST;
    s->regs.pc = stack->pcs[first];
    sonde__regs_set(&s->regs, sonde__arch_fp(SONDE__ARCH_HOST), begin);
    s->moment = (struct sonde__runtime_moment){
        .regs = &s->regs, .stack = s->stack, .address = begin, .size = size};
}

static struct sampled *start(void)
{
    struct sampled *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    load(s);
    open_target(s);
    sample(s);
    return s;
}

static const struct sonde__target_script *read_and_join(struct sampled *s)
{
    sonde__target_read_sampled(&s->target, 1, &s->moment);
    sonde__target_join_script(&s->target, &s->moment, &s->recorded.stack);
    return sonde__target_script(&s->target);
}

static void end(struct sampled *s)
{
    sonde__target_scripts_done(&s->target.scripts);
    free(s->data);
    free(s);
}

TEST(functions_of_a_sampled_thread_are_joined)
{
    struct sampled *s = start();
    const struct sonde__target_script *read = read_and_join(s);
    CHECK_EQ(read->script.state, SONDE__SCRIPT_READ);
    CHECK_EQ(read->script.count, FUNCTIONS);
    CHECK(read->joined);
    end(s);
}

/* Native code uses the frame pointer for other things. That there are functions further out is
 * known when the stack is walked, and then it is too late to read them. */
TEST(functions_of_a_thread_sampled_in_native_code_are_said_to_be_missing)
{
    struct sampled *s = start();
    sonde__regs_set(&s->regs, sonde__arch_fp(SONDE__ARCH_HOST), 12345);
    const struct sonde__target_script *read = read_and_join(s);
    CHECK_EQ(read->script.state, SONDE__SCRIPT_TORN);
    CHECK_EQ(read->script.count, 0);
    CHECK(!read->joined);
    CHECK_STR(read->script.why, "it ran native code when it was sampled");
    CHECK_STR(read->script.language, "JavaScript");
    end(s);
}

/* A thread of Node.js that runs no script. */
TEST(nothing_is_missing_where_no_function_is_on_the_stack)
{
    struct sampled *s = start();
    sonde__regs_set(&s->regs, sonde__arch_fp(SONDE__ARCH_HOST), 12345);
    memset(s->target.scripts.fps, 0, s->recorded.stack.count * sizeof(uint64_t));
    const struct sonde__target_script *read = read_and_join(s);
    CHECK_EQ(read->script.state, SONDE__SCRIPT_NONE);
    CHECK(read->script.why == NULL);
    end(s);
}

/* V8 may run a copy of its code: another image of the same build. */
TEST(v8s_code_keeps_records_and_is_not_the_programs)
{
    struct sampled *s = start();
    struct sonde__target_scripts *scripts = &s->target.scripts;
    struct sonde__image image = {.path = "/srv/node", .bias = 4096};
    scripts->has_image = true;
    image.build_id.size = scripts->build_id.size = 20;
    CHECK(sonde__target_keeps_record(scripts, NULL, 1));
    CHECK(sonde__target_keeps_record(scripts, &image, 1));
    CHECK(sonde__target_is_node(&s->target, &image));
    image.path = "/srv/app";
    CHECK(!sonde__target_is_node(&s->target, &image));
    scripts->is_packed = true;
    CHECK(sonde__target_is_node(&s->target, &image));
    image.build_id.bytes[0] = 1;
    CHECK(!sonde__target_keeps_record(scripts, &image, 1));
    CHECK(!sonde__target_is_node(&s->target, &image));
    image.build_id.size = scripts->build_id.size = 0; /* nothing shows that it is a copy */
    CHECK(!sonde__target_keeps_record(scripts, &image, 1));
    end(s);
}
