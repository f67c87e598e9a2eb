// SPDX-License-Identifier: Apache-2.0
/* stacks_probe PID | --stop PID | --core FILE [EXE]: all threads of a target, in lines for scripts.
 *
 *     thread TID LETTER BY STATUS END COUNT NOTE
 *     frame PC HOW IMAGE|- */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

enum { FRAMES = 100000 };

static uint64_t pcs[FRAMES];
static uint8_t how[FRAMES];

static void print_thread(struct sonde__target *target, const struct sonde__thread *thread)
{
    static const char *const by[] = {"not", "passive", "perf", "ptrace", "core", "self", "signal"};
    struct sonde__capture capture;
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    sonde__target_capture(target, thread, &stack, &capture);
    printf("thread %" PRIu64 " %c %s %s %s %u %s\n", thread->tid, thread->letter, by[capture.by],
           sonde_status_name(capture.status), sonde_end_text(stack.end), stack.count, capture.note);
    for (uint32_t i = 0; i < stack.count; i++) {
        const struct sonde__image *image =
            sonde__image_find(sonde__target_images(target), sonde_stack_lookup_pc(&stack, i));
        printf("frame 0x%" PRIx64 " %s%s %s\n", pcs[i],
               sonde_found_text(how[i] & SONDE_HOW_FOUND_MASK),
               (how[i] & SONDE_HOW_SIGNAL) != 0 ? "+signal" : "",
               image != NULL ? image->path : "-");
    }
}

int main(int argc, char **argv)
{
    struct sonde__target_options options = {0};
    struct sonde_error error = {0};
    struct sonde__target *target;
    const struct sonde__thread *threads;
    enum sonde_status status;
    uint32_t count;
    uint64_t pause_ns;
    if (argc >= 3 && strcmp(argv[1], "--core") == 0) {
        options.executable = argc > 3 ? argv[3] : NULL;
        status = sonde__target_open_core(argv[2], &options, &target, &error);
    } else if (argc == 3 && strcmp(argv[1], "--stop") == 0) {
        options.mode = SONDE__TARGET_STOP;
        status = sonde__target_open_process(atoi(argv[2]), &options, &target, &error);
    } else if (argc == 2) {
        status = sonde__target_open_process(atoi(argv[1]), &options, &target, &error);
    } else {
        return 2;
    }
    if (status == SONDE_OK && options.mode == SONDE__TARGET_STOP) {
        status = sonde__target_stop(target, &error);
    }
    if (status == SONDE_OK) {
        status = sonde__target_threads(target, &threads, &count, &error);
    }
    if (status != SONDE_OK) {
        printf("error %s %d %s\n", sonde_status_name(status), error.os_error, error.what);
        return 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        print_thread(target, &threads[i]);
    }
    sonde__target_resume(target, &pause_ns);
    sonde__target_close(target);
    return 0;
}
