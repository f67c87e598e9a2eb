// SPDX-License-Identifier: Apache-2.0
#include "stacks_causes.h"

#include <string.h>

#include "mem_heap.h"

/* For threads that --stop has stopped: how long they may get no CPU on a busy machine. */
#define RETURN_NS ((uint64_t)1000000000)

void sonde__stacks_causes_find(struct sonde__target *target, struct sonde__stacks *stacks,
                               struct sonde__stacks_causes *ret_causes)
{
    struct sonde__causes *causes = NULL;
    memset(ret_causes, 0, sizeof *ret_causes);
    if (!sonde__target_is_live(target) || sonde__causes_create(target, &causes) != SONDE_OK) {
        return;
    }
    ret_causes->list = sonde__mem_alloc_array((size_t)stacks->count + 1, sizeof *ret_causes->list);
    ret_causes->circles =
        sonde__mem_alloc_array(SONDE__STACKS_CIRCLES_MAX, sizeof *ret_causes->circles);
    if (ret_causes->list == NULL || ret_causes->circles == NULL) {
        sonde__stacks_causes_done(ret_causes);
        sonde__causes_destroy(causes);
        return;
    }
    ret_causes->count = stacks->count;
    ret_causes->pid = sonde__target_pid(target);
    sonde__causes_await_returns(causes, RETURN_NS);
    for (uint32_t i = 0; i < stacks->count; i++) {
        sonde__causes_name_resumed(causes, &stacks->list[i]);
        sonde__causes_look(causes, &stacks->list[i], &ret_causes->list[i]);
    }
    uint32_t found = sonde__causes_circles(causes, ret_causes->list, ret_causes->count,
                                           ret_causes->circles, SONDE__STACKS_CIRCLES_MAX);
    ret_causes->circle_count =
        found < SONDE__STACKS_CIRCLES_MAX ? found : SONDE__STACKS_CIRCLES_MAX;
    sonde__causes_destroy(causes);
}

void sonde__stacks_causes_done(struct sonde__stacks_causes *causes)
{
    sonde__mem_free(causes->list);
    sonde__mem_free(causes->circles);
    memset(causes, 0, sizeof *causes);
}

void sonde__stacks_causes_add(const struct sonde__stacks_causes *causes, uint32_t index,
                              struct sonde__report *report, struct sonde__report_thread *thread)
{
    char text[SONDE__CAUSE_TEXT];
    struct sonde__report_wait wait;
    if (index >= causes->count || causes->list[index].kind == SONDE__CAUSE_NONE) {
        return;
    }
    sonde__cause_text(&causes->list[index], text, sizeof text);
    thread->detail = sonde__report_string(report, text);
    if (sonde__cause_to_report(&causes->list[index], causes->pid, 0, report, &wait)) {
        sonde__report_add_wait(report, &wait);
    }
}

void sonde__stacks_causes_add_circles(const struct sonde__stacks_causes *causes,
                                      struct sonde__report *report)
{
    for (uint32_t i = 0; i < causes->circle_count; i++) {
        sonde__report_add_note(report, causes->circles[i].text);
    }
}
