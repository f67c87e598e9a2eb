// SPDX-License-Identifier: Apache-2.0
/* Encodings of __unwind_info, which the linker keeps, against the compiler's call frame information
 * for the same functions, which only the object has. It has no rows for the ends of functions, so
 * its last row holds in the body, as an encoding does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "image_macho.h"
#include "test.h"
#include "unwind_encoding.h"

struct file {
    char *bytes;
    struct sonde__macho macho;
    struct sonde__image image;
    uint64_t code; /* vaddr of __text */
};

static void open_file(const char *name, struct file *file)
{
    char path[600];
    struct sonde_error error;
    struct sonde__macho_section section;
    uint64_t left = 0;
    size_t size = 0;
    memset(file, 0, sizeof *file);
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    file->bytes = test_read_file(path, &size);
    CHECK_OK(sonde__macho_open(file->bytes, size, &file->macho, &error));
    CHECK(sonde__macho_section_by_name(&file->macho, "__TEXT", "__text", &section));
    file->code = section.vaddr;
    if (sonde__macho_section_by_name(&file->macho, "__TEXT", "__eh_frame", &section)) {
        file->image.cfi.eh_frame = section.data;
        file->image.cfi.eh_frame_size = section.size;
        file->image.cfi.eh_frame_vaddr = section.vaddr;
    }
    if (sonde__macho_section_by_name(&file->macho, "__TEXT", "__unwind_info", &section)) {
        CHECK(sonde__unwind_info_open(section.data, section.size, file->macho.base,
                                      &file->image.encodings.info));
        file->image.encodings.text = sonde__macho_from_vaddr(&file->macho, file->macho.base, &left);
        file->image.encodings.text_size = (size_t)left;
    }
}

/* A row's saved registers are those of the encoding, at the same places. */
static void compare_saved(const struct sonde__cell *cells, const struct sonde__encoded *encoded)
{
    unsigned count = 0;
    for (unsigned reg = 0; reg < SONDE__X86_64_RA; reg++) {
        count += reg != SONDE__X86_64_RBP && cells[reg].kind == SONDE__CELL_OFFSET;
    }
    CHECK_EQ(encoded->count, count);
    for (unsigned i = 0; i < encoded->count; i++) {
        const struct sonde__cell *cell = &cells[encoded->saved[i].reg];
        CHECK_EQ(cell->kind, SONDE__CELL_OFFSET);
        CHECK_EQ(cell->value, encoded->saved[i].offset);
    }
}

static void compare_function(const struct file *object, const struct file *linked,
                             const struct sonde__cfi_fde *fde, unsigned *modes)
{
    static struct sonde__cell cells[SONDE__PROGRAM_STATES * (SONDE__REG_COUNT + 1)];
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__program program;
    struct sonde__unwind_info_entry entry;
    struct sonde__encoded encoded;
    uint64_t vaddr = fde->end - 1 - object->code + linked->code;
    CHECK(sonde__unwind_info_find(&linked->image.encodings.info, vaddr, &entry));
    struct sonde__rule wanted = sonde__compact_find(&object->image.cfi, SONDE_ARCH_X86_64,
                                                    SONDE__CFI_EH_FRAME, fde->end - 1);
    struct sonde__rule found = sonde__encoding_find(&linked->image, SONDE_ARCH_X86_64, vaddr);
    CHECK(memcmp(&wanted, &found, sizeof wanted) == 0);
    *modes |= 1u << ((entry.encoding & SONDE__ENCODING_MODE_MASK) >> 24);
    sonde__encoding_decode(&linked->image.encodings, SONDE_ARCH_X86_64, &entry, &encoded);
    if (encoded.rule.cfa == SONDE__RULE_OTHER) {
        return;
    }
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        cell_of[i] = (uint8_t)i;
    }
    sonde__program_init(&program, &object->image.cfi, cell_of, cells, SONDE__REG_COUNT + 1);
    CHECK(sonde__program_seek(&program, fde, fde->end - 1));
    compare_saved(cells, &encoded);
}

/* modes: bit n: a function has an encoding of mode n */
static void check(const char *cflags, unsigned modes)
{
    char all[300];
    struct file object, linked;
    struct sonde__cfi_fde fde;
    uint64_t offset = 0, next = 0;
    unsigned count = 0, met = 0;
    snprintf(all, sizeof all, "-funwind-tables -femit-dwarf-unwind=always %s", cflags);
    darwin_build("tests/integration/macho/frames.c", "x86_64-apple-macos13", all, "-dylib", "made");
    open_file("made.o", &object);
    open_file("made", &linked);
    fde.cie.program = NULL;
    for (;; offset = next) {
        enum sonde__cfi_record record = sonde__cfi_record_read(
            &object.image.cfi, SONDE_ARCH_X86_64, SONDE__CFI_EH_FRAME, offset, &fde, &next);
        if (record == SONDE__CFI_RECORD_END) {
            break;
        }
        if (record == SONDE__CFI_RECORD_FDE) {
            compare_function(&object, &linked, &fde, &met);
            count++;
        }
    }
    CHECK(count >= 6);
    CHECK_EQ(met, modes);
    dprintf(STDOUT_FILENO, "    %s: %u functions\n", cflags, count);
    free(object.bytes);
    free(linked.bytes);
}

TEST(frame_pointers_are_as_the_compiler_says)
{
    check("-O0", 1u << 1);
    check("-O2", 1u << 1);
}

TEST(frames_without_are_as_the_compiler_says)
{
    check("-O2 -fomit-frame-pointer", 1u << 1 | 1u << 2 | 1u << 3);
    check("-Os -fomit-frame-pointer", 1u << 1 | 1u << 2 | 1u << 3);
}
