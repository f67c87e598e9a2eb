// SPDX-License-Identifier: Apache-2.0
/* Parts of a stall as text: time without samples, waits, fingerprint, circumstances. */
#include <inttypes.h>

#include "report_fingerprint.h"
#include "report_view.h"

static const char *reason_text(uint32_t reason)
{
    switch (reason) {
    case SONDE__REPORT_UNCOVERED_BEFORE:
        return " before sampling began";
    case SONDE__REPORT_UNCOVERED_LATE:
        return " while the watch did not run";
    case SONDE__REPORT_UNCOVERED_UNREAD:
        return " while the thread could not be read";
    case SONDE__REPORT_UNCOVERED_BUDGET:
        return " to keep the cost of sampling down";
    default:
        return "";
    }
}

/* Sum of all uncovered times with one reason. */
static struct sonde__report_uncovered sum_of(const struct sonde__report_stall *stall,
                                             uint32_t reason)
{
    struct sonde__report_uncovered sum = {.reason = reason};
    for (uint32_t i = 0; i < stall->uncovered_count; i++) {
        const struct sonde__report_uncovered *u = &stall->uncovered[i];
        if (u->reason == reason) {
            sum.duration_ns += u->duration_ns;
            sum.cpu_ns += u->cpu_ns;
            sum.runqueue_ns += u->runqueue_ns;
            sum.detail = sum.detail != 0 ? sum.detail : u->detail;
        }
    }
    return sum;
}

uint64_t sonde__report_uncovered_ns(const struct sonde__report_stall *stall)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < stall->uncovered_count; i++) {
        total += stall->uncovered[i].duration_ns;
    }
    return total;
}

static void put_share(struct sonde__report_out *out, uint64_t ns, const char *what,
                      const char **before)
{
    if (ns != 0) {
        sonde__report_out_print(out, "%s%s%s", *before, sonde__report_duration(ns).text, what);
        *before = ", ";
    }
}

static void put_reason(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_uncovered *sum)
{
    const char *before = " (";
    sonde__report_out_print(out, "%s%s", sonde__report_duration(sum->duration_ns).text,
                            reason_text(sum->reason));
    put_share(out, sum->cpu_ns, " on a CPU", &before);
    put_share(out, sum->runqueue_ns, " waiting for a CPU", &before);
    if (sum->detail != 0) {
        sonde__report_out_print(out, "%sin %s", before, sonde__report_text(report, sum->detail));
        before = ", ";
    }
    sonde__report_out_str(out, *before == ',' ? ")" : "");
}

void sonde__report_put_uncovered(struct sonde__report_out *out, const struct sonde__report *report,
                                 const struct sonde__report_stall *stall)
{
    const char *before = "  unsampled ";
    for (uint32_t reason = 0; reason <= SONDE__REPORT_UNCOVERED_BUDGET; reason++) {
        struct sonde__report_uncovered sum = sum_of(stall, reason);
        if (sum.duration_ns != 0) {
            sonde__report_out_str(out, before);
            put_reason(out, report, &sum);
            before = ", ";
        }
    }
    sonde__report_out_str(out, *before == ',' ? "\n" : "");
}

/* "thread 12", "thread 12 of process 4", "process 4", "this process itself". */
static void put_who(struct sonde__report_out *out, const struct sonde__report *report, int64_t tid,
                    uint32_t process)
{
    int32_t pid = sonde__report_pid(report, process);
    if (tid != 0) {
        sonde__report_out_print(out, "thread %" PRId64, tid);
    }
    bool is_own = pid == sonde__report_header(report)->pid;
    if (tid == 0 && is_own) {
        sonde__report_out_str(out, "this process itself");
    } else if (!is_own) {
        sonde__report_out_print(out, "%s%d", tid != 0 ? " of process " : "process ", pid);
    }
}

void sonde__report_put_resource(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_wait *wait)
{
    static const char *const kinds[] = {"something",   "a futex",          "a mutex",  "a rwlock",
                                        "a condition", "a semaphore",      "a thread", "a child",
                                        "a file",      "a lock of a file", "a pipe",   "a socket",
                                        "memory"};
    static const char *const roles[] = {
        "", ", held by ", ", held by ", ", held by ", ", signalled by ", ", held by ", ", "};
    uint32_t kind = wait->kind < sizeof kinds / sizeof *kinds ? wait->kind : 0;
    const char *role = kind < sizeof roles / sizeof *roles && kind != 0 ? roles[kind] : ", of ";
    if (wait->resource != 0) {
        sonde__report_out_text(out, sonde__report_text(report, wait->resource));
    } else {
        sonde__report_out_str(out, kinds[kind]);
    }
    bool is_named = kind == SONDE__REPORT_WAIT_CHILD && wait->resource != 0; /* the child */
    if (!is_named && (wait->owner_tid != 0 || wait->owner_process != 0)) {
        sonde__report_out_str(out, role);
        put_who(out, report, wait->owner_tid, wait->owner_process);
    }
    if (wait->peer != 0) {
        sonde__report_out_print(out, ", to %s", sonde__report_text(report, wait->peer));
    }
}

