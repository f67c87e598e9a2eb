// SPDX-License-Identifier: Apache-2.0
/* Shared by this folder. Context: any thread. */
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
/* Can there be a pointer at this vaddr? In files without relocations any word can be one. */
bool blockfile_may_point(const struct sonde__loaded *loaded, uint64_t vaddr);
/* Add descriptors found by symbol, and by shape and signature. False: no memory. */
SONDE_NODISCARD bool blockfile_find_descs(const struct sonde__loaded *loaded, bool by_symbols,
                                          struct sonde__blockfile *file);
/* Add the descriptor at a vaddr, if there can be one. False: no memory. */
SONDE_NODISCARD bool blockfile_add_desc(const struct sonde__loaded *loaded,
                                        struct sonde__blockfile *file, uint64_t vaddr,
                                        enum sonde__blockfile_found found);
/* Sort the descriptors, and merge duplicates. */
void blockfile_merge_descs(struct sonde__blockfile *file);
/* The index of the descriptor at a vaddr, or BLOCKFILE_NO_DESC. After blockfile_merge_descs(). */
uint32_t blockfile_desc_at(const struct sonde__blockfile *file, uint64_t vaddr);

/* --- blockfile_slots.c: words stored in a frame --- */

enum blockfile_value_kind {
    BLOCKFILE_UNKNOWN,
    BLOCKFILE_NUMBER, /* `number` */
    BLOCKFILE_PLACE,  /* `number` bytes from the first value of the register `base` */
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
    struct blockfile_value value; /* a place only if size is 8 */
};

/* Most recent blocks, to which captures may still be stored. */
enum { BLOCKFILE_OPEN = 4 };

struct blockfile_open {
    uint32_t block; /* index, or BLOCKFILE_NO_BLOCK */
    uint8_t base;
    uint64_t place;
};

/* The search for unknown descriptors, by the class of the blocks that code puts them in. */
struct blockfile_wanted {
    uint64_t class_at; /* 0: the file does not use it */
    uint64_t *vaddrs;  /* unknown descriptors, unsorted; the caller frees it */
    uint32_t count;
    size_t capacity;
};

/* The last words that a stretch of code stored. */
struct blockfile_slots {
    const struct sonde__loaded *loaded;
    struct sonde__blockfile *file;
    struct blockfile_wanted *wanted; /* null: the search is for blocks */
    struct blockfile_slot slots[BLOCKFILE_SLOTS];
    uint64_t used[BLOCKFILE_SLOTS /
                  64]; /* bit mask of used slots: few are in use, and they are searched often */
    unsigned next;
    struct blockfile_open open[BLOCKFILE_OPEN];
    unsigned next_open;
    /* a block whose flags will be stored later, and the place */
    uint32_t waiting;
    uint8_t waiting_base;
    uint64_t waiting_place;
    enum sonde_status status;
};

void blockfile_slots_begin(struct blockfile_slots *slots, const struct sonde__loaded *loaded,
                           struct sonde__blockfile *file);
/* The slot with a number at a place, or null. */
struct blockfile_slot *blockfile_find_number(struct blockfile_slots *slots, uint8_t base,
                                             uint64_t place);
void blockfile_keep(struct blockfile_slots *slots, uint8_t base, uint64_t place,
                    const struct blockfile_value *value, unsigned size);
void blockfile_release(struct blockfile_slots *slots, const struct blockfile_slot *slot);
/* Forget the words at a place: if two are stored at once, neither may be paired with the other's
 * old value. */
void blockfile_forget(struct blockfile_slots *slots, const struct blockfile_value *where,
                      int64_t offset);
/* Forget what was stored below the stack pointer. */
void blockfile_forget_below(struct blockfile_slots *slots, const struct blockfile_value *stack);
/* The 4 or 8 bytes at `where`, as stored by the code, or as in the file. */
struct blockfile_value blockfile_load(struct blockfile_slots *slots,
                                      const struct blockfile_value *where, int64_t offset,
                                      unsigned size);

/* First used slot at or after `i`; BLOCKFILE_SLOTS: none. */
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

/* The instruction at `vaddr` stored `value`, of 4 or 8 bytes, at `where`. Adds a block if there is
 * now a descriptor after a function. */
void blockfile_store(struct blockfile_slots *slots, const struct blockfile_value *where,
                     int64_t offset, const struct blockfile_value *value, unsigned size,
                     uint64_t vaddr);
/* At the start of a function: forget the previous one's stores. */
void blockfile_begin_function(struct blockfile_slots *slots);
/* At a call, or the end of the code: the blocks and boxes so far are complete. */
void blockfile_settle(struct blockfile_slots *slots);

/* --- blockfile_boxes.c --- */

/* Add the box at a place, captured by the block at `offset`, if it is a box. */
void blockfile_take_box(struct blockfile_slots *slots, uint32_t block, uint32_t offset,
                        const struct blockfile_value *box);
/* Sort the boxes and remove duplicates. */
void blockfile_end_boxes(struct sonde__blockfile *file);

/* --- blockfile_text.c --- */

/* Find blocks in code. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status blockfile_read_code(const struct sonde__loaded *loaded,
                                                      struct sonde__blockfile *file);

/* Find unknown descriptors of blocks of a class. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status blockfile_search_code(const struct sonde__loaded *loaded,
                                                        struct sonde__blockfile *file,
                                                        struct blockfile_wanted *wanted);

/* --- blockfile_outlined.c --- */

/* LLVM's machine outliner moves equal code of several functions into one of its own, even code that
 * fills a block. Does such code, or any other straight code without a frame, start at this vaddr?
 * aarch64 only.
 * ret_last  its last instruction: a return, or a jump elsewhere */
bool blockfile_outlined(const struct sonde__loaded *loaded, uint64_t vaddr, uint64_t *ret_last);
/* Target of a call or jump. False: another instruction. */
bool blockfile_branch(uint32_t word, uint64_t vaddr, bool *ret_call, uint64_t *ret_target);

struct blockfile_sites { /* sorted; the caller frees it */
    uint64_t *items;
    uint32_t count;
    size_t capacity;
};
/* Add the callers of outlined code with sites, and their callers. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status blockfile_add_callers(const struct sonde__loaded *loaded,
                                                        struct sonde__blockfile *file,
                                                        struct blockfile_sites *sites);
SONDE_NODISCARD enum sonde_status blockfile_add_site(struct sonde__blockfile *file,
                                                     struct blockfile_sites *sites, uint64_t vaddr);

/* --- blockfile_x86_64.c, blockfile_aarch64.c --- */

/* Follow the instructions of [begin, end) of an area. */
void blockfile_follow_x86_64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                             uint64_t begin, uint64_t end);
void blockfile_follow_aarch64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                              uint64_t begin, uint64_t end);

#endif
