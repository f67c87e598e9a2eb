// SPDX-License-Identifier: Apache-2.0
/* JSON (RFC 8259) as a tape: one array with all values of a text in order. A value has the place of
 * its text and the index of what follows it, so a reader goes over what it does not want in one
 * step. Nothing is decoded before it is asked for, no member is searched before that, and memory is
 * 16 bytes for each value, of which a caller says how many it takes.
 *
 * The text must stay as it is. Bytes of strings are not checked to be UTF-8. Of members with one
 * name the first counts. Index 0 is the whole text. What is not there is SONDE__TAPE_NONE, which
 * may be asked about: it has no kind but NULL, and nothing is in it. Context: any thread. */
#ifndef SONDE_TAPE_H
#define SONDE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

enum sonde__tape_kind {
    SONDE__TAPE_NULL,
    SONDE__TAPE_FALSE,
    SONDE__TAPE_TRUE,
    SONDE__TAPE_NUMBER,
    SONDE__TAPE_STRING, /* its place is without the quotes */
    SONDE__TAPE_ARRAY,
    SONDE__TAPE_OBJECT, /* its members follow: a string and a value each */
};

#define SONDE__TAPE_NONE UINT32_MAX

/* Levels of arrays and objects; deeper ones are refused. */
#define SONDE__TAPE_DEPTH_MAX 4096u

struct sonde__tape_value {
    uint32_t begin, end; /* its place in the text */
    uint32_t next;       /* index of what follows it and all that is in it */
    uint32_t kind;       /* enum sonde__tape_kind */
};

struct sonde__tape {
    const char *text;
    struct sonde__tape_value *values;
    uint32_t count;
    size_t capacity;
};

/* Read the value that the text begins with; *ret_used, if it is not null, is where it ends, and
 * without it only space may follow. At most `values_max` values.
 * Returns OK | CORRUPT (ret_error says what is wrong, at which offset) | LIMIT (more values, or
 * deeper, or 4 GiB) | MEMORY. Ownership: sonde__tape_done(). */
SONDE_NODISCARD enum sonde_status sonde__tape_read(const char *text, size_t size,
                                                   uint32_t values_max,
                                                   struct sonde__tape *ret_tape, size_t *ret_used,
                                                   struct sonde_error *ret_error);
void sonde__tape_done(struct sonde__tape *tape);

/* --- walking (tape_value.c) --- */

enum sonde__tape_kind sonde__tape_kind(const struct sonde__tape *tape, uint32_t at);
/* The value of a member of an object, "os", or of one inside, "contexts.os.name"; or NONE. */
uint32_t sonde__tape_get(const struct sonde__tape *tape, uint32_t object, const char *path);
/* The first element of an array, or value of an object; NONE: it is neither, or empty. */
uint32_t sonde__tape_first(const struct sonde__tape *tape, uint32_t in);
/* The element or value after `at`; NONE: it was the last one. */
uint32_t sonde__tape_next(const struct sonde__tape *tape, uint32_t in, uint32_t at);
#define SONDE__TAPE_EACH(at, tape, in)                                                             \
    for (uint32_t at = sonde__tape_first(tape, in); at != SONDE__TAPE_NONE;                        \
         at = sonde__tape_next(tape, in, at))
uint32_t sonde__tape_count(const struct sonde__tape *tape, uint32_t in);
/* The string that names a value of an object. */
uint32_t sonde__tape_key(uint32_t at);

/* --- values: false, and nothing written, if it is not of this kind --- */

/* A string, decoded, cut to the room, with NUL at its end. A NUL in it ends it. */
bool sonde__tape_string(const struct sonde__tape *tape, uint32_t at, char *ret_text, size_t size);
/* Is it this string? (Without escapes.) */
bool sonde__tape_is(const struct sonde__tape *tape, uint32_t at, const char *text);
/* A whole number of at most 64 bits, without sign; or a string "0x7f12" or "4711". */
bool sonde__tape_uint(const struct sonde__tape *tape, uint32_t at, uint64_t *ret_value);
/* A number with a fraction, times `scale`, cut to a whole one: seconds as nanoseconds. */
bool sonde__tape_scaled(const struct sonde__tape *tape, uint32_t at, uint64_t scale,
                        uint64_t *ret_value);
bool sonde__tape_true(const struct sonde__tape *tape, uint32_t at);

#endif
