// SPDX-License-Identifier: Apache-2.0
/* C++ functions get their whole name, with scope and parameters. If the debug information has only
 * a plain name, the symbol table gives it, as to nm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "test.h"

static const char *build(const char *compiler)
{
    static char path[600];
    char command[2048];
    snprintf(path, sizeof path, "%s/outer", test_folder());
    snprintf(command, sizeof command, "%s -o %s %s/tests/integration/symindex/outer.cc", compiler,
             path, test_source_dir());
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 200);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
    return path;
}

/* The name of the outermost call at an address. */
static const char *outermost(struct program *p, uint64_t vaddr)
{
    struct sonde__symindex_frame frames[FRAMES_MAX];
    size_t count = sonde__symindex_find(&p->index, vaddr, frames, FRAMES_MAX);
    return count != 0 ? sonde__symindex_name(&p->strings, frames[count - 1].name) : "";
}

static bool is_name(struct program *p, const struct sonde__symindex_symbol *symbol,
                    const char *name)
{
    for (uint32_t i = 0; i <= symbol->alias_count; i++) {
        const char *own = sonde__symindex_name(
            &p->strings, i == 0 ? symbol->name : sonde__symindex_alias(&p->index, symbol, i - 1));
        size_t size = strcspn(own, "."); /* ".isra.0" is not part of the name */
        if (strncmp(own, name, size) == 0 && name[size] == '\0') {
            return true;
        }
    }
    return false;
}

static void check(const char *compiler)
{
    struct program p;
    unsigned encoded = 0;
    open_program(build(compiler), &p);
    CHECK(p.made.units != 0);
    for (uint32_t i = 0; i < p.index.symbols; i++) {
        struct sonde__symindex_symbol symbol;
        CHECK(sonde__symindex_symbol_at(&p.index, i, &symbol));
        if (strncmp(sonde__symindex_name(&p.strings, symbol.name), "_Z", 2) != 0) {
            continue;
        }
        const char *name = outermost(&p, symbol.start);
        /* gcc's linkage name of all variants of a constructor or destructor */
        bool unified = strstr(name, "C4") != NULL || strstr(name, "D4") != NULL;
        if (!is_name(&p, &symbol, name) && !unified) {
            FAIL("%s: %s is called %s", compiler, sonde__symindex_name(&p.strings, symbol.name),
                 name);
        }
        encoded++;
    }
    CHECK(encoded > 10);
    close_program(&p);
}

TEST_TIMEOUT(outer_names_of_gcc, 250)
{
    check("g++ -O1 -g");
    check("g++ -O2 -g1");
    check("g++ -O0 -g -gdwarf-4");
}

TEST_TIMEOUT(outer_names_of_clang, 250)
{
    check("clang-19 -x c++ -O1 -g1 -lstdc++");
    check("clang-19 -x c++ -O2 -gline-tables-only -lstdc++");
    check("clang-19 -x c++ -O2 -g -lstdc++ -ffunction-sections -Wl,--gc-sections");
}

/* Functions on one line share a row in the line table, with padding between them. */
static const char one_line[] =
    "struct B { virtual ~B(); virtual int f() const noexcept; };\n"
    "B::~B() {} int B::f() const noexcept { return 1; } "
    "struct D : virtual B { int f() const noexcept override { return 2; } };\n"
    "int main(int c, char **) { D d; B *b = &d; B e; return c > 1 ? b->f() : e.f(); }\n";

/* Every byte of the program, padding included: bytes outside of functions have no line. */
static void check_lines(const char *compiler)
{
    enum { MOST = 20000 };
    static uint64_t addresses[MOST];
    char source[600], path[600], command[2048];
    struct program p;
    unsigned count = 0;
    snprintf(source, sizeof source, "%s/line.cc", test_folder());
    snprintf(path, sizeof path, "%s/line", test_folder());
    test_write_file(source, one_line, sizeof one_line - 1);
    snprintf(command, sizeof command, "%s -o %s %s", compiler, path, source);
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    open_program(path, &p);
    for (; count < MOST && count < p.text_size; count++) {
        addresses[count] = p.text_vaddr + count;
    }
    close_program(&p);
    struct agreement a = compare(path, NULL, addresses, count);
    if (a.known != count || a.same != count) {
        FAIL("%s: of %u addresses %u have the lines of llvm-symbolizer", compiler, count, a.same);
    }
}

TEST_TIMEOUT(outer_lines_of_every_byte, 250)
{
    check_lines("g++ -O2 -g1");
    check_lines("g++ -O2 -g -gdwarf-4");
    check_lines("clang-19 -x c++ -O2 -g -lstdc++");
}

/* C functions keep the names of their debug information. */
TEST_TIMEOUT(outer_names_of_c_are_plain, 100)
{
    struct program p;
    char source[600], command[1300];
    snprintf(source, sizeof source, "%s/plain.c", test_folder());
    static const char text[] = "int _Z3barv(void) __attribute__((alias(\"foo\")));\n"
                               "__attribute__((noinline)) int foo(void) { return 1; }\n"
                               "int main(void) { return foo(); }\n";
    test_write_file(source, text, sizeof text - 1);
    snprintf(command, sizeof command, "cd %s && cc -O1 -g -o plain plain.c", test_folder());
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    snprintf(source, sizeof source, "%s/plain", test_folder());
    open_program(source, &p);
    for (uint32_t i = 0; i < p.index.symbols; i++) {
        struct sonde__symindex_symbol symbol;
        CHECK(sonde__symindex_symbol_at(&p.index, i, &symbol));
        if (is_name(&p, &symbol, "foo")) {
            CHECK_STR(outermost(&p, symbol.start), "foo");
            CHECK(is_name(&p, &symbol, "_Z3barv"));
        }
    }
    close_program(&p);
}
