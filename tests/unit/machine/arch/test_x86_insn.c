// SPDX-License-Identifier: Apache-2.0
/* Lengths and kinds of instructions. The oracle is objdump, for every instruction of whole
 * libraries (C, assembler with AVX-512, ld.so). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch_x86_form.h"
#include "arch_x86_insn.h"
#include "test.h"

struct tally {
    uint64_t instructions, wrong;
    char first[640];
};

/* The kind by objdump's mnemonic, if it is one that sonde distinguishes. */
static bool is_kind(const struct sonde__x86_insn *insn, const char *mnemonic)
{
    bool is_indirect = strstr(mnemonic, " *") != NULL;
    char word[32] = "";
    while (strncmp(mnemonic, "bnd ", 4) == 0 || strncmp(mnemonic, "notrack ", 8) == 0 ||
           strncmp(mnemonic, "data16 ", 7) == 0 || strncmp(mnemonic, "rex.W ", 6) == 0 ||
           strncmp(mnemonic, "cs ", 3) == 0 || strncmp(mnemonic, "repz ", 5) == 0) {
        mnemonic = strchr(mnemonic, ' ') + 1;
    }
    (void)sscanf(mnemonic, "%31s", word);
    if (strcmp(word, "call") == 0) {
        return insn->kind == (is_indirect ? SONDE__X86_CALL_INDIRECT : SONDE__X86_CALL);
    }
    if (strcmp(word, "jmp") == 0) {
        return insn->kind == (is_indirect ? SONDE__X86_JUMP_INDIRECT : SONDE__X86_JUMP);
    }
    if (word[0] == 'j') {
        return insn->kind == SONDE__X86_BRANCH;
    }
    if (strcmp(word, "ret") == 0) {
        return insn->kind == SONDE__X86_RETURN;
    }
    if (strcmp(word, "leave") == 0) {
        return insn->kind == SONDE__X86_LEAVE;
    }
    if (strcmp(word, "syscall") == 0) {
        return insn->kind == SONDE__X86_SYSCALL;
    }
    if (strcmp(word, "hlt") == 0 || strcmp(word, "ud2") == 0) {
        return insn->kind == SONDE__X86_STOP;
    }
    if (strcmp(word, "push") == 0 || strcmp(word, "pushf") == 0) {
        return insn->kind == SONDE__X86_PUSH;
    }
    if (strcmp(word, "pop") == 0 || strcmp(word, "popf") == 0) {
        return insn->kind == SONDE__X86_POP;
    }
    /* the last operand is written, except by comparisons and stores */
    size_t end = strcspn(mnemonic, "#<");
    while (end > 0 && isspace((unsigned char)mnemonic[end - 1])) {
        end--;
    }
    bool writes_rsp = end >= 4 &&
                      (memcmp(mnemonic + end - 4, "%rsp", 4) == 0 ||
                       memcmp(mnemonic + end - 4, "%esp", 4) == 0) &&
                      strncmp(word, "cmp", 3) != 0 && strncmp(word, "test", 4) != 0;
    bool is_sp = insn->kind == SONDE__X86_SP_ADD || insn->kind == SONDE__X86_SP_FROM_FP ||
                 insn->kind == SONDE__X86_SP_LOST;
    return writes_rsp ? is_sp
                      : insn->kind == SONDE__X86_OTHER || insn->kind == SONDE__X86_FP_FROM_SP ||
                            (is_sp && strncmp(word, "xchg", 4) == 0);
}

/* "  6eac0:\t48 83 ec 08          \tsub    $0x8,%rsp" */
static void check_line(struct tally *tally, const char *line)
{
    uint8_t code[16] = {0};
    unsigned size = 0;
    struct sonde__x86_insn insn = {0};
    const char *at = strchr(line, '\t'), *text;
    if (at == NULL) {
        return;
    }
    text = strchr(++at, '\t');
    if (text == NULL || strstr(text, "(bad)") != NULL || text[1] == '\0' || text[1] == '.') {
        return;
    }
    while (size < sizeof code && isxdigit((unsigned char)at[0]) && isxdigit((unsigned char)at[1])) {
        code[size++] = (uint8_t)strtoul((char[]){at[0], at[1], '\0'}, NULL, 16);
        at += 3;
    }
    tally->instructions++;
    if (code[0] == 0x9b && size > 1) {
        size = 1; /* fwait: objdump joins it with the next instruction */
        text = "\tfwait";
    }
    if (!sonde__arch_x86_insn(code, size, &insn) || insn.length != size ||
        !is_kind(&insn, text + 1)) {
        if (tally->wrong++ == 0) {
            snprintf(tally->first, sizeof tally->first, "length %u, kind %u: %s", insn.length,
                     insn.kind, line);
        }
    }
    /* cut: never longer than the bytes */
    if (size > 1 && sonde__arch_x86_insn(code, size - 1, &insn)) {
        CHECK(insn.length < size);
    }
}

