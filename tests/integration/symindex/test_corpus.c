// SPDX-License-Identifier: Apache-2.0
/* A corpus of damaged debug files: programs of two compilers, in every form of shipped debug
 * information, with bytes changed by a generator with a fixed seed. Each still gives an index, in
 * bounded time and memory. The index lists the damage, and an unchanged unit answers as before. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "darwin.h"
#include "dwarf_constants.h"
#include "mem_heap.h"
#include "symfile_dwarf.h"
#include "symfile_macho.h"
#include "symfile_open.h"
#include "symindex.h"
#include "symindex_convert.h"
#include "test.h"

/* Far above the need of these files: only unbounded work takes a second. */
#define SECONDS_MAX    3
#define MORE_BYTES_MAX ((rlim_t)1 << 30)

__attribute__((constructor)) static void load_libraries(void)
{
    static const char *const names[] = {"libz.so.1", "libzstd.so.1", "liblzma.so.5"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
}

static uint64_t seed = 2026;

static uint64_t next_random(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 24;
}

static void write_sources(void)
{
    static const char body[] =
        "#include <stdio.h>\n"
        "#include <stdlib.h>\n"
        "struct pair { int a, b; struct pair *next; };\n"
        "static inline int sum(const struct pair *p) { return p->a + p->b; }\n"
        "static inline int sums(const struct pair *p) { int s = 0;\n"
        "    for (; p != 0; p = p->next) s += sum(p);\n    return s; }\n"
        "int NAME(volatile struct pair *p, int n);\n"
        "int NAME(volatile struct pair *p, int n) {\n"
        "    for (int i = 0; i < n; i++) { p->a += i; if (p->b > i) return sums((void *)p); }\n"
        "    return getc(stdin) + abs(p->a);\n}\n";
    for (unsigned i = 0; i < 4; i++) {
        char path[600], text[2000];
        snprintf(path, sizeof path, "%s/u%u.c", test_folder(), i);
        int size = snprintf(text, sizeof text, "#define NAME f%u\n%s", i, body);
        test_write_file(path, text, (size_t)size);
    }
}

static char *in_folder(const char *name)
{
    char *path = malloc(600);
    CHECK(path != NULL);
    snprintf(path, 600, "%s/%s", test_folder(), name);
    return path;
}

/* --- one conversion --- */

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct sonde__symindex_made convert_elf(const char *path)
{
    static const struct sonde__symfile_options options = {.debug_root = "/nonexistent"};
    struct sonde__symfile_pair pair;
    struct sonde__symfile_dwarf dwarf;
    struct sonde__symindex_made made;
    struct sonde_error error;
    CHECK_OK(sonde__symfile_open(&options, path, &pair, &error));
    CHECK_OK(sonde__symfile_dwarf_open(&options, &pair, &dwarf, &error));
    struct sonde__symindex_source source = {.debug = &pair.debug,
                                            .sections = &dwarf.sections,
                                            .damage = dwarf.damage,
                                            .split = sonde__symfile_dwarf_split,
                                            .split_ctx = &dwarf,
                                            .threads = 2};
    CHECK_OK(sonde__symindex_convert(&source, &made, &error));
    sonde__symfile_dwarf_close(&dwarf);
    sonde__symfile_close(&pair);
    return made;
}

static struct sonde__symindex_made convert_macho(const char *path)
{
    struct sonde__symfile_macho_wanted wanted = {0};
    struct sonde__symfile_macho macho;
    struct sonde__symindex_made made;
    struct sonde_error error;
    CHECK_OK(sonde__symfile_macho_open(path, &wanted, &macho, &error));
    struct sonde__symindex_source source = {.macho_debug = &macho.debug,
                                            .macho_image = macho.separate ? &macho.own : NULL};
    CHECK_OK(sonde__symindex_convert(&source, &made, &error));
    sonde__symfile_macho_close(&macho);
    return made;
}

static struct sonde__symindex_made convert(const char *path, bool is_macho)
{
    double begin = cpu_s();
    struct sonde__symindex_made made = is_macho ? convert_macho(path) : convert_elf(path);
    CHECK(cpu_s() - begin < SECONDS_MAX);
    return made;
}

/* Every byte of the code has an answer in the index: functions keep at least their symbols' names.
 * Returns the number of bytes with a line. */
static unsigned ask(const struct sonde__symindex_made *made)
{
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde__symindex_bad_unit unit;
    struct sonde__symindex_frame frames[64];
    struct sonde_error error;
    unsigned lines = 0, known = 0, listed = 0;
    CHECK_OK(sonde__symindex_open(made->data, made->size, &index, &error));
    CHECK(sonde__symindex_intact(&index));
    CHECK_OK(sonde__symindex_strings_init(&strings, &index));
    for (uint64_t at = 0; at < index.code_bytes; at++) {
        size_t n = sonde__symindex_find(&index, index.base + at, frames, 64);
        lines += n != 0 && frames[n - 1].line != 0;
        for (size_t i = 0; i < n; i++) {
            const char *name = sonde__symindex_name(&strings, frames[i].name);
            (void)sonde__symindex_file(&strings, frames[i].file);
            known += i + 1 == n && name[0] != '\0';
        }
    }
    CHECK(known > 50);
    while (sonde__symindex_bad_unit(&index, listed, &unit)) {
        CHECK(unit.what[0] != '\0');
        listed++;
    }
    CHECK_EQ(listed, made->bad_units);
    sonde__symindex_strings_done(&strings);
    return lines;
}

/* --- the corpus --- */

struct form {
    const char *script; /* makes `program` and the file to damage */
    const char *damaged;
    const char *opened; /* "program" */
};

static const struct form forms[] = {
    {"gcc -O2 -gdwarf-5 -shared -fPIC -o program u?.c", "program", "program"},
    {"gcc -O2 -gdwarf-4 -shared -fPIC -o program u?.c", "program", "program"},
    {"clang -O2 -gdwarf-5 -shared -fPIC -o program u?.c", "program", "program"},
    {"clang -O2 -gdwarf-4 -shared -fPIC -o program u?.c", "program", "program"},
    {"gcc -O2 -g -fdebug-types-section -shared -fPIC -o program u?.c", "program", "program"},
    {"gcc -O2 -gdwarf-5 -gz=zlib -shared -fPIC -o program u?.c", "program", "program"},
    {"clang -O2 -g -shared -fPIC -o plain u?.c; "
     "objcopy --compress-debug-sections=zstd plain program",
     "program", "program"},
    {"gcc -O2 -gdwarf-4 -shared -fPIC -o program u?.c; dwz program", "program", "program"},
    {"gcc -O2 -gdwarf-4 -shared -fPIC -o program u?.c; cp program other; "
     "dwz -m common -r program other",
     "common", "program"},
    {"gcc -O2 -gdwarf-5 -gsplit-dwarf -fPIC -c u?.c; gcc -shared -o program u?.o", "u1.dwo",
     "program"},
    {"clang -O2 -gdwarf-4 -gsplit-dwarf -fPIC -c u?.c; gcc -shared -o program u?.o", "u2.dwo",
     "program"},
    {"clang -O2 -gdwarf-5 -gsplit-dwarf -fPIC -c u?.c; gcc -shared -o program u?.o; "
     "llvm-dwp-19 -e program -o program.dwp; rm u?.dwo",
     "program.dwp", "program"},
};

enum { FORMS = sizeof forms / sizeof forms[0], EACH = 13, CHANGED_MAX = 24 };

static bool is_debug(const char *name)
{
    return strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0;
}

/* Change some bytes in one of the debug sections, or in all. */
static void damage(uint8_t *bytes, size_t size)
{
    struct sonde__elf elf;
    struct sonde__elf_section section, parts[64];
    uint32_t count = 0;
    CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
    for (uint32_t i = 0; sonde__elf_section(&elf, i, &section); i++) {
        if (is_debug(section.name) && section.data != NULL && section.size > 0 && count < 64) {
            parts[count++] = section;
        }
    }
    CHECK(count > 2);
    uint64_t only = next_random() % (2 * (uint64_t)count);
    unsigned changes = 1 + (unsigned)(next_random() % CHANGED_MAX);
    for (unsigned i = 0; i < changes; i++) {
        const struct sonde__elf_section *s = &parts[only < count ? only : next_random() % count];
        size_t at = (size_t)(s->data - bytes) + next_random() % s->size;
        uint8_t flip = (uint8_t)(1 + next_random() % 255);
        bytes[at] ^= flip;
    }
}

static void bound_memory(void)
{
#if !defined(SONDE_SANITIZED) /* a sanitizer reserves terabytes */
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    limit.rlim_cur = limit.rlim_max =
        (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MORE_BYTES_MAX;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
#endif
}

static void check_form(const struct form *form, unsigned *ret_listed)
{
    size_t size;
    darwin_shell("rm -f *.o *.dwo *.dwp program common other plain; %s", form->script);
    char *damaged = in_folder(form->damaged);
    char *opened = in_folder(form->opened);
    uint8_t *bytes = (uint8_t *)test_read_file(damaged, &size);
    uint8_t *copy = malloc(size);
    CHECK(copy != NULL);
    struct sonde__symindex_made made = convert(opened, false);
    CHECK_EQ(made.bad_units, 0);
    CHECK(ask(&made) > 200);
    sonde__mem_free(made.data);
    for (unsigned i = 0; i < EACH; i++) {
        memcpy(copy, bytes, size);
        damage(copy, size);
        test_write_file(damaged, (char *)copy, size);
        made = convert(opened, false);
        (void)ask(&made);
        *ret_listed += made.bad_units != 0;
        sonde__mem_free(made.data);
    }
    free(copy);
    free(bytes);
    free(damaged);
    free(opened);
}

TEST_TIMEOUT(corpus_of_damaged_files_converts, 250)
{
    unsigned listed = 0;
    write_sources();
    for (unsigned i = 0; i < FORMS; i++) {
        check_form(&forms[i], &listed);
        if (i == 0) {
            bound_memory();
        }
    }
    CHECK(FORMS * EACH >= 150);
    CHECK(listed > FORMS * EACH / 3);
}

/* A dSYM: damage bytes of its __DWARF segment, the last one. */
TEST_TIMEOUT(corpus_of_damaged_dsyms_converts, 250)
{
    static const char *const machines[] = {"arm64-apple-macos11", "x86_64-apple-macos11"};
    unsigned listed = 0;
    write_sources();
    for (unsigned m = 0; m < 2; m++) {
        size_t size;
        struct sonde__macho macho;
        struct sonde__macho_section info;
        darwin_shell("rm -rf prog*; for i in 0 1 2 3; do sed '/include/d; s/getc(stdin) + "
                     "abs(p->a)/p->a/' u$i.c >m$i.c; clang-19 -target %s -O2 -g -c -o m$i.o m$i.c; "
                     "done; ld64.lld-19 -arch %.*s -platform_version macos 11 11 "
                     "-dylib -undefined dynamic_lookup -o program m?.o && dsymutil-19 program",
                     machines[m], (int)strcspn(machines[m], "-"), machines[m]);
        char *path = in_folder("program.dSYM/Contents/Resources/DWARF/program");
        uint8_t *bytes = (uint8_t *)test_read_file(path, &size);
        uint8_t *copy = malloc(size);
        CHECK(copy != NULL);
        CHECK_OK(sonde__macho_open(bytes, size, &macho, NULL));
        CHECK(sonde__macho_section_by_name(&macho, "__DWARF", "__debug_info", &info));
        size_t from = (size_t)(info.data - bytes);
        for (unsigned i = 0; i < EACH; i++) {
            memcpy(copy, bytes, size);
            for (unsigned k = 0; k < CHANGED_MAX / 2; k++) {
                copy[from + next_random() % info.size] ^= (uint8_t)(1 + next_random() % 255);
            }
            test_write_file(path, (char *)copy, size);
            struct sonde__symindex_made made = convert(path, true);
            (void)ask(&made);
            listed += made.bad_units != 0;
            sonde__mem_free(made.data);
        }
        free(copy);
        free(bytes);
        free(path);
    }
    CHECK(listed > EACH / 2);
}

/* Damage bytes of one unit's DIEs: the others answer as before. */
TEST_TIMEOUT(corpus_of_damaged_units_costs_those, 250)
{
    struct sonde__elf elf;
    struct sonde__elf_section info;
    struct sonde__dwarf_sections sections;
    struct sonde__dwarf_unit unit;
    size_t size;
    unsigned damaged_units = 0, compared = 0;
    write_sources();
    darwin_shell("gcc -O2 -g -ffunction-sections -shared -fPIC -o program u?.c");
    char *path = in_folder("program");
    uint8_t *bytes = (uint8_t *)test_read_file(path, &size);
    uint8_t *copy = malloc(size);
    CHECK(copy != NULL);
    CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
    CHECK(sonde__elf_section_by_name(&elf, ".debug_info", &info));
    sonde__dwarf_sections_init(&sections);
    CHECK(sonde__dwarf_sections_of_elf(&elf, &sections));
    struct sonde__symindex_made whole = convert(path, false);
    for (unsigned i = 0; i < 40; i++) {
        char damaged_name[8];
        uint64_t offset = 0;
        for (unsigned k = 0; k <= i % 4; k++) {
            CHECK_OK(sonde__dwarf_unit_read(&sections, offset, &unit));
            offset = unit.end;
        }
        memcpy(copy, bytes, size);
        for (unsigned k = 0; k < 8; k++) {
            copy[(size_t)(info.data - bytes) + unit.die_offset +
                 next_random() % (unit.end - unit.die_offset)] ^=
                (uint8_t)(1 + next_random() % 255);
        }
        test_write_file(path, (char *)copy, size);
        struct sonde__symindex_made made = convert(path, false);
        CHECK(made.bad_units <= 1);
        damaged_units += made.bad_units;
        struct sonde__symindex a, b;
        struct sonde__symindex_strings as, bs;
        struct sonde_error error;
        CHECK_OK(sonde__symindex_open(whole.data, whole.size, &a, &error));
        CHECK_OK(sonde__symindex_open(made.data, made.size, &b, &error));
        CHECK_OK(sonde__symindex_strings_init(&as, &a));
        CHECK_OK(sonde__symindex_strings_init(&bs, &b));
        snprintf(damaged_name, sizeof damaged_name, "f%u", i % 4);
        for (uint64_t at = a.base; at < a.base + a.code_bytes; at++) {
            struct sonde__symindex_frame x[16], y[16];
            size_t n = sonde__symindex_find(&a, at, x, 16);
            const char *name = n != 0 ? sonde__symindex_name(&as, x[n - 1].name) : "";
            if (name[0] != 'f' || strlen(name) != 2 || strcmp(name, damaged_name) == 0) {
                continue;
            }
            size_t its_n = sonde__symindex_find(&b, at, y, 16);
            if (its_n < n || (its_n != n && made.bad_units == 0)) {
                FAIL("%s lost frames when %s was damaged", name, damaged_name);
            }
            for (size_t f = 0; f < n && its_n == n; f++) {
                CHECK_STR(sonde__symindex_name(&bs, y[f].name),
                          sonde__symindex_name(&as, x[f].name));
                CHECK_EQ(y[f].line, x[f].line);
            }
            compared++;
        }
        sonde__symindex_strings_done(&as);
        sonde__symindex_strings_done(&bs);
        sonde__mem_free(made.data);
    }
    CHECK(damaged_units > 10);
    CHECK(compared > 2000);
    sonde__mem_free(whole.data);
    free(copy);
    free(bytes);
    free(path);
}
