// SPDX-License-Identifier: Apache-2.0
/* sonde finds descriptors and blocks in files of all forms without symbols: the same number and
 * places as llvm-nm lists, and a block for each function of a block. */
#include <elf.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockfile.h"
#include "darwin.h"
#include "test.h"

#define FOLDER "tests/integration/blockfile/"

struct numbers {
    uint64_t all[512];
    size_t count;
};

static void add(struct numbers *numbers, uint64_t number)
{
    CHECK(numbers->count < sizeof numbers->all / sizeof numbers->all[0]);
    numbers->all[numbers->count++] = number;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_once(struct numbers *numbers)
{
    size_t kept = 0;
    qsort(numbers->all, numbers->count, sizeof numbers->all[0], by_value);
    for (size_t i = 0; i < numbers->count; i++) {
        if (kept == 0 || numbers->all[kept - 1] != numbers->all[i]) {
            numbers->all[kept++] = numbers->all[i];
        }
    }
    numbers->count = kept;
}

static void must_be_equal(const char *file, const char *what, struct numbers *ours,
                          struct numbers *its)
{
    sort_once(ours);
    sort_once(its);
    for (size_t i = 0; i < ours->count || i < its->count; i++) {
        uint64_t a = i < ours->count ? ours->all[i] : 0, b = i < its->count ? its->all[i] : 0;
        if (a != b) {
            FAIL("%s: %s: ours 0x%" PRIx64 ", its 0x%" PRIx64 " (%zu and %zu)", file, what, a, b,
                 ours->count, its->count);
        }
    }
    if (ours->count == 0) {
        FAIL("%s: %s: nothing to compare", file, what);
    }
}

/* --- what llvm-nm says --- */

struct expected {
    struct numbers descs, invokes, sizes;
};

static struct expected expected;

/* "0000000000000410 s ___block_descriptor_tmp" */
static void read_symbols(const char *name)
{
    char *save = NULL;
    memset(&expected, 0, sizeof expected);
    char *output = darwin_output("llvm-nm-19 %s", name);
    for (char *line = strtok_r(output, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        const char *size = strstr(line, "_block_descriptor_");
        uint64_t vaddr = strtoull(line, NULL, 16);
        if (size != NULL) {
            add(&expected.descs, vaddr);
        } else if (strstr(line, "_block_invoke") != NULL) {
            add(&expected.invokes, vaddr);
        }
        if (size != NULL && strtoull(size + 18, NULL, 10) != 0) {
            add(&expected.sizes, strtoull(size + 18, NULL, 10));
        }
    }
    free(output);
}

/* --- what we say --- */

struct found {
    struct numbers descs, invokes, sizes;
    uint32_t descs_without_block, flags_unknown;
};

/* The loader here assigns the addresses of an ELF object; symbols give those of the file. */
static uint64_t of_file(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    if (!loaded->object || loaded->macho) {
        return vaddr - loaded->bias;
    }
    for (uint32_t i = 0; i < loaded->area_count; i++) {
        const struct sonde__loaded_area *area = &loaded->areas[i];
        if (vaddr >= area->vaddr && vaddr - area->vaddr < area->size) {
            return vaddr - area->vaddr;
        }
    }
    return vaddr;
}

static void find(const char *file, struct sonde__loaded *loaded, bool by_symbols,
                 struct found *found)
{
    struct sonde__blockfile blocks;
    struct sonde_error error;
    memset(found, 0, sizeof *found);
    CHECK_OK(sonde__blockfile_find(loaded, by_symbols, &blocks, &error));
    if (blocks.damage != NULL) {
        FAIL("%s: %s", file, blocks.damage);
    }
    for (uint32_t i = 0; i < blocks.desc_count; i++) {
        const struct sonde__blockfile_desc *desc = &blocks.descs[i];
        add(&found->descs, of_file(loaded, desc->vaddr));
        add(&found->sizes, desc->size);
        found->descs_without_block += desc->block_count == 0;
        found->flags_unknown += !desc->flags_known;
        CHECK(!desc->flags_differ);
    }
    for (uint32_t i = 0; i < blocks.block_count; i++) {
        add(&found->invokes, of_file(loaded, blocks.blocks[i].invoke));
    }
    sonde__blockfile_done(&blocks);
    sonde__loaded_done(loaded);
}

static void look(const char *name, bool by_symbols, struct found *found)
{
    char path[600];
    size_t size;
    struct sonde_error error;
    struct sonde__loaded loaded;
    struct sonde__macho macho;
    struct sonde__elf elf;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    char *bytes = test_read_file(path, &size);
    if (sonde__macho_begins(bytes, size)) {
        CHECK_OK(sonde__macho_open(bytes, size, &macho, &error));
        CHECK_OK(sonde__loaded_macho(&macho, &loaded, &error));
    } else {
        CHECK_OK(sonde__elf_open(bytes, size, &elf, &error));
        CHECK_OK(sonde__loaded_elf(&elf, &loaded, &error));
    }
    find(name, &loaded, by_symbols, found);
    free(bytes);
}

/* The results before and after `strip` are the same. */
static void check(const char *name, const char *strip)
{
    static struct found found, stripped;
    char gone[64];
    read_symbols(name);
    for (int by_symbols = 0; by_symbols < 2; by_symbols++) {
        look(name, by_symbols != 0, &found);
        if (found.descs_without_block != 0 || found.flags_unknown != 0) {
            FAIL("%s: %u descriptors without a block, of %u no flags", name,
                 found.descs_without_block, found.flags_unknown);
        }
        must_be_equal(name, "descriptors", &found.descs, &expected.descs);
        must_be_equal(name, "functions of blocks", &found.invokes, &expected.invokes);
        if (expected.sizes.count != 0) {
            must_be_equal(name, "sizes", &found.sizes, &expected.sizes);
        }
    }
    dprintf(STDOUT_FILENO, "    %s: %zu descriptors, %zu functions\n", name, expected.descs.count,
            expected.invokes.count);
    if (strip == NULL) {
        return;
    }
    snprintf(gone, sizeof gone, "gone-%s", name);
    darwin_shell("%s %s %s", strip, name, gone);
    darwin_shell("! llvm-nm-19 %s | grep block_", gone);
    look(gone, true, &stripped);
    must_be_equal(gone, "descriptors", &stripped.descs, &expected.descs);
    must_be_equal(gone, "functions of blocks", &stripped.invokes, &expected.invokes);
}

/* --- Mach-O --- */

static const char *const levels[] = {"-O0", "-O2", "-Oz"};

/* True if this level is skipped for form number `turn`: all of them take long. */
static bool is_left_out(unsigned level, unsigned turn)
{
    return !test_long() && level != turn % 2;
}

static void check_macho(const char *triple)
{
    static const char *const links[][2] = {{"chained", "-dylib -fixup_chains"},
                                           {"classic", "-dylib -no_fixup_chains"}};
    char flags[100];
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 2; k++) {
            if (!is_left_out(i, k)) {
                char object[32];
                snprintf(object, sizeof object, "%s.o", links[k][0]);
                darwin_build(FOLDER "program.c", triple, levels[i], links[k][1], links[k][0]);
                check(links[k][0], "llvm-objcopy-19 -x");
                check(object, NULL);
            }
        }
        if (!is_left_out(i, 1)) {
            snprintf(flags, sizeof flags, "%s -fobjc-arc", levels[i]);
            darwin_build(FOLDER "objects.m", triple, flags, "-dylib", "objects");
            check("objects", "llvm-objcopy-19 -x");
            check("objects.o", NULL);
        }
    }
}

