// SPDX-License-Identifier: Apache-2.0
/* The instructions of all helpers of the corpus and of the functions they call: length and operands
 * against llvm-objdump. The test compares registers, memory operand and numbers, not the mnemonic:
 * the results of helpers test the effects of instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch_insn.h"
#include "arch_regs.h"
#include "binary.h"
#include "darwin.h"
#include "libraries.h"
#include "test.h"

enum { PATH_BYTES = 600, NUMBERS = 8 };

/* The compared parts of an instruction. */
struct operands {
    uint64_t regs;    /* general ones, by number; aarch64's 31 is sp; the zero register is none */
    uint64_t vectors; /* bit n: vector register n */
    uint64_t numbers[NUMBERS];
    unsigned count;
};

static void add_number(struct operands *o, uint64_t number)
{
    for (unsigned i = 0; i < o->count; i++) {
        if (o->numbers[i] == number) {
            return;
        }
    }
    if (o->count < NUMBERS && number != 0) {
        o->numbers[o->count++] = number;
    }
}

/* --- llvm's --- */

static int x86_register(const char *name, size_t size)
{
    static const char *const names[][4] = {
        {"rax", "eax", "ax", "al"},      {"rcx", "ecx", "cx", "cl"},
        {"rdx", "edx", "dx", "dl"},      {"rbx", "ebx", "bx", "bl"},
        {"rsp", "esp", "sp", "spl"},     {"rbp", "ebp", "bp", "bpl"},
        {"rsi", "esi", "si", "sil"},     {"rdi", "edi", "di", "dil"},
        {"r8", "r8d", "r8w", "r8b"},     {"r9", "r9d", "r9w", "r9b"},
        {"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
        {"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
        {"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
    };
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < 4; k++) {
            if (strlen(names[i][k]) == size && memcmp(names[i][k], name, size) == 0) {
                return i;
            }
        }
    }
    return -1;
}

/* A word of llvm's text: a register, or anything else. */
static void add_word(struct operands *o, unsigned arch, const char *word, size_t size)
{
    if (arch == SONDE_ARCH_X86_64) {
        int reg = x86_register(word, size);
        if (reg >= 0) {
            o->regs |= (uint64_t)1 << reg;
        } else if (size > 3 && memcmp(word, "xmm", 3) == 0) {
            o->vectors |= (uint64_t)1 << atoi(word + 3);
        }
        return;
    }
    if (size == 2 && memcmp(word, "sp", 2) == 0) {
        o->regs |= (uint64_t)1 << 31;
    } else if (size <= 3 && (word[0] == 'x' || word[0] == 'w') && word[1] >= '0' &&
               word[1] <= '9') {
        o->regs |= (uint64_t)1 << atoi(word + 1);
    } else if (size <= 3 && strchr("bhsdqv", word[0]) != NULL && word[1] >= '0' && word[1] <= '9') {
        o->vectors |= (uint64_t)1 << atoi(word + 1);
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct operands of_text(unsigned arch, const char *text)
{
    struct operands o = {0};
    /* comments begin with ; or a # that has no number behind it */
    for (const char *at = text;
         *at != '\0' && *at != '<' && *at != ';' && !(*at == '#' && at[1] == ' ');) {
        const char *begin = at;
        if ((*at >= '0' && *at <= '9') || *at == '-') {
            char *end;
            bool is_negative = *at == '-';
            uint64_t number = strtoull(at + is_negative, &end, 0);
            add_number(&o, is_negative ? 0 - number : number);
            at = end > at + is_negative ? end : at + 1;
        } else if (is_word(*at)) {
            while (is_word(*at)) {
                at++;
            }
            add_word(&o, arch, begin, (size_t)(at - begin));
        } else {
            at++;
        }
    }
    return o;
}

/* --- ours --- */

static void add_register(struct operands *o, unsigned reg)
{
    if (reg == SONDE__INSN_NO_REG || reg == SONDE__INSN_ZR) {
        return;
    }
    if (reg >= SONDE__INSN_VECTOR_FIRST) {
        o->vectors |= (uint64_t)1 << (reg - SONDE__INSN_VECTOR_FIRST);
    } else {
        o->regs |= (uint64_t)1 << (reg >= SONDE__INSN_HIGH ? reg - SONDE__INSN_HIGH : reg);
    }
}

static void add_value(struct operands *o, struct sonde__insn_value value)
{
    if (value.kind == SONDE__OPERAND_REG) {
        add_register(o, value.reg);
    }
}

static struct operands of_insn(const struct sonde__insn *insn)
{
    struct operands o = {0};
    add_value(&o, insn->dst);
    add_value(&o, insn->a);
    add_value(&o, insn->b);
    add_register(&o, insn->c);
    add_register(&o, insn->base);
    add_register(&o, insn->index);
    return o;
}

static bool has(const struct operands *o, uint64_t number)
{
    for (unsigned i = 0; i < o->count; i++) {
        if (o->numbers[i] == number || (uint32_t)o->numbers[i] == number) {
            return true;
        }
    }
    return false;
}

/* Numbers that the text must have. A pc-relative address is in a comment of the text or missing. */
static bool numbers_agree(const struct operands *its, const struct sonde__insn *insn,
                          bool is_relative)
{
    bool uses_imm = insn->a.kind == SONDE__OPERAND_IMM || insn->b.kind == SONDE__OPERAND_IMM;
    /* inc and dec have theirs in the mnemonic, shorter shifts too */
    if (uses_imm && insn->imm > 1 && !is_relative && !has(its, insn->imm) &&
        !has(its, insn->imm >> 12) /* aarch64: lsl #12, or adrp's pages */) {
        return false;
    }
    if (insn->offset != 0 && insn->base != SONDE__INSN_NO_REG &&
        !has(its, (uint64_t)insn->offset) && !has(its, (uint64_t)insn->offset & 0xffffffff)) {
        return false;
    }
    return insn->writeback != 2 || has(its, (uint64_t)insn->offset2);
}

static const char *operand_text(const char *text)
{
    const char *tab = strchr(text, '\t');
    return tab != NULL ? tab + 1 : "";
}

/* Instructions whose operands llvm omits, or we do because they do nothing. */
static bool is_implied(const struct sonde__insn *insn, const char *text)
{
    return insn->op == SONDE__INSN_NOTHING || insn->op == SONDE__INSN_RETURN ||
           insn->op == SONDE__INSN_STOP || insn->op == SONDE__INSN_VECTOR ||
           insn->op == SONDE__INSN_BITFIELD || insn->op == SONDE__INSN_SYSTEM ||
           strncmp(text, "xorps", 5) == 0 || strncmp(text, "clt", 3) == 0 ||
           strncmp(text, "cset", 4) == 0;
}

/* One line "address:\tmnemonic\toperands"; returns whether it agrees. */
static bool agrees(unsigned arch, uint64_t pc, const struct sonde__insn *insn, const char *text)
{
    struct operands its = of_text(arch, operand_text(text)), ours = of_insn(insn);
    bool is_relative = insn->op == SONDE__INSN_BRANCH || insn->op == SONDE__INSN_CALL ||
                       insn->op == SONDE__INSN_JUMP || insn->op == SONDE__INSN_BRANCH_ZERO ||
                       insn->op == SONDE__INSN_BRANCH_BIT ||
                       (arch == SONDE_ARCH_AARCH64 && strncmp(text, "adr", 3) == 0);
    (void)pc;
    if (is_relative && insn->a.kind == SONDE__OPERAND_IMM && strncmp(text, "adr", 3) != 0 &&
        !has(&its, insn->imm)) {
        return false; /* the target is shown */
    }
    return is_implied(insn, text) || (its.regs == ours.regs && its.vectors == ours.vectors &&
                                      numbers_agree(&its, insn, is_relative));
}

static bool is_of_helpers(const char *name)
{
    return strstr(name, "_helper_block_") != NULL || strstr(name, "OUTLINED_FUNCTION") != NULL ||
           strstr(name, "Block_byref_object_") != NULL ||
           strstr(name, "copy_constructor_") != NULL || strstr(name, "destructor_") != NULL ||
           strstr(name, "C1E") != NULL || strstr(name, "C2E") != NULL ||
           strstr(name, "D1E") != NULL || strstr(name, "D2E") != NULL;
}

/* Returns how many instructions were compared. */
static unsigned check(const struct library_target *target, const char *level)
{
    char path[PATH_BYTES];
    struct binary binary;
    uint64_t pc = 0, next_pc = 0;
    bool is_helper = false, after_gap = true;
    unsigned count = 0;
    library_build(target, level);
    snprintf(path, sizeof path, "%s/lib", test_folder());
    binary_open(&binary, path);
    char *text = darwin_output("llvm-objdump-19 -d --no-show-raw-insn lib");
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *colon = strchr(line, ':');
        struct sonde__insn insn;
        uint8_t code[16] = {0};
        size_t bytes = sizeof code;
        if (strchr(line, '<') != NULL && line[0] != ' ') {
            is_helper = is_of_helpers(line);
            after_gap = true;
            continue;
        }
        if (colon == NULL || line[0] != ' ') {
            continue;
        }
        pc = strtoull(line, NULL, 16);
        if (!after_gap && pc != next_pc) {
            FAIL("%s %s: at %llx, %llx was expected", target->triple, level, (unsigned long long)pc,
                 (unsigned long long)next_pc);
        }
        after_gap = true;
        const char *shown = colon + 1 + strspn(colon + 1, " \t");
        if (!is_helper || strcmp(shown, "lock") == 0 || strncmp(shown, "<unk", 4) == 0) {
            continue;
        }
        while (bytes > 0 && !binary.memory.read(&binary, pc, code, bytes)) {
            bytes--;
        }
        if (!sonde__arch_insn(binary.memory.arch, pc, code, bytes, &insn)) {
            if (strncmp(shown, "fcvt", 4) != 0) {
                FAIL("%s %s: not known: %s", target->triple, level, line);
            }
            continue;
        }
        if (!agrees(binary.memory.arch, pc, &insn, shown)) {
            FAIL("%s %s: %s", target->triple, level, line);
        }
        count++;
        next_pc = pc + insn.length;
        after_gap = false;
    }
    free(text);
    binary_done(&binary);
    return count;
}

TEST_TIMEOUT(decodes_instructions_as_llvm_does, 280)
{
    unsigned count = 0;
    for (unsigned t = 0; t < LIBRARY_TARGETS; t++) {
        for (unsigned l = 0; l < LIBRARY_LEVELS; l++) {
            if (test_long() || ((t == 2 || t == 3) && l == t % LIBRARY_LEVELS)) {
                count += check(&library_targets[t], library_levels[l]);
            }
        }
    }
    CHECK(count > (test_long() ? 20000 : 1500));
}
