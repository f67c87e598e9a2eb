// SPDX-License-Identifier: Apache-2.0
/* The whole contract with the operating system for code that may run in a signal handler.
 *
 * Every function is async-signal-safe: raw system calls, no errno, no thread-local storage, no
 * heap, no lock, no state that is set up lazily. A failing call leaves its out-parameters alone;
 * `ret_os_error` (may be null) receives the system's error number.
 *
 * Ports: linux/ and sim/ (scripted threads, virtual clock, poisoned memory, for tests). Calls that
 * may block, allocate or be slow are in host/. Context of everything here: handler. */
#ifndef SONDE_OS_H
#define SONDE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* --- who and when --- */

int32_t sonde__os_pid(void);
/* The number of the calling thread, and of the main one (also where that has ended). */
uint64_t sonde__os_tid(void);
uint64_t sonde__os_main_tid(void);
/* Monotonic clock that stands still while the machine sleeps. */
uint64_t sonde__os_now_ns(void);
/* CPU time of the calling thread. */
uint64_t sonde__os_cpu_ns(void);
/* The thread pointer of this thread (glibc: the thread control block, at the top of its stack). */
uint64_t sonde__os_thread_pointer(void);

/* --- memory --- */

/* Read this process' memory. Never faults; returns how many bytes from `address` on could be read
 * (0..size, cut at the first unreadable page). */
size_t sonde__os_read(uint64_t address, void *ret_bytes, size_t size);

/* How sonde__os_read() works here. Found out anew by each call: a system-call filter or a fork may
 * come at any time. */
enum sonde__os_reader {
    SONDE__OS_READER_NONE,    /* nothing works: every read answers 0 */
    SONDE__OS_READER_PROCESS, /* process_vm_readv */
    SONDE__OS_READER_PIPE,    /* write to and read from a pipe: ENOSYS (emulator), seccomp */
};
enum sonde__os_reader sonde__os_reader(void);

/* A stretch of this process' memory, to read together with others. */
struct sonde__os_part {
    uint64_t address;
    void *bytes;
    size_t size;
    size_t got; /* result: bytes from `address` on that could be read */
};
/* Read many stretches, with far fewer system calls than one each. */
void sonde__os_read_parts(struct sonde__os_part *parts, size_t count);

/* Can the aligned word at `address` be read now? The cheapest test that does not fault; the answer
 * may change at once. */
bool sonde__os_can_read(uint64_t address);
/* The same for the bytes on both sides of `boundary`, a page boundary, in one test. */
bool sonde__os_can_read_across(uint64_t boundary);

/* Read another process' memory, as sonde__os_read(); where process_vm_readv is missing or refused,
 * through /proc/PID/mem. *ret_os_error is written when fewer than `size` bytes came. */
size_t sonde__os_read_process(int32_t pid, uint64_t address, void *ret_bytes, size_t size,
                              int32_t *ret_os_error);

/* Many stretches of another process, with one system call for some hundred. Context: not handler (8
 * KiB of stack). */
void sonde__os_read_process_parts(int32_t pid, struct sonde__os_part *parts, size_t count);

/* Anonymous private zeroed memory, whole pages; null: none to be had. */
void *sonde__os_map(size_t size);
void sonde__os_unmap(void *memory, size_t size);
size_t sonde__os_page_size(void);

/* --- files --- */

/* Open for reading, close-on-exec. Returns OK | ABSENT | DENIED | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_open(const char *path, int32_t *ret_fd,
                                                 int32_t *ret_os_error);
/* Returns OK | ABSENT (a /proc file of a thread that has ended) | DENIED | OS. *ret_size may be
 * smaller than `size`. */
SONDE_NODISCARD enum sonde_status sonde__os_pread(int32_t fd, void *ret_bytes, size_t size,
                                                  uint64_t offset, size_t *ret_size,
                                                  int32_t *ret_os_error);
void sonde__os_close(int32_t fd);
/* Write all of it if possible: what a pipe or terminal refuses is lost. */
void sonde__os_write(int32_t fd, const void *bytes, size_t size);

