// SPDX-License-Identifier: Apache-2.0
/* The primitives of the host (host/primitives.c), as the simulated libSystem sees them. */
#ifndef SONDE_DARWIN_SIM_H
#define SONDE_DARWIN_SIM_H

#include <mach/port.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

/* A thread; a pthread_t is its address, and it is number `this - sim_threads` of the host. */
/* The ids of threads have more than 32 bits, as they have after a long time since the boot. */
#define SIM_ID_BASE 0x500000000u
enum { SIM_THREADS_MAX = 256, SIM_NAME_MAX = 64 };
struct sim_thread {
    uint64_t id;
    uint64_t stack_start, stack_end;
    void *(*function)(void *argument);
    void *argument, *result;
    uint32_t has_ended;
    void *queue; /* that it works for; dispatch.c */
    uint32_t qos;
    char name[SIM_NAME_MAX];
};
extern struct sim_thread sim_threads[SIM_THREADS_MAX];
/* The thread of a pthread_t; null: there is none. */
struct sim_thread *sim_thread_of(pthread_t thread);

/* The number of a thread by its port; 0: it is no port of a thread. */
int sim_thread_of_port(mach_port_t port, uint32_t *ret_index);

/* Memory that task_threads() made: vm_deallocate() of it is counted in sim_lists. */
extern int64_t sim_lists;
int sim_is_list(uint64_t address);

/* host_sleep(); its returns on other threads than the main one are counted in sim_wakes. */
extern uint64_t sim_wakes;
void sim_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/* Calls of Mach: each would enter the kernel. */
extern uint64_t sim_calls;
#define SIM_CALL() ((void)__atomic_fetch_add(&sim_calls, 1, __ATOMIC_RELAXED))

/* Apple's functions may use the registers of vector arguments: who must keep them finds out here.
 */
static inline void sim_use_vectors(void)
{
#if defined(__x86_64__)
#    define SIM_ZERO(n) "xorps %%xmm" n ", %%xmm" n "\n"
#    define SIM_NAMES   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"
#else
#    define SIM_ZERO(n) "movi v" n ".16b, #0\n"
#    define SIM_NAMES   "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7"
#endif
    __asm__ volatile(SIM_ZERO("0") SIM_ZERO("1") SIM_ZERO("2") SIM_ZERO("3") SIM_ZERO("4")
                         SIM_ZERO("5") SIM_ZERO("6") SIM_ZERO("7")::
                             : SIM_NAMES);
}

