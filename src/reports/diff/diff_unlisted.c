// SPDX-License-Identifier: Apache-2.0
/* A call is new only if the old side would have seen it. A recording names every function of its
 * list, with a count of 0 if it was not called, and an audit names its rules. So what the other
 * side did not look for is known. */
#include <stdlib.h>
#include <string.h>

#include "diff_parts.h"
#include "mem_heap.h"

/* Names that a side looked for, sorted. */
struct names {
    const char **list;
    uint32_t count;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool has_name(const struct names *names, const char *name)
{
    return names->count > 0 &&
           bsearch(&name, names->list, names->count, sizeof name, by_name) != NULL;
}

/* Add each function of a report once. seen: by string id, of `strings` + 1, all false. */
static void add_functions(const struct sonde__report *report, bool *seen, uint32_t strings,
                          struct names *names)
{
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        uint32_t function = sonde__report_call(report, i)->function;
        if (function <= strings && !seen[function]) {
            seen[function] = true;
            names->list[names->count++] = sonde__report_text(report, function);
        }
    }
}

static enum sonde_status find_functions(const struct sonde__diff_side *side,
                                        struct names *ret_names)
{
    size_t strings = 1;
    *ret_names = (struct names){0};
    for (uint32_t r = 0; r < side->count; r++) {
        strings += (size_t)sonde__report_string_count(side->reports[r]) + 1;
    }
    ret_names->list = sonde__mem_alloc_array(strings, sizeof *ret_names->list);
    if (ret_names->list == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t r = 0; r < side->count; r++) {
        uint32_t count = sonde__report_string_count(side->reports[r]);
        bool *seen = sonde__mem_alloc_zeroed((size_t)count + 1);
        if (seen == NULL) {
            return SONDE_MEMORY;
        }
        add_functions(side->reports[r], seen, count, ret_names);
        sonde__mem_free(seen);
    }
    if (ret_names->count != 0) {
        qsort(ret_names->list, ret_names->count, sizeof *ret_names->list, by_name);
    }
    return SONDE_OK;
}

static bool has_rule(const struct sonde__diff_side *side, const char *rule)
{
    for (uint32_t r = 0; r < side->count; r++) {
        for (uint32_t i = 1; i <= sonde__report_rule_count(side->reports[r]); i++) {
            uint32_t name = sonde__report_rule(side->reports[r], i)->name;
            if (strcmp(sonde__report_text(side->reports[r], name), rule) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_listed(const struct sonde__diff *diff, const struct names *names,
                      const struct sonde__diff_call *call)
{
    unsigned other = call->state == SONDE__DIFF_NEW ? SONDE__DIFF_OLD : SONDE__DIFF_NEW_SIDE;
    uint32_t rule = sonde__report_rule(call->report, call->call->rule)->name;
    return rule != 0 ? has_rule(&diff->sides[other], sonde__report_text(call->report, rule))
                     : has_name(&names[other], call->function);
}

enum sonde_status sonde__diff_doubt_unlisted(struct sonde__diff *diff)
{
    struct names names[SONDE__DIFF_SIDES] = {{0}};
    enum sonde_status status = SONDE_OK;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES && status == SONDE_OK; s++) {
        status = find_functions(&diff->sides[s], &names[s]);
    }
    for (uint32_t i = 0; i < diff->call_count && status == SONDE_OK; i++) {
        struct sonde__diff_call *call = &diff->calls[i];
        if ((call->state == SONDE__DIFF_NEW || call->state == SONDE__DIFF_GONE) &&
            !is_listed(diff, names, call)) {
            call->doubt = SONDE__DIFF_UNLISTED;
        }
    }
    sonde__mem_free(names[0].list);
    sonde__mem_free(names[1].list);
    return status;
}
