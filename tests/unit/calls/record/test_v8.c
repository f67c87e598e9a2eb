// SPDX-License-Identifier: Apache-2.0
/* Functions of JavaScript of recorded calls, of a V8 made here: code with its frames, in memory of
 * no image, and objects with a layout of this test. What is kept of a call is found out to be
 * another one's; what cannot be read is counted. */
#include "record_v8.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <sonde/stack.h>

#include "base_bytes.h"
#include "capture_memo.h"
#include "capture_record.h"
#include "test.h"

enum { NODES = 4096, CALLS = 3, DEPTH = 32, CODE_BYTES = 256 };

/* --- code --- */

/* void (void (*callee)(void), const uint64_t words[5]): a frame with these words below its frame
 * pointer, from which the callee is called. Interpreted: then bytecode and offset are loaded again,
 * as V8's interpreter does. */
#if defined(__x86_64__)
static const uint8_t frame_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0x36, 0xff, 0x76, 0x08, 0xff,
                                     0x76, 0x10, 0xff, 0x76, 0x18, 0xff, 0x76, 0x20, 0x41, 0x54,
                                     0x41, 0x54, 0x41, 0x54, 0xff, 0xd7, 0x4c, 0x8b, 0x65, 0xe0,
                                     0x44, 0x8b, 0x4d, 0xdc, 0x4c, 0x8b, 0x65, 0xd0, 0xc9, 0xc3};
