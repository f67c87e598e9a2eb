// SPDX-License-Identifier: Apache-2.0
/* The output of `sonde types` for a type or function: C text with offsets, or JSON. */
#ifndef SONDE_TYPES_PRINT_H
#define SONDE_TYPES_PRINT_H

#include "types.h"

struct types_print {
    struct sonde__types *types;
    bool expand;     /* members of all nested structures are shown, not only of anonymous ones */
    bool incomplete; /* something could not be read, or was cut */
    const char *why; /* of the first of these */
    unsigned lines;
};

/* A type, in C. */
void types_print_type(struct types_print *print, const struct sonde__type *type);
/* One line for it, if there are too many. */
void types_print_line(struct types_print *print, const struct sonde__type *type);
void types_print_function(struct types_print *print, const struct sonde__type_function *function);

/* The same as a JSON object, without a newline. asked: the operand. */
void types_json_type(struct types_print *print, const struct sonde__type *type, const char *asked);
void types_json_function(struct types_print *print, const struct sonde__type_function *function,
                         const char *asked);

/* Record a failure. True: the status is OK. */
bool types_print_ok(struct types_print *print, enum sonde_status status);

enum { TYPES_PRINT_TEXT = 64 << 10, TYPES_PRINT_PATH = 4096, TYPES_PRINT_DEPTH = 32 };

#endif
