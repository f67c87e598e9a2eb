// SPDX-License-Identifier: Apache-2.0
/* The table of functions of a Go program of 1.26 or later, which does not say where code begins: in
 * a file at its place, in a file that is relocated, and in memory. The ELF is made here, of a kept
 * table (test_go.c). */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_elf.h"
#include "image_go.h"
#include "test.h"

enum { BASE = 0x400000, RELOCATIONS = 0x200, DYNAMIC = 0x300, TABLE = 0x400, RECORD = 0x2040 };
enum { TEXT = BASE + 0x1000, SIZE = 0x3000, RECORD_WORDS = 23 };

static _Alignas(16) uint8_t bytes[SIZE];

static void put(uint64_t at, const void *data, size_t size)
{
    CHECK(at + size <= sizeof bytes);
    memcpy(bytes + at, data, size);
}

static void put_segment(unsigned index, uint32_t type, uint32_t flags, uint64_t at, uint64_t size)
{
    Elf64_Phdr segment = {.p_type = type,
                          .p_flags = flags,
                          .p_offset = at,
                          .p_vaddr = BASE + at,
                          .p_filesz = size,
                          .p_memsz = size,
                          .p_align = 0x1000};
    put(sizeof(Elf64_Ehdr) + index * sizeof segment, &segment, sizeof segment);
}

/* The headers, and the table without the start of code. */
static void make(void)
{
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof header,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 4};
    char path[512];
    size_t size;
    memset(bytes, 0, sizeof bytes);
    put(0, &header, sizeof header);
    put_segment(0, PT_LOAD, PF_R, 0, 0x1000);
    put_segment(1, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000);
    put_segment(2, PT_LOAD, PF_R | PF_W, 0x2000, 0x1000);
    put_segment(3, PT_DYNAMIC, PF_R, DYNAMIC, 4 * sizeof(Elf64_Dyn));
    snprintf(path, sizeof path, "%s/fuzz/regress/go/go-1.20", test_source_dir());
    char *table = test_read_file(path, &size);
    memset(table + 24, 0, 8);
    put(TABLE, table, size);
    free(table);
}

/* What the runtime's record says, by its words; as the program sees it, with `bias`. */
static uint64_t record_word(unsigned index, uint64_t bias)
{
    return index == 0    ? BASE + TABLE + bias
           : index == 20 ? TEXT + bias        /* the first pc */
           : index == 21 ? TEXT + 0x50 + bias /* the end of the last */
           : index == 22 ? TEXT + bias
                         : 0;
}

static void put_record(uint64_t bias)
{
    for (unsigned i = 0; i < RECORD_WORDS; i++) {
        uint64_t word = record_word(i, bias);
        put(RECORD + i * sizeof word, &word, sizeof word);
    }
}

static void put_relocations(void)
{
    Elf64_Rela relocations[4];
    size_t count = 0;
    for (unsigned i = 0; i < RECORD_WORDS; i++) {
        if (record_word(i, 0) != 0) {
            relocations[count++] =
                (Elf64_Rela){BASE + RECORD + i * sizeof(uint64_t),
                             ELF64_R_INFO(0, R_X86_64_RELATIVE), (Elf64_Sxword)record_word(i, 0)};
        }
    }
    CHECK_EQ(count, 4);
    Elf64_Dyn dynamic[] = {{DT_RELA, {BASE + RELOCATIONS}},
                           {DT_RELASZ, {sizeof relocations}},
                           {DT_RELAENT, {sizeof relocations[0]}},
                           {DT_NULL, {0}}};
    put(RELOCATIONS, relocations, sizeof relocations);
    put(DYNAMIC, dynamic, sizeof dynamic);
}

static void check_found(const struct sonde__elf *elf)
{
    struct sonde__go go;
    struct sonde__go_function f;
    CHECK(sonde__elf_go(elf, &go));
    CHECK_EQ(go.text, TEXT);
    CHECK(sonde__image_go_find(&go, TEXT + 0x3f, &f));
    CHECK_STR(f.name, "main.main");
    CHECK_EQ(f.start, TEXT);
    CHECK(!sonde__image_go_find(&go, TEXT - 1, &f));
}

TEST(a_file_at_its_place)
{
    struct sonde__elf elf;
    make();
    put_record(0);
    CHECK_OK(sonde__elf_open(bytes, sizeof bytes, &elf, NULL));
    check_found(&elf);
}

TEST(a_file_that_is_relocated)
{
    struct sonde__elf elf;
    make();
    put_relocations();
    CHECK_OK(sonde__elf_open(bytes, sizeof bytes, &elf, NULL));
    check_found(&elf);
}

TEST(an_image_in_memory)
{
    enum { BIAS = 0x10000000 };
    struct sonde__elf elf;
    make();
    put_record(BIAS);
    CHECK_OK(sonde__elf_open_image(bytes, sizeof bytes, BIAS, &elf, NULL));
    check_found(&elf);
}

/* Without the record, or with one that cannot be: no name is better than a wrong one. */
TEST(where_code_begins_is_not_guessed)
{
    static const struct {
        unsigned word;
        uint64_t value;
    } wrong[] = {{0, BASE + TABLE + 8}, {20, TEXT - 1}, {21, TEXT}, {22, 0}, {22, TEXT + 1}};
    struct sonde__elf elf;
    struct sonde__go go;
    make();
    CHECK_OK(sonde__elf_open(bytes, sizeof bytes, &elf, NULL));
    CHECK(!sonde__elf_go(&elf, &go));
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_record(0);
        put(RECORD + wrong[i].word * sizeof(uint64_t), &wrong[i].value, sizeof wrong[i].value);
        CHECK(!sonde__elf_go(&elf, &go));
    }
}
