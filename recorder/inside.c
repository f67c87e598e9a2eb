// SPDX-License-Identifier: Apache-2.0
/* The recorder as a part of libsonde (record_inside.h). Other threads run while it begins: calls
 * count from the moment when their function is hooked. */
#include "record_inside.h"

#include <string.h>
#include <unistd.h>

#include "hook.h"
#include "os.h"
#include "recorder.h"

static _Atomic uint32_t is_claimed;

void sonde__record_inside_enter(void)
{
    recorder_busy++;
}

void sonde__record_inside_leave(void)
{
    recorder_busy--;
}

static enum sonde_status begin(struct sonde__probe_page *page, struct sonde__record_page *plugin)
{
    if (!recorder_take(plugin, (char *)plugin + SONDE__RECORD_OFFSET) ||
        !recorder_take_conditions()) {
        return SONDE_MEMORY;
    }
    atomic_store(&page->pid, (int32_t)getpid());
    if (!preload_guard_page(page)) {
        return SONDE_UNSUPPORTED;
    }
    enum sonde_status status = recorder_begin(0);
    if (status == SONDE_OK) {
        (void)recorder_look_for_methods();
    } else {
        preload_guard->page = NULL;
    }
    return status;
}

bool sonde__record_inside_claim(void)
{
    return !sonde__hook_runs() && atomic_exchange(&is_claimed, 1) == 0;
}

void sonde__record_inside_release(void)
{
    atomic_store(&is_claimed, 0);
}

enum sonde_status sonde__record_inside_begin(void *memory)
{
    struct sonde__probe_page *page = memory;
    recorder_busy++;
    enum sonde_status status =
        begin(page, (struct sonde__record_page *)(void *)((char *)memory + page->plugin));
    recorder_busy--;
    return status;
}

void sonde__record_inside_end(void)
{
    if (preload_page() == NULL) {
        return;
    }
    recorder_busy++;
    recorder_end();
    preload_guard->page = NULL;
    recorder_busy--;
}

void sonde__record_inside_phase(const char *name, uint32_t consent)
{
    if (preload_page() != NULL) {
        (void)sonde__record_phase_begin(recorder_phases, name, strlen(name), consent,
                                        sonde__os_now_ns());
    }
}
