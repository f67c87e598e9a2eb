// SPDX-License-Identifier: Apache-2.0
/* sonde blocks: its lists of programs that the test builds, as text and as JSON, and its errors for
 * files without blocks or of other kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "json.h"
#include "test.h"

#define FOLDER "tests/integration/blockfile/"

static struct test_run run_blocks(const char *options, const char *file)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && '%s/cli/sonde' blocks %s %s", test_folder(),
             test_build_dir(), options, file);
    const char *const argv[] = {"sh", "-c", command, NULL};
    return test_run(argv, NULL, NULL, 60);
}

static void must_say(const char *options, const char *file, int status, const char *err)
{
    struct test_run run = run_blocks(options, file);
    CHECK_EQ(run.status, status);
    CHECK_CONTAINS(run.err, err);
    test_run_done(&run);
}

/* The descriptor of the block whose function has this name. */
static const struct json *desc_of(const struct json *image, const char *name,
                                  const struct json **ret_block)
{
    JSON_EACH(desc, json_need(image, "descriptors"))
    {
        JSON_EACH(block, json_need(desc, "blocks"))
        {
            if (strcmp(json_text(block, "name"), name) == 0) {
                *ret_block = block;
                return desc;
            }
        }
    }
    FAIL("no block is called %s", name);
}

static void check_capture(const struct json *desc, int64_t offset, const char *kind)
{
    JSON_EACH(capture, json_need(desc, "captures"))
    {
        if (json_int(capture, "offset") == offset) {
            CHECK_STR(json_text(capture, "kind"), kind);
            CHECK(json_need(capture, "known_by")->count > 0);
            return;
        }
    }
    FAIL("nothing at offset %d", (int)offset);
}

static unsigned line_of(const char *source, const char *text)
{
    char path[600];
    unsigned line = 1;
    snprintf(path, sizeof path, "%s/" FOLDER "%s", test_source_dir(), source);
    char *bytes = test_read_file(path, NULL);
    const char *found = strstr(bytes, text);
    CHECK(found != NULL);
    for (const char *at = bytes; at < found; at++) {
        line += *at == '\n';
    }
    free(bytes);
    return line;
}

static void check_objects(const char *file)
{
    struct test_run run = run_blocks("--json", file);
    const struct json *block, *desc;
    CHECK_EQ(run.status, 0);
    struct json *all = json_parse(run.out);
    CHECK_EQ(all->count, 1);
    desc = desc_of(all->first, "block in -[Thing keep:with:]", &block);
    CHECK_STR(json_text(desc, "type"), "void (^)(void)");
    /* in clang's order */
    check_capture(desc, 32, "block");
    check_capture(desc, 40, "byref");
    check_capture(desc, 48, "weak");
    check_capture(desc, 56, "unretained");
    CHECK_EQ(json_int(desc, "size"), 64);
    desc = desc_of(all->first, "block in -[Thing keep:with:] [clone .2]", &block);
    check_capture(desc, 32, "strong");
    CHECK_CONTAINS(json_text(desc, "type"), strncmp(file, "elf", 3) == 0
                                                ? "int (^)(id, unsigned long, bool *)"
                                                : "int (^)(Thing *, unsigned long, bool *)");
    CHECK_STR(json_text(block, "place"), "stack");
    desc = desc_of(all->first, "block in -[Thing keep:with:] [clone .4]", &block);
    CHECK_EQ(json_need(desc, "captures")->count, 0);
    CHECK_STR(json_text(block, "place"), "global");
    json_free(all);
    test_run_done(&run);
}

