// SPDX-License-Identifier: Apache-2.0
/* A stall as text: its length and thread, its phases and functions, and the other threads. */
#include <inttypes.h>

#include "base_text.h"
#include "report_analyse.h"
#include "report_load.h"
#include "report_summary.h"
#include "report_view.h"
#include "report_walk.h"

#define PHASE_CALLERS 3u /* callers printed for a phase; the stack below has all */

static const char *loop_text(uint32_t loop)
{
    static const char *const texts[] = {"not identified", "epoll", "poll",  "select",   "condition",
                                        "signal",         "other", "marks", "run loop", "semaphore",
                                        "futex",          "pause", "timer"};
    return loop < sizeof texts / sizeof *texts ? texts[loop] : "other";
}

static const char *sampler_text(uint32_t sampler)
{
    switch (sampler) {
    case SONDE__REPORT_SAMPLER_PERF:
        return "passive, perf events while running";
    case SONDE__REPORT_SAMPLER_PTRACE:
        return "passive, ptrace while running";
    case SONDE__REPORT_SAMPLER_SIGNAL:
        return "passive, a signal while running";
    case SONDE__REPORT_SAMPLER_STOP:
        return "the thread stopped for each sample";
    default:
        return "passive, running threads not at all";
    }
}

static void put_heading(struct sonde__report_out *out, const struct sonde__report *report,
                        uint32_t index, const struct sonde__report_stall *stall)
{
    static const char *const kinds[] = {"", "launch ", "exit ", "scope "};
    int32_t pid = sonde__report_pid(report, stall->process);
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, SONDE__REPORT_RED);
    sonde__report_out_print(out, "%sstall %" PRIu64 ": %s",
                            stall->kind < sizeof kinds / sizeof *kinds ? kinds[stall->kind] : "",
                            (uint64_t)index + 1, sonde__report_duration(stall->duration_ns).text);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_str(out, stall->fatal && stall->open
                                   ? ", not over when the watch was killed; the program ended, too"
                               : stall->fatal ? ", in which the program was killed"
                               : !stall->open ? ""
                               : stall->kind == SONDE__REPORT_STALL_EXIT
                                   ? ", until the program ended"
                                   : " and not over");
    if (pid != sonde__report_header(report)->pid) {
        sonde__report_out_print(out, "  process %d", pid);
    }
    sonde__report_out_print(out, "  thread %" PRId64, stall->tid);
    sonde__report_put_thread_name(out, report, stall->thread_name);
    sonde__report_out_print(out, "%s%s\n", stall->main ? " (main)  after " : "  after ",
                            sonde__report_duration(stall->begin_ns).text);
}

static void put_part(struct sonde__report_out *out, uint64_t ns, const char *what, bool *first)
{
    if (ns != 0) {
        sonde__report_out_print(out, "%s%s%s", *first ? "  time      " : ", ",
                                sonde__report_duration(ns).text, what);
        *first = false;
    }
}

/* Stacks of lock owners and the like, printed next to the causes. All of them are in the list of
 * other threads, too. */
#define OWNERS_MAX 4u

static bool is_owner(const struct sonde__report *report, const struct sonde__report_stall *stall,
                     const struct sonde__report_thread *thread)
{
    int32_t pid = sonde__report_pid(report, thread->process);
    for (uint32_t i = 0; i < stall->wait_count; i++) {
        const struct sonde__report_wait *wait = &stall->waits[i];
        uint32_t process = wait->owner_process != 0 ? wait->owner_process : wait->process;
        bool any = wait->owner_tid == 0 && wait->kind == SONDE__REPORT_WAIT_CHILD &&
                   wait->owner_process != 0;
        if (pid == sonde__report_pid(report, process) && (any || wait->owner_tid == thread->tid)) {
            return true;
        }
    }
    return false;
}

static void put_owners(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_stall *stall)
{
    uint32_t left = OWNERS_MAX;
    for (uint32_t i = 0; i < stall->thread_count && left > 0 && !out->stopped; i++) {
        if (stall->threads[i].stack != 0 && is_owner(report, stall, &stall->threads[i])) {
            sonde__report_put_owner(out, report, &stall->threads[i]);
            left--;
        }
    }
}

