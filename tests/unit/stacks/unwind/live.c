// SPDX-License-Identifier: Apache-2.0
#include "live.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base_bytes.h"
#include "test.h"

static void add_ranges(struct live *live, const struct dl_phdr_info *info, uint32_t image)
{
    struct sonde__image *to = &live->images[image];
    to->start = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type != PT_LOAD) {
            continue;
        }
        to->start = start < to->start ? start : to->start;
        to->end = start + ph->p_memsz > to->end ? start + ph->p_memsz : to->end;
        if ((ph->p_flags & PF_X) != 0) {
            struct sonde__image_range *range = &live->ranges[live->set.range_count++];
            *range = (struct sonde__image_range){start, start + ph->p_memsz, image};
        }
    }
}

/* .eh_frame reaches to the end of its segment at most; the first word behind it is zero. */
static void add_cfi(struct sonde__image *image, const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_GNU_EH_FRAME) {
            continue;
        }
        struct sonde__cfi *cfi = &image->cfi;
        struct sonde__bytes cursor;
        cfi->eh_frame_hdr = (const uint8_t *)info->dlpi_addr + ph->p_vaddr;
        cfi->eh_frame_hdr_size = ph->p_memsz;
        cfi->eh_frame_hdr_vaddr = ph->p_vaddr;
        cfi->absolute_bias = 0 - info->dlpi_addr;
        sonde__base_bytes_init(&cursor, cfi->eh_frame_hdr, cfi->eh_frame_hdr_size);
        CHECK(sonde__base_bytes_u32(&cursor) == 0x3b031b01);
        cfi->eh_frame_vaddr =
            ph->p_vaddr + 4 + (uint64_t)(int64_t)(int32_t)sonde__base_bytes_u32(&cursor);
        cfi->eh_frame = (const uint8_t *)info->dlpi_addr + cfi->eh_frame_vaddr;
    }
    for (int i = 0; i < info->dlpi_phnum && image->cfi.eh_frame != NULL; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uint64_t at = image->cfi.eh_frame_vaddr;
        if (ph->p_type == PT_LOAD && at >= ph->p_vaddr && at < ph->p_vaddr + ph->p_memsz) {
            image->cfi.eh_frame_size = ph->p_vaddr + ph->p_memsz - at;
        }
    }
}

static int add_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct live *live = ctx;
    uint32_t index = live->set.image_count++;
    struct sonde__image *image = &live->images[index];
    (void)size;
    CHECK(index < 128 && live->set.range_count + 8 < 256);
    image->path = info->dlpi_name;
    image->bias = info->dlpi_addr;
    image->arch = SONDE__ARCH_HOST;
    add_ranges(live, info, index);
    add_cfi(image, info);
    return 0;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct sonde__image_range *x = a;
    const struct sonde__image_range *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void add_table(struct live *live, uint32_t index)
{
    struct sonde__image *image = &live->images[index];
    size_t size = 0;
    CHECK_OK(sonde__unwind_rules_size(&image->cfi, SONDE__ARCH_HOST, &size));
    if (size == 0) {
        return;
    }
    live->table_sizes[index] = size;
    live->tables[index] =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(live->tables[index] != MAP_FAILED);
    CHECK_OK(sonde__unwind_rules_build(&image->cfi, SONDE__ARCH_HOST, live->tables[index], size,
                                       &image->rules));
}

void live_open(struct live *live, enum live_mode mode)
{
    memset(live, 0, sizeof *live);
    live->set.images = live->images;
    live->set.ranges = live->ranges;
    dl_iterate_phdr(add_image, live);
    qsort(live->ranges, live->set.range_count, sizeof live->ranges[0], compare_ranges);
    for (uint32_t i = 0; mode == LIVE_TABLE && i < live->set.image_count; i++) {
        add_table(live, i);
    }
}

void live_close(struct live *live)
{
    for (uint32_t i = 0; i < live->set.image_count; i++) {
        if (live->tables[i] != NULL) {
            munmap(live->tables[i], live->table_sizes[i]);
        }
    }
}

/* Emulators lack process_vm_readv; a pipe refuses bad addresses as well. */
static bool read_by_pipe(uint64_t address, void *ret_bytes, size_t size)
{
    int fds[2];
    CHECK_OK(pipe(fds));
    bool good = write(fds[1], (const void *)(uintptr_t)address, size) == (ssize_t)size &&
                read(fds[0], ret_bytes, size) == (ssize_t)size;
    close(fds[0]);
    close(fds[1]);
    return good;
}

