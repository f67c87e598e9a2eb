// SPDX-License-Identifier: Apache-2.0
/* The walk by a memo (unwind_memo.h) reads only memory that it was given or asked for. The test
 * makes the stack, with an unreadable page behind it, and gives the rules. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"
#include "unwind_memo.h"
#include "unwind_scans.h"

enum { FRAME = 32, DEPTH = 8, ROOM = 16 };

/* Return addresses that are no code: a leaf, callers by sp, one by fp, the outermost; and one by fp
 * that is the outermost if its words are zeros. */
enum { LEAF = 0x1000, CALLER = 0x2000, BY_FP = 0x3000, ROOT = 0x4000, ZEROS = 0x5000 };

static struct sonde__memo memo;
static uint64_t pcs[ROOM];
static uint8_t how[ROOM];
static uint64_t pages, page;
static uint64_t reach_end; /* memory from here on cannot be read */
static uint64_t reach_to;  /* end of the last request */
static unsigned asked;     /* of ZEROS */

static bool find_rule(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule)
{
    (void)ctx;
    asked += pc == ZEROS;
    *ret_rule = (struct sonde__memo_rule){.cfa = FRAME, .ra_at = 8};
    if (pc == ROOT) {
        ret_rule->flags = SONDE__MEMO_RULE_END;
    } else if (pc == BY_FP) {
        *ret_rule =
            (struct sonde__memo_rule){.flags = SONDE__MEMO_RULE_BY_FP, .cfa = 16, .ra_at = 8};
    } else if (pc == ZEROS) {
        *ret_rule =
            (struct sonde__memo_rule){.flags = SONDE__MEMO_RULE_BY_FP | SONDE__MEMO_RULE_ZEROS,
                                      .cfa = 16,
                                      .fp_at = 16,
                                      .ra_at = 8};
    }
    return true;
}

static uint64_t reach(void *ctx, uint64_t sp, uint64_t to)
{
    (void)ctx;
    CHECK(to > sp);
    reach_to = to;
    return reach_end;
}

static void put(uint64_t address, uint64_t word)
{
    *(uint64_t *)(uintptr_t)address = word;
}

/* Put DEPTH frames from `sp` on; `last` is the return address of the outermost. */
static void put_stack(uint64_t sp, uint64_t last)
{
    for (unsigned i = 1; i <= DEPTH; i++) {
        put(sp + i * FRAME - 8, i < DEPTH ? CALLER : last);
    }
}

static bool walk(uint64_t sp, uint64_t fp, uint64_t seen, struct sonde_stack *ret_stack)
{
    struct sonde__memo_start start = {
        .pc = LEAF, .sp = sp, .fp = fp, .plain_end = seen, .find_rule = find_rule, .reach = reach};
    sonde_stack_init(ret_stack, pcs, how, ROOM, 0);
    return sonde__unwind_memo_walk(&memo, &start, ret_stack);
}

static void begin(void)
{
    void *memory;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    pages = (uint64_t)(uintptr_t)memory;
    sonde__unwind_memo_reset(&memo, pages, 1);
}

static void close_second_page(void)
{
    CHECK_OK(mprotect((void *)(uintptr_t)(pages + page), page, PROT_NONE));
}

TEST(memory_beyond_the_known_reach_is_asked_for)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + page - 4 * FRAME;
    put_stack(sp, ROOT);
    reach_end = pages + 2 * page;
    CHECK(walk(sp, 0, sp, &stack));
    CHECK_EQ(stack.count, DEPTH + 1);
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    /* the walk asks at once for all that the memo holds */
    reach_to = 0;
    CHECK(walk(sp, 0, sp, &stack));
    CHECK_EQ(reach_to, sp + DEPTH * FRAME);
    CHECK_EQ(stack.count, DEPTH + 1);
    /* and for nothing already read */
    reach_to = 0;
    CHECK(walk(sp, 0, reach_to = pages + 2 * page, &stack));
    CHECK_EQ(reach_to, pages + 2 * page);
}

TEST(unreadable_memory_is_not_read)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + page - 4 * FRAME;
    put_stack(sp, ROOT);
    close_second_page();
    reach_end = pages + page;
    CHECK(!walk(sp, 0, sp, &stack));
    CHECK_EQ(reach_to, sp + 5 * FRAME);
    /* nothing at all */
    reach_end = sp;
    sonde__unwind_memo_reset(&memo, sp, 1);
    CHECK(!walk(sp, 0, sp, &stack));
}

