// SPDX-License-Identifier: Apache-2.0
#include "demangler.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES_MAX = 1024 /* sonde_demangler.decode */ };

/* Add the suffixes of a compiler's clones: ".cold", ".isra.0", ".llvm.123", in binutils' form. Each
 * is a word or number, possibly followed by numbers. False: no room. */
static bool add_clones(const char *suffix, char *text, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_", digits[] = "0123456789";
    size_t used = strlen(text);
    while (*suffix == '.') {
        size_t part = 1 + strspn(suffix + 1, letters);
        part += part == 1 ? strspn(suffix + 1, digits) : 0;
        while (suffix[part] == '.' && strspn(suffix + part + 1, digits) != 0) {
            part += 1 + strspn(suffix + part + 1, digits);
        }
        int added = snprintf(text + used, size - used, " [clone %.*s]", (int)part, suffix);
        if (part == 1 || added < 0 || (size_t)added >= size - used) {
            return false;
        }
        used += (size_t)added;
        suffix += part;
    }
    return *suffix == '\0';
}

static bool decode_whole(const char *name, char *text, size_t size)
{
    char bare[NAME_BYTES_MAX + 1];
    size_t length = strcspn(name, ".");
    if (length > NAME_BYTES_MAX) {
        return false;
    }
    memcpy(bare, name, length);
    bare[length] = '\0';
    return sonde__cli_demangle_llvm(bare, text, size) && add_clones(name + length, text, size);
}

/* Legacy Rust names end with a hash: "17h" and 16 digits. */
static bool may_be_rust(const char *name)
{
    return strncmp(name, "_Z", 2) != 0 || strstr(name, "17h") != NULL;
}

static int decode(void *ctx, const char *name, char *text, size_t size)
{
    (void)ctx;
    /* Rust first: legacy names are valid C++, with the hash as last name */
    if (may_be_rust(name) && sonde__cli_demangle_rust(name, text, size)) {
        return 1;
    }
    if (strncmp(name, "_Z", 2) != 0) {
        return 0;
    }
    /* libiberty's text of blocks can be repaired, LLVM's has lost information */
    if (strstr(name, "U13block_pointer") != NULL && sonde__cli_demangle_iberty(name, text, size)) {
        return 1;
    }
    return decode_whole(name, text, size) || sonde__cli_demangle_iberty(name, text, size);
}

const struct sonde_demangler sonde__cli_demangler = {.decode = decode};

const char *sonde__cli_demangler_text(void)
{
    if (sonde__cli_has_llvm) {
        return sonde__cli_has_iberty ? "C++ by LLVM's libc++abi, Rust by libiberty"
                                     : "C++ by LLVM's libc++abi; none of Rust: built without "
                                       "libiberty";
    }
    return sonde__cli_has_iberty ? "C++ and Rust by libiberty, which does not know all of C++20: "
                                   "built without LLVM's libc++abi"
                                 : "none: built without LLVM's libc++abi and without libiberty";
}
