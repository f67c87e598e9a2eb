// SPDX-License-Identifier: Apache-2.0
/* The index over invented tables: bounds, gaps, preference, limits, failures. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_elf.h"
#include "mem_heap.h"
#include "oracle.h"
#include "symbol_index.h"
#include "test.h"

#define T MADE_TEXT

struct made {
    void *data;
    struct sonde__elf elf;
    struct sonde__symbol_index *index;
};

static struct made make(const struct made_symbol *symbols, size_t count, uint64_t text_size)
{
    struct made made = {0};
    struct sonde_error error;
    size_t size;
    made.data = made_elf(symbols, count, text_size, &size);
    CHECK_OK(sonde__elf_open(made.data, size, &made.elf, &error));
    CHECK_OK(sonde__symbol_index_create(&made.elf, NULL, &made.index, &error));
    return made;
}

static void done(struct made *made)
{
    sonde__symbol_index_destroy(made->index);
    free(made->data);
}

static const char *name_at(const struct made *made, uint64_t vaddr)
{
    struct sonde__symbol symbol;
    return sonde__symbol_find(made->index, vaddr, &symbol) ? symbol.name : "(none)";
}

TEST(a_gap_has_no_name)
{
    const struct made_symbol symbols[] = {{"a", T + 16, 10, STT_FUNC, STB_GLOBAL, 1},
                                          {"b", T + 0x5000, 16, STT_FUNC, STB_GLOBAL, 1}};
    struct made made = make(symbols, 2, 0x8000);
    struct sonde__symbol symbol;
    CHECK_STR(name_at(&made, T + 15), "(none)");
    CHECK_STR(name_at(&made, T + 16), "a");
    CHECK_STR(name_at(&made, T + 25), "a");
    CHECK_STR(name_at(&made, T + 26), "(none)");
    CHECK_STR(name_at(&made, T + 0x4fff), "(none)");
    CHECK_STR(name_at(&made, T + 0x500f), "b");
    CHECK_STR(name_at(&made, T + 0x5010), "(none)");
    CHECK_STR(name_at(&made, T + 0x7fff), "(none)");
    CHECK_STR(name_at(&made, T + 0x8000), "(none)");
    CHECK_STR(name_at(&made, 0), "(none)");
    CHECK_STR(name_at(&made, UINT64_MAX), "(none)");
    CHECK(sonde__symbol_find(made.index, T + 20, &symbol));
    CHECK_EQ(symbol.start, T + 16);
    CHECK_EQ(symbol.end, T + 26);
    CHECK_EQ(symbol.source, SONDE__SYMBOL_SYMTAB);
    CHECK_EQ(symbol.aliases, 0);
    CHECK_EQ(sonde__symbol_count(made.index), 2);
    done(&made);
}

TEST(a_symbol_without_size_ends_at_the_next_or_at_its_section)
{
    const struct made_symbol symbols[] = {{"asm1", T + 0x100, 0, STT_NOTYPE, STB_GLOBAL, 1},
                                          {"f", T + 0x200, 0x100, STT_FUNC, STB_GLOBAL, 1},
                                          {"label", T + 0x280, 0, STT_NOTYPE, STB_LOCAL, 1},
                                          {"asm2", T + 0x400, 0, STT_FUNC, STB_LOCAL, 1}};
    struct made made = make(symbols, 4, 0x1000);
    struct sonde__symbol symbol;
    CHECK_STR(name_at(&made, T + 0x1ff), "asm1");
    CHECK_STR(name_at(&made, T + 0x27f), "f");
    CHECK_STR(name_at(&made, T + 0x280), "f"); /* inside a function a label is no name */
    CHECK_STR(name_at(&made, T + 0x2ff), "f");
    CHECK_STR(name_at(&made, T + 0x300), "(none)");
    CHECK_STR(name_at(&made, T + 0xfff), "asm2");
    CHECK(sonde__symbol_find(made.index, T + 0x400, &symbol));
    CHECK_EQ(symbol.end, T + 0x1000);
    done(&made);
}

