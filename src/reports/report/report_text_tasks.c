// SPDX-License-Identifier: Apache-2.0
/* Tasks that wait in the event loops of threads, as text:
 *
 *   12 tasks wait in the loop of thread 4711
 *     10 tasks, one of them:
 *       read      /srv/app.py:9
 *       ... */
#include <inttypes.h>

#include "base_text.h"
#include "report_view.h"

static bool is_of_one_loop(const struct sonde__report_tasks *a, const struct sonde__report_tasks *b)
{
    return a->tid == b->tid && a->process == b->process;
}

static void put_loop(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_tasks *tasks, uint64_t count)
{
    int32_t pid = sonde__report_pid(report, tasks->process);
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_print(out, "%" PRIu64 " task%s", count, sonde__base_plural(count));
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_print(out, " wait%s in the loop of thread %" PRId64, count == 1 ? "s" : "",
                            tasks->tid);
    if (pid != sonde__report_header(report)->pid) {
        sonde__report_out_print(out, "  process %d", pid);
    }
    sonde__report_out_str(out, "\n");
}

void sonde__report_put_tasks(struct sonde__report_out *out, const struct sonde__report *report)
{
    uint32_t all = sonde__report_tasks_count(report), end = 0;
    for (uint32_t i = 0; i < all && !out->stopped; i++) {
        const struct sonde__report_tasks *tasks = sonde__report_tasks(report, i);
        if (i == end) {
            uint64_t count = 0;
            for (; end < all && is_of_one_loop(tasks, sonde__report_tasks(report, end)); end++) {
                count += sonde__report_tasks(report, end)->count;
            }
            put_loop(out, report, tasks, count);
        }
        if (tasks->count > 1) {
            sonde__report_out_print(out, "  %" PRIu64 " tasks, one of them:\n", tasks->count);
        } else {
            sonde__report_out_str(out, "  1 task:\n");
        }
        sonde__report_put_stack(out, report, tasks->stack, 4);
    }
}
