// SPDX-License-Identifier: Apache-2.0
/* `sonde run`: start a program under the watch. Context: a process with one thread. */
#ifndef SONDE_WATCH_RUN_H
#define SONDE_WATCH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "report_line.h"

enum sonde__watch_timeout_action {
    SONDE__WATCH_TIMEOUT_STACKS, /* print all stacks; the program goes on */
    SONDE__WATCH_TIMEOUT_ABORT,  /* print them and send SIGABRT */
    SONDE__WATCH_TIMEOUT_CORE,   /* print them and send SIGABRT with a core */
};

/* All tags are passed to a followed program in one word of at most this many bytes: "KEY=VALUE",
 * separated by this. */
#define SONDE__WATCH_TAG_END    "\x1f"
#define SONDE__WATCH_TAGS_BYTES 4096

/* How running threads are sampled. */
enum sonde__watch_sampler_kind {
    SONDE__WATCH_SAMPLER_AUTO, /* the first one below that works */
    SONDE__WATCH_SAMPLER_PERF,
    SONDE__WATCH_SAMPLER_PTRACE,
    SONDE__WATCH_SAMPLER_SIGNAL,
    SONDE__WATCH_SAMPLER_NONE, /* not at all: only blocked threads are seen */
};
/* "auto", "perf", "ptrace", "signal", "none", null (watch_follow.c). */
extern const char *const sonde__watch_sampler_names[];

struct sonde__report;
struct sonde__report_tag;  /* report_model.h */
struct sonde__entry_ended; /* watch_output.h */

struct sonde__watch_spooled; /* watch_spooled.h */
struct sonde__report_view;

/* Called when a stall has ended. index: its number in `report`. The pointers are valid during the
 * call. */
typedef void sonde__watch_on_stall(void *ctx, const struct sonde__entry_ended *ended,
                                   const struct sonde__report *report,
                                   const struct sonde__report_view *view, uint32_t index);

/* Called when a turn has become a stall. report: the stack of its thread. */
typedef void sonde__watch_on_begin(void *ctx, const struct sonde__entry_ended *ended,
                                   const struct sonde__report *report);

struct sonde__symfile_options; /* symfile_cache.h */

/* A library that is used instead of the stall probe. It shares memory with the program, and finds
 * it by the page. The output is what the library recorded; stalls are not watched. */
struct sonde__watch_plugin {
    uint64_t size; /* bytes, zeroed */
    uint32_t kind; /* of the report: enum sonde__report_kind */
    bool app_only; /* of the text: report_view.h */
    uint32_t top;  /* likewise */
    void *ctx;
    void (*begin)(void *ctx, void *memory); /* before the program starts */
    /* when it has ended */
    void (*end)(void *ctx, const void *memory, struct sonde__report *report,
                struct sonde__report_lines lines);
    /* In the supervisor, before the program starts; null: not called. The memory is `at` bytes
     * behind the start of the file `fd`. */
    void (*supervise)(void *ctx, void *memory, uint64_t at, int32_t fd);
    /* Called each period_ns (0: never) while the program runs, and with `all` on SIGQUIT. May be
     * null. */
    uint64_t period_ns;
    void (*look)(void *ctx, const void *memory, bool all, struct sonde__report *report,
                 struct sonde__report_lines lines);
    /* Twice a second while the program runs, and at its end: all that was recorded so far, without
     * names, into `report`, for the live file in the spool folder. Null: nothing is kept there.
     * Another thread than that of the functions above calls it. False: nothing has changed since
     * the last call, and not `again`. */
    bool (*keep)(void *ctx, const void *memory, bool again, struct sonde__report *report);
    /* On SIGUSR1 to the supervisor; null: that ends it. */
    void (*mark)(void *ctx, void *memory, struct sonde__report_lines lines);
};

