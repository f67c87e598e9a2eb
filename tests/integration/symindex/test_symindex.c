// SPDX-License-Identifier: Apache-2.0
/* Index files against llvm-symbolizer (agree.h), and against names written by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agree.h"
#include "test.h"

static void build(const char *compiler, const char *options, char *path, size_t size)
{
    char command[1200];
    const char *s = test_source_dir();
    snprintf(path, size, "%s/program", test_folder());
    snprintf(command, sizeof command,
             "%s %s -o %s -D_GNU_SOURCE -I%s/include -I%s/src/common/base -I%s/src/names/symbol "
             "-I%s/src/common/mem "
             "-I%s/src/images/image -I%s/src/names/tail -I%s/src/names/symindex "
             "%s/src/names/symindex/*.c -shared -fPIC",
             compiler, options, path, s, s, s, s, s, s, s, s);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 200);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
}

static void check(const char *compiler, const char *options)
{
    char path[512];
    build(compiler, options, path, sizeof path);
    struct agreement a = compare(path, NULL, NULL, 3000);
    CHECK(a.known > 2000);
    must_agree(options, a);
}

TEST_TIMEOUT(symindex_gcc_version_5, 250)
{
    check("gcc", "-O2 -gdwarf-5");
}

TEST_TIMEOUT(symindex_gcc_version_4_sections_collected, 250)
{
    check("gcc", "-O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections");
}

TEST_TIMEOUT(symindex_gcc_version_2, 250)
{
    check("gcc", "-O2 -gdwarf-2 -gstrict-dwarf");
}

TEST_TIMEOUT(symindex_gcc_link_time_optimised, 250)
{
    check("gcc", "-O2 -g -flto");
}

TEST_TIMEOUT(symindex_clang_version_5, 250)
{
    check("clang", "-O2 -gdwarf-5");
}

TEST_TIMEOUT(symindex_clang_version_4_64_bit_format, 250)
{
    check("clang", "-O3 -gdwarf-4 -gdwarf64");
}

static void build_source(const char *source, const char *options, char *path, size_t size)
{
    char command[1200];
    char file[300];
    snprintf(file, sizeof file, "%s/source.c", test_folder());
    snprintf(path, size, "%s/made.so", test_folder());
    test_write_file(file, source, strlen(source));
    snprintf(command, sizeof command, "gcc %s -shared -fPIC -o %s %s", options, path, file);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
}

/* C++ without its library: linkage names, constructors with two names, templates, lambdas. */
TEST(symindex_linkage_names)
{
    static const char source[] =
        "template <int N> struct adder {\n"
        "    volatile int *p;\n"
        "    __attribute__((noinline)) adder(volatile int *q) : p(q) { *p += N; }\n"
        "    int get() const { return *p + N; }\n"
        "};\n"
        "namespace deep { static int twice(adder<3> a) { return a.get() + a.get(); } }\n"
        "static __attribute__((noinline)) int hidden(int x, volatile int *p) { return x * *p; }\n"
        "int shown(volatile int *p);\n"
        "int shown(volatile int *p) {\n"
        "    auto inner = [p](int k) { return deep::twice(adder<3>(p)) + k; };\n"
        "    return hidden(inner(*p), p) + adder<7>(p).get();\n"
        "}\n";
    char path[512], file[300], command[1200];
    snprintf(file, sizeof file, "%s/source.cc", test_folder());
    snprintf(path, sizeof path, "%s/made.so", test_folder());
    test_write_file(file, source, sizeof source - 1);
    snprintf(command, sizeof command, "clang -x c++ -O2 -g -shared -fPIC -nostdlib -o %s %s", path,
             file);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
    struct agreement a = compare(path, NULL, NULL, 2000);
    CHECK(a.known > 500);
    CHECK_EQ(a.same, a.known);
    CHECK_EQ(a.same_names, a.known);
}

/* A few calls have lines and distances too large for the usual width. */
TEST(symindex_escapes)
{
    static const char head[] = "static inline int f(volatile int *p) {\n    return *p;\n}\n"
                               "int many(volatile int *p);\nint many(volatile int *p) {\n"
                               "    int r = 0;\n";
    char *source = malloc(40000);
    char path[512];
    size_t used = (size_t)sprintf(source, "%s", head);
    struct program p;
    for (unsigned i = 0; i < 600; i++) {
        used += (size_t)sprintf(source + used, "%s    r += f(p + %u);\n",
                                i == 300   ? "#line 5000000\n"
                                : i == 301 ? "#line 320\n"
                                           : "",
                                i);
    }
    sprintf(source + used, "    return r;\n}\n");
    build_source(source, "-O2 -g", path, sizeof path);
    free(source);
    open_program(path, &p);
    CHECK(p.index.escapes > 0);
    CHECK(p.index.calls > 600);
    close_program(&p);
    struct agreement a = compare(path, NULL, NULL, 2000);
    CHECK(a.known > 1000);
    CHECK_EQ(a.same, a.known);
}

