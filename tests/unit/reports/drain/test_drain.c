// SPDX-License-Identifier: Apache-2.0
/* Stacks of invented addresses in a real image, this test program. The oracle is the linker:
 * &function. */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drain_stack.h"
#include "image_elf.h"
#include "mem_heap.h"
#include "symfile_calls.h"
#include "test.h"

#define NOINLINE __attribute__((noinline, used))

static volatile int sink;

enum { FIRST_LINE = __LINE__ + 1 };
NOINLINE static void first_function(void)
{
    sink = sink * 3 + 1;
    sink = sink * 5 + 2;
    sink = sink * 7 + 3;
}

NOINLINE static void second_function(void)
{
    sink = sink * 11 + 4;
    sink = sink * 13 + 5;
    sink = sink * 17 + 6;
}

extern const char executable_start[] __asm__("__executable_start");
extern const char text_end[] __asm__("etext");

/* The program's build-id, by which sonde matches files. */
static void read_build_id(const char *path, struct sonde__build_id *ret_id)
{
    size_t size;
    char *bytes = test_read_file(path, &size);
    struct sonde__elf elf;
    CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
    if (!sonde__elf_build_id(&elf, ret_id)) {
        ret_id->size = 0;
    }
    free(bytes);
}

/* The program as an image at `bias` (its real bias for addresses of functions). */
struct world {
    struct sonde__image image;
    struct sonde__image_range range;
    struct sonde__image_set set;
    struct sonde__report *report;
    struct sonde__symfile_cache *symbols;
    struct sonde__drain *drain;
    char path[512];
    uint64_t pcs[64];
    uint8_t how[64];
    struct sonde_stack stack;
};

static uint64_t real_bias(void)
{
    /* PIE: linked at 0 */
    return (uint64_t)(uintptr_t)executable_start;
}

static uint64_t at(void (*function)(void), unsigned offset)
{
    return (uint64_t)(uintptr_t)function + offset;
}

static void place(struct world *w, uint64_t bias, uint64_t generation)
{
    uint64_t size = (uint64_t)(text_end - executable_start);
    w->image.path = w->path;
    w->image.start = bias;
    w->image.end = bias + size;
    w->image.bias = bias;
    w->range = (struct sonde__image_range){bias, bias + size, 0};
    w->set = (struct sonde__image_set){&w->image, &w->range, 1, 1, generation};
}

static void setup(struct world *w, bool names)
{
    struct sonde__symfile_options where = {.places = &sonde__symfile_places};
    ssize_t size;
    memset(w, 0, sizeof *w);
    size = readlink("/proc/self/exe", w->path, sizeof w->path - 1);
    CHECK(size > 0);
    read_build_id(w->path, &w->image.build_id);
    place(w, real_bias(), 1);
    CHECK_OK(sonde__report_create(&w->report));
    if (names) {
        CHECK_OK(sonde__symfile_cache_create(&where, &w->symbols));
    }
    CHECK_OK(sonde__drain_create(w->report, NULL, w->symbols, &w->drain));
    sonde_stack_init(&w->stack, w->pcs, w->how, 64, 0);
}

static void teardown(struct world *w)
{
    sonde__drain_destroy(w->drain);
    sonde__symfile_cache_destroy(w->symbols);
    sonde__report_destroy(w->report);
}

static void push(struct world *w, uint64_t pc, unsigned how)
{
    w->pcs[w->stack.count] = pc;
    w->how[w->stack.count] = (uint8_t)how;
    w->stack.count++;
}

static const struct sonde__report_frame *frame_of(struct world *w, uint32_t stack, unsigned up)
{
    const struct sonde__report_node *node = sonde__report_node(w->report, stack);
    while (up-- > 0) {
        node = sonde__report_node(w->report, node->parent);
    }
    return sonde__report_frame(w->report, node->frame);
}

static const char *name_of(struct world *w, uint32_t stack, unsigned up)
{
    return sonde__report_text(w->report, frame_of(w, stack, up)->name);
}

