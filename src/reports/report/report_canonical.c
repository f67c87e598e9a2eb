// SPDX-License-Identifier: Apache-2.0
#include "report_canonical.h"

#include <stdbool.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Offset of the last ".word" or ".word.123" in a name of `size` bytes, if compilers add this word
 * to parts and clones; else `size`. */
static size_t without_suffix(const char *name, size_t size)
{
    static const char *const words[] = {"cold", "part",       "isra", "constprop", "lto_priv",
                                        "llvm", "localalias", "warm", "hot"};
    size_t end = size, begin;
    while (end > 0 && is_digit(name[end - 1])) {
        end--;
    }
    if (end == size || end < 2 || name[end - 1] != '.') {
        end = size;
    } else {
        end--; /* the dot before the number */
    }
    for (begin = end; begin > 0 && name[begin - 1] != '.'; begin--) {
    }
    for (size_t i = 0; begin > 1 && i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == end - begin && memcmp(words[i], name + begin, end - begin) == 0) {
            return begin - 1;
        }
    }
    return size;
}

/* "_ZN4core3fmt5write17h0123456789abcdefE" without "17h..E". */
static size_t without_rust_hash(const char *name, size_t size)
{
    enum { HASH = 20 };
    if (size <= HASH + 3 || strncmp(name, "_ZN", 3) != 0 || name[size - 1] != 'E' ||
        memcmp(name + size - HASH, "17h", 3) != 0) {
        return size;
    }
    for (size_t i = size - HASH + 3; i < size - 1; i++) {
        if (!is_digit(name[i]) && (name[i] < 'a' || name[i] > 'f')) {
            return size;
        }
    }
    return size - HASH;
}

size_t sonde__report_canonical_function(const char *name)
{
    size_t size = strlen(name), shorter;
    while ((shorter = without_suffix(name, size)) != size) {
        size = shorter;
    }
    return without_rust_hash(name, size);
}

size_t sonde__report_canonical_library(const char *name)
{
    const char *so = strstr(name, ".so.");
    return so != NULL ? (size_t)(so - name) + 3 : strlen(name);
}

#define PRIME_HIGH ((uint64_t)1 << 24) /* 2^88 + 0x13b */
#define PRIME_LOW  0x13bu

void sonde__report_hash_init(struct sonde__report_hash *hash)
{
    *hash = (struct sonde__report_hash){0x6c62272e07bb0142u, 0x62b821756295c58du};
}

void sonde__report_hash_add(struct sonde__report_hash *hash, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++) {
        uint64_t low = hash->low ^ p[i];
        /* (high, low) * (PRIME_HIGH, PRIME_LOW), modulo 2^128 */
        uint64_t bottom = (low & 0xffffffffu) * PRIME_LOW;
        uint64_t top = (low >> 32) * PRIME_LOW + (bottom >> 32);
        hash->high = hash->high * PRIME_LOW + low * PRIME_HIGH + (top >> 32);
        hash->low = top << 32 | (bottom & 0xffffffffu);
    }
}

void sonde__report_hash_text(const struct sonde__report_hash *hash, char ret_text[33])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < 16; i++) {
        ret_text[i] = digits[hash->high >> (60 - 4 * i) & 15];
        ret_text[16 + i] = digits[hash->low >> (60 - 4 * i) & 15];
    }
    ret_text[32] = '\0';
}