int64_t host_write(int32_t fd, const void *bytes, uint64_t size);
_Noreturn void host_exit(int32_t status);
int32_t host_getpid(void);
uint32_t host_getuid(void);
int32_t host_close(int32_t fd);
uint64_t host_gettid(void);
uint64_t host_now_ns(void);
uint64_t host_cpu_ns(void);
void *host_map(uint64_t size);
int32_t host_unmap(void *memory, uint64_t size);
/* Protections are Mach's: 1 to read, 2 to write, 4 to execute. */
int32_t host_protect(void *memory, uint64_t size, int32_t protection);
int32_t host_read_memory(uint64_t address, void *ret_bytes, uint64_t size);
int32_t host_find_region(uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
uint64_t host_stack_end(void);
uint64_t host_stack_size(void);
uint32_t host_count_images(void);
uint64_t host_image_size(uint32_t index);
/* The address of an exported symbol in any image; 0: none. */
uint64_t host_find_export(const char *name);
/* The same in one image. */
uint64_t host_find_export_in(uint32_t image, const char *name);
/* The function of an entry among the lazy pointers of the image that has this address, and the
 * pointer. */
uint64_t host_find_lazy(const void *in_image, uint64_t offset, uint64_t **ret_slot,
                        const char **ret_name);
/* Map and bind one more image. Its index; -1: no such file. Then its initialisers; 0: no more. */
int32_t host_load_later(const char *path);
uint64_t host_initialiser(uint32_t image, uint32_t number);
/* The name of the exported symbol at exactly this address, in the image; null: none. */
const char *host_export_at(uint32_t index, uint64_t address);
void host_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void host_wake(const uint32_t *word);
int32_t host_start_thread(uint64_t function, uint64_t stack_end, void *argument);
_Noreturn void host_end_thread(void);
uint32_t host_count_threads(void);
int32_t host_is_thread(uint32_t index);
int32_t host_suspend_thread(uint32_t index);
int32_t host_resume_thread(uint32_t index);
int32_t host_get_registers(uint32_t index, uint64_t *ret_words);
/* Fork. In the child 0; in its parent, after the child has ended: 1 + the exit status, or 256 + the
 * signal that ended it. */
int32_t host_fork_and_wait(void);
void host_mark(void);
int32_t host_is_waiting(uint32_t index);
int32_t host_read_cpu(uint32_t index, uint64_t *ret_ns);
uint64_t host_real_ns(void);
int32_t host_vsnprintf(char *text, uint64_t size, const char *format, void *arguments);
int32_t host_vsscanf(const char *text, const char *format, void *arguments);
void host_get_image(uint32_t index, const void **ret_header, uint64_t *ret_slide,
                    const char **ret_path);

struct sim_status {
    uint64_t device, inode, mode, user, size, links;
    int64_t modified_ns;
};
/* These return an error's number, negative, if they fail. */
int32_t host_open(const char *path, int32_t is_not_followed);
int64_t host_read(int32_t fd, void *bytes, uint64_t size);
int32_t host_stat(int32_t fd, struct sim_status *ret_status);
/* Null: no memory, no folder, no further name. */
void *host_map_file(int32_t fd, uint64_t size);
void *host_open_folder(const char *path);
const char *host_next_name(void *folder);
void host_close_folder(void *folder);
void *host_open_folder_of(int32_t fd);

/* Set errno for a number of the host's. Returns -1. */
int sim_fail(int64_t host_error);
void sim_give_status(const struct sim_status *status, struct stat *ret_status);

/* Files that are written, and processes (host/store.c). These return a number of the host's,
 * negative, if they fail. */
int64_t host_open_at(int32_t folder, const char *path, uint32_t how, uint32_t mode);
int64_t host_make_folder(const char *path, uint32_t mode);
int64_t host_stat_at(int32_t folder, const char *path, struct sim_status *ret_status);
int64_t host_rename_at(int32_t from_folder, const char *from, int32_t to_folder, const char *to);
int64_t host_unlink_at(int32_t folder, const char *path);
int64_t host_link(const char *from, const char *to, int32_t is_symbolic);
int64_t host_change_mode(const char *path, uint32_t mode);
int64_t host_change_owner(const char *path, uint32_t user, uint32_t group);
uint32_t host_geteuid(void);
int64_t host_become(uint32_t user);
int64_t host_make_pipe(const char *path, uint32_t mode);
int64_t host_set_umask(uint32_t mask);
int64_t host_resize(int32_t fd, uint64_t size);
int64_t host_write_file(int32_t fd, const void *bytes, uint64_t size);
int64_t host_pread(int32_t fd, void *bytes, uint64_t size, uint64_t offset);
int64_t host_pwrite(int32_t fd, const void *bytes, uint64_t size, uint64_t offset);
int64_t host_seek(int32_t fd, int64_t offset, int32_t whence);
int64_t host_sync(int32_t fd);
int64_t host_lock_file(int32_t fd, int32_t is_locked);
int64_t host_get_attribute(int32_t fd, const char *name, void *value, uint64_t size);
int64_t host_set_attribute(int32_t fd, const char *name, const void *value, uint64_t size);
int64_t host_remove_attribute(int32_t fd, const char *name);
void *host_map_shared(int32_t fd, uint64_t size);
int64_t host_map_shared_memory(uint64_t size, void **ret_memory);
int64_t host_hide_from_children(void *memory, uint64_t size);
int64_t host_fork(void);
int64_t host_wait_for(int32_t pid, int32_t *ret_status);
int64_t host_kill(int32_t pid, int32_t signal);
int64_t host_process(int32_t pid, int32_t *ret_is_zombie);
int64_t host_boot_id(char *text, uint64_t size);
int64_t host_utc(int64_t seconds, int32_t ret_fields[9]);
int host_putenv(char *text);
int host_getentropy(void *bytes, size_t size);

/* What a command-line program needs (host/program.c). */
int64_t host_access(const char *path, int32_t mode);
int64_t host_stat_path(const char *path, struct sim_status *ret_status);
int64_t host_touch(const char *path);
int64_t host_real_path(const char *path, char *ret_path);
int64_t host_current_folder(char *ret_path, uint64_t capacity);
void host_rewind_folder(void *folder);
int64_t host_is_open(int32_t fd);
int64_t host_is_terminal(int32_t fd);
int64_t host_columns(int32_t fd);
uint64_t host_processors(void);
const char *host_error_text(int32_t host_error);
void host_parse_double(const char *text, char **ret_end, double *ret_value);
int32_t host_format_address(int32_t is_6, const void *bytes, char *text, uint32_t size);
int32_t host_parse_address(int32_t is_6, const char *text, void *ret_bytes);
uint64_t host_format_time(char *text, uint64_t size, const char *format, const int32_t *fields);
char *host_strcasestr(const char *in, const char *part);
/* Apple's number of an error as the host's. */
int sim_host_error(int error);

/* functions of the host's C library, whose parameters are words */
void *host_malloc(size_t size);
void *host_calloc(size_t count, size_t size);
void *host_realloc(void *block, size_t size);
void host_free(void *block);
void *host_memcpy(void *to, const void *from, size_t size);
void *host_memmove(void *to, const void *from, size_t size);
void *host_memset(void *to, int value, size_t size);
int host_memcmp(const void *a, const void *b, size_t size);
void *host_memmem(const void *in, size_t size, const void *part, size_t part_size);
void *host_memchr(const void *in, int value, size_t size);
char *host_strchr(const char *in, int c);
char *host_strrchr(const char *in, int c);
char *host_strstr(const char *in, const char *part);
int host_strncmp(const char *a, const char *b, size_t size);
int host_strncasecmp(const char *a, const char *b, size_t size);
char *host_stpcpy(char *to, const char *from);
char *host_strtok_r(char *in, const char *set, char **at);
int host_strcasecmp(const char *a, const char *b);
size_t host_strspn(const char *in, const char *set);
size_t host_strcspn(const char *in, const char *set);
char *host_strcpy(char *to, const char *from);
char *host_strncpy(char *to, const char *from, size_t size);
size_t host_strnlen(const char *s, size_t size);
long host_strtol(const char *s, char **end, int base);
unsigned long host_strtoul(const char *s, char **end, int base);
char *host_getenv(const char *name);

#endif
