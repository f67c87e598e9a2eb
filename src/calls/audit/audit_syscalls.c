// SPDX-License-Identifier: Apache-2.0
#include "audit_syscalls.h"

#include "arch_raw_call.h"
#include "arch_regs.h"
#include "image_cfi.h"
#include "image_elf_format.h"
#include "mem_heap.h"
#include "mem_sort.h"

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
    unsigned arch;
    void (*each)(void *ctx, const struct sonde__audit_syscall *call);
    void *ctx;
};

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
                .is_code = w->cfi != NULL &&
                           sonde__cfi_fde_bounds(w->cfi, w->arch, vaddr + at, &from, &to),
                .is_known = call.is_known,
                .number = call.number,
            };
            w->each(w->ctx, &found);
        }
        length = length != 0 ? length : w->arch == SONDE_ARCH_X86_64 ? 1 : 4;
    }
}

bool sonde__audit_each_syscall(const struct sonde__elf *elf,
                               void (*each)(void *ctx, const struct sonde__audit_syscall *call),
                               void *ctx)
{
    struct sonde__cfi cfi;
    struct starts starts = {0};
    struct walk w = {&starts, NULL, SONDE__ARCH_HOST, each, ctx};
    uint64_t left = SONDE__AUDIT_CODE_MAX;
    if (sonde__elf_cfi(elf, &cfi)) {
        w.cfi = &cfi;
        sonde__cfi_each_fde(&cfi, w.arch, add_start, &starts);
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
        inspect_code(&w, code, segment.vaddr, size);
    }
    sonde__mem_free(starts.vaddrs);
    return is_all;
}
