// SPDX-License-Identifier: Apache-2.0
/* Blocks on the heap as text. Of each time, the stack with the most new blocks comes first:
 *
 *   After 12.3 s:
 *     3 blocks (+2), 120 bytes (+80): block in main; made 200 ms to 3.1 s before by thread 12
 *       #0  make+0x12   prog+0x1137 */
#include <inttypes.h>
#include <stdlib.h>

#include "base_text.h"
#include "demangle.h"
#include "mem_heap.h"
#include "report_view.h"

typedef struct sonde__report_heap_blocks blocks;

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_growth(const void *left, const void *right)
{
    const blocks *a = *(const blocks *const *)left, *b = *(const blocks *const *)right;
    int order = ORDER(b->growth_bytes, a->growth_bytes);
    order = order != 0 ? order : ORDER(b->size_bytes, a->size_bytes);
    order = order != 0 ? order : ORDER(a->stack, b->stack);
    return order != 0 ? order : ORDER(a->function, b->function);
}

static void put_growth(struct sonde__report_out *out, int64_t growth)
{
    if (growth != 0) {
        sonde__report_out_print(out, "%s%" PRId64 ")", growth > 0 ? " (+" : " (", growth);
    }
}

static uint64_t since(uint64_t now_ns, uint64_t time_ns)
{
    return now_ns > time_ns ? now_ns - time_ns : 0;
}

static void put_one(struct sonde__report_out *out, const struct sonde__report *report,
                    const blocks *b, bool is_first)
{
    const struct sonde__report_node *function = sonde__report_node(report, b->function);
    sonde__report_out_str(out, "  ");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_print(out, "%" PRIu64 " block%s", b->count, sonde__base_plural(b->count));
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    put_growth(out, is_first ? 0 : b->growth);
    sonde__report_out_print(out, ", %" PRIu64 " bytes", b->size_bytes);
    put_growth(out, is_first ? 0 : b->growth_bytes);
    if (b->function != 0) {
        sonde__report_out_str(out, ": ");
        sonde__report_put_function(out, report, sonde__report_frame(report, function->frame));
    }
    if (b->count != 0) {
        sonde__report_out_print(out, "; made %s",
                                sonde__report_duration(since(b->time_ns, b->newest_ns)).text);
        if (b->oldest_ns != b->newest_ns) {
            sonde__report_out_print(out, " to %s",
                                    sonde__report_duration(since(b->time_ns, b->oldest_ns)).text);
        }
        sonde__report_out_str(out, " before");
    }
    if (b->tid != 0) {
        sonde__report_out_print(out, " by thread %" PRId64, b->tid);
    } else if (b->count != 0) {
        sonde__report_out_str(out, " by several threads");
    }
    sonde__report_out_str(out, b->stack == 0 ? ", stack not kept\n" : "\n");
    sonde__report_put_stack(out, report, b->stack, 4);
}

void sonde__report_put_heap_blocks(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t first)
{
    uint32_t all = sonde__report_heap_blocks_count(report);
    const blocks **sorted =
        first < all ? sonde__mem_alloc_array(all - first, sizeof(void *)) : NULL;
    if (sorted == NULL) {
        if (first < all) {
            sonde__report_out_str(out, "\nnote: out of memory: blocks are not shown\n");
        }
        return;
    }
    uint64_t first_time = sonde__report_heap_blocks(report, 0)->time_ns;
    for (uint32_t i = first, end; i < all && !out->stopped; i = end) {
        uint64_t time = sonde__report_heap_blocks(report, i)->time_ns;
        for (end = i; end < all && sonde__report_heap_blocks(report, end)->time_ns == time; end++) {
            sorted[end - i] = sonde__report_heap_blocks(report, end);
        }
        qsort(sorted, end - i, sizeof(void *), by_growth);
        sonde__report_out_print(out, "\nAfter %s:\n", sonde__report_duration(time).text);
        for (uint32_t k = 0; k < end - i && !out->stopped; k++) {
            put_one(out, report, sorted[k], time == first_time);
        }
    }
    sonde__mem_free(sorted);
}
