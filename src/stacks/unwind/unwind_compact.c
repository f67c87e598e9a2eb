// SPDX-License-Identifier: Apache-2.0
#include "unwind_compact.h"

/* DW_OP_* of the expressions that are recognized as a whole. */
enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

static unsigned return_reg(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64 ? SONDE__X86_64_RA : SONDE__AARCH64_LR;
}

void sonde__compact_init(struct sonde__compact *compact, const struct sonde__cfi *cfi,
                         unsigned arch)
{
    compact->arch = (uint8_t)arch;
    compact->sp = (uint8_t)sonde__arch_sp(arch);
    compact->fp = (uint8_t)sonde__arch_fp(arch);
    compact->ra = (uint8_t)return_reg(arch);
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        compact->cell_of[i] = SONDE__COMPACT_IGNORED;
    }
    compact->cell_of[sonde__arch_fp(arch)] = SONDE__COMPACT_FP;
    compact->cell_of[sonde__arch_sp(arch)] = SONDE__COMPACT_SP;
    compact->cell_of[return_reg(arch)] = SONDE__COMPACT_RA;
    sonde__program_init(&compact->program, cfi, compact->cell_of, compact->cells,
                        SONDE__COMPACT_CELLS);
}

static bool read_breg(struct sonde__bytes *block, unsigned *ret_reg, int64_t *ret_offset)
{
    uint8_t op = sonde__base_bytes_u8(block);
    if (op < OP_BREG0 || op > OP_BREG31) {
        return false;
    }
    *ret_reg = op - OP_BREG0;
    *ret_offset = sonde__base_bytes_sleb(block);
    return !block->failed;
}

static bool read_literal(struct sonde__bytes *block, unsigned *ret_value)
{
    uint8_t op = sonde__base_bytes_u8(block);
    *ret_value = (unsigned)op - OP_LIT0;
    return op >= OP_LIT0 && op <= OP_LIT31;
}

static bool at_end(const struct sonde__bytes *block)
{
    return !block->failed && block->at == block->end;
}

/* Linkers describe a procedure linkage table by one expression for all slots: each stub pushes a
 * word at a fixed distance into its 16-byte slot. The block, behind its `breg sp, 8`: breg16 0;
 * lit15; and; lit<threshold>; ge; lit<shift>; shl; plus */
static bool read_plt(struct sonde__bytes *block, struct sonde__rule *rule)
{
    unsigned reg = 0;
    unsigned mask = 0;
    unsigned threshold = 0;
    unsigned shift = 0;
    int64_t offset = 0;
    if (!read_breg(block, &reg, &offset) || reg != SONDE__X86_64_RA || offset != 0 ||
        !read_literal(block, &mask) || mask != 15 || sonde__base_bytes_u8(block) != OP_AND ||
        !read_literal(block, &threshold) || threshold > SONDE__RULE_PLT_THRESHOLD ||
        sonde__base_bytes_u8(block) != OP_GE || !read_literal(block, &shift) ||
        shift > SONDE__RULE_PLT_SHIFT_MASK || sonde__base_bytes_u8(block) != OP_SHL ||
        sonde__base_bytes_u8(block) != OP_PLUS || !at_end(block)) {
        return false;
    }
    rule->cfa = SONDE__RULE_PLT;
    rule->flags |= (uint8_t)(threshold | shift << SONDE__RULE_PLT_SHIFT_BITS);
    return true;
}

static bool set_cfa_expression(const struct sonde__compact *compact, struct sonde__rule *rule)
{
    const struct sonde__program *p = &compact->program;
    struct sonde__bytes block = sonde__program_block(p->cfi, p->section, p->cfas[0].expression);
    unsigned reg = 0;
    int64_t offset = 0;
    if (!read_breg(&block, &reg, &offset) || offset < INT32_MIN || offset > INT32_MAX) {
        return false;
    }
    bool is_sp = reg == sonde__arch_sp(compact->arch);
    rule->cfa_offset = (int32_t)offset;
    if (sonde__base_bytes_left(&block) == 1 && *block.at == OP_DEREF &&
        (is_sp || reg == sonde__arch_fp(compact->arch))) {
        rule->cfa = is_sp ? SONDE__RULE_SP_DEREF : SONDE__RULE_FP_DEREF;
        return true;
    }
    return is_sp && compact->arch == SONDE_ARCH_X86_64 && read_plt(&block, rule);
}

static bool set_cfa(const struct sonde__compact *compact, struct sonde__rule *rule)
{
    const struct sonde__cfa *cfa = &compact->program.cfas[0];
    if (cfa->is_expression) {
        return set_cfa_expression(compact, rule);
    }
    rule->cfa_offset = cfa->offset;
    if (cfa->reg == sonde__arch_sp(compact->arch)) {
        rule->cfa = SONDE__RULE_SP;
    } else if (cfa->reg == sonde__arch_fp(compact->arch)) {
        rule->cfa = SONDE__RULE_FP;
    } else {
        return false;
    }
    return true;
}