bool live_read(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    struct iovec to = {ret_bytes, size};
    struct iovec from = {(void *)(uintptr_t)address, size};
    (void)ctx;
    ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    return got == (ssize_t)size ||
           (got < 0 && errno == ENOSYS && read_by_pipe(address, ret_bytes, size));
}

struct sonde__walk live_walk(const struct live *live, const struct sonde__regs *regs)
{
    static __thread uint64_t stack_end;
    if (stack_end == 0) {
        pthread_attr_t attr;
        void *base = NULL;
        size_t size = 0;
        CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
        CHECK_OK(pthread_attr_getstack(&attr, &base, &size));
        CHECK_OK(pthread_attr_destroy(&attr));
        stack_end = (uint64_t)(uintptr_t)base + size;
    }
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    bool on_stack = regs->r[sonde__arch_sp(SONDE__ARCH_HOST)] >= here;
    return (struct sonde__walk){
        .images = &live->set,
        .regs = *regs,
        .memory = {on_stack ? regs->r[sonde__arch_sp(SONDE__ARCH_HOST)] : 0,
                   on_stack ? stack_end : 0, live_read, NULL},
        .first_exact = true,
    };
}

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl live_regs_here\n"
        ".type live_regs_here, @function\n"
        "live_regs_here:\n"
        "    mov (%rsp), %rax\n"
        "    mov %rax, 280(%rdi)\n" /* pc */
        "    lea 8(%rsp), %rax\n"
        "    mov %rax, 56(%rdi)\n"
        "    mov %rbx, 24(%rdi)\n"
        "    mov %rbp, 48(%rdi)\n"
        "    mov %r12, 96(%rdi)\n"
        "    mov %r13, 104(%rdi)\n"
        "    mov %r14, 112(%rdi)\n"
        "    mov %r15, 120(%rdi)\n"
        "    movq $0xf0c8, 288(%rdi)\n" /* known: 3, 6, 7, 12..15 */
        "    movb $1, 296(%rdi)\n"      /* SONDE_ARCH_X86_64 */
        "    ret\n"
        ".size live_regs_here, . - live_regs_here\n");

void live_regs_of_context(const void *ucontext, struct sonde__regs *ret_regs)
{
    static const int8_t order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                   REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15};
    const ucontext_t *uc = ucontext;
    memset(ret_regs, 0, sizeof *ret_regs);
    for (unsigned i = 0; i < sizeof order; i++) {
        sonde__regs_set(ret_regs, i, (uint64_t)uc->uc_mcontext.gregs[order[i]]);
    }
    ret_regs->pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    ret_regs->arch = SONDE_ARCH_X86_64;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl live_regs_here\n"
        ".type live_regs_here, %function\n"
        "live_regs_here:\n"
        "    str x30, [x0, #280]\n" /* pc */
        "    mov x1, sp\n"
        "    str x1, [x0, #248]\n"
        "    stp x19, x20, [x0, #152]\n"
        "    stp x21, x22, [x0, #168]\n"
        "    stp x23, x24, [x0, #184]\n"
        "    stp x25, x26, [x0, #200]\n"
        "    stp x27, x28, [x0, #216]\n"
        "    str x29, [x0, #232]\n"
        "    mov x1, #0xbff80000\n" /* known: 19..29, 31 */
        "    str x1, [x0, #288]\n"
        "    mov w1, #2\n" /* SONDE_ARCH_AARCH64 */
        "    strb w1, [x0, #296]\n"
        "    ret\n"
        ".size live_regs_here, . - live_regs_here\n");

void live_regs_of_context(const void *ucontext, struct sonde__regs *ret_regs)
{
    const ucontext_t *uc = ucontext;
    memset(ret_regs, 0, sizeof *ret_regs);
    for (unsigned i = 0; i < 31; i++) {
        sonde__regs_set(ret_regs, i, uc->uc_mcontext.regs[i]);
    }
    sonde__regs_set(ret_regs, SONDE__AARCH64_SP, uc->uc_mcontext.sp);
    ret_regs->pc = uc->uc_mcontext.pc;
    ret_regs->arch = SONDE_ARCH_AARCH64;
}
#endif
