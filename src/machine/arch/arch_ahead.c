// SPDX-License-Identifier: Apache-2.0
#include "arch_ahead.h"

enum { FP = 29, LR = 30, SP = 31, X16 = 16, X17 = 17 };

static unsigned field(uint32_t insn, unsigned at)
{
    return insn >> at & 31;
}

static int64_t signed_field(uint32_t insn, unsigned at, unsigned bits)
{
    return (int32_t)(insn << (32 - at - bits)) >> (32 - bits);
}

void sonde__arch_ahead_begin(struct sonde__ahead *ahead, uint64_t pc, uint64_t start, uint64_t end)
{
    *ahead = (struct sonde__ahead){.pc = pc, .start = start, .end = end};
}

static bool is_return(uint32_t insn)
{
    return insn == 0xd65f03c0 || insn == 0xd65f0bff || insn == 0xd65f0fff; /* ret, retaa, retab */
}

/* add Rd, sp, #value */
static bool is_add_to_sp(uint32_t insn, unsigned rd, int64_t *ret_value)
{
    *ret_value = (int64_t)(insn >> 10 & 0xfff) << ((insn >> 22 & 1) != 0 ? 12 : 0);
    return (insn & 0xff8003ff) == (0x910003e0 | rd);
}

static bool is_sub_from_sp(uint32_t insn)
{
    return (insn & 0xff8003ff) == 0xd10003ff;
}

static bool is_pair(uint32_t insn)
{
    return (insn & 0x3a000000) == 0x28000000;
}

static bool is_load_store(uint32_t insn)
{
    return (insn & 0x0a000000) == 0x08000000;
}

static bool is_saved(unsigned reg)
{
    return reg == FP || reg == LR;
}

/* Does a load write x29 or x30? */
static bool loads_record(uint32_t insn)
{
    bool is_vector = (insn >> 26 & 1) != 0;
    if (is_pair(insn)) {
        return !is_vector && (insn >> 22 & 1) != 0 &&
               (is_saved(field(insn, 0)) || is_saved(field(insn, 10)));
    }
    /* of registers: bits 22 and 23 are 0 in stores; literals, exclusives and atomics load, too */
    bool is_store = (insn & 0x3b000000) == 0x39000000 || (insn & 0x3b200000) == 0x38000000
                        ? (insn >> 22 & 3) == 0
                        : false;
    return !is_vector && !is_store && is_saved(field(insn, 0));
}

/* How much a load or store changes sp, by its address mode. */
static int64_t writeback(uint32_t insn)
{
    bool is_vector = (insn >> 26 & 1) != 0;
    if (field(insn, 5) != SP) {
        return 0;
    }
    if (is_pair(insn)) {
        unsigned size = insn >> 30;
        int64_t scale = is_vector ? 4 << size : size == 2 ? 8 : 4;
        return (insn >> 23 & 1) != 0 ? signed_field(insn, 15, 7) * scale : 0;
    }
    return (insn & 0x3b200400) == 0x38000400 ? signed_field(insn, 12, 9) : 0;
}

/* Does an instruction that computes set sp, x29 or x30, in a way that is not followed here? Swift
 * sets and clears a bit of x29, which changes nothing. */
static bool is_lost(uint32_t insn)
{
    bool is_immediate = (insn & 0x1c000000) == 0x10000000;
    bool is_register = (insn & 0x0e000000) == 0x0a000000;
    bool is_sp = (insn & 0x1f000000) == 0x11000000 || (insn & 0x1f800000) == 0x12000000 ||
                 (insn & 0x1fe00000) == 0x0b200000; /* add and sub, logic: 31 is sp */
    bool sets_flags = (insn & 0x1f800000) == 0x12000000 ? insn >> 29 == 7 || insn >> 29 == 3
                                                        : (insn >> 29 & 1) != 0;
    if ((insn & 0x1f8003ff) == (0x12000000 | FP << 5 | FP)) {
        return false;
    }
    return ((is_immediate || is_register) && is_saved(field(insn, 0))) ||
           (is_sp && field(insn, 0) == SP && !sets_flags);
}