TEST_TIMEOUT(finds_blocks_in_arm64_macho, 200)
{
    check_macho("arm64-apple-macos13");
}

TEST_TIMEOUT(finds_blocks_in_x86_64_macho, 200)
{
    check_macho("x86_64-apple-macos13");
}

/* --- ELF --- */

static void check_elf(const char *triple)
{
    static const char *const links[][2] = {
        {"library", "-shared"},
        {"relr", "-shared -z pack-relative-relocs"},
        {"pie", "-pie -e program --unresolved-symbols=ignore-all"},
        {"fixed", "-no-pie -e program --unresolved-symbols=ignore-all"},
    };
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 4; k++) {
            const char *name = links[k][0];
            bool fixed = strcmp(name, "fixed") == 0;
            char object[32];
            if (is_left_out(i, k)) {
                continue;
            }
            darwin_shell("clang-19 -target %s -fblocks -ffreestanding %s %s -c '%s/" FOLDER
                         "program.c' -o %s.o && ld.lld-19 %s %s.o -o %s",
                         triple, levels[i], fixed ? "-fno-pic" : "-fPIC", test_source_dir(), name,
                         links[k][1], name, name);
            check(name, "llvm-objcopy-19 --strip-all --strip-sections");
            snprintf(object, sizeof object, "%s.o", name);
            check(object, NULL);
        }
    }
    darwin_shell(
        "clang-19 -target %s -fblocks -ffreestanding -fobjc-runtime=macosx-10.11 -fobjc-arc -O2 "
        "-fPIC -c '%s/" FOLDER "objects.m' -o objects.o && "
        "ld.lld-19 -shared objects.o -o objects",
        triple, test_source_dir());
    check("objects", "llvm-objcopy-19 --strip-all --strip-sections");
    check("objects.o", NULL);
}

TEST_TIMEOUT(finds_blocks_in_aarch64_elf, 200)
{
    check_elf("aarch64-linux-gnu");
}

TEST_TIMEOUT(finds_blocks_in_x86_64_elf, 200)
{
    check_elf("x86_64-linux-gnu");
}

/* The compiler omits signatures: only code distinguishes descriptors from numbers. */
static void check_bare(unsigned turn, const char *triple, const char *link, const char *strip)
{
    for (unsigned i = 0; i < 3; i++) {
        if (!is_left_out(i, turn)) {
            darwin_shell("clang-19 -target %s -fblocks -ffreestanding -fPIC %s "
                         "-fdisable-block-signature-string -c '%s/" FOLDER
                         "program.c' -o bare.o && %s bare.o -o bare",
                         triple, levels[i], test_source_dir(), link);
            check("bare", strip);
            check("bare.o", NULL);
        }
    }
}

