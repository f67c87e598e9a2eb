// SPDX-License-Identifier: Apache-2.0
/* A report in memory: dictionaries and records, as proto/sonde/v1/report.proto publishes them.
 *
 * The model owns all its memory (one arena); ids count from 1, 0 is "none". Adding the same string,
 * image, frame or stack again gives the same id. A node's parent always has a smaller id, so every
 * walk towards the root ends. What exceeds a limit or memory is left out and counted; the rest
 * stays valid. Context: any thread, one at a time. */
#ifndef SONDE_REPORT_MODEL_H
#define SONDE_REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/stack.h>

#include "image_set.h"

struct sonde__report;

/* The format that this code writes, and the newest that it understands completely. */
#define SONDE__REPORT_FORMAT 2u

/* Limits bound the cost of a hostile file. They are far above what a long watch of a real program
 * needs; what exceeds them is left out and counted (sonde__report_lost). */
#define SONDE__REPORT_MEMORY_MAX        ((size_t)512 << 20) /* bytes of one model */
#define SONDE__REPORT_STRING_BYTES_MAX  16384u /* longer (C++ names) are cut, with "..." */
#define SONDE__REPORT_DEPTH_MAX         65536u /* nodes of one stack */
#define SONDE__REPORT_THREADS_MAX       65536u /* the kernel's default thread limit is 32768 */
#define SONDE__REPORT_STALLS_MAX        65536u
#define SONDE__REPORT_SAMPLES_MAX       65536u /* of one stall: a day at the slowest sampling rate */
#define SONDE__REPORT_NOTES_MAX         1024u
#define SONDE__REPORT_CALLS_MAX         4194304u /* more than the largest depot has entries */
#define SONDE__REPORT_HEAP_BLOCKS_MAX   1048576u /* over all times */
#define SONDE__REPORT_INLINED_MAX       256u /* of one frame; five times what large programs have */
#define SONDE__REPORT_TAIL_CALLS_MAX    64u  /* before one frame */
#define SONDE__REPORT_TAGS_MAX          64u
#define SONDE__REPORT_PROCESSES_MAX     65536u
#define SONDE__REPORT_NAMED_PHASES_MAX  4096u
#define SONDE__REPORT_RULES_MAX         4096u
#define SONDE__REPORT_TURN_COUNTS_MAX   64u
#define SONDE__REPORT_UNCOVERED_MAX     4096u /* of one stall */
#define SONDE__REPORT_TASKS_MAX         65536u
#define SONDE__REPORT_WAITS_MAX         65536u   /* of one stall, or outside stalls */
#define SONDE__REPORT_ARGUMENTS_MAX     64u      /* for the calls of one stack */
#define SONDE__REPORT_ANNOTATIONS_MAX   64u      /* of one stall */
#define SONDE__REPORT_LOOSE_SAMPLES_MAX 1048576u /* outside stalls */
#define SONDE__REPORT_STALL_COUNTS_MAX  65536u
#define SONDE__REPORT_GROWING_MAX       262144u /* parts of stalls, in a live file */

enum sonde__report_kind {
    SONDE__REPORT_STACKS = 1,
    SONDE__REPORT_WATCH = 2,
    SONDE__REPORT_CALLS = 3,
    SONDE__REPORT_HEAP_BLOCKS = 4,
    SONDE__REPORT_AUDIT = 5,
};

/* Image flags in addition to enum sonde__image_flags: whose code it is, as image_app.h decided
 * where the report was made. With neither, a reader decides by the path. */
enum sonde__report_image_flags {
    SONDE__REPORT_IMAGE_APP = 8,
    SONDE__REPORT_IMAGE_SYSTEM = 16,
    SONDE__REPORT_IMAGE_INTERPRETER = 32, /* runs script frames */
};

/* As in the schema: our values for systems without LC_BUILD_VERSION, else its values. */
enum sonde__report_platform {
    SONDE__REPORT_PLATFORM_NONE,
    SONDE__REPORT_PLATFORM_LINUX = 64,
};