TEST(frames_get_image_offset_and_name)
{
    struct world w;
    const struct sonde__report_frame *frame;
    uint32_t id;
    setup(&w, true);
    push(&w, at(first_function, 4), SONDE_HOW_EXACT);
    push(&w, at(second_function, 5), SONDE_FOUND_CFI);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    CHECK(id != 0);
    frame = frame_of(&w, id, 0);
    CHECK_EQ(frame->offset, at(first_function, 4) - real_bias());
    CHECK_EQ(frame->name_offset, 4);
    CHECK_EQ(frame->name_source, SONDE__REPORT_NAME_SYMTAB);
    CHECK_EQ(frame->how, SONDE_HOW_EXACT);
    CHECK_STR(name_of(&w, id, 0), "first_function");
    CHECK_STR(name_of(&w, id, 1), "second_function");
    CHECK_EQ(frame_of(&w, id, 1)->name_offset, 5);
    CHECK_STR(sonde__report_text(w.report, sonde__report_image(w.report, frame->image)->path),
              w.path);
    CHECK_EQ(sonde__report_node(w.report, sonde__report_node(w.report, id)->parent)->parent, 0);
    teardown(&w);
}

/* A call that does not return may be the last instruction of its function: the return address is
 * then the next function's first byte. Exact pcs are looked up unchanged. */
TEST(a_return_address_belongs_to_the_call_before_it)
{
    struct world w;
    uint32_t id;
    uint64_t start = at(second_function, 0);
    setup(&w, true);
    push(&w, start, SONDE_HOW_EXACT);
    push(&w, start, SONDE_FOUND_CFI);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    CHECK_STR(name_of(&w, id, 0), "second_function");
    CHECK_EQ(frame_of(&w, id, 0)->name_offset, 0);
    CHECK(strcmp(name_of(&w, id, 1), "second_function") != 0);
    CHECK_EQ(frame_of(&w, id, 1)->offset, start - real_bias());
    teardown(&w);
}

/* The same at the end of the image: the return address is outside of every range. */
TEST(a_return_address_may_lie_past_its_image)
{
    struct world w;
    uint32_t id;
    setup(&w, true);
    push(&w, w.range.end, SONDE_FOUND_CFI);
    push(&w, w.range.end, SONDE_HOW_EXACT);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    CHECK(frame_of(&w, id, 0)->image != 0);
    CHECK_EQ(frame_of(&w, id, 0)->offset, w.range.end - real_bias());
    CHECK_EQ(frame_of(&w, id, 1)->image, 0);
    CHECK_EQ(frame_of(&w, id, 1)->offset, w.range.end);
    teardown(&w);
}

TEST(code_without_an_image_keeps_its_address)
{
    struct world w;
    struct sonde__image_range ranges[2];
    uint32_t id;
    setup(&w, true);
    ranges[0] = (struct sonde__image_range){0x1000, 0x2000, SONDE__IMAGE_NONE}; /* JIT */
    ranges[1] = w.range;
    w.set.ranges = ranges;
    w.set.range_count = 2;
    push(&w, 0x1234, SONDE_HOW_EXACT);
    push(&w, 0x666, SONDE_FOUND_FP);
    push(&w, 0, SONDE_FOUND_FP);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    CHECK(id != 0);
    CHECK_EQ(frame_of(&w, id, 0)->image, 0);
    CHECK_EQ(frame_of(&w, id, 0)->offset, 0x1234);
    CHECK_EQ(frame_of(&w, id, 1)->offset, 0x666);
    CHECK_EQ(frame_of(&w, id, 2)->offset, 0);
    CHECK_EQ(frame_of(&w, id, 0)->name, 0);
    teardown(&w);
}

TEST(equal_stacks_are_one_and_other_ones_are_not)
{
    struct world w;
    uint32_t id;
    setup(&w, true);
    push(&w, at(first_function, 4), SONDE_HOW_EXACT);
    push(&w, at(second_function, 5), SONDE_FOUND_CFI);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    CHECK_EQ(sonde__drain_stack(w.drain, &w.set, &w.stack), id);
    w.how[1] = SONDE_FOUND_FP;
    CHECK(sonde__drain_stack(w.drain, &w.set, &w.stack) != id);
    w.how[1] = SONDE_FOUND_CFI;
    w.pcs[0]++;
    CHECK(sonde__drain_stack(w.drain, &w.set, &w.stack) != id);
    w.pcs[0]--;
    CHECK_EQ(sonde__drain_stack(w.drain, &w.set, &w.stack), id);
    w.stack.count = 0;
    CHECK_EQ(sonde__drain_stack(w.drain, &w.set, &w.stack), 0);
    teardown(&w);
}

