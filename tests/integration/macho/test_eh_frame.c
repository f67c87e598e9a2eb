// SPDX-License-Identifier: Apache-2.0
/* Call frame information of shipped Mach-O files against llvm-dwarfdump: the same functions, and in
 * each of their rows the same CFA and saved registers. Entries of __unwind_info that point to such
 * a function have its rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "image_macho.h"
#include "test.h"
#include "unwind_encoding.h"

enum { EACH = 10 };

struct file {
    char *bytes;
    struct sonde__macho macho;
    struct sonde__image image;
    struct sonde__cell cells[SONDE__PROGRAM_STATES * (SONDE__REG_COUNT + 1)];
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__program program;
    struct sonde__cfi_fde fde;
    unsigned functions, rows, encoded;
};

static void open_file(const char *path, struct file *f)
{
    struct sonde_error error;
    struct sonde__macho_section section;
    uint64_t left = 0;
    size_t size = 0;
    memset(f, 0, sizeof *f);
    f->bytes = test_read_file(path, &size);
    CHECK_OK(sonde__macho_open(f->bytes, size, &f->macho, &error));
    CHECK(sonde__macho_section_by_name(&f->macho, "__TEXT", "__eh_frame", &section));
    f->image.cfi.eh_frame = section.data;
    f->image.cfi.eh_frame_size = section.size;
    f->image.cfi.eh_frame_vaddr = section.vaddr;
    CHECK(sonde__macho_section_by_name(&f->macho, "__TEXT", "__unwind_info", &section));
    CHECK(sonde__unwind_info_open(section.data, section.size, f->macho.base,
                                  &f->image.encodings.info));
    f->image.encodings.text = sonde__macho_from_vaddr(&f->macho, f->macho.base, &left);
    f->image.encodings.text_size = (size_t)left;
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        f->cell_of[i] = (uint8_t)i;
    }
    sonde__program_init(&f->program, &f->image.cfi, f->cell_of, f->cells, SONDE__REG_COUNT + 1);
}

/* The DWARF number of a register of llvm's ("W29", "RBP"); SONDE__REG_COUNT: another (of vectors).
 * *ret_end: behind the name. */
static unsigned number_of(const char *name, const char **ret_end)
{
    static const char *const x86[] = {"RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", "R8",
                                      "R9",  "R10", "R11", "R12", "R13", "R14", "R15", "RIP"};
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    *ret_end = name + length;
    if (strncmp(name, "WSP", length) == 0) {
        return SONDE__AARCH64_SP;
    }
    if (name[0] == 'W') {
        return (unsigned)strtoul(name + 1, NULL, 10);
    }
    for (unsigned i = 0; i < sizeof x86 / sizeof x86[0]; i++) {
        if (strlen(x86[i]) == length && strncmp(x86[i], name, length) == 0) {
            return i;
        }
    }
    return SONDE__REG_COUNT;
}

/* "CFA=W29+16: W19=[CFA-24], W20=[CFA-32]" */
static void compare_row(struct file *f, uint64_t vaddr, const char *text)
{
    unsigned saved = 0, found = 0;
    const char *at, *end;
    CHECK(sonde__program_seek(&f->program, &f->fde, vaddr));
    CHECK(strncmp(text, "CFA=", 4) == 0 && !f->program.cfas[0].is_expression);
    CHECK_EQ(f->program.cfas[0].reg, number_of(text + 4, &at));
    CHECK_EQ(f->program.cfas[0].offset, *at == ':' || *at == '\0' ? 0 : strtol(at, NULL, 10));
    for (at = strchr(at, ' '); at != NULL; at = strchr(at + 1, ' ')) {
        unsigned reg = number_of(at + 1, &end);
        if (strncmp(end, "=[CFA", 5) != 0 || reg == SONDE__REG_COUNT) {
            continue;
        }
        saved++;
        CHECK_EQ(f->cells[reg].kind, SONDE__CELL_OFFSET);
        CHECK_EQ(f->cells[reg].value, end[5] == ']' ? 0 : strtol(end + 5, NULL, 10));
    }
    for (unsigned reg = 0; reg <= SONDE__AARCH64_SP; reg++) {
        bool is_vector = f->macho.arch == SONDE_ARCH_X86_64 && reg > SONDE__X86_64_RA;
        found += !is_vector && f->cells[reg].kind == SONDE__CELL_OFFSET;
    }
    CHECK_EQ(found, saved);
    f->rows++;
}

