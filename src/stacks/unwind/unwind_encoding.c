// SPDX-License-Identifier: Apache-2.0
#include "unwind_encoding.h"

#include "base_bytes.h"

/* --- x86-64 --- */

enum {
    X86_64_SAVED_MAX = 6, /* rbx, r12 to r15, rbp */
    X86_64_FP_SLOTS = 5,  /* of a function with a frame pointer: three bits each */
};

/* From the format's register numbers to DWARF's; 0: none. */
static const uint8_t x86_64_regs[8] = {0, SONDE__X86_64_RBX, 12, 13, 14, 15, SONDE__X86_64_RBP, 0};

static void add_saved(struct sonde__encoded *out, unsigned reg, int64_t offset)
{
    out->saved[out->count].reg = (uint8_t)reg;
    out->saved[out->count].offset = (int16_t)offset;
    out->count++;
}

/* Bits 16 to 23: distance of the lowest saved register from rbp, in words; bits 0 to 14: the
 * registers saved from there upward. */
static void decode_x86_64_fp(uint32_t encoding, struct sonde__encoded *out)
{
    int64_t at = -16 - 8 * (int64_t)(encoding >> 16 & 0xff);
    out->rule = (struct sonde__rule){.cfa = SONDE__RULE_FP,
                                     .cfa_offset = 16,
                                     .fp_from = SONDE__FROM_CFA,
                                     .fp_offset = -16,
                                     .ra_from = SONDE__FROM_CFA,
                                     .ra_offset = -8};
    for (unsigned i = 0; i < X86_64_FP_SLOTS; i++, at += 8) {
        unsigned reg = x86_64_regs[encoding >> 3 * i & 7];
        if (reg != 0 && reg != SONDE__X86_64_RBP && at < -16) {
            add_saved(out, reg, at);
        }
    }
}

/* Decode which `count` of the six registers are saved, from the lowest address upward. The digits
 * of the number (factorial system) are indexes into the registers left.
 * False: no such number. */
static bool read_permutation(uint32_t number, unsigned count, uint8_t ret_regs[X86_64_SAVED_MAX])
{
    uint8_t left[X86_64_SAVED_MAX] = {1, 2, 3, 4, 5, 6};
    uint32_t scale = 1;
    for (unsigned i = 1; i < count; i++) { /* the weight of the first digit */
        scale *= X86_64_SAVED_MAX - i;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned choices = X86_64_SAVED_MAX - i;
        uint32_t digit = number / scale;
        number %= scale;
        if (digit >= choices) {
            return false;
        }
        ret_regs[i] = left[digit];
        for (unsigned k = digit; k + 1 < choices; k++) {
            left[k] = left[k + 1];
        }
        scale /= choices > 1 ? choices - 1 : 1;
    }
    return true;
}

/* Read the size of a large frame from the instruction `sub $size, %rsp`, at an offset from the
 * function's start. The encoding adds what was pushed before. */
static bool read_size(const struct sonde__encodings *encodings,
                      const struct sonde__unwind_info_entry *entry, uint64_t *ret_size)
{
    uint64_t at = entry->start - encodings->info.base + (entry->encoding >> 16 & 0xff);
    uint64_t pushed = (uint64_t)(entry->encoding >> 13 & 7) * 8;
    if (encodings->text == NULL || encodings->text_size < 4 || at > encodings->text_size - 4) {
        return false;
    }
    *ret_size = sonde__base_le32(encodings->text + at) + pushed;
    return *ret_size <= INT32_MAX;
}

static void decode_x86_64_sp(const struct sonde__encodings *encodings,
                             const struct sonde__unwind_info_entry *entry, bool is_big,
                             struct sonde__encoded *out)
{
    uint8_t regs[X86_64_SAVED_MAX];
    uint32_t encoding = entry->encoding;
    unsigned count = encoding >> 10 & 7;
    uint64_t size = (uint64_t)(encoding >> 16 & 0xff) * 8;
    if ((is_big && !read_size(encodings, entry, &size)) || count > X86_64_SAVED_MAX ||
        size < 8 + (uint64_t)count * 8 || !read_permutation(encoding & 0x3ff, count, regs)) {
        return;
    }
    out->rule = (struct sonde__rule){.cfa = SONDE__RULE_SP,
                                     .cfa_offset = (int32_t)size,
                                     .ra_from = SONDE__FROM_CFA,
                                     .ra_offset = -8};
    for (unsigned i = 0; i < count; i++) {
        int64_t at = -8 - 8 * (int64_t)(count - i);
        if (x86_64_regs[regs[i]] == SONDE__X86_64_RBP) {
            out->rule.fp_from = SONDE__FROM_CFA;
            out->rule.fp_offset = (int16_t)at;
        } else {
            add_saved(out, x86_64_regs[regs[i]], at);
        }
    }
}

