// SPDX-License-Identifier: Apache-2.0
/* Call sites, against every instruction of real libraries as objdump decodes them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch_regs.h"
#include "test.h"

static bool is_call(uint64_t pc, const uint8_t *bytes, unsigned size, uint64_t *ret_target)
{
    return sonde__arch_is_call_before(SONDE_ARCH_X86_64, pc, bytes, size, ret_target);
}

TEST(x86_64_forms)
{
    static const struct {
        uint8_t bytes[8];
        unsigned size;
        bool is_call;
    } cases[] = {
        {{0xff, 0xd0}, 2, true},                         /* call *%rax */
        {{0x41, 0xff, 0xd4}, 3, true},                   /* call *%r12 */
        {{0x3e, 0xff, 0xd2}, 3, true},                   /* notrack call *%rdx */
        {{0xf2, 0xff, 0xd2}, 3, true},                   /* bnd call *%rdx */
        {{0xff, 0x10}, 2, true},                         /* call *(%rax) */
        {{0xff, 0x50, 0x18}, 3, true},                   /* call *0x18(%rax) */
        {{0xff, 0x54, 0x24, 0x08}, 4, true},             /* call *8(%rsp) */
        {{0x41, 0xff, 0x94, 0xc4, 0, 1, 0, 0}, 8, true}, /* call *0x100(%r12,%rax,8) */
        {{0xff, 0x15, 1, 2, 3, 0}, 6, true},             /* call *d(%rip) */
        {{0xff, 0x14, 0xc5, 1, 2, 3, 0}, 7, true},       /* call *d(,%rax,8) */
        {{0xff, 0x14, 0xc0}, 3, true},                   /* call *(%rax,%rax,8) */
        {{0xff, 0x90, 1, 2, 0, 0}, 6, true},             /* call *d32(%rax) */
        {{0xff, 0xe0}, 2, false},                        /* jmp *%rax */
        {{0xff, 0x70, 0x18}, 3, false},                  /* push 0x18(%rax) */
        {{0xc3}, 1, false},                              /* ret */
        {{0xff, 0x15, 1, 2, 3, 0, 0x90}, 7, false},      /* a nop follows */
        {{0}, 0, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t target = 1;
        CHECK_EQ(is_call(0x1000, cases[i].bytes, cases[i].size, &target), cases[i].is_call);
        CHECK_EQ(target, cases[i].is_call ? 0 : 1);
    }
    uint64_t target = 0;
    CHECK(is_call(0x1000, (const uint8_t[]){0xe8, 0xfb, 0xff, 0xff, 0xff}, 5, &target));
    CHECK_EQ(target, 0xffb);
}

/* One line of `objdump -d`: "  401000:\tff d0 ...\tcall   *%rax". */
struct instruction {
    uint64_t at;
    uint8_t bytes[16];
    unsigned size;
    char text[128];
};

static bool read_instruction(unsigned arch, char *line, struct instruction *ret)
{
    char *bytes = strchr(line, '\t');
    char *text = bytes != NULL ? strchr(bytes + 1, '\t') : NULL;
    char *end = NULL;
    ret->at = strtoull(line, &end, 16);
    if (text == NULL || end == line || *end != ':') {
        return false;
    }
    *text = 0;
    ret->size = 0;
    if (arch == SONDE_ARCH_AARCH64) {
        uint32_t word = (uint32_t)strtoul(bytes + 1, NULL, 16);
        memcpy(ret->bytes, &word, 4);
        ret->size = 4;
    } else {
        for (char *p = bytes + 1; *p != 0 && ret->size < 16;) {
            unsigned long byte = strtoul(p, &end, 16);
            if (end == p) {
                break;
            }
            ret->bytes[ret->size++] = (uint8_t)byte;
            p = end;
        }
    }
    snprintf(ret->text, sizeof ret->text, "%s", text + 1);
    return true;
}

