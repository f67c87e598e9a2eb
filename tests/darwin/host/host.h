// SPDX-License-Identifier: Apache-2.0
/* The Mach-O host: parts of a Linux program that loads Mach-O images and runs them.
 *
 * ../README.md has the picture. The loader knows the format (through sonde's own reader), the
 * border knows how control passes between the two worlds, and the primitives are the calls of the
 * simulated libSystem to Linux. */
#ifndef SONDE_DARWIN_HOST_H
#define SONDE_DARWIN_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "image_macho.h"

enum { HOST_IMAGES_MAX = 16, HOST_TLS_BYTES = 1 << 16, HOST_PAGE = 4096 };

struct host_name;
/* Addresses by name (names.c). */
struct host_names {
    struct host_name *entries;
    uint32_t mask; /* their count is a power of two */
};

struct host_image {
    const char *path;
    struct sonde__macho macho; /* of the file's bytes, which are kept */
    uint8_t *header;           /* where its first segment, with the header, is mapped */
    uint64_t slide;            /* address - vaddr */
    uint64_t size;             /* of the mapping */
    uint8_t *protections;      /* Mach's, of each HOST_PAGE */
    struct host_names exports;
};

extern struct host_image host_images[HOST_IMAGES_MAX];
extern unsigned host_image_count;

/* Print a message and end the program with status 125: a feature that the simulation lacks must not
 * look like a failed test or like success. */
_Noreturn void host_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Map the images, and bind each to all of them and to the primitives. Their initialisers have not
 * run. */
void host_load(const char *const *paths, unsigned count);
/* Make the tables of names (names.c): of an image that is mapped, and of the primitives. */
void host_read_exports(struct host_image *image);
void host_read_primitives(void);
/* What a pointer to this name holds: the code of a primitive, what an image exports, or, unless it
 * may be missing, code that reports its call. The name stays valid. */
uint64_t host_resolve(const char *name, bool is_weak);
/* The address of an exported symbol ("_main") in any image; 0: none. */
uint64_t host_find_export(const char *name);
/* The same in one image. */
uint64_t host_find_export_in(uint32_t image, const char *name);
/* The function of the entry at `offset` of the lazy pointers of the image that has this address,
 * and the pointer. */
uint64_t host_find_lazy(const void *in_image, uint64_t offset, uint64_t **ret_slot,
                        const char **ret_name);
/* Map one more image, while the program runs, and bind it. Returns its index; -1: no such file. Its
 * initialisers have not run: the caller calls host_initialiser(image, 0), 1, ... until one is 0. */
int32_t host_load_later(const char *path);
uint64_t host_initialiser(uint32_t image, uint32_t number);
/* Where a program begins; 0: it is none. */
uint64_t host_entry(uint32_t image);
/* The name of the exported symbol at exactly this address of an image; null: none. */
const char *host_export_at(uint32_t index, uint64_t address);

/* The primitives, "_host_write", of three files. Each list ends with a null name. */
struct host_primitive {
    const char *name;
    uint64_t address;
};
extern const struct host_primitive host_primitives[], host_store_primitives[],
    host_program_primitives[];

/* Does an image hold this address? */
int host_is_image(uint64_t address);
/* Mach's protection of a page of an image, and the range of equal pages around it; -1: of none. An
 * emulator's list of mappings does not know which code may be executed. */
int32_t host_image_protection(uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
/* Protections are Mach's: 1 to read, 2 to write, 4 to execute. Whole pages. */
int32_t host_protect(void *memory, uint64_t size, int32_t protection);
/* The mapping that holds `address`, or the first one after it (regions.c). Returns Mach's
 * protection bits, and 8: of a file; -1: there is none. */
int32_t host_find_region(uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
/* A mapping is made, changed or removed: what is known of regions is out of date. */
void host_note_mappings(void);
/* Make the calling thread's copies of all thread-local variables. */
void host_make_thread_locals(void);

/* --- threads (threads.c) --- */

enum { HOST_WORDS = 34 };

/* Make the calling thread thread 0. Before any code of an image runs. */
void host_begin_threads(void);
/* In the child of a fork: it has only the thread that called it. */
void host_keep_own_thread(void);

/* The primitives of threads, _host_NAME. A thread is an index. Those that return int32_t return 0,
 * or -1: there is no such thread, or it has ended. */
int32_t host_start_thread(uint64_t function, uint64_t stack_end, void *argument);
_Noreturn void host_end_thread(void);
uint32_t host_count_threads(void);
int32_t host_is_thread(uint32_t index);
/* Calls count, as thread_suspend() does; returns -1 also when a resume is one too many. */
int32_t host_suspend_thread(uint32_t index);
int32_t host_resume_thread(uint32_t index);
/* Of a suspended thread: x86-64 rax, rbx, rcx, rdx, rdi, rsi, rbp, rsp, r8 to r15, rip, rflags;
 * arm64 x0 to x30, sp, pc, cpsr. */
int32_t host_get_registers(uint32_t index, uint64_t *ret_words);

/* 1: it sleeps, 0: not; -1: as above. A suspension does not end the sleep. */
int32_t host_is_waiting(uint32_t index);
int32_t host_read_cpu(uint32_t index, uint64_t *ret_ns);

/* --- files (files.c) --- */

/* As words: the simulated libSystem has the same struct. */
struct host_status {
    uint64_t device, inode, mode, user, size, links;
    int64_t modified_ns;
};
/* These return an error's number, negative, if they fail. */
int32_t host_open(const char *path, int32_t is_not_followed);
int64_t host_read(int32_t fd, void *bytes, uint64_t size);
int32_t host_stat(int32_t fd, struct host_status *ret_status);
/* Null: no memory, no folder, no further name. */
void *host_map_file(int32_t fd, uint64_t size);
void *host_open_folder(const char *path);
const char *host_next_name(void *folder);
void host_close_folder(void *folder);
void *host_open_folder_of(int32_t fd);

/* --- the border (border_ARCH.S) --- */

/* The registers that a callee preserves, of this thread's call of a primitive. For a thread inside
 * the host, they are what its suspender sees, as a kernel shows a thread in a system call. x86-64:
 * rbx, rbp, rsp, r12 to r15, return address. arm64: x19 to x30, sp. */
struct host_border {
    uint64_t words[13];
    uint32_t is_inside;
    uint32_t is_waiting; /* in host_sleep() */
};
extern __thread struct host_border host_border;

/* Code of images calls a primitive through this code, with the primitive in %r11 or x16. Between
 * the two addresses the thread is in neither world. */
void border_primitive(void);
extern const char border_primitive_end[];

/* Run start(argc, argv, envp, main) on a stack of its own, with no caller and no frame pointer, as
 * a kernel starts a program. Does not return. */
_Noreturn void border_start(uint64_t start, uint64_t stack_end, int argc, char **argv, char **envp,
                            uint64_t main);
/* The thunk of a thread-local variable's descriptor. Only code of images calls it. It preserves all
 * registers except the result. */
void border_thread_local(void);

/* Memory of this thread's thread-local variables, of all images. */
extern __thread uint8_t *host_tls;

#endif
