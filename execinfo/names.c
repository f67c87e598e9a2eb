// SPDX-License-Identifier: Apache-2.0
/* backtrace_symbols() and backtrace_symbols_fd(), with glibc's text byte by byte.
 *
 * A line follows glibc's dladdr1(): the loader's file name, and the exported symbol that covers the
 * address, or else the distance from the load bias. As in glibc, the two functions differ before
 * the bracket, and for an address without a symbol in a program that is not relocated. */
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base_text.h"
#include "host_self.h"

#define EXPORT __attribute__((visibility("default")))
EXPORT char **__backtrace_symbols(void *const *array, int size);
EXPORT void __backtrace_symbols_fd(void *const *array, int size, int fd);

enum {
    NUMBERS = 64, /* two 64-bit hexadecimal numbers and the characters around them */
    FEW = 64,     /* lines kept on the stack */
};

struct place {
    const char *file;   /* null: no object */
    const char *symbol; /* null: none */
    uint64_t from;      /* of the symbol, or the load bias */
};

static struct place find_place(const void *address)
{
    struct sonde__host_symbol found;
    if (!sonde__host_loader_symbol((uint64_t)(uintptr_t)address, &found)) {
        return (struct place){0};
    }
    bool has_name = found.name[0] != '\0';
    return (struct place){
        .file = found.path,
        .symbol = has_name ? found.name : NULL,
        .from = has_name ? found.start : found.bias,
    };
}

/* "+0x1f", "-0x1f" */
static void put_distance(struct sonde__text *out, uint64_t address, uint64_t from,
                         bool zero_is_bare)
{
    uint64_t distance = address >= from ? address - from : from - address;
    sonde__base_text_char(out, address >= from ? '+' : '-');
    sonde__base_text_str(out, distance == 0 && zero_is_bare ? "" : "0x");
    sonde__base_text_hex(out, distance, 0);
}

/* The rest of a backtrace_symbols() line after the symbol: "+0x1f) [0x401234]". */
static void put_numbers(struct sonde__text *out, const struct place *place, uint64_t address)
{
    if (place->file != NULL) {
        if (place->symbol != NULL || place->from != 0) {
            put_distance(out, address, place->from, true);
        }
        sonde__base_text_str(out, ") ");
    }
    sonde__base_text_str(out, address == 0 ? "[(nil)" : "[0x");
    if (address != 0) {
        sonde__base_text_hex(out, address, 0);
    }
    sonde__base_text_char(out, ']');
}

/* The parts of a line, with their lengths. */
struct line {
    const char *file;
    const char *symbol;
    size_t file_length; /* 0: no object */
    size_t symbol_length;
    size_t numbers_length;
    char numbers[NUMBERS];
};

static size_t make_line(struct line *line, const void *address)
{
    struct place place = find_place(address);
    struct sonde__text out;
    sonde__base_text_init(&out, line->numbers, sizeof line->numbers);
    put_numbers(&out, &place, (uint64_t)(uintptr_t)address);
    line->numbers_length = out.length;
    line->file = place.file;
    line->file_length = place.file != NULL ? strlen(place.file) : 0;
    line->symbol = place.symbol;
    line->symbol_length = place.symbol != NULL ? strlen(place.symbol) : 0;
    return line->file_length + (line->file_length != 0) + line->symbol_length +
           line->numbers_length + 1;
}

static char *append(char *at, const char *text, size_t length)
{
    if (length != 0) {
        memcpy(at, text, length);
    }
    return at + length;
}

static char *write_line(char *at, const struct line *line)
{
    at = append(at, line->file, line->file_length);
    at = append(at, "(", line->file_length != 0);
    at = append(at, line->symbol, line->symbol_length);
    at = append(at, line->numbers, line->numbers_length);
    *at = '\0';
    return at + 1;
}

/* Returns one allocation, the pointers and then the texts, because the caller frees it once. */
char **__backtrace_symbols(void *const *array, int size)
{
    size_t count = size > 0 ? (size_t)size : 0;
    size_t total = count * sizeof(char *);
    struct line few[FEW];
    struct line *lines = count <= FEW ? few : malloc(count * sizeof *lines);
    char **texts = NULL;
    if (lines == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        total += make_line(&lines[i], array[i]);
    }
    texts = malloc(total != 0 ? total : 1);
    if (texts != NULL) {
        char *at = (char *)(texts + count);
        for (size_t i = 0; i < count; i++) {
            texts[i] = at;
            at = write_line(at, &lines[i]);
        }
    }
    if (lines != few) {
        free(lines);
    }
    return texts;
}

static struct iovec piece_of(const char *text)
{
    return (struct iovec){(void *)(uintptr_t)text, strlen(text)};
}

/* Without the heap, as glibc promises. */
void __backtrace_symbols_fd(void *const *array, int size, int fd)
{
    for (int i = 0; i < size; i++) {
        uint64_t address = (uint64_t)(uintptr_t)array[i];
        struct place place = find_place(array[i]);
        char numbers[NUMBERS];
        struct sonde__text out;
        struct iovec pieces[4];
        int count = 0;
        sonde__base_text_init(&out, numbers, sizeof numbers);
        if (place.file != NULL) {
            pieces[count++] = piece_of(place.file);
            if (place.symbol != NULL || place.from != 0) {
                pieces[count++] = piece_of("(");
                pieces[count++] = piece_of(place.symbol != NULL ? place.symbol : "");
                put_distance(&out, address, place.from, false);
                sonde__base_text_char(&out, ')');
            }
        }
        sonde__base_text_str(&out, "[0x");
        sonde__base_text_hex(&out, address, 0);
        sonde__base_text_str(&out, "]\n");
        pieces[count++] = piece_of(numbers);
        ssize_t written = writev(fd, pieces, count);
        (void)written; /* as glibc, no error is reported */
    }
}

EXPORT __attribute__((alias("__backtrace_symbols"))) char **backtrace_symbols(void *const *array,
                                                                              int size);
EXPORT __attribute__((alias("__backtrace_symbols_fd"))) void
backtrace_symbols_fd(void *const *array, int size, int fd);
