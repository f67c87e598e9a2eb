// SPDX-License-Identifier: Apache-2.0
/* Names of real files against nm (every function's first, middle and last byte, the byte after it,
 * random addresses), against objdump (PLT stubs) and against gdb (random addresses). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

/* Ask the index at `vaddr`: the oracle must have the name at the answer's start, and the answer
 * must cover the address. `named`: there must be a name. */
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

/* PLT stubs as objdump names them: "ADDRESS <NAME@plt>:". */
static void check_plt(const char *objdump, const char *path, unsigned stubs_min)
{
    const char *const argv[] = {objdump,    "-d", "-j",       ".plt", "-j",
                                ".plt.sec", "-j", ".plt.got", path,   NULL};
    struct sonde__symbol_index *index = NULL;
    struct elf_file file = elf_file_open(path);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    unsigned stubs = 0;
    CHECK_OK(sonde__symbol_index_create(&file.elf, NULL, &index, NULL));
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        uint64_t vaddr = strtoull(line, &line, 16);
        char *end = strstr(line, "@plt>:");
        struct sonde__symbol symbol, target;
        bool found;
        if (vaddr == 0 || line[0] != ' ' || line[1] != '<') {
            continue;
        }
        found = sonde__symbol_find(index, vaddr, &symbol) && symbol.source == SONDE__SYMBOL_PLT;
        if (end == NULL) { /* the header, "NAME@plt-0x10", or a section's name */
            CHECK(!found);
            continue;
        }
        *end = '\0';
        line += 2;
        if (strncmp(line, "*ABS*+", 6) == 0) { /* IRELATIVE: named after the resolver's symbol */
            uint64_t addend = strtoull(line + 6, NULL, 16);
            if (!sonde__symbol_find(index, addend, &target) || target.start != addend) {
                CHECK(!found);
                continue;
            }
            line = (char *)(uintptr_t)target.name;
        }
        if (!found || strcmp(symbol.name, line) != 0) {
            FAIL("%s: objdump has %s@plt at %#lx, the index %s", path, line, (unsigned long)vaddr,
                 found ? symbol.name : "nothing");
        }
        CHECK_EQ(symbol.start, vaddr);
        CHECK(symbol.end - symbol.start >= 6 && symbol.end - symbol.start <= 24);
        CHECK(sonde__symbol_find(index, symbol.end - 1, &target));
        CHECK_EQ(target.start, vaddr);
        stubs++;
    }
    if (stubs < stubs_min) {
        FAIL("%s: only %u stubs", path, stubs);
    }
    sonde__symbol_index_destroy(index);
    elf_file_done(&file);
    test_run_done(&run);
}

TEST(plt_names_equal_objdump)
{
    if (access("/usr/bin/git", R_OK) == 0) {
        check_plt("objdump", "/usr/bin/git", 200);
    }
    check_plt("objdump", "/lib/x86_64-linux-gnu/libc.so.6", 2);
}

TEST(plt_names_equal_objdump_aarch64)
{
    if (access("/usr/aarch64-linux-gnu/lib/libc.so.6", R_OK) != 0) {
        SKIP("no aarch64 libc");
    }
    check_plt("aarch64-linux-gnu-objdump", "/usr/aarch64-linux-gnu/lib/libc.so.6", 3);
}

/* Stubs with landing pads and authentication; no package here has any. */
TEST(plt_names_of_protected_stubs)
{
    static const struct {
        const char *compiler, *objdump, *options;
    } kinds[] = {
        {"gcc", "objdump", "-fcf-protection -Wl,-z,ibtplt"},
        {"gcc", "objdump", "-fno-plt -Wl,-z,now"},
        {"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump",
         "-mbranch-protection=standard -Wl,-z,force-bti"},
        {"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump",
         "-mbranch-protection=standard -Wl,-z,pac-plt"},
        {"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump",
         "-mbranch-protection=standard -Wl,-z,force-bti -Wl,-z,pac-plt"},
    };
    char path[1024], command[4096];
    snprintf(path, sizeof path, "%s/stubs.so", test_folder());
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *const argv[] = {"sh", "-c", command, NULL};
        struct test_run run;
        snprintf(command, sizeof command,
                 "echo 'int one(void),two(void),three(void);int (*p)(void)=three;"
                 "int f(void){return one()+two()+three()+(int)(long)three;}' | "
                 "%s -w -O1 -shared -fPIC %s -x c - -o %s",
                 kinds[i].compiler, kinds[i].options, path);
        run = test_run(argv, NULL, NULL, 60);
        if (run.status == 127) {
            SKIP("no %s", kinds[i].compiler);
        }
        if (run.status != 0) {
            FAIL("%s: %s", command, run.err);
        }
        test_run_done(&run);
        check_plt(kinds[i].objdump, path, 1);
    }
}

/* A label without a size or a record, with stripped neighbours: its end is unknown, so it names
 * only its start. */
