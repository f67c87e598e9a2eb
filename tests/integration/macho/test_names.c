// SPDX-License-Identifier: Apache-2.0
/* Names and lines of Mach-O files: indexes made of dSYM bundles against llvm-symbolizer, and what
 * `sonde index` and `sonde symbolize` make of UUIDs, universal files and stripped ones.
 *
 * What is compiled is sonde's own code that needs no libc, and so no headers of Darwin. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agree.h"
#include "darwin.h"
#include "symfile_cache.h"
#include "symfile_calls.h"
#include "test.h"

#define PROGRAM "tests/integration/macho/program.m"
#define MOVED   0x180000000ull

/* Build NAME, a library, and NAME.dSYM from sonde's own sources. */
static void build_library(const char *triple, const char *cflags, const char *name)
{
    const char *s = test_source_dir();
    const char *dash = strchr(triple, '-');
    int length = (int)(dash - triple);
    darwin_shell("mkdir -p objects && cd objects && rm -f *.o && clang-19 -target %s "
                 "-ffreestanding -w %s -I%s/include -I%s/src/common/base -I%s/src/machine/arch "
                 "-I%s/src/images/image "
                 "-c %s/src/images/image/*.c && cd .. && "
                 "ld64.lld-19 -arch %.*s -platform_version macos 13 13 -dylib -undefined "
                 "dynamic_lookup -o %s objects/*.o && dsymutil-19 %s",
                 triple, cflags, s, s, s, s, s, length, triple, name, name);
}

static void check(const char *triple, const char *cflags)
{
    char path[600];
    build_library(triple, cflags, "library");
    snprintf(path, sizeof path, "%s/library", test_folder());
    struct agreement a = compare(path, NULL, NULL, 3000);
    CHECK(a.known > 2500);
    must_agree(cflags, a);
}

TEST_TIMEOUT(names_arm64_version_4, 250)
{
    check("arm64-apple-macos11", "-O2 -g -gdwarf-4");
}

TEST_TIMEOUT(names_arm64_version_5, 250)
{
    check("arm64-apple-macos13", "-O2 -g -gdwarf-5");
}

TEST_TIMEOUT(names_x86_64_version_4, 250)
{
    check("x86_64-apple-macos11", "-Os -g -gdwarf-4");
}

TEST_TIMEOUT(names_x86_64_version_5, 250)
{
    check("x86_64-apple-macos13", "-O3 -g -gdwarf-5");
}

/* Without debug information: the symbol table alone. */
TEST_TIMEOUT(names_of_symbols_only, 250)
{
    char path[600];
    build_library("arm64-apple-macos13", "-O2", "library");
    snprintf(path, sizeof path, "%s/library", test_folder());
    struct agreement a = compare(path, NULL, NULL, 2000);
    CHECK(a.known > 1500);
    must_agree("symbols", a);
}

/* --- the program --- */

