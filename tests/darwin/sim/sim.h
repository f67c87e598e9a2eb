// SPDX-License-Identifier: Apache-2.0
/* The primitives of the host (host/primitives.c), as the simulated libSystem sees them. */
#ifndef SONDE_DARWIN_SIM_H
#define SONDE_DARWIN_SIM_H

#include <pthread.h>
#include <stdint.h>

/* A thread; a pthread_t is its address, and it is number `this - sim_threads` of the host. */
enum { SIM_THREADS_MAX = 256, SIM_NAME_MAX = 64 };
struct sim_thread {
    uint64_t id;
    uint64_t stack_start, stack_end;
    void *(*function)(void *argument);
    void *argument, *result;
    uint32_t has_ended;
    char name[SIM_NAME_MAX];
};
extern struct sim_thread sim_threads[SIM_THREADS_MAX];
/* The thread of a pthread_t; null: there is none. */
struct sim_thread *sim_thread_of(pthread_t thread);

/* Memory that task_threads() made: vm_deallocate() of it is counted in sim_lists. */
extern int64_t sim_lists;
int sim_is_list(uint64_t address);

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
int32_t host_read_memory(uint64_t address, void *ret_bytes, uint64_t size);
int32_t host_find_region(uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
uint64_t host_stack_end(void);
uint64_t host_stack_size(void);
uint32_t host_count_images(void);
void host_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void host_wake(const uint32_t *word);
int32_t host_start_thread(uint64_t function, uint64_t stack_end, void *argument);
_Noreturn void host_end_thread(void);
uint32_t host_count_threads(void);
int32_t host_is_thread(uint32_t index);
int32_t host_suspend_thread(uint32_t index);
int32_t host_resume_thread(uint32_t index);
int32_t host_get_registers(uint32_t index, uint64_t *ret_words);
void host_get_image(uint32_t index, const void **ret_header, uint64_t *ret_slide,
                    const char **ret_path);

#endif
