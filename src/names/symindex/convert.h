// SPDX-License-Identifier: Apache-2.0
/* State shared by the steps of a conversion. Included only by convert_*.c, encode_*.c and
 * symindex_dwarf.c.
 *
 * A unit is walked (convert_walk.c) into scopes and their ranges, its line program run
 * (convert_lines.c) into rows, and both are flattened (convert_flatten.c) into pieces: stretches of
 * addresses, each with its innermost scope, file and line. After all units, the pieces and the
 * symbol table are merged in address order (convert_merge.c) into ranges and their calls, which the
 * encoder writes.
 *
 * Several threads can convert slices of the units, each with its own struct (convert_slices.c).
 *
 * Invariants: addresses are offsets from `base` and fit 32 bits; ids of names and files count from
 * 1, 0 is none; a scope's parent has a smaller number. `status` is OK until memory or a documented
 * limit runs out, which ends the conversion. An error in a unit affects only that unit. */
#ifndef SONDE_CONVERT_H
#define SONDE_CONVERT_H

#include <assert.h>
#include <pthread.h>

#include "dwarf_line.h"
#include "dwarf_plan.h"
#include "dwarf_unit.h"
#include "mem_arena.h"
#include "symindex_convert.h"

#define CONVERT_NONE UINT32_MAX

/* The deepest nesting met in real files is below 100. */
#define CONVERT_DEPTH_MAX 1024u
/* Work budget for tables that many DIEs or units can refer to, in addition to the size of the
 * input. Real files refer to each table once. */
#define CONVERT_WORK_FACTOR 8u
#define CONVERT_WORK_FIRST  ((uint64_t)1 << 24)
/* Names are cut here, as reports cut them; ceph's longest has 11 KiB. */
#define CONVERT_NAME_MAX 16384u

/* --- convert_die.c: the attributes that are kept --- */

enum die_kind { DIE_OTHER, DIE_FUNCTION, DIE_INLINED, DIE_SITE };

/* Attributes kept of these DIEs. */
enum slot {
    SLOT_LOW,
    SLOT_HIGH,
    SLOT_RANGES,
    SLOT_CALL_FILE,
    SLOT_CALL_LINE,
    SLOT_ORIGIN,
    SLOT_DECLARATION,
    SLOT_NAME,
    SLOT_LINKAGE,
    SLOT_EXTERNAL,
    SLOT_ALL_CALLS, /* at least all of the function's tail calls are described */
    /* of a call site; SLOT_ORIGIN is the callee */
    SLOT_RETURN,
    SLOT_CALL,
    SLOT_TAIL,
    SLOT_COUNT,
};
static_assert((int)SLOT_COUNT <= SONDE__DWARF_SLOTS, "each has a slot");

/* Kinds of DIEs and attributes to keep: with call sites, and without. */
extern const struct sonde__dwarf_wanted convert_wanted, convert_wanted_calls;

/* --- the state of a conversion --- */

struct scope {
    uint32_t name;   /* of the function */
    uint32_t parent; /* CONVERT_NONE: not inlined */
    uint32_t call_file, call_line;
};

/* Extends from `start` to the next piece or the end of its chunk. */
struct piece {
    uint32_t start;
    uint32_t scope; /* CONVERT_NONE: code of no function */
    uint32_t file, line;
};

/* Adjacent pieces of one unit. */
struct chunk {
    uint32_t start, end;
    uint32_t count;
    size_t first;
};

/* Interned strings: names, folders, file names, paths. */
struct string {
    const char *text; /* in the input or the arena; may lack a NUL */
    uint32_t size;
    uint32_t hash;
};

struct strings {
    struct string *all; /* [0] is "" */
    size_t count, capacity;
    uint32_t *slots; /* hash table by content; 0: free; the number is a power of two */
    size_t slot_count;
};

/* A map from 64-bit keys to 32-bit values. A zeroed one is empty. */
struct map {
    struct map_entry {
        uint64_t key; /* key + 1; 0: free */
        uint32_t value;
    } * entries;
    size_t count, slot_count;
};

struct file {
    uint32_t directory, base; /* strings; directory 0: none */
};

struct symbol {
    uint32_t start, size, name;
};

struct alias {
    uint32_t symbol, name;
};

/* A function that other images may refer to as "name@version" or "name". */
struct export
{
    uint32_t name, start; /* start NONE: resolved at run time (ifunc) */
};

/* A call of a function, and the call that it was inlined into. */
struct call {
    uint32_t function;
    uint32_t parent; /* call; 0: none. Smaller than the call's own number */
    uint32_t line;   /* of the call in the parent; 0: unknown */
};

