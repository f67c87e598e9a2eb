// SPDX-License-Identifier: Apache-2.0
/* Blocks of files with chained fixups in every 64-bit format, also arm64e's, which has signed
 * pointers and which no linker here writes.
 *
 * A program is linked in the one format that the linker knows; llvm-objdump lists its pointers. The
 * test rewrites them in the other formats by fixup-chains.h (dyld), signed as by Apple's compilers.
 * Each file must then read the same, with the same blocks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "image_macho.h"
#include "test.h"

enum { POINTERS = 8192, NAME_BYTES = 80, FORMATS = 5 };

enum format { ARM64E = 1, PLAIN = 2, PLAIN_OFFSET = 6, USERLAND = 9, USERLAND24 = 12 };

static const struct {
    const char *name; /* llvm-objdump's name */
    enum format format;
    bool is_arm64e;
} formats[FORMATS] = {
    {"DYLD_CHAINED_PTR_64)", PLAIN, false},
    {"DYLD_CHAINED_PTR_64_OFFSET)", PLAIN_OFFSET, false},
    {"DYLD_CHAINED_PTR_ARM64E)", ARM64E, true},
    {"DYLD_CHAINED_PTR_ARM64E_USERLAND)", USERLAND, true},
    {"DYLD_CHAINED_PTR_ARM64E_USERLAND24)", USERLAND24, true},
};

/* --- fixup-chains.h --- */

struct field {
    unsigned from, bits;
};
/* DYLD_CHAINED_PTR_64 and its variants */
static const struct field target64 = {0, 36}, ordinal64 = {0, 24}, addend64 = {24, 8},
                          next64 = {51, 12}, bind64 = {63, 1};
/* DYLD_CHAINED_PTR_ARM64E and its variants */
static const struct field target = {0, 43}, ordinal16 = {0, 16}, behind16 = {16, 8},
                          ordinal24 = {0, 24}, addend = {32, 19}, auth_target = {0, 32},
                          auth_diversity = {32, 16}, auth_by_address = {48, 1}, auth_key = {49, 2},
                          next = {51, 11}, bind = {62, 1}, auth = {63, 1};

static void put(uint64_t *word, struct field field, uint64_t value)
{
    CHECK(value >> field.bits == 0);
    *word |= value << field.from;
}

enum key { KEY_IA, KEY_IB, KEY_DA, KEY_DB };

/* --- the pointers, as llvm-objdump tells them --- */

struct truth {
    uint64_t vaddr;
    bool is_bind;
    char section[20];
    uint64_t target; /* not of a bind */
    uint64_t addend;
    char name[NAME_BYTES]; /* of a bind */
    uint32_t ordinal;      /* of its import, as it was */
};

static struct truth truth[POINTERS];
static size_t truth_count;

static struct {
    char *bytes;
    size_t size;
    struct sonde__macho macho;
} file;

static void open_file(const char *name)
{
    char path[600];
    free(file.bytes);
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    file.bytes = test_read_file(path, &file.size);
    CHECK_OK(sonde__macho_open(file.bytes, file.size, &file.macho, NULL));
}

static char *at_vaddr(uint64_t vaddr)
{
    const uint8_t *at = sonde__macho_at_vaddr(&file.macho, vaddr, 8);
    CHECK(at != NULL);
    return file.bytes + ((const char *)at - file.bytes);
}

/* "__DATA_CONST __got 0x4018 0x8010000000000003 bind 0x0 flat-namespace _objc_release",
 * "__DATA __objc_const 0x80A8 0x0010000000000CB9 rebase 0xCB9" */
static void read_truth(const char *name)
{
    char *output = darwin_output("llvm-objdump-19 --macho --dyld-info %s", name), *rest = output;
    truth_count = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct truth *t = &truth[truth_count];
        char kind[20], first[40], name_of[NAME_BYTES];
        uint64_t raw;
        int n = sscanf(line, "%*s %19s 0x%" SCNx64 " 0x%" SCNx64 " %19s %39s %*s %79s", t->section,
                       &t->vaddr, &raw, kind, first, name_of);
        if (n < 5 || (strcmp(kind, "bind") != 0 && strcmp(kind, "rebase") != 0)) {
            continue;
        }
        t->is_bind = strcmp(kind, "bind") == 0;
        t->target = t->is_bind ? 0 : strtoull(first, NULL, 16);
        t->addend = t->is_bind ? strtoull(first, NULL, 16) : 0;
        t->ordinal = t->is_bind ? (uint32_t)(raw & 0xffffff) : 0;
        CHECK(!t->is_bind || n == 6);
        snprintf(t->name, sizeof t->name, "%s", t->is_bind ? name_of : "");
        CHECK(++truth_count < POINTERS);
    }
    free(output);
}

/* --- writing --- */

static uint32_t get(const char *at, unsigned size)
{
    uint32_t value = 0;
    memcpy(&value, at, size);
    return value;
}

