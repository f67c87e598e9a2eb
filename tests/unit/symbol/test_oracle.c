// SPDX-License-Identifier: Apache-2.0
/* Names of real files against nm: every function's first, middle and last byte, every gap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

/* Ask the index at `vaddr`; the name must be one that the oracle has at the answer's start, and the
 * answer must cover the address. `named`: it must have a name. */
static void check_at(const struct sonde__symbol_index *index, const struct oracle *oracle,
                     uint64_t vaddr, bool named)
{
    struct sonde__symbol symbol;
    if (!sonde__symbol_find(index, vaddr, &symbol) || symbol.source == SONDE__SYMBOL_FDE) {
        if (named) {
            FAIL("nothing at %#lx", (unsigned long)vaddr);
        }
        return;
    }
    if (vaddr < symbol.start || vaddr >= symbol.end) {
        FAIL("%s [%#lx, %#lx) does not cover %#lx", symbol.name, (unsigned long)symbol.start,
             (unsigned long)symbol.end, (unsigned long)vaddr);
    }
    if (symbol.source != SONDE__SYMBOL_PLT && !oracle_has(oracle, symbol.start, symbol.name)) {
        FAIL("%#lx: nm has no %s at %#lx", (unsigned long)vaddr, symbol.name,
             (unsigned long)symbol.start);
    }
}

static void check_file(const char *path, const char *debug, size_t functions_min)
{
    struct elf_file file, debug_file = {0};
    struct oracle oracle, more;
    struct sonde__symbol_index *index = NULL;
    struct sonde_error error;
    uint64_t start, end, state = 88172645463325252u;
    size_t functions = 0;
    if (access(path, R_OK) != 0) {
        SKIP("no %s", path);
    }
    file = elf_file_open(path);
    oracle = oracle_read(path, true);
    if (debug != NULL) {
        char name[300];
        debug_path(&file.elf, name, sizeof name);
        debug_file = elf_file_open(name);
        more = oracle_read(name, false);
        oracle_join(&oracle, &more);
    }
    CHECK_OK(sonde__symbol_index_create(&file.elf, debug != NULL ? &debug_file.elf : NULL, &index,
                                        &error));
    CHECK(sonde__elf_text_range(&file.elf, &start, &end));
    for (size_t i = 0; i < oracle.count; i++) {
        const struct oracle_symbol *s = &oracle.symbols[i];
        if (s->type != 'F' || s->size == 0 || s->start < start || s->start >= end) {
            continue;
        }
        functions++;
        check_at(index, &oracle, s->start, true);
        check_at(index, &oracle, s->start + s->size / 2, true);
        check_at(index, &oracle, s->start + s->size - 1, true);
        if (!oracle_covers(&oracle, s->start + s->size)) {
            check_at(index, &oracle, s->start + s->size, false);
        }
    }
    CHECK(functions >= functions_min);
    for (int i = 0; i < 20000; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        check_at(index, &oracle, start + state % (end - start), false);
    }
    sonde__symbol_index_destroy(index);
    oracle_done(&oracle);
    elf_file_done(&file);
    elf_file_done(&debug_file);
}

TEST(names_equal_nm_libc_with_debug_file)
{
    check_file("/lib/x86_64-linux-gnu/libc.so.6", "debug", 2500);
}

TEST(names_equal_nm_libc)
{
    check_file("/lib/x86_64-linux-gnu/libc.so.6", NULL, 1000);
}

TEST(names_equal_nm_python)
{
    check_file("/usr/bin/python3.11", NULL, 1000);
}

TEST(names_equal_nm_libstdcxx)
{
    check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", NULL, 2000);
}

TEST(names_equal_nm_sqlite)
{
    check_file("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", NULL, 100);
}

TEST(names_equal_nm_git)
{
    check_file("/usr/bin/git", NULL, 0);
}

TEST(names_equal_nm_perl)
{
    check_file("/usr/bin/perl", NULL, 1000);
}

TEST(names_equal_nm_libc_aarch64)
{
    check_file("/usr/aarch64-linux-gnu/lib/libc.so.6", NULL, 1000);
}
