// SPDX-License-Identifier: Apache-2.0
#include "agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem_heap.h"
#include "symbolizer.h"
#include "test.h"

/* Where code is, and the source of the index. */
static void open_elf(const char *path, struct program *p)
{
    struct sonde__elf_section text;
    struct sonde_error error;
    static const struct sonde__symfile_options options = {.debug_root = "/nonexistent"};
    CHECK_OK(sonde__symfile_open(&options, path, &p->pair, &error));
    p->elf = p->pair.debug;
    struct sonde__symfile_dwarf dwarf;
    CHECK_OK(sonde__symfile_dwarf_open(&options, &p->pair, &dwarf, &error));
    struct sonde__symindex_source source = {.debug = &p->elf,
                                            .image = p->pair.separate ? &p->pair.own : NULL,
                                            .sections = &dwarf.sections,
                                            .damage = dwarf.damage,
                                            .split = sonde__symfile_dwarf_split,
                                            .split_ctx = &dwarf};
    CHECK_OK(sonde__symindex_convert(&source, &p->made, &error));
    sonde__symfile_dwarf_close(&dwarf);
    CHECK_OK(sonde__symfile_dwarf_open(&options, &p->pair, &p->dwarf, &error));
    source.sections = &p->dwarf.sections;
    source.split_ctx = &p->dwarf;
    uint64_t start, end;
    CHECK(sonde__elf_text_range(p->pair.separate ? &p->pair.own : &p->elf, &start, &end));
    if (sonde__symindex_dwarf_open(&source, start, end, &p->live) != SONDE_OK) {
        p->live = NULL;
    }
    CHECK(sonde__elf_section_by_name(&p->elf, ".text", &text));
    p->text_vaddr = text.vaddr;
    p->text_size = text.size;
}

static void open_macho(const char *path, struct program *p)
{
    struct sonde__symfile_macho_wanted wanted = {0};
    struct sonde__macho_section text;
    struct sonde_error error;
    CHECK_OK(sonde__symfile_macho_open(path, &wanted, &p->macho, &error));
    struct sonde__symindex_source source = {
        .macho_debug = &p->macho.debug, .macho_image = p->macho.separate ? &p->macho.own : NULL};
    CHECK_OK(sonde__symindex_convert(&source, &p->made, &error));
    CHECK(sonde__macho_section_by_name(&p->macho.own, "__TEXT", "__text", &text));
    p->text_vaddr = text.vaddr;
    p->text_size = text.size;
}

void open_program(const char *path, struct program *p)
{
    struct sonde__host_file file;
    struct sonde_error error;
    memset(p, 0, sizeof *p);
    CHECK_OK(sonde__host_file_map(NULL, path, (uint64_t)1 << 40, &file, &error));
    bool is_macho = sonde__macho_begins(file.data, file.size);
    sonde__host_file_unmap(&file);
    if (is_macho) {
        open_macho(path, p);
    } else {
        open_elf(path, p);
    }
    CHECK_OK(sonde__symindex_open(p->made.data, p->made.size, &p->index, &error));
    CHECK(sonde__symindex_intact(&p->index));
    CHECK_OK(sonde__symindex_strings_init(&p->strings, &p->index));
}

void close_program(struct program *p)
{
    sonde__symindex_strings_done(&p->strings);
    sonde__mem_free(p->made.data);
    sonde__symindex_dwarf_close(p->live);
    sonde__symfile_dwarf_close(&p->dwarf);
    sonde__symfile_close(&p->pair);
    if (p->macho.own_file.data != NULL) {
        sonde__symfile_macho_close(&p->macho);
    }
}

/* Compare the frames' names: the outermost one may be another name of the symbol there. */
static bool same_outer_name(struct program *p, uint64_t vaddr, const char *ours, const char *its)
{
    struct sonde__symindex_symbol symbol;
    if (symbolizer_same_name(ours, its)) {
        return true;
    }
    if (!sonde__symindex_symbol(&p->index, vaddr, &symbol)) {
        return false;
    }
    if (strcmp(sonde__symindex_name(&p->strings, symbol.name), its) == 0) {
        return true;
    }
    for (uint32_t i = 0; i < symbol.alias_count; i++) {
        uint32_t alias = sonde__symindex_alias(&p->index, &symbol, i);
        if (strcmp(sonde__symindex_name(&p->strings, alias), its) == 0) {
            return true;
        }
    }
    return false;
}

