// SPDX-License-Identifier: Apache-2.0
#include "audit_gather.h"

#include <stdio.h>
#include <string.h>

#include "audit_missed.h"
#include "audit_page.h"
#include "mem_heap.h"
#include "report_copy.h"

/* Calls of later processes, by what they are calls of. */
struct later {
    uint32_t function, rule, phase, sdk; /* ids in the report */
    uint64_t count, over_limit, first_ns, last_ns;
};

/* Which calls may be missing: the same of most processes. */
struct missed {
    uint32_t function, text;
};

struct sonde__audit_gathered {
    struct sonde__report *report;
    struct sonde__audit_totals totals;
    struct sonde__audit_gathered_counts counts;
    struct later *later;
    size_t later_count, later_room;
    struct missed *missed;
    size_t missed_count, missed_room;
    uint64_t cost_samples, cost_calls, cost_ns, cost_left_out, unread, spaces, execs;
    uint64_t exceeded[SONDE__WHEN_LIMITS][2]; /* first and last, as in the page */
};

struct sonde__audit_gathered *sonde__audit_gathered_create(void)
{
    struct sonde__audit_gathered *g = sonde__mem_alloc_zeroed(sizeof *g);
    if (g != NULL && sonde__report_create(&g->report) != SONDE_OK) {
        sonde__mem_free(g);
        g = NULL;
    }
    return g;
}

void sonde__audit_gathered_destroy(struct sonde__audit_gathered *g)
{
    if (g != NULL) {
        sonde__report_destroy(g->report);
        sonde__mem_free(g->later);
        sonde__mem_free(g->missed);
        sonde__mem_free(g);
    }
}

static void widen(uint64_t range[2], uint64_t first, uint64_t last)
{
    if (first != 0) {
        range[0] = range[0] == 0 || first < range[0] ? first : range[0];
        range[1] = last > range[1] ? last : range[1];
    }
}

static void sum_up(struct sonde__audit_gathered *g, const struct sonde__record_page *page)
{
    g->cost_samples += atomic_load(&page->cost_samples);
    g->cost_calls += atomic_load(&page->cost_calls);
    g->cost_ns += atomic_load(&page->cost_ns);
    g->cost_left_out += atomic_load(&page->cost_left_out);
    g->unread += atomic_load(&page->unread);
    g->spaces += atomic_load(&page->spaces);
    g->execs += atomic_load(&page->execs);
    for (uint32_t i = 0; i < SONDE__WHEN_LIMITS; i++) {
        widen(g->exceeded[i], atomic_load(&page->exceeded[i].first_ns),
              atomic_load(&page->exceeded[i].last_ns));
    }
}

static void add_totals(struct sonde__audit_totals *to, const struct sonde__audit_totals *from)
{
    to->calls += from->calls;
    to->lost += from->lost;
    to->cut += from->cut;
    to->entries += from->entries;
    to->bytes += from->bytes;
    to->impossible += from->impossible;
    to->images_lost += from->images_lost;
    to->is_confined |= from->is_confined;
    to->script_missing += from->script_missing;
    if (from->script_missing != 0) {
        memcpy(to->script_why, from->script_why, sizeof to->script_why);
        to->script_language = from->script_language;
    }
    if (from->script_unread[0] != '\0') {
        memcpy(to->script_unread, from->script_unread, sizeof to->script_unread);
    }
}

/* False: it is known, or there is no memory. */
static bool is_new_missed(struct sonde__audit_gathered *g, const struct sonde__report_call *call)
{
    for (size_t i = 0; i < g->missed_count; i++) {
        if (g->missed[i].function == call->function && g->missed[i].text == call->missed) {
            return false;
        }
    }
    return SONDE__MEM_ADD(g->missed, g->missed_count, g->missed_room,
                          (struct missed){call->function, call->missed});
}