/* As in the schema. */
enum sonde__report_name_source {
    SONDE__REPORT_NAME_NONE,
    SONDE__REPORT_NAME_SYMTAB,
    SONDE__REPORT_NAME_DYNSYM,
    SONDE__REPORT_NAME_PLT,
    SONDE__REPORT_NAME_DEBUG_INFO, /* from debug information only; no symbol has it */
    SONDE__REPORT_NAME_JIT,        /* from the runtime that made the code */
};

/* Kinds of frames in the dictionary, as in the schema. Views have more kinds (report_walk.h). */
enum sonde__report_frame_kind {
    SONDE__REPORT_FRAME_PHYSICAL, /* captured, or a gap */
    SONDE__REPORT_FRAME_TAIL_CALL,
    SONDE__REPORT_FRAME_SCRIPT, /* a function of a script, which the next physical frame runs */
};

enum sonde__report_consent {
    SONDE__REPORT_CONSENT_UNKNOWN,
    SONDE__REPORT_CONSENT_BEFORE,
    SONDE__REPORT_CONSENT_GIVEN,
    SONDE__REPORT_CONSENT_REFUSED,
};

enum sonde__report_severity {
    SONDE__REPORT_SEVERITY_UNKNOWN,
    SONDE__REPORT_SEVERITY_NOTE,
    SONDE__REPORT_SEVERITY_WARNING,
    SONDE__REPORT_SEVERITY_ERROR,
};

enum sonde__report_wait_kind {
    SONDE__REPORT_WAIT_UNKNOWN,
    SONDE__REPORT_WAIT_FUTEX, /* kind of lock unknown */
    SONDE__REPORT_WAIT_MUTEX,
    SONDE__REPORT_WAIT_RWLOCK,
    SONDE__REPORT_WAIT_CONDITION,
    SONDE__REPORT_WAIT_SEMAPHORE,
    SONDE__REPORT_WAIT_JOIN,  /* for the end of a thread */
    SONDE__REPORT_WAIT_CHILD, /* for the end of a process */
    SONDE__REPORT_WAIT_FILE,
    SONDE__REPORT_WAIT_FILE_LOCK,
    SONDE__REPORT_WAIT_PIPE,
    SONDE__REPORT_WAIT_SOCKET,
    SONDE__REPORT_WAIT_MEMORY, /* for a page fault */
};

enum sonde__report_uncovered_reason {
    SONDE__REPORT_UNCOVERED_UNKNOWN,
    SONDE__REPORT_UNCOVERED_BEFORE, /* sampling had not begun */
    SONDE__REPORT_UNCOVERED_LATE,   /* the watch itself ran late */
    SONDE__REPORT_UNCOVERED_UNREAD, /* the thread could not be read */
    SONDE__REPORT_UNCOVERED_BUDGET, /* sampling was over its CPU budget */
};

enum sonde__report_stall_kind {
    SONDE__REPORT_STALL_LOOP, /* a turn of an event loop */
    SONDE__REPORT_STALL_LAUNCH,
    SONDE__REPORT_STALL_EXIT,
    SONDE__REPORT_STALL_SCOPE,
};

/* What the system did with an app, as in the schema. */
enum sonde__report_app_state {
    SONDE__REPORT_APP_UNKNOWN,
    SONDE__REPORT_APP_ACTIVE,
    SONDE__REPORT_APP_INACTIVE,
    SONDE__REPORT_APP_BACKGROUND,
    SONDE__REPORT_APP_EXTENSION,
};

/* Why the end of a program in a stall may have another cause, as in the schema. */
enum sonde__report_doubt {
    SONDE__REPORT_DOUBT_DEBUGGER = 1,
    SONDE__REPORT_DOUBT_MEMORY = 2,
    SONDE__REPORT_DOUBT_ENDS = 4,
};

