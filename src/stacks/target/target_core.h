// SPDX-License-Identifier: Apache-2.0
/* A core file. Private to target_core.c and target_core_notes.c. */
#ifndef SONDE_TARGET_CORE_H
#define SONDE_TARGET_CORE_H

#include "target_private.h"

struct sonde__core_thread {
    uint64_t tid;
    int32_t signal; /* the signal that stopped it */
    struct sonde__regs regs;
    int64_t syscall;
    uint64_t args[6];
};

/* A mapped file, from NT_FILE. */
struct sonde__core_file {
    uint64_t start, end, offset;
    const char *path; /* in the core's bytes */
};

/* A PT_LOAD; the file has `size` bytes of it. */
struct sonde__core_load {
    uint64_t start, end;
    uint64_t file_offset, size;
    uint32_t flags;
};

struct sonde__core_notes {
    unsigned arch;
    struct sonde__core_thread *threads;
    size_t thread_capacity;
    uint32_t thread_count;
    struct sonde__core_file *files; /* sorted by start */
    size_t file_capacity;
    uint32_t file_count;
    int32_t pid;
    char name[17];
    uint64_t entry, vdso; /* from NT_AUXV; 0: none */
    uint64_t execfn;      /* from NT_AUXV: a string on the main thread's stack */
    uint32_t bad_notes;
    bool no_memory;
};

/* Read the notes of a core. Malformed notes are counted and skipped. */
void sonde__core_notes_read(const struct sonde__elf *elf, unsigned arch,
                            struct sonde__core_notes *ret_notes);
void sonde__core_notes_done(struct sonde__core_notes *notes);

#endif
