// SPDX-License-Identifier: Apache-2.0
/* The same debug information in all forms in which it is shipped. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "mem_heap.h"
#include "symfile_sections.h"
#include "test.h"

/* Load the libraries before the harness counts the heap: their memory is no leak of ours. */
__attribute__((constructor)) static void load_libraries(void)
{
    static const char *const names[] = {"libz.so.1", "libzstd.so.1", "liblzma.so.5"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
}

/* Run a shell script in the test's folder: $0 is the folder, $S the sources of sonde. A compiler
 * cache would give files of another folder, with the paths of that one. */
static void sh(const char *script)
{
    char command[4096];
    snprintf(command, sizeof command,
             "CCACHE_DISABLE=1; export CCACHE_DISABLE; S=%s; set -e; cd \"$0\"; %s",
             test_source_dir(), script);
    const char *argv[] = {"sh", "-c", command, test_folder(), NULL};
    struct test_run run = test_run(argv, NULL, NULL, 200);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
}

static const char *in_folder(const char *name)
{
    static char paths[4][600];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

#define BUILD                                                                                      \
    "gcc -O2 -g -D_GNU_SOURCE -I$S/include -I$S/src/common/base -I$S/src/names/symbol "            \
    "-I$S/src/common/mem "                                                                         \
    "-I$S/src/images/image $S/src/names/symbol/dwarf_[flru]*.c -shared -fPIC -o plain; "

/* An index does not depend on how its input was packed. */
static void must_be_same(const char *name, const struct program *plain)
{
    struct program packed;
    open_program(in_folder(name), &packed);
    if (packed.made.size != plain->made.size ||
        memcmp(packed.made.data, plain->made.data, plain->made.size) != 0) {
        FAIL("the index of %s is another one than that of the same file not compressed", name);
    }
    close_program(&packed);
}

TEST_TIMEOUT(forms_compressed, 250)
{
    struct program plain;
    sh(BUILD
       "for k in zlib zstd zlib-gnu; do objcopy --compress-debug-sections=$k plain $k; done; "
       "readelf -SW zlib | grep -q 'debug_info.* C '; readelf -SW zlib-gnu | grep -q zdebug_info");
    open_program(in_folder("plain"), &plain);
    CHECK(plain.made.units >= 4);
    must_be_same("zlib", &plain);
    must_be_same("zstd", &plain);
    must_be_same("zlib-gnu", &plain);
    close_program(&plain);
    struct agreement a = compare(in_folder("zstd"), NULL, NULL, 1000);
    CHECK(a.known > 700);
    must_agree("zstd", a);
}

struct packed {
    char *bytes;
    size_t size;
    struct sonde__elf elf;
    struct sonde__elf_section info;
    uint8_t *header; /* compression header of .debug_info */
};

static struct packed open_packed(const char *name)
{
    struct packed p;
    p.bytes = test_read_file(in_folder(name), &p.size);
    CHECK_OK(sonde__elf_open(p.bytes, p.size, &p.elf, NULL));
    CHECK(sonde__elf_section_by_name(&p.elf, ".debug_info", &p.info));
    p.header = (uint8_t *)p.bytes + p.info.offset;
    return p;
}

static void set_u64(uint8_t *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
}

/* The reported damage, and the bytes of .debug_info that were read. */
static const char *damage_of(const struct packed *p, size_t *ret_size)
{
    struct sonde__symfile_sections sections;
    struct sonde_error error;
    CHECK_OK(sonde__symfile_sections_open(&p->elf, false, &sections, &error));
    const char *damage = sections.damage != NULL ? sections.damage : "";
    *ret_size = (size_t)(sections.views.info.end - sections.views.info.begin);
    sonde__symfile_sections_close(&sections);
    return damage;
}

/* Impossible sizes are refused, and so are streams longer than their stated size. */
TEST_TIMEOUT(forms_compressed_by_an_enemy, 250)
{
    static const char *const names[] = {"zlib", "zstd"};
    size_t size, whole;
    sh(BUILD "for k in zlib zstd; do objcopy --compress-debug-sections=$k plain $k; done; "
             "head -c 40000000 /dev/zero >zeros; "
             "objcopy --remove-section .debug_info --add-section .debug_info=zeros plain bomb; "
             "for k in zlib zstd; do objcopy --compress-debug-sections=$k bomb bomb-$k; done");
    for (unsigned i = 0; i < 2; i++) {
        struct packed p = open_packed(names[i]);
        CHECK_STR(damage_of(&p, &whole), "");
        CHECK(whole > 10000);
        static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 63, (uint64_t)1 << 62,
                                         (uint64_t)17 << 30, 200u << 20};
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            set_u64(p.header + 8, sizes[k]);
            CHECK_CONTAINS(damage_of(&p, &size), "an impossible size");
            CHECK_EQ(size, 0);
        }
        set_u64(p.header + 8, whole - 100); /* the stated size is too small */
        CHECK_CONTAINS(damage_of(&p, &size), "malformed");
        CHECK(size <= whole - 100);
        set_u64(p.header + 8, whole + 100);
        CHECK_CONTAINS(damage_of(&p, &size), "shorter than its header says");
        CHECK_EQ(size, whole);
        set_u64(p.header + 8, whole);
        p.header[24 + (i == 0 ? p.info.size / 2 : 0)] ^= 0x10; /* zstd here has no checksum */
        CHECK_CONTAINS(damage_of(&p, &size), "malformed");
        CHECK(size <= whole);
        p.header[0] = 9; /* an unknown type */
        CHECK_CONTAINS(damage_of(&p, &size), "unknown");
        CHECK_EQ(size, 0);
        free(p.bytes);
    }
    for (unsigned i = 0; i < 2; i++) { /* 40 MB of zeros in some KiB, stated as 1000 bytes */
        struct packed p = open_packed(i == 0 ? "bomb-zlib" : "bomb-zstd");
        CHECK(p.info.size < 60000);
        set_u64(p.header + 8, 1000);
        CHECK_CONTAINS(damage_of(&p, &size), "malformed");
        CHECK(size <= 1000);
        free(p.bytes);
    }
}

