// SPDX-License-Identifier: Apache-2.0
/* sonde blocks: ELF objects show the places and variables of the library that is linked from them,
 * for all forms of debug information, and those of llvm-symbolizer. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "json.h"
#include "test.h"

#define SOURCE "tests/integration/blockfile/program.c"

/* Except for addresses: an object's are assigned by us. */
static char *listing(const char *file)
{
    return darwin_output("'%s/cli/sonde' blocks %s | tail -n +2 | sed 's/0x[0-9a-f]*//'",
                         test_build_dir(), file);
}

static void must_be_alike(const char *what, const char *file, const char *other)
{
    char *one = listing(file), *two = listing(other);
    CHECK_CONTAINS(one, "\nprogram.c:");
    CHECK_CONTAINS(one, "  __block int sum  ");
    if (strcmp(one, two) != 0) {
        FAIL("%s: %s\n%s\n%s\n%s", what, file, one, other, two);
    }
    free(one);
    free(two);
}

/* --- against llvm-symbolizer --- */

static const struct json *block_of(const struct json *image, const char *symbol)
{
    JSON_EACH(desc, json_need(image, "descriptors"))
    {
        JSON_EACH(block, json_need(desc, "blocks"))
        {
            if (strcmp(json_text(block, "symbol"), symbol) == 0) {
                return block;
            }
        }
    }
    FAIL("no block has the function %s", symbol);
}

/* "0000000000000130 t __with_numbers_block_invoke" */
static void compare_lines(const char *what, const char *file)
{
    char *symbols = darwin_output("llvm-nm-19 %s | grep _block_invoke", file), *rest = symbols;
    char *output = darwin_output("'%s/cli/sonde' blocks --json %s", test_build_dir(), file);
    struct json *all = json_parse(output);
    unsigned count = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char symbol[100];
        unsigned long address;
        if (sscanf(line, "%lx %*s %99s", &address, symbol) != 2) {
            continue;
        }
        const struct json *block = block_of(all->first, symbol);
        char ours[600];
        snprintf(ours, sizeof ours, "%s:%d", json_text(block, "file"),
                 (int)json_int(block, "line"));
        char *its = darwin_output("llvm-symbolizer-19 --verbose --obj=%s 0x%lx | "
                                  "sed -n 's/^ *Function start filename: //p; "
                                  "s/^ *Function start line: /:/p' | tr -d '\\n'",
                                  file, address);
        if (strcmp(ours, its) != 0) {
            FAIL("%s: %s: ours %s, its %s", what, symbol, ours, its);
        }
        count++;
        free(its);
    }
    CHECK(count >= 8);
    json_free(all);
    free(output);
    free(symbols);
}

/* --- relocations that have what is to be added in their place (aaelf64 §5.7.1) --- */

static unsigned make_rel(char *bytes, Elf64_Shdr *section, const Elf64_Shdr *of)
{
    Elf64_Rela *from = (void *)(bytes + section->sh_offset);
    Elf64_Rel *to = (void *)from;
    unsigned count = (unsigned)(section->sh_size / sizeof *from);
    for (unsigned i = 0; i < count; i++) {
        Elf64_Rela rela = from[i];
        uint32_t type = (uint32_t)ELF64_R_TYPE(rela.r_info);
        bool is_word = type != R_X86_64_64 && type != R_AARCH64_ABS64;
        memcpy(bytes + of->sh_offset + rela.r_offset, &rela.r_addend, is_word ? 4 : 8);
        to[i] = (Elf64_Rel){rela.r_offset, rela.r_info};
    }
    section->sh_type = SHT_REL;
    section->sh_entsize = sizeof *to;
    section->sh_size = count * sizeof *to;
    return count;
}

static void convert(const char *from, const char *name)
{
    char path[600];
    size_t size;
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/%s", test_folder(), from);
    char *bytes = test_read_file(path, &size);
    Elf64_Ehdr *header = (void *)bytes;
    Elf64_Shdr *sections = (void *)(bytes + header->e_shoff);
    const char *names = bytes + sections[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *of = &sections[sections[i].sh_info];
        if (sections[i].sh_type == SHT_RELA && strncmp(names + of->sh_name, ".debug_", 7) == 0) {
            count += make_rel(bytes, &sections[i], of);
        }
    }
    CHECK(count > 100);
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    test_write_file(path, bytes, size);
    free(bytes);
}

/* --- */

static void check(const char *machine, const char *flags)
{
    char what[100];
    snprintf(what, sizeof what, "%s %s", machine, flags);
    darwin_shell("rm -f whole.a && clang-19 -target %s-linux-gnu -fPIC -fblocks -ffreestanding -O1 "
                 "%s -c '%s/" SOURCE "' -o whole.o && ld.lld-19 -shared whole.o -o linked && "
                 "llvm-ar-19 crs whole.a whole.o",
                 machine, flags, test_source_dir());
    must_be_alike(what, "whole.o", "linked");
    must_be_alike(what, "whole.a", "linked");
    if (strstr(flags, "sections") == NULL) { /* an offset tells no section */
        compare_lines(what, "whole.o");
    }
    if (strstr(flags, "-gz") == NULL) {
        convert("whole.o", "rel.o");
        must_be_alike(what, "rel.o", "linked");
    }
}

TEST_TIMEOUT(names_places_and_variables_in_object_files, 280)
{
    static const struct {
        const char *flags;
        bool is_long;
    } forms[] = {
        {"-gdwarf-5 -ffunction-sections", false},
        {"-gdwarf-4", false},
        {"-gdwarf-5", true},
        {"-gdwarf-5 -gz=zlib", true},
        {"-gdwarf-4 -gz=zstd", true},
    };
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        for (unsigned k = 0; k < 2; k++) {
            if (test_long() || (!forms[i].is_long && i == k)) {
                check(k == 0 ? "x86_64" : "aarch64", forms[i].flags);
            }
        }
    }
    if (!test_long()) {
        check("x86_64", "-gdwarf-5 -gz=zlib");
    }
}
