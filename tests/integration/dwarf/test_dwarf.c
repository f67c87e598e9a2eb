// SPDX-License-Identifier: Apache-2.0
/* The DWARF reader against llvm-symbolizer: at each address the same number of frames, with the
 * same function, file and line at every level, inlined calls included. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image_elf.h"
#include "symbolizer.h"
#include "symindex_dwarf.h"
#include "test.h"

#define FRAMES_MAX 64

struct program {
    char *bytes;
    struct sonde__elf elf;
    struct sonde__symindex_dwarf *dwarf;
    uint64_t text_vaddr, text_size;
};

static enum sonde_status open_dwarf(const struct sonde__elf *elf,
                                    struct sonde__symindex_dwarf **ret_dwarf)
{
    struct sonde__dwarf_sections sections;
    uint64_t start, end;
    CHECK(sonde__dwarf_sections_of_elf(elf, &sections));
    CHECK(sonde__elf_text_range(elf, &start, &end));
    return sonde__symindex_dwarf_open(&(struct sonde__symindex_source){.sections = &sections},
                                      start, end, ret_dwarf);
}

static void open_program(const char *path, struct program *p)
{
    size_t size;
    struct sonde__elf_section text;
    struct sonde_error error;
    p->bytes = test_read_file(path, &size);
    CHECK_OK(sonde__elf_open(p->bytes, size, &p->elf, &error));
    CHECK_OK(open_dwarf(&p->elf, &p->dwarf));
    CHECK(sonde__elf_section_by_name(&p->elf, ".text", &text));
    p->text_vaddr = text.vaddr;
    p->text_size = text.size;
}

static void close_program(struct program *p)
{
    sonde__symindex_dwarf_close(p->dwarf);
    free(p->bytes);
}

/* Where the call's line is not known (version 2 cannot say it), llvm names the file of the
 * function. */
static bool same_frames(const struct sonde__call *ours, size_t n,
                        const struct symbolizer_frame *its, size_t its_n)
{
    if (n != its_n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!symbolizer_same_name(ours[i].name, its[i].name) || ours[i].line != its[i].line) {
            return false;
        }
        if (ours[i].line != 0 &&
            strcmp(symbolizer_base(ours[i].file), symbolizer_base(its[i].file)) != 0) {
            return false;
        }
    }
    return true;
}

struct agreement {
    unsigned asked, known, same;
};

static struct agreement compare(const char *path, unsigned count)
{
    static struct sonde__call ours[FRAMES_MAX];
    static struct symbolizer_frame their[FRAMES_MAX];
    struct symbolizer symbolizer;
    struct program p;
    struct agreement a = {0};
    uint64_t seed = 12345;
    uint64_t *addresses = malloc(count * sizeof *addresses);
    unsigned shown = 0;
    open_program(path, &p);
    for (unsigned i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        addresses[i] = p.text_vaddr + (seed >> 20) % p.text_size;
    }
    symbolizer_ask(&symbolizer, path, addresses, count);
    for (unsigned i = 0; i < count; i++) {
        size_t their_n = symbolizer_next(&symbolizer, their, FRAMES_MAX);
        size_t n = sonde__symindex_dwarf_find(p.dwarf, addresses[i], ours, FRAMES_MAX);
        a.asked++;
        if (n == 0 && their_n == 1 && their[0].line == 0) {
            continue; /* start-up code without DWARF: a symbol at most */
        }
        a.known++;
        if (same_frames(ours, n, their, their_n)) {
            a.same++;
        } else if (shown++ < 3) {
            printf("    0x%llx: ours %zu, %s %s:%u; theirs %zu, %s %s:%u\n",
                   (unsigned long long)addresses[i], n, n > 0 ? ours[0].name : "",
                   n > 0 ? ours[0].file : "", n > 0 ? ours[0].line : 0, their_n, their[0].name,
                   their[0].file, their[0].line);
        }
    }
    symbolizer_done(&symbolizer);
    close_program(&p);
    free(addresses);
    return a;
}

static void build(const char *compiler, const char *options, char *path, size_t size)
{
    char command[1024];
    snprintf(path, size, "%s/program", test_folder());
    snprintf(
        command, sizeof command,
        "%s %s -o %s -D_GNU_SOURCE -I%s/include -I%s/src/common/base -I%s/src/names/symbol "
        "-I%s/src/common/mem "
        "-I%s/src/images/image "
        "%s/src/names/symbol/dwarf_*.c %s/src/common/mem/*.c %s/src/common/base/*.c -shared -fPIC",
        compiler, options, path, test_source_dir(), test_source_dir(), test_source_dir(),
        test_source_dir(), test_source_dir(), test_source_dir(), test_source_dir(),
        test_source_dir());
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 120);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
}

static void check(const char *compiler, const char *options)
{
    char path[512];
    build(compiler, options, path, sizeof path);
    struct agreement a = compare(path, 3000);
    CHECK(a.known > 2000);
    if (a.same * 1000 < a.known * 995) {
        FAIL("%s %s: %u of %u addresses agree with llvm-symbolizer", compiler, options, a.same,
             a.known);
    }
}

