// SPDX-License-Identifier: Apache-2.0
/* sonde blocks: the boxes of __block variables that code fills on its stack. Their headers equal
 * those that clang stores (in its intermediate language, before optimisation), and they hold the
 * variables of the source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "json.h"
#include "test.h"

#define CORPUS "tests/integration/blocks/corpus/"

enum { BOXES = 64 };

static const char *const triples[] = {
    "arm64-apple-macos13",
    "x86_64-apple-macos13",
    "aarch64-linux-gnu -fobjc-runtime=macosx-10.15",
    "x86_64-linux-gnu -fobjc-runtime=macosx-10.15",
};

static struct json *blocks_of(const char *file)
{
    char *output = darwin_output("'%s/cli/sonde' blocks --json %s", test_build_dir(), file);
    struct json *all = json_parse(output);
    free(output);
    return all;
}

/* --- headers --- */

struct headers {
    uint64_t all[BOXES]; /* flags, with size in the upper half; each once */
    size_t count;
};

static void add(struct headers *headers, uint32_t flags, uint32_t size)
{
    uint64_t header = flags | (uint64_t)size << 32;
    for (size_t i = 0; i < headers->count; i++) {
        if (headers->all[i] == header) {
            return;
        }
    }
    CHECK(headers->count < BOXES);
    headers->all[headers->count++] = header;
}

static bool has(const struct headers *headers, uint64_t header)
{
    for (size_t i = 0; i < headers->count; i++) {
        if (headers->all[i] == header) {
            return true;
        }
    }
    return false;
}

/* "store i32 838860800, ptr %byref.flags5, align 8", then the same for the size. */
static void read_code(struct headers *headers)
{
    char *output = darwin_output("grep -E 'store i32 .*, ptr %%byref.(flags|size)' code.ll");
    char *rest = output;
    uint32_t flags = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
        const char *value = strstr(line, "store i32 ") + 10;
        if (strstr(line, ".flags") != NULL) {
            flags = (uint32_t)strtol(value, NULL, 10);
        } else {
            add(headers, flags, (uint32_t)strtoul(value, NULL, 10));
        }
    }
    free(output);
}

static void read_ours(const char *file, struct headers *headers)
{
    struct json *all = blocks_of(file);
    JSON_EACH(desc, json_need(all->first, "descriptors"))
    {
        JSON_EACH(block, json_need(desc, "blocks"))
        {
            JSON_EACH(box, json_need(block, "boxes"))
            {
                add(headers, (uint32_t)json_int(box, "flags"), (uint32_t)json_int(box, "size"));
            }
        }
    }
    json_free(all);
}

/* Unoptimised code fills a box far from the block, in functions as long as the corpus's: most boxes
 * are found there, and no wrong one. */
static void compare(const char *triple, const char *file, const char *flags, const char *level)
{
    struct headers its = {0}, ours = {0};
    size_t found = 0;
    darwin_shell("for o in '-O0 -fno-discard-value-names -S -emit-llvm -o code.ll' "
                 "'%s -c -o part.o'; do clang-19 -target %s %s -fPIC -w -fblocks -ffreestanding "
                 "$o '%s/" CORPUS "%s'; done",
                 level, triple, flags, test_source_dir(), file);
    read_code(&its);
    read_ours("part.o", &ours);
    for (size_t i = 0; i < its.count; i++) {
        found += has(&ours, its.all[i]);
    }
    for (size_t i = 0; i < ours.count; i++) {
        if (!has(&its, ours.all[i])) {
            FAIL("%s %s %s: a box of flags %x and %u bytes, which is none", triple, file, level,
                 (unsigned)ours.all[i], (unsigned)(ours.all[i] >> 32));
        }
    }
    CHECK(its.count > 2);
    if (strcmp(level, "-O0") == 0 ? found < its.count - 2 : found != its.count) {
        FAIL("%s %s %s: %zu of %zu kinds of boxes", triple, file, level, found, its.count);
    }
}

