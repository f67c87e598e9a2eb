// SPDX-License-Identifier: Apache-2.0
/* Reads processes from /proc. */
#include "host_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base_status.h"
#include "host_file.h"
#include "host_maps.h"
#include "host_status.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "os.h"

enum { TEXT_CAPACITY = 8192, NS_PER_S = 1000000000 };
/* The kernel allows 4,194,304 pids; the list of a process with more threads than this is cut. */
enum { THREADS_MAX = 1 << 20 };
#define MAPS_BYTES_MAX ((size_t)1 << 28)

bool sonde__host_parse_stat(const char *text, size_t size, struct sonde__host_thread *ret_thread)
{
    struct sonde__host_thread thread = {.letter = '?'};
    const char *open = memchr(text, '(', size);
    const char *close = memrchr(text, ')', size);
    const char *at, *end = text + size;
    size_t length;
    if (open == NULL || close == NULL || close < open || end - close < 4) {
        return false;
    }
    thread.tid = (uint64_t)strtol(text, NULL, 10);
    length = (size_t)(close - open - 1);
    length = length < sizeof thread.name - 1 ? length : sizeof thread.name - 1;
    memcpy(thread.name, open + 1, length);
    thread.letter = close[2];
    /* fields are numbered as in proc(5): the letter is the third */
    at = close + 2;
    for (unsigned field = 3; field <= 39 && at < end; field++) {
        uint64_t value = strtoull(at, NULL, 10);
        switch (field) {
        case 9: /* PF_KTHREAD of Linux include/linux/sched.h */
            thread.kernel = (value >> 21 & 1) != 0;
            break;
        case 12:
            thread.major_faults = value;
            break;
        case 14:
            thread.user_ticks = value;
            break;
        case 15:
            thread.system_ticks = value;
            break;
        case 22:
            thread.start_ticks = value;
            break;
        case 39:
            thread.processor = (uint32_t)value;
            break;
        default:
            break;
        }
        at = memchr(at, ' ', (size_t)(end - at));
        if (at == NULL) {
            break;
        }
        at++;
    }
    *ret_thread = thread;
    return true;
}

enum sonde_status sonde__host_thread_read_again(int32_t fd, struct sonde__host_thread *ret_thread)
{
    char text[1024];
    size_t size = 0;
    SONDE_TRY(sonde__os_pread(fd, text, sizeof text - 1, 0, &size, NULL));
    text[size] = '\0';
    return sonde__host_parse_stat(text, size, ret_thread) ? SONDE_OK : SONDE_CORRUPT;
}

enum sonde_status sonde__host_thread_read(int32_t pid, uint64_t tid,
                                          struct sonde__host_thread *ret_thread)
{
    int32_t fd;
    SONDE_TRY(sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_STAT, &fd, NULL));
    enum sonde_status status = sonde__host_thread_read_again(fd, ret_thread);
    sonde__os_close(fd);
    return status;
}

bool sonde__host_thread_ended(int32_t pid, uint64_t tid)
{
    struct sonde__host_thread now = {.letter = '?'};
    enum sonde_status status = sonde__host_thread_read(pid, tid, &now);
    return status == SONDE_ABSENT ||
           (status == SONDE_OK && (now.letter == 'Z' || now.letter == 'X'));
}

uint64_t sonde__host_process_start(int32_t pid)
{
    struct sonde__host_thread main;
    return sonde__host_thread_read(pid, (uint64_t)pid, &main) == SONDE_OK ? main.start_ticks : 0;
}

bool sonde__host_process_lives(int32_t pid, uint64_t start)
{
    struct sonde__host_thread main;
    return sonde__host_thread_read(pid, (uint64_t)pid, &main) == SONDE_OK &&
           (start == 0 || start == main.start_ticks) && main.letter != 'Z' && main.letter != 'X';
}

static int compare_threads(const void *a, const void *b)
{
    const struct sonde__host_thread *x = a, *y = b;
    return SONDE__ORDER(x, y, tid);
}