TEST(nested_symbols_answer_while_they_last)
{
    const struct made_symbol symbols[] = {{"outer", T, 0x100, STT_FUNC, STB_GLOBAL, 1},
                                          {"inner", T + 0x20, 0x20, STT_FUNC, STB_LOCAL, 1},
                                          {"innermost", T + 0x30, 0x10, STT_FUNC, STB_LOCAL, 1},
                                          {"late", T + 0xf0, 0x20, STT_FUNC, STB_LOCAL, 1}};
    struct made made = make(symbols, 4, 0x1000);
    CHECK_STR(name_at(&made, T + 0x1f), "outer");
    CHECK_STR(name_at(&made, T + 0x20), "inner");
    CHECK_STR(name_at(&made, T + 0x3f), "innermost");
    CHECK_STR(name_at(&made, T + 0x40), "outer");
    CHECK_STR(name_at(&made, T + 0xef), "outer");
    CHECK_STR(name_at(&made, T + 0xf0), "late");
    CHECK_STR(name_at(&made, T + 0x10f), "late");
    CHECK_STR(name_at(&made, T + 0x110), "(none)");
    done(&made);
}

TEST(one_address_shows_the_name_that_people_know)
{
    const struct made_symbol symbols[] = {
        {"__GI___libc_read", T, 16, STT_FUNC, STB_LOCAL, 1},
        {"__read", T, 16, STT_FUNC, STB_GLOBAL, 1},
        {"read@@GLIBC_2.2.5", T, 16, STT_FUNC, STB_WEAK, 1},
        {"read", T, 16, STT_FUNC, STB_WEAK, 1},
        {"zz_label", T + 32, 16, STT_NOTYPE, STB_GLOBAL, 1},
        {"_function", T + 32, 16, STT_FUNC, STB_LOCAL, 1},
        {"weak", T + 64, 16, STT_FUNC, STB_WEAK, 1},
        {"globals", T + 64, 16, STT_FUNC, STB_GLOBAL, 1},
        {"longer", T + 96, 16, STT_FUNC, STB_GLOBAL, 1},
        {"short", T + 96, 16, STT_FUNC, STB_GLOBAL, 1},
        {"bb", T + 128, 16, STT_FUNC, STB_GLOBAL, 1},
        {"aa", T + 128, 16, STT_FUNC, STB_GLOBAL, 1},
        {"empty", T + 160, 0, STT_FUNC, STB_GLOBAL, 1},
        {"__sized", T + 160, 16, STT_FUNC, STB_LOCAL, 1},
        {"small", T + 192, 8, STT_FUNC, STB_GLOBAL, 1},
        {"_large", T + 192, 16, STT_FUNC, STB_GLOBAL, 1},
    };
    struct made made = make(symbols, sizeof symbols / sizeof symbols[0], 0x1000);
    struct sonde__symbol symbol;
    CHECK_STR(name_at(&made, T), "read");
    CHECK(sonde__symbol_find(made.index, T, &symbol));
    CHECK_EQ(symbol.aliases, 2); /* a version makes no other name */
    CHECK_STR(name_at(&made, T + 32), "_function");
    CHECK_STR(name_at(&made, T + 64), "globals");
    CHECK_STR(name_at(&made, T + 96), "short");
    CHECK_STR(name_at(&made, T + 128), "aa");
    CHECK_STR(name_at(&made, T + 160), "__sized");
    CHECK_STR(name_at(&made, T + 192), "small");
    CHECK_STR(name_at(&made, T + 200), "_large");
    CHECK_STR(name_at(&made, T + 208), "(none)");
    done(&made);
}

TEST(symbols_that_are_no_functions_are_left_out)
{
    const struct made_symbol symbols[] = {{"$x", T, 0, STT_NOTYPE, STB_LOCAL, 1},
                                          {"$d.1", T + 16, 0, STT_NOTYPE, STB_LOCAL, 1},
                                          {"object", T + 32, 0, STT_OBJECT, STB_GLOBAL, 1},
                                          {"imported", T + 48, 16, STT_FUNC, STB_GLOBAL, 0},
                                          {"absolute", T + 64, 16, STT_FUNC, STB_GLOBAL, SHN_ABS},
                                          {"in_data", T + 80, 16, STT_NOTYPE, STB_GLOBAL, 2},
                                          {"$xpress", T + 96, 16, STT_FUNC, STB_GLOBAL, 1},
                                          {"outside", T + 0x10000, 16, STT_FUNC, STB_GLOBAL, 1}};
    struct made made = make(symbols, sizeof symbols / sizeof symbols[0], 0x1000);
    CHECK_EQ(sonde__symbol_count(made.index), 1);
    CHECK_STR(name_at(&made, T + 97), "$xpress");
    CHECK_STR(name_at(&made, T + 32), "(none)");
    CHECK_STR(name_at(&made, T + 48), "(none)");
    done(&made);
}

