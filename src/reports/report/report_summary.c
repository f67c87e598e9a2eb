// SPDX-License-Identifier: Apache-2.0
/* Finds "most" by weighted majority votes (Boyer and Moore, 1981): the first pass finds the only
 * value that can have more than half, the second checks that it does. No table is needed for any
 * number of samples. */
#include "report_summary.h"

#include <string.h>

#include "base_math.h"
#include "base_text.h"
#include "report_libc.h"
#include "report_view.h"
#include "report_walk.h"

/* --- which samples --- */

/* At most a twentieth is missing, which is not worth mentioning. */
static bool is_nearly(uint64_t part, uint64_t whole)
{
    return part >= whole - whole / 20;
}

static bool is_blocked(const struct sonde__report_sample *s)
{
    return s->phase == SONDE__REPORT_PHASE_BLOCKED || s->phase == SONDE__REPORT_PHASE_DISK;
}

/* Are they in the same call, waiting for the same object? */
static bool same_call(const struct sonde__report_sample *a, const struct sonde__report_sample *b)
{
    return a->syscall == b->syscall && a->detail == b->detail;
}

/* The samples that the sentence describes. call null: any call. */
struct choice {
    bool blocked, running;
    const struct sonde__report_sample *call;
};

static bool is_chosen(const struct choice *choice, const struct sonde__report_sample *s)
{
    bool is_kind = is_blocked(s) ? choice->blocked
                                 : choice->running && s->phase == SONDE__REPORT_PHASE_RUNNING;
    return is_kind && (choice->call == NULL || same_call(choice->call, s));
}

static uint64_t chosen_ns(const struct sonde__report_stall *stall, const struct choice *choice)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        sum += is_chosen(choice, &stall->samples[i]) ? stall->samples[i].weight_ns : 0;
    }
    return sum;
}

/* A sample of the call with most of the blocked time; null: none. */
static const struct sonde__report_sample *find_call(const struct sonde__report_stall *stall,
                                                    uint64_t *ret_ns)
{
    struct choice choice = {.blocked = true};
    const struct sonde__report_sample *best = NULL;
    uint64_t votes = 0, all = chosen_ns(stall, &choice);
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        const struct sonde__report_sample *s = &stall->samples[i];
        if (!is_chosen(&choice, s)) {
            continue;
        }
        if (best != NULL && same_call(best, s)) {
            votes += s->weight_ns;
        } else if (votes >= s->weight_ns && best != NULL) {
            votes -= s->weight_ns;
        } else {
            votes = s->weight_ns - votes;
            best = s;
        }
    }
    choice.call = best;
    *ret_ns = best != NULL ? chosen_ns(stall, &choice) : 0;
    return *ret_ns > all / 2 ? best : NULL;
}

/* --- where --- */

/* One of the program's own functions on a stack. */
struct place {
    uint32_t stack, step;
    bool known;
    struct sonde__report_shown shown;
    uint32_t image;
    uint64_t start; /* of a function without a name: its start, or the pc */
};

/* The innermost one. in_call: the thread is in a system call, which the program's image may have
 * made by functions of libc (report_libc.h). */
static struct place find_place(const struct sonde__report *report, uint32_t stack, bool in_call)
{
    struct place place = {.stack = stack}, first = place;
    struct sonde__report_walk walk;
    struct sonde__report_step step;
    sonde__report_walk_begin(&walk, report, stack);
    for (; sonde__report_walk_next(&walk, &step); place.step++) {
        bool real = step.kind == SONDE__REPORT_STEP_PHYSICAL ||
                    step.kind == SONDE__REPORT_STEP_INLINED ||
                    step.kind == SONDE__REPORT_STEP_SCRIPT;
        if (!real || (step.frame->how & SONDE_HOW_SIGNAL) != 0 ||
            !sonde__report_frame_is_app(report, step.frame)) {
            in_call = false; /* libc is another image */
            continue;
        }
        place.known = true;
        place.shown = sonde__report_shown(&step);
        place.image = step.frame->image;
        place.start = place.shown.name != 0 ? 0 : step.frame->offset - step.frame->name_offset;
        first = first.known ? first : place;
        in_call = in_call && step.kind != SONDE__REPORT_STEP_SCRIPT;
        if (!in_call || !sonde__report_is_libc(sonde__report_text(report, place.shown.name))) {
            return place;
        }
    }
    return first;
}

