// SPDX-License-Identifier: Apache-2.0
/* Inferred frames against the truth: a program built with sibling-call optimisation makes the same
 * calls as the same one built without, whose stacks show every call. In each stack, physical and
 * inferred frames, innermost first, must occur in the true stack in that order. Where the answer
 * was "these frames", no other frame may be missing. gcc and clang, x86-64 and aarch64. The
 * inference reads code with symbols, code without, debug information without code, or both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_file.h"
#include "image_elf.h"
#include "make_program.h"
#include "mem_heap.h"
#include "symbol_index.h"
#include "symindex.h"
#include "symindex_convert.h"
#include "tail_code.h"
#include "test.h"

enum { STACK_MAX = 128, STACKS_MAX = 500, PATH = 512, NAMES_MAX = 512 };

/* --- building and running --- */

struct kind {
    const char *compiler;
    const char *flags;
    const char *runner; /* "": the machine itself */
    const char *objcopy;
    const char *macho; /* Mach-O: the linker's name of the machine; else null */
};

static const struct kind kinds[] = {
    {"gcc", "-O2", "", "objcopy"},
    {"gcc", "-O2 -fno-plt -fcf-protection=none -no-pie", "", "objcopy"},
    {"gcc", "-Os -fno-omit-frame-pointer -gdwarf-4", "", "objcopy"},
    {"clang-19", "-O2", "", "objcopy"},
    {"clang-19", "-Oz -gdwarf-4", "", "objcopy"},
    {"aarch64-linux-gnu-gcc", "-O2 -static", "qemu-aarch64", "aarch64-linux-gnu-objcopy"},
    {"aarch64-linux-gnu-gcc", "-Os -mbranch-protection=standard -static", "qemu-aarch64",
     "aarch64-linux-gnu-objcopy"},
    {"clang-19", "-target aarch64-linux-gnu -O2 -static", "qemu-aarch64",
     "aarch64-linux-gnu-objcopy"},
    {"clang-19", "-target x86_64-apple-macos13 -O2", "gcc", "dsymutil-19", "x86_64"},
    {"clang-19", "-target arm64-apple-macos13 -Oz -gdwarf-5", "aarch64-linux-gnu-gcc",
     "dsymutil-19", "arm64"},
    {"clang-19", "-target aarch64-linux-gnu -Oz -static -moutline", "qemu-aarch64",
     "aarch64-linux-gnu-objcopy"},
    {"clang-19", "-target x86_64-apple-macos13 -Os -gdwarf-5", "gcc", "dsymutil-19", "x86_64"},
    {"clang-19", "-target arm64-apple-macos13 -O2", "aarch64-linux-gnu-gcc", "dsymutil-19",
     "arm64"},
};

static bool is_there(const char *program)
{
    const char *const argv[] = {"sh", "-c", "command -v \"$0\" >/dev/null", program, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 10);
    bool there = run.status == 0;
    test_run_done(&run);
    return there;
}

static char *shell(const char *command)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    char *out;
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    out = strdup(run.out);
    test_run_done(&run);
    return out;
}

struct stacks {
    uint64_t pcs[STACKS_MAX][STACK_MAX]; /* vaddrs; 0 ends a stack */
    unsigned count;
};

