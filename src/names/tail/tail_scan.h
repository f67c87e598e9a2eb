// SPDX-License-Identifier: Apache-2.0
/* The data that tail_code.c collects from code, and tail_resolve.c turns into functions and
 * edges. */
#ifndef SONDE_TAIL_SCAN_H
#define SONDE_TAIL_SCAN_H

#include "base_search.h"
#include "tail_code.h"
#include "tail_slots.h"

enum tail_mark {
    TAIL_MARK_OPEN = 1,       /* may jump to unknown places */
    TAIL_MARK_EXTERNAL = 2,   /* jumps to another image */
    TAIL_MARK_PART = 4,       /* starts with a frame in place, or is a part by name */
    TAIL_MARK_CALLED = 8,     /* its start is called */
    TAIL_MARK_NAMED = 16,     /* a symbol is at its start */
    TAIL_MARK_NO_RECORD = 32, /* known only by its symbol; its code is not searched */
    TAIL_MARK_OUTLINED = 64,  /* outlined by the compiler from several functions */
    TAIL_MARK_INDIRECT = 128, /* open because of a jump through a register or a variable */
    /* a stub that sends a message with one selector */
    TAIL_MARK_MESSAGE = TAIL_MARK_OUTLINED | TAIL_MARK_NO_RECORD | TAIL_MARK_INDIRECT,
};

/* Code described by one FDE or symbol. */
struct tail_range {
    uint32_t start, end;
    uint32_t group; /* union-find: ranges of one function share it */
    uint8_t marks;
};

enum tail_exit_kind {
    TAIL_EXIT_CLEAN,    /* the stack is as at entry */
    TAIL_EXIT_RESTORED, /* the code freed its frame, but the FDE still has it */
    TAIL_EXIT_INSIDE,   /* there is a frame */
};

/* A jump out of a range. */
struct tail_exit {
    uint32_t from; /* start of the range */
    uint32_t to;   /* offset; for a jump through a word, the word's target */
    uint32_t place;
    uint8_t kind;
};

/* A jump through a word that is bound to another image's function. */
struct tail_external_exit {
    uint32_t from; /* start of the range */
    uint32_t cell; /* offset of the word */
    uint32_t place;
};

struct tail_entry_call {
    uint32_t back;
    uint32_t to;
};

/* A call of another image's function. */
struct tail_leaving_call {
    uint32_t back;
    uint32_t cell; /* offset of the word */
};

/* A register-indirect call whose result is passed to a function. */
struct tail_handover {
    uint32_t back;
    uint64_t to; /* vaddr */
};

struct tail_scan {
    const struct sonde__tail_code *code;
    unsigned arch;
    struct sonde__cfi cfi;
    struct tail_slots slots;
    struct tail_range *ranges; /* by start, disjoint */
    size_t range_count, range_capacity;
    struct tail_exit *exits;
    size_t exit_count, exit_capacity;
    struct tail_entry_call *calls;
    size_t call_count, call_capacity;
    struct tail_external_exit *externals;
    size_t external_count, external_capacity;
    struct tail_leaving_call *leaving_calls;
    size_t leaving_call_count, leaving_call_capacity;
    struct tail_handover *handovers;
    size_t handover_count, handover_capacity;
    bool no_memory;
    uint64_t record_cost; /* cost of finding an FDE, in bytes */
    uint64_t work_left;   /* bytes of FDEs that may still be read; 0: give up on this image */
};

#define TAIL_ROOM(s, array, count, capacity)                                                       \
    ((s)->count < (s)->capacity ||                                                                 \
     sonde__mem_grow(&(s)->array, (s)->count, &(s)->capacity, sizeof *(s)->array) ||               \
     !((s)->no_memory = true))

#define TAIL_NO_RANGE SIZE_MAX
/* The range that contains an offset, or TAIL_NO_RANGE. */
static inline size_t tail_range_at(const struct tail_scan *s, uint32_t offset)
{
    size_t after = SONDE__SEARCH(0, s->range_count, i, s->ranges[i].start <= offset);
    return after != 0 && offset < s->ranges[after - 1].end ? after - 1 : TAIL_NO_RANGE;
}

/* The marks that a name implies for its function: PART, NAMED or NAMED | OUTLINED. */
uint8_t tail_marks_of_name(const char *name);
/* Sort the ranges and make them disjoint. */
void tail_order_ranges(struct tail_scan *s);
void tail_scan_done(struct tail_scan *s);

/* Write the calls of other images' functions, and all words through which calls and jumps go to
 * them. On failure the bytes are freed. */
SONDE_NODISCARD enum sonde_status tail_link(struct tail_scan *s,
                                            struct sonde__tail_bytes *ret_bytes);

SONDE_NODISCARD enum sonde_status tail_resolve(struct tail_scan *s,
                                               struct sonde__tail_bytes *ret_bytes);

#endif