enum { LOADS_AT = 26 };
static const uint8_t nothing[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
#else
static const uint32_t frame_code[] = {0xa9bf7bfd, 0x910003fd, 0xa9bc4ff4, 0xf9400022, 0xf9001fe2,
                                      0xf9400422, 0xf9001be2, 0xf9400822, 0xf90017e2, 0xf9400c22,
                                      0xf90013e2, 0xf9401022, 0xf9000fe2, 0xd63f0000, 0xf85e03b4,
                                      0xb89dc3b3, 0xa8c44ff4, 0xa8c17bfd, 0xd65f03c0};
enum { LOADS_AT = 56 };
static const uint32_t nothing[] = {0xd503201f, 0xd503201f};
#endif

typedef void frame_function(void (*callee)(void), const uint64_t *words);
static frame_function *interpreted, *compiled;

static void make_code(void)
{
    uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memcpy(memory, frame_code, sizeof frame_code);
    memcpy(memory + CODE_BYTES, frame_code, sizeof frame_code);
    memcpy(memory + CODE_BYTES + LOADS_AT, nothing, sizeof nothing);
    __builtin___clear_cache((char *)memory, (char *)memory + 4096);
    CHECK_OK(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
    uint8_t *second = memory + CODE_BYTES;
    memcpy(&interpreted, &memory, sizeof interpreted);
    memcpy(&compiled, &second, sizeof compiled);
}

/* --- objects --- */

enum {
    CONTEXT_TYPE = 200,
    SHARED_TYPE,
    SCRIPT_TYPE,
    SCOPE_TYPE,
    BYTECODE_TYPE,
    BYTES_TYPE,
    FUNCTION_TYPE,
    TEXT_TYPE = 8, /* a row of characters of a byte each */
    TYPES = 256,
    OBJECT = 128,
    OBJECTS = 64,
    MEMBER_1 = 8,
    MEMBER_2 = 16,
    MEMBER_3 = 24,
    MEMBER_4 = 32,
    MEMBER_5 = 40,
    CODE_AT = 48, /* of a bytecode array: its code */
};

static _Alignas(16) struct {
    uint8_t maps[TYPES][OBJECT];
    uint8_t objects[OBJECTS][OBJECT];
    unsigned count;
} heap;

static uint64_t tagged(const uint8_t *object)
{
    return (uint64_t)(uintptr_t)object + 1;
}

static uint64_t small(uint32_t value)
{
    return (uint64_t)value << 32;
}

static uint8_t *make(unsigned type)
{
    CHECK(heap.count < OBJECTS);
    uint8_t *object = heap.objects[heap.count++];
    heap.maps[type][MEMBER_1] = (uint8_t)type;
    heap.maps[type][MEMBER_1 + 2] = OBJECT / 8;
    sonde__base_put_le64(object, tagged(heap.maps[type]));
    return object;
}

static void set(uint8_t *object, unsigned member, uint64_t word)
{
    sonde__base_put_le64(object + member, word);
}

static uint64_t make_text(const char *text)
{
    uint8_t *object = make(TEXT_TYPE);
    CHECK(strlen(text) < OBJECT - MEMBER_2);
    sonde__base_put_le32(object + MEMBER_1, (uint32_t)strlen(text));
    memcpy(object + MEMBER_2, text, strlen(text));
    return tagged(object);
}

/* A call: function, its description, and its script with a source of a line break a character. */
struct call {
    uint8_t *function, *shared, *script;
    frame_function *code;
    uint64_t words[5]; /* context, function, number of arguments, bytecode, offset */
};
static struct call calls[CALLS]; /* the outermost one first */

/* Code 0 is at character 1, code 5 at character 3: differences, the sign in the lowest bit, of the
 * code, and of twice the position + 1. */
static const uint8_t table[] = {2, 8, 10, 8};

static uint64_t make_bytecode(void)
{
    uint8_t *bytes = make(BYTES_TYPE), *bytecode = make(BYTECODE_TYPE);
    set(bytes, MEMBER_1, small(sizeof table));
    memcpy(bytes + MEMBER_2, table, sizeof table);
    set(bytecode, MEMBER_3, tagged(bytes));
    return tagged(bytecode);
}

static void make_call(struct call *call, unsigned number, const char *name, const char *file)
{
    call->function = make(FUNCTION_TYPE);
    call->shared = make(SHARED_TYPE);
    call->script = make(SCRIPT_TYPE);
    set(call->function, MEMBER_3, tagged(call->shared));
    set(call->shared, MEMBER_1, make_text(name));
    set(call->shared, MEMBER_4, tagged(call->script));
    set(call->shared, MEMBER_5, number);
    set(call->script, MEMBER_1, make_text(file));
    set(call->script, MEMBER_2, make_text("\n\n\n\n"));
    set(call->script, MEMBER_5, small(number)); /* its id */
    call->code = interpreted;
    call->words[0] = tagged(make(CONTEXT_TYPE));
    call->words[1] = tagged(call->function);
    call->words[3] = make_bytecode();
    call->words[4] = small(CODE_AT - 1);
}

static struct v8_layout layout_of_test(void)
{
    struct v8_layout layout = {.arch = SONDE__ARCH_HOST,
                               .bytecode_positions = MEMBER_3,
                               .script_line_offset = MEMBER_4,
                               .script_id = MEMBER_5};
    int32_t *of = layout.of;
    of[V8_FP_CONTEXT] = -8, of[V8_FP_FUNCTION] = -16;
    of[V8_FP_BYTECODE] = -32, of[V8_FP_OFFSET] = -40;
    of[V8_MAP_TYPE] = MEMBER_1, of[V8_MAP_SIZE] = MEMBER_1 + 2;
    of[V8_FUNCTION_SHARED] = MEMBER_3;
    of[V8_SHARED_NAME] = MEMBER_1, of[V8_SHARED_SCRIPT] = MEMBER_4;
    of[V8_SCRIPT_NAME] = MEMBER_1, of[V8_SCRIPT_SOURCE] = MEMBER_2, of[V8_SCRIPT_EVAL] = MEMBER_3;
    of[V8_STRING_LENGTH] = MEMBER_1, of[V8_STRING_BYTES] = MEMBER_2;
    of[V8_ARRAY_LENGTH] = MEMBER_1, of[V8_ARRAY_DATA] = MEMBER_2;
    of[V8_BYTECODE_DATA] = CODE_AT;
    of[V8_TYPE_CONTEXT_FIRST] = of[V8_TYPE_CONTEXT_LAST] = CONTEXT_TYPE;
    of[V8_TYPE_SHARED] = SHARED_TYPE, of[V8_TYPE_SCRIPT] = SCRIPT_TYPE;
    of[V8_TYPE_SCOPE] = SCOPE_TYPE, of[V8_TYPE_BYTECODE] = BYTECODE_TYPE;
    of[V8_TYPE_BYTES] = of[V8_TYPE_TRUSTED_BYTES] = BYTES_TYPE;
    return layout;
}

/* --- a recorded call --- */

static struct sonde__script_page *page;
static struct sonde__record *record;
static unsigned depth;
static uint32_t native, node;

/* The hooked function: its caller is the innermost call. */
static __attribute__((noinline)) void hooked(void)
{
    struct sonde__regs regs = {.arch = SONDE__ARCH_HOST};
    const uint64_t *frame = __builtin_frame_address(0);
    sonde__regs_set(&regs, sonde__arch_fp(SONDE__ARCH_HOST), frame[0]);
    sonde__regs_set(&regs, sonde__arch_sp(SONDE__ARCH_HOST), (uint64_t)(uintptr_t)(frame + 2));
    regs.pc = frame[1];
    node = sonde__record_v8_stack(record, page, &regs, native);
}

static void look(void)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
}

static void enter_next(void)
{
    const struct call *call = &calls[depth++];
    call->code(depth < CALLS ? enter_next : hooked, call->words);
}

static __attribute__((noinline)) uint32_t record_call(void)
{
    depth = 0;
    enter_next();
    return node;
}

/* What is seen must be read: names of the functions, the innermost one first, with their lines. */
static void check(uint32_t id, const char *const *names, const uint32_t *lines, uint32_t count)
{
    struct sonde__script_frame_read frames[DEPTH];
    bool is_switched = true;
    CHECK_EQ(
        sonde__record_script_frames(sonde__record_depot(record), id, frames, DEPTH, &is_switched),
        count);
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__script_code *code = &page->codes[frames[i].code];
        const char *function = (const char *)page->bytes + code->at;
        CHECK_STR(function, names[i]);
        CHECK_STR(function + strlen(function) + 1, "/srv/a.js");
        CHECK_EQ(frames[i].at, lines[i]);
    }
}

