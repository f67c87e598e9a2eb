// SPDX-License-Identifier: Apache-2.0
/* What both forms of Apple's crash logs say, text (.crash) and JSON (.ips), and what is made of it:
 * a fatal stall if the system's watchdog ended the program, else a crash. For this folder only. */
#ifndef SONDE_COLLECTOR_IMPORT_APPLE_H
#define SONDE_COLLECTOR_IMPORT_APPLE_H

#include "import_model.h"

struct apple_thread {
    struct sonde__report_thread thread; /* its stack is set by apple_end_thread() */
    uint32_t first, count;              /* of `frames` */
};

struct apple_log {
    struct import *import;
    char program[512]; /* a path, or a name */
    char version[64], bundle_version[64], os[128], model[64], arch[32], device[17];
    char what[256]; /* "EXC_BAD_ACCESS (SIGSEGV)" */
    char end[512];  /* why the system ended it, in its words */
    uint64_t time_ns;
    bool is_watchdog;
    struct sonde__report_frame *frames; /* of all threads, innermost first */
    size_t frame_count, frame_capacity;
    struct apple_thread *threads;
    size_t thread_count, thread_capacity;
    uint32_t crashed, exception; /* indexes + 1 of threads; exception: the stack of a thrown object,
                                  * which is no thread of its own. 0: none */
};

/* The code with which the system's watchdog ends a program (Apple, "Addressing watchdog
 * terminations"). */
#define APPLE_WATCHDOG 0x8badf00du

/* Begin the next thread. Returns it, or null: no memory, or too many. Valid until the next one. */
struct apple_thread *apple_add_thread(struct apple_log *log);
/* Add the caller of the last frame to the last thread. False: no memory. */
bool apple_add_frame(struct apple_log *log, const struct sonde__report_frame *frame);
/* Put all into the report. source: "ips". Returns OK | CORRUPT (no thread has a frame). */
enum sonde_status apple_finish(struct apple_log *log, const char *source);
void apple_done(struct apple_log *log);

#endif
