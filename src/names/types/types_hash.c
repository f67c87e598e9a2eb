// SPDX-License-Identifier: Apache-2.0
/* Hashes names so that the spellings of compilers, debuggers and users agree: ignores spaces,
 * treats `long unsigned int` as `unsigned long`, ignores suffixes of numbers (`5ul`). */
#include <string.h>

#include "base_hash.h"
#include "types_data.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (c & 0x80) != 0;
}

/* Words of integer types. */
enum { UNSIGNED = 1, SIGNED = 2, CHAR = 4, SHORT = 8, INT = 16, LONG = 32, LONG_LONG = 64 };

static unsigned integer_word(const char *word, size_t size)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {{"unsigned", UNSIGNED}, {"signed", SIGNED}, {"char", CHAR},
                 {"short", SHORT},       {"int", INT},       {"long", LONG}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == size && memcmp(words[i].word, word, size) == 0) {
            return words[i].bit;
        }
    }
    return 0;
}

static size_t word_size(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && is_word(text[n])) {
        n++;
    }
    return n;
}

/* Size of a sequence of such words; 0: none. */
static size_t take_integer(const char *text, size_t size, unsigned *ret_bits)
{
    size_t taken = 0, at = 0;
    unsigned bits = 0, bit;
    while (at < size && (bit = integer_word(text + at, word_size(text + at, size - at))) != 0) {
        bits |= bit == LONG && (bits & LONG) != 0 ? LONG_LONG : bit;
        taken = at + word_size(text + at, size - at);
        at = taken;
        while (at < size && text[at] == ' ') {
            at++;
        }
    }
    *ret_bits = bits;
    return taken;
}

static uint64_t hash_integer(uint64_t hash, unsigned bits)
{
    if ((bits & (SHORT | LONG)) != 0) {
        bits &= ~(unsigned)INT;
    } else if ((bits & CHAR) == 0) {
        bits |= INT;
    }
    if ((bits & CHAR) == 0) {
        bits &= ~(unsigned)SIGNED;
    }
    const char text[2] = {'\1', (char)bits}; /* a byte that no name contains */
    return sonde__base_hash_bytes(hash, text, sizeof text);
}

static bool is_number(const char *word, size_t size)
{
    return size > 0 && word[0] >= '0' && word[0] <= '9';
}

uint64_t types_hash_text(uint64_t hash, const char *text, size_t size)
{
    bool after_word = false;
    for (size_t at = 0; at < size;) {
        unsigned bits;
        size_t length = word_size(text + at, size - at);
        if (length == 0) {
            if (text[at] != ' ') {
                hash = sonde__base_hash_bytes(hash, text + at, 1);
                after_word = false;
            }
            at++;
            continue;
        }
        if (after_word) {
            hash = sonde__base_hash_bytes(hash, " ", 1);
        }
        size_t taken = take_integer(text + at, size - at, &bits);
        if (taken != 0) {
            hash = hash_integer(hash, bits);
            length = taken;
        } else {
            size_t kept = length;
            while (is_number(text + at, length) && kept > 1 &&
                   strchr("uUlL", text[at + kept - 1]) != NULL) {
                kept--;
            }
            hash = sonde__base_hash_bytes(hash, text + at, kept);
        }
        at += length;
        after_word = true;
    }
    return hash;
}

uint64_t types_hash_below(uint64_t prefix, const char *name)
{
    if (prefix != SONDE__HASH_EMPTY) {
        prefix = sonde__base_hash_bytes(prefix, "::", 2);
    }
    return types_hash_text(prefix, name, strlen(name));
}