static void put_wait(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_wait *wait)
{
    put_who(out, report, wait->tid, wait->process);
    sonde__report_out_str(out, " for ");
    sonde__report_put_resource(out, report, wait);
    sonde__report_out_str(out, "\n");
}

void sonde__report_put_waits(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_wait *waits, uint32_t count)
{
    for (uint32_t i = 0; i < count && !out->stopped; i++) {
        sonde__report_out_str(out, i == 0 ? "  waits     " : "            ");
        put_wait(out, report, &waits[i]);
    }
}

void sonde__report_put_all_waits(struct sonde__report_out *out, const struct sonde__report *report)
{
    uint32_t count = sonde__report_wait_count(report);
    if (sonde__report_header(report)->kind == SONDE__REPORT_STACKS) {
        return; /* the heading of each thread has its wait */
    }
    for (uint32_t i = 0; i < count && !out->stopped; i++) {
        sonde__report_out_str(out, i == 0 ? "\nwaits\n  " : "  ");
        put_wait(out, report, sonde__report_wait(report, i));
    }
}

void sonde__report_put_named_phase(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t id)
{
    static const char *const consents[] = {"", ", before consent", ", consent given",
                                           ", consent refused"};
    const struct sonde__report_named_phase *phase = sonde__report_phase(report, id);
    sonde__report_out_print(
        out, "\"%s\"%s", sonde__report_text(report, phase->name),
        phase->consent < sizeof consents / sizeof *consents ? consents[phase->consent] : "");
}

/* What the thread worked for: that of the first samples, and each other one, up to a limit. */
static void put_purposes(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct sonde__report_stall *stall)
{
    uint32_t left = 3;
    for (uint32_t i = 0; i < stall->sample_count && left > 0; i++) {
        const struct sonde__report_sample *sample = &stall->samples[i];
        uint32_t k = 0;
        while (k < i &&
               (stall->samples[k].queue != sample->queue || stall->samples[k].qos != sample->qos)) {
            k++;
        }
        if (k == i && (sample->queue != 0 || sample->qos != 0)) {
            sonde__report_out_str(out, left == 3 ? "  worked for" : "        and ");
            sonde__report_put_purpose(out, report, sample->qos, sample->queue);
            sonde__report_out_str(out, "\n");
            left--;
        }
    }
}

void sonde__report_put_circumstances(struct sonde__report_out *out,
                                     const struct sonde__report *report,
                                     const struct sonde__report_stall *stall)
{
    static const char *const states[] = {"", "active", "inactive", "in the background",
                                         "an extension"};
    if (stall->phase != 0) {
        sonde__report_out_str(out, "  in        ");
        sonde__report_put_named_phase(out, report, stall->phase);
        sonde__report_out_str(out, "\n");
    }
    if (stall->loop_phase != 0 || stall->mode != 0) {
        sonde__report_out_print(
            out, "  loop was  %s%s%s%s\n", sonde__report_text(report, stall->loop_phase),
            stall->loop_phase != 0 && stall->mode != 0 ? ", " : "", stall->mode != 0 ? "mode " : "",
            sonde__report_text(report, stall->mode));
    }
    if (stall->app_state != 0 && stall->app_state < sizeof states / sizeof *states) {
        sonde__report_out_print(out, "  app was   %s\n", states[stall->app_state]);
    }
    put_purposes(out, report, stall);
    for (uint32_t i = 0; i < stall->annotation_count; i++) {
        sonde__report_out_str(out, "  noted     ");
        sonde__report_out_text(out, sonde__report_text(report, stall->annotations[i].key));
        sonde__report_out_str(out, " = ");
        sonde__report_out_text(out, sonde__report_text(report, stall->annotations[i].value));
        sonde__report_out_str(out, "\n");
    }
}

void sonde__report_put_fingerprint(struct sonde__report_out *out,
                                   const struct sonde__report *report,
                                   const struct sonde__report_stall *stall)
{
    struct sonde__report_fingerprint fingerprint;
    if (sonde__report_fingerprint(report, stall, &fingerprint) == SONDE_OK) {
        if (fingerprint.id[0] != '\0') {
            sonde__report_out_print(out, "  fingerprint            %s\n", fingerprint.id);
        }
        sonde__report_fingerprint_done(&fingerprint);
    }
}
