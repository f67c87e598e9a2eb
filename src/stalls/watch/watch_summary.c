// SPDX-License-Identifier: Apache-2.0
/* Slots keep what they learned after their thread has ended, so the summary covers the whole
 * run. */
#include "watch_summary.h"

#include <inttypes.h>
#include <stdio.h>

#include "base_text.h"
#include "host_clock.h"
#include "probe_scope.h"
#include "report_turns.h"
#include "watch_outside.h"
#include "watch_program.h"
#include "watch_writer.h"

#define MS 1000000u

void sonde__watch_count_text(uint64_t count, char *ret_text)
{
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            ret_text[at++] = ',';
        }
        ret_text[at++] = digits[i];
    }
    ret_text[at] = '\0';
}

struct summary {
    uint32_t loops;
    uint32_t threads; /* threads with a wait that the probe sees */
    uint64_t turns;
    /* the thread without a loop that waited most often */
    const struct sonde__probe_slot *most;
    uint32_t waits;
};

static uint32_t waits_of(const struct sonde__probe_slot *slot)
{
    uint32_t waits = slot->lock_waits;
    for (uint32_t i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        waits += slot->candidates[i].waits;
    }
    return waits;
}

static void sum_up(const struct sonde__watch_session *s, struct summary *sum)
{
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        const struct sonde__probe_slot *slot = &s->page->slots[i];
        uint64_t turns = atomic_load(&slot->turns);
        uint32_t waits = waits_of(slot);
        sum->turns += turns;
        sum->threads += waits > 0 || turns > 0 || atomic_load(&slot->nested) > 0;
        if (slot->loop.kind != SONDE__PROBE_NONE) {
            sum->loops++;
        } else if (waits > sum->waits) {
            sum->most = slot;
            sum->waits = waits;
        }
    }
}

/* A turn of a quarter of the threshold was seen by a look; its own stamps give its length. */
static void print_watched(struct sonde__watch_session *s, const struct summary *sum)
{
    char turns[32];
    uint64_t sure_ns = s->options.threshold_ns / 4;
    bool known = s->longest_ns >= sure_ns;
    sonde__watch_count_text(sum->turns, turns);
    sonde__watch_print(
        s->writer,
        "watched %u loop%s%s, %s%s turn%s, longest %s%" PRIu64 " ms, %" PRIu64 " stall%s",
        (unsigned)sum->loops, sum->loops == 1 ? "" : "s", s->outside != NULL ? " from outside" : "",
        s->outside != NULL ? "at least " : "", turns, sum->turns == 1 ? "" : "s",
        known ? "" : "under ", known ? s->longest_ns / MS : (sure_ns + MS - 1) / MS, s->stalls,
        s->stalls == 1 ? "" : "s");
}

/* Report turns that are long enough to be seen, and the frames that they cost. */
static void print_lengths(struct sonde__watch_session *s)
{
    struct sonde__report_turn_count counts[SONDE__DECIDE_TURN_BUCKETS];
    struct sonde__report_end end = {0};
    char text[400];
    sonde__decide_turns_fill(&s->turns, &end, counts);
    sonde__report_turns_text(&end, text, sizeof text);
    if (text[0] != '\0') {
        sonde__watch_print(s->writer, "%s", text);
    }
}

/* Why the most frequent wait of a thread is not taken for a loop's. */
static const char *describe_wait(const struct sonde__probe_slot *slot)
{
    const struct sonde__probe_candidate *most = &slot->candidates[0];
    for (uint32_t i = 1; i < SONDE__PROBE_CANDIDATES; i++) {
        most = slot->candidates[i].waits > most->waits ? &slot->candidates[i] : most;
    }
    if (slot->lock_waits > most->waits) {
        return "mostly for locks of its language's runtime, which show no loop";
    }
    if (most->varied || most->moves * 2 > most->waits) {
        return "from varying places";
    }
    switch (most->kind) {
    case SONDE__PROBE_COND:
    case SONDE__PROBE_SEM:
    case SONDE__PROBE_FUTEX:
        return "mostly for other threads";
    case SONDE__PROBE_CHILD:
        return "mostly for children or threads to end";
    case SONDE__PROBE_SLEEP:
        return "mostly for time to pass";
    default:
        return "too seldom at one place";
    }
}

/* Report what a watch without a probe did, and its limits. */
static void print_outside(struct sonde__watch_session *s)
{
    const struct sonde__watch_outside_counts counts = sonde__watch_outside_counts(s->outside);
    uint64_t lasted_ns = sonde__host_monotonic_ns() - s->begin_ns;
    uint64_t cpu_ns = sonde__host_cpu_ns() - s->begin_cpu_ns;
    if (lasted_ns == 0) {
        return;
    }
    sonde__watch_print(
        s->writer,
        "%u thread%s looked at %" PRIu64 " times a second, for %.2f %% of a CPU; a turn "
        "between two looks is not seen",
        (unsigned)counts.threads, counts.threads == 1 ? "" : "s",
        counts.looks * 1000000000u / lasted_ns, 100.0 * (double)cpu_ns / (double)lasted_ns);
    if (counts.never_sleeps) {
        sonde__watch_print(s->writer, "perf events are refused: the watch also looked while the "
                                      "process waited");
    }
    if (counts.of_go > 0 && !counts.is_go) {
        sonde__watch_print(
            s->writer,
            "%u of the threads run Go, whose goroutines move between threads: no thread "
            "has a loop, so its stalls are not seen",
            (unsigned)counts.of_go);
    }
    if (counts.unwatched > 0) {
        sonde__watch_print(s->writer, "%u threads were not watched: there are %u places",
                           (unsigned)counts.unwatched, (unsigned)SONDE__PROBE_SLOTS);
    }
    if (counts.congested > 0) {
        sonde__watch_print(s->writer,
                           "%" PRIu64
                           " times a loop was busy for the threshold, and turned: that is no "
                           "stall, but too much to do",
                           counts.congested);
    }
    if (counts.doubtful > 0) {
        sonde__watch_print(
            s->writer,
            "%" PRIu64 " times a thread was busy for the threshold, and may have turned "
            "where no look saw it: no stall is reported (as root, its turns are counted)",
            counts.doubtful);
    }
}

