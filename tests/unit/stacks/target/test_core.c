// SPDX-License-Identifier: Apache-2.0
/* Cores made by hand, of both architectures on this host, and every way of breaking them. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "target.h"
#include "test.h"

enum { STACK_AT = 0x7ff000, STACK_BYTES = 256, CODE_AT = 0x400000, CORE_BYTES = 8192 };

struct core {
    uint8_t bytes[CORE_BYTES];
    size_t size;
};

static void add_note(struct core *c, uint32_t type, const void *data, size_t size)
{
    Elf64_Nhdr note = {5, (Elf64_Word)size, type};
    memcpy(c->bytes + c->size, &note, sizeof note);
    memcpy(c->bytes + c->size + sizeof note, "CORE\0\0\0", 8);
    memcpy(c->bytes + c->size + sizeof note + 8, data, size);
    c->size += sizeof note + 8 + (size + 3) / 4 * 4;
}

/* prstatus of either architecture: 112 bytes, then the registers, then 8 more. */
static void add_thread(struct core *c, unsigned machine, uint64_t tid, uint64_t pc, uint64_t sp,
                       uint64_t fp)
{
    uint8_t status[112 + 272 + 8] = {0};
    uint64_t *words = (uint64_t *)(void *)(status + 112);
    size_t size = 112 + (machine == EM_X86_64 ? 216 : 272) + 8;
    memcpy(status + 32, &tid, 4);
    if (machine == EM_X86_64) {
        words[4] = fp;
        words[15] = 7; /* orig_rax: in poll */
        words[14] = 0x1234;
        words[16] = pc;
        words[19] = sp;
    } else {
        words[29] = fp;
        words[30] = pc + 4;
        words[31] = sp;
        words[32] = pc;
    }
    add_note(c, NT_PRSTATUS, status, size);
}

/* Two threads; the second one's frame pointers lead through two frames on the dumped stack. */
static void make_core(struct core *c, unsigned machine)
{
    Elf64_Ehdr head = {.e_type = ET_CORE,
                       .e_machine = (Elf64_Half)machine,
                       .e_version = 1,
                       .e_phoff = sizeof head,
                       .e_ehsize = sizeof head,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 3};
    Elf64_Phdr p[3] = {{.p_type = PT_NOTE}, {.p_type = PT_LOAD}, {.p_type = PT_LOAD}};
    uint8_t info[136] = {0};
    int32_t pid = 4000;
    uint64_t stack[STACK_BYTES / 8] = {0};
    memset(c, 0, sizeof *c);
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    c->size = sizeof head + sizeof p;
    p[0].p_offset = c->size;
    memcpy(info + 24, &pid, 4);
    memcpy(info + 40, "a program's name", 16); /* all 16: no NUL */
    add_note(c, NT_PRPSINFO, info, sizeof info);
    add_thread(c, machine, 4001, CODE_AT + 0x10, STACK_AT, STACK_AT + 32);
    add_thread(c, machine, 4000, CODE_AT + 0x20, STACK_AT + 64, 0);
    p[0].p_filesz = c->size - p[0].p_offset;
    stack[4] = STACK_AT + 96; /* saved fp */
    stack[5] = CODE_AT + 0x100;
    stack[12] = 0;
    stack[13] = CODE_AT + 0x200;
    p[1] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE_AT, .p_memsz = 0x1000};
    p[2] = (Elf64_Phdr){.p_type = PT_LOAD,
                        .p_flags = PF_R | PF_W,
                        .p_vaddr = STACK_AT,
                        .p_offset = c->size,
                        .p_filesz = STACK_BYTES,
                        .p_memsz = STACK_BYTES};
    memcpy(c->bytes + c->size, stack, sizeof stack);
    c->size += sizeof stack;
    memcpy(c->bytes, &head, sizeof head);
    memcpy(c->bytes + sizeof head, p, sizeof p);
}

static enum sonde_status open_core(const void *bytes, size_t size,
                                   struct sonde__target **ret_target, struct sonde_error *ret_error)
{
    char path[256];
    snprintf(path, sizeof path, "%s/core", test_folder());
    test_write_file(path, bytes, size);
    return sonde__target_open_core(path, NULL, ret_target, ret_error);
}

