// SPDX-License-Identifier: Apache-2.0
/* Names of Objective-C methods from the lists of the GNU runtime, in process and by the program.
 * The compiler's own symbols give each method's place; the stripped copy has no symbols. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "image_elf.h"
#include "symbol_index.h"
#include "test.h"

/* clang's symbols, with their meaning from the source. */
static const struct {
    const char *symbol, *name;
} methods[] = {
    {"_i_My_Class__do_it_with_that_", "-[My_Class do_it:with_that:]"},
    {"_i_My_Class__plain", "-[My_Class plain]"},
    {"_c_My_Class__make__", "+[My_Class make_:]"},
    {"_i_My_Class_Some_Category_more__", "-[My_Class(Some_Category) more_:]"},
    {"_c_My_Class_Some_Category_other", "+[My_Class(Some_Category) other]"},
    {"_i_My___Class_", "-[My _Class:]"},
};
enum { METHODS = sizeof methods / sizeof methods[0] };

static void build(uint64_t *ret_starts)
{
    darwin_shell("clang-19 -fobjc-runtime=gcc -fPIC -O1 -c '%s/tests/integration/objc/methods.m' "
                 "-o methods.o && runtime=$(ldconfig -p | sed -n 's/.*libobjc.so.4.* => //p' | "
                 "head -1) && ld.lld-19 -shared --eh-frame-hdr --build-id -o named methods.o "
                 "$runtime && llvm-strip-19 -o stripped named",
                 test_source_dir());
    for (unsigned i = 0; i < METHODS; i++) {
        char *line = darwin_output("llvm-nm-19 named | grep ' %s$'", methods[i].symbol);
        ret_starts[i] = strtoull(line, NULL, 16);
        CHECK(ret_starts[i] != 0);
        free(line);
    }
}

TEST_TIMEOUT(names_methods_in_process, 100)
{
    static const char *const files[] = {"named", "stripped"};
    uint64_t starts[METHODS];
    build(starts);
    for (unsigned k = 0; k < 2; k++) {
        struct sonde__elf elf;
        struct sonde__symbol_index *index;
        struct sonde__symbol symbol;
        struct sonde_error error;
        char path[600];
        size_t size;
        snprintf(path, sizeof path, "%s/%s", test_folder(), files[k]);
        char *bytes = test_read_file(path, &size);
        CHECK_OK(sonde__elf_open(bytes, size, &elf, &error));
        CHECK_OK(sonde__symbol_index_create(&elf, NULL, &index, &error));
        for (unsigned i = 0; i < METHODS; i++) {
            CHECK(sonde__symbol_find(index, starts[i] + 2, &symbol));
            CHECK_STR(symbol.name, methods[i].name);
            CHECK_EQ(symbol.start, starts[i]);
            CHECK(symbol.end > symbol.start && symbol.end - symbol.start < 64);
            CHECK(!sonde__symbol_find(index, symbol.end, &symbol) || symbol.start > starts[i]);
        }
        sonde__symbol_index_destroy(index);
        free(bytes);
    }
}

TEST_TIMEOUT(names_methods_in_indexes, 100)
{
    static const char *const files[] = {"named", "stripped"};
    uint64_t starts[METHODS];
    build(starts);
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < METHODS; i++) {
            char *text = darwin_output("'%s/cli/sonde' symbolize ./%s+0x%llx", test_build_dir(),
                                       files[k], (unsigned long long)starts[i] + 1);
            CHECK_CONTAINS(text, methods[i].name);
            free(text);
        }
    }
}

/* Debian's stripped library, if it is unpacked or installed: thousands of methods. */
TEST_TIMEOUT(records_methods_of_gnustep, 200)
{
    char *path =
        darwin_output("ls -d \"${SONDE_CACHE:-$HOME/.cache/sonde}\"/deb/libgnustep-base1.28"
                      "/usr/lib/libgnustep-base.so.1.28.? "
                      "/usr/lib/libgnustep-base.so.1.28.? 2>/dev/null | head -1");
    if (path[0] == '\0') {
        SKIP("libgnustep-base1.28 is not unpacked (./dev setup test)");
    }
    path[strcspn(path, "\n")] = '\0';
    struct sonde__elf elf;
    struct sonde__symbol_index *index;
    struct sonde__symbol symbol;
    struct sonde_error error;
    size_t size;
    unsigned named = 0, functions = 0;
    uint64_t start, end;
    char *bytes = test_read_file(path, &size);
    CHECK_OK(sonde__elf_open(bytes, size, &elf, &error));
    CHECK_OK(sonde__symbol_index_create(&elf, NULL, &index, &error));
    CHECK(sonde__elf_text_range(&elf, &start, &end));
    for (uint64_t at = start; at<end; at = symbol.end> at ? symbol.end : at + 1) {
        symbol.end = 0;
        if (sonde__symbol_find(index, at, &symbol)) {
            functions++;
            named += symbol.name[0] == '-' || symbol.name[0] == '+';
        }
    }
    dprintf(STDOUT_FILENO, "    %u of %u functions are methods\n", named, functions);
    CHECK(named > 7500);
    sonde__symbol_index_destroy(index);
    free(bytes);
    free(path);
}
