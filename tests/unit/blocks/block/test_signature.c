// SPDX-License-Identifier: Apache-2.0
/* Encodings to C, against clang: it prints the type of each block of a program that is compiled
 * here (-ast-dump), and writes its encoding into the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "block.h"
#include "test.h"

static char declared[4096];

static const char *declare(const char *encoding, const char *name)
{
    struct sonde__text out;
    sonde__base_text_init(&out, declared, sizeof declared);
    return sonde__block_signature(encoding, strlen(encoding), name, &out) ? declared : "(not)";
}

TEST(prints_signatures_of_real_programs)
{
    CHECK_STR(declare("v24@?0@\"MLModel\"8@\"NSError\"16", NULL), "void (^)(MLModel *, NSError *)");
    CHECK_STR(declare("B32@?0@\"RTCIODevice\"8Q16^B24", "test"),
              "bool (^test)(RTCIODevice *, unsigned long, bool *)");
    CHECK_STR(declare("v16\1?0\1\"<MTLCommandBuffer>\"8", NULL), "void (^)(id<MTLCommandBuffer>)");
    CHECK_STR(declare("v8@?0", NULL), "void (^)(void)");
}

TEST(prints_what_encodings_leave_out_as_unknown)
{
    CHECK_STR(declare("v16@?0^?8", NULL), "void (^)(void * /* function */)");
    CHECK_STR(declare("v16@?0@?8", NULL), "void (^)(id /* block */)");
    CHECK_STR(declare("v24@?0{?=b3[3f]}8", NULL), "void (^)(struct {...})");
    CHECK_STR(declare("v32@?0i816f24", NULL), "void (^)(int, /* not encoded */, float)");
}

/* Truncated at every length, and with every byte changed: false or some text, without overrun. */
TEST(refuses_truncated_and_hostile_signatures)
{
    static const char good[] =
        "@?<v@?i@?<v@?@\"O\">>236@?0@\"O\"8@\"O<P>\"16#32:40^?88{S=b3[3f]@}112(U=id)144[3i]152"
        "r*160^^i228";
    char bad[sizeof good];
    struct sonde__text out;
    unsigned understood = 0;
    CHECK(strcmp(declare(good, NULL), "(not)") != 0);
    for (size_t size = 0; size < sizeof good - 1; size++) {
        sonde__base_text_init(&out, declared, sizeof declared);
        sonde__base_text_str(&out, "kept");
        if (!sonde__block_signature(good, size, NULL, &out)) {
            CHECK_STR(declared, "kept");
        }
        for (unsigned byte = 0; byte < 256; byte++) {
            memcpy(bad, good, sizeof good);
            bad[size] = (char)byte;
            sonde__base_text_init(&out, declared, 200);
            understood += sonde__block_signature(bad, sizeof good - 1, NULL, &out);
            for (const char *c = declared; *c != '\0'; c++) {
                CHECK((unsigned char)*c >= ' ');
            }
        }
    }
    CHECK(understood > 0);
    static const char *const not [] = {"",
                                       "v",
                                       "v8",
                                       "v8@",
                                       "@?0",
                                       "v8@?0\"",
                                       "v8@?0@\"\n\"8",
                                       "v8@?0{S",
                                       "v8@?0[999999999999999999999999i]8",
                                       "v8@?0zz"};
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++) {
        CHECK_STR(declare(not [i], NULL), "(not)");
    }
}

/* Each level would be read twice by each level around it. */
TEST(bounds_blocks_that_return_blocks)
{
    char deep[3000] = "", *at = deep;
    for (int i = 0; i < 300; i++) {
        at += sprintf(at, "@?<");
    }
    CHECK_STR(declare(deep, NULL), "(not)");
    at = deep;
    for (int i = 0; i < 20; i++) {
        at += sprintf(at, "@?<");
    }
    at += sprintf(at, "v@?");
    for (int i = 0; i < 20; i++) {
        at += sprintf(at, ">%s", i < 19 ? "@?" : "");
    }
    sprintf(at, "8@?0");
    CHECK(declare(deep, NULL) != NULL); /* understood or not, it ends */
    memset(deep, '^', 2999);
    deep[2999] = '\0';
    CHECK_STR(declare(deep, NULL), "(not)");
}