enum sonde__report_loop {
    SONDE__REPORT_LOOP_UNKNOWN,
    SONDE__REPORT_LOOP_EPOLL,
    SONDE__REPORT_LOOP_POLL,
    SONDE__REPORT_LOOP_SELECT,
    SONDE__REPORT_LOOP_COND,
    SONDE__REPORT_LOOP_SIGNAL,
    SONDE__REPORT_LOOP_OTHER,
    SONDE__REPORT_LOOP_MARKS,
    SONDE__REPORT_LOOP_RUN_LOOP,
    SONDE__REPORT_LOOP_SEMAPHORE,
    SONDE__REPORT_LOOP_FUTEX,
    SONDE__REPORT_LOOP_PAUSE,
    SONDE__REPORT_LOOP_TIMER,
};

enum sonde__report_phase_kind {
    SONDE__REPORT_PHASE_NONE,
    SONDE__REPORT_PHASE_RUNNING, /* on a CPU, or waiting for one */
    SONDE__REPORT_PHASE_BLOCKED, /* in a system call */
    SONDE__REPORT_PHASE_DISK,    /* in uninterruptible sleep */
    SONDE__REPORT_PHASE_UNKNOWN, /* could not be read */
};

enum sonde__report_sampler {
    SONDE__REPORT_SAMPLER_NONE,
    SONDE__REPORT_SAMPLER_PERF,   /* passive + perf events */
    SONDE__REPORT_SAMPLER_PTRACE, /* passive + ptrace */
    SONDE__REPORT_SAMPLER_SIGNAL, /* passive + signal */
    SONDE__REPORT_SAMPLER_STOP,   /* the thread is stopped for each sample (Darwin) */
};

/* The machine. Unknown texts are "" (a writer may also pass null). */
struct sonde__report_device {
    const char *id, *model, *os, *kernel, *cpu;
    uint32_t cpu_count;
    uint64_t memory_bytes;
};

struct sonde__report_tag {
    const char *key, *value;
};

struct sonde__report_header {
    uint32_t format; /* 0 means SONDE__REPORT_FORMAT */
    uint32_t kind;   /* enum sonde__report_kind */
    const char *tool, *executable, *os, *arch, *source;
    uint64_t time_unix_ns;
    int32_t pid;
    uint64_t threshold_ns;
    uint64_t pause_ns;
    const char *report_id; /* 32 hexadecimal digits */
    const char *build;     /* as the caller named it; see sonde__report_build() */
    struct sonde__report_device device;
    const struct sonde__report_tag *tags;
    uint32_t tag_count;
};

/* The number of turns that took from_ns or more and less than to_ns (0: no limit). */
struct sonde__report_turn_count {
    uint64_t from_ns, to_ns, count;
};

/* Totals, written when the report is closed. */
struct sonde__report_end {
    uint64_t stall_count; /* all stalls, including those left out of the report */
    uint64_t turn_count;
    uint64_t lost_records; /* records that exceeded the limits */
    uint64_t watched_ns;
    uint64_t overhead_ns;                               /* CPU time used by sonde */
    const struct sonde__report_turn_count *turn_counts; /* ascending by length */
    uint32_t turn_count_count;
    uint64_t frame_ns, frames_dropped; /* drops at the refresh rate that was asked about */
};

struct sonde__report_process {
    int32_t pid;
    uint32_t parent; /* process id, smaller than its own; 0: not in the report */
    int32_t parent_pid;
    uint32_t executable;    /* string id */
    uint64_t start_ticks;   /* since boot; identifies a process together with the pid */
    uint64_t boot, program; /* in a live file, hashes: of the boot, of the program's build; 0: not
                               known */
};

/* A part of the run. It lasts until the next one of the same process begins. */
struct sonde__report_named_phase {
    uint32_t name; /* string id */
    uint64_t begin_ns;
    uint32_t consent; /* enum sonde__report_consent */
    uint32_t process; /* process id; here and in all records 0 is the header's process */
};

/* A rule of an audit. */
struct sonde__report_rule {
    uint32_t name, pack, category; /* string ids */
    uint32_t severity;             /* enum sonde__report_severity */
    uint32_t text;
    uint64_t limit_count, limit_ns;       /* allowed calls in limit_ns; 0: no limit */
    uint64_t over_first_ns, over_last_ns; /* when it was exceeded, since the start; 0: never */
};