/* The byte before each return address, by objdump of a stripped copy. */
static unsigned return_addresses(const char *path, uint64_t **ret_addresses, unsigned max)
{
    const char *argv[] = {"sh", "-c",
                          "objdump -d --no-show-raw-insn -j .text \"$0\" | grep -A1 -E '\tcall ' | "
                          "grep -oE '^ *[0-9a-f]+:' | awk 'NR % 2 == 0'",
                          path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 300);
    uint64_t *addresses = malloc(max * sizeof *addresses);
    unsigned n = 0;
    unsigned seen = 0;
    CHECK(addresses != NULL);
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (seen++ % 7 == 0 && n < max) {
            addresses[n++] = strtoull(line, NULL, 16) - 1;
        }
    }
    test_run_done(&run);
    *ret_addresses = addresses;
    return n;
}

/* Debian's largest files, if they were fetched (./dev bench index does it). */
static void check_corpus(const char *name, const char *image)
{
    char path[600], image_path[700];
    const char *cache = getenv("SONDE_CACHE");
    const char *home = getenv("HOME");
    uint64_t *addresses;
    if (cache != NULL) {
        snprintf(path, sizeof path, "%s/inflated/%s.debug", cache, name);
        snprintf(image_path, sizeof image_path, "%s/deb/%s", cache, image);
    } else {
        snprintf(path, sizeof path, "%s/.cache/sonde/inflated/%s.debug", home, name);
        snprintf(image_path, sizeof image_path, "%s/.cache/sonde/deb/%s", home, image);
    }
    if (!test_long()) {
        SKIP("large programs only with --long");
    }
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        SKIP("not fetched: %s", name);
    }
    fclose(file);
    must_agree("random addresses", compare(path, NULL, NULL, 100000));
    unsigned count = return_addresses(image_path, &addresses, 50000);
    CHECK(count > 10000);
    must_agree("return addresses", compare(path, NULL, addresses, count));
    free(addresses);
}

TEST_TIMEOUT(symindex_libjvm, 900)
{
    check_corpus("libjvm.so", "openjdk-17-jre-headless/usr/lib/jvm/java-17-openjdk-amd64/lib/"
                              "server/libjvm.so");
}

TEST_TIMEOUT(symindex_ceph_osd, 900)
{
    check_corpus("ceph-osd", "ceph-osd/usr/bin/ceph-osd");
}

static uint64_t symbol_value(const struct program *p, const char *name)
{
    struct sonde__elf_section symtab;
    struct sonde__elf_symbol symbol;
    CHECK(sonde__elf_section_by_name(&p->elf, ".symtab", &symtab));
    for (uint32_t i = 0; i < sonde__elf_symbol_count(&p->elf, &symtab); i++) {
        CHECK(sonde__elf_symbol(&p->elf, &symtab, i, &symbol));
        if (strcmp(symbol.name, name) == 0) {
            return symbol.value;
        }
    }
    FAIL("no symbol %s", name);
}

/* Names as a person would give them. */
TEST(symindex_names_inlined_calls)
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
                                 "}\n"
                                 "int also(volatile int *p) __attribute__((alias(\"outer\")));\n";
    struct sonde__symindex_frame frames[8];
    struct sonde__symindex_symbol symbol;
    struct program p;
    char path[512];
    build_source(source, "-O2 -g", path, sizeof path);
    open_program(path, &p);
    uint64_t at = symbol_value(&p, "outer");
    CHECK_EQ(sonde__symindex_find(&p.index, at, frames, 8), 3);
    CHECK_STR(sonde__symindex_name(&p.strings, frames[0].name), "inner");
    CHECK_EQ(frames[0].line, 2);
    CHECK_STR(sonde__symindex_name(&p.strings, frames[1].name), "middle");
    CHECK_EQ(frames[1].line, 5);
    CHECK_STR(sonde__symindex_name(&p.strings, frames[2].name), "outer");
    CHECK_EQ(frames[2].line, 9);
    CHECK_CONTAINS(sonde__symindex_file(&p.strings, frames[2].file), "/source.c");
    CHECK_EQ(sonde__symindex_find(&p.index, at, frames, 2), 2); /* as many as fit */
    CHECK(sonde__symindex_symbol(&p.index, at + 1, &symbol));
    CHECK_EQ(symbol.start, at);
    CHECK_EQ(symbol.alias_count, 1);
    CHECK_STR(sonde__symindex_name(&p.strings, symbol.name), "also"); /* the shorter name */
    CHECK_STR(sonde__symindex_name(&p.strings, sonde__symindex_alias(&p.index, &symbol, 0)),
              "outer");
    CHECK_EQ(sonde__symindex_alias(&p.index, &symbol, 1), 0);
    close_program(&p);
}