/* GHC's entry code has type OBJECT and a size. */
TEST(sized_objects_in_code_are_names)
{
    const struct made_symbol symbols[] = {{"Main_info", T, 16, STT_OBJECT, STB_GLOBAL, 1},
                                          {"both", T + 32, 16, STT_FUNC, STB_LOCAL, 1},
                                          {"other", T + 32, 16, STT_OBJECT, STB_GLOBAL, 1},
                                          {"in_data", T + 80, 16, STT_OBJECT, STB_GLOBAL, 2}};
    struct made made = make(symbols, sizeof symbols / sizeof symbols[0], 0x1000);
    CHECK_STR(name_at(&made, T + 15), "Main_info");
    CHECK_STR(name_at(&made, T + 16), "(none)");
    CHECK_STR(name_at(&made, T + 40), "both");
    CHECK_STR(name_at(&made, T + 80), "(none)");
    done(&made);
}

TEST(many_aliases_are_counted)
{
    struct made_symbol symbols[2000];
    char names[2000][16];
    struct sonde__symbol symbol;
    struct made made;
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(names[i], sizeof names[i], "n%u", 9000 - i);
        symbols[i] = (struct made_symbol){
            names[i], T + (i < 200 ? 0 : i < 206 ? 64 : 128), 16, STT_FUNC, STB_GLOBAL, 1};
    }
    made = make(symbols, 2000, 0x1000);
    CHECK(sonde__symbol_find(made.index, T + 3, &symbol));
    CHECK_EQ(symbol.aliases, 199);
    CHECK_STR(symbol.name, "n8801");
    CHECK(sonde__symbol_find(made.index, T + 64, &symbol));
    CHECK_EQ(symbol.aliases, 5);
    CHECK(sonde__symbol_find(made.index, T + 128, &symbol));
    CHECK_EQ(symbol.aliases, 2000 - 206 - 1);
    CHECK_STR(symbol.name, "n7001"); /* also if most of them come after the hashed ones */
    done(&made);
}

TEST(code_over_4_gib_is_refused_in_words)
{
    struct sonde__symbol_index *index;
    struct sonde_error error;
    struct sonde__elf elf;
    size_t size;
    void *data = made_elf(NULL, 0, ((uint64_t)1 << 32) + 4096, &size);
    CHECK_OK(sonde__elf_open(data, size, &elf, &error));
    CHECK_EQ(sonde__symbol_index_create(&elf, NULL, &index, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "4 GiB");
    free(data);
    data = made_elf(NULL, 0, (uint64_t)1 << 32, &size);
    CHECK_OK(sonde__elf_open(data, size, &elf, &error));
    CHECK_OK(sonde__symbol_index_create(&elf, NULL, &index, &error));
    sonde__symbol_index_destroy(index);
    free(data);
}

/* The linear scan that the index replaces, slow and plain. Of the sized symbols that cover the
 * address, it takes the last start. With several of that start, it takes the preferred one if it
 * reaches the address, else the largest. */
static const char *scan(const struct made_symbol *symbols, size_t count, uint64_t vaddr)
{
    const struct made_symbol *best = NULL, *chosen = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct made_symbol *s = &symbols[i];
        if (s->size == 0 || vaddr < s->value || vaddr - s->value >= s->size) {
            continue;
        }
        if (best == NULL || s->value > best->value ||
            (s->value == best->value && s->size > best->size)) {
            best = s;
        }
    }
    for (size_t i = 0; best != NULL && i < count; i++) {
        const struct made_symbol *s = &symbols[i];
        if (s->value == best->value && s->size != 0 &&
            (chosen == NULL || strcmp(s->name, chosen->name) < 0)) {
            chosen = s;
        }
    }
    if (best != NULL) {
        return vaddr - chosen->value < chosen->size ? chosen->name : best->name;
    }
    for (size_t i = 0; i < count; i++) { /* unsized: the last start, if none is between */
        const struct made_symbol *s = &symbols[i];
        if (s->value <= vaddr && (best == NULL || s->value > best->value ||
                                  (s->value == best->value && best->size == 0 && s->size == 0 &&
                                   strcmp(s->name, best->name) < 0) ||
                                  (s->value == best->value && s->size != 0))) {
            best = s;
        }
    }
    for (size_t i = 0; best != NULL && i < count; i++) { /* no label inside a function */
        const struct made_symbol *s = &symbols[i];
        if (best->size == 0 && s->size != 0 && s->value < best->value &&
            best->value - s->value < s->size) {
            return "(none)";
        }
    }
    return best != NULL && best->size == 0 ? best->name : "(none)";
}