static char *sonde(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *sonde(const char *format, ...)
{
    char arguments[3000];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    return darwin_output("{ '%s/cli/sonde' %s; } 2>&1", test_build_dir(), arguments);
}

/* The first 32 digits of a file's UUID by llvm, in our form. */
static void uuid_of(const char *file, const char *arch, char *ret_digits)
{
    char *line = darwin_output("llvm-dwarfdump-19 --uuid --arch=%s %s | tr -d '-' | "
                               "tr A-F a-f | sed -n 's/^UUId: \\([0-9a-f]*\\).*/\\1/p' | head -1",
                               arch, file);
    CHECK(strlen(line) >= 32);
    memcpy(ret_digits, line, 32);
    ret_digits[32] = '\0';
    free(line);
}

static uint64_t address_of(const char *file, const char *arch, const char *symbol)
{
    char *line = darwin_output("llvm-nm-19 --arch=%s %s | grep ' %s$'", arch, file, symbol);
    uint64_t vaddr = strtoull(line, NULL, 16);
    CHECK(vaddr != 0);
    free(line);
    return vaddr;
}

static void expect(char *output, const char *part)
{
    CHECK_CONTAINS(output, part);
    free(output);
}

/* A universal program with one dSYM for both machines. */
static void build_universal(void)
{
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O1 -g", "", "arm");
    darwin_build(PROGRAM, "x86_64-apple-macos13", "-O1 -g", "", "x86");
    darwin_shell("llvm-lipo-19 -create arm x86 -output program && "
                 "ln -s $(command -v llvm-lipo-19) lipo && PATH=$PWD:$PATH dsymutil-19 program && "
                 "mkdir store && cp -r program.dSYM store/Other.dSYM && mkdir alone && "
                 "cp program alone/");
}

TEST_TIMEOUT(names_by_uuid, 250)
{
    char arm[33], x86[33], dashed[40];
    build_universal();
    uuid_of("arm", "arm64", arm);
    uuid_of("x86", "x86_64", x86);
    uint64_t arm_main = address_of("arm", "arm64", "_main");
    uint64_t x86_main = address_of("x86", "x86_64", "_main");
    /* by UUID from bundles of any name, as linked and from the header */
    expect(sonde("symbolize --symbols store %s+0x%llx", arm, (unsigned long long)arm_main),
           "main  ");
    expect(sonde("symbolize --symbols store %s+0x%llx", x86, (unsigned long long)x86_main),
           "program.m:");
    expect(sonde("symbolize --symbols store %s+0x%llx", x86,
                 (unsigned long long)(x86_main - 0x100000000)),
           "main  ");
    snprintf(dashed, sizeof dashed, "%.8s-%.4s-%.4s-%.4s-%.12s", arm, arm + 8, arm + 12, arm + 16,
             arm + 20);
    for (char *c = dashed; *c != '\0'; c++) {
        *c = (char)(*c >= 'a' && *c <= 'f' ? *c & ~0x20 : *c);
    }
    expect(sonde("symbolize --symbols store %s+0x%llx", dashed, (unsigned long long)arm_main),
           "main  ");
    /* a path: the machine must be given; the bundle is found in --symbols, or next to the file */
    expect(sonde("symbolize ./alone/program+0x%llx; true", (unsigned long long)arm_main),
           "several machines");
    expect(sonde("symbolize --arch x86_64 --symbols store ./alone/program+0x%llx",
                 (unsigned long long)x86_main),
           "program.m:");
    expect(sonde("symbolize --arch arm64 ./program+0x%llx", (unsigned long long)arm_main),
           "program.m:");
    /* without any dSYM: names */
    expect(sonde("symbolize --arch arm64 ./alone/program+0x%llx", (unsigned long long)arm_main),
           "  main\n");
    /* a dSYM of another build: nothing */
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O2 -g -DOTHER", "", "other");
    darwin_shell("dsymutil-19 other -o alone/program.dSYM");
    char *text =
        sonde("symbolize --arch arm64 ./alone/program+0x%llx", (unsigned long long)arm_main);
    CHECK(strstr(text, "program.m") == NULL);
    free(text);
}

TEST_TIMEOUT(index_of_universal_file, 250)
{
    char arm[33], x86[33];
    build_universal();
    uuid_of("arm", "arm64", arm);
    uuid_of("x86", "x86_64", x86);
    expect(sonde("index -o store program"), x86);
    expect(sonde("index -o store program.dSYM"), arm);
    expect(sonde("index --info store/%s.sndidx", arm), "aarch64");
    expect(sonde("index --info store/%s.sndidx", x86), "x86_64");
    darwin_shell("rm -r store/Other.dSYM program.dSYM");
    /* the index alone, found by the UUID of the program's slice */
    expect(sonde("symbolize --arch arm64 --symbols store $PWD/program+0x%llx",
                 (unsigned long long)address_of("arm", "arm64", "_main")),
           "program.m:");
    expect(sonde("index arm.o; true"), "object file");
    darwin_shell("llvm-ar-19 --format=darwin crs lib.a arm.o");
    expect(sonde("index lib.a; true"), "an archive");
}

/* Without local symbols, code of unnamed functions does not get the name of the function before it:
 * the function starts are the bounds. */
TEST_TIMEOUT(names_of_stripped_file, 250)
{
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O1", "-dylib", "library");
    uint64_t helper = address_of("library", "arm64", "_helper");
    uint64_t exported = address_of("library", "arm64", "_exported");
    darwin_shell("llvm-strip-19 -x -o stripped library");
    expect(sonde("symbolize ./library+0x%llx", (unsigned long long)helper + 4), "  helper\n");
    expect(sonde("symbolize ./stripped+0x%llx", (unsigned long long)helper + 4), "  ??\n");
    expect(sonde("symbolize ./stripped+0x%llx", (unsigned long long)exported + 4), "  exported\n");
}

/* Methods that ended by a jump behind a call that sends a message are possible, not certain. */
TEST_TIMEOUT(methods_behind_messages, 250)
{
    darwin_build("tests/integration/macho/methods.m", "arm64-apple-macos13", "-O1 -DSENDERS",
                 "-dylib -objc_stubs_fast", "library");
    unsigned long long finish = address_of("library", "arm64", "_finish");
    char *line = darwin_output("llvm-objdump-19 -d --disassemble-symbols=_sends_handed library | "
                               "grep -A1 -w bl | sed -n 's/^ *\\([0-9a-f]*\\):.*/\\1/p' | tail -1");
    char text[200], *end;
    unsigned long long back = strtoull(line, &end, 16);
    CHECK(back != 0);
    free(line);
    snprintf(text, sizeof text, "#0 0x1 ./library+0x%llx\\n#1 0x2 ./library+0x%llx\\n", finish,
             back);
    darwin_shell("printf '%s' >stack", text);
    expect(sonde("symbolize <stack"), "[finish]\n      ... tail calls, any number of ways ...\n"
                                      "      tail call (possible) [finish_more]\n"
                                      "      tail call (possible) [-[Shape(Handing) handed]]\n"
                                      "#1 ");
    expect(sonde("symbolize --json <stack"), "\"tail_calls\": [{\"alternatives\": 4294967295}, ");
    expect(sonde("symbolize --json <stack"), "\"possible\": true}], \"frames\": [{\"function\": "
                                             "\"sends_handed\"");
}

/* Move all segments of the library, as a rebase tool does. */
static void move_library(void)
{
    char path[700];
    size_t size;
    snprintf(path, sizeof path, "%s/library", test_folder());
    uint8_t *bytes = (uint8_t *)test_read_file(path, &size);
    struct sonde__macho macho;
    struct sonde_error error;
    CHECK_OK(sonde__macho_open(bytes, size, &macho, &error));
    uint8_t *command = bytes + 32;
    for (uint32_t i = 0; i < macho.command_count; i++) {
        uint32_t head[2];
        memcpy(head, command, 8);
        if (head[0] == SONDE__LC_SEGMENT_64) {
            uint64_t vaddr;
            uint32_t sections;
            memcpy(&vaddr, command + 24, 8);
            vaddr += MOVED;
            memcpy(command + 24, &vaddr, 8);
            memcpy(&sections, command + 64, 4);
            for (uint32_t k = 0; k < sections; k++) {
                memcpy(&vaddr, command + 72 + (size_t)k * 80 + 32, 8);
                vaddr += MOVED;
                memcpy(command + 72 + (size_t)k * 80 + 32, &vaddr, 8);
            }
        }
        command += head[1];
    }
    test_write_file(path, bytes, size);
    free(bytes);
}

/* A dSYM may have other addresses than the program (both begin with their header). */
TEST_TIMEOUT(names_of_moved_bundle, 250)
{
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O1 -g", "-dylib", "library");
    darwin_shell("dsymutil-19 library");
    uint64_t exported = address_of("library", "arm64", "_exported");
    move_library();
    expect(sonde("symbolize ./library+0x%llx", (unsigned long long)exported), "program.m:");
}

/* --- as the frames of a report are looked up --- */

/* The lines of exported() are those of llvm-symbolizer, which asks the dSYM. moved: by how much the
 * library's addresses are higher. */
static void check_lines(const char *folder, uint64_t moved)
{
    char path[700], line[32];
    struct sonde__symfile_macho macho;
    struct sonde__symfile_cache *cache = NULL;
    const struct sonde__symfile_macho_wanted any = {.uuid = NULL};
    snprintf(path, sizeof path, "%s/library", test_folder());
    CHECK_OK(sonde__symfile_macho_open(path, &any, &macho, NULL));
    struct sonde__image image = {.path = path, .build_id = macho.own.uuid};
    sonde__symfile_macho_close(&macho);
    const struct sonde__symfile_options options = {
        .folders = &folder, .folder_count = folder != NULL, .places = &sonde__symfile_places};
    CHECK_OK(sonde__symfile_cache_create(&options, &cache));
    uint64_t start = address_of("kept/Contents/Resources/DWARF/library", "arm64", "_exported");
    for (uint64_t at = start; at < start + 32; at += 4) {
        static struct sonde__answer answer;
        char *theirs =
            darwin_output("llvm-symbolizer-19 --obj=kept/Contents/Resources/DWARF/library "
                          "0x%llx | sed -n 's/.*program.m:\\([0-9]*\\):.*/\\1/p' | head -1",
                          (unsigned long long)at);
        sonde__symfile_ask(cache, &image, NULL, 0, at + moved, &answer);
        CHECK_STR(answer.function.name, "exported");
        CHECK(answer.count > 0);
        CHECK_CONTAINS(answer.calls[0].file, "program.m");
        snprintf(line, sizeof line, "%u\n", answer.calls[0].line);
        CHECK_STR(line, theirs);
        free(theirs);
    }
    sonde__symfile_cache_destroy(cache);
}

TEST_TIMEOUT(lines_of_frames, 250)
{
    char store[700];
    snprintf(store, sizeof store, "%s/index", test_folder());
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O1 -g", "-dylib", "library");
    darwin_shell("dsymutil-19 library && cp -r library.dSYM kept && mkdir index && "
                 "'%s/cli/sonde' index -o index library",
                 test_build_dir());
    check_lines(NULL, 0);
    move_library();
    check_lines(NULL, MOVED);
    darwin_shell("rm -r library.dSYM");
    check_lines(store, MOVED);
}
