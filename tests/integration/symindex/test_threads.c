// SPDX-License-Identifier: Apache-2.0
/* Units read by several threads: the index has the same bytes as from one thread, for any input. No
 * thread touches another's data (ThreadSanitizer checks). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "symfile_dwarf.h"
#include "symfile_open.h"
#include "symindex.h"
#include "symindex_convert.h"
#include "test.h"

/* The C library makes and keeps heaps for threads that allocate at the same time: make them before
 * the harness counts. */
static pthread_barrier_t all_there;

static void *wait_for_all(void *unused)
{
    char *volatile block = malloc(100);
    pthread_barrier_wait(&all_there);
    free(block);
    return unused;
}

__attribute__((constructor)) static void start_threads_once(void)
{
    enum { COUNT = 64 };
    pthread_t threads[COUNT];
    pthread_barrier_init(&all_there, NULL, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        if (pthread_create(&threads[i], NULL, wait_for_all, NULL) != 0) {
            abort();
        }
    }
    for (unsigned i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void sh(const char *script)
{
    char command[4096];
    snprintf(command, sizeof command, "set -e; cd \"$0\"; %s", script);
    const char *argv[] = {"sh", "-c", command, test_folder(), NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
}

static const char *in_folder(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

struct told {
    uint64_t last, total;
    unsigned count, stop_at; /* 0: never */
};

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    struct told *told = ctx;
    CHECK(done >= told->last && done <= total);
    told->last = done;
    told->total = total;
    return ++told->count != told->stop_at;
}

static enum sonde_status try_convert(const char *path, unsigned threads, struct told *told,
                                     struct sonde__symindex_made *ret_made)
{
    static const struct sonde__symfile_options options = {.debug_root = "/nonexistent"};
    struct sonde__symfile_pair pair;
    struct sonde__symfile_dwarf dwarf;
    struct sonde_error error;
    CHECK_OK(sonde__symfile_open(&options, path, &pair, &error));
    enum sonde_status status = sonde__symfile_dwarf_open(&options, &pair, &dwarf, &error);
    if (status == SONDE_OK) {
        struct sonde__symindex_source source = {.debug = &pair.debug,
                                                .sections = &dwarf.sections,
                                                .damage = dwarf.damage,
                                                .split = sonde__symfile_dwarf_split,
                                                .split_ctx = &dwarf,
                                                .threads = threads,
                                                .progress = told != NULL ? step : NULL,
                                                .progress_ctx = told};
        status = sonde__symindex_convert(&source, ret_made, &error);
        sonde__symfile_dwarf_close(&dwarf);
    }
    if (status != SONDE_OK) {
        printf("    %s: %s\n", path, error.what);
    }
    sonde__symfile_close(&pair);
    return status;
}

static struct sonde__symindex_made convert(const char *path, unsigned threads)
{
    struct sonde__symindex_made made;
    CHECK_OK(try_convert(path, threads, NULL, &made));
    return made;
}

/* Convert with one thread and with 2, 6, 18, 54. Returns the result of one thread. */
static struct sonde__symindex_made must_be_same(const char *path, unsigned times)
{
    struct sonde__symindex_made one = convert(path, 1);
    unsigned count = 2;
    for (unsigned i = 0; i < times; i++, count *= 3) {
        struct sonde__symindex_made made = convert(path, count);
        if (made.size != one.size || memcmp(made.data, one.data, one.size) != 0) {
            FAIL("%u threads make another index of %s than one", count, path);
        }
        CHECK_EQ(made.units, one.units);
        CHECK_EQ(made.bad_units, one.bad_units);
        sonde__mem_free(made.data);
    }
    return one;
}

/* This test program: a hundred units of all sizes. */
TEST_TIMEOUT(threads_make_the_same_index, 100)
{
    struct sonde__symindex_made made = must_be_same("/proc/self/exe", 4);
    CHECK(made.units > 50);
    CHECK_EQ(made.bad_units, 0);
    sonde__mem_free(made.data);
}

TEST_TIMEOUT(threads_tell_how_far_they_are, 100)
{
    struct sonde__symindex_made made;
    struct told told = {0};
    CHECK_OK(try_convert("/proc/self/exe", 4, &told, &made));
    CHECK(told.count > 0);
    CHECK(told.total > 100000);
    sonde__mem_free(made.data);
    told = (struct told){.stop_at = 2};
    CHECK_EQ(try_convert("/proc/self/exe", 4, &told, &made), SONDE_LIMIT);
    CHECK_EQ(told.count, 2);
}

/* All slices need names from partial units. */
TEST_TIMEOUT(threads_with_partial_units, 100)
{
    sh("for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do "
       "printf '#include <stdio.h>\\n#include <pthread.h>\\n"
       "static inline int common(FILE*f){return fileno(f)+getc(f);}\\n"
       "int f%s(void){return common(stdin)+common(stderr)*%s;}\\n' $i $i >p$i.c; done; "
       "gcc -O2 -g -shared -fPIC -o packed p*.c; dwz packed; "
       "objdump --dwarf=info packed | grep -q DW_TAG_partial_unit");
    struct sonde__symindex_made made = must_be_same(in_folder("packed"), 4);
    CHECK(made.units > 16);
    CHECK_EQ(made.bad_units, 0);
    sonde__mem_free(made.data);
}

/* Two skeletons claim one split file: the first gets it. */
TEST_TIMEOUT(threads_with_split_files, 100)
{
    struct sonde__symindex index;
    struct sonde__symindex_bad_unit unit;
    struct sonde_error error;
    sh("for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do "
       "echo \"static inline int in$i(int *p){return p[$i];}"
       "int f$i(int *p){return in$i(p)*in$i(p+3);}\" >s$i.c; done; "
       "gcc -O2 -g -gsplit-dwarf -fPIC -c s*.c; "
       "for i in 3 17; do objcopy --redefine-sym f$i=again$i s$i.o t$i.o; done; "
       "gcc -shared -o split s?.o s1?.o t3.o t17.o");
    struct sonde__symindex_made made = must_be_same(in_folder("split"), 4);
    CHECK_EQ(made.units, 22);
    CHECK_EQ(made.bad_units, 2);
    CHECK_OK(sonde__symindex_open(made.data, made.size, &index, &error));
    for (unsigned i = 0; i < 2; i++) {
        CHECK(sonde__symindex_bad_unit(&index, i, &unit));
        CHECK_CONTAINS(unit.what, i == 0 ? "s3.dwo" : "s17.dwo");
    }
    sonde__mem_free(made.data);
}

/* Damage `bits` bits of .debug_info. Returns how many units are bad; each run of several threads
 * lists the same ones. */
static unsigned bad_units(const char *good, size_t size, unsigned bits)
{
    struct sonde__elf elf;
    struct sonde__elf_section info;
    uint64_t seed = bits;
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memcpy(bytes, good, size);
    CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
    CHECK(sonde__elf_section_by_name(&elf, ".debug_info", &info));
    for (unsigned i = 0; i < bits; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bytes[info.offset + (seed >> 20) % info.size] ^= (char)(1u << (seed >> 60 & 7));
    }
    test_write_file(in_folder("damaged"), bytes, size);
    struct sonde__symindex_made made = must_be_same(in_folder("damaged"), 4);
    unsigned bad = made.bad_units;
    sonde__mem_free(made.data);
    free(bytes);
    return bad;
}

/* Bad units are listed in their order. A damaged length ends the list of units, so the best number
 * of bits differs between builds. */
TEST_TIMEOUT(threads_with_bad_units, 100)
{
    size_t size;
    char *bytes = test_read_file("/proc/self/exe", &size);
    unsigned bad = 0;
    for (unsigned bits = 50; bits <= 3200 && bad <= 5; bits *= 2) {
        bad = bad_units(bytes, size, bits);
    }
    CHECK(bad > 5);
    free(bytes);
}

/* Units that refer to one of two large tables exhaust the work that the input's size allows. Which
 * units are refused does not depend on the order of threads. */
TEST_TIMEOUT(threads_without_work_left, 100)
{
#if defined(SONDE_SANITIZED)
    SKIP("seconds of reading tables under a sanitizer: the ordinary build does it");
#endif
    struct sonde__symindex index;
    struct sonde__symindex_bad_unit unit;
    struct sonde_error error;
    static const char source[] =
        ".text\n.globl f\n.type f,@function\nf: .fill 64,1,0x90\n.size f,64\n"
        ".section .debug_abbrev\n"
        ".macro table\n"
        "  .uleb128 1\n .uleb128 0x11\n .byte 0\n .uleb128 3\n .uleb128 8\n .byte 0,0\n"
        "  .uleb128 2\n .uleb128 0x24\n .byte 0\n .rept 22000\n .byte 3,8\n .endr\n"
        "  .byte 0,0,0\n"
        ".endm\n"
        "a: table\nb: table\n"
        ".section .debug_info\n"
        ".macro unit table\n"
        "  .4byte 10\n .2byte 4\n .4byte \\table - a\n .byte 8\n .uleb128 1\n .asciz \"u\"\n"
        ".endm\n"
        ".rept 450\n unit a\n unit b\n .endr\n";
    test_write_file(in_folder("work.s"), source, sizeof source - 1);
    sh("gcc -c work.s -o work.o && gcc -shared -nostdlib -o work work.o");
    struct sonde__symindex_made made = must_be_same(in_folder("work"), 1);
    CHECK_EQ(made.units, 900);
    CHECK(made.bad_units > 5 && made.bad_units < 800);
    CHECK_OK(sonde__symindex_open(made.data, made.size, &index, &error));
    CHECK(sonde__symindex_bad_unit(&index, 0, &unit));
    CHECK_CONTAINS(unit.what, "too often");
    sonde__mem_free(made.data);
}

/* An allocation fails in any thread: a clean status, no leak, no thread left. */
TEST_TIMEOUT(threads_without_memory, 100)
{
    struct sonde__symindex_made made;
    unsigned failed = 0;
    for (uint64_t i = 1; i < 20000; i = i * 5 / 4 + 3) {
        static const struct sonde__symfile_options options = {.debug_root = "/nonexistent"};
        struct sonde__symfile_pair pair;
        struct sonde_error error;
        CHECK_OK(sonde__symfile_open(&options, "/proc/self/exe", &pair, &error));
        struct sonde__symindex_source source = {.debug = &pair.debug, .threads = 4};
        sonde__mem_fail_from(i);
        enum sonde_status status = sonde__symindex_convert(&source, &made, &error);
        sonde__mem_fail_from(UINT64_MAX);
        if (status == SONDE_OK) {
            sonde__mem_free(made.data);
        } else {
            CHECK_EQ(status, SONDE_MEMORY);
            failed++;
        }
        sonde__symfile_close(&pair);
    }
    CHECK(failed > 20);
}