TEST(a_label_in_a_stripped_file_names_its_start)
{
    char path[1024], command[4096];
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct sonde__symbol_index *index = NULL;
    struct sonde__symbol symbol;
    struct elf_file file;
    struct test_run run;
    uint64_t start, end, label = 0, named = 0, bounded = 0;
    snprintf(path, sizeof path, "%s/label.so", test_folder());
    snprintf(command, sizeof command,
             "echo '__asm__(\".text; .globl label; label: nop; nop; nop; nop\");"
             "static __attribute__((used)) int hidden(int a){return a*3;}"
             "static __attribute__((used)) int hidden2(int a){return hidden(a)+1;}' | "
             "${CC:-cc} -w -O0 -shared -fPIC -nostdlib -s -x c - -o %s",
             path);
    run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
    file = elf_file_open(path);
    CHECK_OK(sonde__symbol_index_create(&file.elf, NULL, &index, NULL));
    CHECK(sonde__elf_text_range(&file.elf, &start, &end));
    for (uint64_t vaddr = start; vaddr < end; vaddr++) {
        if (sonde__symbol_find(index, vaddr, &symbol)) {
            bool is_label = strcmp(symbol.name, "label") == 0;
            label = is_label && named == 0 ? vaddr : label;
            named += is_label;
            bounded += symbol.source == SONDE__SYMBOL_FDE;
        }
    }
    CHECK_EQ(named, 1);
    CHECK(bounded > 16);
    CHECK(sonde__symbol_find(index, label, &symbol));
    CHECK_EQ(symbol.start, label);
    sonde__symbol_index_destroy(index);
    elf_file_done(&file);
}

/* gdb cuts the last number of a clone's name ("f.part.0.constprop"). */
static bool is_clone_of(const char *name, const char *cut)
{
    size_t size = strlen(cut);
    return strncmp(name, cut, size) == 0 && name[size] == '.' && strchr(cut, '.') != NULL;
}

/* gdb's answers for random addresses: "NAME + OFFSET in section ..." */
static void check_gdb(const char *path, const char *debug)
{
    enum { ADDRESSES = 500 };
    char script[1024], name[300];
    const char *const argv[] = {"gdb", "-nx", "-batch", "-x", script, path, NULL};
    struct elf_file file, debug_file = {0};
    struct sonde__symbol_index *index = NULL;
    struct oracle oracle, more;
    struct test_run run;
    uint64_t start, end, state = 0x2545f4914f6cdd1du, addresses[ADDRESSES];
    unsigned asked = 0, compared = 0;
    FILE *out;
    if (access(path, R_OK) != 0) {
        SKIP("no %s", path);
    }
    file = elf_file_open(path);
    oracle = oracle_read(path, true);
    if (debug != NULL) {
        debug_path(&file.elf, name, sizeof name);
        debug_file = elf_file_open(name);
        more = oracle_read(name, false);
        oracle_join(&oracle, &more);
    }
    CHECK_OK(sonde__symbol_index_create(&file.elf, debug != NULL ? &debug_file.elf : NULL, &index,
                                        NULL));
    CHECK(sonde__elf_text_range(&file.elf, &start, &end));
    snprintf(script, sizeof script, "%s/script", test_folder());
    out = fopen(script, "w");
    fprintf(out, "set print asm-demangle off\nset debuginfod enabled off\nset width 0\n");
    for (int i = 0; i < ADDRESSES; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        addresses[i] = start + state % (end - start);
        fprintf(out, "echo @\ninfo symbol %#lx\n", (unsigned long)addresses[i]);
    }
    fclose(out);
    run = test_run(argv, NULL, NULL, 120);
    if (run.status == 127) {
        SKIP("no gdb");
    }
    for (char *at = strchr(run.out, '@'); at != NULL && asked < ADDRESSES; asked++) {
        char *next = strchr(at + 1, '@'), *text = at + 1, *in;
        struct sonde__symbol symbol;
        uint64_t offset = 0;
        while (next != NULL && next[1] != 'N' && next[-1] != '\n') {
            next = strchr(next + 1, '@'); /* an '@' inside a name */
        }
        if (next != NULL) {
            *next = '\0';
        }
        in = strstr(text, " in section ");
        if (in != NULL && sonde__symbol_find(index, addresses[asked], &symbol) &&
            symbol.source != SONDE__SYMBOL_FDE && symbol.source != SONDE__SYMBOL_PLT) {
            char *plus = strstr(text, " + ");
            if (plus != NULL && plus < in) {
                offset = strtoull(plus + 3, NULL, 10);
                *plus = '\0';
            }
            *in = '\0';
            if (symbol.start != addresses[asked] - offset ||
                (!oracle_has(&oracle, symbol.start, text) && !is_clone_of(symbol.name, text)) ||
                !oracle_has(&oracle, symbol.start, symbol.name)) {
                FAIL("%s %#lx: gdb %s + %lu, the index %s + %lu", path,
                     (unsigned long)addresses[asked], text, (unsigned long)offset, symbol.name,
                     (unsigned long)(addresses[asked] - symbol.start));
            }
            compared++;
        }
        at = next;
    }
    CHECK_EQ(asked, ADDRESSES);
    if (compared < 50) {
        FAIL("%s: only %u addresses compared", path, compared);
    }
    sonde__symbol_index_destroy(index);
    oracle_done(&oracle);
    elf_file_done(&file);
    elf_file_done(&debug_file);
    test_run_done(&run);
}

TEST(names_equal_gdb_libc)
{
    check_gdb("/lib/x86_64-linux-gnu/libc.so.6", "debug");
}

TEST(names_equal_gdb_python)
{
    check_gdb("/usr/bin/python3.11", NULL);
}

TEST(names_equal_gdb_perl)
{
    check_gdb("/usr/bin/perl", NULL);
}