static void check_instruction(unsigned arch, const struct instruction *in, unsigned *calls,
                              unsigned *wrong)
{
    uint64_t pc = in->at + in->size;
    unsigned size = in->size < 8 ? in->size : 8;
    uint64_t target = 0;
    bool expected = arch == SONDE_ARCH_AARCH64
                        ? strncmp(in->text, "bl\t", 3) == 0 || strncmp(in->text, "blr\t", 4) == 0
                        : strstr(in->text, "call ") != NULL;
    bool found = sonde__arch_is_call_before(arch, pc, in->bytes + in->size - size, size, &target);
    if (expected && !found) {
        FAIL("%#" PRIx64 " is a call: %s", in->at, in->text);
    }
    *wrong += found && !expected;
    *calls += expected;
    const char *operand = strpbrk(in->text, " \t");
    if (expected && target != 0 && operand != NULL) {
        CHECK_EQ(target, strtoull(operand, NULL, 16));
    }
}

static void check_library(unsigned arch, const char *objdump, const char *path, unsigned calls_min)
{
    char command[512];
    char line[1024];
    struct instruction in;
    unsigned calls = 0;
    unsigned wrong = 0;
    if (access(path, R_OK) != 0) {
        SKIP("%s is not here", path);
    }
    snprintf(command, sizeof command, "%s -d -w %s", objdump, path);
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    while (fgets(line, sizeof line, pipe) != NULL) {
        if (read_instruction(arch, line, &in)) {
            check_instruction(arch, &in, &calls, &wrong);
        }
    }
    CHECK_EQ(pclose(pipe), 0);
    CHECK(calls >= calls_min);
    if (arch == SONDE_ARCH_AARCH64) {
        CHECK_EQ(wrong, 0);
    } else {
        CHECK(wrong <= calls / 20); /* the end of another instruction may look like a call */
    }
}

TEST(x86_64_library)
{
    check_library(SONDE_ARCH_X86_64, "objdump", "/lib/x86_64-linux-gnu/libgcc_s.so.1", 300);
    check_library(SONDE_ARCH_X86_64, "objdump", "/lib64/ld-linux-x86-64.so.2", 1000);
}

TEST(aarch64_library)
{
    check_library(SONDE_ARCH_AARCH64, "aarch64-linux-gnu-objdump",
                  "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", 1000);
}

TEST(aarch64_authenticated_branches)
{
    static const uint32_t calls[] = {0xd63f0100, 0xd63f081f, 0xd63f0d1f, 0xd73f0822, 0xd73f0d05};
    static const uint32_t others[] = {0xd61f0100, 0xd65f03c0, 0xd71f0822, 0x14000001};
    uint64_t target = 1;
    uint8_t bytes[4];
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        memcpy(bytes, &calls[i], 4);
        CHECK(sonde__arch_is_call_before(SONDE_ARCH_AARCH64, 0x1004, bytes, 4, &target));
        CHECK_EQ(target, 0);
    }
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        memcpy(bytes, &others[i], 4);
        CHECK(!sonde__arch_is_call_before(SONDE_ARCH_AARCH64, 0x1004, bytes, 4, &target));
    }
    memcpy(bytes, &calls[0], 4);
    CHECK(!sonde__arch_is_call_before(SONDE_ARCH_AARCH64, 0x1002, bytes, 4, &target));
}

TEST(stubs_name_their_slot)
{
    static const uint8_t plain[16] = {0xff, 0x25, 0x10, 0, 0, 0};
    static const uint8_t marked[16] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0};
    uint64_t slot = 0;
    CHECK(sonde__arch_stub_slot(SONDE_ARCH_X86_64, 0x1000, plain, 16, &slot));
    CHECK_EQ(slot, 0x1016);
    CHECK(sonde__arch_stub_slot(SONDE_ARCH_X86_64, 0x1000, marked, 16, &slot));
    CHECK_EQ(slot, 0x101b);
    CHECK(!sonde__arch_stub_slot(SONDE_ARCH_X86_64, 0x1000, marked, 10, &slot));
    CHECK(!sonde__arch_stub_slot(SONDE_ARCH_X86_64, 0x1000, marked + 1, 15, &slot));
}

/* popen keeps memory: call it before the harness counts the heap. */
static __attribute__((constructor)) void warm_up(void)
{
    FILE *pipe = popen("true", "r");
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
}
