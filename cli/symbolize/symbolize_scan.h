// SPDX-License-Identifier: Apache-2.0
/* Finds addresses in a line of text: image+0x12, and the lines of sanitizers, of glibc's
 * backtrace_symbols and of sonde. Reads no files. */
#ifndef SONDE_SYMBOLIZE_SCAN_H
#define SONDE_SYMBOLIZE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYMBOLIZE_NAME_BYTES = 4096, SYMBOLIZE_BUILD_ID_BYTES = 80 };

struct symbolize_place {
    size_t end;                              /* offset in the line, after it and its parenthesis */
    char image[SYMBOLIZE_NAME_BYTES];        /* "": a plain address */
    char build_id[SYMBOLIZE_BUILD_ID_BYTES]; /* "": not in the line */
    char symbol[SYMBOLIZE_NAME_BYTES]; /* the offset is from this function; "": from the image */
    uint64_t offset;
    bool returns; /* a return address: the call precedes it */
};

/* The frame number of a line ("  #3  ..."); -1: none. */
int symbolize_frame_number(const char *line, size_t size);

/* Find the next place from offset `from`. addresses: also plain ones (0x7f12..., six digits or
 * more). */
bool symbolize_scan(const char *line, size_t size, size_t from, bool addresses,
                    struct symbolize_place *ret_place);

/* True: the whole text is one hexadecimal number, with or without 0x. */
bool symbolize_scan_address(const char *text, size_t size, struct symbolize_place *ret_place);

#endif