static void add_later(struct sonde__audit_gathered *g, const struct sonde__report_call *call)
{
    size_t i = 0;
    while (i < g->later_count &&
           (g->later[i].function != call->function || g->later[i].rule != call->rule ||
            g->later[i].phase != call->phase || g->later[i].sdk != call->sdk)) {
        i++;
    }
    const struct later none = {
        .function = call->function, .rule = call->rule, .phase = call->phase, .sdk = call->sdk};
    if (i == g->later_count && !SONDE__MEM_ADD(g->later, g->later_count, g->later_room, none)) {
        g->counts.no_memory++;
        return;
    }
    struct later *later = &g->later[i];
    uint64_t seen[2] = {later->first_ns, later->last_ns};
    widen(seen, call->first_ns, call->last_ns);
    later->count += call->count;
    later->over_limit += call->over_limit;
    later->first_ns = seen[0];
    later->last_ns = seen[1];
}

/* process: 0: of all later ones */
static bool take_calls(struct sonde__audit_gathered *g, const struct sonde__report *from,
                       uint32_t process)
{
    struct sonde__report_copy *copy;
    if (sonde__report_copy_create(from, g->report, &copy) != SONDE_OK) {
        return false;
    }
    bool is_whole = true;
    for (uint32_t i = 0; i < sonde__report_call_count(from); i++) {
        struct sonde__report_call call;
        if (!sonde__report_copy_call(copy, i, &call)) {
            is_whole = false;
        } else if (call.missed != 0) {
            if (is_new_missed(g, &call)) {
                sonde__report_add_call(g->report, &call);
            }
        } else if (process == 0) {
            add_later(g, &call);
        } else {
            call.process = process;
            sonde__report_add_call(g->report, &call);
        }
    }
    sonde__report_copy_destroy(copy);
    return is_whole;
}

static uint32_t add_process(struct sonde__audit_gathered *g,
                            const struct sonde__audit_member *member)
{
    const struct sonde__report_process process = {
        .pid = member->pid,
        .parent_pid = member->parent_pid,
        .executable = sonde__report_string(g->report, member->executable),
    };
    return sonde__report_add_process(g->report, &process);
}

static bool read_calls(struct sonde__audit_gathered *g, const struct sonde__audit_member *member,
                       const struct sonde__audit_reading *reading,
                       struct sonde__symfile_cache *symbols, uint32_t most)
{
    struct sonde__report *report;
    struct sonde__audit_totals totals;
    if (sonde__report_create(&report) != SONDE_OK) {
        return false;
    }
    bool is_later = sonde__report_process_count(g->report) >= most;
    bool is_read = sonde__audit_read(reading, symbols, report, &totals) == SONDE_OK;
    add_totals(&g->totals, &totals);
    sonde__audit_add_missed(reading->page, reading->list, 0, true, report);
    is_read &= take_calls(g, report, is_later ? 0 : add_process(g, member));
    g->counts.together += is_later;
    sonde__report_destroy(report);
    return is_read;
}

void sonde__audit_gather(struct sonde__audit_gathered *g, const struct sonde__audit_member *member,
                         const struct sonde__audit_reading *from, const void *phases,
                         struct sonde__symfile_cache *symbols, uint32_t most)
{
    struct sonde__audit_reading reading = *from;
    struct sonde__record_page *page;
    uint32_t at;
    g->counts.processes++;
    if (sonde__audit_page_copy(from->memory, &page) != SONDE_OK) {
        g->counts.no_memory++;
        return;
    }
    bool is_damaged = sonde__audit_page_damaged(page, from->nodes, from->list->count, &at) != NULL;
    if (is_damaged) {
        g->counts.damaged++;
    } else if (atomic_load(&page->state) != SONDE__RECORD_RUNS) {
        g->counts.silent++;
    } else {
        sonde__audit_page_take_phases(page, phases);
        sum_up(g, page);
        reading.page = page;
        g->counts.no_memory += !read_calls(g, member, &reading, symbols, most);
    }
    sonde__audit_page_free(page);
}

void sonde__audit_gathered_note(const struct sonde__audit_gathered *g,
                                struct sonde__record_page *page)
{
    atomic_fetch_add(&page->cost_samples, g->cost_samples);
    atomic_fetch_add(&page->cost_calls, g->cost_calls);
    atomic_fetch_add(&page->cost_ns, g->cost_ns);
    atomic_fetch_add(&page->cost_left_out, g->cost_left_out);
    atomic_fetch_add(&page->unread, g->unread);
    atomic_fetch_add(&page->spaces, g->spaces);
    atomic_fetch_add(&page->execs, g->execs);
    for (uint32_t i = 0; i < SONDE__WHEN_LIMITS; i++) {
        struct sonde__record_exceeded *exceeded = &page->exceeded[i];
        uint64_t range[2] = {atomic_load(&exceeded->first_ns), atomic_load(&exceeded->last_ns)};
        widen(range, g->exceeded[i][0], g->exceeded[i][1]);
        atomic_store(&exceeded->first_ns, range[0]);
        atomic_store(&exceeded->last_ns, range[1]);
    }
}

