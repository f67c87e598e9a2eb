// SPDX-License-Identifier: Apache-2.0
/* What the recorder does before the first call is counted, in a program that `sonde run` started
 * (start.c) and in one that starts an audit itself (inside.c). */
#include <string.h>

#include "clock.h"
#include "hook_method.h"
#include "recorder.h"
#include "target_self.h"

static const char *names[SONDE__RECORD_FUNCTIONS + SONDE__RECORD_EVENTS];
static const char *const event_names[] = SONDE__RECORD_EVENT_NAMES;
_Static_assert(sizeof event_names / sizeof *event_names == SONDE__RECORD_EVENTS, "record_page.h");

static void copy_names(void)
{
    static char texts[sizeof recorder_page->names];
    const struct sonde__record_page *page = recorder_page;
    recorder_name_count = page->function_count;
    for (uint32_t i = 0; i < page->function_count; i++) {
        uint32_t at = page->functions[i].name;
        recorder_names[i] = memcpy(texts + at, page->names + at, strlen(page->names + at) + 1);
    }
}

/* Listed functions keep their number; one that is also an event is hooked once. */
static void list_names(void)
{
    struct sonde__hook_method_name method;
    bool has_methods = false;
    copy_names();
    memcpy(names + RECORDER_EVENT_FUNCTION, event_names, sizeof event_names);
    memset(recorder_listed_events, 0xff, sizeof recorder_listed_events);
    for (uint32_t i = 0; i < recorder_name_count; i++) {
        names[i] = recorder_names[i];
        has_methods |= sonde__hook_method_parse(names[i], &method);
        for (uint32_t event = 0; event < SONDE__RECORD_EVENTS; event++) {
            if (strcmp(names[i], event_names[event]) == 0) {
                recorder_listed_events[event] = i;
            }
        }
    }
    for (uint32_t event = 0; event < SONDE__RECORD_EVENTS; event++) {
        bool is_of_objc = event >= SONDE__RECORD_OBJC_LOAD && event < SONDE__RECORD_SYSCALL;
        uint32_t listed = recorder_listed_events[event];
        if (is_of_objc && !has_methods) {
            names[RECORDER_EVENT_FUNCTION + event] = NULL;
        } else if (listed != RECORDER_NONE) {
            names[listed] = NULL;
        }
    }
}

/* Copy the conditions, which the program can write, and check the copy. */
bool recorder_take_conditions(void)
{
    recorder_when = recorder_page->when;
    if (recorder_when.limit_count != 0) {
        preload_find_clock();
    }
    bool is_good = sonde__when_check(&recorder_when, SONDE__RECORD_LABELS);
    if (!is_good) {
        atomic_store(&recorder_page->state, SONDE__RECORD_FAILED);
    }
    return is_good;
}

enum sonde_status recorder_begin(uint32_t flags)
{
    struct sonde__record_page *page = recorder_page;
    struct sonde_error error;
    (void)sonde__hook_own_image(&page->own_start, &page->own_end);
    list_names();
    recorder_start_numbers();
    recorder_start_raw();
    recorder_inspect_images();
    sonde__probe_hook_set_recorder(recorder_call);
    sonde__hook_set_loaded(recorder_inspect_images);
    recorder_busy++;
    enum sonde_status status =
        sonde__hook_start(names, sizeof names / sizeof *names, flags, &recorder_hooks, &error);
    if (status == SONDE_OK) {
        recorder_log_blind_spots();
        if (recorder_swept != NULL) {
            recorder_swept();
        }
    }
    recorder_busy--;
    atomic_store(&page->state, status == SONDE_OK ? SONDE__RECORD_RUNS : SONDE__RECORD_FAILED);
    return status;
}
