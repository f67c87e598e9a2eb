// SPDX-License-Identifier: Apache-2.0
/* Opens, describes and closes a view of a heap. */
#include "heap_view.h"

#include <inttypes.h>

#include "heap_made.h"
#include "host_clock.h"
#include "target.h"

int heap_view_open(struct heap_view *view, const struct sonde__cli_command *command,
                   const struct heap_place *place, struct sonde__cli_symbols *symbols)
{
    struct sonde__target_options where = {.mode = SONDE__TARGET_PASSIVE,
                                          .executable = place->program};
    struct sonde_error error = {.status = SONDE_OK};
    char subject[48];
    enum sonde_status status;
    view->command = command;
    view->place = *place;
    snprintf(subject, sizeof subject, "process %d", (int)place->pid);
    status = place->core != NULL
                 ? sonde__target_open_core(place->core, &where, &view->target, &error)
                 : sonde__target_open_process(place->pid, &where, &view->target, &error);
    if (status == SONDE_OK) {
        view->options = symbols->options;
        view->options.root = sonde__target_root(view->target);
        status = sonde__symfile_cache_create(&view->options, &view->symfile);
    }
    if (status == SONDE_OK) {
        status = sonde__blockheap_open(view->target, view->symfile, false, &view->heap, &error);
    }
    if (status == SONDE_OK) {
        status = heap_names_open(view->target, &view->options, view->heap, &view->names);
    }
    if (status == SONDE_OK) {
        uint64_t begin = sonde__host_monotonic_ns();
        status = sonde__blockheap_scan(view->heap, 0, &view->found, &error);
        view->search_ns = sonde__host_monotonic_ns() - begin;
    }
    if (status == SONDE_OK && place->core == NULL) { /* a core has no registry in use */
        heap_made_open(view);
    }
    if (status == SONDE_OK) {
        view->place.pid = sonde__target_pid(view->target);
        return SONDE__CLI_OK;
    }
    return sonde__cli_fail(command, place->core != NULL ? place->core : subject, status, &error);
}

int heap_view_doubts(const struct heap_view *view, int exit_code)
{
    int doubt = SONDE__CLI_OK;
    if (view->place.core == NULL || view->target == NULL) {
        return exit_code;
    }
    if (sonde__target_doubt(view->target)[0] != '\0') {
        sonde__cli_error(view->command, "%s", sonde__target_doubt(view->target));
        doubt = SONDE__CLI_MALFORMED;
    }
    if (view->found.unreadable != 0) {
        sonde__cli_error(view->command,
                         "the core is cut short: %" PRIu64
                         " bytes of memory are not in it, and the blocks there are not shown",
                         view->found.unreadable);
        doubt = SONDE__CLI_MALFORMED;
    }
    return doubt != SONDE__CLI_OK && exit_code <= SONDE__CLI_ABSENT ? doubt : exit_code;
}

void heap_view_json_place(const struct heap_view *view, struct sonde__json *json)
{
    sonde__json_int(json, "pid", view->place.pid);
    if (view->place.core != NULL) {
        sonde__json_string(json, "core", view->place.core);
    }
}

void heap_view_close(struct heap_view *view)
{
    heap_made_close(view->made);
    sonde__blockheap_found_done(&view->found);
    sonde__blockheap_close(view->heap);
    heap_names_close(view->names);
    sonde__symfile_cache_destroy(view->symfile);
    if (view->target != NULL) {
        sonde__target_close(view->target);
    }
}