/* Of another part of the report, too. */
static bool has_missed(const struct sonde__report *report, const struct sonde__report_call *call)
{
    for (uint32_t i = sonde__report_call_count(report); i-- > 0;) {
        const struct sonde__report_call *other = sonde__report_call(report, i);
        if (other->missed == call->missed && other->function == call->function) {
            return true;
        }
    }
    return false;
}

/* The youngest process in the report with this pid; 0: none. */
static uint32_t find_process(const struct sonde__report *report, int32_t pid)
{
    uint32_t id = pid != 0 ? sonde__report_process_count(report) : 0;
    while (id != 0 && sonde__report_process(report, id)->pid != pid) {
        id--;
    }
    return id;
}

/* Their ids grow by what this returns. */
static uint32_t add_processes(const struct sonde__audit_gathered *g, struct sonde__report *report)
{
    uint32_t before = sonde__report_process_count(report);
    for (uint32_t id = 1; id <= sonde__report_process_count(g->report); id++) {
        struct sonde__report_process process = *sonde__report_process(g->report, id);
        process.executable =
            sonde__report_string(report, sonde__report_text(g->report, process.executable));
        process.parent = find_process(report, process.parent_pid);
        (void)sonde__report_add_process(report, &process);
    }
    return before;
}

static void add_all_later(const struct sonde__audit_gathered *g, struct sonde__report *report)
{
    char text[64];

    if (g->later_count == 0) {
        return;
    }
    snprintf(text, sizeof text, "(%u later processes)", (unsigned)g->counts.together);
    const struct sonde__report_process all = {.executable = sonde__report_string(report, text)};
    uint32_t process = sonde__report_add_process(report, &all);
    for (size_t i = 0; i < g->later_count; i++) {
        const struct later *later = &g->later[i];
        struct sonde__report_named_phase phase = *sonde__report_phase(g->report, later->phase);
        phase.name = sonde__report_string(report, sonde__report_text(g->report, phase.name));
        const struct sonde__report_call call = {
            .function =
                sonde__report_string(report, sonde__report_text(g->report, later->function)),
            .rule = later->rule,
            .process = process,
            .phase = later->phase != 0 ? sonde__report_find_phase(report, &phase) : 0,
            .sdk = sonde__report_string(report, sonde__report_text(g->report, later->sdk)),
            .count = later->count,
            .over_limit = later->over_limit,
            .first_ns = later->first_ns,
            .last_ns = later->last_ns,
        };
        sonde__report_add_call(report, &call);
    }
}

void sonde__audit_gathered_add(const struct sonde__audit_gathered *g, struct sonde__report *report,
                               struct sonde__audit_totals *totals)
{
    struct sonde__report_copy *copy;
    add_totals(totals, &g->totals);
    uint32_t before = add_processes(g, report);
    if (sonde__report_copy_create(g->report, report, &copy) != SONDE_OK) {
        return;
    }
    for (uint32_t i = 0; i < sonde__report_call_count(g->report); i++) {
        struct sonde__report_call call;
        if (sonde__report_copy_call(copy, i, &call) &&
            (call.missed == 0 || !has_missed(report, &call))) {
            call.process += call.process != 0 ? before : 0;
            sonde__report_add_call(report, &call);
        }
    }
    add_all_later(g, report);
    sonde__report_copy_destroy(copy);
}

void sonde__audit_gathered_count(const struct sonde__audit_gathered *g,
                                 struct sonde__audit_gathered_counts *counts)
{
    counts->processes += g->counts.processes;
    counts->together += g->counts.together;
    counts->silent += g->counts.silent;
    counts->damaged += g->counts.damaged;
    counts->no_memory += g->counts.no_memory;
}
