// SPDX-License-Identifier: Apache-2.0
#include "audit_syscalls.h"

#include <string.h>

#include "arch_raw_call.h"
#include "arch_regs.h"
#include "image_cfi.h"
#include "image_elf_format.h"
#include "image_go.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Bytes decoded before a call outside of any known function. x86-64 decoding synchronizes within
 * a few instructions, and the number is mostly loaded right before the call. */
enum { BEFORE_BYTES = 48 };

struct starts { /* of functions; vaddrs */
    uint64_t *vaddrs;
    size_t count, capacity;
    bool failed;
};

static bool add_start(void *ctx, uint64_t start, uint64_t end)
{
    struct starts *starts = ctx;
    (void)end;
    if (!sonde__mem_grow(&starts->vaddrs, starts->count, &starts->capacity,
                         sizeof starts->vaddrs[0])) {
        starts->failed = true;
        return false;
    }
    starts->vaddrs[starts->count++] = start;
    return true;
}

struct walk {
    const struct starts *starts;
    const struct sonde__cfi *cfi; /* null: there is none */
    const struct sonde__go *go;   /* null: no Go program */
    unsigned arch;
    void (*each)(void *ctx, const struct sonde__audit_syscall *call);
    void *ctx;
};

/* The function at `vaddr`, by call frame information or Go's table of functions. False: none. */
static bool find_function(const struct walk *w, uint64_t vaddr, uint64_t *ret_start,
                          uint64_t *ret_end)
{
    struct sonde__go_function function;
    if (w->cfi != NULL && sonde__cfi_fde_bounds(w->cfi, w->arch, vaddr, ret_start, ret_end)) {
        return true;
    }
    if (w->go == NULL || !sonde__image_go_find(w->go, vaddr, &function)) {
        return false;
    }
    *ret_start = function.start;
    *ret_end = function.end;
    return vaddr >= function.start && vaddr < function.end;
}

/* Decoding restarts at each function: what is before it may be data. */
static void inspect_code(const struct walk *w, const uint8_t *code, uint64_t vaddr, uint64_t size)
{
    size_t next = 0; /* the first function behind the instruction */
    struct sonde__raw_call state = {0}, call;
    uint8_t length;
    for (uint64_t at = 0; at < size; at += length) {
        for (; next < w->starts->count && w->starts->vaddrs[next] <= vaddr + at; next++) {
            state.is_known = false;
        }
        uint64_t end = size;
        if (next < w->starts->count && w->starts->vaddrs[next] - vaddr < size) {
            end = w->starts->vaddrs[next] - vaddr;
        }
        if (sonde__arch_raw_call(&state, w->arch, code + at, (size_t)(end - at), &length, &call)) {
            uint64_t from, to;
            const struct sonde__audit_syscall found = {
                .vaddr = vaddr + at,
                .is_code = find_function(w, vaddr + at, &from, &to),
                .is_known = call.is_known,
                .number = call.number,
            };
            w->each(w->ctx, &found);
        }
        length = length != 0 ? length : w->arch == SONDE_ARCH_X86_64 ? 1 : 4;
    }
}

/* The first place at or after `at` whose bytes can be a system call; `size`: none. */
static size_t find_bytes(unsigned arch, const uint8_t *code, size_t at, size_t size)
{
    static const uint8_t x86_64[] = {0x0f, 0x05}, aarch64[] = {0x01, 0x00, 0x00, 0xd4};
    bool is_x86_64 = arch == SONDE_ARCH_X86_64;
    const uint8_t *bytes = is_x86_64 ? x86_64 : aarch64;
    size_t length = is_x86_64 ? sizeof x86_64 : sizeof aarch64;
    while (size - at >= length) {
        size_t last = at + length - 1;
        const uint8_t *found = memchr(code + last, bytes[length - 1], size - last);
        if (found == NULL) {
            break;
        }
        at = (size_t)(found - code) - (length - 1);
        if (memcmp(code + at, bytes, length) == 0) {
            return at;
        }
        at++;
    }
    return size;
}

/* Decode only functions that contain such bytes; outside of any known function, only the few
 * instructions before them. */
static void inspect_functions(const struct walk *w, const uint8_t *code, uint64_t vaddr,
                              uint64_t size)
{
    uint64_t start, end;
    for (size_t at = 0; (at = find_bytes(w->arch, code, at, size)) < size; at++) {
        if (find_function(w, vaddr + at, &start, &end) && start >= vaddr && end - vaddr <= size) {
            inspect_code(w, code + (start - vaddr), start, end - start);
            at = (size_t)(end - vaddr) - 1;
        } else {
            size_t back = at < BEFORE_BYTES ? at : BEFORE_BYTES;
            size_t length = w->arch == SONDE_ARCH_X86_64 ? 2 : 4;
            inspect_code(w, code + (at - back), vaddr + (at - back), back + length);
        }
    }
}

bool sonde__audit_each_syscall(const struct sonde__elf *elf, bool fast,
                               void (*each)(void *ctx, const struct sonde__audit_syscall *call),
                               void *ctx)
{
    struct sonde__cfi cfi;
    struct starts starts = {0};
    struct sonde__go go;
    struct walk w = {&starts, NULL, NULL, SONDE__ARCH_HOST, each, ctx};
    uint64_t left = SONDE__AUDIT_CODE_MAX;
    if (sonde__elf_cfi(elf, &cfi)) {
        w.cfi = &cfi;
        if (!fast) {
            sonde__cfi_each_fde(&cfi, w.arch, add_start, &starts);
        }
    }
    if (sonde__elf_go(elf, &go)) {
        w.go = &go;
    }
    sonde__mem_sort(starts.vaddrs, starts.count, sizeof *starts.vaddrs, sizeof *starts.vaddrs);
    bool is_all = !starts.failed;
    for (uint32_t i = 0; i < elf->phnum; i++) {
        struct sonde__elf_segment segment;
        uint64_t size;
        if (!sonde__elf_segment(elf, i, &segment) || segment.type != SONDE__PT_LOAD ||
            (segment.flags & SONDE__PF_X) == 0) {
            continue;
        }
        const uint8_t *code = sonde__elf_from_vaddr(elf, segment.vaddr, &size);
        if (code == NULL || size > left) {
            is_all = is_all && segment.filesz == 0;
            continue;
        }
        left -= size;
        (fast ? inspect_functions : inspect_code)(&w, code, segment.vaddr, size);
    }
    sonde__mem_free(starts.vaddrs);
    return is_all;
}