/* Check the name, and the bounds of a sized symbol. */
static void check_scan(const struct made *made, const struct made_symbol *symbols, size_t count,
                       uint64_t vaddr, int round)
{
    const char *want = scan(symbols, count, vaddr);
    const char *got = name_at(made, vaddr);
    struct sonde__symbol symbol;
    if (strcmp(want, got) != 0) {
        for (size_t i = 0; i < count; i++) {
            printf("%s [%#lx, %#lx)\n", symbols[i].name, (long)symbols[i].value,
                   (long)(symbols[i].value + symbols[i].size));
        }
        FAIL("round %d at %#lx: %s, by scan %s", round, (long)vaddr, got, want);
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(symbols[i].name, got) == 0 && symbols[i].size != 0) {
            CHECK(sonde__symbol_find(made->index, vaddr, &symbol));
            CHECK_EQ(symbol.start, symbols[i].value);
            CHECK_EQ(symbol.end, symbols[i].value + symbols[i].size);
        }
    }
}

TEST_TIMEOUT(random_tables_equal_a_linear_scan, 120)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int round = 0; round < 300; round++) {
        struct made_symbol symbols[40];
        char names[40][8];
        struct made made;
        for (unsigned i = 0; i < 40; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            snprintf(names[i], sizeof names[i], "s%02u", i);
            symbols[i] = (struct made_symbol){
                names[i],
                T + (state >> 8) % 0x2100 / (round % 2 == 0 ? 1 : 64) * (round % 2 == 0 ? 1 : 64),
                state % 5 == 0 ? 0 : (state >> 40) % 300,
                STT_FUNC,
                STB_GLOBAL,
                1};
        }
        made = make(symbols, 40, 0x2300);
        for (uint64_t vaddr = T; vaddr < T + 0x2300; vaddr++) {
            check_scan(&made, symbols, 40, vaddr, round);
        }
        done(&made);
    }
}

/* Functions of many pages, nested ones, long gaps, and pages of many small ones. */
TEST_TIMEOUT(random_tables_of_all_sizes_equal_a_linear_scan, 120)
{
    static const uint64_t sizes[] = {0,    1,     7,     40,    2047,  2048,  2049,
                                     5000, 16382, 16383, 16384, 16385, 70000, 300000};
    enum { COUNT = 300, TEXT = 0x80000 };
    uint64_t state = 0x2545f4914f6cdd1du;
    for (int round = 0; round < 40; round++) {
        static struct made_symbol symbols[COUNT];
        static char names[COUNT][8];
        struct made made;
        for (unsigned i = 0; i < COUNT; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            uint64_t at = (state >> 8) % TEXT, kind = (state >> 40) % 16;
            if (round % 4 != 0 && i % 2 == 0) { /* half of the symbols in two pages */
                at = 0x30000 + at % 0x1000;
                kind %= 4;
            } else { /* few large ones: the index tracks a limited number of open symbols */
                kind %= i % 64 == 1 ? 14 : round % 4 > 1 ? 6 : 10;
            }
            snprintf(names[i], sizeof names[i], "s%03u", i);
            symbols[i] =
                (struct made_symbol){names[i], T + at, sizes[kind % 14], STT_FUNC, STB_GLOBAL, 1};
        }
        made = make(symbols, COUNT, TEXT);
        for (unsigned i = 0; i < COUNT; i++) {
            uint64_t start = symbols[i].value, end = start + symbols[i].size;
            uint64_t asked[] = {
                start - 1, start, start + 1, end - 1, end, end + 2048, T + (start * 7919) % TEXT};
            for (unsigned j = 0; j < sizeof asked / sizeof asked[0]; j++) {
                if (asked[j] >= T && asked[j] < T + TEXT) {
                    check_scan(&made, symbols, COUNT, asked[j], round);
                }
            }
        }
        done(&made);
    }
}