/* The process may start threads between the two listings. */
enum sonde_status sonde__host_tids_read(int32_t pid, uint64_t **ret_tids, size_t *ret_count,
                                        struct sonde_error *ret_error)
{
    size_t capacity = 64, total = 0;
    int32_t os_error = 0;
    for (;;) {
        uint64_t *tids = sonde__mem_alloc_array(capacity, sizeof *tids);
        enum sonde_status status;
        if (tids == NULL) {
            return sonde__base_fail(ret_error, SONDE_MEMORY, "threads", NULL, 0, 0);
        }
        status = sonde__os_list_threads(pid, tids, capacity, &total, &os_error);
        if (status != SONDE_OK) {
            sonde__mem_free(tids);
            return sonde__base_fail(ret_error, status, "cannot list the threads", NULL, os_error,
                                    (uint64_t)pid);
        }
        if (total <= capacity || capacity >= THREADS_MAX) {
            *ret_tids = tids;
            *ret_count = total < capacity ? total : capacity;
            return SONDE_OK;
        }
        sonde__mem_free(tids);
        capacity = total + 64;
    }
}

enum sonde_status sonde__host_threads_read(int32_t pid, struct sonde__host_thread **ret_threads,
                                           uint32_t *ret_count, struct sonde_error *ret_error)
{
    uint64_t *tids = NULL;
    size_t count = 0;
    uint32_t found = 0;
    struct sonde__host_thread *threads;
    SONDE_TRY(sonde__host_tids_read(pid, &tids, &count, ret_error));
    threads = sonde__mem_alloc_array(count + 1, sizeof *threads);
    if (threads == NULL) {
        sonde__mem_free(tids);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "threads", NULL, 0, 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (sonde__host_thread_read(pid, tids[i], &threads[found]) == SONDE_OK) {
            threads[found].tid = tids[i];
            found++;
        }
    }
    sonde__mem_free(tids);
    qsort(threads, found, sizeof *threads, compare_threads);
    for (uint32_t i = 1; i < found; i++) {
        if (threads[i].tid == (uint64_t)pid) { /* pids wrap: a thread may have a lower number */
            struct sonde__host_thread main_thread = threads[i];
            memmove(threads + 1, threads, i * sizeof *threads);
            threads[0] = main_thread;
        }
    }
    *ret_threads = threads;
    *ret_count = found;
    return SONDE_OK;
}

static uint64_t status_field(const char *text, const char *name, unsigned column)
{
    const char *line = strstr(text, name);
    uint64_t value = 0;
    char *end;
    if (line == NULL) {
        return 0;
    }
    line += strlen(name);
    for (unsigned i = 0; i <= column; i++) {
        value = strtoull(line, &end, 10);
        line = end;
    }
    return value;
}

enum sonde_status sonde__host_process_read(int32_t pid, struct sonde__host_process *ret_process,
                                           struct sonde_error *ret_error)
{
    struct sonde__host_process process = {.pid = pid};
    struct sonde__host_thread thread;
    char path[64], text[TEXT_CAPACITY];
    size_t size = 0;
    struct stat owner;
    enum sonde_status status;
    const char *state;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    status = sonde__host_file_read(path, text, sizeof text, &size, NULL);
    if (pid <= 0 || (status != SONDE_OK && status != SONDE_LIMIT)) {
        return sonde__base_fail(ret_error, pid <= 0 ? SONDE_ABSENT : status, "no such process",
                                NULL, ESRCH, (uint64_t)pid);
    }
    process.pid = (int32_t)status_field(text, "\nTgid:", 0);
    process.uid = (uint32_t)status_field(text, "\nUid:", 1);
    process.tracer = (int32_t)status_field(text, "\nTracerPid:", 0);
    process.filtered = status_field(text, "\nSeccomp:", 0) == 2;
    state = strstr(text, "\nState:\t");
    int32_t live = sonde__host_live_number(process.pid);
    process.zombie = state != NULL && (state[8] == 'Z' || state[8] == 'X') && live == process.pid;
    process.own_user = process.uid == (uint32_t)geteuid();
    process.dumpable = true;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)live);
    if (stat(path, &owner) == 0) {
        process.dumpable = (uint32_t)owner.st_uid == process.uid;
    }
    /* a process that is just ending has no memory and no program either */
    process.kernel =
        sonde__host_thread_read(pid, (uint64_t)pid, &thread) == SONDE_OK && thread.kernel;
    *ret_process = process;
    return SONDE_OK;
}