struct sonde__report_image {
    uint32_t path; /* string id */
    struct sonde__build_id build_id;
    uint32_t flags;    /* enum sonde__image_flags | enum sonde__report_image_flags */
    uint32_t arch;     /* enum sonde_arch */
    uint64_t code_id;  /* identifies the code if there is no build-id; 0: unknown */
    uint32_t platform; /* enum sonde__report_platform */
    /* Where it is mapped, if the report was made in this process; never written. */
    uint64_t start, bias;
};

/* A call inlined into a frame's function, with the frame's pc in its code. */
struct sonde__report_inlined {
    uint32_t name, file; /* string ids */
    uint32_t line;       /* 0: not known */
};

struct sonde__report_frame {
    uint32_t image;
    uint64_t offset; /* vaddr of the pc in the image; with image 0 the address */
    uint32_t how;    /* SONDE_HOW byte */
    uint32_t name;   /* string id */
    /* pc - start of the function. If name is 0 and this is not, only the function's bounds are
     * known. */
    uint64_t name_offset;
    uint32_t name_source; /* enum sonde__report_name_source */
    uint64_t lost_count;  /* != 0: a gap, not a frame */
    uint32_t kind;        /* enum sonde__report_frame_kind */
    /* Source of the pc in this function: with inlined calls, the call site of the outermost one. */
    uint32_t file; /* string id */
    uint32_t line;
    uint32_t inlined_count;
    const struct sonde__report_inlined *inlined; /* innermost first; the model keeps a copy */
    uint32_t alternatives; /* of a tail call: possible paths, none is shown; 0: only this one;
                            * UINT32_MAX: unlimited */
    uint64_t code_id;      /* identifies code outside images, also in other runs; 0: unknown */
    uint32_t language;     /* string id, for script frames */
};

struct sonde__report_node {
    uint32_t parent; /* the caller */
    uint32_t frame;
    uint32_t depth; /* number of nodes from this one to the outermost; set by the model */
    /* Functions between this frame and its caller that left by a tail call: frame ids, innermost
     * first. The caller called the last of them. */
    uint32_t tail_call_count;
    const uint32_t *tail_calls; /* the model keeps a copy */
    uint32_t awaiter; /* an earlier node: the innermost frame that awaits this one; 0: none */
    uint32_t task;    /* string id of the task that this is the outermost frame of */
    uint32_t creator; /* a frame: where that task was created; 0: not known */
};

struct sonde__report_thread {
    int64_t tid;
    uint32_t name, state;
    bool main;
    uint32_t stack; /* innermost node */
    uint32_t end;   /* enum sonde_end_reason */
    uint64_t end_at;
    uint32_t captured_by; /* enum sonde__captured_by */
    int64_t syscall;      /* number + 1; 0: none */
    uint64_t pause_ns;
    uint32_t note;
    uint32_t frame_count;
    uint64_t time_ns;
    uint32_t detail; /* string id: the object of the call ("fd 7 socket:[123]") */
    uint32_t process;
    uint32_t qos;          /* as in the schema */
    uint32_t queue;        /* string id */
    uint32_t script_stack; /* node: script frames that may not belong to `stack` */
};

struct sonde__report_sample {
    uint64_t time_ns, weight_ns; /* time_ns: since the start of the stall, or of the watch */
    uint32_t stack, end, phase, captured_by;
    int64_t syscall; /* number + 1 */
    uint32_t detail;
    int64_t tid; /* of a sample outside stalls */
    uint32_t process, script_stack;
    uint32_t qos, queue; /* as of a thread */
};

/* Time of a stall that no sample covers. */
struct sonde__report_uncovered {
    uint64_t time_ns, duration_ns; /* since the stall began */
    uint32_t reason;               /* enum sonde__report_uncovered_reason */
    uint64_t cpu_ns, runqueue_ns;  /* within duration_ns */
    uint32_t detail;               /* string id: what the thread waited for */
};

