// SPDX-License-Identifier: Apache-2.0
/* An index file (docs/index-format.md) over a view of its bytes: address -> functions, files and
 * lines, inlined calls included.
 *
 * Opening reads the header only, so its cost does not depend on the size. The contents are not
 * trusted: every offset is checked when it is used, and a bad one gives "unknown". Look-ups
 * allocate nothing. The view must outlive the reader. Context: any thread, any number at a time;
 * strings: one at a time. */
#ifndef SONDE_SYMINDEX_H
#define SONDE_SYMINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "image_set.h"
#include "mem_arena.h"
#include "symbol_answer.h"
#include "symindex_layout.h"

struct sonde__tail_graph; /* tail/tail_graph.h */
struct sonde__tail_origin;

struct sonde__symindex_part {
    const uint8_t *data;
    uint64_t size;
};

struct sonde__symindex {
    const uint8_t *file;
    uint64_t size;
    struct sonde__build_id build_id;
    uint64_t base;    /* vaddr of offset 0 */
    bool from_header; /* offset 0 is the image's header (Mach-O) */
    uint32_t code_bytes;
    uint32_t arch; /* enum sonde_arch */
    uint32_t ranges, calls, functions, names, files, directories, symbols, aliases;
    uint32_t units, bad_units, escapes;
    uint32_t block_count;
    uint8_t widths[SYMINDEX_WIDTH_COUNT];
    struct sonde__symindex_part parts[SYMINDEX_KNOWN];
};

/* One call. Ids count from 1; 0: unknown. */
struct sonde__symindex_frame {
    uint32_t name; /* of the function */
    uint32_t file;
    uint32_t line; /* 0: unknown */
};

/* Returns OK | UNSUPPORTED (not an index, or one of another version) | CORRUPT. */
SONDE_NODISCARD enum sonde_status sonde__symindex_open(const void *data, size_t size,
                                                       struct sonde__symindex *ret_index,
                                                       struct sonde_error *ret_error);

/* Check the checksums of all sections. Reads the whole file. */
bool sonde__symindex_intact(const struct sonde__symindex *index);

/* The frames at a vaddr, innermost first, at most `max`: each but the last is inlined into the next
 * one. Returns how many were written; 0: nothing is known. If there are more than `max`, the outer
 * frames are missing. */
size_t sonde__symindex_find(const struct sonde__symindex *index, uint64_t vaddr,
                            struct sonde__symindex_frame *ret_frames, size_t max);

/* The frames of many vaddrs, looked up in sorted order, which is twice as fast as one by one.
 *
 * ret_frames  the frames of vaddrs[i] are ret_frames[ret_first[i] .. ret_first[i] + ret_count[i])
 * max         room in ret_frames
 *
 * Returns OK | LIMIT (more than `max`; frames that did not fit are left out) | MEMORY. */
SONDE_NODISCARD enum sonde_status
sonde__symindex_find_many(const struct sonde__symindex *index, const uint64_t *vaddrs, size_t count,
                          struct sonde__symindex_frame *ret_frames, size_t max, uint32_t *ret_first,
                          uint32_t *ret_count);

/* The symbol that covers a vaddr. */
struct sonde__symindex_symbol {
    uint64_t start; /* vaddr */
    uint32_t size;
    uint32_t name;
    uint32_t index;       /* in the table of symbols */
    uint32_t alias_count; /* further names of its start */
    uint32_t first_alias; /* in the table of aliases */
};
bool sonde__symindex_symbol(const struct sonde__symindex *index, uint64_t vaddr,
                            struct sonde__symindex_symbol *ret_symbol);
/* Symbol `number` of the table. False: there is none. */
bool sonde__symindex_symbol_at(const struct sonde__symindex *index, uint32_t number,
                               struct sonde__symindex_symbol *ret_symbol);
/* Alias `i` of a symbol: a name; 0: there is none. */
uint32_t sonde__symindex_alias(const struct sonde__symindex *index,
                               const struct sonde__symindex_symbol *symbol, uint32_t i);

/* The image's tail calls; offsets are from `base`. An empty graph if the index has none. */
void sonde__symindex_tails(const struct sonde__symindex *index,
                           struct sonde__tail_graph *ret_graph);
/* What they were made from. */
void sonde__symindex_tail_origin(const struct sonde__symindex *index,
                                 struct sonde__tail_origin *ret_origin);

/* The versioned name that the word at a vaddr is bound by; "": unknown. Lives as long as the view.
 */
const char *sonde__symindex_word(const struct sonde__symindex *index, uint64_t vaddr);

/* A unit whose debug information could not be read completely. False: no such unit. Strings live as
 * long as the view. */
struct sonde__symindex_bad_unit {
    uint64_t offset; /* in .debug_info */
    const char *name;
    const char *what;
};
bool sonde__symindex_bad_unit(const struct sonde__symindex *index, uint32_t i,
                              struct sonde__symindex_bad_unit *ret_unit);

/* "directory/base" in the arena; "": no memory. */
const char *symindex_path(struct sonde__arena *arena, const char *directory, size_t directory_size,
                          const char *base, size_t base_size);

/* The NUL-terminated text at an offset of the text section; "" if there is none. */
const char *sonde__symindex_text(const struct sonde__symindex *index, uint32_t place);

/* --- strings, each decoded once --- */

struct sonde__symindex_strings {
    const struct sonde__symindex *index;
    struct sonde__arena arena;
    const char **names; /* [id - 1]; null: not asked yet */
    const char **files; /* [id] */
};

SONDE_NODISCARD enum sonde_status
sonde__symindex_strings_init(struct sonde__symindex_strings *strings,
                             const struct sonde__symindex *index);
void sonde__symindex_strings_done(struct sonde__symindex_strings *strings);
/* "" when it is unknown, or memory ran out. Live until _done(). */
const char *sonde__symindex_name(struct sonde__symindex_strings *strings, uint32_t name);
const char *sonde__symindex_file(struct sonde__symindex_strings *strings, uint32_t file);
/* As sonde__symindex_find(), with the texts. 0 also if there are more than SONDE__CALLS_MAX. */
uint32_t sonde__symindex_calls(struct sonde__symindex_strings *strings, uint64_t vaddr,
                               struct sonde__call ret_calls[SONDE__CALLS_MAX]);

/* The exported function of a versioned name. ret_vaddr: its entry; UINT64_MAX: resolved at run time
 * (ifunc). False: the image has none. */
bool sonde__symindex_export(struct sonde__symindex_strings *strings, const char *name,
                            uint64_t *ret_vaddr);

#endif
