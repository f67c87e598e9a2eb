// SPDX-License-Identifier: Apache-2.0
/* Code objects of a Python interpreter: name, file, table of lines. Each is read once, and known
 * again by its address and by its contents. Context: any thread, one at a time. */
#ifndef SONDE_PYTHON_CODE_H
#define SONDE_PYTHON_CODE_H

#include "mem_table.h"
#include "python_layout.h"
#include "runtime_view.h"

/* Larger programs have some 1e5 functions, of which stacks show few; when so many were seen, all
 * are forgotten. */
#define PYTHON_CODES_MAX 16384u
/* Longer texts are cut; a table of lines of more bytes belongs to no function that people write. */
#define PYTHON_TEXT_MAX  1024u
#define PYTHON_LINES_MAX 262144u

/* Addresses of the types whose objects are expected; 0: none was met yet. */
struct python_types {
    uint64_t code, text, bytes, number, task, coroutine, bound;
};

struct python_code {
    uint64_t address;
    uint8_t *head; /* the object's first bytes, as they were; what follows is in the same block */
    const char *function, *file;
    const uint8_t *lines;
    uint32_t lines_size, first_line, flags;
    uint64_t first_traced; /* address of the first instruction of the function itself */
};

struct python_codes {
    const struct python_layout *layout;
    struct python_types types;
    struct python_code **list;
    size_t count, capacity;
    struct sonde__mem_table table; /* by address */
};

void python_codes_done(struct python_codes *codes);
/* Forget all if there are too many: before a look, whose results point to them. */
void python_codes_trim(struct python_codes *codes);

/* Is the object of the type `known`, or, if that is not known yet, of the one of that name? (A
 * program that refers to a type may have a copy of it: symbols would not tell.) head: of the
 * object, its type at least. */
bool python_is_of_type(const struct python_codes *codes, struct sonde__view *view,
                       const uint8_t *head, const char *name, uint64_t *known);
/* Copy a str object as UTF-8. False: it is none, or it cannot be read. */
bool python_text(struct python_codes *codes, struct sonde__view *view, uint64_t address,
                 char ret_text[4 * PYTHON_TEXT_MAX + 4], size_t *ret_size);

/* Ask the view for what python_codes_find() will need; false: it cannot be read. */
bool python_codes_touch(struct python_codes *codes, struct sonde__view *view, uint64_t address);
/* The code object at an address. Null: there is none, or memory ran out. Valid until the next trim.
 */
const struct python_code *python_codes_find(struct python_codes *codes, struct sonde__view *view,
                                            uint64_t address);

#endif