struct function {
    uint32_t name, file;
    uint32_t line_base; /* lowest line of the function; 0: none */
};

struct range {
    uint32_t start;
    uint32_t call; /* 0: these addresses are unknown */
    uint32_t line;
};

struct bad_unit {
    uint64_t offset;
    uint32_t name; /* string */
    uint32_t what; /* string */
};

struct row {
    uint32_t start;
    uint32_t file; /* CONVERT_NONE: the end of a sequence */
    uint32_t line;
};

struct scope_range {
    uint32_t low, high;
    uint32_t scope;
};

/* --- calls in the debug information (convert_sites.c) --- */

/* A function with code, as a DIE describes it. */
struct site_function {
    uint32_t start;  /* its entry */
    uint32_t name;   /* string */
    uint32_t before; /* a function of the unit that shares its abstract DIE; NONE */
    uint32_t flags;  /* enum site_flags */
};
enum site_flags {
    SITE_COMPLETE = 1, /* all of its tail calls are described */
    SITE_EXTERNAL = 2, /* other units may refer to it */
};
struct site_part {
    uint32_t start, end;
    uint32_t function;
};

/* A callee of call sites in one unit. */
struct site_callee {
    uint64_t origin;    /* its DIE, while the unit is being read */
    uint32_t entry;     /* NONE: the call site gives no entry */
    uint32_t candidate; /* a function of the unit with the same abstract DIE; NONE */
    uint32_t name;      /* string; 0: none */
    bool external;
    bool linked; /* the name is the linker's */
};

struct site {
    uint32_t function;
    uint32_t at;     /* the return address of a call; an address in the jump of a tail call */
    uint32_t callee; /* NONE: known only at run time */
    bool is_tail;
};

struct sites {
    struct site_function *functions;
    size_t function_count, function_capacity, unit_function;
    struct site_part *parts;
    size_t part_count, part_capacity;
    struct site_callee *callees;
    size_t callee_count, callee_capacity, unit_callee;
    struct site *all;
    size_t count, capacity;
    struct map unit;    /* DIEs of the current unit -> function, callee */
    struct map names;   /* global name -> 1 + start; NONE: several */
    struct map locals;  /* other symbol name -> the same */
    struct map imports; /* undefined name -> 1 */
    struct map own;     /* starts of functions local to a unit */
    struct map chosen;  /* starts of ifunc resolvers */
};

/* A .debug_info section whose DIEs refer to each other by offset. */
struct space {
    const struct sonde__dwarf_sections *sections; /* null: there is none */
    uint64_t *unit_offsets;                       /* of all units, ascending */
    size_t unit_count, unit_capacity;
    struct sonde__dwarf_abbrevs abbrevs; /* of the unit read last */
};

/* Bit that marks a DIE offset of the supplementary file. */
#define CONVERT_SUPPLEMENTARY ((uint64_t)1 << 62)

struct convert_shared; /* below */

struct convert {
    const struct sonde__symindex_source *source;
    const struct sonde__dwarf_sections *sections; /* of the current unit */
    uint64_t base;
    uint64_t size; /* <= 2^32 */
    enum sonde_status status;
    uint64_t work_all, work_left; /* against tables that many units point to */
    uint64_t work_least; /* minimum of work_left, taken before work is added and at the end */
    bool out_of_work;
    bool calls_only; /* no call sites: they are for tail calls */
    struct sonde__arena arena;

    /* the units that this struct reads, and its siblings */
    size_t unit_first, unit_last;
    unsigned threads;
    bool is_slice, quiet;
    bool again; /* repeat with one thread, because the result may depend on scheduling */
    struct convert_shared *shared; /* null: alone */
    struct convert *slices;        /* whose arenas hold strings */
    size_t slice_count;

    /* of the current unit */
    struct sonde__dwarf_unit unit;
    struct sonde__dwarf_abbrevs abbrevs;
    struct sonde__dwarf_plans plans;
    struct sonde__dwarf_lines lines;
    uint32_t *unit_files; /* file of the line table -> file; CONVERT_NONE: not asked yet */
    size_t unit_file_capacity;
    struct scope_range *scope_ranges, *scope_scratch;
    size_t scope_range_count, scope_range_capacity, scope_scratch_capacity;
    struct bound {
        uint32_t low, high;
    } * bounds; /* by low */
    size_t bound_count, bound_capacity;
    bool bounds_known, is_bounded;
    struct row *rows, *row_scratch;
    size_t row_count, row_capacity, row_scratch_capacity;
    struct row_span {
        uint32_t low;
        uint32_t count;
        size_t first;
    } * spans;
    size_t span_count, span_capacity;
    const char *damage; /* first error of the unit */
    struct map origins; /* DIE of this unit -> name */