static void check_core(unsigned machine)
{
    static struct core c;
    struct sonde__target *target;
    const struct sonde__thread *threads;
    struct sonde__capture capture;
    struct sonde_stack stack;
    struct sonde_error error;
    struct sonde__thread alone;
    uint64_t pcs[16], word = 0;
    uint8_t how[16], text[32];
    uint32_t count;
    make_core(&c, machine);
    CHECK_OK(open_core(c.bytes, c.size, &target, &error));
    CHECK_EQ(sonde__target_pid(target), 4000);
    CHECK_OK(sonde__target_threads(target, &threads, &count, &error));
    CHECK_EQ(count, 2);
    CHECK_EQ(threads[0].tid, 4000);
    CHECK(threads[0].main && !threads[1].main);
    CHECK_STR(threads[0].name, "a program's name");
    CHECK_OK(sonde__target_thread(target, threads[1].tid, &alone));
    CHECK(alone.tid == threads[1].tid && !alone.main);
    CHECK_EQ(sonde__target_thread(target, 3, &alone), SONDE_ABSENT);
    CHECK_EQ(sonde__target_read(target, STACK_AT + 40, &word, 8), 8);
    CHECK_EQ(word, CODE_AT + 0x100);
    CHECK_EQ(sonde__target_read(target, STACK_AT + STACK_BYTES - 4, text, 32), 4);
    CHECK_EQ(sonde__target_read(target, CODE_AT, text, 4), 0);
    CHECK_EQ(sonde__target_read(target, 8, text, 4), 0);
    CHECK_EQ(sonde__target_read(target, UINT64_MAX - 2, text, 16), 0);
    sonde_stack_init(&stack, pcs, how, 16, 0);
    sonde__target_capture(target, &threads[1], &stack, &capture);
    CHECK_OK(capture.status);
    CHECK_EQ(capture.by, SONDE__CAPTURED_CORE);
    CHECK_EQ(capture.regs.pc, CODE_AT + 0x10);
    CHECK_EQ(capture.regs.r[sonde__arch_fp(capture.regs.arch)], STACK_AT + 32);
    CHECK_EQ(capture.syscall, machine == EM_X86_64 ? 7 : -1);
    CHECK_EQ(capture.syscall_args[0], machine == EM_X86_64 ? 0x1234 : 0);
    CHECK_EQ(stack.count, 3); /* executable memory of no image: frame pointers */
    CHECK_EQ(pcs[0], CODE_AT + 0x10);
    CHECK_EQ(pcs[1], CODE_AT + 0x100);
    CHECK_EQ(pcs[2], CODE_AT + 0x200);
    sonde__target_close(target);
}

TEST(core_of_x86_64)
{
    check_core(EM_X86_64);
}

TEST(core_of_aarch64)
{
    check_core(EM_AARCH64);
}

TEST(cores_that_are_refused)
{
    static struct core c;
    struct sonde__target *target = NULL;
    struct sonde_error error;
    make_core(&c, EM_AARCH64);
    ((Elf64_Ehdr *)(void *)c.bytes)->e_machine = EM_S390;
    CHECK_EQ(open_core(c.bytes, c.size, &target, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "another architecture");
    make_core(&c, EM_X86_64);
    ((Elf64_Ehdr *)(void *)c.bytes)->e_type = ET_DYN;
    CHECK_EQ(open_core(c.bytes, c.size, &target, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "not a core");
    make_core(&c, EM_X86_64);
    ((Elf64_Phdr *)(void *)(c.bytes + sizeof(Elf64_Ehdr)))->p_type = PT_NULL;
    CHECK_EQ(open_core(c.bytes, c.size, &target, &error), SONDE_CORRUPT);
    CHECK_CONTAINS(error.what, "no thread's registers");
    CHECK_EQ(sonde__target_open_core("/nonexistent", NULL, &target, &error), SONDE_ABSENT);
    CHECK(target == NULL);
}

static void use(struct sonde__target *target)
{
    const struct sonde__thread *threads;
    struct sonde_error error;
    uint32_t count;
    CHECK_OK(sonde__target_threads(target, &threads, &count, &error));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t pcs[16];
        uint8_t how[16];
        struct sonde__capture capture;
        struct sonde_stack stack;
        sonde_stack_init(&stack, pcs, how, 16, 4);
        sonde__target_capture(target, &threads[i], &stack, &capture);
        CHECK(stack.count <= 16);
    }
    sonde__target_close(target);
}

TEST(a_cut_core_says_so)
{
    static struct core c;
    struct sonde__target *target;
    const struct sonde__thread *threads;
    struct sonde__capture capture;
    struct sonde_stack stack;
    struct sonde_error error;
    uint64_t pcs[16];
    uint8_t how[16];
    uint32_t count;
    make_core(&c, EM_X86_64);
    CHECK_OK(open_core(c.bytes, c.size - STACK_BYTES + 64, &target, &error));
    CHECK_OK(sonde__target_threads(target, &threads, &count, &error));
    sonde_stack_init(&stack, pcs, how, 16, 0);
    sonde__target_capture(target, &threads[1], &stack, &capture);
    CHECK_EQ(stack.count, 2);
    CHECK(stack.end != SONDE_END_ROOT);
    CHECK_CONTAINS(capture.note, "cut short");
    sonde__target_close(target);
}

TEST_TIMEOUT(every_cut_and_flipped_bytes, 120)
{
    static struct core c, broken;
    struct sonde__target *target;
    struct sonde_error error;
    unsigned seed = 99;
    make_core(&c, EM_X86_64);
    for (size_t size = 0; size < c.size; size += 3) {
        if (open_core(c.bytes, size, &target, &error) == SONDE_OK) {
            use(target);
        } else {
            CHECK(error.what[0] != '\0');
        }
    }
    for (int round = 0; round < 1000; round++) {
        broken = c;
        for (int i = 0; i < 4; i++) {
            seed = seed * 1103515245 + 12345;
            broken.bytes[(seed >> 8) % c.size] = (uint8_t)(seed >> 24);
        }
        if (open_core(broken.bytes, c.size, &target, &error) == SONDE_OK) {
            use(target);
        } else {
            CHECK(error.what[0] != '\0');
        }
    }
}