int32_t sonde__host_live_number(int32_t pid)
{
    uint64_t *tids = NULL;
    size_t count = 0;
    int32_t live = pid;
    if (pid <= 0 || !sonde__host_thread_ended(pid, (uint64_t)pid) ||
        sonde__host_tids_read(pid, &tids, &count, NULL) != SONDE_OK) {
        return pid;
    }
    for (size_t i = 0; i < count && live == pid; i++) {
        live = sonde__host_thread_ended(pid, tids[i]) ? pid : (int32_t)tids[i];
    }
    sonde__mem_free(tids);
    return live;
}

enum sonde_status sonde__host_environ_read(int32_t pid, char *buffer, size_t capacity,
                                           size_t *ret_size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)sonde__host_live_number(pid));
    return sonde__host_file_read(path, buffer, capacity, ret_size, NULL);
}

bool sonde__host_executable(int32_t pid, char *ret_path, size_t capacity)
{
    static const char deleted[] = " (deleted)";
    char path[64];
    ssize_t n;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)sonde__host_live_number(pid));
    n = readlink(path, ret_path, capacity - 1);
    if (n <= 0) {
        return false;
    }
    ret_path[n] = '\0';
    if ((size_t)n > sizeof deleted - 1 &&
        strcmp(ret_path + n - (sizeof deleted - 1), deleted) == 0) {
        ret_path[(size_t)n - (sizeof deleted - 1)] = '\0';
    }
    return true;
}

void sonde__host_program_file(int32_t pid, char *ret_path, size_t capacity)
{
    snprintf(ret_path, capacity, pid == 0 ? "/proc/self/exe" : "/proc/%d/exe",
             (int)sonde__host_live_number(pid));
}

void sonde__host_mapped_file(int32_t pid, uint64_t start, uint64_t end, char *ret_path,
                             size_t capacity)
{
    snprintf(ret_path, capacity, "/proc/%d/map_files/%llx-%llx", (int)sonde__host_live_number(pid),
             (unsigned long long)start, (unsigned long long)end);
}

int32_t sonde__host_memory_open(int32_t pid)
{
    char path[48];
    int32_t fd;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)sonde__host_live_number(pid));
    return sonde__os_open(path, &fd, NULL) == SONDE_OK ? fd : -1;
}

/* The last number of the line "NSpid:" is the innermost namespace's. */
uint64_t sonde__host_inner_tid(int32_t pid, uint64_t tid)
{
    char status[SONDE__HOST_STATUS_BYTES];
    const char *line;
    uint64_t found = 0;
    if (!sonde__host_read_status(pid, tid, status) || (line = strstr(status, "\nNSpid:")) == NULL) {
        return 0;
    }
    line += 7;
    while (*line != '\n' && *line != '\0') {
        char *end;
        uint64_t value = strtoull(line, &end, 10);
        if (end == line) {
            break;
        }
        found = value;
        line = end;
    }
    return found;
}

int32_t sonde__host_inner_pid(int32_t pid)
{
    int32_t found = (int32_t)sonde__host_inner_tid(pid, (uint64_t)pid);
    return found != 0 ? found : pid;
}

void sonde__host_explain_no_wait(int32_t pid, uint64_t tid, enum sonde_status status,
                                 char *ret_text, size_t capacity)
{
    snprintf(ret_text, capacity,
             "/proc/%d/task/%" PRIu64 "/syscall %s: `sonde stacks --stop` does without it", pid,
             tid,
             status == SONDE_ABSENT   ? "is missing in this kernel"
             : status == SONDE_DENIED ? "may not be read"
                                      : "cannot be read");
}

/* Is `pid` in our mount namespace? */
static bool shares_mounts(int32_t pid)
{
    char path[64], ours[64] = "", theirs[64] = "";
    ssize_t n, m;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
    n = readlink(path, theirs, sizeof theirs);
    m = readlink("/proc/self/ns/mnt", ours, sizeof ours);
    return n > 0 && n == m && memcmp(ours, theirs, (size_t)n) == 0;
}

bool sonde__host_own_root(int32_t pid, char *ret_path, size_t capacity)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root", sonde__host_live_number(pid));
    ssize_t n = readlink(path, ret_path, capacity);
    if (n <= 1 || (size_t)n >= capacity) {
        return false;
    }
    ret_path[n] = '\0';
    return true;
}

/* A mapping's path ignores the process' own root (chroot): in our mount namespace it is our path,
 * in another one it starts at that namespace's top. We reach the top through the process' root and
 * one ".." for each folder between root and top; ".." stops at the top and at our root, not at the
 * process' root. */