    /* of the file */
    struct map far_origins; /* DIE of another unit -> name */
    struct space main, supplementary;
    struct space split; /* of the current split unit; filled when a DIE refers to another unit */
    struct sonde__dwarf_split split_unit;
    bool in_split;
    struct map name_places; /* address of a name in the input -> string */
    struct map file_places; /* addresses of a path's parts -> 1 + index in `places` */
    struct file_place {
        const char *name, *directory, *comp_dir;
        uint32_t file;
    } * places;
    size_t place_count, place_capacity;
    struct strings strings;
    struct map file_ids; /* directory and base -> file */
    struct file *files;  /* [0] is none */
    size_t file_count, file_capacity;
    struct scope *scopes;
    size_t scope_count, scope_capacity;
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    struct chunk *chunks;
    size_t chunk_count, chunk_capacity;
    struct symbol *symbols; /* sorted by start, one of each */
    size_t symbol_count, symbol_capacity;
    struct alias *aliases;
    size_t alias_count, alias_capacity;
    struct export *exports;
    size_t export_count, export_capacity;
    struct bad_unit *bad_units;
    size_t bad_unit_count, bad_unit_capacity;
    struct sites sites;

    /* merged */
    struct range *ranges;
    size_t range_count, range_capacity;
    struct call *calls; /* [0] is none */
    size_t call_count, call_capacity;
    struct function *functions; /* [0] is none */
    size_t function_count, function_capacity;
    struct map function_ids; /* name and file -> function */
};

/* Shared by the slices of a conversion. */
struct convert_shared {
    _Atomic uint64_t done; /* bytes of .debug_info */
    _Atomic size_t taken;  /* slices taken, besides the first */
    _Atomic bool stop;     /* one of them failed */
    pthread_mutex_t split_lock;
    struct map split_ids; /* of split units that were given -> 1 */
    bool split_twice;     /* the order of threads decided which skeleton got it */
};

/* Index of a symbol's first alias; aliases are sorted by symbol. */
static inline size_t convert_first_alias(const struct convert *c, size_t symbol)
{
    return SONDE__SEARCH(0, c->alias_count, i, c->aliases[i].symbol < symbol);
}

/* Make room for one more element in an array of `c`; sets the status on failure. */
#define CONVERT_ROOM(c, array, count, capacity)                                                    \
    ((c)->count < (c)->capacity ||                                                                 \
     convert_grow((c), &(c)->array, (c)->count, &(c)->capacity, sizeof *(c)->array))
bool convert_grow(struct convert *c, void *array, size_t count, size_t *capacity, size_t size);
/* Room for at least `count` elements; old contents are lost. */
bool convert_reserve(struct convert *c, void *array, size_t count, size_t *capacity, size_t size);
/* Room for at least `wanted` elements; old contents are kept. */
bool convert_reserve_more(struct convert *c, void *array, size_t wanted, size_t *capacity,
                          size_t size);
/* Spend work from the budget. False: it is used up, which is recorded as damage of the unit. */
bool convert_work(struct convert *c, uint64_t amount);
void convert_damage(struct convert *c, const char *what);

/* --- convert_units.c --- */

/* Add the current unit's error to the list of bad units. */
void convert_list_damage(struct convert *c);

/* Zero the struct and prepare it for units. False: no memory. */
bool convert_begin(struct convert *c);
void convert_units(struct convert *c);
/* Read the DIE of the unit at an offset into c->unit. False: unreadable. */
bool convert_unit_root(struct convert *c, uint64_t offset);
/* Append the scopes, pieces and chunks of the unit at an offset. */
void convert_unit_at(struct convert *c, uint64_t offset);
void convert_done(struct convert *c);

/* --- convert_breakpad.c --- */

/* Read a Breakpad symbol file: all that units and symbol tables give. */
void convert_breakpad(struct convert *c);

/* --- convert_slices.c --- */

/* Read all units with `threads` threads. */
void convert_slices(struct convert *c);

/* --- convert_strings.c --- */

/* The value of a key, or 0. */
uint32_t convert_map_find(const struct map *map, uint64_t key);
/* value != 0 */
void convert_map_set(struct convert *c, struct map *map, uint64_t key, uint32_t value);
void convert_map_clear(struct map *map);
/* The id of a string; `text` must live as long as the conversion. 0: empty, or no memory. */
uint32_t convert_string(struct convert *c, const char *text, size_t size);
uint32_t convert_string_copy(struct convert *c, const char *text, size_t size); /* any text */
/* As convert_string(), for the first `size` bytes of a NUL-terminated text. The interned text is
 * NUL-terminated, too. */