/* The same code loaded at another address gives the same stack. */
TEST(a_moved_image_gives_the_same_stack)
{
    struct world w;
    uint32_t id;
    setup(&w, true);
    push(&w, at(first_function, 4), SONDE_HOW_EXACT);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    w.pcs[0] = w.pcs[0] - real_bias() + 0x5000000000;
    place(&w, 0x5000000000, 2);
    CHECK_EQ(sonde__drain_stack(w.drain, &w.set, &w.stack), id);
    CHECK_EQ(sonde__report_image_count(w.report), 1);
    teardown(&w);
}

TEST(frames_left_out_are_one_gap)
{
    static const struct {
        uint32_t lost_at;
        unsigned gap_up; /* frames inside the gap */
    } cases[] = {{1, 1}, {2, 2}, {3, 3}, {0, 0}};
    for (unsigned i = 0; i < 4; i++) {
        struct world w;
        uint32_t id;
        setup(&w, false);
        push(&w, at(first_function, 1), SONDE_HOW_EXACT);
        push(&w, at(first_function, 2), SONDE_FOUND_CFI);
        push(&w, at(first_function, 3), SONDE_FOUND_CFI);
        w.stack.lost_at = cases[i].lost_at;
        w.stack.lost_count = 1000;
        id = sonde__drain_stack(w.drain, &w.set, &w.stack);
        CHECK_EQ(sonde__report_node(w.report, id)->depth, 4);
        for (unsigned up = 0; up < 4; up++) {
            const struct sonde__report_frame *frame = frame_of(&w, id, up);
            unsigned real = up < cases[i].gap_up ? up : up - 1;
            if (up == cases[i].gap_up) {
                CHECK_EQ(frame->lost_count, 1000);
                CHECK_EQ(frame->image, 0);
            } else {
                CHECK_EQ(frame->lost_count, 0);
                CHECK_EQ(frame->offset, at(first_function, real + 1) - real_bias());
            }
        }
        teardown(&w);
    }
}

TEST(names_can_be_left_out)
{
    struct world w;
    uint32_t id;
    setup(&w, false);
    push(&w, at(first_function, 4), SONDE_HOW_EXACT);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    CHECK_EQ(frame_of(&w, id, 0)->name, 0);
    CHECK_EQ(frame_of(&w, id, 0)->name_offset, 0);
    CHECK_EQ(frame_of(&w, id, 0)->name_source, SONDE__REPORT_NAME_NONE);
    teardown(&w);
}

TEST(an_image_without_a_file_is_noted_once)
{
    struct world w;
    setup(&w, true);
    snprintf(w.path, sizeof w.path, "%s/gone.so", test_folder());
    push(&w, at(first_function, 4), SONDE_HOW_EXACT);
    CHECK(sonde__drain_stack(w.drain, &w.set, &w.stack) != 0);
    w.pcs[0]++;
    CHECK(sonde__drain_stack(w.drain, &w.set, &w.stack) != 0);
    w.set.generation++;
    CHECK(sonde__drain_stack(w.drain, &w.set, &w.stack) != 0);
    CHECK_EQ(sonde__report_note_count(w.report), 1);
    CHECK_CONTAINS(sonde__report_note(w.report, 0), "gone.so");
    teardown(&w);
}

TEST(many_frames_keep_their_offsets)
{
    struct world w;
    setup(&w, false);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 5000; i++) {
            uint32_t id;
            w.stack.count = 0;
            push(&w, real_bias() + 16 * i, SONDE_HOW_EXACT);
            push(&w, 0x10000 + i, SONDE_HOW_EXACT);
            id = sonde__drain_stack(w.drain, &w.set, &w.stack);
            CHECK_EQ(frame_of(&w, id, 1)->offset, 0x10000 + i);
            CHECK_EQ(frame_of(&w, id, 0)->offset,
                     (w.pcs[0] < w.range.end ? 16 * i : real_bias() + 16 * i));
        }
    }
    CHECK_EQ(sonde__report_frame_count(w.report), 10000);
    teardown(&w);
}