/* The memo's stack lacks its outermost frame only: the walk adds just that frame. */
TEST(the_root_behind_a_stack_that_was_cut)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + FRAME;
    struct sonde__memo_start start = {
        .pc = LEAF, .sp = sp, .plain_end = pages + page, .find_rule = find_rule, .reach = reach};
    uint32_t first = 0;
    put_stack(sp, ROOT);
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK(sonde__unwind_memo_walk(&memo, &start, &stack));
    CHECK_EQ(stack.end, SONDE_END_DEPTH);
    for (int i = 0; i < 2; i++) {
        CHECK(sonde__unwind_memo_renew(&memo, &start, &first));
        CHECK_EQ(first, SONDE__MEMO_FRAMES - DEPTH - 1);
        CHECK(memo.root.by == SONDE__MEMO_ROOT_BY_RULE);
    }
}

TEST(a_memo_may_name_code_that_is_gone)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + page - 4 * FRAME;
    put_stack(sp, ROOT);
    reach_end = pages + 2 * page;
    CHECK(walk(sp, 0, sp, &stack));
    close_second_page();
    reach_end = pages + page;
    CHECK(!walk(sp, 0, sp, &stack));
}

TEST(a_frame_pointer_to_anywhere)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + page - 16 * FRAME;
    put(sp + FRAME - 8, BY_FP);
    close_second_page();
    reach_end = pages + page;
    const uint64_t wrong[] = {0,
                              8,
                              sp,
                              sp - 8,
                              sp + 12,
                              pages + page - 8,
                              page,
                              pages + page,
                              pages + 2 * page,
                              1ull << 47,
                              UINT64_MAX,
                              UINT64_MAX - 15,
                              sp + (1ull << 31),
                              sp + (1ull << 32),
                              sp - (1ull << 32)};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sonde__unwind_memo_reset(&memo, sp, 1);
        CHECK(!walk(sp, wrong[i], sp, &stack));
    }
    put(pages + page - 8, ROOT);
    sonde__unwind_memo_reset(&memo, sp, 1);
    CHECK(walk(sp, pages + page - 16, sp, &stack));
    CHECK_EQ(stack.count, 3);
}

/* A frame record: where fp points. */
static void put_record(uint64_t at, uint64_t fp, uint64_t pc)
{
    put(at, fp);
    put(at + 8, pc);
}

static void check_end(uint64_t sp, uint64_t fp, unsigned count, unsigned by)
{
    struct sonde_stack stack;
    CHECK(walk(sp, fp, pages + 2 * page, &stack));
    CHECK_EQ(stack.count, count);
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    CHECK_EQ(memo.root.by, by);
}

TEST(two_zeros_are_the_end_where_the_rule_says_so)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + FRAME, last = sp + DEPTH * FRAME, record = last + FRAME,
             other = record + FRAME;
    put_stack(sp, ZEROS);
    put_record(record, 0, 0);
    put_record(other, 0, ROOT);
    asked = 0;
    for (int i = 0; i < 3; i++) {
        check_end(sp, record, DEPTH + 1, SONDE__MEMO_ROOT_BY_ZEROS);
        CHECK_EQ(asked, 1);
    }
    check_end(sp, other, DEPTH + 2, SONDE__MEMO_ROOT_BY_RULE); /* by another frame pointer */
    check_end(sp, record, DEPTH + 1, SONDE__MEMO_ROOT_BY_ZEROS);
    put_record(record, 0, ROOT); /* the words have changed */
    check_end(sp, record, DEPTH + 2, SONDE__MEMO_ROOT_BY_RULE);
    put_record(record, 0, 0);
    check_end(sp, record, DEPTH + 1, SONDE__MEMO_ROOT_BY_ZEROS);
    put_record(record, other, 0); /* one zero proves nothing */
    CHECK(!walk(sp, record, pages + 2 * page, &stack));
    put_record(record, 0, 0);
    check_end(sp, record, DEPTH + 1, SONDE__MEMO_ROOT_BY_ZEROS);
}