uint32_t convert_text(struct convert *c, const char *text, size_t size);
/* The same for a text in the input that ends at `end` at the latest, cut at CONVERT_NAME_MAX. */
uint32_t convert_name(struct convert *c, const char *text, const uint8_t *end);

/* --- convert_files.c --- */

/* The file of a number in the unit's line table; 0: none. */
uint32_t convert_file(struct convert *c, uint64_t number);
/* The file of a directory and a base name. */
uint32_t convert_file_of(struct convert *c, uint32_t directory, uint32_t base);

/* Offset of the DIE that this one takes its name from; 0: none. */
uint64_t convert_reference(const struct convert *c, const struct sonde__dwarf_die *die);
/* The address in a slot; false: its index is out of bounds. */
bool convert_address(const struct convert *c, const struct sonde__dwarf_die *die, enum slot slot,
                     uint64_t *ret_address);
bool convert_is_address(const struct convert *c, const struct sonde__dwarf_attr *attr);

/* --- convert_walk.c, convert_names.c --- */

void convert_walk(struct convert *c);
/* Find the offsets of all units of a space. */
void convert_find_units(struct convert *c, struct space *space);
/* The name of the function that the DIE at this offset of .debug_info describes; 0: none. */
uint32_t convert_function_name(struct convert *c, uint64_t offset);
/* The identity of a DIE's function: the last DIE in the chain of abstract_origin and specification.
 * Concrete and declaring DIEs of a function in one unit share it. */
struct identity {
    uint64_t root;
    uint32_t name;
    bool external;
    bool linked; /* the name is the linker's */
};
void convert_identify(struct convert *c, uint64_t offset, struct identity *ret_identity);

/* --- convert_sites.c --- */

/* Add a DIE of a function with code; its ranges are c->scope_ranges from `first_range` on. Returns
 * its number. */
uint32_t convert_sites_function(struct convert *c, const struct sonde__dwarf_die *die,
                                uint64_t offset, uint32_t name, size_t first_range);
/* A call site in a function (NONE: in none). */
void convert_sites_add(struct convert *c, const struct sonde__dwarf_die *die, uint32_t function);
/* Finish a unit; `whole`: it was read to its end. */
void convert_sites_end_unit(struct convert *c, bool whole);
/* Map a name to a start, in `names` or `locals`. */
void convert_sites_name(struct convert *c, struct map *map, uint32_t name, uint32_t start);
/* Append a slice's sites. strings: maps its string ids to ours. */
void convert_sites_append(struct convert *c, const struct sites *slice, const uint32_t *strings);
void convert_sites_done(struct sites *sites);

/* --- convert_bounds.c --- */

void convert_bounds_begin(struct convert *c);
/* Is the offset in code that the current unit claims? False: *ret_resumes is where the unit's next
 * code starts, or UINT32_MAX. */
bool convert_is_in_unit(struct convert *c, uint32_t at, uint32_t *ret_resumes);

/* --- convert_lines.c, convert_flatten.c --- */

/* Open the unit's line program, which makes its files available. False: it has none. */
bool convert_lines_open(struct convert *c, struct sonde__dwarf_program *ret_program);
/* Run it into rows. */
void convert_lines_run(struct convert *c, struct sonde__dwarf_program *program);
void convert_flatten(struct convert *c);

/* --- convert_symbols.c, convert_exports.c, convert_macho.c, convert_merge.c --- */

void convert_symbols(struct convert *c);
void convert_exports(struct convert *c);

/* A symbol table's name for a start. */
struct candidate {
    uint64_t end; /* upper bound as an offset: the end of its section or function */
    uint32_t start, size, name, rank;
};

struct candidates {
    struct candidate *all;
    size_t count, capacity;
};

/* Ranks of a candidate; lower is better. RANK_WEAK is compared after the form of the name. */
enum {
    RANK_NO_TYPE = 16,
    RANK_NO_SIZE = 8,
    RANK_LOCAL = 4,
    RANK_NO_VERSION = 2,
    RANK_WEAK = 1,
};

static inline void convert_candidate(struct convert *c, struct candidates *to,
                                     struct candidate candidate)
{
    if (candidate.name != 0 &&
        (to->count < to->capacity ||
         convert_grow(c, &to->all, to->count, &to->capacity, sizeof *to->all))) {
        to->all[to->count++] = candidate;
    }
}
void convert_macho_symbols(struct convert *c, struct candidates *to);

/* Call it after the symbols, pieces and scopes of all units are there. */
void convert_outer_names(struct convert *c);
void convert_merge(struct convert *c);

/* --- encode.c --- */

SONDE_NODISCARD enum sonde_status convert_encode(struct convert *c,
                                                 struct sonde__symindex_made *made);

#endif