static void look_from_code(void)
{
    interpreted(look, calls[0].words);
}

static void start(void)
{
    const struct v8_layout layout = layout_of_test();
    make_code();
    memset(&heap, 0, sizeof heap);
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    CHECK_OK(sonde__record_open(NODES, &record));
    make_call(&calls[0], 1, "outer", "/srv/a.js");
    make_call(&calls[1], 2, "middle", "/srv/a.js");
    make_call(&calls[2], 3, "inner", "/srv/a.js");
    calls[2].words[4] = small(CODE_AT - 1 + 5);
    native =
        sonde__depot_child(sonde__record_depot(record), sonde__depot_root(SONDE_END_ROOT), 0x1000);
    CHECK_OK(sonde_stack_prepare());
    sonde__capture_expect_records(0, 0);
    look_from_code(); /* now it is known to be code */
    CHECK(sonde__record_v8_begin(&layout));
}

static void stop(void)
{
    sonde__record_close(record);
    munmap(page, sizeof *page);
}

TEST(functions_of_javascript_are_told_with_their_lines)
{
    start();
    check(record_call(), (const char *[]){"inner", "middle", "outer"}, (uint32_t[]){4, 2, 2}, 3);
    CHECK_EQ(page->code_count, 3);
    calls[1].code = compiled; /* its bytecode and offset are of an earlier call */
    check(record_call(), (const char *[]){"inner", "middle", "outer"}, (uint32_t[]){4, 0, 2}, 3);
    CHECK_EQ(page->code_count, 3);
    stop();
}

TEST(the_same_call_of_javascript_has_the_same_stack)
{
    start();
    uint32_t first = record_call();
    CHECK(first != native);
    CHECK_EQ(record_call(), first);
    sonde__record_v8_restart(); /* another page has none of the names */
    memset(page, 0, sizeof *page);
    check(record_call(), (const char *[]){"inner", "middle", "outer"}, (uint32_t[]){4, 2, 2}, 3);
    stop();
}

/* At the same place of the stack. */
TEST(another_call_of_javascript_is_told_from_the_last_one)
{
    start();
    record_call();
    calls[2].words[4] = small(CODE_AT - 1); /* goes on elsewhere in the same function */
    check(record_call(), (const char *[]){"inner", "middle", "outer"}, (uint32_t[]){2, 2, 2}, 3);
    struct call other;
    make_call(&other, 4, "other", "/srv/a.js");
    calls[1].words[1] = other.words[1];
    check(record_call(), (const char *[]){"inner", "other", "outer"}, (uint32_t[]){2, 2, 2}, 3);
    set(calls[0].shared, MEMBER_1, make_text("renamed")); /* another function, at its address */
    check(record_call(), (const char *[]){"inner", "other", "renamed"}, (uint32_t[]){2, 2, 2}, 3);
    set(calls[0].script, MEMBER_2, make_text("xx\n\n")); /* another script, at its address */
    set(calls[0].script, MEMBER_5, small(77));
    check(record_call(), (const char *[]){"inner", "other", "renamed"}, (uint32_t[]){2, 2, 1}, 3);
    stop();
}