bool sonde__host_root_prefix(int32_t pid, char *ret_path, size_t capacity)
{
    char path[64], root[SONDE__HOST_PATH_MAX];
    size_t used;
    ssize_t n;
    if (capacity == 0) {
        return false;
    }
    ret_path[0] = '\0';
    pid = sonde__host_live_number(pid);
    if (shares_mounts(pid)) {
        return true;
    }
    snprintf(path, sizeof path, "/proc/%d/root", pid);
    n = readlink(path, root, sizeof root);
    used = (size_t)snprintf(ret_path, capacity, "%s", path);
    for (ssize_t i = 0; i + 1 < n && used + 4 < capacity; i++) {
        if (root[i] == '/') {
            used += (size_t)snprintf(ret_path + used, capacity - used, "/..");
        }
    }
    return used + 4 < capacity;
}

bool sonde__host_may_trace_all(void)
{
    char text[TEXT_CAPACITY];
    size_t size = 0;
    enum sonde_status status =
        sonde__host_file_read("/proc/self/status", text, sizeof text, &size, NULL);
    const char *line =
        status == SONDE_OK || status == SONDE_LIMIT ? strstr(text, "\nCapEff:") : NULL;
    /* capabilities(7): CAP_SYS_PTRACE is number 19 */
    return line != NULL && (strtoull(line + 8, NULL, 16) >> 19 & 1) != 0;
}

bool sonde__host_explain_tracer(uint64_t tid, char *ret_text, size_t capacity)
{
    struct sonde__host_process traced = {0}, process = {0};
    struct sonde__host_thread tracer;
    if (sonde__host_process_read((int32_t)tid, &traced, NULL) != SONDE_OK || traced.tracer == 0) {
        return false;
    }
    /* the tracer is a thread */
    int32_t pid = sonde__host_process_read(traced.tracer, &process, NULL) == SONDE_OK
                      ? process.pid
                      : traced.tracer;
    if (sonde__host_thread_read(pid, (uint64_t)pid, &tracer) != SONDE_OK) {
        snprintf(ret_text, capacity, "process %d traces it already: detach that", pid);
    } else {
        snprintf(ret_text, capacity, "process %d (%s) traces it already: detach that", pid,
                 tracer.name);
    }
    return true;
}

/* *ret_text: the whole file, read at once into a growing buffer: pieces might not match. The
 * caller frees it. */
static enum sonde_status read_maps(int32_t pid, char **ret_text, size_t *ret_size,
                                   struct sonde_error *ret_error)
{
    char path[64];
    size_t capacity = 65536;
    enum sonde_status status;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    *ret_text = NULL;
    *ret_size = 0;
    do {
        capacity *= 2;
        sonde__mem_free(*ret_text);
        *ret_text = sonde__mem_alloc(capacity);
        if (*ret_text == NULL) {
            return sonde__base_fail(ret_error, SONDE_MEMORY, path, NULL, 0, 0);
        }
        status = sonde__host_file_read(path, *ret_text, capacity, ret_size, ret_error);
    } while (status == SONDE_LIMIT && capacity < MAPS_BYTES_MAX);
    return status;
}

enum sonde_status sonde__host_maps_read(int32_t pid, struct sonde__host_maps *ret_maps,
                                        struct sonde_error *ret_error)
{
    size_t size;
    char *text;
    enum sonde_status status = read_maps(pid, &text, &size, ret_error);
    int32_t live = status == SONDE_OK && size == 0 ? sonde__host_live_number(pid) : pid;
    if (live != pid) {
        sonde__mem_free(text);
        status = read_maps(live, &text, &size, ret_error);
    }
    if (status == SONDE_OK) {
        status = sonde__host_maps_parse(text, size, ret_maps);
    }
    sonde__mem_free(text);
    return status;
}

enum sonde_status sonde__host_wait_readable(int32_t fd, uint64_t timeout_ns)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct timespec t = {(time_t)(timeout_ns / NS_PER_S), (long)(timeout_ns % NS_PER_S)};
    int n = ppoll(&p, 1, timeout_ns == SONDE__OS_FOREVER ? NULL : &t, NULL);
    return n > 0 ? SONDE_OK : n == 0 || errno == EINTR ? SONDE_TIMEOUT : SONDE_OS;
}

void sonde__host_sleep(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    (void)nanosleep(&t, NULL);
}