TEST(crowded_entries_are_answered_too)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    struct made_symbol symbols[64];
    struct sonde__symbol symbol;
    struct made made;
    size_t count = 0;
    for (uint64_t i = 0; i < 7; i++) { /* one name at T, two at T + 64, ... */
        for (uint64_t j = 0; j <= i; j++) {
            symbols[count++] =
                (struct made_symbol){names[j], T + 64 * i, 64, STT_FUNC, STB_GLOBAL, 1};
        }
    }
    symbols[count++] = (struct made_symbol){"large", T + 0x1000, 0x10000, STT_FUNC, STB_GLOBAL, 1};
    symbols[count++] = (struct made_symbol){"inner", T + 0x8000, 16, STT_FUNC, STB_LOCAL, 1};
    symbols[count++] = (struct made_symbol){"past", T + 0x1fff0, 0x100, STT_FUNC, STB_GLOBAL, 1};
    symbols[count++] =
        (struct made_symbol){"endless", T + 0x1ff00, UINT64_MAX - 4096, STT_FUNC, STB_GLOBAL, 1};
    made = make(symbols, count, 0x20000);
    for (uint64_t i = 0; i < 7; i++) {
        CHECK(sonde__symbol_find(made.index, T + 64 * i + 63, &symbol));
        CHECK_STR(symbol.name, "a");
        CHECK_EQ(symbol.aliases, i);
        CHECK_EQ(symbol.start, T + 64 * i);
        CHECK_EQ(symbol.end, T + 64 * i + 64);
    }
    CHECK_STR(name_at(&made, T + 0x800f), "inner");
    CHECK(sonde__symbol_find(made.index, T + 0x8010, &symbol));
    CHECK_STR(symbol.name, "large"); /* the large symbol goes on, with its own start */
    CHECK_EQ(symbol.start, T + 0x1000);
    CHECK_EQ(symbol.end, T + 0x11000);
    CHECK_STR(name_at(&made, T + 0x10fff), "large");
    CHECK_STR(name_at(&made, T + 0x11000), "(none)");
    CHECK(sonde__symbol_find(made.index, T + 0x1ffef, &symbol));
    CHECK_STR(symbol.name, "endless");
    CHECK_EQ(symbol.end, UINT64_MAX);
    CHECK(sonde__symbol_find(made.index, T + 0x1ffff, &symbol));
    CHECK_STR(symbol.name, "past"); /* the symbol's own end, though it is outside of the code */
    CHECK_EQ(symbol.end, T + 0x200f0);
    done(&made);
}

TEST(each_failed_allocation_is_clean)
{
    struct elf_file file = elf_file_open("/proc/self/exe");
    uint64_t asked;
    unsigned failures = 0;
    struct sonde__symbol_index *index = NULL;
    struct sonde_error error;
    sonde__mem_fail_from(UINT64_MAX);
    CHECK_OK(sonde__symbol_index_create(&file.elf, NULL, &index, &error));
    sonde__symbol_index_destroy(index);
    asked = sonde__mem_asked();
    for (uint64_t n = 0; n < asked; n++) {
        for (int once = 0; once < 2; once++) {
            enum sonde_status status;
            index = NULL;
            (once ? sonde__mem_fail_once : sonde__mem_fail_from)(n);
            status = sonde__symbol_index_create(&file.elf, NULL, &index, &error);
            CHECK_EQ(status, SONDE_MEMORY);
            CHECK_EQ(error.status, SONDE_MEMORY);
            CHECK(index == NULL);
            failures++;
        }
    }
    CHECK(failures >= 8);
    elf_file_done(&file);
}

TEST(the_index_is_small)
{
    enum { COUNT = 100000 };
    struct made_symbol *symbols = calloc(COUNT, sizeof *symbols);
    char *names = calloc(COUNT, 8);
    struct made made;
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(names + i * 8, 8, "f%u", i);
        symbols[i] = (struct made_symbol){names + i * 8, T + i * 200, 190, STT_FUNC, STB_LOCAL, 1};
    }
    made = make(symbols, COUNT, COUNT * 200);
    CHECK(sonde__symbol_index_bytes(made.index) <= COUNT * 85 / 10);
    for (unsigned i = 0; i < COUNT; i += 7) {
        CHECK_STR(name_at(&made, T + i * 200 + 189), names + i * 8);
        CHECK_STR(name_at(&made, T + i * 200 + 190), "(none)");
    }
    done(&made);
    free(symbols);
    free(names);
}