static void put_facts(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_stall *stall,
                      const struct sonde__report_analysis *a)
{
    bool first = true;
    sonde__report_out_str(out, "  loop      ");
    if (stall->loop_detail != 0) {
        sonde__report_out_text(out, sonde__report_text(report, stall->loop_detail));
    } else {
        sonde__report_out_str(out, loop_text(stall->loop));
    }
    sonde__report_out_print(out, "; %" PRIu64, stall->loop_turns);
    sonde__report_out_str(out, stall->loop_turns == 1 ? " turn before\n" : " turns before\n");
    put_part(out, stall->cpu_ns, " on a CPU", &first);
    put_part(out, stall->runqueue_ns, " waiting for a CPU", &first);
    put_part(out, a->blocked_ns, " blocked", &first);
    put_part(out, a->disk_ns, " blocked uninterruptibly (disk)", &first);
    put_part(out, a->unknown_ns, " not known", &first);
    sonde__report_out_str(out, first ? "" : "\n");
    sonde__report_out_print(out, "  samples   %u (%s)", stall->sample_count,
                            sampler_text(stall->sampler));
    if (stall->overhead_ns != 0) {
        sonde__report_out_print(out, ", which cost %s of CPU",
                                sonde__report_duration(stall->overhead_ns).text);
    }
    sonde__report_out_str(out, "\n");
    sonde__report_put_uncovered(out, report, stall);
    sonde__report_put_load(out, report, stall);
    sonde__report_put_circumstances(out, report, stall);
    sonde__report_put_waits(out, report, stall->waits, stall->wait_count);
    put_owners(out, report, stall);
    if (stall->samples_early != 0) {
        sonde__report_out_print(
            out, "  note: %" PRIu64 " calls of the program ended early because it was sampled\n",
            stall->samples_early);
    }
}

/* For a script "commit orders.py:42". */
static void put_function(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct sonde__report_frame *frame)
{
    sonde__report_put_function(out, report, frame);
    if (frame->kind == SONDE__REPORT_FRAME_SCRIPT && frame->file != 0) {
        sonde__report_out_str(out, " ");
        sonde__report_out_text(out, sonde__base_file_name(sonde__report_text(report, frame->file)));
        if (frame->line != 0) {
            sonde__report_out_str(out, ":");
            sonde__report_out_dec(out, frame->line);
        }
    }
}

/* Is the frame the interpreter's, or does it run the script frame before it? *runs_script: for the
 * next frame outwards */
static bool is_hidden(const struct sonde__report *report, const struct sonde__report_frame *frame,
                      bool *runs_script)
{
    bool is_script = frame->kind == SONDE__REPORT_FRAME_SCRIPT;
    bool hidden = (*runs_script && !is_script) || sonde__report_is_interpreter(report, frame);
    *runs_script = is_script;
    return hidden;
}

/* "fsync ← sqlite3_step ← ...": frames from the innermost outwards. */
static void put_callers(struct sonde__report_out *out, const struct sonde__report *report,
                        uint32_t stack)
{
    bool folds = !out->unfolded && sonde__report_has_script(report, stack);
    bool runs_script = false;
    uint32_t count = 0;
    for (uint32_t id = stack; id != 0; count++) {
        const struct sonde__report_node *node = sonde__report_node(report, id);
        id = node->parent;
        if (folds && is_hidden(report, sonde__report_frame(report, node->frame), &runs_script)) {
            count--;
            continue;
        }
        if (count > 0) {
            sonde__report_out_str(out, " \xe2\x86\x90 ");
        }
        if (count > PHASE_CALLERS) {
            sonde__report_out_str(out, "...");
            return;
        }
        put_function(out, report, sonde__report_frame(report, node->frame));
    }
}

static void put_phase(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_phase *phase)
{
    sonde__report_out_tab(out, 4);
    sonde__report_out_duration(out, phase->duration_ns);
    sonde__report_out_tab(out, 14);
    sonde__report_out_color(out, SONDE__REPORT_YELLOW);
    if (phase->syscall > 0) {
        sonde__report_out_str(out, "blocked in ");
        sonde__report_put_syscall(out, report, phase->syscall);
    } else if (phase->kind == SONDE__REPORT_PHASE_RUNNING) {
        sonde__report_out_str(out, "running");
    } else if (phase->kind == SONDE__REPORT_PHASE_DISK) {
        sonde__report_out_str(out, "blocked uninterruptibly");
    } else {
        sonde__report_out_str(out,
                              phase->kind == SONDE__REPORT_PHASE_BLOCKED ? "blocked" : "not known");
    }
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    if (phase->detail != 0) {
        sonde__report_out_print(out, "  %s", sonde__report_text(report, phase->detail));
    }
    if (phase->stack != 0) {
        sonde__report_out_str(out, "  ");
        put_callers(out, report, phase->stack);
    }
    if (phase->own_ns < phase->duration_ns) {
        sonde__report_out_print(out, "  (%s of it elsewhere, in between)",
                                sonde__report_duration(phase->duration_ns - phase->own_ns).text);
    }
    sonde__report_out_str(out, "\n");
}