#if defined(SONDE_SANITIZED) /* a round takes half a second */
#    define STEP (test_long() ? 1u : 7u)
#else
#    define STEP 1u
#endif

/* Each allocation fails once: the stack is right, or 0 and counted. */
TEST_TIMEOUT(out_of_memory_never_gives_half_a_stack, 600)
{
    bool clean = false;
    for (uint64_t i = 0; !clean && i < 10000; i += STEP) {
        struct world w;
        uint32_t id;
        setup(&w, true);
        push(&w, at(first_function, 4), SONDE_HOW_EXACT);
        push(&w, at(second_function, 5), SONDE_FOUND_CFI);
        sonde__mem_fail_once(i);
        id = sonde__drain_stack(w.drain, &w.set, &w.stack);
        clean = sonde__mem_asked() <= i;
        sonde__mem_fail_from(UINT64_MAX);
        if (id != 0) {
            CHECK_EQ(sonde__report_node(w.report, id)->depth, 2);
            CHECK_EQ(frame_of(&w, id, 0)->offset, at(first_function, 4) - real_bias());
        }
        if (clean) {
            CHECK_STR(name_of(&w, id, 1), "second_function");
        }
        teardown(&w);
    }
    CHECK(clean);
}

TEST(a_thread_becomes_a_record)
{
    struct world w;
    struct sonde__sample sample = {
        .thread = {.tid = 77,
                   .letter = 'S',
                   .main = true,
                   .name = "worker",
                   .queue = "org.example.parser"},
        .capture = {.by = SONDE__CAPTURED_PASSIVE, .syscall = 0, .note = "why"},
    };
    struct sonde__report_thread record;
    setup(&w, true);
    push(&w, at(first_function, 4), SONDE_HOW_EXACT);
    w.stack.end = SONDE_END_ROOT;
    sample.stack = w.stack;
    sonde__drain_thread(w.drain, &w.set, &sample, &record);
    CHECK_EQ(record.tid, 77);
    CHECK_EQ(record.state, 'S');
    CHECK(record.main);
    CHECK_EQ(record.syscall, 1); /* number 0 differs from "none" */
    CHECK_EQ(record.frame_count, 1);
    CHECK_EQ(record.end, SONDE_END_ROOT);
    CHECK_STR(sonde__report_text(w.report, record.name), "worker");
    CHECK_STR(sonde__report_text(w.report, record.queue), "org.example.parser");
    CHECK_STR(sonde__report_text(w.report, record.note), "why");
    CHECK(record.stack != 0);
    sample.capture.by = SONDE__CAPTURED_NOT;
    sample.thread.queue[0] = '\0';
    sample.capture.syscall = -1;
    sonde__drain_thread(w.drain, &w.set, &sample, &record);
    CHECK_EQ(record.queue, 0);
    CHECK_EQ(record.stack, 0);
    CHECK_EQ(record.syscall, 0);
    CHECK_EQ(record.end, SONDE_END_NOT_READ);
    teardown(&w);
}

/* A new snapshot has another image at the same place: no data of the first may remain. */
TEST(a_new_snapshot_is_read_anew)
{
    struct world w;
    uint32_t id;
    uint32_t other;
    setup(&w, true);
    push(&w, at(first_function, 4), SONDE_HOW_EXACT);
    id = sonde__drain_stack(w.drain, &w.set, &w.stack);
    snprintf(w.path, sizeof w.path, "%s/other.so", test_folder());
    w.image.build_id = (struct sonde__build_id){.size = 2, .bytes = {1, 2}};
    w.set.generation++;
    other = sonde__drain_stack(w.drain, &w.set, &w.stack);
    CHECK(other != id);
    CHECK_STR(name_of(&w, other, 0), "");
    CHECK_STR(name_of(&w, id, 0), "first_function");
    CHECK_EQ(sonde__report_image_count(w.report), 2);
    teardown(&w);
}

