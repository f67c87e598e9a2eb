// SPDX-License-Identifier: Apache-2.0
/* The blocks of a process or core, for all commands that search them. */
#ifndef SONDE_HEAP_VIEW_H
#define SONDE_HEAP_VIEW_H

#include "blockheap_graph.h"
#include "cli_symbols.h"
#include "heap_made.h"
#include "heap_names.h"
#include "report_json.h"
#include "symfile_cache.h"
#include "symfile_calls.h"

struct heap_place {
    int32_t pid;
    const char *core;    /* file, instead of a process; or null */
    const char *program; /* if the core's own path is wrong; or null */
};

struct heap_view {
    const struct sonde__cli_command *command;
    struct heap_place place;
    struct sonde__target *target;
    struct sonde__symfile_cache *symfile;
    struct sonde__blockheap *heap;
    struct sonde__blockheap_found found;
    uint64_t search_ns;
    struct sonde__symfile_options options;
    struct heap_names *names;
    struct heap_made *made;      /* null: the process has no registry */
    struct sonde__answer answer; /* for the current function */
    char name[4096];
};

/* Is the operand a core's program? All others start with a digit. */
bool heap_view_is_program(const struct heap_place *place, const char *operand);
/* "0x5581…", or an octal or decimal number. False: not a number. */
bool heap_view_parse_address(const char *text, uint64_t *ret_address);

/* Open and search the process or core. Reports a failure; returns an exit code. Close it in any
 * case. */
int heap_view_open(struct heap_view *view, const struct sonde__cli_command *command,
                   const struct heap_place *place, struct sonde__cli_symbols *symbols);
/* Report what a core lacks. Returns the resulting exit code. */
int heap_view_doubts(const struct heap_view *view, int exit_code);
/* Write "pid": 4711, and the path of a core. */
void heap_view_json_place(const struct heap_view *view, struct sonde__json *json);
void heap_view_close(struct heap_view *view);

/* The name is demangled. Strings are valid until the next call. */
void heap_view_function(struct heap_view *view, uint64_t pc, struct sonde__call *ret_function);
/* "-[Ctl setup]: block (ctl.m:67)", or the address if unknown. */
void heap_view_print_function(struct heap_view *view, uint64_t pc);
/* The live block at an address, or null. */
const struct sonde__blockheap_item *heap_view_block(const struct heap_view *view, uint64_t address);
/* ", which runs block 0x5581… NAME" for a libdispatch block or a Swift closure; else nothing. */
void heap_view_print_wrapped(struct heap_view *view, uint64_t address, uint32_t size);
/* "Thing 0x5581…", "block 0x5581… NAME", "nil". is_known: the value was alive when it was read, so
 * its class may be read. */
void heap_view_print_value(struct heap_view *view, uint64_t value, bool is_known);

/* The variable at an offset of a block, from debug information, or null. */
const struct sonde__block_member *heap_view_variable(struct heap_view *view, uint64_t block,
                                                     uint32_t offset);

#endif
