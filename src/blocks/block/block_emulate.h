// SPDX-License-Identifier: Apache-2.0
/* An emulated processor: registers, flags, and private memory that overlays the target's. For this
 * folder only. */
#ifndef SONDE_BLOCK_BLOCK_EMULATE_H
#define SONDE_BLOCK_BLOCK_EMULATE_H

#include "block_helper.h"

/* Address ranges that no target uses, one for each kind of value; offsets are below 1 << 36. */
#define EMULATE_RANGE(number) (((uint64_t)0x0d00 + (uint64_t)0x10 * (number)) << 48)
#define EMULATE_TO            EMULATE_RANGE(0) /* the copy; its words have the original's values */
#define EMULATE_FROM          EMULATE_RANGE(1) /* the original */
#define EMULATE_HELD          EMULATE_RANGE(2) /* the value of a word: its offset << 16 */
#define EMULATE_BEHIND        EMULATE_RANGE(3) /* a value read through such a pointer: likewise */
#define EMULATE_STACK         EMULATE_RANGE(4)
#define EMULATE_HEAP          EMULATE_RANGE(5)
#define EMULATE_UNKNOWN       EMULATE_RANGE(6) /* unknown registers and results */
#define EMULATE_THREAD        EMULATE_RANGE(7)
#define EMULATE_RETURN        EMULATE_RANGE(8) /* where the helper returns to */

enum { EMULATE_REGS = 33, EMULATE_VECTORS = 32 };

/* State that is restored after a failed call. */
struct emulate_cpu {
    uint64_t r[EMULATE_REGS]; /* aarch64: 31 sp, 32 zero */
    uint64_t v[EMULATE_VECTORS][2];
    bool n, z, c, o; /* c: a subtraction borrowed (x86-64's sense) */
    uint64_t pc;
};

struct emulation {
    const struct sonde__block_memory *memory;
    struct sonde__block_work *work;
    struct sonde__block_claims *claims;
    size_t first_claim; /* of this helper */
    enum sonde__block_helper_form form;
    uint32_t begin, size;
    struct emulate_cpu cpu;
    uint32_t steps, step_limit;
    uint32_t depth;
    uint32_t inside_from; /* claims at these offsets are parts of an object; 0: no object */
    uint64_t heap_used;
    const char *problem;
    uint64_t problem_at;
};

/* Is `value` in this range? Sets *ret_offset in any case. */
static inline bool emulate_in(uint64_t value, uint64_t range, uint64_t *ret_offset)
{
    *ret_offset = value - range;
    return value - range < (uint64_t)1 << 36;
}

static inline bool emulate_is_made_up(uint64_t value)
{
    return value >> 56 == 0x0d;
}

/* Store the first problem. Returns false. */
bool emulate_fail(struct emulation *f, const char *problem);

/* Memory with the helper's changes.
 * bytes: 1 to 16; `value` has two words.
 * False: failed. */
bool emulate_read(struct emulation *f, uint64_t address, unsigned bytes, uint64_t *ret_value);
bool emulate_write(struct emulation *f, uint64_t address, unsigned bytes, const uint64_t *value);
/* Undo the writes since `undo_count` had this value. */
void emulate_undo(struct emulation *f, uint32_t undo_count);

/* Claim a capture at this offset, unless it is claimed already. `type` may be null. */
void emulate_claim(struct emulation *f, enum sonde_block_kind kind, uint64_t offset, uint32_t size,
                   const char *type);
/* Handle that `value` is retained, released, or passed to a function that does so. */
void emulate_object(struct emulation *f, enum sonde_block_kind kind, uint64_t value);

/* Execute an instruction that is no call, jump or return; the pc is after it. False: failed. */
struct sonde__insn;
bool emulate_execute(struct emulation *f, const struct sonde__insn *insn);
/* Is the condition of the flags true? */
bool emulate_condition(const struct emulate_cpu *cpu, unsigned cond);
/* The value of an operand, of one word. */
bool emulate_operand(struct emulation *f, const struct sonde__insn *insn, unsigned kind,
                     unsigned reg, uint64_t *ret_value);

/* Argument `index` (0 to 2) of a call. */
uint64_t emulate_argument(const struct emulation *f, unsigned index);
/* Emulate a runtime function. False: failed, or it does not return. */
bool emulate_entry(struct emulation *f, enum sonde__block_entry entry, unsigned reg);
/* For a function that cannot be followed: claim what its arguments suggest. */
void emulate_opaque(struct emulation *f, const char *name);

#endif