TEST_TIMEOUT(finds_the_box_headers_that_clang_stores, 280)
{
    static const char *const parts[][2] = {{"cases_arc.m", "-fobjc-arc"},
                                           {"cases_mrc.m", ""},
                                           {"cases_cxx.mm", "-std=c++17 -fobjc-arc"},
                                           {"cases_c.c", ""}};
    static const char *const levels[] = {"-O1", "-O2", "-O0", "-Os"};
    for (unsigned t = 0; t < 4; t++) {
        for (unsigned p = 0; p < 4; p++) {
            for (unsigned l = 0; l < 4; l++) {
                if (test_long() || (p == t && l == t)) {
                    compare(triples[t], parts[p][0], parts[p][1], levels[l]);
                }
            }
        }
    }
}

/* --- what is in them --- */

static const char source[] =
    "__attribute__((objc_root_class)) @interface T @end\n@implementation T @end\n"
    "extern void later(void (^what)(void));\nextern int shown(const void *o);\n"
    "struct told { long n; told(); told(const told &); ~told(); };\n"
    "void strong(T *t) { __block T *is_strong = t; later(^{ is_strong = 0; }); }\n"
    "void weak(T *t) { __block __weak T *is_weak = t; later(^{ is_weak = 0; }); }\n"
    "void loose(T *t) { __block __unsafe_unretained T *is_loose = t; later(^{ is_loose = 0; }); }\n"
    "void number(long n) { __block long is_number = n; later(^{ is_number++; }); }\n"
    "void block(void (^b)(void)) { __block void (^is_block)(void) = b; "
    "later(^{ is_block = 0; }); }\n"
    "void object() { __block told is_object; later(^{ is_object.n++; }); }\n"
    "struct two { long n; T *a; __weak T *b; };\n"
    "void parts(T *t) { __block two is_two = {1, t, t}; later(^{ is_two.n++; }); }\n"
    "void both(T *t, int n) { __block T *first = t; __block int second = n;\n"
    "    later(^{ first = 0; second++; }); }\n";

struct expected {
    const char *name; /* begin of the block's name */
    unsigned box;     /* offset of the capture */
    unsigned offset;  /* in the box; 0: unknown */
    const char *kind, *with_types;
};

static const struct expected expected[] = {
    {"block in strong(", 32, 40, "strong", "strong"},
    {"block in weak(", 32, 40, "weak", "weak"},
    {"block in loose(", 32, 24, "unretained", "unretained"},
    {"block in number(", 32, 0, NULL, "data"},
    {"block in block(", 32, 40, "strong", "block"},
    {"block in object(", 32, 48, "C++ object", "C++ object"},
    {"block in parts(", 32, 56, "strong", "strong"},
    {"block in parts(", 32, 64, "weak", "weak"},
    {"block in both(", 32, 40, "strong", "strong"},
    {"block in both(", 40, 0, NULL, "data"},
};

static const struct json *find_box(const struct json *image, const struct expected *one)
{
    JSON_EACH(desc, json_need(image, "descriptors"))
    {
        JSON_EACH(block, json_need(desc, "blocks"))
        {
            if (strncmp(json_text(block, "name"), one->name, strlen(one->name)) != 0) {
                continue;
            }
            JSON_EACH(box, json_need(block, "boxes"))
            {
                if (json_int(box, "offset") == (int)one->box) {
                    return box;
                }
            }
        }
    }
    FAIL("%s: no box at +%u", one->name, one->box);
}

static void check(const char *file, bool has_types)
{
    struct json *all = blocks_of(file);
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct expected *one = &expected[i];
        const struct json *box = find_box(all->first, one), *found = NULL;
        const char *kind = has_types ? one->with_types : one->kind;
        unsigned offset = one->offset != 0 || !has_types ? one->offset : 24;
        JSON_EACH(capture, json_need(box, "captures"))
        {
            if (json_int(capture, "offset") == (int)offset) {
                found = capture;
            }
        }
        if (kind == NULL) {
            CHECK_EQ(json_need(box, "captures")->count, 0);
        } else if (found == NULL) {
            FAIL("%s: %s: nothing in the box at +%u", file, one->name, offset);
        } else {
            CHECK_STR(json_text(found, "kind"), kind);
        }
    }
    json_free(all);
}