/* Without DWARF there are names without lines; padding has no name. */
TEST(symindex_of_symbols_only)
{
    struct sonde__symindex_frame frames[8];
    struct program p;
    char path[512];
    build_source(
        "int one(void);\nint two(void);\nint one(void){return 1;}\nint two(void){return 2;}\n",
        "-O2 -g0", path, sizeof path);
    open_program(path, &p);
    CHECK_EQ(p.made.units, 0);
    uint64_t at = symbol_value(&p, "two");
    CHECK_EQ(sonde__symindex_find(&p.index, at + 1, frames, 8), 1);
    CHECK_STR(sonde__symindex_name(&p.strings, frames[0].name), "two");
    CHECK_EQ(frames[0].line, 0);
    CHECK_STR(sonde__symindex_file(&p.strings, frames[0].file), "");
    CHECK_EQ(sonde__symindex_find(&p.index, at - 1, frames, 8), 0);
    close_program(&p);
}

/* Many addresses at once give the answers of single ones; a second conversion gives the same
 * file. */
TEST_TIMEOUT(symindex_many_addresses, 250)
{
    enum { COUNT = 3000 };
    static uint64_t vaddrs[COUNT];
    static uint32_t first[COUNT], count[COUNT];
    static struct sonde__symindex_frame frames[COUNT * 20];
    struct sonde__symindex_frame one[FRAMES_MAX];
    struct program p, again;
    char path[512];
    uint64_t seed = 7;
    build("gcc", "-O2 -g", path, sizeof path);
    open_program(path, &p);
    for (unsigned i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        vaddrs[i] = p.text_vaddr + (seed >> 20) % p.text_size;
    }
    vaddrs[17] = 0;
    vaddrs[18] = UINT64_MAX;
    CHECK_OK(sonde__symindex_find_many(&p.index, vaddrs, COUNT, frames, COUNT * 20, first, count));
    for (unsigned i = 0; i < COUNT; i++) {
        size_t n = sonde__symindex_find(&p.index, vaddrs[i], one, FRAMES_MAX);
        CHECK_EQ(n, count[i]);
        CHECK(n == 0 || memcmp(one, frames + first[i], n * sizeof one[0]) == 0);
    }
    CHECK_EQ(count[17], 0);
    CHECK_EQ(sonde__symindex_find_many(&p.index, vaddrs, COUNT, frames, 5, first, count),
             SONDE_LIMIT);
    open_program(path, &again); /* the same input gives the same bytes */
    CHECK_EQ(p.made.size, again.made.size);
    CHECK(memcmp(p.made.data, again.made.data, p.made.size) == 0);
    close_program(&again);
    close_program(&p);
}

TEST(symindex_refuses_other_files)
{
    struct sonde__symindex index;
    struct sonde__symindex_made made;
    struct sonde_error error;
    struct program p;
    char path[512];
    CHECK_EQ(sonde__symindex_open("not an index", 12, &index, &error), SONDE_UNSUPPORTED);
    build_source("int one(void);\nint one(void){return 1;}\n", "-O2 -g -gz=zlib", path,
                 sizeof path);
    static const struct sonde__symfile_options options = {.debug_root = "/nonexistent"};
    CHECK_OK(sonde__symfile_open(&options, path, &p.pair, &error));
    p.elf = p.pair.debug;
    struct sonde__symindex_source source = {.debug = &p.elf}; /* sections as stored */
    CHECK_EQ(sonde__symindex_convert(&source, &made, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "compressed");
    sonde__symfile_close(&p.pair);
}