static bool same_function(const struct place *a, const struct place *b)
{
    return a->known == b->known && a->shown.name == b->shown.name &&
           a->shown.file == b->shown.file && a->image == b->image && a->start == b->start;
}

static bool same_line(const struct place *a, const struct place *b)
{
    return same_function(a, b) && a->shown.line == b->shown.line;
}

typedef bool same_place(const struct place *a, const struct place *b);

/* The only place that can have more than half of the time, and its time. */
static struct place find_most(const struct sonde__report *report,
                              const struct sonde__report_stall *stall, const struct choice *choice,
                              same_place *same, uint64_t *ret_ns)
{
    struct place best = {0}, place = {0};
    bool in_call = false;
    uint64_t votes = 0, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < stall->sample_count; i++) {
            const struct sonde__report_sample *s = &stall->samples[i];
            if (!is_chosen(choice, s)) {
                continue;
            }
            if (place.stack != s->stack || place.stack == 0 || in_call != (s->syscall > 0)) {
                in_call = s->syscall > 0;
                place = find_place(report, s->stack, in_call);
            }
            bool equal = same(&best, &place);
            if (pass == 1) {
                sum += equal ? s->weight_ns : 0;
            } else if (equal) {
                votes += s->weight_ns;
            } else if (votes >= s->weight_ns) {
                votes -= s->weight_ns;
            } else {
                votes = s->weight_ns - votes;
                best = place;
            }
        }
    }
    *ret_ns = sum;
    return best;
}

static struct sonde__report_where find_where(const struct sonde__report *report,
                                             const struct sonde__report_stall *stall,
                                             const struct choice *choice)
{
    uint64_t all_ns = chosen_ns(stall, choice), function_ns, line_ns;
    struct place function = find_most(report, stall, choice, same_function, &function_ns);
    struct place line = find_most(report, stall, choice, same_line, &line_ns);
    if (!function.known || function_ns <= all_ns / 2) {
        return (struct sonde__report_where){0};
    }
    bool has_line = same_function(&function, &line) && line.shown.line != 0 && line_ns > all_ns / 2;
    struct place *shown = has_line ? &line : &function;
    return (struct sonde__report_where){.stack = shown->stack,
                                        .step = shown->step,
                                        .has_line = has_line,
                                        .is_all = is_nearly(function_ns, all_ns)};
}

/* --- who holds it --- */

/* The number after the first "0x" in a text; 0: none. */
static uint64_t address_of(const char *text)
{
    uint64_t value = 0;
    const char *at = strstr(text, "0x");
    for (at = at != NULL ? at + 2 : ""; sonde__base_hex_digit(*at) < 16; at++) {
        value = value << 4 | sonde__base_hex_digit(*at);
    }
    return value;
}

/* Distance of a lock's futex words from its address: pthread_cond_t and pthread_rwlock_t have up to
 * 56 bytes. */
#define LOCK_BYTES 64u

/* Are both about one descriptor? Texts begin with "fd 7 ". */
static bool is_same_fd(const char *a, const char *b)
{
    size_t number = strncmp(a, "fd ", 3) == 0 ? strspn(a + 3, "0123456789") : 0;
    return number != 0 && a[3 + number] == ' ' && strncmp(a, b, 3 + number + 1) == 0;
}

/* Did the descriptor refer to one file in all samples? A wait does not say of which it speaks. */
static bool is_one_file(const struct sonde__report *report, const struct sonde__report_stall *stall,
                        uint32_t detail)
{
    const char *text = sonde__report_text(report, detail);
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        uint32_t other = stall->samples[i].detail;
        if (other != detail && is_same_fd(text, sonde__report_text(report, other))) {
            return false;
        }
    }
    return true;
}

