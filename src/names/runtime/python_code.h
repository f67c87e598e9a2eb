// SPDX-License-Identifier: Apache-2.0
/* Code objects of a Python interpreter: name, file, line table. Each is decoded once, and
 * recognized by its address and the contents of these objects: a program that makes functions anew
 * gives them the same addresses. Context: any thread, one at a time. */
#ifndef SONDE_PYTHON_CODE_H
#define SONDE_PYTHON_CODE_H

#include "mem_table.h"
#include "python_layout.h"
#include "runtime_view.h"

/* Larger programs have some 100,000 functions, of which stacks show few; beyond this number, all
 * are dropped. */
#define PYTHON_CODES_MAX 16384u

/* Addresses of expected types; 0: not met yet. */
struct python_types {
    uint64_t code, text, bytes, number, task, coroutine, bound, dict, tuple, list, future,
        gathering;
    uint64_t function, method, partial, wrapper, group, set, summary, summaries;
    uint64_t async_generator, generator_step;
};

/* A copy of an object without its head (PyObject). */
struct python_copy {
    uint64_t address;
    uint8_t *bytes;
    uint32_t size;
};

/* PYTHON_NAME is the qualified name, where the version has it. PYTHON_OWN_NAME: the name in
 * tracebacks; its copy is empty if that is the same object, or cannot be read. */
enum python_parts { PYTHON_NAME, PYTHON_FILE, PYTHON_LINES, PYTHON_OWN_NAME, PYTHON_PARTS };

struct python_code {
    struct python_code *next; /* of the replaced ones */
    uint64_t address;
    uint64_t look; /* when it was last compared */
    struct python_copy parts[PYTHON_PARTS];
    uint8_t *head; /* copy of the object's head; the texts and copies are in the same block */
    const char *function, *file;
    const uint8_t *lines;
    uint32_t lines_size, first_line, flags;
    uint64_t first_traced; /* address of the function's first traced instruction */
};

struct python_codes {
    const struct python_layout *layout;
    struct python_types types;
    struct python_code **list;
    size_t count, capacity;
    struct sonde__mem_table table; /* by address */
    struct python_code *replaced;  /* freed by the next trim */
};

void python_codes_done(struct python_codes *codes);
/* Drop those that were replaced, and all if there are too many. Call it before a look, because
 * results point to them. */
void python_codes_trim(struct python_codes *codes);

/* Is the object of the type *known, or, if that is 0, of the type with this name? (Symbols would
 * not do: a program that refers to a type may have a copy of it.) head: the object's head, at least
 * up to its type. */
bool python_is_of_type(const struct python_codes *codes, struct sonde__view *view,
                       const uint8_t *head, const char *name, uint64_t *known);
/* Copy a str object as UTF-8. False: not a str, or unreadable. */
bool python_text(struct python_codes *codes, struct sonde__view *view, uint64_t address,
                 char ret_text[4 * PYTHON_TEXT_MAX + 4], size_t *ret_size);

/* Make the view read what python_codes_find() needs first. False: unreadable, or not code. */
bool python_codes_touch(struct python_codes *codes, struct sonde__view *view, uint64_t address);
/* What python_codes_find() needs then, in ret_parts. Returns how many blocks: 0 if it needs none.
 */
uint32_t python_codes_parts(const struct python_codes *codes, struct sonde__view *view,
                            uint64_t address, struct sonde__view_block ret_parts[PYTHON_PARTS]);
/* The code object at an address. Null: none, unreadable, or out of memory. Valid until the next
 * trim. */
const struct python_code *python_codes_find(struct python_codes *codes, struct sonde__view *view,
                                            uint64_t address);

#endif
