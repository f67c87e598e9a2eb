// SPDX-License-Identifier: Apache-2.0
/* A property list of Apple's, as XML or binary, as one array with all its values in order: a value
 * has the place of its text and the index of what follows it and all that is in it. Nothing is
 * decoded before it is asked for. The input must stay as it is.
 *
 * Not trusted: levels and values are bounded (also where a binary list refers to one value many
 * times), no entity is defined by the file, no file is included. XML is read as plutil writes it:
 * UTF-8, elements of the PropertyList document type and no others
 * (https://www.apple.com/DTDs/PropertyList-1.0.dtd); the binary form is that of CFBinaryPList.c, in
 * Apple's CF. Numbers and dates are not looked at. Context: any thread. */
#ifndef SONDE_FINDINGS_PLIST_H
#define SONDE_FINDINGS_PLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* Files have some hundred values, and five levels. */
#define SONDE__PLIST_VALUES_MAX 16384u
#define SONDE__PLIST_LEVELS_MAX 32u

enum sonde__plist_kind {
    SONDE__PLIST_OTHER, /* a number, a date, data, a truth value */
    SONDE__PLIST_STRING,
    SONDE__PLIST_ARRAY,
    SONDE__PLIST_DICT, /* its members follow: a string and a value each */
};

/* How the bytes of a string are to be read. */
enum sonde__plist_form { SONDE__PLIST_ASCII, SONDE__PLIST_UTF16, SONDE__PLIST_MARKUP };

struct sonde__plist_value {
    uint32_t begin, end; /* its place in the input, if it is a string */
    uint32_t next;       /* index of what follows it and all that is in it */
    uint8_t kind;        /* enum sonde__plist_kind */
    uint8_t form;        /* enum sonde__plist_form */
};

struct sonde__plist {
    const uint8_t *bytes;
    size_t size;
    struct sonde__plist_value *values; /* the first is the whole list */
    size_t count, capacity;
    uint32_t open[SONDE__PLIST_LEVELS_MAX]; /* containers that are being read */
    uint32_t levels;
};

/* Returns OK | CORRUPT (ret_error says what is wrong and where) | LIMIT (more values or levels) |
 * MEMORY. Ownership: sonde__plist_done(). */
SONDE_NODISCARD enum sonde_status sonde__plist_read(const void *bytes, size_t size,
                                                    struct sonde__plist *ret_list,
                                                    struct sonde_error *ret_error);
void sonde__plist_done(struct sonde__plist *list);

/* The value of a dictionary's first member of this name; 0: none, or `dict` is no dictionary. */
uint32_t sonde__plist_member(const struct sonde__plist *list, uint32_t dict, const char *name);
/* Decode a string as UTF-8. False: the value is none, it does not fit, or it has control
 * characters or halves of UTF-16 pairs. */
bool sonde__plist_text(const struct sonde__plist *list, uint32_t value, char *ret_text,
                       size_t size);

/* --- for the files of this folder --- */

/* Add a value; a container is open until it is closed. Return OK | LIMIT | MEMORY. */
enum sonde_status sonde__plist_add(struct sonde__plist *list, enum sonde__plist_kind kind,
                                   enum sonde__plist_form form, size_t begin, size_t end,
                                   struct sonde_error *ret_error);
void sonde__plist_close(struct sonde__plist *list);
enum sonde_status sonde__plist_read_xml(struct sonde__plist *list, struct sonde_error *ret_error);
enum sonde_status sonde__plist_read_binary(struct sonde__plist *list,
                                           struct sonde_error *ret_error);
/* Fill an error; returns `status`. */
enum sonde_status sonde__plist_fail(struct sonde_error *ret_error, enum sonde_status status,
                                    uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
