// SPDX-License-Identifier: Apache-2.0
/* The Mach-O reader against llvm-nm, llvm-objdump, llvm-dwarfdump and llvm-ar: the same symbols,
 * function starts, exports, stubs, pointers, UUID and members, in files made here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "image_macho.h"
#include "test.h"

#define PROGRAM "tests/integration/macho/program.m"

/* --- lines, compared as sets --- */

struct lines {
    char *all[4096];
    size_t count;
};

static void add(struct lines *lines, const char *text)
{
    CHECK(lines->count < sizeof lines->all / sizeof lines->all[0]);
    lines->all[lines->count] = strdup(text);
    CHECK(lines->all[lines->count] != NULL);
    lines->count++;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Both are equal as sets, and not empty. Frees both. */
static void must_be_equal(const char *what, struct lines *ours, struct lines *its)
{
    qsort(ours->all, ours->count, sizeof ours->all[0], by_text);
    qsort(its->all, its->count, sizeof its->all[0], by_text);
    for (size_t i = 0; i < ours->count || i < its->count; i++) {
        const char *a = i < ours->count ? ours->all[i] : "nothing";
        const char *b = i < its->count ? its->all[i] : "nothing";
        if (strcmp(a, b) != 0) {
            FAIL("%s: ours \"%s\", its \"%s\"", what, a, b);
        }
    }
    if (ours->count == 0) {
        FAIL("%s: nothing to compare", what);
    }
    dprintf(STDOUT_FILENO, "    %s: %zu\n", what, ours->count);
    for (size_t i = 0; i < ours->count; i++) {
        free(ours->all[i]);
        free(its->all[i]);
    }
    ours->count = its->count = 0;
}

/* --- the file under test --- */

struct opened {
    char *bytes;
    size_t size;
    struct sonde__macho macho;
};

static void open_file(const char *name, struct opened *o)
{
    char path[600];
    struct sonde_error error;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    o->bytes = test_read_file(path, &o->size);
    CHECK_OK(sonde__macho_open(o->bytes, o->size, &o->macho, &error));
    CHECK(o->macho.damage == NULL);
}

/* Call `each` for each line of a tool's output. */
static void each_line(char *output, void (*each)(struct lines *lines, const char *line),
                      struct lines *lines)
{
    char *save = NULL;
    for (char *line = strtok_r(output, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        each(lines, line);
    }
    free(output);
}

/* "_main T 698 0", "-[R foo] t 638 0": from the end, because names have spaces. */
static void nm_line(struct lines *lines, const char *line)
{
    char text[512];
    const char *at = line + strlen(line);
    for (int spaces = 0; at > line && spaces < 3; at--) {
        spaces += at[-1] == ' ';
    }
    if ((at[1] == 't' || at[1] == 'T') && memcmp(line, "ltmp", 4) != 0) {
        uint64_t value = strtoull(at + 3, NULL, 16);
        snprintf(text, sizeof text, "%" PRIx64 " %.*s", value, (int)(at - line), line);
        add(lines, text);
    }
}

static void compare_symbols(const char *name)
{
    static struct lines ours, its;
    struct opened o;
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    char text[512];
    open_file(name, &o);
    CHECK(sonde__macho_symbols(&o.macho, &symbols));
    for (uint32_t i = 0; sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        if (sonde__macho_is_function(&o.macho, &symbol, &section)) {
            snprintf(text, sizeof text, "%" PRIx64 " %s", symbol.value, symbol.name);
            add(&ours, text);
        }
    }
    each_line(darwin_output("llvm-nm-19 --format=posix %s | grep -v __mh_", name), nm_line, &its);
    must_be_equal("symbols of code", &ours, &its);
    free(o.bytes);
}

static void hex_line(struct lines *lines, const char *line)
{
    char text[64];
    char *end;
    uint64_t value = strtoull(line, &end, 16);
    if (end != line && *end == '\0') {
        snprintf(text, sizeof text, "%" PRIx64, value);
        add(lines, text);
    }
}

static void compare_starts(const char *name)
{
    static struct lines ours, its;
    struct opened o;
    struct sonde__macho_starts starts;
    uint64_t vaddr;
    char text[64];
    open_file(name, &o);
    sonde__macho_starts_begin(&o.macho, &starts);
    while (sonde__macho_starts_next(&starts, &vaddr)) {
        snprintf(text, sizeof text, "%" PRIx64, vaddr);
        add(&ours, text);
    }
    each_line(darwin_output("llvm-objdump-19 --macho --function-starts=addrs %s", name), hex_line,
              &its);
    must_be_equal("function starts", &ours, &its);
    free(o.bytes);
}

/* "0x00000748  _main" */
static void export_line(struct lines *lines, const char *line)
{
    char text[512];
    char *end;
    uint64_t value = strtoull(line, &end, 16);
    if (memcmp(line, "0x", 2) == 0) {
        snprintf(text, sizeof text, "%" PRIx64 "%s", value, end + 1);
        add(lines, text);
    }
}

static void compare_exports(const char *name)
{
    static struct lines ours, its;
    static struct sonde__macho_exports exports;
    struct sonde__macho_export export;
    struct opened o;
    char text[512];
    open_file(name, &o);
    sonde__macho_exports_begin(&o.macho, &exports);
    while (sonde__macho_exports_next(&exports, &export)) {
        snprintf(text, sizeof text, "%" PRIx64 " %s", export.vaddr, export.name);
        add(&ours, text);
    }
    CHECK(!exports.damaged);
    each_line(darwin_output("llvm-objdump-19 --macho --exports-trie %s", name), export_line, &its);
    must_be_equal("exports", &ours, &its);
    free(o.bytes);
}

/* "0x0000000000000710    44 _ext_fn" */
static void indirect_line(struct lines *lines, const char *line)
{
    char text[512];
    uint64_t vaddr;
    unsigned index;
    char name[400];
    if (sscanf(line, "0x%" SCNx64 " %u %399s", &vaddr, &index, name) == 3) {
        snprintf(text, sizeof text, "%" PRIx64 " %s", vaddr, name);
        add(lines, text);
    }
}

static void compare_indirect(const char *name)
{
    static struct lines ours, its;
    struct opened o;
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    char text[512];
    open_file(name, &o);
    CHECK(sonde__macho_symbols(&o.macho, &symbols));
    for (uint32_t i = 0; sonde__macho_section(&o.macho, i, &section); i++) {
        uint32_t entry = sonde__macho_indirect_bytes(&o.macho, &section);
        for (uint32_t k = 0; entry != 0 && k < section.size / entry; k++) {
            if (sonde__macho_indirect(&o.macho, &symbols, &section, k, &symbol)) {
                snprintf(text, sizeof text, "%" PRIx64 " %s", section.vaddr + (uint64_t)k * entry,
                         symbol.name);
                add(&ours, text);
            }
        }
    }
    each_line(darwin_output("llvm-objdump-19 --macho --indirect-symbols %s", name), indirect_line,
              &its);
    must_be_equal("stubs and symbol pointers", &ours, &its);
    free(o.bytes);
}

/* --- pointers --- */

static bool take_fixup(void *ctx, const struct sonde__macho_fixup *fixup)
{
    char text[600];
    if (fixup->import != NULL) {
        snprintf(text, sizeof text, "%" PRIx64 " %s+%" PRIx64, fixup->vaddr, fixup->import,
                 (uint64_t)fixup->addend);
    } else {
        snprintf(text, sizeof text, "%" PRIx64 " %" PRIx64, fixup->vaddr, fixup->target);
    }
    add(ctx, text);
    return true;
}

/* "__DATA __data 0x8000 0x8010000000000000 bind 0x0 flat-namespace _ext_data",
 * "__DATA __data 0x8018 0x0010000000008010 rebase 0x8010" */
static void chained_line(struct lines *lines, const char *line)
{
    char text[600], segment[32], section[32], kind[32], rest[3][400];
    uint64_t vaddr, raw;
    int n = sscanf(line, "%31s %31s 0x%" SCNx64 " 0x%" SCNx64 " %31s %399s %399s %399s", segment,
                   section, &vaddr, &raw, kind, rest[0], rest[1], rest[2]);
    if (n >= 6 && strcmp(kind, "rebase") == 0) {
        snprintf(text, sizeof text, "%" PRIx64 " %llx", vaddr, strtoull(rest[0], NULL, 16));
        add(lines, text);
    } else if (n == 8 && strcmp(kind, "bind") == 0) {
        snprintf(text, sizeof text, "%" PRIx64 " %s+%llx", vaddr, rest[2],
                 strtoull(rest[0], NULL, 16));
        add(lines, text);
    }
}

static const struct opened *classic_file;

/* "__DATA __data 0x8020 pointer" (a rebase: the target stands in the file),
 * "__DATA __data 0x8008 pointer 0 flat-namespace _ext_data",
 * "__DATA __la_symbol_ptr 0x8000 flat-namespace _ext_fn" (lazy) */
static void classic_line(struct lines *lines, const char *line)
{
    char text[600], segment[32], section[32], words[4][400];
    unsigned width = classic_file->macho.is64 ? 8 : 4;
    uint64_t vaddr;
    uint64_t target = 0;
    int n = sscanf(line, "%31s %31s 0x%" SCNx64 " %399s %399s %399s %399s", segment, section,
                   &vaddr, words[0], words[1], words[2], words[3]);
    if (n == 4) {
        const uint8_t *data = sonde__macho_at_vaddr(&classic_file->macho, vaddr, width);
        CHECK(data != NULL);
        memcpy(&target, data, width);
        snprintf(text, sizeof text, "%" PRIx64 " %" PRIx64, vaddr, target);
    } else if (n == 5) {
        snprintf(text, sizeof text, "%" PRIx64 " %s+0", vaddr, words[1]);
    } else if (n == 7) {
        snprintf(text, sizeof text, "%" PRIx64 " %s+%llx", vaddr, words[3],
                 strtoull(words[1], NULL, 0));
    } else {
        return;
    }
    add(lines, text);
}

static void compare_fixups(const char *name, bool chained)
{
    static struct lines ours, its;
    struct opened o;
    open_file(name, &o);
    classic_file = &o;
    CHECK((o.macho.chains.size != 0) == chained);
    const char *damage = sonde__macho_each_fixup(&o.macho, take_fixup, &ours);
    CHECK_STR(damage != NULL ? damage : "whole", "whole");
    if (chained) {
        each_line(darwin_output("llvm-objdump-19 --macho --dyld-info %s", name), chained_line,
                  &its);
    } else {
        each_line(darwin_output("llvm-objdump-19 --macho --rebase --bind --lazy-bind --weak-bind "
                                "%s | grep -v ^Weak",
                                name),
                  classic_line, &its);
    }
    must_be_equal(chained ? "chained pointers" : "rebases and binds", &ours, &its);
    free(o.bytes);
}

static void compare_uuid(const char *name)
{
    struct opened o;
    char text[40];
    size_t used = 0;
    open_file(name, &o);
    char *its = darwin_output("llvm-dwarfdump-19 --uuid %s | cut -d' ' -f2", name);
    CHECK_EQ(o.macho.uuid.size, 16);
    for (unsigned i = 0; i < 16; i++) {
        used +=
            (size_t)sprintf(text + used, "%s%02X", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                            o.macho.uuid.bytes[i]);
    }
    its[strcspn(its, "\n")] = '\0';
    CHECK_STR(text, its);
    free(its);
    free(o.bytes);
}

static void compare_all(const char *triple)
{
    darwin_build(PROGRAM, triple, "-O2 -g", "", "program");
    darwin_build(PROGRAM, triple, "-O2 -g", "-dylib -fixup_chains", "chained.dylib");
    darwin_build(PROGRAM, triple, "-O2 -g", "-dylib -no_fixup_chains", "classic.dylib");
    compare_symbols("program");
    compare_starts("program");
    compare_uuid("program");
    compare_exports("chained.dylib");
    compare_exports("classic.dylib");
    compare_indirect("chained.dylib");
    compare_indirect("classic.dylib");
    compare_fixups("chained.dylib", true);
    compare_fixups("classic.dylib", false);
    compare_symbols("program.o");
}

TEST_TIMEOUT(reader_arm64, 200)
{
    compare_all("arm64-apple-macos13");
}

TEST_TIMEOUT(reader_x86_64, 200)
{
    compare_all("x86_64-apple-macos13");
}

TEST_TIMEOUT(reader_arm64_32, 200)
{
    darwin_build(PROGRAM, "arm64_32-apple-watchos8", "-O2 -g", "", "program");
    compare_symbols("program");
    compare_starts("program");
    compare_indirect("program");
    compare_fixups("program", false);
    compare_symbols("program.o");
}

/* Objects only: llvm's linker does not support these machines. */
TEST_TIMEOUT(reader_32_bit_objects, 200)
{
    static const char *const triples[] = {"armv7-apple-ios9", "i386-apple-macos10.13",
                                          "armv7k-apple-watchos5"};
    for (unsigned i = 0; i < 3; i++) {
        darwin_shell("clang-19 -target %s -fblocks -ffreestanding -O2 -g -c '%s/%s' -o object.o",
                     triples[i], test_source_dir(), PROGRAM);
        compare_symbols("object.o");
    }
}

/* --- relocations of objects: each pointer in data leads where llvm-objdump's relocation says ---
 */

static void reloc_line(struct lines *lines, const char *line)
{
    char text[600];
    static char section[40];
    const char *symbol = strrchr(line, ' ');
    if (sscanf(line, "Relocation information (%39[^)])", section) != 1 &&
        strstr(line, "True   UNSIGND") != NULL && strcmp(section, "__DATA,__data") == 0) {
        snprintf(text, sizeof text, "%llx%s", strtoull(line, NULL, 16), symbol);
        add(lines, text);
    }
}

struct object_data {
    struct lines *lines;
    struct sonde__macho_section data;
    const struct sonde__macho *macho;
};

/* Take the name from the address, to compare targets inside the object, too. */
static bool take_reloc(void *ctx, const struct sonde__macho_fixup *fixup)
{
    struct object_data *d = ctx;
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    const char *name = fixup->import;
    char text[600];
    if (fixup->vaddr < d->data.vaddr || fixup->vaddr >= d->data.vaddr + d->data.size) {
        return true;
    }
    CHECK(sonde__macho_symbols(d->macho, &symbols));
    for (uint32_t i = 0; name == NULL && sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        if ((symbol.type & SONDE__N_TYPE) == SONDE__N_SECT && symbol.value == fixup->target &&
            strncmp(symbol.name, "ltmp", 4) != 0) {
            name = symbol.name;
        }
    }
    snprintf(text, sizeof text, "%" PRIx64 " %s", fixup->vaddr - d->data.vaddr,
             name != NULL ? name : "?");
    add(d->lines, text);
    return true;
}

TEST_TIMEOUT(reader_relocations_of_objects, 200)
{
    static const char *const triples[] = {"arm64-apple-macos13", "x86_64-apple-macos13"};
    static struct lines ours, its;
    for (unsigned i = 0; i < 2; i++) {
        struct opened o;
        struct object_data d = {.lines = &ours};
        darwin_build(PROGRAM, triples[i], "-O2", "", "program");
        open_file("program.o", &o);
        d.macho = &o.macho;
        CHECK(sonde__macho_section_by_name(&o.macho, "__DATA", "__data", &d.data));
        CHECK(sonde__macho_each_fixup(&o.macho, take_reloc, &d) == NULL);
        each_line(darwin_output("llvm-objdump-19 --macho -r program.o"), reloc_line, &its);
        must_be_equal("relocations of pointers", &ours, &its);
        free(o.bytes);
    }
}

/* --- containers --- */

static bool take_member(void *ctx, const struct sonde__macho_member *member)
{
    struct sonde__macho macho;
    struct sonde_error error;
    char text[600];
    CHECK_OK(sonde__macho_open(member->data, member->size, &macho, &error));
    snprintf(text, sizeof text, "%s %.*s", sonde__macho_arch_name(macho.cpu, macho.subtype),
             (int)member->name_size, member->name);
    add(ctx, text);
    return true;
}

static void check_members(const char *name, const char *const expected[])
{
    static struct lines ours, its;
    struct sonde_error error;
    char path[600];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    char *bytes = test_read_file(path, &size);
    CHECK(sonde__macho_begins(bytes, size));
    CHECK_OK(sonde__macho_each(bytes, size, take_member, &ours, &error));
    for (unsigned i = 0; expected[i] != NULL; i++) {
        add(&its, expected[i]);
    }
    must_be_equal(name, &ours, &its);
    /* cut anywhere: reported, and the reader stays inside the file (the sanitizer build checks) */
    for (size_t cut = 0; cut < size; cut += size / 23 + 1) {
        char *part = malloc(cut + 1);
        CHECK(part != NULL);
        memcpy(part, bytes, cut);
        static struct lines some;
        if (cut >= 8) {
            CHECK(sonde__macho_each(part, cut, take_member, &some, &error) != SONDE_OK);
        }
        for (size_t i = 0; i < some.count; i++) {
            free(some.all[i]);
        }
        some.count = 0;
        free(part);
    }
    free(bytes);
}

TEST_TIMEOUT(reader_containers, 200)
{
    static const char long_name[] = "a_name_that_is_longer_than_sixteen.o";
    char arm[100], intel[100];
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O2", "", "arm");
    darwin_build(PROGRAM, "x86_64-apple-macos13", "-O2", "", "x86");
    darwin_shell("cp arm.o %s && llvm-ar-19 --format=darwin crs arm.a arm.o %s && "
                 "llvm-ar-19 --format=gnu crs gnu.a arm.o %s && cp x86.o %s && "
                 "llvm-ar-19 --format=darwin crs x86.a x86.o %s && "
                 "llvm-lipo-19 -create arm x86 -output fat && "
                 "llvm-lipo-19 -create -fat64 arm x86 -output fat64 && "
                 "llvm-lipo-19 -create arm.a x86.a -output fat.a",
                 long_name, long_name, long_name, long_name, long_name);
    snprintf(arm, sizeof arm, "arm64 %s", long_name);
    snprintf(intel, sizeof intel, "x86_64 %s", long_name);
    check_members("fat", (const char *const[]){"arm64 ", "x86_64 ", NULL});
    check_members("fat64", (const char *const[]){"arm64 ", "x86_64 ", NULL});
    check_members("arm.a", (const char *const[]){"arm64 arm.o", arm, NULL});
    check_members("gnu.a", (const char *const[]){"arm64 arm.o", arm, NULL});
    check_members("fat.a", (const char *const[]){"arm64 arm.o", arm, "x86_64 x86.o", intel, NULL});
}

TEST(reader_refuses_other_files)
{
    static const uint8_t java[] = {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 1, 2, 3};
    static const uint8_t big[28] = {0xfe, 0xed, 0xfa, 0xce};
    struct sonde__macho macho;
    struct sonde_error error;
    CHECK(!sonde__macho_begins(java, sizeof java));
    CHECK_EQ(sonde__macho_each("!<thin>\nx", 9, take_member, NULL, &error), SONDE_UNSUPPORTED);
    CHECK_EQ(sonde__macho_open(big, sizeof big, &macho, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "big-endian");
    CHECK_EQ(sonde__macho_open("\x7f"
                               "ELF\2\1",
                               6, &macho, &error),
             SONDE_UNSUPPORTED);
    CHECK_EQ(sonde__macho_open("\xcf\xfa\xed\xfe", 4, &macho, &error), SONDE_CORRUPT);
}

/* Change a load command as an App Store's encryption does. */
TEST_TIMEOUT(reader_says_encrypted, 200)
{
    struct opened o;
    struct sonde__macho_section text;
    uint64_t left;
    struct sonde_error error;
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O2", "", "program");
    open_file("program", &o);
    CHECK(sonde__macho_section_by_name(&o.macho, "__TEXT", "__text", &text));
    CHECK(text.data != NULL);
    uint32_t offset = (uint32_t)((const char *)text.data - o.bytes);
    /* an LC_DATA_IN_CODE or any other command of 16 bytes or more becomes LC_ENCRYPTION_INFO_64 */
    uint8_t *command = (uint8_t *)o.bytes + 32;
    for (uint32_t i = 0; i < o.macho.command_count; i++) {
        uint32_t head[2];
        memcpy(head, command, 8);
        if (head[0] == 0x32 && head[1] >= 24) { /* LC_BUILD_VERSION */
            uint32_t body[] = {SONDE__LC_ENCRYPTION_INFO_64, head[1], offset, 16, 1, 0};
            memcpy(command, body, sizeof body);
        }
        command += head[1];
    }
    CHECK_OK(sonde__macho_open(o.bytes, o.size, &o.macho, &error));
    CHECK_EQ(o.macho.encrypted.size, 16);
    CHECK(sonde__macho_section_by_name(&o.macho, "__TEXT", "__text", &text));
    CHECK(text.data == NULL);
    CHECK(sonde__macho_from_vaddr(&o.macho, text.vaddr, &left) == NULL);
    CHECK(sonde__macho_from_vaddr(&o.macho, text.vaddr + 16, &left) != NULL);
    free(o.bytes);
}
