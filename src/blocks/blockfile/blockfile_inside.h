// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder tell each other. Context: any thread. */
#ifndef SONDE_BLOCKFILE_INSIDE_H
#define SONDE_BLOCKFILE_INSIDE_H

#include "base_bytes.h"
#include "blockfile.h"

#define BLOCKFILE_NO_DESC  UINT32_MAX
#define BLOCKFILE_NO_BLOCK UINT32_MAX

static inline bool blockfile_is_inside(const struct sonde__loaded_area *area, uint64_t vaddr,
                                       uint64_t size)
{
    return size <= area->size && vaddr - area->vaddr <= area->size - size;
}

/* --- blockfile_descs.c --- */

/* Is code at this vaddr? */
bool blockfile_is_code(const struct sonde__loaded *loaded, uint64_t vaddr);
/* Is a pointer at this vaddr? Where none is marked, any word may be one. */
bool blockfile_may_point(const struct sonde__loaded *loaded, uint64_t vaddr);
/* Add those that symbols name or, with a block's signature, the shape shows. False: no memory. */
SONDE_NODISCARD bool blockfile_find_descs(const struct sonde__loaded *loaded, bool by_symbols,
                                          struct sonde__blockfile *file);
/* Add the descriptor at a vaddr; nothing if none can be there. False: no memory. */
SONDE_NODISCARD bool blockfile_add_desc(const struct sonde__loaded *loaded,
                                        struct sonde__blockfile *file, uint64_t vaddr,
                                        enum sonde__blockfile_found found);
/* Sort them, and merge those that were found twice. */
void blockfile_merge_descs(struct sonde__blockfile *file);
/* The index of the descriptor at a vaddr, or BLOCKFILE_NO_DESC. After blockfile_merge_descs(). */
uint32_t blockfile_desc_at(const struct sonde__blockfile *file, uint64_t vaddr);

/* --- blockfile_slots.c: what code stores, by frame --- */

enum blockfile_value_kind {
    BLOCKFILE_UNKNOWN,
    BLOCKFILE_NUMBER, /* `number` */
    BLOCKFILE_PLACE,  /* `number` bytes from what the register `base` was at first */
};

struct blockfile_value {
    uint8_t kind, base;
    uint64_t number;
};

enum { BLOCKFILE_SLOTS = 128 };

struct blockfile_slot {
    uint8_t base;
    uint8_t size; /* 4 or 8 */
    uint64_t place;
    struct blockfile_value value; /* a place only of 8 bytes */
};

/* Blocks whose captures may still be stored, the last ones. */
enum { BLOCKFILE_OPEN = 4 };

struct blockfile_open {
    uint32_t block; /* index, or BLOCKFILE_NO_BLOCK */
    uint8_t base;
    uint64_t place;
};

/* What code is looked through for, before all descriptors are known: those that it puts into blocks
 * of a class. */
struct blockfile_wanted {
    uint64_t class_at; /* 0: nothing in the file speaks of it */
    uint64_t *vaddrs;  /* of descriptors that are not known, in any order; to be given back */
    uint32_t count;
    size_t capacity;
};

/* Words that a stretch of code stored, the last ones of them. */
struct blockfile_slots {
    const struct sonde__loaded *loaded;
    struct sonde__blockfile *file;
    struct blockfile_wanted *wanted; /* null: blocks are */
    struct blockfile_slot slots[BLOCKFILE_SLOTS];
    uint64_t used[BLOCKFILE_SLOTS / 64]; /* a bit each: few are, and they are searched often */
    unsigned next;
    struct blockfile_open open[BLOCKFILE_OPEN];
    unsigned next_open;
    /* a block whose flags were not stored yet, and where they belong */
    uint32_t waiting;
    uint8_t waiting_base;
    uint64_t waiting_place;
    enum sonde_status status;
};

void blockfile_slots_begin(struct blockfile_slots *slots, const struct sonde__loaded *loaded,
                           struct sonde__blockfile *file);
/* The slot of a place, or null. number: only if a number was stored there. */
struct blockfile_slot *blockfile_find_slot(struct blockfile_slots *slots, uint8_t base,
                                           uint64_t place);
struct blockfile_slot *blockfile_find_number(struct blockfile_slots *slots, uint8_t base,
                                             uint64_t place);
void blockfile_keep(struct blockfile_slots *slots, uint8_t base, uint64_t place,
                    const struct blockfile_value *value, unsigned size);