/* Names are left out: the index takes some from the symbol table. */
static void compare_live(struct program *p, uint64_t vaddr, struct agreement *a)
{
    struct sonde__symindex_frame made[FRAMES_MAX];
    struct sonde__call live[FRAMES_MAX];
    size_t n = p->live != NULL ? sonde__symindex_dwarf_find(p->live, vaddr, live, FRAMES_MAX) : 0;
    size_t made_n = sonde__symindex_find(&p->index, vaddr, made, FRAMES_MAX);
    bool same = n == made_n;
    if (n == 0) {
        return;
    }
    for (size_t i = 0; i < n && same; i++) {
        same = live[i].line == made[i].line &&
               strcmp(live[i].file, sonde__symindex_file(&p->strings, made[i].file)) == 0;
    }
    a->live++;
    a->live_same += same;
}

static void compare_one(struct program *p, uint64_t vaddr, const struct symbolizer_frame *its,
                        size_t its_n, struct agreement *a)
{
    struct sonde__symindex_frame ours[FRAMES_MAX];
    size_t n = sonde__symindex_find(&p->index, vaddr, ours, FRAMES_MAX);
    bool lines = n == its_n;
    bool names = lines;
    a->asked++;
    if (its_n == 1 && its[0].line == 0) {
        /* at most a symbol: its file is from the symbol table */
        const char *name = n > 0 ? sonde__symindex_name(&p->strings, ours[0].name) : "";
        bool is_named = its[0].name[0] != '\0';
        a->known++;
        lines = n <= 1 && (n == 0 ? !is_named : ours[0].line == 0);
        a->same += lines;
        a->same_names += lines && (!is_named || same_outer_name(p, vaddr, name, its[0].name));
        return;
    }
    a->known++;
    for (size_t i = 0; i < n && lines; i++) {
        const char *file = sonde__symindex_file(&p->strings, ours[i].file);
        const char *name = sonde__symindex_name(&p->strings, ours[i].name);
        /* for a call without a line llvm gives the function's file */
        lines =
            ours[i].line == its[i].line &&
            (ours[i].line == 0 || strcmp(symbolizer_base(file), symbolizer_base(its[i].file)) == 0);
        names = names && (i + 1 < n ? strcmp(name, its[i].name) == 0
                                    : same_outer_name(p, vaddr, name, its[i].name));
    }
    a->same += lines;
    a->same_names += lines && names;
    if (!lines || !names) {
        static unsigned shown;
        if (shown++ < 5) {
            dprintf(STDOUT_FILENO, "    0x%llx: ours %zu, %s %s:%u; its %zu, %s %s:%u\n",
                    (unsigned long long)vaddr, n,
                    n > 0 ? sonde__symindex_name(&p->strings, ours[0].name) : "",
                    n > 0 ? sonde__symindex_file(&p->strings, ours[0].file) : "",
                    n > 0 ? ours[0].line : 0, its_n, its[0].name, its[0].file, its[0].line);
        }
    }
}

struct agreement compare(const char *path, const char *its_path, const uint64_t *given,
                         unsigned count)
{
    static struct symbolizer_frame its[FRAMES_MAX];
    struct symbolizer symbolizer;
    struct program p;
    struct agreement a = {0};
    uint64_t seed = 12345;
    uint64_t *addresses = malloc(count * sizeof *addresses);
    CHECK(addresses != NULL);
    open_program(path, &p);
    for (unsigned i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        addresses[i] = given != NULL ? given[i] : p.text_vaddr + (seed >> 20) % p.text_size;
    }
    symbolizer_ask(&symbolizer, its_path != NULL ? its_path : path, addresses, count);
    for (unsigned i = 0; i < count; i++) {
        size_t its_n = symbolizer_next(&symbolizer, its, FRAMES_MAX);
        compare_live(&p, addresses[i], &a);
        compare_one(&p, addresses[i], its, its_n, &a);
    }
    symbolizer_done(&symbolizer);
    close_program(&p);
    free(addresses);
    return a;
}

void must_agree(const char *what, struct agreement a)
{
    dprintf(STDOUT_FILENO,
            "    %s: %u known, %u with the same lines, %u of them with the same names; "
            "%u without an index, %u the same\n",
            what, a.known, a.same, a.same_names, a.live, a.live_same);
    if (a.same * 1000ull < a.known * 995ull || a.same_names * 1000ull < a.known * 990ull) {
        FAIL("%s: of %u addresses %u agree with llvm-symbolizer, %u also in names", what, a.known,
             a.same, a.same_names);
    }
}