/* A wait for something that another thread holds or must do. */
struct sonde__report_wait {
    int64_t tid;
    uint32_t process, kind;       /* enum sonde__report_wait_kind */
    uint32_t resource;            /* string id */
    int64_t owner_tid;            /* 0: not known, or not one thread */
    uint32_t owner_process, peer; /* peer: string id of the other end outside the report */
};

/* Tasks of the event loop that a thread runs, which wait in the same place. */
struct sonde__report_tasks {
    int64_t tid;
    uint32_t process, stack; /* stack: innermost node of one of them */
    uint64_t count;
};

/* A count of stalls with one fingerprint that are not in the report themselves. Counts with the
 * same fingerprint add up. */
struct sonde__report_stall_count {
    uint32_t fingerprint; /* string id */
    uint64_t count, total_ns, longest_ns, first_ns, last_ns;
};

/* Differences between two readings of kernel counters. */
struct sonde__report_load {
    uint64_t measured_ns;                /* between the readings; 0: nothing is known */
    uint64_t minor_faults, major_faults; /* of the thread */
    bool has_pressure;
    uint64_t cpu_pressure_ns, memory_pressure_ns, io_pressure_ns; /* of the machine */
};

/* A note by the program. */
struct sonde__report_annotation {
    uint32_t key, value; /* string ids */
};

struct sonde__report_stall {
    uint64_t begin_ns, duration_ns;
    int64_t tid;
    uint32_t thread_name, loop, loop_detail;
    uint64_t loop_turns;
    const struct sonde__report_sample *samples;
    uint32_t sample_count;
    const struct sonde__report_thread *threads;
    uint32_t thread_count;
    uint64_t cpu_ns, runqueue_ns, overhead_ns, samples_early;
    bool open;
    uint32_t sampler;
    bool main; /* the stalled thread is the main thread */
    uint32_t process;
    uint32_t fingerprint; /* string id, as the writer computed it (report_fingerprint.h) */
    const struct sonde__report_uncovered *uncovered; /* in order of time */
    uint32_t uncovered_count;
    const struct sonde__report_wait *waits;
    uint32_t wait_count;
    uint32_t phase; /* id of the named phase in which it began */
    uint32_t kind;  /* enum sonde__report_stall_kind */
    bool fatal;     /* the program was killed during it; if `open` too, so was the watch */
    uint32_t loop_phase, mode; /* string ids */
    uint32_t app_state;        /* enum sonde__report_app_state */
    uint32_t doubts;           /* in a live file: enum sonde__report_doubt bits */
    struct sonde__report_load load;
    const struct sonde__report_annotation *annotations; /* each key at most once */
    uint32_t annotation_count;
};

/* A value of an argument of recorded calls. */
struct sonde__report_argument {
    uint32_t position; /* 1: the first; 0: the result */
    uint32_t value;    /* string id; 0: other values, and those that had no room */
    uint64_t count;    /* number of calls with it */
    uint32_t name;     /* string id: as the rule calls it; 0: not known */
};

/* All calls of one function from one stack; or, with count 0, calls that may be missing. */
struct sonde__report_call {
    uint32_t function; /* string id */
    uint32_t stack;    /* the caller's node; 0: the depot was full */
    uint64_t count;
    uint32_t end;    /* why the walk ended: enum sonde_end_reason */
    uint32_t missed; /* string id: which calls may be missing; 0: none */
    /* only in an audit: */
    uint32_t rule, process, phase; /* ids */
    uint64_t first_ns, last_ns;    /* since the start */
    int64_t tid;                   /* 0: not known, or several */
    uint64_t over_limit;           /* calls that exceed the rule's limit */
    uint32_t sdk;                  /* string id */
    const struct sonde__report_argument *arguments;
    uint32_t argument_count;
    uint32_t fingerprint; /* string id */
    uint64_t threads;     /* bit n: the n-th thread of the process that made recorded calls;
                             SONDE__REPORT_LATER_THREADS: any later one; 0: not known */
};
#define SONDE__REPORT_LATER_THREADS ((uint64_t)1 << 63)