/* The next record of a function, which llvm says is the one of [start, end). */
static void next_function(struct file *f, uint64_t *offset, uint64_t start, uint64_t end)
{
    enum sonde__cfi_record record;
    struct sonde__unwind_info_entry entry;
    uint64_t at;
    do {
        at = *offset;
        record = sonde__cfi_record_read(&f->image.cfi, f->macho.arch, SONDE__CFI_EH_FRAME, at,
                                        &f->fde, offset);
        CHECK(record != SONDE__CFI_RECORD_END);
    } while (record != SONDE__CFI_RECORD_FDE);
    CHECK_EQ(f->fde.start, start);
    CHECK_EQ(f->fde.end, end);
    f->functions++;
    unsigned dwarf = f->macho.arch == SONDE_ARCH_X86_64 ? SONDE__ENCODING_X86_64_DWARF
                                                        : SONDE__ENCODING_ARM64_DWARF;
    if (sonde__unwind_info_find(&f->image.encodings.info, start, &entry) &&
        (entry.encoding & SONDE__ENCODING_MODE_MASK) == dwarf &&
        (entry.encoding & SONDE__ENCODING_DWARF_MASK) == at) {
        /* each search reads the section from its start */
        for (unsigned i = 0; i < 2 && f->encoded % EACH == 0; i++) {
            uint64_t pc = i == 0 ? start : end - 1;
            struct sonde__rule wanted =
                sonde__compact_find(&f->image.cfi, f->macho.arch, SONDE__CFI_EH_FRAME, pc);
            struct sonde__rule got = sonde__encoding_find(&f->image, f->macho.arch, pc);
            CHECK(memcmp(&wanted, &got, sizeof got) == 0);
        }
        f->encoded++;
    }
}

static void check(const char *file, const char *arch, unsigned least)
{
    char path[4096];
    struct file *f = malloc(sizeof *f);
    uint64_t offset = 0;
    unsigned long long start, end;
    int used;
    darwin_npm(file, arch, path, sizeof path);
    open_file(path, f);
    char *text = darwin_output("llvm-dwarfdump-19 --eh-frame '%s' | grep -E ' FDE |: CFA='", path);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *range = strstr(line, " pc=");
        if (range != NULL && sscanf(range, " pc=%llx...%llx", &start, &end) == 2) {
            next_function(f, &offset, start, end);
        } else if (sscanf(line, " 0x%llx: %n", &start, &used) == 1) {
            compare_row(f, start, line + used);
        }
    }
    dprintf(STDOUT_FILENO, "    %s: %u functions, %u rows, %u by an encoding\n",
            strrchr(file, '/') + 1, f->functions, f->rows, f->encoded);
    CHECK(f->functions >= least && f->rows >= f->functions);
    free(text);
    free(f->bytes);
    free(f);
}

TEST_TIMEOUT(functions_are_those_of_llvm_in_arm64, 100)
{
    check("@os-theme+darwin-arm64@0.0.9/os-theme-napi.darwin-arm64.node", NULL, 500);
    check("@mariozechner+clipboard-darwin-arm64@0.3.9/clipboard.darwin-arm64.node", NULL, 1500);
    check("bun-webgpu-darwin-arm64@0.1.5/libwebgpu_wrapper.dylib", NULL, 700);
}

TEST_TIMEOUT(functions_are_those_of_llvm_in_x86_64, 100)
{
    check("get-windows@9.3.0/main", "x86_64", 4);
    check("node-notifier@10.0.1/vendor/mac.noindex/terminal-notifier.app/Contents/MacOS/"
          "terminal-notifier",
          NULL, 80);
    check("objc-js@1.4.0/prebuilds/darwin-x64/node.napi.node", NULL, 6);
}

TEST_TIMEOUT(functions_are_those_of_llvm_in_large_files, 250)
{
    if (!test_long()) {
        SKIP("only with --long");
    }
    check("@roamhq+wrtc-darwin-arm64@0.10.0/wrtc.node", NULL, 10000);
    check("@expo+swiftlint@0.57.1/bin/darwin-arm64/swiftlint", NULL, 2000);
}