/* True for pointers that a compiler for arm64e signs: to functions, and the classes of blocks. */
static bool is_signed(const struct truth *t, enum key *ret_key, bool *ret_by_address,
                      uint32_t *ret_diversity)
{
    struct sonde__macho_section section;
    *ret_key = KEY_IA;
    *ret_by_address = strcmp(t->section, "__got") != 0;
    *ret_diversity = strcmp(t->section, "__objc_const") == 0 ? 0xc310 : 0; /* methods */
    if (t->is_bind) {
        if (strncmp(t->name, "__NSConcrete", 12) == 0) {
            *ret_key = KEY_DA;
            *ret_diversity = 0x6ae1;
        }
        return *ret_by_address == (*ret_key == KEY_DA);
    }
    for (uint32_t i = 0; i < file.macho.section_count; i++) {
        if (sonde__macho_section(&file.macho, i, &section) &&
            t->target - section.vaddr < section.size) {
            return strcmp(section.name, "__text") == 0;
        }
    }
    return false;
}

static uint64_t encode(const struct truth *t, enum format format, uint64_t bytes_to_next)
{
    uint64_t word = 0, base = file.macho.base;
    enum key key;
    bool by_address;
    uint32_t diversity;
    if (format == PLAIN || format == PLAIN_OFFSET) {
        put(&word, t->is_bind ? ordinal64 : target64,
            t->is_bind ? t->ordinal : t->target - (format == PLAIN_OFFSET ? base : 0));
        put(&word, addend64, t->addend);
        put(&word, next64, bytes_to_next / 4);
        put(&word, bind64, t->is_bind);
        return word;
    }
    put(&word, next, bytes_to_next / 8);
    put(&word, bind, t->is_bind);
    if (t->is_bind) {
        put(&word, format == USERLAND24 ? ordinal24 : ordinal16, t->ordinal);
        put(&word, behind16, format == USERLAND24 ? 0 : 0xff); /* not part of the target */
    }
    if (is_signed(t, &key, &by_address, &diversity)) {
        put(&word, auth_target, t->is_bind ? 0 : t->target - base);
        put(&word, auth_diversity, diversity);
        put(&word, auth_by_address, by_address);
        put(&word, auth_key, key);
        put(&word, auth, 1);
    } else if (t->is_bind) {
        put(&word, addend, t->addend);
    } else {
        put(&word, target, t->target - (format == ARM64E ? 0 : base));
    }
    return word;
}

/* Set the format of all segments. Returns the bytes of a page. */
static uint32_t set_format(enum format format)
{
    char *chains = file.bytes + file.macho.chains.offset;
    char *starts = chains + get(chains + 4, 4);
    uint32_t segments = get(starts, 4), page_size = 0;
    uint16_t as = (uint16_t)format;
    for (uint32_t i = 0; i < segments; i++) {
        uint32_t at = get(starts + 4 + (size_t)4 * i, 4);
        if (at != 0) {
            page_size = get(starts + at + 4, 2);
            memcpy(starts + at + 6, &as, sizeof as);
        }
    }
    CHECK(page_size == 0x4000);
    return page_size;
}

static void write_chains(enum format format, bool is_arm64e, const char *name)
{
    static const uint32_t subtype = 0x80000002;
    char path[600];
    uint32_t page_size = set_format(format);
    unsigned pages = 1;
    for (size_t i = 0; i < truth_count; i++) {
        uint64_t vaddr = truth[i].vaddr, behind = i + 1 < truth_count ? truth[i + 1].vaddr : 0;
        bool is_last = behind / page_size != vaddr / page_size;
        uint64_t raw = encode(&truth[i], format, is_last ? 0 : behind - vaddr);
        memcpy(at_vaddr(vaddr), &raw, sizeof raw);
        pages += is_last;
    }
    CHECK(pages > 3);
    if (is_arm64e) {
        memcpy(file.bytes + 8, &subtype, sizeof subtype);
    }
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    test_write_file(path, file.bytes, file.size);
}

/* --- reading --- */

static size_t seen_count, signed_count;

static bool take_fixup(void *ctx, const struct sonde__macho_fixup *fixup)
{
    const struct truth *t = &truth[seen_count++];
    (void)ctx;
    CHECK(seen_count <= truth_count);
    CHECK_EQ(fixup->vaddr, t->vaddr);
    CHECK_EQ(fixup->import != NULL, t->is_bind);
    if (t->is_bind) {
        CHECK_STR(fixup->import, t->name);
        CHECK_EQ(fixup->addend, (int64_t)t->addend);
    } else {
        CHECK_EQ(fixup->target, t->target);
    }
    signed_count += fixup->authenticated;
    return true;
}

static void check_pointers(const char *name, bool is_arm64e)
{
    open_file(name);
    seen_count = signed_count = 0;
    const char *damage = sonde__macho_each_fixup(&file.macho, take_fixup, NULL);
    CHECK_STR(damage != NULL ? damage : "whole", "whole");
    CHECK_EQ(seen_count, truth_count);
    CHECK_EQ(signed_count > 20, is_arm64e);
}

/* The listing without the line that has the file's name. */
static char *blocks_of(const char *name)
{
    return darwin_output("'%s/cli/sonde' blocks %s | tail -n +2", test_build_dir(), name);
}