/* Blocks of one function that one stack made and that were alive at one time. */
struct sonde__report_heap_blocks {
    uint64_t time_ns;  /* since start */
    uint32_t stack;    /* node; 0: the depot was full */
    uint32_t function; /* node of one frame */
    uint64_t count, size_bytes;
    int64_t growth, growth_bytes; /* since the previous time */
    uint64_t oldest_ns, newest_ns;
    int64_t tid; /* 0: several */
};

/* Counts of what was left out, by kind. */
struct sonde__report_lost {
    uint64_t strings, images, frames, nodes, threads, stalls, samples, notes, calls, heap_blocks;
    uint64_t processes, phases, rules, waits, stall_counts, tasks;
    uint64_t details;     /* tags, kept arguments, uncovered times, annotations */
    uint64_t strings_cut; /* kept, but shortened */
};

SONDE_NODISCARD enum sonde_status sonde__report_create(struct sonde__report **ret_report);
void sonde__report_destroy(struct sonde__report *report);

/* Strings are copied; bytes that are not valid UTF-8 become U+FFFD, because the format requires
 * valid text. An id of 0 means that memory or a limit ran out (counted in lost). */
void sonde__report_set_header(struct sonde__report *report,
                              const struct sonde__report_header *header);
void sonde__report_set_end(struct sonde__report *report, const struct sonde__report_end *end);
void sonde__report_add_note(struct sonde__report *report, const char *note);
uint32_t sonde__report_string(struct sonde__report *report, const char *text);
uint32_t sonde__report_add_image(struct sonde__report *report,
                                 const struct sonde__report_image *image);
/* Frames are equal if image, pc and name are. Source and inlined calls follow from these and are
 * taken from the first of equal frames. */
uint32_t sonde__report_add_frame(struct sonde__report *report,
                                 const struct sonde__report_frame *frame);
/* Replace a frame of a report that was read. No frames may be added afterwards, because look-ups
 * use the old values. If memory runs out, the old frame stays. */
void sonde__report_replace_frame(struct sonde__report *report, uint32_t id,
                                 const struct sonde__report_frame *frame);
/* parent 0: the outermost frame. Returns 0 if the parent does not exist. */
uint32_t sonde__report_add_node(struct sonde__report *report, uint32_t parent, uint32_t frame);
/* The same, with tail calls between the node and its parent: frame ids, innermost first. They must
 * be a function of the two frames. */
uint32_t sonde__report_add_node_after(struct sonde__report *report, uint32_t parent, uint32_t frame,
                                      const uint32_t *tail_calls, uint32_t tail_call_count);
/* Add a node of any kind (script frames, awaiters) by its struct; the model sets the depth. An
 * equal node gets the same id. */
uint32_t sonde__report_add_node_value(struct sonde__report *report,
                                      const struct sonde__report_node *node);
/* Return the new id, without a search for an equal one. A parent that is not an earlier one becomes
 * 0. */
uint32_t sonde__report_add_process(struct sonde__report *report,
                                   const struct sonde__report_process *process);
uint32_t sonde__report_add_phase(struct sonde__report *report,
                                 const struct sonde__report_named_phase *phase);
/* Find an equal phase, or add it. */
uint32_t sonde__report_find_phase(struct sonde__report *report,
                                  const struct sonde__report_named_phase *phase);
uint32_t sonde__report_add_rule(struct sonde__report *report,
                                const struct sonde__report_rule *rule);
/* Add a sample or a wait outside stalls. */
uint32_t sonde__report_add_sample(struct sonde__report *report,
                                  const struct sonde__report_sample *sample);
uint32_t sonde__report_add_wait(struct sonde__report *report,
                                const struct sonde__report_wait *wait);
uint32_t sonde__report_add_stall_count(struct sonde__report *report,
                                       const struct sonde__report_stall_count *count);
uint32_t sonde__report_add_thread(struct sonde__report *report,
                                  const struct sonde__report_thread *thread);
void sonde__report_add_stall(struct sonde__report *report, const struct sonde__report_stall *stall);
void sonde__report_add_call(struct sonde__report *report, const struct sonde__report_call *call);
uint32_t sonde__report_add_tasks(struct sonde__report *report,
                                 const struct sonde__report_tasks *tasks);
