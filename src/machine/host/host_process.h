// SPDX-License-Identifier: Apache-2.0
/* Reads the system's information about other processes and their threads. Context: any thread. */
#ifndef SONDE_HOST_PROCESS_H
#define SONDE_HOST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#define SONDE__HOST_NAME_MAX 32
#define SONDE__HOST_PATH_MAX 4096

struct sonde__host_thread {
    uint64_t tid;
    char letter;                     /* R S D T t Z X I, as the kernel prints it; '?' */
    char name[SONDE__HOST_NAME_MAX]; /* NUL-terminated */
    uint64_t start_ticks;            /* since boot: with the tid, identifies a thread uniquely */
    uint64_t user_ticks, system_ticks;
    uint64_t major_faults;
    uint32_t processor; /* where it ran last */
    bool kernel;        /* a kernel thread */
};

/* Parse a `stat` file. The name is between the first '(' and the last ')', and may contain blanks
 * and parentheses. False: malformed. */
bool sonde__host_parse_stat(const char *text, size_t size, struct sonde__host_thread *ret_thread);

/* Read one thread. Returns OK | ABSENT (ended) | DENIED | CORRUPT | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_thread_read(int32_t pid, uint64_t tid,
                                                          struct sonde__host_thread *ret_thread);
/* The same from its `stat` file, which sonde__os_thread_open() opened. */
SONDE_NODISCARD enum sonde_status
sonde__host_thread_read_again(int32_t fd, struct sonde__host_thread *ret_thread);

/* When a process began: with its pid, the number identifies it until the next boot. 0: not known.
 */
uint64_t sonde__host_process_start(int32_t pid);
/* Does a process with this pid and start (0: any) run? False: it has ended, or is just ending. If
 * the system does not show its start, it is taken for the same one. */
bool sonde__host_process_lives(int32_t pid, uint64_t start);

/* Has this thread ended, or is it just ending? */
bool sonde__host_thread_ended(int32_t pid, uint64_t tid);

/* Read only the tids of a process: several times cheaper. Returns, Ownership: as
 * sonde__host_threads_read(). */
SONDE_NODISCARD enum sonde_status sonde__host_tids_read(int32_t pid, uint64_t **ret_tids,
                                                        size_t *ret_count,
                                                        struct sonde_error *ret_error);

/* Read all threads of a process, main thread first, then by tid. Threads that end meanwhile are
 * left out. Returns OK | ABSENT | DENIED | MEMORY | OS. Ownership: free *ret_threads with
 * sonde__mem_free(). */
SONDE_NODISCARD enum sonde_status sonde__host_threads_read(int32_t pid,
                                                           struct sonde__host_thread **ret_threads,
                                                           uint32_t *ret_count,
                                                           struct sonde_error *ret_error);

struct sonde__host_process {
    int32_t pid;  /* of the process, even if a tid was given */
    uint32_t uid; /* effective */
    bool own_user;
    bool dumpable;  /* false: root owns its /proc files; it changed its user, or asked for this */
    bool kernel;    /* a kernel thread: no user memory */
    bool zombie;    /* all its threads have ended */
    int32_t tracer; /* pid of the tracer, 0: none */
    bool filtered;  /* has a seccomp filter */
};
/* Returns OK | ABSENT | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_process_read(int32_t pid,
                                                           struct sonde__host_process *ret_process,
                                                           struct sonde_error *ret_error);

/* The number whose files in /proc show memory, program and namespaces of a process: `pid`, or that
 * of another thread if the main thread has ended before it (pthread_exit()). */
int32_t sonde__host_live_number(int32_t pid);

/* The program's path as the process sees it, without " (deleted)". False: unreadable. */
bool sonde__host_executable(int32_t pid, char *ret_path, size_t capacity);

/* Read the environment that the process started with: "NAME=VALUE" entries, each ended by a NUL.
 * Returns OK | ABSENT | DENIED | LIMIT (the first capacity - 1 bytes were read) | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_environ_read(int32_t pid, char *buffer,
                                                           size_t capacity, size_t *ret_size);

/* Paths that open the program's or a mapping's file even if it was deleted or replaced; opening
 * them may still fail. pid 0: this process (program only). "": not on this system. */
void sonde__host_program_file(int32_t pid, char *ret_path, size_t capacity);
void sonde__host_mapped_file(int32_t pid, uint64_t start, uint64_t end, char *ret_path,
                             size_t capacity);

/* Open a process' memory as a file: sonde__os_pread() at an address reads it. -1: not available.
 * Ownership: sonde__os_close(). */
int32_t sonde__host_memory_open(int32_t pid);

/* The pid of the process in its own, innermost namespace; `pid` if unknown. */
int32_t sonde__host_inner_pid(int32_t pid);
/* The same of its thread `tid`; 0: unknown. */
uint64_t sonde__host_inner_tid(int32_t pid, uint64_t tid);

/* The process' own root (chroot), as its maps spell paths. False: it is the top, or not known. */
bool sonde__host_own_root(int32_t pid, char *ret_path, size_t capacity);
/* A prefix for the paths in the process' maps, to open its files: "" in our own mount namespace.
 * False: `capacity` is too small. */
bool sonde__host_root_prefix(int32_t pid, char *ret_path, size_t capacity);

/* May this user read and trace any process (CAP_SYS_PTRACE)? */
bool sonde__host_may_trace_all(void);

/* Explain in one line, after a failed sonde__os_thread_open(), why a blocked thread's wait is
 * unknown, and what to do. */
void sonde__host_explain_no_wait(int32_t pid, uint64_t tid, enum sonde_status status,
                                 char *ret_text, size_t capacity);

/* Describe this thread's tracer in one line. False: there is none. */
bool sonde__host_explain_tracer(uint64_t tid, char *ret_text, size_t capacity);

/* Do the /proc files of a thread show the registers of this architecture? Under an emulator
 * (qemu-user) they silently show the host's. Tests a thread of ours that is blocked in a known
 * call: number, arguments and stack pointer must match. Returns OK | UNSUPPORTED (they do not) |
 * DENIED | OS (the test failed). Blocks: some 10 us. */
SONDE_NODISCARD enum sonde_status sonde__host_passive_works(struct sonde_error *ret_error);

/* Wait for `fd` to be readable. Returns OK | TIMEOUT | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_wait_readable(int32_t fd, uint64_t timeout_ns);

void sonde__host_sleep(uint64_t ns);

#endif
