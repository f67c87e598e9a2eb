// SPDX-License-Identifier: Apache-2.0
/* All operating system functions that code in a signal handler may use.
 *
 * Every function is async-signal-safe: raw system calls, no errno, no thread-local storage, no
 * heap, no lock. A failing call does not change its out-parameters; `ret_os_error` (may be null)
 * receives the system's error number.
 *
 * Ports: linux/, darwin/ and sim/ (scripted threads, virtual clock, poisoned memory, for tests).
 * Calls that may block, allocate or be slow are in host/. Context: handler. */
#ifndef SONDE_OS_H
#define SONDE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* --- ids and clocks --- */

int32_t sonde__os_pid(void);
/* The tids of the calling thread and of the main thread (even if that has ended). */
uint64_t sonde__os_tid(void);
uint64_t sonde__os_main_tid(void);
/* Monotonic clock that stops while the machine sleeps. */
uint64_t sonde__os_now_ns(void);
/* CPU time of the calling thread. */
uint64_t sonde__os_cpu_ns(void);
/* The thread pointer of this thread (glibc: the thread control block, at the top of its stack). */
uint64_t sonde__os_thread_pointer(void);

/* --- memory --- */

/* Read this process' memory. Never faults. Returns the bytes read from `address` on (0..size, up to
 * the first unreadable page). */
size_t sonde__os_read(uint64_t address, void *ret_bytes, size_t size);

/* The method that sonde__os_read() uses. Each call tests it again: the program may install a system
 * call filter or fork at any time. */
enum sonde__os_reader {
    SONDE__OS_READER_NONE,    /* none works: every read returns 0 */
    SONDE__OS_READER_PROCESS, /* process_vm_readv */
    SONDE__OS_READER_PIPE,    /* through a pipe: after ENOSYS (emulator), or under seccomp */
};
enum sonde__os_reader sonde__os_reader(void);

/* A range of memory, to be read together with others. */
struct sonde__os_part {
    uint64_t address;
    void *bytes;
    size_t size;
    size_t got; /* result: bytes read from `address` on */
};
/* Read many ranges with few system calls. */
void sonde__os_read_parts(struct sonde__os_part *parts, size_t count);

/* Can the aligned word at `address` be read? The cheapest test that does not fault. The answer may
 * be outdated at once. */
bool sonde__os_can_read(uint64_t address);
/* Can the bytes on both sides of `boundary`, a page boundary, be read? One test. */
bool sonde__os_can_read_across(uint64_t boundary);

/* Read another process' memory, as sonde__os_read(); through /proc/PID/mem if process_vm_readv is
 * missing or refused. *ret_os_error is written if fewer than `size` bytes were read. */
size_t sonde__os_read_process(int32_t pid, uint64_t address, void *ret_bytes, size_t size,
                              int32_t *ret_os_error);

/* Read many ranges of another process, some hundred per system call. Context: not handler (8 KiB of
 * stack). */
void sonde__os_read_process_parts(int32_t pid, struct sonde__os_part *parts, size_t count);

/* Anonymous, private, zeroed memory in whole pages; null: out of memory. */
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
/* Write all bytes if possible: what a pipe or terminal refuses is lost. */
void sonde__os_write(int32_t fd, const void *bytes, size_t size);

/* The absolute path of the folder that paths are relative to: of an open folder, or with AT_FDCWD
 * of the process' current one, as the system knows it now. Returns its size, at most capacity - 1;
 * 0: unknown, too long, or not below the process' root. (Darwin: unknown.) */
size_t sonde__os_folder(int32_t fd, char *ret_path, size_t capacity);

/* --- threads --- */

/* The threads of process `pid` (0: this one), in the system's order (main thread first). *ret_total
 * counts all, also those that did not fit. Threads that start or end meanwhile may or may not be
 * listed. Returns OK | ABSENT | DENIED | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_list_threads(int32_t pid, uint64_t *ret_tids,
                                                         size_t capacity, size_t *ret_total,
                                                         int32_t *ret_os_error);

/* The number of threads of this process: much cheaper than the list. Returns OK | ABSENT (no /proc)
 * | DENIED | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_count_threads(size_t *ret_count);

/* Small text files about a thread. Keep one open for several reads: that is three times cheaper,
 * and still allowed after the process has changed its user. */
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

/* Where a thread waits, as of one read. The words are private to the port: use the functions below,
 * and sonde__os_wait_regs() (os_context.h) for registers. All zero: the thread runs. */
struct sonde__os_wait {
    uint64_t words[10];
};
/* Do two reads show the thread in the same place of the same wait? */
bool sonde__os_wait_is_same(const struct sonde__os_wait *a, const struct sonde__os_wait *b);
/* False: it runs or may run; nothing else is known. */
bool sonde__os_wait_is_blocked(const struct sonde__os_wait *wait);
/* Its stack pointer; 0: unknown. */
uint64_t sonde__os_wait_sp(const struct sonde__os_wait *wait);

/* The system call that a thread waits in. */
struct sonde__os_call {
    int64_t number; /* -1: none. It runs, or is blocked outside of a call (page fault, stopped by a
                       tracer), or the system does not tell calls */
    uint64_t args[6];
};
struct sonde__os_call sonde__os_wait_call(const struct sonde__os_wait *wait);
/* Replace the number of the call that it waits in. */
void sonde__os_wait_renumber(struct sonde__os_wait *wait, int64_t number);

