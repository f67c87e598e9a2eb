// SPDX-License-Identifier: Apache-2.0
/* Threads as text. Threads with the same stack and state are shown once:
 *
 *   8 threads "worker"  blocked in futex
 *     1240 1241 1242 1243 1244 1245 1246 1247
 *     #0  ...
 *
 * If they wait for different objects, each object has a line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "report_view.h"

#define LINE_COLUMNS 96u
/* Lines of different wait objects in one group. */
#define LINES_MAX 16u

static bool is_together(const struct sonde__report_thread *a, const struct sonde__report_thread *b)
{
    return a->stack == b->stack && a->state == b->state && a->syscall == b->syscall &&
           a->end == b->end && a->end_at == b->end_at && a->note == b->note &&
           a->captured_by == b->captured_by && a->process == b->process && a->qos == b->qos &&
           a->queue == b->queue && a->script_stack == b->script_stack && !a->main && !b->main;
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* In the order that is_together groups by, then by position in the report. */
static int compare_threads(const void *left, const void *right)
{
    const struct sonde__report_thread *a = *(const struct sonde__report_thread *const *)left;
    const struct sonde__report_thread *b = *(const struct sonde__report_thread *const *)right;
    const uint64_t keys_a[] = {
        a->stack,       a->state, (uint64_t)a->syscall, a->end, a->end_at, a->note,
        a->captured_by, a->main,  a->process,           a->qos, a->queue,  a->script_stack};
    const uint64_t keys_b[] = {
        b->stack,       b->state, (uint64_t)b->syscall, b->end, b->end_at, b->note,
        b->captured_by, b->main,  b->process,           b->qos, b->queue,  b->script_stack};
    for (size_t i = 0; i < sizeof keys_a / sizeof *keys_a; i++) {
        int result = order(keys_a[i], keys_b[i]);
        if (result != 0) {
            return result;
        }
    }
    if (a->detail != b->detail) {
        return order(a->detail, b->detail);
    }
    return order((uintptr_t)a, (uintptr_t)b); /* elements of one array */
}

static const char *state_text(uint32_t letter)
{
    switch (letter) {
    case 'R':
        return "running";
    case 'S':
        return "blocked";
    case 'D':
        return "blocked, uninterruptible";
    case 'T':
        return "stopped";
    case 't':
        return "stopped by a tracer";
    case 'Z':
    case 'X':
        return "exited";
    case 'I':
        return "idle";
    default:
        return "state unknown";
    }
}

/* The object of the call, if known. */
static void put_detail(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_thread *thread)
{
    if (thread->detail != 0) {
        sonde__report_out_print(out, "  %s", sonde__report_text(report, thread->detail));
    }
}

static void put_state(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_thread *thread)
{
    sonde__report_out_color(out, thread->state == 'R' ? SONDE__REPORT_GREEN : SONDE__REPORT_YELLOW);
    if (thread->syscall > 0 && (thread->state == 'S' || thread->state == 'D')) {
        sonde__report_out_str(out, "blocked in ");
        sonde__report_put_syscall(out, report, thread->syscall);
        sonde__report_out_str(out, thread->state == 'D' ? " (uninterruptible)" : "");
    } else if (thread->state == '?' && thread->syscall > 0) { /* a core has only the call */
        sonde__report_out_str(out, "in ");
        sonde__report_put_syscall(out, report, thread->syscall);
    } else {
        sonde__report_out_str(out, state_text(thread->state));
        if (thread->syscall > 0) {
            sonde__report_out_str(out, " in ");
            sonde__report_put_syscall(out, report, thread->syscall);
        }
    }
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
}

void sonde__report_put_purpose(struct sonde__report_out *out, const struct sonde__report *report,
                               uint32_t qos, uint32_t queue)
{
    static const char *const qualities[] = {"",           "user interactive", "user initiated",
                                            "default",    "utility",          "background",
                                            "maintenance"};
    if (queue != 0) {
        sonde__report_out_print(out, "  queue %s", sonde__report_text(report, queue));
    }
    if (qos != 0 && qos < sizeof qualities / sizeof *qualities) {
        sonde__report_out_print(out, "  QoS %s", qualities[qos]);
    }
}

/* The process, if it is not the header's, and the thread's purpose. */
static void put_purpose(struct sonde__report_out *out, const struct sonde__report *report,
                        const struct sonde__report_thread *thread)
{
    int32_t pid = sonde__report_pid(report, thread->process);
    if (pid != sonde__report_header(report)->pid) {
        sonde__report_out_print(out, "  process %d", pid);
    }
    sonde__report_put_purpose(out, report, thread->qos, thread->queue);
}

static void put_disturbance(struct sonde__report_out *out,
                            const struct sonde__report_thread *thread)
{
    if (thread->captured_by == 6) {
        sonde__report_out_str(out, "  [by a signal]");
    }
    if (thread->pause_ns != 0) {
        sonde__report_out_print(out, "  [stopped for %s]",
                                sonde__report_duration(thread->pause_ns).text);
    }
}

/* Below the heading: the stack, its end reason if it is not the root, and a note. */
static void put_body(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_thread *thread)
{
    const char *note = sonde__report_text(report, thread->note);
    sonde__report_put_stack(out, report, thread->stack, 2);
    if (thread->script_stack != 0) {
        bool is_later = thread->captured_by == 2; /* a sample of a running thread */
        sonde__report_out_str(out, is_later ? "  script frames, read later:\n"
                                            : "  script frames, which do not fit the stack:\n");
        sonde__report_put_stack(out, report, thread->script_stack, 4);
    }
    if (thread->end != SONDE_END_ROOT && (thread->stack != 0 || *note == '\0')) {
        sonde__report_out_print(out, "%s%s",
                                thread->stack != 0 ? "  stack ends here: " : "  no stack: ",
                                sonde_end_text(thread->end));
        if (thread->end_at != 0 || thread->end == SONDE_END_NO_CODE) {
            sonde__report_out_print(out, " at 0x%" PRIx64, thread->end_at);
        }
        sonde__report_out_str(out, "\n");
    }
    if (*note != '\0') {
        sonde__report_out_print(out, "  note: %s\n", note);
    }
}

static void put_single(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_thread *thread)
{
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_print(out, "thread %" PRId64, thread->tid);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_put_thread_name(out, report, thread->name);
    sonde__report_out_str(out, thread->main ? " (main)  " : "  ");
    put_state(out, report, thread);
    put_detail(out, report, thread);
    put_purpose(out, report, thread);
    put_disturbance(out, thread);
    sonde__report_out_str(out, "\n");
    put_body(out, report, thread);
}

void sonde__report_put_owner(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_thread *thread)
{
    sonde__report_out_print(out, "  its stack, thread %" PRId64, thread->tid);
    sonde__report_put_thread_name(out, report, thread->name);
    sonde__report_out_str(out, thread->main ? " (main)  " : "  ");
    put_state(out, report, thread);
    put_detail(out, report, thread);
    put_purpose(out, report, thread);
    sonde__report_out_str(out, "\n");
    sonde__report_put_stack(out, report, thread->stack, 4);
}

/* Print thread ids, and names if they differ. With `details`, threads that wait for the same object
 * share a line. */
static void put_members(struct sonde__report_out *out, const struct sonde__report *report,
                        const struct sonde__report_thread *const *group, uint32_t count, bool names,
                        bool details)
{
    for (uint32_t i = 0; i < count; i++) {
        bool begins = i == 0 || (details && group[i]->detail != group[i - 1]->detail);
        if (begins && i > 0) {
            put_detail(out, report, group[i - 1]);
        }
        sonde__report_out_str(out, begins || out->column > LINE_COLUMNS ? "\n  " : " ");
        sonde__report_out_int(out, group[i]->tid);
        if (names) {
            sonde__report_put_thread_name(out, report, group[i]->name);
        }
    }
    if (details) {
        put_detail(out, report, group[count - 1]);
    }
    sonde__report_out_str(out, "\n");
}

static void put_group(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_thread *const *group, uint32_t count)
{
    bool one_name = true;
    uint32_t details = 1;
    if (count == 1) {
        put_single(out, report, group[0]);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        one_name = one_name && group[i]->name == group[0]->name;
        details += group[i]->detail != group[i - 1]->detail;
    }
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_print(out, "%u threads", count);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    if (one_name) {
        sonde__report_put_thread_name(out, report, group[0]->name);
    }
    sonde__report_out_str(out, "  ");
    put_state(out, report, group[0]);
    if (details == 1) {
        put_detail(out, report, group[0]);
    } else if (details > LINES_MAX) {
        sonde__report_out_print(out, "  for %u different things (--unfolded shows them)", details);
    }
    put_purpose(out, report, group[0]);
    put_disturbance(out, group[0]);
    put_members(out, report, group, count, !one_name, details > 1 && details <= LINES_MAX);
    put_body(out, report, group[0]);
}

/* Sort threads into runs of equal ones. `sorted` gets the runs; starts[i] the position in it of the
 * run that begins with thread `i`. */
static void sort_threads(const struct sonde__report_thread *threads, uint32_t count,
                         const struct sonde__report_thread **sorted, uint32_t *starts)
{
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = &threads[i];
        starts[i] = UINT32_MAX;
    }
    qsort(sorted, count, sizeof(void *), compare_threads);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || !is_together(sorted[i - 1], sorted[i])) {
            starts[sorted[i] - threads] = i;
        }
    }
}

void sonde__report_put_threads(struct sonde__report_out *out, const struct sonde__report *report,
                               const struct sonde__report_thread *threads, uint32_t count,
                               bool unfolded)
{
    const struct sonde__report_thread **sorted = NULL;
    uint32_t *starts = NULL;
    if (!unfolded && count > 1) {
        sorted = sonde__mem_alloc_array(count, sizeof(void *));
        starts = sonde__mem_alloc_array(count, sizeof *starts);
    }
    if (sorted == NULL || starts == NULL) {
        for (uint32_t i = 0; i < count && !out->stopped; i++) {
            put_single(out, report, &threads[i]);
        }
    } else {
        sort_threads(threads, count, sorted, starts);
        for (uint32_t i = 0; i < count && !out->stopped; i++) {
            uint32_t first = starts[i], end;
            if (first == UINT32_MAX) {
                continue;
            }
            for (end = first + 1; end < count && is_together(sorted[end - 1], sorted[end]);) {
                end++;
            }
            put_group(out, report, sorted + first, end - first);
        }
    }
    sonde__mem_free(sorted);
    sonde__mem_free(starts);
}
