// SPDX-License-Identifier: Apache-2.0
/* Blocks of outlined code (-Oz on arm64): sonde finds each block of -O2 again, with the same
 * descriptor and captures. Many similar functions make clang outline the filling of blocks, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "json.h"
#include "test.h"

enum { FUNCTIONS = 60, BLOCKS = FUNCTIONS / 6 * 9, METHODS = 60, METHOD_BLOCKS = METHODS / 6 * 10 };

static FILE *create(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    return file;
}

/* Six kinds of function, in turn. */
static void write_c(void)
{
    static const char *const kinds[] = {
        "void f%d(int a) { later(^(int x) { shown(a + x + %d); }); }",
        "int f%d(int a, int b) { int q = shown(a); later(^(int x) { shown(a * b + x + %d); });"
        " later(^(int x) { shown(q - x); }); return q; }",
        "int f%d(act a, int b) { later(^(int x) { a(x + b * %d); }); return shown(b); }",
        "int f%d(int n) { __block int s = n; later(^(int x) { s += x * %d; });"
        " each(^int(long l) { return s + (int)l; }); return s; }",
        "void f%d(int a) { if (shown(a)) later(^(int x) { shown(a - %d); });"
        " else later(^(int x) { shown(a ^ x); }); }",
        "void f%d(int n) { for (int j = 0; j < n; j++) later(^(int x) { shown(j + %d); }); }"};
    FILE *file = create("many.c");
    fputs("typedef void (^act)(int);\nextern void later(act);\nextern int shown(int);\n"
          "extern void each(int (^)(long));\n",
          file);
    for (int i = 0; i < FUNCTIONS; i++) {
        fprintf(file, kinds[i % 6], i, i); /* NOLINT: each has two numbers */
        fputc('\n', file);
    }
    fclose(file);
}

static void write_m(void)
{
    static const char *const kinds[] = {
        "- (void)f%d:(T *)o { later(^{ [self go:o]; shown(o); (void)%d; }); }",
        "- (int)f%d:(T *)o { __weak T *w = self; later(^{ [w go:o]; _n += %d; }); return _n; }",
        "- (void)f%d:(act)b { two(^{ b(); shown(self); (void)%d; }, ^{ b(); }); }",
        "- (void)f%d:(T *)o { __block T *x = o; two(^{ x = 0; shown(self); (void)%d; }, ^{ "
        "shown(x); }); }",
        "- (void)f%d:(T *)o { __weak T *w = self; later(^{ T *s = w; later(^{ [s go:o]; shown(s); "
        "(void)%d; }); }); }",
        "- (void)f%d:(T *)o { if (shown(o)) later(^{ [self go:o]; (void)%d; });"
        " else later(^{ [o go:self]; }); }"};
    FILE *file = create("many.m");
    fputs("__attribute__((objc_root_class)) @interface T { void *isa; T *_a; int _n; }\n"
          "- (void)go:(T *)o;\n@end\ntypedef void (^act)(void);\nextern void later(act);\n"
          "extern int shown(id);\nextern void two(act, act);\n@implementation T\n"
          "- (void)go:(T *)o {}\n",
          file);
    for (int i = 0; i < METHODS; i++) {
        fprintf(file, kinds[i % 6], i, i); /* NOLINT: each has two numbers */
        fputc('\n', file);
    }
    fputs("@end\n", file);
    fclose(file);
}

/* "FUNCTION DESCRIPTOR SIZE kind@offset ...", one line per block. */
static char *listed(const char *file, unsigned *ret_blocks)
{
    static char line[4000];
    char command[1200], *text = strdup("");
    size_t size = 0;
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command, "cd '%s' && '%s/cli/sonde' blocks --json %s", test_folder(),
             test_build_dir(), file);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *root = json_parse(run.out);
    CHECK_EQ(json_need(root->first, "unmatched")->count, 0);
    *ret_blocks = 0;
    JSON_EACH(desc, json_need(root->first, "descriptors"))
    {
        JSON_EACH(block, json_need(desc, "blocks"))
        {
            int used = snprintf(line, sizeof line, "%s %s %d", json_text(block, "symbol"),
                                json_text(desc, "symbol"), (int)json_int(desc, "size"));
            JSON_EACH(capture, json_need(desc, "captures"))
            {
                used += snprintf(line + used, sizeof line - (size_t)used, " %s@%d",
                                 json_text(capture, "kind"), (int)json_int(capture, "offset"));
            }
            size_t length = strlen(line);
            text = realloc(text, size + length + 2);
            CHECK(text != NULL);
            memcpy(text + size, line, length);
            memcpy(text + size + length, "\n", 2);
            size += length + 1;
            ++*ret_blocks;
        }
    }
    json_free(root);
    test_run_done(&run);
    return text;
}

static void check(const char *plain, const char *outlined, unsigned blocks)
{
    unsigned count;
    char *expected = listed(plain, &count);
    CHECK_EQ(count, blocks);
    char *found = listed(outlined, &count);
    CHECK_EQ(count, blocks);
    char *rest = found;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
        if (strstr(expected, line) == NULL) {
            FAIL("%s: not so in %s: %s", outlined, plain, line);
        }
    }
    free(expected);
    free(found);
}

static void build(const char *source, const char *flags, const char *name)
{
    static const char *const levels[] = {"-O2", "-Oz"};
    for (unsigned i = 0; i < 2; i++) {
        darwin_shell("clang-19 -target arm64-apple-macos13 -fblocks -ffreestanding -w %s %s -c %s "
                     "-o %s%s.o && ld64.lld-19 -arch arm64 -platform_version macos 13 13 "
                     "-undefined dynamic_lookup -dylib %s%s.o -o %s%s",
                     levels[i], flags, source, name, levels[i], name, levels[i], name, levels[i]);
        darwin_shell("clang-19 -target aarch64-linux-gnu -fPIC -fblocks -ffreestanding -w %s %s "
                     "-fobjc-runtime=macosx-10.11 -c %s -o elf-%s%s.o && ld.lld-19 -shared "
                     "elf-%s%s.o -o elf-%s%s",
                     levels[i], flags, source, name, levels[i], name, levels[i], name, levels[i]);
    }
}

TEST_TIMEOUT(finds_blocks_in_outlined_code, 300)
{
    write_c();
    build("many.c", "", "c");
    check("c-O2", "c-Oz", BLOCKS);
    check("c-O2", "c-Oz.o", BLOCKS);
    check("elf-c-O2", "elf-c-Oz", BLOCKS);
    char *symbols = darwin_output("llvm-nm-19 c-Oz");
    CHECK_CONTAINS(symbols, "OUTLINED_FUNCTION_9"); /* else the test proves nothing */
    free(symbols);
}

TEST_TIMEOUT(finds_blocks_in_outlined_methods, 300)
{
    write_m();
    build("many.m", "-fobjc-arc", "m");
    check("m-O2", "m-Oz", METHOD_BLOCKS);
    check("m-O2", "m-Oz.o", METHOD_BLOCKS);
    check("elf-m-O2", "elf-m-Oz", METHOD_BLOCKS);
}
