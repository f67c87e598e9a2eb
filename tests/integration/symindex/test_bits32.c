// SPDX-License-Identifier: Apache-2.0
/* Files of 32-bit machines against llvm-symbolizer: ELF of i386 and ARM (also Thumb, whose symbols
 * have bit 0 set), Mach-O of i386, armv7 and arm64_32. The input is sonde's own code that needs no
 * libc, and so no headers of these systems. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "darwin.h"
#include "test.h"

static void compile(const char *triple, const char *cflags)
{
    const char *s = test_source_dir();
    darwin_shell("mkdir objects && cd objects && clang-19 -target %s -ffreestanding -w -g %s "
                 "-I%s/include -I%s/src/common/base -I%s/src/machine/arch -I%s/src/images/image -c "
                 "%s/src/images/image/*.c",
                 triple, cflags, s, s, s, s, s);
}

static void check_library(const char *what)
{
    char path[600];
    snprintf(path, sizeof path, "%s/library", test_folder());
    struct agreement a = compare(path, NULL, NULL, 2000);
    CHECK(a.known > 1500);
    must_agree(what, a);
}

static void check_elf(const char *triple, const char *cflags)
{
    compile(triple, cflags);
    darwin_shell("ld.lld-19 -shared --build-id -o library objects/*.o");
    check_library(triple);
}

TEST_TIMEOUT(bits32_elf_i386, 250)
{
    check_elf("i386-linux-gnu", "-O2 -fPIC");
}

TEST_TIMEOUT(bits32_elf_arm, 250)
{
    check_elf("armv7-linux-gnueabihf", "-O2 -fPIC -marm -gdwarf-4");
}

TEST_TIMEOUT(bits32_elf_thumb, 250)
{
    check_elf("armv7-linux-gnueabihf", "-O2 -fPIC -mthumb");
}

/* Names alone, where bit 0 matters. */
TEST_TIMEOUT(bits32_elf_thumb_symbols, 250)
{
    compile("armv7-linux-gnueabihf", "-O2 -fPIC -mthumb");
    darwin_shell("ld.lld-19 -shared --strip-debug -o library objects/*.o");
    check_library("symbols of Thumb code");
}

TEST_TIMEOUT(bits32_macho_arm64_32, 250)
{
    compile("arm64_32-apple-watchos8", "-O2");
    darwin_shell("ld64.lld-19 -arch arm64_32 -platform_version watchos 8 8 -dylib -undefined "
                 "dynamic_lookup -o library objects/*.o && dsymutil-19 library");
    check_library("arm64_32");
}

/* LLVM's linker does not support these machines: a hand-written debug map moves one object's code,
 * and dsymutil makes the debug file from it. */
static void check_object(const char *triple, const char *arch)
{
    char text[200], path[600];
    const char *s = test_source_dir();
    darwin_shell("clang-19 -target %s -ffreestanding -w -O2 -g -I%s/include -I%s/src/common/base "
                 "-I%s/src/machine/arch -I%s/src/images/image -c %s/src/images/image/image_elf.c "
                 "-o object.o",
                 triple, s, s, s, s, s);
    char *names = darwin_output("llvm-nm-19 -n --format=posix object.o | grep ' [tT] ' | "
                                "grep -v '^ltmp'");
    snprintf(path, sizeof path, "%s/map", test_folder());
    FILE *map = fopen(path, "w");
    CHECK(map != NULL);
    fprintf(map,
            "---\ntriple: '%s-apple-darwin'\nbinary-path: %s/object.o\nobjects:\n"
            "  - filename: %s/object.o\n    timestamp: 0\n    symbols:\n",
            arch, test_folder(), test_folder());
    unsigned long last = 0, value;
    char name[200], before[200] = "";
    unsigned count = 0;
    for (char *line = strtok(names, "\n");; line = strtok(NULL, "\n")) {
        bool any = line != NULL && sscanf(line, "%199s %*c %lx", name, &value) == 2;
        if (before[0] != '\0') {
            fprintf(map, "      - { sym: %s, objAddr: 0x%lx, binAddr: 0x%lx, size: 0x%lx }\n",
                    before, last, last + 0x1000, any ? value - last : 64);
        }
        if (!any) {
            break;
        }
        count++;
        last = value;
        snprintf(before, sizeof before, "%s", name);
    }
    fprintf(map, "...\n");
    fclose(map);
    free(names);
    CHECK(count > 10);
    darwin_shell("dsymutil-19 -y map -f -o library");
    snprintf(path, sizeof path, "%s/library", test_folder());
    uint64_t *addresses = malloc(last * sizeof *addresses);
    CHECK(addresses != NULL);
    for (unsigned long i = 0; i < last; i++) {
        addresses[i] = 0x1000 + i;
    }
    struct agreement a = compare(path, NULL, addresses, (unsigned)last);
    free(addresses);
    CHECK(a.known > last / 2);
    snprintf(text, sizeof text, "%s, %u addresses", arch, a.asked);
    must_agree(text, a);
}

TEST_TIMEOUT(bits32_macho_armv7, 250)
{
    check_object("armv7-apple-ios9", "armv7");
}

TEST_TIMEOUT(bits32_macho_i386, 250)
{
    check_object("i386-apple-macos10.13", "i386");
}

/* sonde does not capture a 32-bit process, and says so. */
TEST_TIMEOUT(bits32_process_is_refused, 100)
{
    char path[600];
    static const char program[] = "void _start(void) { for (;;) { int r; __asm__ volatile("
                                  "\"int $0x80\" : \"=a\"(r) : \"0\"(29) : \"memory\"); } }";
    snprintf(path, sizeof path, "%s/pause.c", test_folder());
    test_write_file(path, program, sizeof program - 1);
    darwin_shell("clang-19 -target i386-linux-gnu -ffreestanding -O1 -c pause.c -o pause.o && "
                 "ld.lld-19 -o pause pause.o");
    /* the kernel may be built without 32-bit programs */
    char *text = darwin_output("./pause & p=$!; sleep 0.2; if kill -0 $p 2>/dev/null; then "
                               "'%s/cli/sonde' stacks $p 2>&1; echo \" rc $?\"; kill $p; fi",
                               test_build_dir());
    if (text[0] == '\0') {
        SKIP("no 32-bit programs run here");
    }
    CHECK_CONTAINS(text, "32");
    CHECK(strstr(text, " rc 0") == NULL);
    free(text);
}
