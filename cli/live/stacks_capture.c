// SPDX-License-Identifier: Apache-2.0
#include "stacks_capture.h"

#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"

static bool is_wanted(const struct sonde__thread *thread, const char *wanted)
{
    uint64_t tid;
    if (sonde__cli_parse_uint(wanted, INT64_MAX, &tid) && tid == thread->tid) {
        return true;
    }
    return strcmp(thread->name, wanted) == 0;
}

static bool is_any_wanted(const struct sonde__thread *thread,
                          const struct sonde__stacks_wanted *wanted)
{
    for (unsigned i = 0; i < wanted->threads.count; i++) {
        if (is_wanted(thread, wanted->threads.items[i])) {
            return true;
        }
    }
    return wanted->threads.count == 0;
}

/* Each --thread must match: a mistyped name is an error. */
static int check_wanted(const struct sonde__cli_command *command,
                        const struct sonde__thread *threads, uint32_t count,
                        const struct sonde__stacks_wanted *wanted)
{
    for (unsigned i = 0; i < wanted->threads.count; i++) {
        uint32_t t = 0;
        while (t < count && !is_wanted(&threads[t], wanted->threads.items[i])) {
            t++;
        }
        if (t == count) {
            sonde__cli_error(command, "no thread has the id or name %s", wanted->threads.items[i]);
            return SONDE__CLI_ABSENT;
        }
    }
    return SONDE__CLI_OK;
}

/* Hint at --stop: the kernel shows few registers of a blocked thread, and code with frame pointers
 * but without call frame information (Go) needs more. */
static void print_what_stop_adds(bool stop, const struct sonde_stack *stack,
                                 struct sonde__capture *capture)
{
    if (!stop && capture->by == SONDE__CAPTURED_PASSIVE && stack->end == SONDE_END_NO_REGISTERS &&
        capture->note[0] == '\0') {
        snprintf(capture->note, sizeof capture->note,
                 "a blocked thread shows too few registers for this code: --stop reads all");
    }
}

static bool capture_one(struct sonde__target *target, const struct sonde__thread *thread,
                        bool wanted_stop, struct sonde_stack *scratch, struct sonde__stacks *stacks)
{
    struct sonde__sample *one = &stacks->list[stacks->count];
    sonde_stack_init(scratch, scratch->pcs, scratch->how, scratch->capacity, SONDE_OUTER_FRAMES);
    sonde__sample_take(target, thread, scratch, one);
    print_what_stop_adds(wanted_stop, &one->stack, &one->capture);
    if (one->capture.by == SONDE__CAPTURED_NOT) {
        one->stack.count = 0;
        if (thread->state != SONDE_THREAD_DEAD && one->capture.status != SONDE_ABSENT) {
            stacks->first_unread = stacks->unread == 0 ? stacks->count : stacks->first_unread;
            stacks->unread++;
        }
    }
    if (!sonde__sample_keep(one)) {
        return false;
    }
    stacks->count++;
    return true;
}

static bool capture_all(struct sonde__target *target, const struct sonde__thread *threads,
                        uint32_t count, const struct sonde__stacks_wanted *wanted,
                        struct sonde__stacks *stacks)
{
    uint32_t capacity = wanted->depth + SONDE_OUTER_FRAMES;
    struct sonde_stack scratch = {.capacity = capacity};
    struct sonde__cli_progress progress;
    bool ok;
    scratch.pcs = sonde__mem_alloc_array(capacity, sizeof *scratch.pcs);
    scratch.how = sonde__mem_alloc_array(capacity, sizeof *scratch.how);
    ok = scratch.pcs != NULL && scratch.how != NULL;
    sonde__cli_progress_begin(&progress, "reading threads");
    for (uint32_t i = 0; ok && i < count; i++) {
        if (is_any_wanted(&threads[i], wanted)) {
            ok = capture_one(target, &threads[i], wanted->stop, &scratch, stacks);
        }
        sonde__cli_progress_step(&progress, i + 1, count);
    }
    sonde__cli_progress_end(&progress);
    sonde__mem_free(scratch.pcs);
    sonde__mem_free(scratch.how);
    return ok;
}

static int capture_wanted(const struct sonde__cli_command *command, struct sonde__target *target,
                          const struct sonde__stacks_wanted *wanted, struct sonde__stacks *stacks)
{
    struct sonde_error error;
    const struct sonde__thread *threads = NULL;
    uint32_t count = 0;
    enum sonde_status status = sonde__target_threads(target, &threads, &count, &error);
    int exit_code;
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, NULL, status, &error);
    }
    exit_code = check_wanted(command, threads, count, wanted);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    stacks->list = sonde__mem_alloc_array((size_t)count + 1, sizeof *stacks->list);
    if (stacks->list == NULL || !capture_all(target, threads, count, wanted, stacks)) {
        return sonde__cli_fail(command, NULL, SONDE_MEMORY, NULL);
    }
    return SONDE__CLI_OK;
}

int sonde__stacks_capture(const struct sonde__cli_command *command, struct sonde__target *target,
                          const struct sonde__stacks_wanted *wanted,
                          struct sonde__stacks *ret_stacks)
{
    struct sonde_error error = {SONDE_OK, 0, 0, ""};
    struct sonde__stacks stacks = {0};
    enum sonde_status status = SONDE_OK;
    int exit_code;
    if (wanted->stop) {
        status = sonde__target_stop(target, &error);
    }
    exit_code = status == SONDE_OK ? capture_wanted(command, target, wanted, &stacks)
                                   : sonde__cli_fail(command, NULL, status, &error);
    if (wanted->stop && status == SONDE_OK) {
        sonde__target_resume(target, &stacks.pause_ns);
    }
    if (exit_code != SONDE__CLI_OK) {
        sonde__stacks_done(&stacks);
        return exit_code;
    }
    *ret_stacks = stacks;
    return SONDE__CLI_OK;
}

void sonde__stacks_done(struct sonde__stacks *stacks)
{
    for (uint32_t i = 0; i < stacks->count; i++) {
        sonde__sample_done(&stacks->list[i]);
    }
    sonde__mem_free(stacks->list);
    memset(stacks, 0, sizeof *stacks);
}