TEST_TIMEOUT(boxes_hold_the_declared_variables, 280)
{
    static const char *const levels[] = {"-O0", "-O2"};
    char path[600];
    snprintf(path, sizeof path, "%s/boxes.mm", test_folder());
    test_write_file(path, source, sizeof source - 1);
    for (unsigned t = 0; t < 4; t++) {
        for (unsigned l = 0; l < 2; l++) {
            if (!test_long() && l != t % 2) {
                continue;
            }
            darwin_shell("clang-19 -target %s -fPIC -fblocks -ffreestanding -fobjc-arc -fobjc-weak "
                         "-std=c++17 %s -g -c boxes.mm -o boxes.o && "
                         "llvm-objcopy-19 --strip-debug boxes.o bare.o",
                         triples[t], levels[l]);
            check("boxes.o", true);
            check("bare.o", false);
        }
    }
    char *text = darwin_output("'%s/cli/sonde' blocks boxes.o", test_build_dir());
    CHECK_CONTAINS(text, "\n    +32   byref       __block T *is_strong");
    CHECK_CONTAINS(text, "\n        +40   strong  T *is_strong");
    free(text);
}

/* --- what only looks like one --- */

/* Hand-written code that looks like a compiler's: the second box forwards to another one. */
static const char by_hand[] =
    "struct box { void *isa; struct box *forwarding; int flags, size; long n; };\n"
    "struct literal { void *isa; int flags, reserved; void (*run)(struct literal *);\n"
    "                 const void *desc; struct box *box; };\n"
    "extern void later(struct literal *), seen(struct box *);\n"
    "extern void _Block_object_assign(void *, const void *, int);\n"
    "extern void _Block_object_dispose(const void *, int);\n"
    "extern void *_NSConcreteStackBlock[32];\n"
    "static void copy(struct literal *to, struct literal *from) {\n"
    "    _Block_object_assign(&to->box, from->box, 8); }\n"
    "static void dispose(struct literal *from) { _Block_object_dispose(from->box, 8); }\n"
    "static const struct { long reserved, size; void (*copy)(struct literal *, struct literal *);\n"
    "    void (*dispose)(struct literal *); const char *signature; long layout; } desc = {\n"
    "    0, 40, copy, dispose, \"v8@?0\", 0};\n"
    "static void run_itself(struct literal *b) { b->box->forwarding->n++; }\n"
    "static void run_other(struct literal *b) { b->box->forwarding->n--; }\n"
    "void itself(void) { struct box one = {0, &one, 0, 32, 1};\n"
    "    struct literal block = {_NSConcreteStackBlock, 0x42000000, 0, run_itself, &desc, &one};\n"
    "    later(&block); }\n"
    "void other(void) { struct box two = {0, &two, 0, 48, 1}, one = {0, &two, 0, 32, 1};\n"
    "    struct literal block = {_NSConcreteStackBlock, 0x42000000, 0, run_other, &desc, &one};\n"
    "    later(&block); seen(&two); }\n";

TEST_TIMEOUT(a_box_must_forward_to_itself, 200)
{
    char path[600];
    snprintf(path, sizeof path, "%s/hand.c", test_folder());
    test_write_file(path, by_hand, sizeof by_hand - 1);
    for (unsigned t = 2; t < 4; t++) {
        unsigned blocks = 0;
        darwin_shell("clang-19 -target %.*s -fPIC -ffreestanding -O1 -c hand.c -o hand.o",
                     (int)strcspn(triples[t], " "), triples[t]);
        struct json *all = blocks_of("hand.o");
        JSON_EACH(block, json_need(json_need(all->first, "descriptors")->first, "blocks"))
        {
            bool itself = strcmp(json_text(block, "name"), "run_itself") == 0;
            CHECK_EQ(json_need(block, "boxes")->count, itself ? 1 : 0);
            blocks++;
        }
        CHECK_EQ(blocks, 2);
        json_free(all);
    }
}
