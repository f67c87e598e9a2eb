// SPDX-License-Identifier: Apache-2.0
/* Script frames of recorded calls, of an interpreter made here by the layout of 3.12: they are kept
 * once, survive their code, and what cannot be read is counted. */
#include "record_script.h"

#include <string.h>
#include <sys/mman.h>

#include "base_bytes.h"
#include "capture_memo.h"
#include "test.h"

enum { NODES = 4096, FRAMES = 60, CODE_START = 192, GENERATOR = 1, ENTRY = 3 };

static _Alignas(16) struct {
    uint8_t state[288], cframe[16];
    uint8_t frames[FRAMES + 1][128]; /* the last one is the entry frame */
    uint8_t codes[FRAMES][CODE_START + 64];
    uint8_t names[FRAMES][64], lines[64];
    uint8_t types[3][64]; /* code, str, bytes */
} py;
static uint64_t lock_holder;
static struct sonde__script_page *page;
static struct sonde__record *record;

static uint64_t at(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void put(uint8_t *object, unsigned offset, const void *value)
{
    sonde__base_put_le64(object + offset, at(value));
}

static uint64_t own(void)
{
    return at(py.state);
}

static uint64_t holder(void)
{
    return lock_holder;
}

static void make_code(unsigned i, const char *name)
{
    uint8_t *text = py.names[i], *code = py.codes[i];
    put(text, 8, py.types[1]);
    sonde__base_put_le64(text + 16, strlen(name));
    text[32] = (1 | 1 << 3 | 1 << 4) << 2; /* one byte each, compact, ASCII */
    memcpy(text + 40, name, strlen(name) + 1);
    put(code, 8, py.types[0]);
    put(code, 112, text); /* file name, name and qualified name are one */
    put(code, 120, text);
    put(code, 128, text);
    put(code, 136, py.lines);
}

/* The thread runs frames[0] in frames[1] and so on to frames[count - 1]. */
static void run_frames(unsigned count)
{
    put(py.state, 56, py.cframe);
    put(py.cframe, 0, count != 0 ? py.frames[0] : NULL);
    for (unsigned i = 0; i < count; i++) {
        put(py.frames[i], 0, py.codes[i]);
        put(py.frames[i], 8, i + 1 < count ? py.frames[i + 1] : py.frames[FRAMES]);
        put(py.frames[i], 56, py.codes[i] + CODE_START + 2 * (size_t)i);
        py.frames[i][70] = 0;
    }
    py.frames[FRAMES][70] = ENTRY;
    put(py.frames[FRAMES], 8, NULL);
}

/* The recorder reads one interpreter in the life of a process. */
static void start(void)
{
    static bool is_begun;
    struct sonde__script_way way = {.layout = *sonde__python_layout_of(12),
                                    .state = own,
                                    .current = holder,
                                    .code_type = at(py.types[0]),
                                    .text_type = at(py.types[1]),
                                    .bytes_type = at(py.types[2])};
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    CHECK_OK(sonde__record_open(NODES, &record));
    memset(&py, 0, sizeof py);
    put(py.lines, 8, py.types[2]);
    sonde__base_put_le64(py.lines + 16, 5);
    for (unsigned i = 0; i < FRAMES; i++) {
        make_code(i, (const char[]){'f', (char)('0' + i), '\0'});
    }
    lock_holder = 0;
    CHECK(sonde__capture_memo_lease() != NULL); /* as the walk of a stack does */
    if (!is_begun) {
        is_begun = sonde__record_script_begin(&way);
        CHECK(is_begun);
    } else {
        sonde__record_script_restart();
    }
}

static void stop(void)
{
    sonde__record_close(record);
    munmap(page, sizeof *page);
}

static uint32_t native_stack(uint64_t pc)
{
    struct sonde__depot *depot = sonde__record_depot(record);
    uint32_t outer = sonde__depot_child(depot, sonde__depot_root(SONDE_END_ROOT), 0x1000);
    return sonde__depot_child(depot, outer, pc);
}

static uint32_t call_from(uint64_t pc)
{
    return sonde__record_script_stack(record, page, native_stack(pc));
}

static uint32_t read_back(uint32_t id, struct sonde__script_frame_read *frames)
{
    bool is_switched = true;
    uint32_t count =
        sonde__record_script_frames(sonde__record_depot(record), id, frames, FRAMES, &is_switched);
    CHECK(count == 0 || !is_switched);
    return count;
}

/* The name in the copy of a code object: its second piece. */
static const char *name_of(uint32_t code)
{
    const uint8_t *bytes = page->bytes + page->codes[code].at;
    CHECK(atomic_load(&page->codes[code].is_complete) == 1);
    uint64_t head = sonde__base_le64(bytes + 8);
    return (const char *)bytes + 16 + (head + 7) / 8 * 8 + 16 + 40;
}

static void check_frames(uint32_t id, unsigned count)
{
    struct sonde__script_frame_read frames[FRAMES];
    CHECK_EQ(read_back(id, frames), count);
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQ(frames[i].at, CODE_START + 2 * i);
        CHECK_EQ(frames[i].flags, i + 1 == count ? PYTHON_OWN_ENDS_RUN : 0);
        CHECK_EQ(name_of(frames[i].code)[0], 'f');
        CHECK_EQ(name_of(frames[i].code)[1], '0' + (char)i);
    }
}

