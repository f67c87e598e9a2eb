// SPDX-License-Identifier: Apache-2.0
/* Notes of a core. Sources: Linux include/linux/elfcore.h, include/uapi/linux/elfcore.h and
 * fs/binfmt_elf.c (fill_files_note); the layouts are the same on x86-64 and aarch64. */
#include <string.h>

#include "base_bytes.h"
#include "host_regs.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "target_core.h"

enum {
    NOTE_PRSTATUS = 1,
    NOTE_PRPSINFO = 3,
    NOTE_AUXV = 6,
    NOTE_FILE = 0x46494c45,
    AUXV_ENTRY = 9,
    AUXV_EXECFN = 31,
    AUXV_SYSINFO_EHDR = 33,
    PRSTATUS_SIGNAL = 12,
    PRSTATUS_TID = 32,
    PRSTATUS_REGS = 112,
    PRPSINFO_PID = 24,
    PRPSINFO_NAME = 40,
    PRPSINFO_NAME_SIZE = 16,
};
#define MMAP_UNIT_MAX ((uint64_t)1 << 30) /* page size that NT_FILE counts in */

static bool add_thread(struct sonde__core_notes *notes, const uint8_t *data, size_t size)
{
    struct sonde__core_thread thread = {.syscall = -1};
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, size);
    sonde__base_bytes_seek(&b, PRSTATUS_SIGNAL);
    thread.signal = sonde__base_bytes_u16(&b);
    sonde__base_bytes_seek(&b, PRSTATUS_TID);
    thread.tid = (uint64_t)sonde__base_bytes_u32(&b);
    if (b.failed || size < PRSTATUS_REGS ||
        !sonde__host_regs_decode(notes->arch, data + PRSTATUS_REGS, size - PRSTATUS_REGS,
                                 &thread.regs, &thread.syscall, thread.args)) {
        return false;
    }
    if (!sonde__mem_grow(&notes->threads, notes->thread_count, &notes->thread_capacity,
                         sizeof thread)) {
        notes->no_memory = true;
        return true;
    }
    notes->threads[notes->thread_count++] = thread;
    return true;
}

static bool take_process(struct sonde__core_notes *notes, const uint8_t *data, size_t size)
{
    struct sonde__bytes b;
    const uint8_t *name;
    uint32_t pid;
    sonde__base_bytes_init(&b, data, size);
    sonde__base_bytes_seek(&b, PRPSINFO_PID);
    pid = sonde__base_bytes_u32(&b);
    sonde__base_bytes_seek(&b, PRPSINFO_NAME);
    name = sonde__base_bytes_take(&b, PRPSINFO_NAME_SIZE);
    if (name == NULL) {
        return false;
    }
    notes->pid = (int32_t)pid;
    memcpy(notes->name, name, PRPSINFO_NAME_SIZE);
    notes->name[PRPSINFO_NAME_SIZE] = '\0';
    return true;
}

static bool take_auxiliary(struct sonde__core_notes *notes, const uint8_t *data, size_t size)
{
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, size);
    while (sonde__base_bytes_left(&b) >= 16) {
        uint64_t type = sonde__base_bytes_u64(&b);
        uint64_t value = sonde__base_bytes_u64(&b);
        if (type == AUXV_ENTRY) {
            notes->entry = value;
        } else if (type == AUXV_EXECFN) {
            notes->execfn = value;
        } else if (type == AUXV_SYSINFO_EHDR) {
            notes->vdso = value;
        }
    }
    return true;
}

/* NT_FILE: count, unit, count times {start, end, offset in units}, then count paths. */
static bool take_files(struct sonde__core_notes *notes, const uint8_t *data, size_t size)
{
    struct sonde__bytes b, paths;
    uint64_t count, unit;
    bool whole = true;
    sonde__base_bytes_init(&b, data, size);
    count = sonde__base_bytes_u64(&b);
    unit = sonde__base_bytes_u64(&b);
    if (b.failed || unit == 0 || unit > MMAP_UNIT_MAX || count > sonde__base_bytes_left(&b) / 24) {
        return false;
    }
    paths = sonde__base_bytes_part(&b, 16 + count * 24, size - 16 - count * 24);
    for (uint64_t i = 0; i < count; i++) {
        struct sonde__core_file file;
        file.start = sonde__base_bytes_u64(&b);
        file.end = sonde__base_bytes_u64(&b);
        file.offset = sonde__base_bytes_u64(&b) * unit;
        file.path = sonde__base_bytes_string(&paths);
        if (paths.failed || file.end <= file.start) {
            whole = false;
            continue;
        }
        if (!sonde__mem_grow(&notes->files, notes->file_count, &notes->file_capacity,
                             sizeof file)) {
            notes->no_memory = true;
            return true;
        }
        notes->files[notes->file_count++] = file;
    }
    return whole;
}

static bool take_note(void *ctx, const char *owner, uint32_t type, const uint8_t *data, size_t size)
{
    struct sonde__core_notes *notes = ctx;
    bool good = true;
    if (strcmp(owner, "CORE") != 0) {
        return true;
    }
    switch (type) {
    case NOTE_PRSTATUS:
        good = add_thread(notes, data, size);
        break;
    case NOTE_PRPSINFO:
        good = take_process(notes, data, size);
        break;
    case NOTE_AUXV:
        good = take_auxiliary(notes, data, size);
        break;
    case NOTE_FILE:
        good = take_files(notes, data, size);
        break;
    default:
        break;
    }
    notes->bad_notes += !good;
    return !notes->no_memory;
}

void sonde__core_notes_read(const struct sonde__elf *elf, unsigned arch,
                            struct sonde__core_notes *ret_notes)
{
    *ret_notes = (struct sonde__core_notes){.arch = arch};
    sonde__elf_each_note(elf, take_note, ret_notes);
    SONDE__SORT_BY(ret_notes->files, ret_notes->file_count, start);
}

void sonde__core_notes_done(struct sonde__core_notes *notes)
{
    sonde__mem_free(notes->threads);
    sonde__mem_free(notes->files);
    *notes = (struct sonde__core_notes){0};
}