TEST_TIMEOUT(lists_blocks_of_objective_c, 200)
{
    darwin_build(FOLDER "objects.m", "arm64-apple-macos13", "-O2 -fobjc-arc", "-dylib", "arm");
    darwin_build(FOLDER "objects.m", "x86_64-apple-macos13", "-O2 -fobjc-arc", "-dylib", "intel");
    darwin_shell("llvm-lipo-19 -create arm intel -output fat && llvm-ar-19 crs arm.a arm.o && "
                 "clang-19 -target x86_64-linux-gnu -fblocks -ffreestanding "
                 "-fobjc-runtime=macosx-10.11 -fobjc-arc -O2 -c '%s/" FOLDER "objects.m' "
                 "-o elf.o && ld.lld-19 -shared elf.o -o elf && llvm-ar-19 crs elf.a elf.o",
                 test_source_dir());
    check_objects("arm");
    check_objects("intel");
    check_objects("arm.o");
    check_objects("arm.a");
    check_objects("elf");
    check_objects("elf.o");
    check_objects("elf.a");
    check_objects("fat --arch=arm64");
    struct test_run run = run_blocks("", "fat");
    CHECK_CONTAINS(run.out, "fat (arm64): 5 descriptors, 5 blocks\n");
    CHECK_CONTAINS(run.out, "fat (x86_64): 5 descriptors, 5 blocks\n");
    CHECK_CONTAINS(run.out, "\nblock in -[Thing keep:with:]\n    void (^)(void)\n    64 bytes, ");
    test_run_done(&run);
    must_say("--arch=armv7", "fat", 3, "fat: nothing in it is of the machine armv7");
}

/* Files and lines match the source. */
static void check_places(const char *file)
{
    char expected[100];
    struct test_run run = run_blocks("", file);
    CHECK_EQ(run.status, 0);
    snprintf(expected, sizeof expected, "\nprogram.c:%u  block in with_block\n    void (^)(int)\n",
             line_of("program.c", "^(int x) {\n      sum += x;"));
    CHECK_CONTAINS(run.out, expected);
    snprintf(expected, sizeof expected,
             "\nprogram.c:%u  block #4 in with_numbers\n    long (^)(const char *, unsigned int)\n",
             line_of("program.c", "^(const char *text, unsigned count) {"));
    CHECK_CONTAINS(run.out, expected);
    test_run_done(&run);
}

TEST_TIMEOUT(shows_where_blocks_are_written, 200)
{
    darwin_build(FOLDER "program.c", "arm64-apple-macos13", "-O1 -g", "-dylib", "arm");
    darwin_shell("dsymutil-19 arm 2>dsymutil.log && "
                 "clang-19 -target aarch64-linux-gnu -fblocks -ffreestanding -O1 -g -fPIC "
                 "-c '%s/" FOLDER "program.c' -o elf.o && ld.lld-19 -shared elf.o -o elf",
                 test_source_dir());
    check_places("arm");
    check_places("arm.o");
    check_places("elf");
    check_places("elf.o");
}

/* With debug information every byte has its variable. */
static void check_variables(const char *file)
{
    struct test_run run = run_blocks("", file);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "    +32   block     action inner     helper, helper name, DWARF\n"
                            "    +40   byref     __block int sum  helper, helper name, DWARF\n"
                            "        +24   data  int sum          DWARF\n"
                            "    +48   data      long more        DWARF\n");
    CHECK_CONTAINS(run.out, "    +32   data  int a    DWARF\n"
                            "    +36   data  short b  DWARF\n"
                            "    +38   data  char c   DWARF\n");
    if (strstr(run.out, "not known") != NULL) {
        FAIL("%s: %s", file, run.out);
    }
    test_run_done(&run);
}

TEST_TIMEOUT(names_captured_variables, 200)
{
    static const char *const levels[] = {"-O0", "-O2"};
    for (unsigned i = 0; i < 2; i++) {
        char flags[20];
        snprintf(flags, sizeof flags, "%s -g", levels[i]);
        darwin_build(FOLDER "program.c", "x86_64-apple-macos13", flags, "-dylib", "intel");
        darwin_shell("clang-19 -target x86_64-linux-gnu -fblocks -ffreestanding %s -fPIC "
                     "-c '%s/" FOLDER "program.c' -o elf.o && ld.lld-19 -shared elf.o -o elf",
                     flags, test_source_dir());
        check_variables("intel.o");
        check_variables("elf");
        check_variables("elf.o");
    }
}

/* Without ARC clang's layouts and names call an object strong that the block does not retain. Its
 * helpers, or their absence, give the truth. */
TEST_TIMEOUT(distrusts_layouts, 200)
{
    static const char source[] =
        "__attribute__((objc_root_class)) @interface T @end\n@implementation T @end\n"
        "extern void later(void (^what)(void));\nextern int shown(id o);\n"
        "void f(T *a, T *b) { __unsafe_unretained T *raw = a;\n"
        "    later(^{ shown(raw); });\n    later(^{ shown(b); shown(raw); }); }\n";
    char path[600];
    snprintf(path, sizeof path, "%s/raw.m", test_folder());
    test_write_file(path, source, sizeof source - 1);
    darwin_shell("clang-19 -target arm64-apple-macos13 -fblocks -ffreestanding -O2 -c raw.m");
    struct test_run run = run_blocks("", "raw.o");
    CHECK_CONTAINS(run.out, "    +32   unretained  descriptor name, layout alone: strong\n");
    CHECK_CONTAINS(run.out, "    +32   strong   helper, helper name, descriptor name, layout\n"
                            "    +40   unknown  layout alone: strong\n");
    test_run_done(&run);
}