/* A fault in a compressed section loses the data after it, and is listed. */
TEST_TIMEOUT(forms_compressed_and_damaged, 250)
{
    struct sonde__symfile_sections sections;
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde__symindex_bad_unit unit;
    struct sonde_error error;
    sh(BUILD "objcopy --compress-debug-sections=zlib plain zlib");
    struct packed p = open_packed("zlib");
    p.header[24 + p.info.size / 2] ^= 0x10;
    CHECK_OK(sonde__symfile_sections_open(&p.elf, false, &sections, &error));
    struct sonde__symindex_source source = {
        .debug = &p.elf, .sections = &sections.views, .damage = sections.damage};
    CHECK_OK(sonde__symindex_convert(&source, &made, &error));
    CHECK_OK(sonde__symindex_open(made.data, made.size, &index, &error));
    CHECK(made.bad_units >= 1);
    CHECK(made.units >= 1); /* units of the first half */
    CHECK(sonde__symindex_bad_unit(&index, 0, &unit));
    CHECK_CONTAINS(unit.what, "compressed section is malformed");
    sonde__mem_free(made.data);
    sonde__symfile_sections_close(&sections);
    free(p.bytes);
}

/* --- dwz --- */

static void must_be_known(const char *name, const char *its_name, unsigned least)
{
    struct agreement a = compare(in_folder(name), in_folder(its_name), NULL, 1000);
    if (a.known < least) {
        FAIL("%s: only %u of %u addresses are known", name, a.known, a.asked);
    }
    must_agree(name, a);
}

static struct sonde__symindex_bad_unit first_bad_unit(const char *name)
{
    struct sonde__symindex_bad_unit unit = {0};
    struct program p;
    open_program(in_folder(name), &p);
    CHECK(sonde__symindex_bad_unit(&p.index, 0, &unit));
    unit.what = strdup(unit.what);
    close_program(&p);
    return unit;
}

/* Names of two libraries in a third file, found by the name in them or by its build-id.
 * llvm-symbolizer cannot read that form: it reads the program as it was before dwz. */
static void check_dwz(const char *options, const char *dwz_options)
{
    char script[3000];
    snprintf(script, sizeof script,
             "for i in 1 2; do gcc -O2 %s -D_GNU_SOURCE -I$S/include -I$S/src/common/base "
             "-I$S/src/names/symbol -I$S/src/common/mem -I$S/src/images/image "
             "$S/src/names/symbol/dwarf_[flru]*.c -shared -fPIC "
             "-DN=$i -o plain$i; cp plain$i packed$i; done; mkdir -p sub; "
             "dwz %s -r -m sub/common.debug packed1 packed2; "
             "readelf -SW packed1 | grep -qE 'gnu_debugaltlink|debug_sup'",
             options, dwz_options);
    sh(script);
    must_be_known("packed1", "plain1", 700);
    must_be_known("packed2", "plain2", 700);
    sh("mv sub/common.debug other; gcc -g -shared -fPIC -x c /dev/null -o sub/common.debug");
    struct sonde__symindex_bad_unit unit = first_bad_unit("packed1"); /* another file: refused */
    CHECK_CONTAINS(unit.what, "dwz");
    free((char *)unit.what);
    sh("mv other sub/common.debug");
    struct program p;
    struct sonde__symindex_bad_unit none;
    open_program(in_folder("packed1"), &p);
    CHECK(!sonde__symindex_bad_unit(&p.index, 0, &none));
    close_program(&p);
}