static void decode_x86_64(const struct sonde__encodings *encodings,
                          const struct sonde__unwind_info_entry *entry, struct sonde__encoded *out)
{
    switch (entry->encoding & SONDE__ENCODING_MODE_MASK) {
    case SONDE__ENCODING_X86_64_FP:
        decode_x86_64_fp(entry->encoding, out);
        break;
    case SONDE__ENCODING_X86_64_SP:
        decode_x86_64_sp(encodings, entry, false, out);
        break;
    case SONDE__ENCODING_X86_64_SP_BIG:
        decode_x86_64_sp(encodings, entry, true, out);
        break;
    case SONDE__ENCODING_X86_64_DWARF:
        out->rule.cfa = SONDE__RULE_OTHER;
        break;
    default:
        break;
    }
}

/* --- arm64 --- */

/* Pairs of registers are saved downward from the frame record, or without one from the CFA: x19
 * and x20, ... x27 and x28 (bits 0 to 4), d8 and d9, ... (bits 8 to 11), each if its bit is set. */
static void add_arm64_pairs(uint32_t encoding, int64_t at, struct sonde__encoded *out)
{
    for (unsigned pair = 0; pair < 5; pair++) {
        if ((encoding >> pair & 1) != 0) {
            add_saved(out, 19 + 2 * pair, at - 8);
            add_saved(out, 20 + 2 * pair, at - 16);
            at -= 16;
        }
    }
}

static void decode_arm64(uint32_t encoding, struct sonde__encoded *out)
{
    switch (encoding & SONDE__ENCODING_MODE_MASK) {
    case SONDE__ENCODING_ARM64_FRAME:
        out->rule = (struct sonde__rule){.cfa = SONDE__RULE_FP,
                                         .cfa_offset = 16,
                                         .fp_from = SONDE__FROM_CFA,
                                         .fp_offset = -16,
                                         .ra_from = SONDE__FROM_CFA,
                                         .ra_offset = -8};
        add_arm64_pairs(encoding, -16, out);
        break;
    case SONDE__ENCODING_ARM64_FRAMELESS:
        out->rule = (struct sonde__rule){.cfa = SONDE__RULE_SP,
                                         .cfa_offset = (int32_t)(encoding >> 12 & 0xfff) * 16,
                                         .ra_from = SONDE__FROM_KEPT};
        add_arm64_pairs(encoding, 0, out);
        break;
    case SONDE__ENCODING_ARM64_DWARF:
        out->rule.cfa = SONDE__RULE_OTHER;
        break;
    default:
        break;
    }
}

/* --- both --- */

void sonde__encoding_decode(const struct sonde__encodings *encodings, unsigned arch,
                            const struct sonde__unwind_info_entry *entry,
                            struct sonde__encoded *ret_encoded)
{
    ret_encoded->rule = (struct sonde__rule){.cfa = SONDE__RULE_NONE};
    ret_encoded->count = 0;
    if (arch == SONDE_ARCH_X86_64) {
        decode_x86_64(encodings, entry, ret_encoded);
    } else {
        decode_arm64(entry->encoding, ret_encoded);
    }
}

bool sonde__encoding_fde(const struct sonde__cfi *cfi, unsigned arch,
                         const struct sonde__unwind_info_entry *entry, uint64_t vaddr,
                         struct sonde__cfi_fde *ret_fde)
{
    uint64_t next = 0;
    struct sonde__cfi_fde fde;
    fde.cie.program = NULL;
    uint64_t offset = entry->encoding & SONDE__ENCODING_DWARF_MASK;
    if (sonde__cfi_record_read(cfi, arch, SONDE__CFI_EH_FRAME, offset, &fde, &next) ==
            SONDE__CFI_RECORD_FDE &&
        vaddr - fde.start < fde.end - fde.start) {
        *ret_fde = fde;
        return true;
    }
    /* 0: the offset needs more than 24 bits */
    return offset == 0 && sonde__cfi_fde_find_in(cfi, arch, SONDE__CFI_EH_FRAME, vaddr, ret_fde);
}

static struct sonde__rule find_in_fde(const struct sonde__cfi *cfi, unsigned arch,
                                      const struct sonde__unwind_info_entry *entry, uint64_t vaddr)
{
    struct sonde__compact compact;
    struct sonde__cfi_fde fde;
    if (!sonde__encoding_fde(cfi, arch, entry, vaddr, &fde)) {
        return (struct sonde__rule){.cfa = SONDE__RULE_NONE};
    }
    sonde__compact_init(&compact, cfi, arch);
    return sonde__program_seek(&compact.program, &fde, vaddr)
               ? sonde__compact_rule(&compact)
               : (struct sonde__rule){.cfa = SONDE__RULE_NONE};
}

struct sonde__rule sonde__encoding_find(const struct sonde__image *image, unsigned arch,
                                        uint64_t vaddr)
{
    struct sonde__unwind_info_entry entry;
    struct sonde__encoded encoded;
    if (!sonde__unwind_info_find(&image->encodings.info, vaddr, &entry)) {
        return (struct sonde__rule){.cfa = SONDE__RULE_NONE};
    }
    sonde__encoding_decode(&image->encodings, arch, &entry, &encoded);
    return encoded.rule.cfa == SONDE__RULE_OTHER ? find_in_fde(&image->cfi, arch, &entry, vaddr)
                                                 : encoded.rule;
}