/* A captured object is followed by its parts. */
static void check_part(const struct json *desc, int64_t offset, const char *kind)
{
    bool has_whole = false;
    JSON_EACH(capture, json_need(desc, "captures"))
    {
        bool is_part = json_bool(capture, "part");
        has_whole = has_whole || (!is_part && json_int(capture, "offset") <= offset &&
                                  strcmp(json_text(capture, "kind"), "C++ object") == 0);
        if (is_part && json_int(capture, "offset") == offset) {
            CHECK(has_whole);
            CHECK_STR(json_text(capture, "kind"), kind);
            return;
        }
    }
    FAIL("nothing in an object at offset %d", (int)offset);
}

TEST_TIMEOUT(shows_parts_of_objects, 200)
{
    static const char source[] =
        "__attribute__((objc_root_class)) @interface T @end\n@implementation T @end\n"
        "extern void later(void (^what)(void));\nextern int shown(const void *o);\n"
        "struct pair { long n; T *first; __weak T *second; };\n"
        "struct base { T *of_base; };\n"
        "struct derived_from_a_base_and_with_a_name_of_length : base { T *own; int n; };\n"
        "void f(T *t, derived_from_a_base_and_with_a_name_of_length it) { later(^{ shown(&it); }); "
        "}\n"
        "void g(T *t, long n) { struct pair pair = {n, t, t};\n"
        "    later(^{ shown((__bridge void *)t); shown(&pair); }); }\n";
    char path[600];
    const struct json *block, *desc;
    snprintf(path, sizeof path, "%s/parts.mm", test_folder());
    test_write_file(path, source, sizeof source - 1);
    darwin_shell("clang-19 -target arm64-apple-macos13 -fblocks -ffreestanding -fobjc-arc "
                 "-fobjc-weak -std=c++17 -O2 -g -c parts.mm");
    struct test_run run = run_blocks("", "parts.o");
    CHECK_CONTAINS(run.out,
                   "\n    +32   C++ object  derived_from_a_base_and_with_a_name_of_length it  ");
    CHECK_CONTAINS(run.out, "\n    +32     strong  ");
    CHECK_CONTAINS(run.out, "\n    +40     strong  ");
    test_run_done(&run);
    darwin_shell("llvm-objcopy-19 --strip-debug parts.o");
    run = run_blocks("--json", "parts.o");
    struct json *all = json_parse(run.out);
    desc = desc_of(all->first, "block in f(T*, derived_from_a_base_and_with_a_name_of_length)",
                   &block);
    check_part(desc, 32, "strong");
    check_part(desc, 40, "strong");
    desc = desc_of(all->first, "block in g(T*, long)", &block);
    check_capture(desc, 32, "strong");
    check_part(desc, 48, "strong");
    check_part(desc, 56, "weak");
    json_free(all);
    test_run_done(&run);
}

/* A block whose function has the name that Swift gives its thunks. */
static void check_thunk(const char *triple, const char *underscore)
{
    darwin_shell("clang-19 -target %s -fblocks -ffreestanding -fPIC -O1 -c thunk.c -o thunk.o && "
                 "llvm-objcopy-19 --redefine-sym '%s__made_block_invoke=%s$sIeg_IeyB_TR' thunk.o",
                 triple, underscore, underscore);
    struct test_run run = run_blocks("--json", "thunk.o");
    const struct json *block;
    struct json *all = json_parse(run.out);
    (void)desc_of(all->first, "block in another", &block);
    CHECK(json_get(block, "runs") == NULL);
    (void)desc_of(all->first, "thunk for @escaping @callee_guaranteed () -> ()", &block);
    CHECK_STR(json_text(json_need(block, "runs"), "symbol"), "closure");
    json_free(all);
    test_run_done(&run);
    run = run_blocks("", "thunk.o");
    CHECK_CONTAINS(run.out, "thunk for @escaping @callee_guaranteed () -> ()  runs closure\n");
    test_run_done(&run);
}