static void parse_stacks(const char *text, uint64_t base, struct stacks *stacks)
{
    stacks->count = 0;
    for (const char *line = text; line != NULL && *line == 'S' && stacks->count < STACKS_MAX;) {
        uint64_t *pcs = stacks->pcs[stacks->count++];
        unsigned n = 0;
        line++;
        while (*line == ' ' && n + 1 < STACK_MAX) {
            char *end;
            pcs[n++] = strtoull(line, &end, 16) + base;
            line = end;
        }
        pcs[n] = 0;
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

/* --- one built program --- */

struct name {
    uint64_t vaddr;
    char text[64];
};

struct program {
    char path[PATH];
    struct sonde__host_file file;
    struct sonde__macho macho;    /* one of the two */
    struct name names[NAMES_MAX]; /* of the Mach-O, by vaddr */
    unsigned name_count;
    struct sonde__elf elf;
    struct sonde__symbol_index *symbols;
    uint64_t base;
    struct stacks stacks;
};

static void build(const struct kind *kind, const char *source, const char *name, const char *flags,
                  struct program *p)
{
    char command[4 * PATH];
    struct sonde_error error;
    uint64_t end, start;
    struct sonde__elf_segment segment;
    snprintf(p->path, sizeof p->path, "%s/%s", test_folder(), name);
    snprintf(command, sizeof command, "%s %s -g -w -fasynchronous-unwind-tables %s -o %s %s",
             kind->compiler, kind->flags, flags, p->path, source);
    free(shell(command));
    snprintf(command, sizeof command, "%s %s", kind->runner, p->path);
    char *out = shell(command);
    CHECK_OK(sonde__host_file_map(NULL, p->path, (uint64_t)1 << 30, &p->file, &error));
    CHECK_OK(sonde__elf_open(p->file.data, p->file.size, &p->elf, &error));
    CHECK_OK(sonde__symbol_index_create(&p->elf, NULL, &p->symbols, &error));
    CHECK(sonde__elf_text_range(&p->elf, &start, &end));
    p->base = start;
    CHECK(sonde__elf_segment_by_type(&p->elf, SONDE__PT_LOAD, &segment));
    parse_stacks(out, segment.vaddr - segment.offset, &p->stacks);
    free(out);
}

static int by_vaddr(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static void read_names(struct program *p)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    p->name_count = 0;
    CHECK(sonde__macho_symbols(&p->macho, &symbols));
    for (uint32_t i = 0; sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        if (sonde__macho_is_function(&p->macho, &symbol, &section)) {
            CHECK(p->name_count < NAMES_MAX);
            struct name *name = &p->names[p->name_count++];
            name->vaddr = symbol.value;
            snprintf(name->text, sizeof name->text, "%s", symbol.name + 1);
        }
    }
    qsort(p->names, p->name_count, sizeof *p->names, by_vaddr);
}

/* A Mach-O with its dSYM, run by run_macho.c. */
static void build_macho(const struct kind *kind, const char *source, const char *name,
                        const char *flags, struct program *p)
{
    char command[5 * PATH];
    struct sonde_error error;
    snprintf(p->path, sizeof p->path, "%s/%s", test_folder(), name);
    snprintf(command, sizeof command,
             "cd %s && { test -x runner || %s -O1 -w -static -fno-omit-frame-pointer -o runner "
             "%s/tests/integration/tail/run_macho.c; } && "
             "%s %s -g -w -ffreestanding -fno-stack-protector %s -c -o %s.o %s && "
             "ld64.lld-19 -arch %s -platform_version macos 13 13 -no_fixup_chains -o %s %s.o && "
             "%s %s",
             test_folder(), kind->runner, test_source_dir(), kind->compiler, kind->flags, flags,
             name, source, kind->macho, name, name, kind->objcopy, name);
    free(shell(command));
    snprintf(command, sizeof command, "cd %s && %s ./runner %s", test_folder(),
             strcmp(kind->macho, "arm64") == 0 ? "qemu-aarch64" : "", name);
    char *out = shell(command);
    CHECK_OK(sonde__host_file_map(NULL, p->path, (uint64_t)1 << 30, &p->file, &error));
    CHECK_OK(sonde__macho_open(p->file.data, p->file.size, &p->macho, &error));
    p->base = p->macho.base;
    read_names(p);
    parse_stacks(out, 0, &p->stacks);
    free(out);
}

static void close_program(struct program *p)
{
    sonde__symbol_index_destroy(p->symbols);
    sonde__host_file_unmap(&p->file);
}

/* The name of a function of ours; "" for one of libc. */
static void name_of(const struct program *p, uint64_t vaddr, char *ret_name)
{
    struct sonde__symbol symbol;
    ret_name[0] = '\0';
    for (unsigned i = 0; i < p->name_count && p->names[i].vaddr <= vaddr; i++) {
        snprintf(ret_name, 64, "%s", p->names[i].text);
    }
    if (p->symbols != NULL && sonde__symbol_find(p->symbols, vaddr, &symbol)) {
        snprintf(ret_name, 64, "%.*s", (int)strcspn(symbol.name, "."), symbol.name);
    }
}

/* --- a source of answers --- */

struct answers {
    struct sonde__tail_bytes bytes;
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde__tail_graph graph;
    uint64_t base;
    bool is_stripped;
};

struct tally {
    unsigned stacks, missing, found, several, nothing;
};

/* The names of our functions in stack `i`, with inferred ones ("?": one is missing). */
static unsigned logical_stack(const struct program *p, const struct answers *a, unsigned i,
                              char names[][64], struct tally *tally)
{
    const uint64_t *pcs = p->stacks.pcs[i];
    unsigned n = 0;
    for (unsigned k = 0; pcs[k] != 0 && n + SONDE__TAIL_FRAMES_MAX < STACK_MAX; k++) {
        struct sonde__tail_found found;
        uint32_t entry;
        bool is_main;
        name_of(p, pcs[k] - 1, names[n++]);
        if (strcmp(names[n - 1], "main") == 0) {
            break; /* ignore libc below */
        }
        if (pcs[k + 1] == 0 ||
            !sonde__tail_site(&a->graph, (uint32_t)(pcs[k + 1] - a->base), &entry, &is_main) ||
            is_main) {
            continue;
        }
        switch (sonde__tail_between(&a->graph, entry, (uint32_t)(pcs[k] - 1 - a->base), &found)) {
        case SONDE__TAIL_FRAMES:
            for (uint32_t f = 0; f < found.count; f++) {
                char place[64];
                name_of(p, a->base + found.frames[f].entry, names[n++]);
                name_of(p, a->base + found.frames[f].place, place);
                CHECK_STR(names[n - 1], place);
                /* code that LLVM outlined: without its name it looks like a function */
                n -= a->is_stripped && strncmp(place, "OUTLINED_FUNCTION_", 18) == 0;
            }
            tally->found += found.count;
            break;
        case SONDE__TAIL_SEVERAL:
            tally->several++;
            strcpy(names[n++], "?");
            name_of(p, a->base + found.frames[0].entry, names[n++]);
            n -= a->is_stripped && strncmp(names[n - 1], "OUTLINED_FUNCTION_", 18) == 0;
            tally->found++;
            break;
        default:
            tally->nothing++;
            break;
        }
    }
    return n;
}

/* Each of our names occurs in the true stack, in its order; so does a frame inferred right before a
 * physical one. */
static void compare(const struct program *ours, const struct program *truth,
                    const struct answers *a, unsigned i, struct tally *tally)
{
    static char names[STACK_MAX][64];
    unsigned n = logical_stack(ours, a, i, names, tally);
    const uint64_t *pcs = truth->stacks.pcs[i];
    unsigned at = 0, there = 0;
    for (unsigned k = 0; k < n; k++) {
        bool found = strcmp(names[k], "?") == 0;
        while (!found && pcs[at] != 0) {
            char name[64];
            name_of(truth, pcs[at++] - 1, name);
            there++;
            found = strcmp(name, names[k]) == 0;
        }
        if (!found) {
            for (unsigned m = 0; m < n; m++) {
                dprintf(STDOUT_FILENO, "    ours %s\n", names[m]);
            }
            for (unsigned m = 0; pcs[m] != 0; m++) {
                char name[64];
                name_of(truth, pcs[m] - 1, name);
                dprintf(STDOUT_FILENO, "    true %s\n", name);
            }
            FAIL("%s, stack %u: frame %u, %s, was not there", ours->path, i, k, names[k]);
        }
    }
    for (unsigned k = 0; ours->stacks.pcs[i][k] != 0; k++) {
        char name[64];
        name_of(ours, ours->stacks.pcs[i][k] - 1, name);
        there -= there != 0;
        if (strcmp(name, "main") == 0) {
            break;
        }
    }
    tally->missing += there;
    tally->stacks++;
}

static void compare_all(const struct program *ours, const struct program *truth,
                        const struct answers *a, const char *what, struct tally *total)
{
    struct tally tally = {0};
    CHECK_EQ(ours->stacks.count, truth->stacks.count);
    for (unsigned i = 0; i < ours->stacks.count; i++) {
        compare(ours, truth, a, i, &tally);
    }
    dprintf(STDOUT_FILENO,
            "    %-28s %u stacks, %u frames missing, %u put in, %u places with several ways\n",
            what, tally.stacks, tally.missing, tally.found, tally.several);
    total->missing += tally.missing;
    total->found += tally.found;
    total->stacks += tally.stacks;
}

static void ask_code(const struct program *p, const struct sonde__elf *elf,
                     const struct sonde__symbol_index *symbols, struct answers *a)
{
    struct sonde__tail_code code = {.elf = elf, .symbols = symbols, .base = p->base};
    memset(a, 0, sizeof *a);
    CHECK_OK(sonde__tail_code_make(&code, &a->bytes));
    CHECK(sonde__tail_open(a->bytes.graph, a->bytes.graph_size, a->bytes.sites, a->bytes.sites_size,
                           &a->graph));
    a->base = p->base;
}

static void with_symbols(const struct program *ours, const struct program *truth,
                         struct tally *total)
{
    struct answers a;
    ask_code(ours, &ours->elf, ours->symbols, &a);
    compare_all(ours, truth, &a, "code", total);
    sonde__tail_bytes_done(&a.bytes);
}

static void ask_index(const struct sonde__symindex_source *source, struct answers *a,
                      struct sonde__tail_origin *ret_origin)
{
    struct sonde_error error;
    memset(a, 0, sizeof *a);
    CHECK_OK(sonde__symindex_convert(source, &a->made, &error));
    CHECK_OK(sonde__symindex_open(a->made.data, a->made.size, &a->index, &error));
    sonde__symindex_tails(&a->index, &a->graph);
    sonde__symindex_tail_origin(&a->index, ret_origin);
    a->base = a->index.base;
}

/* An index of code and debug information: the code's answers, where the call sites allow them. */
static void from_both(const struct program *ours, const struct program *truth, struct tally *total)
{
    struct answers a;
    struct sonde__tail_origin origin;
    struct sonde__symindex_source source = {.debug = &ours->elf};
    ask_index(&source, &a, &origin);
    CHECK_EQ(origin.sources, SONDE__TAIL_FROM_CODE | SONDE__TAIL_FROM_SITES);
    CHECK(origin.functions < 15 && origin.calls == 0); /* libc has no call sites here */
    compare_all(ours, truth, &a, "code and call sites", total);
    sonde__mem_free(a.made.data);
}

/* An index of the debug file alone, without code. */
static void from_sites(const struct kind *kind, const struct program *ours,
                       const struct program *truth, struct tally *total)
{
    struct answers a;
    struct sonde__tail_origin origin;
    char path[PATH + 16], command[4 * PATH];
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde_error error;
    struct sonde__symindex_source source = {.debug = &elf};
    snprintf(path, sizeof path, "%s.debug", ours->path);
    snprintf(command, sizeof command, "%s --only-keep-debug %s %s", kind->objcopy, ours->path,
             path);
    free(shell(command));
    CHECK_OK(sonde__host_file_map(NULL, path, (uint64_t)1 << 30, &file, &error));
    CHECK_OK(sonde__elf_open(file.data, file.size, &elf, &error));
    ask_index(&source, &a, &origin);
    CHECK_EQ(origin.sources, SONDE__TAIL_FROM_SITES);
    compare_all(ours, truth, &a, "call sites", total);
    sonde__mem_free(a.made.data);
    sonde__host_file_unmap(&file);
}

static void stripped(const struct kind *kind, const struct program *ours,
                     const struct program *truth, struct tally *total)
{
    struct answers a;
    char path[PATH + 16], command[4 * PATH];
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__symbol_index *symbols;
    struct sonde_error error;
    snprintf(path, sizeof path, "%s.stripped", ours->path);
    snprintf(command, sizeof command, "%s --strip-all %s %s", kind->objcopy, ours->path, path);
    free(shell(command));
    CHECK_OK(sonde__host_file_map(NULL, path, (uint64_t)1 << 30, &file, &error));
    CHECK_OK(sonde__elf_open(file.data, file.size, &elf, &error));
    CHECK_OK(sonde__symbol_index_create(&elf, NULL, &symbols, &error));
    ask_code(ours, &elf, symbols, &a);
    a.is_stripped = true;
    compare_all(ours, truth, &a, "code without symbols", total);
    sonde__tail_bytes_done(&a.bytes);
    sonde__symbol_index_destroy(symbols);
    sonde__host_file_unmap(&file);
}

/* Least percentage of recovered frames. The others have several possible ways, or no symbols to
 * mark functions. */
static void check_tally(const struct tally *tally, unsigned programs, unsigned least_percent)
{
    CHECK(tally->stacks >= 100 * programs);
    CHECK(tally->missing > tally->stacks / 4);
    CHECK(tally->found * 100 >= tally->missing * least_percent);
}

static void from_macho(const struct program *ours, const struct program *truth, const char *image,
                       const char *debug, const char *what, uint32_t sources, struct tally *total)
{
    struct answers a;
    struct sonde__tail_origin origin;
    struct sonde__host_file files[2] = {{0}};
    struct sonde__macho machos[2];
    struct sonde_error error;
    struct sonde__symindex_source source = {.macho_debug = &machos[1]};
    char path[2 * PATH];
    if (image != NULL) {
        snprintf(path, sizeof path, "%s/%s", test_folder(), image);
        CHECK_OK(sonde__host_file_map(NULL, path, (uint64_t)1 << 30, &files[0], &error));
        CHECK_OK(sonde__macho_open(files[0].data, files[0].size, &machos[0], &error));
        source.macho_image = &machos[0];
        source.macho_debug = &machos[0];
    }
    if (debug != NULL) {
        snprintf(path, sizeof path, "%s/%s", test_folder(), debug);
        CHECK_OK(sonde__host_file_map(NULL, path, (uint64_t)1 << 30, &files[1], &error));
        CHECK_OK(sonde__macho_open(files[1].data, files[1].size, &machos[1], &error));
        source.macho_debug = &machos[1];
    } else {
        source.macho_image = NULL;
    }
    ask_index(&source, &a, &origin);
    a.is_stripped = image != NULL && strcmp(image, "stripped") == 0;
    CHECK_EQ(origin.sources, sources);
    compare_all(ours, truth, &a, what, total);
    sonde__mem_free(a.made.data);
    for (unsigned i = 0; i < 2; i++) {
        sonde__host_file_unmap(&files[i]);
    }
}

static void check_macho(const struct kind *kind)
{
    static struct program ours, truth;
    static const char dsym[] = "with.dSYM/Contents/Resources/DWARF/with";
    struct tally code = {0}, without = {0}, both = {0}, sites = {0};
    unsigned programs = test_long() ? 40 : 1;
    if (!is_there(kind->compiler) || !is_there("ld64.lld-19") || !is_there(kind->objcopy) ||
        !is_there(kind->runner) ||
        (strcmp(kind->macho, "arm64") == 0 && !is_there("qemu-aarch64"))) {
        SKIP("no ld64.lld-19, dsymutil-19 or %s, or nothing to run its programs", kind->runner);
    }
    for (unsigned k = 0; k < programs; k++) {
        char source[PATH], command[2 * PATH];
        snprintf(source, sizeof source, "%s/program.c", test_folder());
        make_program(source, (uint64_t)(kind - kinds) + 100 * k + 1);
        build_macho(kind, source, "with", "", &ours);
        build_macho(kind, source, "without", "-fno-optimize-sibling-calls", &truth);
        snprintf(command, sizeof command, "cd %s && llvm-strip-19 -x -o stripped with",
                 test_folder());
        free(shell(command));
        from_macho(&ours, &truth, "with", NULL, "code", SONDE__TAIL_FROM_CODE, &code);
        from_macho(&ours, &truth, "with", dsym, "code and call sites",
                   SONDE__TAIL_FROM_CODE | SONDE__TAIL_FROM_SITES, &both);
        from_macho(&ours, &truth, NULL, dsym, "call sites", SONDE__TAIL_FROM_SITES, &sites);
        from_macho(&ours, &truth, "stripped", NULL, "code without local symbols",
                   SONDE__TAIL_FROM_CODE, &without);
        sonde__host_file_unmap(&ours.file);
        sonde__host_file_unmap(&truth.file);
    }
    check_tally(&code, programs, 25);
    check_tally(&both, programs, 25);
    check_tally(&sites, programs, 25);
    check_tally(&without, programs, 25);
}

static void check_kind(const struct kind *kind)
{
    static struct program ours, truth;
    struct tally with = {0}, without = {0}, both = {0}, sites = {0};
    unsigned programs = test_long() ? 40 : 1;
    if (!is_there(kind->compiler) || !is_there(kind->objcopy) ||
        (kind->runner[0] != '\0' && !is_there(kind->runner))) {
        SKIP("no %s, or nothing to run its programs", kind->compiler);
    }
    for (unsigned k = 0; k < programs; k++) {
        char source[PATH];
        snprintf(source, sizeof source, "%s/program.c", test_folder());
        make_program(source, (uint64_t)(kind - kinds) + 100 * k + 1);
        build(kind, source, "with", "", &ours);
        build(kind, source, "without", "-fno-optimize-sibling-calls", &truth);
        with_symbols(&ours, &truth, &with);
        from_both(&ours, &truth, &both);
        from_sites(kind, &ours, &truth, &sites);
        stripped(kind, &ours, &truth, &without);
        close_program(&ours);
        close_program(&truth);
    }
    check_tally(&with, programs, 25);
    check_tally(&both, programs, 25);
    check_tally(&sites, programs, 25);
    check_tally(&without, programs, 3);
}

#define KIND(name, number)                                                                         \
    TEST_TIMEOUT(name, 250)                                                                        \
    {                                                                                              \
        (kinds[number].macho != NULL ? check_macho : check_kind)(&kinds[number]);                  \
    }
KIND(gcc, 0)
KIND(gcc_without_plt, 1)
KIND(gcc_small_with_frame_pointers, 2)
KIND(clang, 3)
KIND(clang_small, 4)
KIND(aarch64_gcc, 5)
KIND(aarch64_gcc_small_with_keys, 6)
KIND(aarch64_clang, 7)
KIND(macho_x86_64, 8)
KIND(macho_arm64_small, 9)

#define LONG_KIND(name, number)                                                                    \
    TEST_TIMEOUT(name, 250)                                                                        \
    {                                                                                              \
        if (!test_long()) {                                                                        \
            SKIP("only with --long");                                                              \
        }                                                                                          \
        (kinds[number].macho != NULL ? check_macho : check_kind)(&kinds[number]);                  \
    }
LONG_KIND(aarch64_clang_outlined, 10)
LONG_KIND(macho_x86_64_small, 11)
LONG_KIND(macho_arm64, 12)