TEST_TIMEOUT(finds_blocks_without_signatures, 200)
{
    static const char mach[] = "ld64.lld-19 -platform_version macos 13 13 -undefined "
                               "dynamic_lookup -dylib -arch ";
    char link[200];
    snprintf(link, sizeof link, "%sarm64", mach);
    check_bare(1, "arm64-apple-macos13", link, "llvm-objcopy-19 -x");
    snprintf(link, sizeof link, "%sx86_64", mach);
    check_bare(0, "x86_64-apple-macos13", link, "llvm-objcopy-19 -x");
    check_bare(0, "aarch64-linux-gnu", "ld.lld-19 -shared",
               "llvm-objcopy-19 --strip-all --strip-sections");
    check_bare(1, "x86_64-linux-gnu", "ld.lld-19 -shared", "llvm-objcopy-19 --strip-all");
}

/* Files without blocks have none. */
TEST_TIMEOUT(finds_nothing_in_files_without_blocks, 200)
{
    static const char *const files[] = {"/bin/bash", "/usr/bin/gdb", "/usr/bin/cmake"};
    unsigned seen = 0;
    for (unsigned i = 0; i < 3; i++) {
        static struct found found;
        struct sonde__loaded loaded;
        struct sonde__elf elf;
        struct sonde_error error;
        size_t size;
        if (access(files[i], R_OK) != 0) {
            continue;
        }
        char *bytes = test_read_file(files[i], &size);
        CHECK_OK(sonde__elf_open(bytes, size, &elf, &error));
        CHECK_OK(sonde__loaded_elf(&elf, &loaded, &error));
        find(files[i], &loaded, true, &found);
        CHECK_EQ(found.descs.count, 0);
        seen++;
        free(bytes);
    }
    CHECK(seen > 0);
}

/* --- hostile --- */

enum { SHARED = 1000, SHARED_BYTES = 100000 };

/* An object with SHARED names, each a suffix of the one before: 50 MB of names in 172 kB. `section`
 * defines them; 0: they are imports, each with a pointer to it. */
struct shared_names {
    Elf64_Ehdr header;
    Elf64_Shdr sections[5];
    Elf64_Sym symbols[SHARED];
    Elf64_Rela relocs[SHARED];
    char data[8];
    char names[SHARED_BYTES];
};

static void write_shared(struct shared_names *file, uint16_t section, uint64_t names_size)
{
    static const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
                                      .e_type = ET_REL,
                                      .e_machine = EM_X86_64,
                                      .e_version = 1,
                                      .e_shoff = offsetof(struct shared_names, sections),
                                      .e_ehsize = sizeof(Elf64_Ehdr),
                                      .e_shentsize = sizeof(Elf64_Shdr),
                                      .e_shnum = 5,
                                      .e_shstrndx = 3};
    *file = (struct shared_names){.header = header};
    file->sections[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                     .sh_flags = SHF_ALLOC | SHF_WRITE,
                                     .sh_offset = offsetof(struct shared_names, data),
                                     .sh_size = sizeof file->data};
    file->sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                     .sh_offset = offsetof(struct shared_names, symbols),
                                     .sh_size = sizeof file->symbols,
                                     .sh_link = 3,
                                     .sh_entsize = sizeof(Elf64_Sym)};
    file->sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                     .sh_offset = offsetof(struct shared_names, names),
                                     .sh_size = names_size};
    file->sections[4] = (Elf64_Shdr){.sh_type = section == 0 ? SHT_RELA : SHT_NULL,
                                     .sh_offset = offsetof(struct shared_names, relocs),
                                     .sh_size = sizeof file->relocs,
                                     .sh_link = 2,
                                     .sh_info = 1,
                                     .sh_entsize = sizeof(Elf64_Rela)};
    memset(file->names + 1, 'a', names_size - 2);
    for (uint32_t i = 0; i < SHARED; i++) {
        file->symbols[i].st_name = 1 + i * (uint32_t)(names_size / SHARED);
        file->symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        file->symbols[i].st_shndx = section;
        file->relocs[i].r_info = ELF64_R_INFO(i, R_X86_64_64);
    }
}

TEST_TIMEOUT(bounds_names_that_share_bytes, 200)
{
    static struct shared_names file;
    struct sonde__loaded loaded;
    struct sonde__elf elf;
    for (uint16_t section = 0; section < 2; section++) {
        for (unsigned few = 0; few < 2; few++) {
            write_shared(&file, section, few != 0 ? SHARED_BYTES / 20 : SHARED_BYTES);
            CHECK_OK(sonde__elf_open(&file, sizeof file, &elf, NULL));
            CHECK_OK(sonde__loaded_elf(&elf, &loaded, NULL));
            uint32_t count = section == 0 ? loaded.import_count : loaded.symbol_count;
            CHECK_STR(loaded.damage != NULL ? loaded.damage : "whole",
                      few != 0 ? "whole" : "names share bytes of the file; the rest is not read");
            CHECK(few != 0 ? count == SHARED : count > 50 && count < SHARED / 2);
            sonde__loaded_done(&loaded);
        }
    }
}