static bool is_go(const struct sonde__watch_session *s)
{
    static struct sonde__watch_program program;
    if (s->outside != NULL || s->options.path == NULL) {
        return s->outside != NULL && sonde__watch_outside_counts(s->outside).is_go;
    }
    sonde__watch_inspect(s->options.path, &program);
    return program.is_go;
}

static void print_nothing_found(struct sonde__watch_session *s, const struct summary *sum)
{
    char waits[32];
    if (is_go(s)) {
        sonde__watch_print(s->writer, "nothing was watched: the process is a Go program, whose "
                                      "goroutines move between threads");
        return;
    }
    if (sum->most == NULL) {
        sonde__watch_print(s->writer,
                           "no event loop was found: no thread waited for descriptors, conditions, "
                           "semaphores, signals or time in a way that can be seen");
        return;
    }
    sonde__watch_count_text(sum->waits, waits);
    /* threads beside the main one that wait for other threads and for time have no slot */
    sonde__watch_print(
        s->writer, "no event loop was found in %u thread%s: %s waited %s time%s, %s%s",
        (unsigned)sum->threads, sum->threads == 1 ? "" : "s", sum->threads == 1 ? "it" : "one",
        waits, sum->waits == 1 ? "" : "s", describe_wait(sum->most),
        s->outside == NULL ? "; threads that wait only for work or for time are "
                             "no loops, except the main one"
                           : "");
}

/* A launcher has a loop, too, and the program that matters may be its child. */
static void print_strangers(struct sonde__watch_session *s)
{
    uint32_t count = s->follow != NULL ? atomic_load(&s->follow->strangers) : 0;
    if (count > 0) {
        sonde__watch_print(s->writer,
                           "its children executed %u program%s, which --follow would watch",
                           (unsigned)count, sonde__base_plural(count));
    }
}

/* Has the process executed another program by a call that the probe sees, and was every such
 * program followed? */
static bool has_followed(const struct sonde__watch_session *s)
{
    return s->follow != NULL && s->page->follows != SONDE__PROBE_FOLLOWS_NONE &&
           atomic_load(&s->page->replaced) != 0 && atomic_load(&s->follow->missed) == 0;
}

/* What had no place is not watched: the report says so, also in a watch of its own process. */
static void print_lost(struct sonde__watch_session *s)
{
    uint64_t slots = atomic_load(&s->page->slots_lost);
    uint64_t threads = s->scopes != NULL ? atomic_load(&s->scopes->threads_lost) : 0;
    uint64_t deeper = s->scopes != NULL ? atomic_load(&s->scopes->deeper) : 0;
    if (slots > 0) {
        sonde__watch_print(s->writer, "%" PRIu64 " threads were not watched: there are %u places",
                           slots, (unsigned)SONDE__PROBE_SLOTS);
    }
    if (threads > 0) {
        sonde__watch_print(s->writer,
                           "%" PRIu64 " times the scopes of a thread had no deadline: there are %u "
                           "places for threads with scopes",
                           threads, (unsigned)SONDE__PROBE_SCOPE_THREADS);
    }
    if (deeper > 0) {
        sonde__watch_print(s->writer,
                           "%" PRIu64 " scope%s had no deadline: nested deeper than %u levels",
                           deeper, sonde__base_plural(deeper), (unsigned)SONDE__PROBE_SCOPE_LEVELS);
    }
}

/* What is not in the report, because another program made it. */
static void print_replaced(struct sonde__watch_session *s)
{
    const struct sonde__watch_plugin *plugin = s->options.plugin;
    const char *what = s->plugin_memory != NULL ? (plugin->kind == SONDE__REPORT_HEAP_BLOCKS
                                                       ? "whose blocks are not recorded"
                                                       : "whose calls are not recorded")
                       : s->options.stay        ? "which is not watched (--no-follow)"
                       : has_followed(s)        ? "which is watched too"
                                                : "which is not watched";
    sonde__watch_print(s->writer, "the program executed another one, %s%s%s", what,
                       s->replacement[0] != '\0' ? ": " : "", s->replacement);
}

void sonde__watch_print_summary(struct sonde__watch_session *s)
{
    struct summary sum = {0};
    bool replaced = s->replaced || atomic_load(&s->page->replaced) != 0;
    print_lost(s);
    if (s->plugin_memory != NULL && replaced && !s->options.follow && !s->options.quiet) {
        print_replaced(s);
    }
    if (s->options.quiet || s->plugin_memory != NULL || s->options.on_stall != NULL ||
        s->options.probe == NULL || (s->carry != SONDE__WATCH_CARRIES && !replaced)) {
        return; /* the reason was reported at the start, or stalls were not asked for */
    }
    sum_up(s, &sum);
    if (s->options.root != 0 && s->options.follow && sum.loops == 0 && !s->options.verbose) {
        return; /* no thousand lines for a program that starts a thousand others */
    }
    if (sum.loops > 0) {
        print_watched(s, &sum);
        print_lengths(s);
    } else if (!replaced) {
        print_nothing_found(s, &sum);
    }
    print_strangers(s);
    if (s->outside != NULL) {
        print_outside(s);
    }
    if (replaced) {
        print_replaced(s);
    }
}