/* The memo has the frame before it is known to be the last one. */
TEST(the_zeros_behind_a_stack_that_was_cut)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + FRAME, record = sp + DEPTH * FRAME + FRAME, other = record + FRAME;
    struct sonde__memo_start start = {.pc = LEAF,
                                      .sp = sp,
                                      .fp = record,
                                      .plain_end = pages + page,
                                      .find_rule = find_rule,
                                      .reach = reach};
    put_stack(sp, ZEROS);
    put_record(record, 0, 0);
    put_record(other, 0, ROOT);
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK(sonde__unwind_memo_walk(&memo, &start, &stack));
    CHECK_EQ(stack.end, SONDE_END_DEPTH);
    check_end(sp, record, DEPTH + 1, SONDE__MEMO_ROOT_BY_ZEROS);
    check_end(sp, other, DEPTH + 2, SONDE__MEMO_ROOT_BY_RULE);
}

TEST(zeros_are_read_only_where_memory_is_readable)
{
    struct sonde_stack stack;
    begin();
    uint64_t sp = pages + page - DEPTH * FRAME - FRAME, record = pages + page;
    put_stack(sp, ZEROS);
    put_record(record, 0, 0);
    check_end(sp, record, DEPTH + 1, SONDE__MEMO_ROOT_BY_ZEROS);
    close_second_page();
    reach_end = pages + page;
    CHECK(!walk(sp, record, pages + page, &stack));
}

#if defined(__x86_64__)

enum { ENTRY = CALLER - 16 };

static struct sonde__scans scans;

static bool find_scan_rule(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule)
{
    return pc == CALLER ? sonde__unwind_memo_scan_rule(&scans, pc, ret_rule)
                        : find_rule(ctx, pc, ret_rule);
}

static bool walk_scanned(uint64_t sp, struct sonde_stack *ret_stack)
{
    struct sonde__memo_start start = {.pc = LEAF,
                                      .sp = sp,
                                      .plain_end = pages + page,
                                      .find_rule = find_scan_rule,
                                      .scans = &scans,
                                      .reach = reach};
    sonde_stack_init(ret_stack, pcs, how, ROOM, 0);
    return sonde__unwind_memo_walk(&memo, &start, ret_stack);
}

/* The walk needs two facts, the function's rule and that the call leads to it, both of code that
 * never changes. */
TEST(what_scans_have_proven_is_followed)
{
    struct sonde_stack stack;
    struct sonde__scans_rule rule = {
        .entry = ENTRY, .at = FRAME - 8, .fp_saved = SONDE__SCANS_FP_KEPT};
    begin();
    uint64_t sp = pages + FRAME;
    put_stack(sp, ROOT);
    CHECK(!walk_scanned(sp, &stack));
    sonde__scans_put_rule(&scans, CALLER, false, &rule, 0);
    CHECK(!walk_scanned(sp, &stack));
    sonde__scans_put_caller(&scans, ENTRY, CALLER, 0);
    CHECK(!walk_scanned(sp, &stack)); /* not known of the outermost call */
    sonde__scans_put_caller(&scans, ENTRY, ROOT, 77);
    CHECK(!walk_scanned(sp, &stack));
    sonde__scans_put_caller(&scans, ENTRY, ROOT, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(walk_scanned(sp, &stack));
        CHECK_EQ(stack.count, DEPTH + 1);
        CHECK_EQ(stack.end, SONDE_END_ROOT);
        CHECK_EQ(memo.proven, SONDE__MEMO_FRAMES - DEPTH + 1);
        for (unsigned k = 0; k < stack.count; k++) {
            CHECK_EQ(how[k], k == 0   ? SONDE_FOUND_REGISTERS
                             : k == 1 ? SONDE_FOUND_CFI
                                      : SONDE_FOUND_INFERRED);
        }
    }
    /* frames already in the memo do not change */
    sonde__scans_put_rule(&scans, CALLER, false, &rule, 77);
    CHECK(walk_scanned(sp, &stack));
    sonde__unwind_memo_reset(&memo, sp, 1);
    CHECK(!walk_scanned(sp, &stack));
    rule.fp_saved = SONDE__SCANS_FP_LOST; /* a memo always knows fp */
    sonde__scans_put_rule(&scans, CALLER, false, &rule, 0);
    CHECK(!walk_scanned(sp, &stack));
}

#endif
