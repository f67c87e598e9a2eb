// SPDX-License-Identifier: Apache-2.0
/* os.h, answered from a script (sim.h). Test code: the heap and libc are allowed here. */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"

enum { FILES = 4, FD_BASE = 100000, PAGE = 4096 };

struct file {
    const char *texts[SONDE__SIM_TEXTS_MAX];
    unsigned count, next;
    int32_t os_error;
};

struct thread {
    uint64_t tid;
    bool ended;
    struct file files[FILES];
};

struct region {
    uint64_t start, end;
    const uint8_t *bytes; /* null: poisoned */
};

static struct {
    int32_t pid;
    uint64_t tid;
    uint64_t now_ns, reads, stack_end;
    bool real_memory;
    struct thread threads[SONDE__SIM_THREADS_MAX];
    unsigned thread_count;
    struct region regions[SONDE__SIM_REGIONS_MAX];
    unsigned region_count;
    struct sonde__os_image images[SONDE__SIM_REGIONS_MAX];
    unsigned image_count;
    uint64_t alternate_start, alternate_end;
    bool alternate_active;
    void (*on_signal)(uint64_t, int32_t, uint64_t);
    void (*on_wait)(const uint32_t *);
} sim;

static struct thread *find_thread(uint64_t tid)
{
    for (unsigned i = 0; i < sim.thread_count; i++) {
        if (sim.threads[i].tid == tid) {
            return &sim.threads[i];
        }
    }
    return NULL;
}

static struct thread *need_thread(uint64_t tid)
{
    struct thread *thread = find_thread(tid);
    if (thread == NULL) {
        abort(); /* the script names a thread that it did not add */
    }
    return thread;
}

/* --- the script --- */

void sonde__sim_reset(void)
{
    memset(&sim, 0, sizeof sim);
    sim.pid = 100;
    sim.tid = 100;
    sim.now_ns = 1000000000;
}

void sonde__sim_set_self(int32_t pid, uint64_t tid)
{
    sim.pid = pid;
    sim.tid = tid;
}

void sonde__sim_add_thread(uint64_t tid)
{
    if (sim.thread_count == SONDE__SIM_THREADS_MAX) {
        abort();
    }
    sim.threads[sim.thread_count++].tid = tid;
}

void sonde__sim_end_thread(uint64_t tid)
{
    need_thread(tid)->ended = true;
}

void sonde__sim_add_text(uint64_t tid, unsigned file, const char *text)
{
    struct file *f = &need_thread(tid)->files[file];
    if (f->count == SONDE__SIM_TEXTS_MAX) {
        abort();
    }
    f->texts[f->count++] = text;
}

void sonde__sim_deny(uint64_t tid, unsigned file, int32_t os_error)
{
    need_thread(tid)->files[file].os_error = os_error;
}

static void add_region(uint64_t address, const void *bytes, size_t size)
{
    if (sim.region_count == SONDE__SIM_REGIONS_MAX) {
        abort();
    }
    sim.regions[sim.region_count++] = (struct region){address, address + size, bytes};
}

void sonde__sim_map(uint64_t address, const void *bytes, size_t size)
{
    add_region(address, bytes, size);
}

void sonde__sim_poison(uint64_t address, size_t size)
{
    add_region(address, NULL, size);
}

void sonde__sim_allow_real_memory(bool allow)
{
    sim.real_memory = allow;
}

uint64_t sonde__sim_read_count(void)
{
    return sim.reads;
}

void sonde__sim_advance(uint64_t ns)
{
    sim.now_ns += ns;
}

void sonde__sim_on_signal(void (*handler)(uint64_t tid, int32_t signal, uint64_t value))
{
    sim.on_signal = handler;
}

void sonde__sim_on_wait(void (*handler)(const uint32_t *word))
{
    sim.on_wait = handler;
}

void sonde__sim_add_image(uint64_t start, uint64_t end, uint64_t eh_frame_hdr, uint64_t key)
{
    if (sim.image_count == SONDE__SIM_REGIONS_MAX) {
        abort();
    }
    sim.images[sim.image_count++] = (struct sonde__os_image){
        .start = start, .end = end, .key = key, .eh_frame_hdr = eh_frame_hdr};
}

void sonde__sim_set_stack_end(uint64_t end)
{
    sim.stack_end = end;
}

void sonde__sim_set_alternate_stack(uint64_t start, uint64_t end, bool active)
{
    sim.alternate_start = start;
    sim.alternate_end = end;
    sim.alternate_active = active;
}

/* --- os.h --- */

int32_t sonde__os_pid(void)
{
    return sim.pid;
}

uint64_t sonde__os_main_tid(void)
{
    return (uint64_t)sim.pid;
}

uint64_t sonde__os_tid(void)
{
    return sim.tid;
}

uint64_t sonde__os_now_ns(void)
{
    return sim.now_ns;
}

uint64_t sonde__os_cpu_ns(void)
{
    return sim.now_ns;
}

uint64_t sonde__os_thread_pointer(void)
{
    return sim.stack_end;
}

size_t sonde__os_page_size(void)
{
    return PAGE;
}

