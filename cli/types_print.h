// SPDX-License-Identifier: Apache-2.0
/* What `sonde types` prints of one type or function: C text with offsets, or JSON. */
#ifndef SONDE_TYPES_PRINT_H
#define SONDE_TYPES_PRINT_H

#include "types.h"

struct types_print {
    struct sonde__types *types;
    bool expand;     /* members of classes are shown within, not only anonymous ones */
    bool incomplete; /* something could not be read, or was cut */
    const char *why; /* of the first of these */
    unsigned lines;
};

/* A type, in C. */
void types_print_type(struct types_print *print, const struct sonde__type *type);
/* A line about it, where there are too many. */
void types_print_line(struct types_print *print, const struct sonde__type *type);
void types_print_function(struct types_print *print, const struct sonde__type_function *function);

/* The same as an object of JSON, without a newline. asked: what was asked for. */
void types_json_type(struct types_print *print, const struct sonde__type *type, const char *asked);
void types_json_function(struct types_print *print, const struct sonde__type_function *function,
                         const char *asked);

/* Take note of a status that is a failure. True: it is OK. */
bool types_print_ok(struct types_print *print, enum sonde_status status);

enum { TYPES_PRINT_TEXT = 64 << 10, TYPES_PRINT_PATH = 4096, TYPES_PRINT_DEPTH = 32 };

#endif