/* The target of a jump or branch. False: it is none. */
static bool read_branch(uint32_t insn, uint64_t pc, bool *ret_is_jump, uint64_t *ret_target)
{
    bool is_test = (insn & 0x7e000000) == 0x36000000;
    *ret_is_jump = insn >> 26 == 5;
    if (*ret_is_jump) {
        *ret_target = pc + (uint64_t)(signed_field(insn, 0, 26) * 4);
        return true;
    }
    *ret_target = pc + (uint64_t)(signed_field(insn, 5, is_test ? 14 : 19) * 4);
    return is_test || (insn & 0x7e000000) == 0x34000000 || (insn & 0xff000000) == 0x54000000;
}

/* Go on behind the jump. A jump back may be that of a loop: then by the branch out of it. */
enum sonde__ahead_kind sonde__ahead_jump(struct sonde__ahead *ahead, uint64_t target)
{
    bool is_back = target <= ahead->pc;
    if (target < ahead->start || target >= ahead->end) {
        return SONDE__AHEAD_RETURN;
    }
    ahead->pc = target;
    if (is_back && ahead->other != 0) {
        ahead->pc = ahead->other;
        ahead->depth = ahead->other_depth;
        ahead->other = 0;
    }
    return SONDE__AHEAD_MORE;
}

enum sonde__ahead_kind sonde__ahead_branch(struct sonde__ahead *ahead, uint64_t target,
                                           uint64_t next)
{
    if (ahead->other == 0 && target > ahead->pc && target < ahead->end) {
        ahead->other = target;
        ahead->other_depth = ahead->depth;
    }
    ahead->pc = next;
    return SONDE__AHEAD_MORE;
}

/* Of calls, indirect jumps, exceptions and other ends. MORE: it is none of these. */
static enum sonde__ahead_kind classify_end(uint32_t insn)
{
    bool is_exception = (insn & 0xff000000) == 0xd4000000 && (insn & 0xffe0001f) != 0xd4000001;
    if (is_return(insn)) {
        return SONDE__AHEAD_RETURN;
    }
    if ((insn & 0xfffffc1f) == 0xd61f0000 &&
        (field(insn, 5) == X16 || field(insn, 5) == X17)) { /* br */
        return SONDE__AHEAD_JUMP;
    }
    return insn >> 26 == 0x25 || (insn & 0xfe000000) == 0xd6000000 || insn >> 16 == 0 ||
                   is_exception
               ? SONDE__AHEAD_UNKNOWN
               : SONDE__AHEAD_MORE;
}

enum sonde__ahead_kind sonde__arch_ahead(struct sonde__ahead *ahead, uint32_t insn)
{
    enum sonde__ahead_kind kind = classify_end(insn);
    uint64_t target = 0;
    int64_t value = 0;
    bool is_jump = false;
    if (kind != SONDE__AHEAD_MORE) {
        return kind;
    }
    if (read_branch(insn, ahead->pc, &is_jump, &target)) {
        return is_jump ? sonde__ahead_jump(ahead, target)
                       : sonde__ahead_branch(ahead, target, ahead->pc + 4);
    }
    if (is_add_to_sp(insn, FP, &value)) {
        ahead->depth += value;
        return SONDE__AHEAD_SETUP;
    }
    if (is_add_to_sp(insn, SP, &value) || is_sub_from_sp(insn)) {
        ahead->depth += is_sub_from_sp(insn) ? -value : value;
    } else if (is_load_store(insn)) {
        if (loads_record(insn)) {
            return SONDE__AHEAD_UNKNOWN;
        }
        ahead->depth += writeback(insn);
    } else if (is_lost(insn)) {
        return SONDE__AHEAD_UNKNOWN;
    }
    ahead->pc += 4;
    return SONDE__AHEAD_MORE;
}

enum sonde__behind_kind sonde__arch_behind(uint32_t insn)
{
    int64_t value = 0;
    if (is_add_to_sp(insn, FP, &value)) {
        return SONDE__BEHIND_SETUP;
    }
    return is_return(insn) || (is_load_store(insn) && loads_record(insn)) ? SONDE__BEHIND_NOT
                                                                          : SONDE__BEHIND_MORE;
}