/* Does the wait belong to this call? A stall with several calls has several waits. */
static bool is_of_call(const struct sonde__report *report, const struct sonde__report_stall *stall,
                       const struct sonde__report_wait *wait, const struct sonde__report_summary *s)
{
    const char *call = sonde__report_syscall_name(report, s->syscall - 1);
    const char *resource = sonde__report_text(report, wait->resource);
    const char *detail = sonde__report_text(report, s->detail);
    if (call == NULL) {
        return false;
    }
    switch (wait->kind) {
    case SONDE__REPORT_WAIT_MUTEX:
    case SONDE__REPORT_WAIT_RWLOCK:
    case SONDE__REPORT_WAIT_CONDITION:
    case SONDE__REPORT_WAIT_SEMAPHORE:
        return strcmp(call, "futex") == 0 && address_of(detail) - address_of(resource) < LOCK_BYTES;
    case SONDE__REPORT_WAIT_CHILD:
        return strcmp(call, "wait4") == 0 || strcmp(call, "waitid") == 0;
    case SONDE__REPORT_WAIT_FILE_LOCK:
        return strcmp(call, "flock") == 0 || strcmp(call, "fcntl") == 0;
    case SONDE__REPORT_WAIT_SOCKET: /* the call's text has only a number */
    case SONDE__REPORT_WAIT_PIPE:
        return is_same_fd(detail, resource) && is_one_file(report, stall, s->detail);
    default:
        return false; /* the call's own text says as much */
    }
}

static const struct sonde__report_wait *find_wait(const struct sonde__report *report,
                                                  const struct sonde__report_stall *stall,
                                                  const struct sonde__report_summary *s)
{
    const struct sonde__report_wait *found = NULL;
    for (uint32_t i = 0; i < stall->wait_count; i++) {
        const struct sonde__report_wait *wait = &stall->waits[i];
        if (wait->tid == stall->tid && is_of_call(report, stall, wait, s)) {
            if (found != NULL) {
                return NULL; /* several waits: which one took most of the time is unknown */
            }
            found = wait;
        }
    }
    return found;
}

/* --- the sentence --- */

static void describe_blocked(const struct sonde__report *report,
                             const struct sonde__report_stall *stall,
                             const struct sonde__report_analysis *a,
                             struct sonde__report_summary *s)
{
    const struct sonde__report_sample *call = find_call(stall, &s->call_ns);
    struct choice choice = {.blocked = true, .call = call};
    s->disk = a->disk_ns > a->blocked_ns;
    s->several = call == NULL;
    /* sample weights can exceed the clocks' times a little */
    s->call_ns = is_nearly(s->call_ns, a->blocked_ns + a->disk_ns) ? s->blocked_ns : s->call_ns;
    s->call_ns = sonde__base_min(s->call_ns, s->blocked_ns);
    s->syscall = call != NULL ? call->syscall : 0;
    s->detail = call != NULL ? call->detail : 0;
    s->wait = s->syscall > 0 ? find_wait(report, stall, s) : NULL;
    s->where = find_where(report, stall, &choice);
}

void sonde__report_summarize(const struct sonde__report *report,
                             const struct sonde__report_stall *stall,
                             const struct sonde__report_analysis *a,
                             struct sonde__report_summary *ret_summary)
{
    uint64_t whole = stall->duration_ns, clock = sonde__base_min(stall->cpu_ns, whole);
    struct sonde__report_summary s = {.whole_ns = whole};
    uint64_t sampled = a->blocked_ns + a->disk_ns;
    bool has_clock = stall->cpu_ns != 0 || stall->runqueue_ns != 0;
    bool is_seen = a->weight_ns > whole / 2;
    s.ran_ns = has_clock ? clock : sonde__base_min(a->running_ns, whole);
    s.waited_ns = sonde__base_min(stall->runqueue_ns, whole - s.ran_ns);
    s.blocked_ns = has_clock ? whole - s.ran_ns - s.waited_ns : sonde__base_min(sampled, whole);
    s.unseen_ns = is_seen ? 0 : sonde__base_minus(whole, a->weight_ns);
    uint64_t half = whole - whole / 2;
    struct choice any = {.blocked = true, .running = true}, running = {.running = true};
    if (s.blocked_ns >= half && (has_clock || is_seen)) {
        s.verb = SONDE__REPORT_BLOCKED;
        if (is_seen && sampled >= s.blocked_ns / 2) {
            describe_blocked(report, stall, a, &s);
        }
    } else if (s.ran_ns >= half) {
        s.verb = SONDE__REPORT_RAN;
        s.where = is_seen ? find_where(report, stall, &running) : s.where;
    } else if (s.waited_ns >= half) {
        s.verb = SONDE__REPORT_WAITED;
        s.where = is_seen ? find_where(report, stall, &running) : s.where;
    } else {
        s.where = is_seen ? find_where(report, stall, &any) : s.where;
    }
    *ret_summary = s;
}