/* Byte by byte: a script's regions have no order and no alignment. */
static bool read_byte(uint64_t address, uint8_t *ret_byte)
{
    for (unsigned i = sim.region_count; i > 0; i--) {
        const struct region *r = &sim.regions[i - 1];
        if (address >= r->start && address < r->end) {
            if (r->bytes != NULL) {
                *ret_byte = r->bytes[address - r->start];
            }
            return r->bytes != NULL;
        }
    }
    if (sim.real_memory) {
        *ret_byte = *(const uint8_t *)(uintptr_t)address;
    }
    return sim.real_memory;
}

size_t sonde__os_read(uint64_t address, void *ret_bytes, size_t size)
{
    size_t done = 0;
    sim.reads++;
    while (done < size && read_byte(address + done, (uint8_t *)ret_bytes + done)) {
        done++;
    }
    return done;
}

bool sonde__os_can_read(uint64_t address)
{
    uint8_t byte;
    return sonde__os_read(address, &byte, 1) == 1;
}

bool sonde__os_can_read_across(uint64_t boundary)
{
    uint8_t bytes[2];
    return sonde__os_read(boundary - 1, bytes, sizeof bytes) == sizeof bytes;
}

void sonde__os_read_parts(struct sonde__os_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        parts[i].got = sonde__os_read(parts[i].address, parts[i].bytes, parts[i].size);
    }
}

enum sonde__os_reader sonde__os_reader(void)
{
    return SONDE__OS_READER_PROCESS;
}

size_t sonde__os_read_process(int32_t pid, uint64_t address, void *ret_bytes, size_t size,
                              int32_t *ret_os_error)
{
    size_t done = pid == sim.pid ? sonde__os_read(address, ret_bytes, size) : 0;
    if (done < size && ret_os_error != NULL) {
        *ret_os_error = pid == sim.pid ? EFAULT : ESRCH;
    }
    return done;
}

void sonde__os_read_process_parts(int32_t pid, struct sonde__os_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        parts[i].got =
            sonde__os_read_process(pid, parts[i].address, parts[i].bytes, parts[i].size, NULL);
    }
}

void *sonde__os_map(size_t size)
{
    return aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
}