TEST_TIMEOUT(every_instruction_of_whole_libraries, 120)
{
    static const char *const files[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                        "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1",
                                        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                        "/lib/x86_64-linux-gnu/libm.so.6"};
    struct tally all = {0};
    if (system("command -v objdump >/dev/null 2>&1") != 0) {
        SKIP("no objdump");
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char command[256], line[512];
        struct tally tally = {0};
        snprintf(command, sizeof command,
                 "objdump -d -w -j .text -j .plt -j .plt.sec %s 2>/dev/null", files[i]);
        FILE *pipe = popen(command, "r");
        CHECK(pipe != NULL);
        while (fgets(line, sizeof line, pipe) != NULL) {
            line[strcspn(line, "\n")] = '\0';
            check_line(&tally, line);
        }
        pclose(pipe);
        if (tally.wrong != 0) {
            FAIL("%s: %u of %u, first: %s", files[i], (unsigned)tally.wrong,
                 (unsigned)tally.instructions, tally.first);
        }
        all.instructions += tally.instructions;
    }
    if (all.instructions == 0) {
        SKIP("no library of this machine is there");
    }
    CHECK(all.instructions > 500000);
}

TEST(any_bytes)
{
    uint8_t code[16] = {0};
    uint32_t random = 1;
    for (unsigned round = 0; round < 500000; round++) {
        struct sonde__x86_insn insn;
        unsigned size = round % 17;
        for (unsigned i = 0; i < size; i++) {
            random = random * 1664525u + 1013904223u;
            code[i] = (uint8_t)(random >> 24);
        }
        if (sonde__arch_x86_insn(code, size, &insn)) {
            CHECK(insn.length >= 1 && insn.length <= size);
        }
    }
}

/* REX.W wins over the prefix 0x66: the immediate has four bytes (Intel SDM volume 2, §2.2.1.2;
 * objdump: data16 cmp $0x80,%rdx). Compilers pad loops with such prefixes. */
TEST(wide_operands_with_a_prefix_of_short_ones)
{
    static const uint8_t cmp[] = {0x66, 0x48, 0x81, 0xfa, 0x80, 0, 0, 0, 0x90};
    static const uint8_t mul[] = {0x66, 0x66, 0x48, 0x69, 0xc0, 0xd3, 0x4d, 0x62, 0x10, 0x90};
    static const uint8_t shorter[] = {0x66, 0x81, 0xfa, 0x80, 0, 0x90, 0x90, 0x90};
    struct sonde__x86_insn insn;
    CHECK(sonde__arch_x86_insn(cmp, sizeof cmp, &insn));
    CHECK_EQ(insn.length, 8);
    CHECK(sonde__arch_x86_insn(mul, sizeof mul, &insn));
    CHECK_EQ(insn.length, 9);
    CHECK(sonde__arch_x86_insn(shorter, sizeof shorter, &insn));
    CHECK_EQ(insn.length, 5);
}

/* Of the groups f6 and f7 only test has an immediate; bytes after the others are not theirs. */
TEST(x86_64_immediate_of_a_group_is_that_of_test)
{
    static const uint8_t not_eax[] = {0xf7, 0xd0, 0x11, 0x22, 0x33, 0x44};
    static const uint8_t test_eax[] = {0xf7, 0xc0, 0x11, 0x22, 0x33, 0x44};
    struct sonde__x86_form form;
    CHECK(sonde__arch_x86_form(not_eax, sizeof not_eax, &form));
    CHECK_EQ(form.length, 2);
    CHECK_EQ(form.immediate, 0);
    CHECK(sonde__arch_x86_form(not_eax, 2, &form));
    CHECK(sonde__arch_x86_form(test_eax, sizeof test_eax, &form));
    CHECK_EQ(form.length, 6);
    CHECK_EQ(form.immediate, 0x44332211);
    CHECK(!sonde__arch_x86_form(test_eax, sizeof test_eax - 1, &form));
}