TEST_TIMEOUT(forms_dwz_version_4, 250)
{
    check_dwz("-gdwarf-4", "");
}

TEST_TIMEOUT(forms_dwz_supplementary_of_version_5, 250)
{
    check_dwz("-gdwarf-5", "--dwarf-5");
}

/* One file with its common parts in partial units of its own. */
TEST_TIMEOUT(forms_dwz_partial_units, 250)
{
    sh(BUILD
       "cp plain packed; dwz packed; objdump --dwarf=info packed | grep -q DW_TAG_partial_unit");
    must_be_known("packed", "plain", 700);
}

/* --- split files --- */

static void check_split(const char *compiler, const char *options, const char *package)
{
    char script[3000];
    snprintf(
        script, sizeof script,
        "for f in $S/src/names/symbol/dwarf_[flru]*.c; do b=$(basename $f .c); %s -O2 %s "
        "-gsplit-dwarf "
        "-D_GNU_SOURCE -I$S/include -I$S/src/common/base -I$S/src/names/symbol -I$S/src/common/mem "
        "-I$S/src/images/image -fPIC -c $f -o $b.o; done; %s -shared -o split *.o; "
        "ls *.dwo >/dev/null; %s",
        compiler, options, compiler, package);
    sh(script);
    must_be_known("split", "split", 700);
}

TEST_TIMEOUT(forms_split_gcc_version_4, 250)
{
    check_split("gcc", "-gdwarf-4", "true");
}

TEST_TIMEOUT(forms_split_gcc_version_5, 250)
{
    check_split("gcc", "-gdwarf-5", "true");
}

TEST_TIMEOUT(forms_split_sections_collected, 250)
{
    check_split("clang", "-gdwarf-5 -ffunction-sections -Wl,--gc-sections -gz=zlib", "true");
}

TEST_TIMEOUT(forms_package_gcc_version_4, 250)
{
    check_split("gcc", "-gdwarf-4", "dwp -e split -o split.dwp; rm *.dwo");
}

TEST_TIMEOUT(forms_package_clang_version_5, 250)
{
    check_split("clang", "-gdwarf-5", "llvm-dwp-19 -e split -o split.dwp; rm *.dwo");
}

/* A missing file is reported by name; a file of that name of another unit is refused. */
TEST_TIMEOUT(forms_split_files_that_are_gone, 250)
{
    check_split("gcc", "-gdwarf-5", "true");
    sh("cp dwarf_form.dwo dwarf_line.dwo");
    struct sonde__symindex_bad_unit unit = first_bad_unit("split");
    CHECK_CONTAINS(unit.what, "dwarf_line.dwo");
    CHECK_CONTAINS(unit.what, "not found");
    free((char *)unit.what);
}

/* Flip every bit of a package's index and its abbreviations: the index answers, or lists bad
 * units. */
TEST_TIMEOUT(forms_package_survives_flipped_bits, 250)
{
    static const char *const names[] = {".debug_cu_index", ".debug_abbrev.dwo"};
    check_split("clang", "-gdwarf-5", "llvm-dwp-19 -e split -o split.dwp; rm *.dwo");
    size_t size;
    unsigned listed = 0;
    char *bytes = test_read_file(in_folder("split.dwp"), &size);
    for (unsigned n = 0; n < 2; n++) {
        struct sonde__elf elf;
        struct sonde__elf_section section;
        CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
        CHECK(sonde__elf_section_by_name(&elf, names[n], &section));
        size_t step = section.size * 8 / 25 + 1;
        for (size_t i = 0; i < section.size * 8; i += step) {
            struct program p;
            bytes[section.offset + i / 8] ^= (char)(1 << i % 8);
            test_write_file(in_folder("split.dwp"), bytes, size);
            open_program(in_folder("split"), &p);
            listed += p.made.bad_units != 0;
            close_program(&p);
            bytes[section.offset + i / 8] ^= (char)(1 << i % 8);
        }
    }
    CHECK(listed > 5);
    free(bytes);
}