/* --- threads --- */

/* The threads of process `pid` (0: this one), in the system's order (main thread first).
 * *ret_total counts them all, also those that did not fit; a thread that starts or ends meanwhile
 * may be missing or listed. Returns OK | ABSENT | DENIED | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_list_threads(int32_t pid, uint64_t *ret_tids,
                                                         size_t capacity, size_t *ret_total,
                                                         int32_t *ret_os_error);

/* How many threads this process has: much cheaper than the list. Returns OK | ABSENT (no /proc) |
 * DENIED | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_count_threads(size_t *ret_count);

/* Small text files about a thread. Open one once and read it often: a read of an open file is
 * three times cheaper, and stays allowed after the process changed its user. */
enum sonde__os_thread_file {
    SONDE__OS_THREAD_SYSCALL,
    SONDE__OS_THREAD_SCHEDSTAT,
    SONDE__OS_THREAD_STAT,
    SONDE__OS_THREAD_COMM,
};
/* pid 0: this process. Returns as sonde__os_open(). */
SONDE_NODISCARD enum sonde_status sonde__os_thread_open(int32_t pid, uint64_t tid,
                                                        enum sonde__os_thread_file file,
                                                        int32_t *ret_fd, int32_t *ret_os_error);

/* Where a thread waits, as of one reading. The words are the port's: what they say is asked by the
 * functions below, registers by sonde__os_wait_regs() (os_context.h). All zero: a thread that runs.
 */
struct sonde__os_wait {
    uint64_t words[10];
};
/* Two readings of one thread: does it wait in the same place for the same? */
bool sonde__os_wait_is_same(const struct sonde__os_wait *a, const struct sonde__os_wait *b);
/* False: it runs, or may run, and nothing else is known. */
bool sonde__os_wait_is_blocked(const struct sonde__os_wait *wait);
/* Its stack pointer; 0: the system does not tell it. */
uint64_t sonde__os_wait_sp(const struct sonde__os_wait *wait);

/* The system call that a thread waits in. */
struct sonde__os_call {
    int64_t number; /* -1: none. It runs, or is blocked outside of a call (page fault, stopped by a
                       tracer), or the system does not tell calls */
    uint64_t args[6];
};
struct sonde__os_call sonde__os_wait_call(const struct sonde__os_wait *wait);

/* Parse the text of a thread's `syscall` file. False: it is no such text. */
bool sonde__os_parse_wait(const char *text, size_t size, struct sonde__os_wait *ret_wait);
/* Read it from a file that sonde__os_thread_open() opened. Returns OK | ABSENT (thread ended) |
 * DENIED | CORRUPT | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_read_wait(int32_t fd, struct sonde__os_wait *ret_wait,
                                                      int32_t *ret_os_error);

/* Time on a CPU, time runnable but waiting for one, and how often it got one. Two equal readings
 * around a read of a thread's stack prove that it did not run in between. */
struct sonde__os_schedstat {
    uint64_t cpu_ns;
    uint64_t runqueue_ns;
    uint64_t slices;
};
bool sonde__os_schedstat_is_same(const struct sonde__os_schedstat *a,
                                 const struct sonde__os_schedstat *b);
bool sonde__os_parse_schedstat(const char *text, size_t size,
                               struct sonde__os_schedstat *ret_schedstat);
SONDE_NODISCARD enum sonde_status
sonde__os_read_schedstat(int32_t fd, struct sonde__os_schedstat *ret, int32_t *ret_os_error);

/* --- signals --- */

/* The sender of signals of this process: read once for many signals. */
struct sonde__os_sender {
    int32_t pid;
    uint32_t uid;
};
struct sonde__os_sender sonde__os_sender(void);

/* Send `signal` to a thread of this process; the handler finds `value` in si_value (its si_code is
 * SI_QUEUE). Returns OK | ABSENT (no such thread) | BUSY (signal queue full) | DENIED | OS |
 * UNSUPPORTED (Darwin). */