TEST_TIMEOUT(dwarf_gcc_version_5, 200)
{
    check("gcc", "-O2 -gdwarf-5");
}

TEST_TIMEOUT(dwarf_gcc_version_4, 200)
{
    check("gcc", "-O2 -gdwarf-4");
}

TEST_TIMEOUT(dwarf_gcc_version_3, 200)
{
    check("gcc", "-O2 -gdwarf-3 -gstrict-dwarf");
}

TEST_TIMEOUT(dwarf_gcc_version_2, 200)
{
    check("gcc", "-O2 -gdwarf-2 -gstrict-dwarf");
}

TEST_TIMEOUT(dwarf_gcc_unoptimised, 200)
{
    check("gcc", "-O0 -g");
}

TEST_TIMEOUT(dwarf_gcc_sections_collected, 200)
{
    check("gcc", "-O2 -g -ffunction-sections -Wl,--gc-sections");
}

TEST_TIMEOUT(dwarf_clang_version_4, 200)
{
    check("clang", "-O2 -gdwarf-4");
}

TEST_TIMEOUT(dwarf_clang_version_5, 200)
{
    check("clang", "-O2 -gdwarf-5");
}

TEST_TIMEOUT(dwarf_clang_64_bit_format, 200)
{
    check("clang", "-O2 -gdwarf-5 -gdwarf64");
}

/* Inlined at a known line: what a person would say, not only what another tool says. */
TEST(dwarf_names_inlined_calls)
{
    static const char source[] = "static inline int inner(volatile int *p) {\n"
                                 "    return *p;\n"
                                 "}\n"
                                 "static inline int middle(volatile int *p) {\n"
                                 "    return inner(p) + 1;\n"
                                 "}\n"
                                 "int outer(volatile int *p);\n"
                                 "int outer(volatile int *p) {\n"
                                 "    return middle(p) + 2;\n"
                                 "}\n";
    struct sonde__call frames[8];
    struct sonde__elf_section symtab;
    struct sonde__elf_symbol symbol = {0};
    struct program p;
    char file[256], path[256];
    snprintf(file, sizeof file, "%s/inlined.c", test_folder());
    snprintf(path, sizeof path, "%s/inlined.so", test_folder());
    test_write_file(file, source, sizeof source - 1);
    const char *argv[] = {"gcc", "-O2", "-g", "-shared", "-fPIC", "-o", path, file, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    open_program(path, &p);
    CHECK(sonde__elf_section_by_name(&p.elf, ".symtab", &symtab));
    for (uint32_t i = 0; i < sonde__elf_symbol_count(&p.elf, &symtab); i++) {
        CHECK(sonde__elf_symbol(&p.elf, &symtab, i, &symbol));
        if (strcmp(symbol.name, "outer") == 0) {
            break;
        }
    }
    CHECK_EQ(sonde__symindex_dwarf_find(p.dwarf, symbol.value, frames, 8), 3);
    CHECK_STR(frames[0].name, "inner");
    CHECK_EQ(frames[0].line, 2);
    CHECK_STR(frames[1].name, "middle");
    CHECK_EQ(frames[1].line, 5);
    CHECK_STR(frames[2].name, "outer");
    CHECK_EQ(frames[2].line, 9);
    CHECK_STR(frames[2].file, file);
    CHECK_EQ(sonde__symindex_dwarf_find(p.dwarf, symbol.value - 1, frames, 8), 0);
    close_program(&p);
}

/* Every byte of the sections that matter flipped in turn: an answer or none, never a crash. */
TEST_TIMEOUT(dwarf_survives_flipped_bytes, 250)
{
    static const char *const names[] = {".debug_info", ".debug_abbrev", ".debug_line",
                                        ".debug_rnglists"};
    char path[512];
    struct program p;
    snprintf(path, sizeof path, "%s/small", test_folder());
    const char *argv[] = {"sh", "-c",
                          "printf 'static int f(volatile int*p){return *p;}\\n"
                          "int g(volatile int*p){return f(p)+f(p+1);}\\n' |"
                          "gcc -O2 -g -x c - -shared -fPIC -o \"$0\"",
                          path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct sonde__elf_section s;
        open_program(path, &p);
        if (!sonde__elf_section_by_name(&p.elf, names[n], &s)) {
            close_program(&p);
            continue;
        }
        size_t offset = (size_t)(s.data - (const uint8_t *)p.bytes);
        close_program(&p);
        for (size_t i = 0; i < s.size * 8; i++) {
            size_t size;
            char *bytes = test_read_file(path, &size);
            struct sonde__elf elf;
            struct sonde__symindex_dwarf *dwarf;
            struct sonde__call frames[4];
            bytes[offset + i / 8] ^= (char)(1 << i % 8);
            CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
            if (open_dwarf(&elf, &dwarf) == SONDE_OK) {
                for (uint64_t at = p.text_vaddr; at < p.text_vaddr + p.text_size; at += 3) {
                    (void)sonde__symindex_dwarf_find(dwarf, at, frames, 4);
                }
                sonde__symindex_dwarf_close(dwarf);
            }
            free(bytes);
        }
    }
}
