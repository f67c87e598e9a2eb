// SPDX-License-Identifier: Apache-2.0
/* Image look-ups in the loader without a lock, and the bounds of stacks.
 *
 * _dl_find_object (glibc >= 2.35) is lock-free and documented as async-signal-safe; it and
 * __libc_stack_end are weak, so that this links with a libc that lacks them. */
#include <elf.h>
#include <stdatomic.h>
#include <stddef.h>

#include "linux_syscall.h"
#include "os.h"

/* struct dl_find_object of glibc 2.35 (its <dlfcn.h>) for x86-64 and aarch64, to build against an
 * older header. Seven reserved words. */
struct found_object {
    unsigned long long flags;
    void *map_start;
    void *map_end;
    void *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

extern int _dl_find_object(void *address, void *result) __attribute__((weak));
extern void *__libc_stack_end __attribute__((weak));
extern const Elf64_Ehdr __ehdr_start __attribute__((weak, visibility("hidden")));

enum { AUXV_ENTRIES_MAX = 64 /* Linux gives about 25 */, SEGMENTS_MAX = 64 /* or about 13 */ };

extern void *swift_task_getCurrent(void) __attribute__((weak));

uint64_t sonde__os_swift_task(void)
{
    return swift_task_getCurrent != NULL ? (uint64_t)(uintptr_t)swift_task_getCurrent() : 0;
}

bool sonde__os_loader_answers(void)
{
    return _dl_find_object != NULL;
}

/* Get a value of the auxiliary vector from /proc/self/auxv. */
static bool find_auxiliary(uint64_t type, uint64_t *ret_value)
{
    Elf64_auxv_t entries[AUXV_ENTRIES_MAX];
    int32_t fd;
    size_t size = 0;
    enum sonde_status status = sonde__os_open("/proc/self/auxv", &fd, NULL);
    if (status != SONDE_OK) {
        return false;
    }
    status = sonde__os_pread(fd, entries, sizeof entries, 0, &size, NULL);
    sonde__os_close(fd);
    for (size_t i = 0; status == SONDE_OK && i < size / sizeof entries[0]; i++) {
        if (entries[i].a_type == type) {
            *ret_value = entries[i].a_un.a_val;
            return true;
        }
    }
    return false;
}

/* Describe the image that begins with this ELF header, if it contains `pc`. The header and the
 * program headers are mapped and trusted: they are the linker's or the kernel's. */
static bool find_by_header(const Elf64_Ehdr *header, uint64_t pc, struct sonde__os_image *ret_image)
{
    const Elf64_Phdr *segments = (const Elf64_Phdr *)((const char *)header + header->e_phoff);
    uint64_t low = UINT64_MAX, high = 0, hdr = 0, base = (uint64_t)(uintptr_t)header;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type == PT_LOAD) {
            low = segment->p_vaddr < low ? segment->p_vaddr : low;
            high = segment->p_vaddr + segment->p_memsz > high ? segment->p_vaddr + segment->p_memsz
                                                              : high;
        } else if (segment->p_type == PT_GNU_EH_FRAME) {
            hdr = segment->p_vaddr;
        }
    }
    if (low >= high || pc - base >= high - low) {
        return false;
    }
    *ret_image = (struct sonde__os_image){
        .start = base,
        .end = base + (high - low),
        .key = base,
        .eh_frame_hdr = hdr != 0 ? hdr - low + base : 0,
    };
    return true;
}

/* Without the loader's answer: find the image of this code (the whole program if static) by the
 * linker's symbol for its header, or the vdso. */
static bool find_without_loader(uint64_t pc, struct sonde__os_image *ret_image)
{
    uint64_t vdso;
    if (&__ehdr_start != NULL && find_by_header(&__ehdr_start, pc, ret_image)) {
        return true;
    }
    return find_auxiliary(AT_SYSINFO_EHDR, &vdso) && vdso != 0 &&
           find_by_header((const Elf64_Ehdr *)(uintptr_t)vdso, pc, ret_image);
}

bool sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image)
{
    struct found_object object;
    if (_dl_find_object == NULL) {
        return find_without_loader(pc, ret_image);
    }
    if (_dl_find_object((void *)(uintptr_t)pc, &object) != 0) {
        return false;
    }
    *ret_image = (struct sonde__os_image){
        .start = (uint64_t)(uintptr_t)object.map_start,
        .end = (uint64_t)(uintptr_t)object.map_end,
        .key = (uint64_t)(uintptr_t)object.link_map,
        .eh_frame_hdr = (uint64_t)(uintptr_t)object.eh_frame,
    };
    return true;
}

/* Without PT_PHDR, the program is at its addresses (static, not position-independent). */
uint32_t sonde__os_program_code(struct sonde__os_range *ret_ranges, uint32_t capacity)
{
    Elf64_Phdr segment;
    uint64_t at = 0, segments = 0, bias = 0;
    uint32_t count = 0;
    if (!find_auxiliary(AT_PHDR, &at) || !find_auxiliary(AT_PHNUM, &segments)) {
        return 0;
    }
    for (uint64_t i = 0; i < segments && i < SEGMENTS_MAX && count < capacity; i++) {
        if (sonde__os_read(at + i * sizeof segment, &segment, sizeof segment) != sizeof segment) {
            break;
        }
        if (segment.p_type == PT_PHDR) {
            bias = at - segment.p_vaddr;
        } else if (segment.p_type == PT_LOAD && (segment.p_flags & (PF_X | PF_W)) == PF_X) {
            uint64_t start = segment.p_vaddr + bias;
            ret_ranges[count++] = (struct sonde__os_range){start, start + segment.p_memsz};
        }
    }
    return count;
}

size_t sonde__os_page_size(void)
{
    static _Atomic size_t known; /* asked for in each sample */
    size_t size = atomic_load_explicit(&known, memory_order_relaxed);
    uint64_t found;
    if (size == 0) {
        size = find_auxiliary(AT_PAGESZ, &found) && found != 0 ? (size_t)found : 4096;
        atomic_store_explicit(&known, size, memory_order_relaxed);
    }
    return size;
}

/* Without the loader's record, use AT_EXECFN, which points into the stack's top page. */
bool sonde__os_main_stack_end(uint64_t *ret_end)
{
    uint64_t name;
    if (&__libc_stack_end != NULL && __libc_stack_end != NULL) {
        *ret_end = (uint64_t)(uintptr_t)__libc_stack_end;
        return true;
    }
    if (!find_auxiliary(AT_EXECFN, &name)) {
        return false;
    }
    *ret_end = (name | (sonde__os_page_size() - 1)) + 1;
    return true;
}

uint64_t sonde__os_thread_pointer(void)
{
    return linux_thread_pointer();
}

bool sonde__os_own_stack_end(uint64_t sp, uint64_t *ret_end)
{
    uint64_t pointer = sonde__os_thread_pointer();
    uint64_t end;
    /* If the main thread's stack ends above the thread pointer (always, except in emulators), an sp
     * below the pointer is not the main thread's: the pointer bounds the frames, and no system call
     * is needed. */
    if (sp < pointer && &__libc_stack_end != NULL &&
        (uint64_t)(uintptr_t)__libc_stack_end > pointer) {
        *ret_end = pointer;
        return true;
    }
    if (sonde__os_tid() == sonde__os_main_tid()) {
        if (!sonde__os_main_stack_end(&end) || sp >= end) {
            return false;
        }
        *ret_end = end;
        return true;
    }
    if (sp >= pointer) {
        return false;
    }
    *ret_end = pointer;
    return true;
}
