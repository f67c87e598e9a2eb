// SPDX-License-Identifier: Apache-2.0
/* Finds the copies of libsonde in the program (record_told.h). Notes are the program's: a pointer
 * is set only in memory of the same image that can be written. */
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "linux/hook_object.h"
#include "os.h"
#include "record_told.h"
#include "recorder.h"

static void begin_phase(const char *name, uint32_t consent)
{
    if (preload_page() != NULL && recorder_hooks != NULL) { /* not in a fork child */
        (void)sonde__record_phase_begin(recorder_phases, name, strlen(name), consent,
                                        sonde__os_now_ns());
    }
}

static void set_pointer(const struct sonde__hook_object *object, uint64_t at, int64_t distance)
{
    uint64_t address = at + (uint64_t)distance;
    if (sonde__hook_segment(object, address) != NULL && address % sizeof(void *) == 0 &&
        (sonde__hook_protection(object, address) & PROT_WRITE) != 0) {
        _Atomic(sonde__record_told *) *pointer = (void *)(uintptr_t)address;
        atomic_store_explicit(pointer, begin_phase, memory_order_release);
    }
}

static size_t padded(size_t size, size_t align)
{
    return (size + align - 1) / align * align;
}

/* Each note: sizes of the owner and the description, the type; both are padded. */
static void read_notes(const struct sonde__hook_object *object, const ElfW(Phdr) * segment)
{
    const char *at = (const char *)(uintptr_t)(object->base + segment->p_vaddr);
    size_t left = segment->p_memsz, align = segment->p_align == 8 ? 8 : 4;
    ElfW(Nhdr) note;
    while (left >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t owner = padded(note.n_namesz, align), size = padded(note.n_descsz, align);
        at += sizeof note;
        left -= sizeof note;
        if (owner > left || size > left - owner) {
            break;
        }
        if (note.n_type == SONDE__RECORD_TOLD_TYPE && note.n_descsz == sizeof(int64_t) &&
            note.n_namesz == sizeof SONDE__RECORD_TOLD_OWNER &&
            memcmp(at, SONDE__RECORD_TOLD_OWNER, sizeof SONDE__RECORD_TOLD_OWNER) == 0) {
            int64_t distance;
            memcpy(&distance, at + owner, sizeof distance);
            set_pointer(object, (uint64_t)(uintptr_t)(at + owner), distance);
        }
        at += owner + size;
        left -= owner + size;
    }
}

static int find(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct sonde__hook_object object;
    (void)size, (void)ctx;
    sonde__hook_object_read(info, &object);
    for (uint32_t i = 0; i < object.phdr_count; i++) {
        const ElfW(Phdr) *segment = &object.phdrs[i];
        const ElfW(Phdr) *holder =
            segment->p_type == PT_NOTE && segment->p_memsz != 0
                ? sonde__hook_segment(&object, object.base + segment->p_vaddr)
                : NULL;
        if (holder != NULL &&
            segment->p_memsz <= holder->p_vaddr + holder->p_memsz - segment->p_vaddr) {
            read_notes(&object, segment);
        }
    }
    return 0;
}

void recorder_find_phases(void)
{
    static uint64_t sweeps;
    if (sonde__hook_sweeps(recorder_hooks) != sweeps) {
        sweeps = sonde__hook_sweeps(recorder_hooks);
        (void)dl_iterate_phdr(find, NULL);
    }
}