TEST_TIMEOUT(shows_what_thunks_run, 200)
{
    static const char source[] =
        "extern void later(void (^what)(void));\nextern void use(void *);\n"
        "static __attribute__((noinline)) void closure(void *context) { use(context); }\n"
        "void made(void *context) { void (*function)(void *) = closure;\n"
        "    later(^{ function(context); }); }\n"
        "void another(void *context) { void (*function)(void *) = closure;\n"
        "    later(^{ function(context); }); }\n";
    char path[600];
    snprintf(path, sizeof path, "%s/thunk.c", test_folder());
    test_write_file(path, source, sizeof source - 1);
    check_thunk("arm64-apple-macos13", "_");
    check_thunk("x86_64-linux-gnu", "");
    check_thunk("aarch64-linux-gnu", "");
}

/* --- shipped files --- */

static bool is_known_by(const struct json *list, const char *source)
{
    JSON_EACH(item, list)
    {
        if (strcmp(item->text, source) == 0) {
            return true;
        }
    }
    return false;
}

/* The code of helpers agrees with their names; no capture is missing. */
static unsigned check_helpers(const char *file, const struct json *desc)
{
    unsigned typed = 0;
    if (json_text(desc, "problem")[0] != '\0') {
        FAIL("%s: %s: %s", file, json_text(desc, "address"), json_text(desc, "problem"));
    }
    JSON_EACH(capture, json_need(desc, "captures"))
    {
        const struct json *sources = json_need(capture, "known_by");
        bool by_helper = is_known_by(sources, "helper");
        if (is_known_by(sources, "helper name") && !by_helper) {
            FAIL("%s: %s: +%d by its name only", file, json_text(desc, "address"),
                 (int)json_int(capture, "offset"));
        }
        if (json_get(capture, "disagreement") != NULL ||
            strcmp(json_text(capture, "kind"), "unknown") == 0) {
            FAIL("%s: %s: +%d: %s", file, json_text(desc, "address"),
                 (int)json_int(capture, "offset"), json_text(capture, "kind"));
        }
        typed += by_helper;
    }
    return typed;
}

TEST_TIMEOUT(follows_helpers_of_shipped_files, 200)
{
    static const struct {
        const char *path;
        unsigned captures; /* that helpers manage */
        bool is_long;
    } files[] = {
        {"@nut-tree-fork+libnut-darwin@2.7.5/build/Release/libnut.node", 2, false},
        {"get-windows@9.3.0/main", 2, false},
        {"@node-llama-cpp+mac-arm64-metal@3.21.1/bins/mac-arm64-metal/libggml-metal.so", 5, false},
        {"bun-webgpu-darwin-arm64@0.1.5/libwebgpu_wrapper.dylib", 2, false},
        {"whisper.rn@0.7.4/ios/rnwhisper.xcframework/ios-arm64/rnwhisper.framework/rnwhisper", 14,
         false},
        {"jpush-react-native@2.7.5/ios/RCTJPushModule/libjpush-ios-3.2.8.a", 78, false},
        {"webgpu@0.6.2/dist/darwin-universal/dawn.node", 8, true},
        {"react-native-wechat@1.9.12/ios/libWeChatSDK.a", 62, true},
        {"react-native-wechat-lib@3.0.4/ios/libWeChatSDK.a", 58, true},
        {"tns-ios@6.5.6/framework/internal/NativeScript.framework/NativeScript", 22, true},
        {"tns-ios@6.5.6/framework/internal/TKLiveSync/TKLiveSync", 90, true},
    };
    unsigned seen = 0;
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[1200];
        unsigned typed = 0;
        const char *cache = getenv("SONDE_CACHE");
        snprintf(path, sizeof path, "%s/npm/%s", cache != NULL ? cache : "", files[i].path);
        if (files[i].is_long && !test_long()) {
            continue;
        }
        if (access(path, R_OK) != 0) {
            dprintf(STDOUT_FILENO, "    skipped, not fetched: %s\n", files[i].path);
            continue;
        }
        struct test_run run = run_blocks("--json", path);
        CHECK_EQ(run.status, 0);
        struct json *all = json_parse(run.out);
        JSON_EACH(image, all)
        {
            JSON_EACH(desc, json_need(image, "descriptors"))
            {
                typed += check_helpers(files[i].path, desc);
            }
        }
        /* the one by Swift's compiler has a closure, for each machine */
        if (strncmp(files[i].path, "get-windows", 11) == 0) {
            JSON_EACH(image, all)
            {
                const struct json *block =
                    json_need(json_need(image, "descriptors")->first, "blocks")->first;
                CHECK_CONTAINS(json_text(json_need(block, "runs"), "symbol"),
                               "hasScreenRecordingPermission");
            }
        }
        dprintf(STDOUT_FILENO, "    %s: %u captures by helpers\n", files[i].path, typed);
        CHECK_EQ(typed, files[i].captures);
        json_free(all);
        test_run_done(&run);
        seen++;
    }
    if (seen == 0) {
        SKIP("no package was fetched (./dev setup test)");
    }
}