static void check_format(unsigned i, const char *before)
{
    char name[20], expected[80];
    snprintf(name, sizeof name, "format%d", formats[i].format);
    open_file("linked");
    write_chains(formats[i].format, formats[i].is_arm64e, name);
    snprintf(expected, sizeof expected, "pointer_format = %d (%s", formats[i].format,
             formats[i].name);
    char *header = darwin_output("llvm-objdump-19 --macho --chained-fixups %s", name);
    CHECK_CONTAINS(header, expected);
    free(header);
    check_pointers(name, formats[i].is_arm64e);
    char *after = blocks_of(name);
    if (strcmp(before, after) != 0) {
        FAIL("%s: other blocks:\n%s\nwere\n%s", formats[i].name, after, before);
    }
    free(after);
}

/* --- more imports than 16 bits count --- */

enum { MANY = 1 << 16, IMPORT_BYTES = 4, LOAD_COMMANDS = 32, FILE_SLACK = 64 };

/* A table with MANY more imports. Only its last ones are used. No import before has the name that
 * an ordinal truncated to 16 bits would give. */
static void add_imports(void)
{
    uint64_t chains = file.macho.chains.offset, size = file.macho.chains.size;
    uint32_t old_at = get(file.bytes + chains + 8, 4), count = get(file.bytes + chains + 16, 4);
    uint32_t blob_at = (uint32_t)(file.size + 7) & ~7u, table_at = (uint32_t)(size + 7) & ~7u;
    uint32_t all = MANY + count, blob_size = table_at + all * IMPORT_BYTES, ncmds;
    char *bytes = calloc(1, (size_t)blob_at + blob_size + FILE_SLACK), *table;
    const char *old = file.bytes + chains + old_at;
    char *command = bytes + LOAD_COMMANDS;
    CHECK(count > 1);
    memcpy(bytes, file.bytes, file.size);
    memcpy(bytes + blob_at, file.bytes + chains, size);
    memcpy(bytes + blob_at + 8, &table_at, sizeof table_at);
    memcpy(bytes + blob_at + 16, &all, sizeof all);
    table = bytes + blob_at + table_at;
    for (uint32_t i = 0; i < all; i++) {
        uint32_t from = i >= MANY ? i - MANY : (i + 1) % count;
        memcpy(table + (size_t)i * IMPORT_BYTES, old + (size_t)from * IMPORT_BYTES, IMPORT_BYTES);
    }
    for (ncmds = get(bytes + 16, 4); ncmds > 0 && get(command, 4) != 0x80000034; ncmds--) {
        command += get(command + 4, 4);
    }
    CHECK(ncmds > 0); /* LC_DYLD_CHAINED_FIXUPS */
    memcpy(command + 8, &blob_at, sizeof blob_at);
    memcpy(command + 12, &blob_size, sizeof blob_size);
    free(file.bytes);
    file.bytes = bytes;
    file.size = (size_t)blob_at + blob_size;
    CHECK_OK(sonde__macho_open(file.bytes, file.size, &file.macho, NULL));
    for (size_t i = 0; i < truth_count; i++) {
        truth[i].ordinal += truth[i].is_bind ? MANY : 0;
    }
}

static void check_many_imports(void)
{
    open_file("linked");
    add_imports();
    write_chains(PLAIN, false, "many");
    check_pointers("many", false);
    write_chains(USERLAND24, true, "many");
    check_pointers("many", true);
}

TEST_TIMEOUT(reads_all_formats_of_chained_fixups, 200)
{
    char path[600], source[900];
    /* pointers on several pages */
    snprintf(source, sizeof source,
             "#include \"%s/tests/integration/blockfile/objects.m\"\n"
             "int (*const many[3000])(id) = {[0 ... 2999] = shown};\n"
             "void *more[3000] = {[0 ... 2999] = more};\n"
             "int main(void) { return 0; }\n",
             test_source_dir());
    snprintf(path, sizeof path, "%s/chains.m", test_folder());
    test_write_file(path, source, strlen(source));
    darwin_shell("clang-19 -target arm64-apple-macos13 -fobjc-arc -fblocks -ffreestanding -O2 "
                 "-c chains.m && ld64.lld-19 -arch arm64 -platform_version macos 13 13 "
                 "-undefined dynamic_lookup -fixup_chains -o linked chains.o");
    open_file("linked");
    CHECK(file.macho.base != 0); /* an offset is no address */
    read_truth("linked");
    CHECK(truth_count > 6000);
    char *before = blocks_of("linked");
    CHECK_CONTAINS(before, "\nblock in -[Thing keep:with:]\n");
    for (unsigned i = 0; i < FORMATS; i++) {
        check_format(i, before);
    }
    /* llvm-objdump reads two of the formats and finds the same pointers */
    for (unsigned i = 0; i < 2; i++) {
        darwin_shell("llvm-objdump-19 --macho --dyld-info linked | tail -n +3 | cut -c1-37,57- >a; "
                     "llvm-objdump-19 --macho --dyld-info format%d | tail -n +3 | "
                     "cut -c1-37,57- >b; test -s a && cmp a b",
                     formats[i].format);
    }
    free(before);
    check_many_imports();
    free(file.bytes);
    file.bytes = NULL;
}