/* Parse a thread's `syscall` file. False: malformed. */
bool sonde__os_parse_wait(const char *text, size_t size, struct sonde__os_wait *ret_wait);
/* Read it from a file that sonde__os_thread_open() opened. Returns OK | ABSENT (thread ended) |
 * DENIED | CORRUPT | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_read_wait(int32_t fd, struct sonde__os_wait *ret_wait,
                                                      int32_t *ret_os_error);

/* Time on a CPU, time runnable without one, and the number of slices. If it is equal before and
 * after a read of a thread's stack, the thread did not run in between. */
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

/* This process as a sender of signals: read once for many signals. */
struct sonde__os_sender {
    int32_t pid;
    uint32_t uid;
};
struct sonde__os_sender sonde__os_sender(void);

/* Send `signal` to a thread of this process; the handler gets `value` in si_value, with si_code
 * SI_QUEUE. Returns OK | ABSENT (no such thread) | BUSY (signal queue full) | DENIED | OS |
 * UNSUPPORTED (Darwin). */
SONDE_NODISCARD enum sonde_status sonde__os_signal_thread(struct sonde__os_sender sender,
                                                          uint64_t tid, int32_t signal,
                                                          uint64_t value);
/* The address of this process' handler for a signal; 0 and 1 are SIG_DFL and SIG_IGN. False:
 * unknown. */
bool sonde__os_signal_handler(int32_t signal, uint64_t *ret_function);
/* Is `signal`, which the calling thread blocks, pending for it? */
bool sonde__os_signal_is_pending(int32_t signal);
/* Make every thread of this process that has a CPU enter the kernel, and return when all have:
 * unblocked signals that were pending before the call are delivered before the thread executes
 * another instruction of the program. False: not supported. Call _prepare() once per process
 * before; it may sleep for some milliseconds, later calls are quick. */
bool sonde__os_interrupt_prepare(void);
bool sonde__os_interrupt_running(void);
/* The alternate signal stack of this thread. False: none. *ret_active: the thread runs on it. */
bool sonde__os_alternate_stack(uint64_t *ret_start, uint64_t *ret_end, bool *ret_active);

/* --- waiting --- */

#define SONDE__OS_FOREVER UINT64_MAX
/* Sleep while *word == expected (Linux: a futex). shared: the word is in memory shared with other
 * processes. Returns OK (woken, value differs, or interrupted: check again) | TIMEOUT. */
SONDE_NODISCARD enum sonde_status sonde__os_sleep(const uint32_t *word, uint32_t expected,
                                                  uint64_t timeout_ns, bool shared);
/* Sleep until a time of the monotonic clock, on a word that is not shared. */
SONDE_NODISCARD enum sonde_status sonde__os_sleep_until(const uint32_t *word, uint32_t expected,
                                                        uint64_t until_ns);
/* Wake one sleeper, or all. False: nobody slept. */
bool sonde__os_wake(const uint32_t *word, bool all, bool shared);

/* --- the loader and stacks --- */

struct sonde__os_image {
    uint64_t start; /* of the mapping, in this address space */
    uint64_t end;
    uint64_t key; /* identifies the image; ELF: the loader's link map */
    /* unwind information: addresses, 0: none */
    uint64_t eh_frame_hdr;                  /* ELF: PT_GNU_EH_FRAME, which leads to .eh_frame */
    uint64_t eh_frame, eh_frame_size;       /* Mach-O: __eh_frame */
    uint64_t unwind_info, unwind_info_size; /* Mach-O: __unwind_info, compact unwind entries */
};
/* Can the loader look images up without a lock? (Not glibc before 2.35, not musl.) */
bool sonde__os_loader_answers(void);
/* Find the loaded image that contains `pc`, without a lock. False: none. If the loader cannot do
 * that, only the image of this code (the whole program if static) and the vdso are found. */
bool sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image);

/* Swift's task that this thread runs (struct AsyncTask), by a function of Swift's runtime that
 * reads a thread-local variable. 0: none, or the program has no Swift runtime. */
uint64_t sonde__os_swift_task(void);

/* One past the highest address of the main thread's frames. False: unknown. */
bool sonde__os_main_stack_end(uint64_t *ret_end);

/* An upper bound for this thread's frames from `sp` outward: the main thread's stack end or the
 * thread pointer, whichever is above sp. Memory below the bound may be unmapped (coroutines,
 * alternate stacks). False: unknown. */
bool sonde__os_own_stack_end(uint64_t sp, uint64_t *ret_end);

/* --- code --- */

struct sonde__os_range {
    uint64_t start, end;
};
/* The executable segments of the program that cannot be written, by the program headers that the
 * kernel gave it. Not verified: a program may have replaced itself since. Returns how many it has
 * stored, at most `capacity`. (Darwin: none, each image has unwind information.) */
uint32_t sonde__os_program_code(struct sonde__os_range *ret_ranges, uint32_t capacity);

struct sonde__os_code {
    uint64_t start, end; /* the range that the answer covers */
    bool is_code;        /* the memory there is executable */
};
/* Open this process' memory map. Ownership: sonde__os_close(). */
SONDE_NODISCARD enum sonde_status sonde__os_code_open(int32_t *ret_fd);
/* Is there executable memory at `address`? Takes about 1 us since Linux 6.11; older kernels make it
 * read the whole map: up to 1 ms with thousands of mappings. */
SONDE_NODISCARD enum sonde_status sonde__os_code_find(int32_t fd, uint64_t address,
                                                      struct sonde__os_code *ret_code);

#endif
