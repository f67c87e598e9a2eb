// SPDX-License-Identifier: Apache-2.0
/* Output of `sonde types`: C text with offsets, or JSON. */
#ifndef SONDE_TYPES_PRINT_H
#define SONDE_TYPES_PRINT_H

#include "types.h"

struct types_print {
    struct sonde__types *types;
    bool expand;     /* show members of all nested structures, not only of anonymous ones */
    bool incomplete; /* something was unreadable or cut */
    const char *why; /* reason for the first of these */
    unsigned lines;
};

void types_print_type(struct types_print *print, const struct sonde__type *type);
/* A one-line form, if there are too many types. */
void types_print_line(struct types_print *print, const struct sonde__type *type);
void types_print_function(struct types_print *print, const struct sonde__type_function *function);

/* A JSON object, without a newline. asked: the operand. */
void types_json_type(struct types_print *print, const struct sonde__type *type, const char *asked);
void types_json_function(struct types_print *print, const struct sonde__type_function *function,
                         const char *asked);

/* Record a failed status. True: the status is OK. */
bool types_print_ok(struct types_print *print, enum sonde_status status);

enum { TYPES_PRINT_TEXT = 64 << 10, TYPES_PRINT_PATH = 4096, TYPES_PRINT_DEPTH = 32 };

#endif
