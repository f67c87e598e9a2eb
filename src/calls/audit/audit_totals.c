// SPDX-License-Identifier: Apache-2.0
#include "audit_totals.h"

#include <stdio.h>

#include "base_text.h"
#include "report_out.h"

/* Calls that a rule decides about have counts of that rule. */
static bool counts_by_rule(const struct sonde__audit_rules *rules)
{
    bool counts = false;
    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        counts |= rules->rules[i].when != NULL || rules->rules[i].limit_count != 0 ||
                  rules->rules[i].keep_count != 0;
    }
    return counts;
}

void sonde__audit_print_totals(const struct sonde__audit_options *options, uint32_t listed,
                               const struct sonde__audit_totals *totals,
                               struct sonde__report_lines lines)
{
    char bytes[40] = "";
    if (options->blind_spots) {
        snprintf(bytes, sizeof bytes, ", %llu bytes", (unsigned long long)totals->bytes);
    }
    sonde__report_line(
        lines, "%llu call%s of %u function%s recorded, %llu different stack%s%s%s",
        (unsigned long long)totals->calls, sonde__base_plural(totals->calls), (unsigned)listed,
        sonde__base_plural(listed), (unsigned long long)totals->entries,
        sonde__base_plural(totals->entries), bytes,
        counts_by_rule(options->rules) ? "; each counts once for each rule with when, limit or keep"
                                       : "");
    if (totals->impossible != 0) {
        sonde__report_line(lines,
                           "what was recorded may be wrong: the program has damaged the memory "
                           "that it shares with sonde (%llu count%s of calls that cannot be)",
                           (unsigned long long)totals->impossible,
                           sonde__base_plural(totals->impossible));
    }
    if (totals->lost != 0) {
        sonde__report_line(
            lines,
            "the stack%s of %llu call%s had no room (the calls are counted; --frames "
            "makes room)",
            sonde__base_plural(totals->lost), (unsigned long long)totals->lost,
            sonde__base_plural(totals->lost));
    }
    if (totals->cut != 0) {
        sonde__report_line(
            lines,
            "the stack%s of %llu call%s end%s at code without CFI: a search there costs too much",
            sonde__base_plural(totals->cut), (unsigned long long)totals->cut,
            sonde__base_plural(totals->cut), totals->cut == 1 ? "s" : "");
    }
    if (totals->script_missing != 0) {
        sonde__report_line(lines, "%s functions of %llu call%s are not shown: %s",
                           totals->script_language != NULL ? totals->script_language : "Python",
                           (unsigned long long)totals->script_missing,
                           sonde__base_plural(totals->script_missing), totals->script_why);
    }
    if (totals->script_unread[0] != '\0') {
        sonde__report_line(lines, "functions of scripts are not shown: %s", totals->script_unread);
    }
    if (totals->images_lost != 0) {
        sonde__report_line(lines, "%u image%s not noted: %s frames have no names",
                           (unsigned)totals->images_lost,
                           totals->images_lost == 1 ? " was" : "s were",
                           totals->images_lost == 1 ? "its" : "their");
    }
    if (totals->is_confined) {
        sonde__report_line(lines, "%s",
                           "the program limits its system calls (seccomp): libraries "
                           "that it loads and processes that it forks after that are "
                           "not looked at; a thread that may only read and write is not recorded");
    }
}

void sonde__audit_print_cost(const struct sonde__record_page *page,
                             struct sonde__report_lines lines)
{
    uint64_t samples = atomic_load(&page->cost_samples), calls = atomic_load(&page->cost_calls);
    uint64_t total_ns = atomic_load(&page->cost_ns), each = calls != 0 ? total_ns / calls : 0;
    if (samples == 0 || calls < samples) {
        return;
    }
    char left_out[64] = "";
    if (atomic_load(&page->cost_left_out) != 0) {
        snprintf(left_out, sizeof left_out, "; %llu over 50 us left out",
                 (unsigned long long)atomic_load(&page->cost_left_out));
    }
    sonde__report_line(lines,
                       "recording took about %llu ns a call, %s in all (%llu call%s measured%s)",
                       (unsigned long long)each, sonde__report_duration(total_ns).text,
                       (unsigned long long)samples, sonde__base_plural(samples), left_out);
}