/* Results and parameters. Without pointers to blocks, which clang encodes as `id *`. */
static const char *const blocks[][2] = {
    {"void", "void"},
    {"void", "O *a, id<P> b, O<P> *c, Class d, SEL e"},
    {"int", "char a, unsigned char b, short c, unsigned short d, unsigned e, long f, "
            "unsigned long g"},
    {"float", "double a, long double b, _Bool c, __int128 d, unsigned __int128 e"},
    {"char *", "const char *a, void **b, const int **c, const void *d"},
    {"void", "int a, void (^b)(int, void (^)(O *))"},
    {"R1", "O *a, int b"},
    {"R2", "O *a"},
    {"struct S", "struct S *a, union U b, struct Opaque *c"},
    {"void", "int (*a)[3], int *(*b)[4][5]"},
    {"id", "id a, id<P> *b, O **c"},
    {"_Complex float", "_Complex double *a"},
    {"void", "struct S (^a)(void), R1 (^b)(R2, R4)"},
    {"R4", "void"},
};

#define BLOCKS (sizeof blocks / sizeof blocks[0])
#define COMPILER                                                                                   \
    "clang-19 -fblocks -fobjc-runtime=macosx -Xclang -fencode-extended-block-signature -w -x "     \
    "objective-c"

static const char preamble[] =
    "@class O; @protocol P @end\n"
    "struct Opaque; struct S { int a; float b[2]; O *c; }; union U { int a; float b; };\n"
    "typedef void (^R1)(long); typedef int (^(^R2)(short))(O *); \n"
    "typedef int (*R4)[7];\n"
    "int puts(const char *); void *_NSConcreteGlobalBlock[32];\n"
    "struct literal { void *header[3]; struct { long sizes[2]; const char *encoding; } *d; };\n";

static char *compile_and_run(const char *source)
{
    char command[2000];
    snprintf(command, sizeof command, "cd '%s' && " COMPILER " t.m -o t && ./t", test_folder());
    snprintf(declared, sizeof declared, "%s/t.m", test_folder());
    test_write_file(declared, source, strlen(source));
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    if (run.status != 0) {
        FAIL("%s", run.err);
    }
    char *out = strdup(run.out);
    CHECK(out != NULL);
    test_run_done(&run);
    return out;
}

/* Clang compiles blocks, which print their encodings; then it compiles our declarations beside the
 * same blocks and finds each of the same type as its block. */
TEST_TIMEOUT(clang_encodes_a_printed_declaration_alike, 250)
{
    static char source[16384];
    char name[16];
    int used = snprintf(source, sizeof source, "%s", preamble);
    for (size_t i = 0; i < BLOCKS; i++) {
        used += snprintf(source + used, sizeof source - (size_t)used,
                         "__auto_type b%zu = ^%s(%s) { for (;;) { } };\n", i, blocks[i][0],
                         blocks[i][1]);
    }
    int common = used;
    used += snprintf(source + used, sizeof source - (size_t)used, "int main(void) {");
    for (size_t i = 0; i < BLOCKS; i++) {
        used += snprintf(source + used, sizeof source - (size_t)used,
                         "puts(((struct literal *)b%zu)->d->encoding);\n", i);
    }
    snprintf(source + used, sizeof source - (size_t)used, "}\n");
    char *encodings = compile_and_run(source);
    used = common;
    used += snprintf(source + used, sizeof source - (size_t)used, "#define bool _Bool\n");
    size_t count = 0;
    for (char *line = strtok(encodings, "\n"); line != NULL; line = strtok(NULL, "\n"), count++) {
        snprintf(name, sizeof name, "x%zu", count);
        if (strcmp(declare(line, name), "(not)") == 0) {
            FAIL("%s is not understood", line);
        }
        used +=
            snprintf(source + used, sizeof source - (size_t)used,
                     "extern %s;\n_Static_assert(__builtin_types_compatible_p(__typeof__(b%zu), "
                     "__typeof__(x%zu)), \"%zu\");\n",
                     declared, count, count, count);
    }
    CHECK_EQ(count, BLOCKS);
    snprintf(source + used, sizeof source - (size_t)used, "int main(void) { return 0; }\n");
    free(encodings);
    free(compile_and_run(source));
}