/* Without the lock by copies, with it in place. */
TEST(frames_of_a_call_are_behind_its_native_stack)
{
    struct sonde_stack stack;
    uint64_t pcs[8];
    uint8_t how[8];
    start();
    for (int again = 0; again < 2; again++) {
        run_frames(5);
        uint32_t id = call_from(0x2000);
        check_frames(id, 5);
        CHECK_EQ(call_from(0x2000), id);
        CHECK(call_from(0x3000) != id);
        check_frames(call_from(0x3000), 5);
        run_frames(6);
        CHECK(call_from(0x2000) != id);
        check_frames(call_from(0x2000), 6);
        run_frames(5);
        CHECK_EQ(call_from(0x2000), id);
        sonde_stack_init(&stack, pcs, how, 8, 0);
        CHECK(sonde__depot_get(sonde__record_depot(record), id, &stack));
        CHECK_EQ(stack.count, 2);
        CHECK_EQ(stack.pcs[0], 0x2000);
        lock_holder = own();
    }
    CHECK_EQ(atomic_load(&page->code_count), 6);
    stop();
}

/* Each new function is some copies; those of one call alone would not do for so many. */
TEST(many_new_functions_at_once_are_read)
{
    start();
    run_frames(FRAMES);
    check_frames(call_from(0x2000), FRAMES);
    stop();
}

TEST(a_thread_that_runs_no_script_has_its_native_stack)
{
    start();
    run_frames(0);
    CHECK_EQ(call_from(0x2000), native_stack(0x2000));
    stop();
}

/* A new function at the address of one that is gone has a number of its own. */
TEST(code_that_is_freed_is_not_taken_for_the_next)
{
    struct sonde__script_frame_read before[FRAMES], after[FRAMES];
    start();
    run_frames(3);
    uint32_t id = call_from(0x2000);
    CHECK_EQ(read_back(id, before), 3);
    sonde__record_script_free(at(py.codes[0]));
    make_code(0, "g0");
    uint32_t next = call_from(0x2000);
    CHECK(next != id);
    CHECK_EQ(read_back(next, after), 3);
    CHECK_STR(name_of(before[0].code), "f0");
    CHECK_STR(name_of(after[0].code), "g0");
    CHECK_EQ(after[1].code, before[1].code);
    CHECK_EQ(read_back(id, before), 3); /* what was recorded stays */
    stop();
}

/* The functions of an image that is unloaded are gone with its frames only. */
TEST(frames_stay_when_an_image_is_unloaded)
{
    start();
    run_frames(4);
    uint32_t id = call_from(0x2000);
    CHECK(sonde__depot_close(sonde__record_depot(record), 0x1f00, 0x2100) != 0);
    check_frames(id, 4);
    uint32_t next = call_from(0x2000);
    CHECK(next != id);
    check_frames(next, 4);
    stop();
}

static void check_missing(enum sonde__script_reason reason)
{
    uint64_t before = atomic_load(&page->missing[reason]);
    CHECK_EQ(call_from(0x2000), native_stack(0x2000));
    CHECK_EQ(atomic_load(&page->missing[reason]), before + 1);
}

TEST(what_cannot_be_read_is_counted_by_its_reason)
{
    start();
    run_frames(3);
    put(py.frames[1], 8, (const void *)(uintptr_t)8);
    check_missing(SONDE__SCRIPT_UNREADABLE);
    put(py.frames[1], 8, py.frames[0]);
    check_missing(SONDE__SCRIPT_ENDLESS);
    put(py.frames[1], 8, NULL);
    check_missing(SONDE__SCRIPT_UNFIT);
    run_frames(3);
    put(py.codes[2], 8, py.types[1]);
    check_missing(SONDE__SCRIPT_NO_CODE);
    put(py.codes[2], 8, py.types[0]);
    put(py.state, 240, py.frames[0]);
    put(py.state, 248, py.frames[1]);
    check_missing(SONDE__SCRIPT_ENTERS);
    run_frames(3);
    atomic_store(&page->bytes_used, SONDE__SCRIPT_BYTES - 8);
    sonde__record_script_restart();
    put(py.state, 248, NULL);
    check_missing(SONDE__SCRIPT_FULL);
    stop();
}
