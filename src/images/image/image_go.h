// SPDX-License-Identifier: Apache-2.0
/* The function table of a Go program (pclntab): addresses and names of functions, the offset of sp
 * at each instruction, and lines. The Go runtime needs it, so every Go program has it, even a
 * stripped one. Go programs have no call frame information.
 *
 * The table is read in place, every access is inside the view, and every loop is limited. A
 * table is accepted by its whole header, not by its magic alone. Formats: Go 1.2, 1.16, 1.18,
 * 1.20 and later, up to 1.26 (runtime/symtab.go and internal/abi of the Go distribution).
 * Context: handler. */
#ifndef SONDE_IMAGE_GO_H
#define SONDE_IMAGE_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__elf;

struct sonde__go {
    const uint8_t *data; /* null: no table */
    size_t size;
    uint64_t text;       /* vaddr that function offsets count from; 0: they are vaddrs */
    uint32_t count;      /* functions */
    uint8_t entry_bytes; /* size of a field of the table of functions: 4 or 8 */
    uint8_t quantum;     /* size of the smallest instruction in bytes */
    uint8_t version;     /* enum sonde__go_version */
    uint64_t functions;  /* offsets from data: the table of functions, ... */
    uint64_t records;    /* base of its offsets */
    uint64_t names;
    uint64_t units; /* 0: file numbers are indexes of the whole table of files */
    uint64_t files;
    uint64_t values; /* tables of values by pc */
};

enum sonde__go_version {
    SONDE__GO_1_2,
    SONDE__GO_1_16,
    SONDE__GO_1_18,
    SONDE__GO_1_20,
};

enum { SONDE__GO_TOP_FRAME = 1, SONDE__GO_ASSEMBLER = 4 }; /* flags; Go 1.17 and later */

struct sonde__go_function {
    uint64_t start; /* vaddr */
    uint64_t end;
    const char *name;      /* ends inside the table */
    uint64_t stack_values; /* offsets of tables of values, 0: none */
    uint64_t file_values;
    uint64_t line_values;
    uint64_t inlined_values; /* index of the inlined call, -1: none; 0: no inlined calls */
    bool knows_inlined;      /* the format has this field */
    uint32_t unit;           /* base of its file numbers */
    uint8_t flags;
};

/* Open a table at `data`. text: vaddr of the first function, if the header has 0; table_bias:
 * added to vaddrs in the table (this process: 0 - bias of the image). False: none. */
bool sonde__image_go_open(const uint8_t *data, size_t size, uint64_t text, uint64_t table_bias,
                          struct sonde__go *ret_go);

/* Find the table of an image by the name of its section, else by a search of the readable
 * segments. Applies the file's relocations if needed. False: not a Go program. */
bool sonde__elf_go(const struct sonde__elf *elf, struct sonde__go *ret_go);

/* Read function `index` < count. False: malformed. */
bool sonde__image_go_function(const struct sonde__go *go, uint32_t index,
                              struct sonde__go_function *ret_function);

/* Find the function at `vaddr`. False: none. */
bool sonde__image_go_find(const struct sonde__go *go, uint64_t vaddr,
                          struct sonde__go_function *ret_function);

/* A value and its range of code. */
struct sonde__go_value {
    uint64_t start, end; /* vaddrs */
    int32_t value;
    uint64_t first; /* end of the table's first range: for the stack, the prologue's */
    int32_t second; /* the value after `first`, if it was decoded */
};

/* Find the value of a table at `vaddr`, inside the function. False: malformed, or none. */
bool sonde__image_go_value(const struct sonde__go *go, const struct sonde__go_function *function,
                           uint64_t values, uint64_t vaddr, struct sonde__go_value *ret_value);

/* Find the source line of the instruction at `vaddr`, inside the function. False: unknown, or
 * the line of a call inlined there, whose function is unknown. */
bool sonde__image_go_line(const struct sonde__go *go, const struct sonde__go_function *function,
                          uint64_t vaddr, const char **ret_file, uint32_t *ret_line);

#endif
