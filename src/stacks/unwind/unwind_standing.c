// SPDX-License-Identifier: Apache-2.0
/* An interpreter that is one piece of assembler has one record with one rule, that of its body.
 * Before it jumps to its JIT code, it may save more registers, which the record does not say
 * (LuaJIT: two). The code before the jump shows it. Context: handler. */
#include "unwind_standing.h"

#include "arch_x86_insn.h"

enum {
    BODY_BYTES_MAX = 65536, /* LuaJIT's body has 16 KB */
    CODE_BYTES = 256,
    PUSHED_BYTES_MAX = 256,
};

static void add_pushed(struct sonde__standing *standing, int64_t bytes)
{
    for (uint32_t i = 0; i < standing->pushed_count; i++) {
        if (standing->pushed[i] == (uint64_t)bytes) {
            return;
        }
    }
    if (bytes > 0 && bytes <= PUSHED_BYTES_MAX &&
        standing->pushed_count < SONDE__STANDING_PUSHED_MAX) {
        standing->pushed[standing->pushed_count++] = (uint32_t)bytes;
    }
}

/* What code without a jump has pushed after this instruction. Other changes of sp reset it to 0. */
static int64_t move(int64_t pushed, const struct sonde__x86_insn *insn)
{
    switch (insn->kind) {
    case SONDE__X86_PUSH:
        return pushed + 8;
    case SONDE__X86_POP:
        return pushed - 8;
    case SONDE__X86_SP_ADD:
        return pushed - insn->value;
    case SONDE__X86_OTHER:
    case SONDE__X86_BRANCH:
    case SONDE__X86_CALL:
    case SONDE__X86_CALL_INDIRECT:
        return pushed;
    default:
        return 0;
    }
}

/* Find what is pushed at the indirect jumps in [at, end). */
static void find_pushed(struct sonde__walker *walker, uint64_t at, uint64_t end,
                        struct sonde__standing *standing)
{
    uint8_t code[CODE_BYTES];
    uint64_t code_at = 0;
    int64_t pushed = 0;
    while (at + SONDE__X86_INSN_BYTES_MAX < end && walker->sweep_left > 0) {
        struct sonde__x86_insn insn;
        if (code_at == 0 || at - code_at > CODE_BYTES - SONDE__X86_INSN_BYTES_MAX) {
            code_at = at;
            if (!sonde__walker_read(walker, at, code, sizeof code)) {
                return;
            }
        }
        walker->sweep_left--;
        if (!sonde__arch_x86_insn(code + (at - code_at), CODE_BYTES - (size_t)(at - code_at),
                                  &insn)) {
            return;
        }
        if (insn.kind == SONDE__X86_JUMP_INDIRECT) {
            add_pushed(standing, pushed);
        }
        pushed = move(pushed, &insn);
        at += insn.length;
    }
}

bool sonde__standing_find(struct sonde__walker *walker, struct sonde__walker *looker,
                          uint64_t function, struct sonde__standing *ret_standing)
{
    struct sonde__rule *rule = &ret_standing->rule;
    uint64_t start = 0, end = 0;
    sonde__walker_locate(looker, function);
    const struct sonde__image *image = looker->image;
    if (image == NULL) {
        return false;
    }
    *rule = image->rules != NULL ? *sonde__table_find(image->rules, function - image->bias)
                                 : sonde__walker_rule_slow(looker, function - image->bias);
    if (rule->cfa != SONDE__RULE_SP || rule->cfa_offset <= 8 || (rule->cfa_offset & 7) != 0 ||
        rule->ra_from != SONDE__FROM_CFA || rule->ra_offset != -8 ||
        (rule->flags & SONDE__RULE_SIGNAL) != 0) {
        return false;
    }
    ret_standing->pushed[0] = 0;
    ret_standing->pushed_count = 1;
    if (sonde__cfi_fde_bounds(&image->cfi, walker->arch, function - image->bias, &start, &end) &&
        end - start <= BODY_BYTES_MAX) {
        find_pushed(walker, start + image->bias, end + image->bias, ret_standing);
    }
    return true;
}