TEST_TIMEOUT(reports_unreadable_files, 200)
{
    char path[600];
    must_say("", "nowhere", 3, "nowhere");
    must_say("", "", 2, "which program");
    must_say("--json --frobnicate", "x", 2, "unknown option --frobnicate");
    snprintf(path, sizeof path, "%s/text", test_folder());
    test_write_file(path, "hello", 5);
    must_say("", "text", 6, "text: not an ELF or Mach-O program, library, object or archive");
    test_write_file(path, "", 0);
    must_say("", "text", 6, "text: not an ELF or Mach-O program, library, object or archive");
    test_write_file(path, "!<arch>\n", 8);
    must_say("", "text", 3, "text: no code is in it");
    test_write_file(path, "!<arch>\nx", 9);
    darwin_shell("clang-19 -target armv7-apple-ios9 -fblocks -ffreestanding -c '%s/" FOLDER
                 "program.c' -o armv7.o && clang-19 -target i386-linux-gnu -fblocks -ffreestanding "
                 "-c '%s/" FOLDER "program.c' -o i386.o",
                 test_source_dir(), test_source_dir());
    must_say("", "armv7.o", 6, "armv7.o: neither x86_64 nor arm64");
    must_say("", "i386.o", 6, "i386.o: neither x86_64 nor aarch64");
}

/* A slice for devices, one for simulators, an archive, and a 32-bit one, which is refused; files
 * without code and a link are skipped. */
TEST_TIMEOUT(lists_blocks_of_a_folder, 200)
{
    darwin_build(FOLDER "objects.m", "arm64-apple-ios14", "-O2 -fobjc-arc", "-dylib", "device");
    darwin_build(FOLDER "objects.m", "x86_64-apple-macos13", "-O2 -fobjc-arc", "-dylib", "intel");
    darwin_shell(
        "F=Thing.xcframework && mkdir -p $F/ios-arm64/Thing.framework $F/sim/Thing.framework/A "
        "$F/static $F/dSYMs/Thing.dSYM && cp device $F/ios-arm64/Thing.framework/Thing && "
        "llvm-lipo-19 -create device intel -output $F/sim/Thing.framework/A/Thing && "
        "ln -s A/Thing $F/sim/Thing.framework/Thing && cp device $F/dSYMs/Thing.dSYM/Thing && "
        "llvm-ar-19 crs $F/static/libThing.a device.o && echo '<plist/>' >$F/Info.plist && "
        "mkdir old nothing && clang-19 -target armv7-apple-ios9 -fblocks -ffreestanding -c "
        "'%s/" FOLDER "program.c' -o old/thing.o",
        test_source_dir());
    struct test_run run = run_blocks("--json", "Thing.xcframework/");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    struct json *all = json_parse(run.out);
    CHECK_EQ(all->count, 4);
    CHECK_STR(json_text(all->first, "file"), "Thing.xcframework/ios-arm64/Thing.framework/Thing");
    JSON_EACH(image, all)
    {
        CHECK_EQ(json_need(image, "descriptors")->count,
                 json_need(all->first, "descriptors")->count);
    }
    json_free(all);
    test_run_done(&run);
    run = run_blocks("--arch x86_64", "Thing.xcframework");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    CHECK_CONTAINS(run.out, "Thing.xcframework/sim/Thing.framework/A/Thing (x86_64): ");
    test_run_done(&run);
    must_say("", "nothing", 3, "nothing: no file in this folder has code");
    must_say("", "old", 6, "old/thing.o: neither x86_64 nor arm64");
}