/* A stack with more nodes than the limit is dropped: a part of it would look complete. */
TEST(a_stack_that_does_not_fit_is_dropped)
{
    struct world w;
    uint32_t count = SONDE__REPORT_DEPTH_MAX + 2;
    uint64_t *pcs = calloc(count, sizeof *pcs);
    uint8_t *how = calloc(count, sizeof *how);
    setup(&w, false);
    CHECK(pcs != NULL && how != NULL);
    sonde_stack_init(&w.stack, pcs, how, count, 0);
    w.stack.count = count;
    w.stack.lost_at = count;
    CHECK_EQ(sonde__drain_stack(w.drain, &w.set, &w.stack), 0);
    w.stack.count = count - 2;
    CHECK(sonde__drain_stack(w.drain, &w.set, &w.stack) != 0);
    teardown(&w);
    free(pcs);
    free(how);
}

/* The program has debug information: the compiler says where a function begins. */
TEST(a_frame_has_the_file_and_line_of_its_pc)
{
    struct world w;
    const struct sonde__report_frame *frame;
    setup(&w, true);
    push(&w, at(first_function, 0), SONDE_FOUND_REGISTERS | SONDE_HOW_EXACT);
    frame = frame_of(&w, sonde__drain_stack(w.drain, &w.set, &w.stack), 0);
    CHECK_STR(strrchr(sonde__report_text(w.report, frame->file), '/'), "/test_drain.c");
    CHECK(frame->line >= FIRST_LINE &&
          frame->line <= FIRST_LINE + 4); /* its first statement may come first */
    CHECK_EQ(frame->inlined_count, 0);
    teardown(&w);
}

TEST(without_symbols_a_frame_has_no_line)
{
    struct world w;
    const struct sonde__report_frame *frame;
    setup(&w, false);
    push(&w, at(first_function, 0), SONDE_FOUND_REGISTERS | SONDE_HOW_EXACT);
    frame = frame_of(&w, sonde__drain_stack(w.drain, &w.set, &w.stack), 0);
    CHECK_EQ(frame->line, 0);
    CHECK_EQ(frame->file, 0);
    teardown(&w);
}

/* A thread that did not run was read at one moment: if its script frames stand beside its stack,
 * the reason is a note. Those of a running thread may be of a later moment, which is said there. */
TEST(reason_why_script_frames_stand_beside_the_stack)
{
    const struct sonde__script_frame frame = {.function = "save", .file = "app.py", .line = 7};
    struct world w;
    setup(&w, false);
    push(&w, at(first_function, 0), SONDE_FOUND_REGISTERS | SONDE_HOW_EXACT);
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__sample sample = {.stack = w.stack};
        uint32_t apart = 0;
        sample.capture.by = i == 0 ? SONDE__CAPTURED_PERF : SONDE__CAPTURED_PASSIVE;
        sample.script.apart = i == 0 ? "read later" : "the interpreter's loop has no symbol";
        sample.script.script = (struct sonde__script){.language = "Python",
                                                      .frames = &frame,
                                                      .count = 1,
                                                      .run_count = 1,
                                                      .state = SONDE__SCRIPT_READ};
        (void)sonde__drain_sample(w.drain, &w.set, &sample, &apart);
        CHECK(apart != 0);
        CHECK_EQ(sonde__report_note_count(w.report), i);
    }
    CHECK_STR(sonde__report_note(w.report, 0),
              "Python functions stand beside the stack of a thread: "
              "the interpreter's loop has no symbol");
    teardown(&w);
}

/* The reason why a thread has no script frames is a note, once for each reason. */
TEST(unread_script_frames_are_noted_once)
{
    static const char torn[] = "it ran while it was read", unreadable[] = "a frame cannot be read";
    const char *const reasons[] = {torn, NULL, unreadable, torn};
    struct world w;
    setup(&w, false);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        struct sonde__sample sample = {.stack = w.stack};
        uint32_t apart = 0;
        sample.script.script = (struct sonde__script){.language = "Python", .why = reasons[i]};
        (void)sonde__drain_sample(w.drain, &w.set, &sample, &apart);
        CHECK_EQ(apart, 0);
    }
    CHECK_EQ(sonde__report_note_count(w.report), 2);
    CHECK_STR(sonde__report_note(w.report, 0),
              "Python functions of a thread are not shown: it ran while it was read");
    CHECK_STR(sonde__report_note(w.report, 1),
              "Python functions of a thread are not shown: a frame cannot be read");
    teardown(&w);
}