/* Methods with computed names: one description, a name in each function. */
TEST(functions_of_one_description_have_their_own_names)
{
    enum { OWN_NAME = 56 };
    start();
    uint8_t *second = make(FUNCTION_TYPE);
    set(calls[2].shared, MEMBER_1, make_text(""));
    set(second, MEMBER_3, tagged(calls[2].shared));
    set(calls[2].function, OWN_NAME, make_text("first"));
    set(second, OWN_NAME, make_text("second"));
    check(record_call(), (const char *[]){"first", "middle", "outer"}, (uint32_t[]){4, 2, 2}, 3);
    calls[2].words[1] = tagged(second);
    check(record_call(), (const char *[]){"second", "middle", "outer"}, (uint32_t[]){4, 2, 2}, 3);
    stop();
}

/* While V8 moves it, an object has its new address instead of its map. */
TEST(functions_that_v8_moves_are_followed)
{
    start();
    uint32_t first = record_call();
    uint8_t *moved = make(FUNCTION_TYPE);
    set(moved, MEMBER_3, tagged(calls[2].shared));
    set(calls[2].function, 0, tagged(moved) - 1);
    set(calls[2].function, MEMBER_3, 0);
    CHECK_EQ(record_call(), first);
    CHECK_EQ(page->code_count, 3);
    stop();
}

TEST(frames_that_are_no_calls_of_javascript_are_left_out)
{
    start();
    calls[1].words[0] = 44; /* a marker in place of a context */
    check(record_call(), (const char *[]){"inner", "outer"}, (uint32_t[]){4, 2}, 2);
    check(record_call(), (const char *[]){"inner", "outer"}, (uint32_t[]){4, 2}, 2);
    uint8_t *context = make(CONTEXT_TYPE);
    calls[1].words[0] = tagged(context);
    check(record_call(), (const char *[]){"inner", "middle", "outer"}, (uint32_t[]){4, 2, 2}, 3);
    stop();
}

TEST(functions_of_javascript_that_cannot_be_read_are_counted)
{
    start();
    uint64_t function = calls[1].words[1];
    calls[1].words[1] = 4096 * 3 + 1; /* no memory */
    CHECK_EQ(record_call(), native);
    CHECK_EQ(page->missing[SONDE__SCRIPT_UNREADABLE], 1);
    calls[1].words[1] = tagged(heap.maps[TEXT_TYPE]); /* no function */
    CHECK_EQ(record_call(), native);
    CHECK_EQ(page->missing[SONDE__SCRIPT_UNREADABLE], 2);
    calls[1].words[1] = function;
    CHECK(record_call() != native);
    page->code_count = SONDE__SCRIPT_CODES; /* full: what is known stays known */
    CHECK(record_call() != native);
    set(calls[1].shared, MEMBER_1, make_text("new"));
    CHECK_EQ(record_call(), native);
    CHECK_EQ(page->missing[SONDE__SCRIPT_FULL], 1);
    stop();
}

/* A native stack with code of V8. */
static uint32_t native_of_v8(void)
{
    const uint8_t *code;
    memcpy(&code, &interpreted, sizeof code);
    uint32_t outer = sonde__depot_child(sonde__record_depot(record), native,
                                        (uint64_t)(uintptr_t)(code + LOADS_AT));
    return sonde__depot_child(sonde__record_depot(record), outer, 0x2000);
}

static void *record_once(void *ret_node)
{
    *(uint32_t *)ret_node = record_call();
    return NULL;
}

/* A thread that has no memo, as where there are too many of them. */
TEST(functions_of_javascript_without_a_memo_are_counted)
{
    start();
    pthread_t thread;
    uint32_t got = 0;
    CHECK_EQ(pthread_create(&thread, NULL, record_once, &got), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(got, native); /* no code of V8 is on this native stack */
    CHECK_EQ(page->missing[SONDE__SCRIPT_BUSY], 0);
    native = native_of_v8();
    CHECK_EQ(pthread_create(&thread, NULL, record_once, &got), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(got, native);
    CHECK_EQ(page->missing[SONDE__SCRIPT_BUSY], 1);
    stop();
}

static __attribute__((noinline)) uint32_t record_deep(volatile unsigned calls_left)
{
    uint32_t got = calls_left == 0 ? record_call() : record_deep(calls_left - 1);
    calls_left = 0;
    return got;
}

/* Also those of the first call of a thread. */
TEST(functions_of_javascript_on_a_deep_stack_are_counted)
{
    start();
    CHECK_EQ(record_deep(400), native); /* no code of V8 is on this native stack */
    CHECK_EQ(page->missing[SONDE__SCRIPT_ENDLESS], 0);
    native = native_of_v8();
    CHECK_EQ(record_deep(400), native);
    CHECK_EQ(page->missing[SONDE__SCRIPT_ENDLESS], 1);
    stop();
}