void blockfile_release(struct blockfile_slots *slots, const struct blockfile_slot *slot);
/* What was stored there is not there any more: two words that are stored at once are not to be
 * joined with what one of them was before. */
void blockfile_forget(struct blockfile_slots *slots, const struct blockfile_value *where,
                      int64_t offset);
/* What was stored below the stack's end is gone. */
void blockfile_forget_below(struct blockfile_slots *slots, const struct blockfile_value *stack);
/* What 4 or 8 bytes at `where` hold: what was stored there, or what the file has there. */
struct blockfile_value blockfile_load(struct blockfile_slots *slots,
                                      const struct blockfile_value *where, int64_t offset,
                                      unsigned size);

/* The first used slot from `i` on; BLOCKFILE_SLOTS: none. */
static inline unsigned blockfile_next_used(const struct blockfile_slots *slots, unsigned i)
{
    for (; i < BLOCKFILE_SLOTS; i = (i | 63) + 1) {
        uint64_t rest = slots->used[i / 64] >> i % 64;
        if (rest != 0) {
            return i + (unsigned)__builtin_ctzll(rest);
        }
    }
    return BLOCKFILE_SLOTS;
}

#define BLOCKFILE_EACH_USED(slots, i)                                                              \
    unsigned i = blockfile_next_used(slots, 0);                                                    \
    (i) < BLOCKFILE_SLOTS;                                                                         \
    (i) = blockfile_next_used(slots, (i) + 1)

/* --- blockfile_fill.c --- */

/* `value` of 4 or 8 bytes was stored at `where` by the instruction at `vaddr`. A block is added
 * when a descriptor and, in the word before it, a function are there. */
void blockfile_store(struct blockfile_slots *slots, const struct blockfile_value *where,
                     int64_t offset, const struct blockfile_value *value, unsigned size,
                     uint64_t vaddr);
/* What another function stored is nothing to this one. */
void blockfile_begin_function(struct blockfile_slots *slots);
/* A call, or the end of the code: blocks that were made are whole, and so are the boxes that they
 * lead to. */
void blockfile_settle(struct blockfile_slots *slots);

/* --- blockfile_boxes.c --- */

/* The box that begins at a place, which a block leads to. */
void blockfile_take_box(struct blockfile_slots *slots, uint32_t block, uint32_t offset,
                        const struct blockfile_value *box);
/* Sorts them, each once. */
void blockfile_end_boxes(struct sonde__blockfile *file);

/* --- blockfile_text.c --- */

/* Looks through all code for what makes blocks. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status blockfile_read_code(const struct sonde__loaded *loaded,
                                                      struct sonde__blockfile *file);

/* The same, for descriptors of blocks of a class. */
SONDE_NODISCARD enum sonde_status blockfile_search_code(const struct sonde__loaded *loaded,
                                                        struct sonde__blockfile *file,
                                                        struct blockfile_wanted *wanted);

/* --- blockfile_outlined.c --- */

/* Of aarch64, compilers that save size move equal code of several functions into one of its own
 * (LLVM's machine outliner), which is called in the middle of things: what a block is filled with,
 * too. Is there such code, or any that runs in one line without a frame of its own? ret_last  its
 * last instruction: a return, or a jump to somewhere else */
bool blockfile_outlined(const struct sonde__loaded *loaded, uint64_t vaddr, uint64_t *ret_last);
/* Where an instruction, that may be a call or a jump, leads. call: else a jump. */
bool blockfile_branch(uint32_t word, uint64_t vaddr, bool *ret_call, uint64_t *ret_target);

struct blockfile_sites { /* in order; to be given back */
    uint64_t *items;
    uint32_t count;
    size_t capacity;
};
/* Adds the places that call such code where sites are, and so on. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status blockfile_add_callers(const struct sonde__loaded *loaded,
                                                        struct sonde__blockfile *file,
                                                        struct blockfile_sites *sites);
SONDE_NODISCARD enum sonde_status blockfile_add_site(struct sonde__blockfile *file,
                                                     struct blockfile_sites *sites, uint64_t vaddr);

/* --- blockfile_x86_64.c, blockfile_aarch64.c --- */

/* Follows the instructions of [begin, end) of an area, one after the other. */
void blockfile_follow_x86_64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                             uint64_t begin, uint64_t end);
void blockfile_follow_aarch64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                              uint64_t begin, uint64_t end);

#endif