SONDE_NODISCARD enum sonde_status sonde__os_signal_thread(struct sonde__os_sender sender,
                                                          uint64_t tid, int32_t signal,
                                                          uint64_t value);
/* The address of the handler of a signal in this process; 0 and 1 are SIG_DFL and SIG_IGN. False:
 * unknown. */
bool sonde__os_signal_handler(int32_t signal, uint64_t *ret_function);
/* Has the calling thread, which blocks `signal`, one of it waiting? */
bool sonde__os_signal_is_pending(int32_t signal);
/* Make every thread of this process that has a CPU enter the kernel, and return when all have: what
 * was pending for a thread before the call, and is not blocked, is delivered before it executes
 * another instruction of the program. False: this system cannot. _prepare() makes it possible, once
 * in a process; it may sleep for some milliseconds, and is quick when called again. */
bool sonde__os_interrupt_prepare(void);
bool sonde__os_interrupt_running(void);
/* The alternate signal stack of this thread. False: it has none. *ret_active: running on it. */
bool sonde__os_alternate_stack(uint64_t *ret_start, uint64_t *ret_end, bool *ret_active);

/* --- waiting --- */

#define SONDE__OS_FOREVER UINT64_MAX
/* Sleep while *word == expected (Linux: a futex). `shared`: the word lies in memory shared with
 * other processes. Returns OK (woken, value differs, or interrupted: look again) | TIMEOUT. */
SONDE_NODISCARD enum sonde_status sonde__os_sleep(const uint32_t *word, uint32_t expected,
                                                  uint64_t timeout_ns, bool shared);
/* The same up to a moment of the monotonic clock, of a word that is not shared. */
SONDE_NODISCARD enum sonde_status sonde__os_sleep_until(const uint32_t *word, uint32_t expected,
                                                        uint64_t until_ns);
/* Wake one sleeper, or all. False: nobody slept. */
bool sonde__os_wake(const uint32_t *word, bool all, bool shared);

/* --- the loader and stacks --- */

struct sonde__os_image {
    uint64_t start; /* of the mapping, in this address space */
    uint64_t end;
    uint64_t key; /* tells images apart: ELF: the loader's link map */
    /* how to walk out of its code: addresses, 0: none */
    uint64_t eh_frame_hdr;                  /* ELF: PT_GNU_EH_FRAME, which leads to .eh_frame */
    uint64_t eh_frame, eh_frame_size;       /* Mach-O: __eh_frame */
    uint64_t unwind_info, unwind_info_size; /* Mach-O: __unwind_info, compact unwind entries */
};
/* Can the loader look images up without a lock? (Not glibc before 2.35, not musl.) */
bool sonde__os_loader_answers(void);
/* The loaded image that holds `pc`, without a lock. False: none. If the loader cannot, only the
 * image of this code (the only one of a static program) and the vdso are known. */
bool sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image);

/* One past the highest address that a frame of the main thread can have. False: not known. */
bool sonde__os_main_stack_end(uint64_t *ret_end);

/* A bound for this thread's frames from `sp` outward: the main thread's stack end or the thread
 * pointer, whichever lies above sp. It is a bound, not a promise that all memory below it is mapped
 * (coroutines, alternate stacks). False: not known. */
bool sonde__os_own_stack_end(uint64_t sp, uint64_t *ret_end);

/* --- code that no image holds --- */

struct sonde__os_code {
    uint64_t start, end; /* the answer holds in between */
    bool is_code;        /* the memory there is executable */
};
/* Open the memory map of this process. Ownership: sonde__os_close(). */
SONDE_NODISCARD enum sonde_status sonde__os_code_open(int32_t *ret_fd);
/* Is there executable memory at `address`? About 1 us since Linux 6.11; before, the whole map is
 * read: up to 1 ms with thousands of mappings. */
SONDE_NODISCARD enum sonde_status sonde__os_code_find(int32_t fd, uint64_t address,
                                                      struct sonde__os_code *ret_code);

#endif
