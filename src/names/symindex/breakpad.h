// SPDX-License-Identifier: Apache-2.0
/* The head of a Breakpad symbol file (.sym): whose it is, and how far its addresses reach. Source:
 * Breakpad's docs/symbol_files.md. Its addresses are relative to the begin of the image. Context:
 * any thread. */
#ifndef SONDE_BREAKPAD_H
#define SONDE_BREAKPAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/arch.h>
#include <sonde/status.h>

#include "image_set.h"

/* Bytes of a build-id that the first line has; all of a Mach-O's UUID. */
enum { SONDE__BREAKPAD_ID = 16 };

struct sonde__breakpad {
    const char *text;
    size_t size;
    /* A Mach-O's UUID. An ELF's build-id (INFO CODE_ID); without that line, its first
     * SONDE__BREAKPAD_ID bytes. size 0: none. */
    struct sonde__build_id id;
    uint32_t arch; /* enum sonde_arch */
    bool is_macho;
    uint64_t end; /* of its functions */
};

/* Does it begin as such a file? */
bool sonde__breakpad_begins(const void *data, size_t size);
/* Reads all of it. The text must outlive the struct. Returns OK | UNSUPPORTED (not such a file; of
 * Windows) | CORRUPT (no function has an address). */
SONDE_NODISCARD enum sonde_status sonde__breakpad_open(const void *data, size_t size,
                                                       struct sonde__breakpad *ret_file,
                                                       struct sonde_error *ret_error);

/* --- its lines, for this folder --- */

struct breakpad_line {
    const char *at, *end; /* without the end of the line */
};
/* The next line from *at on. False: no more. */
bool breakpad_next(const char **at, const char *end, struct breakpad_line *ret_line);
/* Take a word that ends with a space or the line. False: another one; nothing is taken. */
bool breakpad_word(struct breakpad_line *line, const char *word);
/* Take a number. False: there is none, or it is larger than `max`. */
bool breakpad_hex(struct breakpad_line *line, uint64_t max, uint64_t *ret_value);
bool breakpad_decimal(struct breakpad_line *line, uint64_t max, uint64_t *ret_value);

#endif
