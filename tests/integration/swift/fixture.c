// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <stddef.h>

#define ASYNC   __attribute__((swiftasynccall))
#define KEPT    __attribute__((noinline))
#define CONTEXT __attribute__((swift_async_context))

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAMED(name)  PASTE(NAMES_OF, name)

struct context {
    struct context *parent;
    ASYNC void (*resume)(CONTEXT struct context *);
};

static KEPT ASYNC void inner(CONTEXT struct context *context)
{
    observe(0);
    __attribute__((musttail)) return context->resume(context->parent);
}

static KEPT ASYNC void middle_resume(CONTEXT struct context *context)
{
    observe(1);
    __attribute__((musttail)) return context->resume(context->parent);
}

static KEPT ASYNC void outer_resume(CONTEXT struct context *context)
{
    observe(2);
    __attribute__((musttail)) return context->resume(context->parent);
}

static KEPT ASYNC void task_done(CONTEXT struct context *context)
{
    (void)context;
    __asm__ volatile("");
}

__attribute__((noinline)) void NAMED(run_chain)(struct context *innermost)
{
    inner(innermost);
    __asm__ volatile("");
}

/* Each context says where the one who awaits goes on, and with which context. */
__attribute__((noinline)) void NAMED(run)(void)
{
    struct context of_task = {NULL, NULL};
    struct context of_outer = {&of_task, task_done};
    struct context of_middle = {&of_outer, outer_resume};
    struct context of_inner = {&of_middle, middle_resume};
    NAMED(run_chain)(&of_inner);
}

void NAMED(continuations)(uint64_t ret_pcs[3])
{
    ret_pcs[0] = (uint64_t)(uintptr_t)middle_resume;
    ret_pcs[1] = (uint64_t)(uintptr_t)outer_resume;
    ret_pcs[2] = (uint64_t)(uintptr_t)task_done;
}
