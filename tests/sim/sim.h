// SPDX-License-Identifier: Apache-2.0
/* The script of the simulated operating system: os.h for unit tests, without a kernel.
 *
 * Nothing exists until the test says so: threads with the texts of their /proc files, memory with
 * holes, a clock that the test advances. One process, not thread-safe. */
#ifndef SONDE_OS_SIM_H
#define SONDE_OS_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE__SIM_THREADS_MAX 64
#define SONDE__SIM_TEXTS_MAX   16
#define SONDE__SIM_REGIONS_MAX 64

/* Forget everything. pid and tid of the caller are 100. */
void sonde__sim_reset(void);

/* Set the calling thread. */
void sonde__sim_set_self(int32_t pid, uint64_t tid);

/* Add a thread. Its files are empty until a text is given. */
void sonde__sim_add_thread(uint64_t tid);
/* The thread ends: its files answer ABSENT and the list leaves it out. */
void sonde__sim_end_thread(uint64_t tid);
/* The next text of a file (`file`: enum sonde__os_thread_file). Each read takes the next text, the
 * last one stays. The string must live as long as the script. */
void sonde__sim_add_text(uint64_t tid, unsigned file, const char *text);
/* Opening or reading this file fails with this error number (0: allowed again). */
void sonde__sim_deny(uint64_t tid, unsigned file, int32_t os_error);

/* Memory: [address, address + size) reads as `bytes` (which must live on). Later calls win. */
void sonde__sim_map(uint64_t address, const void *bytes, size_t size);
/* [address, address + size) cannot be read. */
void sonde__sim_poison(uint64_t address, size_t size);
/* Allow reads of this process' own memory outside the regions above. */
void sonde__sim_allow_real_memory(bool allow);
/* Reads of memory so far. */
uint64_t sonde__sim_read_count(void);

/* The clock starts at 1 s. */
void sonde__sim_advance(uint64_t ns);

/* Called for each signal that is sent, and for each sonde__os_sleep() (which else times out at
 * once). */
void sonde__sim_on_signal(void (*handler)(uint64_t tid, int32_t signal, uint64_t value));
void sonde__sim_on_wait(void (*handler)(const uint32_t *word));

/* The loader's answer for a pc in [start, end). */
void sonde__sim_add_image(uint64_t start, uint64_t end, uint64_t eh_frame_hdr, uint64_t key);
void sonde__sim_set_stack_end(uint64_t end);
void sonde__sim_set_alternate_stack(uint64_t start, uint64_t end, bool active);

#endif
