// SPDX-License-Identifier: Apache-2.0
/* A call or a jump to no code: the handler of SIGSEGV gets its caller and no wrong frame. An
 * overwritten return address: the stack ends there and has the value found. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sonde/stack.h>

#include "capture_memo.h"
#include "fixture.h"
#include "test.h"

enum { FRAMES_MAX = 64, TARGETS = 9 };

static const struct wild_kind *const kinds[] = {&wild_plain_o0, &wild_plain_o2, &wild_record_o0,
                                                &wild_record_o2};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct taken {
    uint64_t pcs[FRAMES_MAX];
    uint8_t how[FRAMES_MAX];
    struct sonde_stack stack;
};

static sigjmp_buf back;
static struct taken by_context, by_self, before_return;
static uintptr_t data_words[512] = {1};

/* Null, small, in a hole, on the stack, on the heap, in data, forbidden, unmapped. */
static void *on_heap; /* no code there, either */

static void make_targets(uintptr_t *targets)
{
    on_heap = calloc(1, 4096);
    char *forbidden = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *gone = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(forbidden != MAP_FAILED && gone != MAP_FAILED);
    CHECK_EQ(munmap(gone, 65536), 0);
    const uintptr_t made[TARGETS] = {0,
                                     1,
                                     0xff8,
                                     0x7eadbee0,
                                     (uintptr_t)__builtin_frame_address(0),
                                     (uintptr_t)on_heap,
                                     (uintptr_t)(data_words + 64),
                                     (uintptr_t)forbidden,
                                     (uintptr_t)gone};
    memcpy(targets, made, sizeof made);
}

static void open_taken(struct taken *taken)
{
    sonde_stack_init(&taken->stack, taken->pcs, taken->how, FRAMES_MAX, 0);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    open_taken(&by_context);
    open_taken(&by_self);
    if (sonde_stack_capture_ucontext(&by_context.stack, context, 0) != SONDE_OK ||
        sonde_stack_capture(&by_self.stack, 0) != SONDE_OK) {
        abort();
    }
    siglongjmp(back, 1);
}

static void catch_faults(bool is_apart)
{
    static char memory[65536];
    const stack_t apart = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | (is_apart ? SA_ONSTACK : 0)};
    CHECK_EQ(sigaltstack(&apart, NULL), 0);
    CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
    CHECK_EQ(sigaction(SIGBUS, &action, NULL), 0);
    CHECK_EQ(sigaction(SIGILL, &action, NULL), 0);
}

static const char *name_of(const struct wild_kind *kind, uint64_t pc)
{
    for (unsigned i = 0; i < sizeof kind->places / sizeof kind->places[0]; i++) {
        if (pc - 1 - kind->places[i].start < kind->places[i].end - kind->places[i].start) {
            return kind->places[i].name;
        }
    }
    return "?";
}

static void done(void)
{
    free(on_heap);
}

/* The frames from the one with pc `target` on: these functions, then the thread's root. */
static void check_callers(const struct taken *taken, const struct wild_kind *kind, uint64_t target,
                          const char *const *names, const char *what)
{
    const struct sonde_stack *stack = &taken->stack;
    uint32_t at = 0;
    while (at < stack->count &&
           (stack->pcs[at] != target || (stack->how[at] & SONDE_HOW_EXACT) == 0)) {
        at++;
    }
    for (unsigned i = 0; names[i] != NULL; i++) {
        const char *name = at + 1 + i < stack->count ? name_of(kind, stack->pcs[at + 1 + i]) : "-";
        if (strcmp(name, names[i]) != 0) {
            FAIL("%s, %s, target 0x%llx: frame %u of %u is %s, not %s; ended: %s", kind->name, what,
                 (unsigned long long)target, at + 1 + i, stack->count, name, names[i],
                 sonde_end_text(stack->end));
        }
    }
    CHECK_EQ(stack->end, SONDE_END_ROOT);
    CHECK((taken->how[at + 1] & SONDE_HOW_FOUND_MASK) == SONDE_FOUND_INFERRED ||
          (taken->how[at + 1] & SONDE_HOW_FOUND_MASK) == SONDE_FOUND_LR);
}

static void check_all(bool is_apart)
{
    static const char *const called[] = {"buggy", "middle", "outer", NULL};
    static const char *const jumped[] = {"middle", "outer", NULL};
    static const char *const kept[] = {"jumping", "middle", "outer", NULL};
    uintptr_t targets[TARGETS];
    make_targets(targets);
    catch_faults(is_apart);
    for (volatile unsigned k = 0; k < KINDS; k++) {
        for (volatile unsigned t = 0; t < TARGETS; t++) {
            bool is_tail = strstr(kinds[k]->name, "o2") != NULL;
            if (sigsetjmp(back, 1) == 0) {
                (void)kinds[k]->call(targets[t]);
                FAIL("nothing happened");
            }
            check_callers(&by_context, kinds[k], targets[t], called, "call, by context");
            check_callers(&by_self, kinds[k], targets[t], called, "call, by itself");
            if (sigsetjmp(back, 1) == 0) {
                (void)kinds[k]->jump(targets[t]);
                FAIL("nothing happened");
            }
            check_callers(&by_context, kinds[k], targets[t], is_tail ? jumped : kept, "jump");
            check_callers(&by_self, kinds[k], targets[t], is_tail ? jumped : kept, "jump, itself");
        }
    }
    done();
}

TEST(the_caller_of_no_code)
{
    check_all(false);
}

TEST(the_caller_of_no_code_on_a_stack_apart)
{
    check_all(true);
}

TEST(the_caller_of_no_code_with_tables)
{
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    check_all(false);
}

/* The function whose return address is overwritten calls this one. */
static void look(void)
{
    open_taken(&before_return);
    if (sonde_stack_capture(&before_return.stack, 0) != SONDE_OK) {
        abort();
    }
}

static void check_smashed(const struct wild_kind *kind, uint64_t target)
{
    const struct sonde_stack *stack = &before_return.stack;
    if (stack->end != SONDE_END_NO_CODE || stack->count != 3 || stack->end_at != target ||
        stack->pcs[2] != target || strcmp(name_of(kind, stack->pcs[1]), "smashed") != 0) {
        FAIL("%s, return address 0x%llx: %u frames, ended: %s at 0x%llx", kind->name,
             (unsigned long long)target, stack->count, sonde_end_text(stack->end),
             (unsigned long long)stack->end_at);
    }
}

static void check_all_smashed(void)
{
    uintptr_t targets[TARGETS];
    make_targets(targets);
    catch_faults(true);
    for (volatile unsigned k = 0; k < KINDS; k++) {
        for (volatile unsigned t = 0; t < TARGETS; t++) {
            if (sigsetjmp(back, 1) == 0) {
                (void)kinds[k]->smash(targets[t], look);
                FAIL("nothing happened");
            }
            check_smashed(kinds[k], targets[t]);
            CHECK_EQ(by_context.stack.count, 1);
            CHECK_EQ(by_context.pcs[0], targets[t]);
            CHECK_EQ(by_context.stack.end, SONDE_END_NO_CODE);
        }
    }
    done();
}

TEST(an_overwritten_return_address_ends_the_stack)
{
    check_all_smashed();
}

/* With a memo, the walk looks up that address first of all. */
TEST(an_overwritten_return_address_ends_the_stack_with_tables)
{
    CHECK_OK(sonde_stack_prepare());
    check_all_smashed();
    sonde__capture_memo_disable(true);
    check_all_smashed();
}