struct sonde__watch_options {
    char *const *argv; /* the program and its arguments, null-terminated */
    char *const *envp;
    const char *probe; /* path of libsonde-preload.so; null: it was not found */
    const char *tool;  /* "sonde 0.1.0" */
    uint64_t threshold_ns;
    uint64_t timeout_ns; /* 0: none */
    uint64_t for_ns;     /* the watch ends after this time; 0: when the program ends */
    const char *command; /* of sonde, for messages; null: run */
    enum sonde__watch_timeout_action timeout_action;
    enum sonde__watch_sampler_kind sampler;
    const struct sonde__symfile_options *symbols; /* as of sonde__sampler_open() */
    int32_t report_fd;                            /* where the report goes, -1: nowhere */
    bool report_json;  /* as one JSON value at the end instead of records as they come */
    bool report_lines; /* the JSON value on one line: others were written before it */
    const char *build,
        *device;       /* of the report's header: a build's name, a machine's id; null: none */
    const char *scrub; /* scrubbing rules for followed programs (sonde__scrub_write()); null: the
                          defaults */
    const struct sonde__report_tag *tags; /* likewise */
    uint32_t tag_count;
    const char *report_name; /* what messages call it */
    uint64_t launch_ns; /* a launch that takes this long is a stall; 0: launches are not watched */
    uint32_t fps;       /* refresh rate, to count the frames that turns cost; 0: do not count */
    uint32_t equal_max; /* stalls of one cause that are reported one by one; 0: all */
    const char *spool;  /* absolute path of the spool folder; null: none */
    const char *const *sender; /* argv of what sends the folder's reports when the run is over,
                                  null-terminated; null: nobody */
    struct sonde__watch_spooled *spooled; /* set by the supervisor: its files */
    bool verbose;
    bool quiet;                               /* print no summary */
    bool color;                               /* of the text on stderr */
    bool wide;                                /* do not fit it to the terminal */
    const struct sonde__watch_plugin *plugin; /* null: none */
    /* Called instead of text on stderr; null: text. */
    sonde__watch_on_stall *on_stall;
    sonde__watch_on_begin *on_begin; /* null: not called */
    void *ctx;                       /* of both */
    /* Programs that the program executes in its own process are started through `self`, which execs
     * them. `follow`: also programs of its children; `stay`: none. */
    bool follow, stay;
    const char *self;        /* absolute path of sonde */
    const char *report_base; /* absolute path of the first program's report; null: none */
    const char *path;        /* the file that is executed; set by sonde__watch_run() */
    /* a program that is followed: */
    int32_t root;            /* pid of the first program's supervisor; 0: this is the first */
    const char *program;     /* the file to execute; null: argv[0] says it */
    const char *report_path; /* absolute path of its report, which is removed if it stays empty */
};

/* Become the program, with the probe, which finds its memory by `page_fd`; -1: without. Returns
 * only if that fails: the exit status. */
int sonde__watch_become(const struct sonde__watch_options *options, const char *path,
                        int32_t page_fd, struct sonde_error *ret_error);

/* Watch a forked child, in a supervisor that sonde__watch_attend_workers() has started. place:
 * "FD:INDEX:PID". Returns only if the watch could not be started: the exit status. */
int sonde__watch_attend(const struct sonde__watch_options *options, const char *place,
                        struct sonde_error *ret_error);
/* Parse "FD:INDEX:PID". False: malformed. */
bool sonde__watch_parse_place(const char *place, int32_t *ret_fd, uint32_t *ret_index,
                              int32_t *ret_pid);

/* `sonde watch`: watch a running process from outside until it ends, for_ns have passed, or SIGINT,
 * SIGTERM or SIGHUP. Ignores the options for starting a program. Returns OK | ABSENT | DENIED |
 * UNSUPPORTED | MEMORY | OS when the watch is over. */
SONDE_NODISCARD enum sonde_status sonde__watch_pid(const struct sonde__watch_options *options,
                                                   int32_t pid, struct sonde_error *ret_error);

/* Is the process watched by a supervisor of `sonde run`? Then *ret_supervisor is its pid. */
bool sonde__watch_find_supervisor(int32_t pid, int32_t *ret_supervisor);

/* Becomes the program. Returns only if the program could not be started: the exit status of a shell
 * (127 not found, 126 found but not executable). */
int sonde__watch_run(const struct sonde__watch_options *options, struct sonde_error *ret_error);

#endif
