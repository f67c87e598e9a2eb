// SPDX-License-Identifier: Apache-2.0
/* Places in a line of text that name an address: image+0x12, also in lines of sanitizers, of
 * glibc's backtrace_symbols and of sonde. No files are read here. */
#ifndef SONDE_SYMBOLIZE_SCAN_H
#define SONDE_SYMBOLIZE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYMBOLIZE_NAME_BYTES = 4096, SYMBOLIZE_BUILD_ID_BYTES = 80 };

struct symbolize_place {
    size_t end;                              /* offset in the line, behind it and a parenthesis */
    char image[SYMBOLIZE_NAME_BYTES];        /* "" when it is a plain address */
    char build_id[SYMBOLIZE_BUILD_ID_BYTES]; /* "" when the line says none */
    char symbol[SYMBOLIZE_NAME_BYTES]; /* the offset is from this function; "" when from the image
                                        */
    uint64_t offset;
    bool returns; /* a return address: the call is before it */
};

/* The number of the frame that the line shows ("  #3  ..."); -1: none. */
int symbolize_frame_number(const char *line, size_t size);

/* The next place in a line from `from` on. addresses: plain ones (0x7f12..., six digits or more)
 * are places, too. */
bool symbolize_scan(const char *line, size_t size, size_t from, bool addresses,
                    struct symbolize_place *ret_place);

/* All of the text is one hexadecimal number, with 0x or without: a plain address. */
bool symbolize_scan_address(const char *text, size_t size, struct symbolize_place *ret_place);

#endif