/* Set where a cell is saved in memory: at CFA + n or at sp/fp + n. */
static bool set_saved(const struct sonde__compact *compact, unsigned cell_index, uint8_t *from,
                      int16_t *ret_offset)
{
    const struct sonde__program *p = &compact->program;
    const struct sonde__cell *cell = &p->cells[cell_index];
    int64_t offset = cell->value;
    if (cell->kind == SONDE__CELL_OFFSET) {
        *from = SONDE__FROM_CFA;
    } else if (cell->kind == SONDE__CELL_EXPRESSION) {
        struct sonde__bytes block = sonde__program_block(p->cfi, p->section, (uint32_t)cell->value);
        unsigned reg = 0;
        if (!read_breg(&block, &reg, &offset) || !at_end(&block)) {
            return false;
        }
        if (reg == sonde__arch_sp(compact->arch)) {
            *from = SONDE__FROM_SP;
        } else if (reg == sonde__arch_fp(compact->arch)) {
            *from = SONDE__FROM_FP;
        } else {
            return false;
        }
    } else {
        return false;
    }
    *ret_offset = (int16_t)offset;
    return offset >= INT16_MIN && offset <= INT16_MAX;
}

static bool set_fp(const struct sonde__compact *compact, struct sonde__rule *rule)
{
    switch (compact->program.cells[SONDE__COMPACT_FP].kind) {
    case SONDE__CELL_UNSPECIFIED:
    case SONDE__CELL_SAME:
        rule->fp_from = SONDE__FROM_KEPT;
        return true;
    case SONDE__CELL_UNDEFINED:
        rule->fp_from = SONDE__FROM_UNDEFINED;
        return true;
    default:
        return set_saved(compact, SONDE__COMPACT_FP, &rule->fp_from, &rule->fp_offset);
    }
}

/* Is the caller's sp the CFA? It is everywhere but in code that switches stacks. Signal frames
 * give sp by its own expression, for the same word as the CFA. */
static bool sp_is_cfa(const struct sonde__compact *compact, const struct sonde__rule *rule)
{
    const struct sonde__cell *cell = &compact->program.cells[SONDE__COMPACT_SP];
    uint8_t from = 0;
    int16_t offset = 0;
    if (cell->kind == SONDE__CELL_UNSPECIFIED) {
        return true;
    }
    if (cell->kind == SONDE__CELL_VAL_OFFSET) {
        return cell->value == 0;
    }
    return rule->cfa == SONDE__RULE_SP_DEREF && cell->kind == SONDE__CELL_EXPRESSION &&
           set_saved(compact, SONDE__COMPACT_SP, &from, &offset) && from == SONDE__FROM_SP &&
           offset == rule->cfa_offset;
}

/* aarch64: a frame saves its registers below its CFA. glibc's lazy binder counts from the sp that
 * it begins with, and leaves out the 16 bytes with lr that the linkage header has pushed above. */
static void raise_cfa(struct sonde__rule *rule)
{
    if ((rule->cfa != SONDE__RULE_SP && rule->cfa != SONDE__RULE_FP) ||
        rule->ra_from != SONDE__FROM_CFA || rule->ra_offset < 0 || rule->ra_offset > 256 ||
        rule->cfa_offset > INT32_MAX - 512 || rule->fp_offset < INT16_MIN + 512) {
        return;
    }
    int16_t above = (int16_t)((rule->ra_offset + 8 + 15) & ~15);
    rule->cfa_offset += above;
    rule->ra_offset = (int16_t)(rule->ra_offset - above);
    if (rule->fp_from == SONDE__FROM_CFA) {
        rule->fp_offset = (int16_t)(rule->fp_offset - above);
    }
}

struct sonde__rule sonde__compact_rule(const struct sonde__compact *compact)
{
    const struct sonde__program *p = &compact->program;
    const struct sonde__cell *ra = &p->cells[SONDE__COMPACT_RA];
    uint8_t signal = p->cie.is_signal_frame ? SONDE__RULE_SIGNAL : 0;
    struct sonde__rule other = {.cfa = SONDE__RULE_OTHER, .flags = signal};
    struct sonde__rule rule = {.flags = signal};
    if (p->cie.return_reg != return_reg(compact->arch)) {
        return other;
    }
    if (ra->kind == SONDE__CELL_UNDEFINED) {
        return (struct sonde__rule){.cfa = SONDE__RULE_END, .flags = signal};
    }
    if (ra->kind == SONDE__CELL_UNSPECIFIED || ra->kind == SONDE__CELL_SAME) {
        if (compact->arch == SONDE_ARCH_X86_64) {
            return (struct sonde__rule){.cfa = SONDE__RULE_NONE}; /* no register holds it */
        }
        rule.ra_from = SONDE__FROM_KEPT;
    } else if (!set_saved(compact, SONDE__COMPACT_RA, &rule.ra_from, &rule.ra_offset)) {
        return other;
    }
    if (!set_cfa(compact, &rule) || !set_fp(compact, &rule) || !sp_is_cfa(compact, &rule)) {
        return other;
    }
    if (compact->arch == SONDE_ARCH_AARCH64) {
        raise_cfa(&rule);
    }
    return rule;
}

struct sonde__rule sonde__compact_find(const struct sonde__cfi *cfi, unsigned arch,
                                       enum sonde__cfi_section section, uint64_t vaddr)
{
    struct sonde__compact compact;
    struct sonde__cfi_fde fde;
    if (!sonde__cfi_fde_find_in(cfi, arch, section, vaddr, &fde)) {
        return (struct sonde__rule){.cfa = SONDE__RULE_NONE};
    }
    sonde__compact_init(&compact, cfi, arch);
    if (!sonde__program_seek(&compact.program, &fde, vaddr)) {
        return (struct sonde__rule){.cfa = SONDE__RULE_NONE};
    }
    return sonde__compact_rule(&compact);
}