void sonde__os_unmap(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

static enum sonde_status refuse(int32_t os_error, int32_t *ret_os_error)
{
    if (ret_os_error != NULL) {
        *ret_os_error = os_error;
    }
    return os_error == ENOENT || os_error == ESRCH   ? SONDE_ABSENT
           : os_error == EPERM || os_error == EACCES ? SONDE_DENIED
                                                     : SONDE_OS;
}

size_t sonde__os_folder(int32_t fd, char *ret_path, size_t capacity)
{
    (void)fd, (void)ret_path, (void)capacity;
    return 0;
}

enum sonde_status sonde__os_open(const char *path, int32_t *ret_fd, int32_t *ret_os_error)
{
    (void)path, (void)ret_fd;
    return refuse(ENOENT, ret_os_error);
}

enum sonde_status sonde__os_pread(int32_t fd, void *ret_bytes, size_t size, uint64_t offset,
                                  size_t *ret_size, int32_t *ret_os_error)
{
    unsigned index = (unsigned)(fd - FD_BASE);
    struct thread *thread;
    struct file *file;
    const char *text;
    size_t length;
    if (fd < FD_BASE || index / FILES >= sim.thread_count) {
        return refuse(EBADF, ret_os_error);
    }
    thread = &sim.threads[index / FILES];
    file = &thread->files[index % FILES];
    if (thread->ended || file->os_error != 0) {
        return refuse(thread->ended ? ESRCH : file->os_error, ret_os_error);
    }
    text = file->count == 0 ? "" : file->texts[file->next];
    file->next += file->next + 1 < file->count;
    length = strlen(text);
    length = offset >= length ? 0 : length - offset;
    length = length < size ? length : size;
    memcpy(ret_bytes, text + (length > 0 ? offset : 0), length);
    *ret_size = length;
    return SONDE_OK;
}

void sonde__os_close(int32_t fd)
{
    (void)fd;
}

void sonde__os_write(int32_t fd, const void *bytes, size_t size)
{
    (void)fd;
    (void)bytes;
    (void)size;
}

enum sonde_status sonde__os_list_threads(int32_t pid, uint64_t *ret_tids, size_t capacity,
                                         size_t *ret_total, int32_t *ret_os_error)
{
    size_t total = 0;
    if (pid != 0 && pid != sim.pid) {
        return refuse(ENOENT, ret_os_error);
    }
    for (unsigned i = 0; i < sim.thread_count; i++) {
        if (!sim.threads[i].ended) {
            if (total < capacity) {
                ret_tids[total] = sim.threads[i].tid;
            }
            total++;
        }
    }
    *ret_total = total;
    return SONDE_OK;
}

enum sonde_status sonde__os_count_threads(size_t *ret_count)
{
    return sonde__os_list_threads(0, NULL, 0, ret_count, NULL);
}

enum sonde_status sonde__os_thread_open(int32_t pid, uint64_t tid, enum sonde__os_thread_file file,
                                        int32_t *ret_fd, int32_t *ret_os_error)
{
    struct thread *thread = pid == 0 || pid == sim.pid ? find_thread(tid) : NULL;
    if (thread == NULL || thread->ended) {
        return refuse(ENOENT, ret_os_error);
    }
    if (thread->files[file].os_error != 0) {
        return refuse(thread->files[file].os_error, ret_os_error);
    }
    *ret_fd = FD_BASE + (int32_t)(thread - sim.threads) * FILES + (int32_t)file;
    return SONDE_OK;
}

enum sonde_status sonde__os_read_wait(int32_t fd, struct sonde__os_wait *ret_wait,
                                      int32_t *ret_os_error)
{
    char text[256];
    size_t size = 0;
    enum sonde_status status = sonde__os_pread(fd, text, sizeof text, 0, &size, ret_os_error);
    if (status != SONDE_OK) {
        return status;
    }
    return sonde__os_parse_wait(text, size, ret_wait) ? SONDE_OK : SONDE_CORRUPT;
}

enum sonde_status sonde__os_read_schedstat(int32_t fd, struct sonde__os_schedstat *ret,
                                           int32_t *ret_os_error)
{
    char text[256];
    size_t size = 0;
    enum sonde_status status = sonde__os_pread(fd, text, sizeof text, 0, &size, ret_os_error);
    if (status != SONDE_OK) {
        return status;
    }
    return sonde__os_parse_schedstat(text, size, ret) ? SONDE_OK : SONDE_CORRUPT;
}

struct sonde__os_sender sonde__os_sender(void)
{
    return (struct sonde__os_sender){sim.pid, 0};
}

enum sonde_status sonde__os_signal_thread(struct sonde__os_sender sender, uint64_t tid,
                                          int32_t signal, uint64_t value)
{
    (void)sender;
    struct thread *thread = find_thread(tid);
    if (thread == NULL || thread->ended) {
        return SONDE_ABSENT;
    }
    if (sim.on_signal != NULL) {
        sim.on_signal(tid, signal, value);
    }
    return SONDE_OK;
}

bool sonde__os_signal_handler(int32_t signal, uint64_t *ret_function)
{
    (void)signal, (void)ret_function;
    return false;
}

bool sonde__os_signal_is_pending(int32_t signal)
{
    (void)signal;
    return false;
}

bool sonde__os_interrupt_prepare(void)
{
    return false;
}

bool sonde__os_interrupt_running(void)
{
    return false;
}

bool sonde__os_alternate_stack(uint64_t *ret_start, uint64_t *ret_end, bool *ret_active)
{
    if (sim.alternate_end == 0) {
        return false;
    }
    *ret_start = sim.alternate_start;
    *ret_end = sim.alternate_end;
    *ret_active = sim.alternate_active;
    return true;
}

enum sonde_status sonde__os_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns,
                                  bool shared)
{
    (void)shared;
    if (*word != expected) {
        return SONDE_OK;
    }
    if (sim.on_wait != NULL) {
        sim.on_wait(word);
        if (*word != expected) {
            return SONDE_OK;
        }
    }
    if (timeout_ns == SONDE__OS_FOREVER) {
        abort(); /* the script would sleep for ever */
    }
    sim.now_ns += timeout_ns;
    return SONDE_TIMEOUT;
}

enum sonde_status sonde__os_sleep_until(const uint32_t *word, uint32_t expected, uint64_t until_ns)
{
    uint64_t left_ns = until_ns > sim.now_ns ? until_ns - sim.now_ns : 0;
    return sonde__os_sleep(word, expected, left_ns, false);
}

bool sonde__os_wake(const uint32_t *word, bool all, bool shared)
{
    (void)word, (void)all, (void)shared;
    return false;
}

bool sonde__os_loader_answers(void)
{
    return true;
}

bool sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image)
{
    for (unsigned i = 0; i < sim.image_count; i++) {
        if (pc >= sim.images[i].start && pc < sim.images[i].end) {
            *ret_image = sim.images[i];
            return true;
        }
    }
    return false;
}

bool sonde__os_main_stack_end(uint64_t *ret_end)
{
    if (sim.stack_end != 0) {
        *ret_end = sim.stack_end;
    }
    return sim.stack_end != 0;
}

bool sonde__os_own_stack_end(uint64_t sp, uint64_t *ret_end)
{
    return sonde__os_main_stack_end(ret_end) && sp < *ret_end;
}

uint32_t sonde__os_program_code(struct sonde__os_range *ret_ranges, uint32_t capacity)
{
    (void)ret_ranges, (void)capacity;
    return 0;
}

/* Only images contain code here. */
enum sonde_status sonde__os_code_open(int32_t *ret_fd)
{
    (void)ret_fd;
    return SONDE_UNSUPPORTED;
}

enum sonde_status sonde__os_code_find(int32_t fd, uint64_t address, struct sonde__os_code *ret_code)
{
    (void)fd, (void)address, (void)ret_code;
    return SONDE_UNSUPPORTED;
}