uint32_t sonde__report_add_heap_blocks(struct sonde__report *report,
                                       const struct sonde__report_heap_blocks *blocks);

/* Reading the model. An id that does not exist gives an empty value, never null. sonde__report_end
 * is null until it is set or read. */
const struct sonde__report_header *sonde__report_header(const struct sonde__report *report);
const struct sonde__report_end *sonde__report_end(const struct sonde__report *report);
const struct sonde__report_lost *sonde__report_lost(const struct sonde__report *report);
/* Sum of all that was left out; strings that were cut do not count. */
uint64_t sonde__report_lost_records(const struct sonde__report *report);
const char *sonde__report_text(const struct sonde__report *report, uint32_t string);
const struct sonde__report_image *sonde__report_image(const struct sonde__report *r, uint32_t id);
const struct sonde__report_frame *sonde__report_frame(const struct sonde__report *r, uint32_t id);
const struct sonde__report_node *sonde__report_node(const struct sonde__report *r, uint32_t id);
uint32_t sonde__report_string_count(const struct sonde__report *report);
uint32_t sonde__report_image_count(const struct sonde__report *report);
uint32_t sonde__report_frame_count(const struct sonde__report *report);
uint32_t sonde__report_node_count(const struct sonde__report *report);
uint32_t sonde__report_thread_count(const struct sonde__report *report);
const struct sonde__report_thread *sonde__report_thread(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_stall_count(const struct sonde__report *report);
const struct sonde__report_stall *sonde__report_stall(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_call_count(const struct sonde__report *report);
const struct sonde__report_call *sonde__report_call(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_heap_blocks_count(const struct sonde__report *report);
const struct sonde__report_heap_blocks *sonde__report_heap_blocks(const struct sonde__report *r,
                                                                  uint32_t i);
uint32_t sonde__report_process_count(const struct sonde__report *report);
const struct sonde__report_process *sonde__report_process(const struct sonde__report *r,
                                                          uint32_t id);
uint32_t sonde__report_phase_count(const struct sonde__report *report);
const struct sonde__report_named_phase *sonde__report_phase(const struct sonde__report *r,
                                                            uint32_t id);
uint32_t sonde__report_rule_count(const struct sonde__report *report);
const struct sonde__report_rule *sonde__report_rule(const struct sonde__report *r, uint32_t id);
uint32_t sonde__report_sample_count(const struct sonde__report *report);
const struct sonde__report_sample *sonde__report_sample(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_tasks_count(const struct sonde__report *report);
const struct sonde__report_tasks *sonde__report_tasks(const struct sonde__report *report,
                                                      uint32_t index);
uint32_t sonde__report_wait_count(const struct sonde__report *report);
const struct sonde__report_wait *sonde__report_wait(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_stall_count_count(const struct sonde__report *report);
const struct sonde__report_stall_count *sonde__report_stall_count_at(const struct sonde__report *r,
                                                                     uint32_t i);
/* The pid of a process id. Id 0 and unknown ids give the header's pid. */
int32_t sonde__report_pid(const struct sonde__report *report, uint32_t process);
#define SONDE__REPORT_BUILD_ID_TEXT (2 * SONDE__BUILD_ID_MAX + 1)
/* Write the build-id as hexadecimal digits to `buffer` and return it. */
const char *sonde__report_build_id_text(const struct sonde__build_id *id,
                                        char buffer[SONDE__REPORT_BUILD_ID_TEXT]);
/* Of the run's first program: other programs of the run come later. 0: none. */
uint32_t sonde__report_main_image(const struct sonde__report *report);
/* The program's build: the header's name for it, else the build-id of the main image (in `buffer`),
 * else "". */
const char *sonde__report_build(const struct sonde__report *report,
                                char buffer[SONDE__REPORT_BUILD_ID_TEXT]);
uint32_t sonde__report_note_count(const struct sonde__report *report);
const char *sonde__report_note(const struct sonde__report *report, uint32_t i);

#endif