static void put_weight(struct sonde__report_out *out, const struct sonde__report *report,
                       const char *what, const struct sonde__report_weight *weight,
                       uint64_t whole_ns)
{
    const struct sonde__report_frame *frame = sonde__report_frame(report, weight->frame);
    if (weight->frame == 0) {
        return;
    }
    sonde__report_out_str(out, what);
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    put_function(out, report, frame);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    if (frame->name != 0 && frame->image != 0) {
        sonde__report_out_print(out, " (%s)", sonde__report_image_name(report, frame->image));
    }
    sonde__report_out_print(out, "  %s\n", sonde__report_share(weight->weight_ns, whole_ns).text);
}

/* The innermost functions of the dominant path; the stack below has all. */
static void put_path(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_analysis *a, uint64_t whole_ns)
{
    if (a->path_count == 0) {
        return;
    }
    bool folds = !out->unfolded && sonde__report_has_script(report, a->stack);
    bool runs_script = false;
    uint32_t count = 0;
    sonde__report_out_print(
        out, "  dominant path (%s of the time)  ",
        sonde__report_share(a->path[a->path_count - 1].weight_ns, whole_ns).text);
    for (uint32_t i = a->path_count; i-- > 0; count++) {
        const struct sonde__report_frame *frame = sonde__report_frame(report, a->path[i].frame);
        if (folds && is_hidden(report, frame, &runs_script)) {
            count--;
            continue;
        }
        if (count > 0) {
            sonde__report_out_str(out, " \xe2\x86\x90 ");
        }
        if (count >= 2 * PHASE_CALLERS) {
            sonde__report_out_str(out, "...");
            break;
        }
        put_function(out, report, frame);
    }
    sonde__report_out_str(out, "\n");
}

void sonde__report_put_stall(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t index, const struct sonde__report_view *view)
{
    const struct sonde__report_stall *stall = sonde__report_stall(report, index);
    struct sonde__report_analysis a = {0};
    enum sonde_status status = sonde__report_analyse(report, stall, &a);
    put_heading(out, report, index + (view != NULL ? view->stall_first : 0), stall);
    if (status != SONDE_OK) {
        sonde__report_out_str(out, "  not analysed: out of memory\n");
        return;
    }
    sonde__report_out_str(out, "  ");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_put_summary(out, report, stall, &a);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_str(out, "\n");
    put_facts(out, report, stall, &a);
    if (a.phase_count != 0) {
        sonde__report_out_str(out, "  phases\n");
    }
    for (uint32_t i = 0; i < a.phase_count && !out->stopped; i++) {
        put_phase(out, report, &a.phases[i]);
    }
    /* shares are of the whole stall, including time without samples */
    uint64_t whole_ns = a.weight_ns + sonde__report_uncovered_ns(stall);
    put_path(out, report, &a, whole_ns);
    put_weight(out, report, "  innermost function     ", &a.heaviest, whole_ns);
    put_weight(out, report, "  heaviest app function  ", &a.heaviest_app, whole_ns);
    sonde__report_put_fingerprint(out, report, stall);
    if (a.stack != 0) {
        sonde__report_out_print(out, "  heaviest stack (%s of the time)\n",
                                sonde__report_share(a.stack_ns, whole_ns).text);
        sonde__report_put_stack(out, report, a.stack, 4);
    }
    if (stall->thread_count != 0) {
        sonde__report_out_str(out, stall->thread_count == 1 ? "\nthe other thread, once\n"
                                                            : "\nthe other threads, once\n");
        sonde__report_put_threads(out, report, stall->threads, stall->thread_count,
                                  view != NULL && view->unfolded);
    }
    sonde__report_analysis_done(&a);
}
