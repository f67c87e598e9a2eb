// SPDX-License-Identifier: Apache-2.0
/* sonde's backtrace functions against glibc's, called from the same place. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

enum { OURS, GLIBC, BOTH, DEPTH = 5000 };

struct functions {
    int (*backtrace)(void **, int);
    char **(*symbols)(void *const *, int);
    void (*symbols_fd)(void *const *, int, int);
};

static struct functions functions[BOTH];
static void *pcs[BOTH][DEPTH];
static int counts[BOTH];

/* libc's own table gives glibc's functions; linking order gives ours. */
static __attribute__((constructor)) void find_functions(void)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *pc;
    functions[OURS] = (struct functions){backtrace, backtrace_symbols, backtrace_symbols_fd};
    *(void **)&functions[GLIBC].backtrace = dlsym(libc, "backtrace");
    *(void **)&functions[GLIBC].symbols = dlsym(libc, "backtrace_symbols");
    *(void **)&functions[GLIBC].symbols_fd = dlsym(libc, "backtrace_symbols_fd");
    (void)functions[GLIBC].backtrace(&pc, 1); /* loads libgcc */
    for (int i = 0; i < 3; i++) {             /* the loader keeps memory of its first dlopen */
        void *handle = dlopen("libm.so.6", RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

static void check_found(void)
{
    Dl_info info;
    CHECK(dladdr((void *)(uintptr_t)functions[OURS].backtrace, &info) != 0);
    CHECK_CONTAINS(info.dli_fname, "libsonde-execinfo.so");
    CHECK(dladdr((void *)(uintptr_t)functions[GLIBC].backtrace, &info) != 0);
    CHECK_CONTAINS(info.dli_fname, "libc.so.6");
}

/* One call in a loop is one call site. */
static __attribute__((noinline)) void capture_both(int size)
{
    memset(pcs, 0x55, sizeof pcs);
    for (volatile int i = 0; i < BOTH; i++) {
        counts[i] = functions[i].backtrace(pcs[i], size);
    }
}

/* Compare the caller's whole array, also after the last frame. */
static void check_same(int at_least)
{
    CHECK(counts[OURS] >= at_least);
    CHECK_EQ(counts[OURS], counts[GLIBC]);
    for (int i = 0; i < counts[OURS]; i++) {
        CHECK_EQ((uintptr_t)pcs[OURS][i], (uintptr_t)pcs[GLIBC][i]);
    }
    CHECK_EQ((uintptr_t)pcs[OURS][counts[OURS]], 0x5555555555555555);
}

static __attribute__((noinline)) int recurse(int depth, int size)
{
    volatile char room[32];
    room[0] = (char)depth;
    if (depth == 0) {
        capture_both(size);
    } else {
        room[1] = (char)recurse(depth - 1, size);
    }
    return room[0];
}

TEST(the_same_frames)
{
    static const int depths[] = {0, 1, 30, 126, 127, 128, 129, 500, 2040, 2050, 4500};
    check_found();
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        recurse(depths[i], DEPTH - 1);
        check_same(depths[i] + 3);
    }
}

TEST(the_same_frames_in_less_room)
{
    static const int sizes[] = {-1, 0, 1, 2, 3, 10, 127, 128, 129, 2047, 2048, 2049, 3000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        recurse(3000, sizes[i]);
        check_same(sizes[i] < 0 ? 0 : sizes[i]);
    }
}

static void *in_thread(void *arg)
{
    recurse(10, DEPTH - 1);
    return arg;
}

static int compare(const void *a, const void *b)
{
    recurse(1, DEPTH - 1);
    return *(const int *)a - *(const int *)b;
}

static void on_signal(int signal)
{
    (void)signal;
    recurse(5, DEPTH - 1);
}

TEST(from_odd_places)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    stack_t alternate = {.ss_size = 1 << 16};
    int numbers[] = {2, 1};
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, in_thread, NULL));
    pthread_join(thread, NULL);
    check_same(12);
    qsort(numbers, 2, sizeof numbers[0], compare);
    check_same(6);
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    check_same(9);
    alternate.ss_sp = malloc(alternate.ss_size);
    CHECK_OK(sigaltstack(&alternate, NULL));
    raise(SIGUSR1);
    check_same(9);
    alternate.ss_flags = SS_DISABLE;
    CHECK_OK(sigaltstack(&alternate, NULL));
    free(alternate.ss_sp);
}

/* --- names --- */

static char *read_all(int fd)
{
    static char text[1 << 20];
    size_t size = 0;
    ssize_t n;
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    while ((n = read(fd, text + size, sizeof text - size)) > 0) {
        size += (size_t)n;
        CHECK(size < sizeof text);
    }
    text[size] = '\0';
    return text;
}

static char *fd_lines(const struct functions *f, void *const *addresses, int count)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    char *text;
    CHECK(fd >= 0);
    f->symbols_fd(addresses, count, fd);
    text = strdup(read_all(fd));
    close(fd);
    return text;
}

static void check_same_names(void *const *addresses, int count)
{
    char **ours = functions[OURS].symbols(addresses, count);
    char **theirs = functions[GLIBC].symbols(addresses, count);
    char *our_text = fd_lines(&functions[OURS], addresses, count);
    char *their_text = fd_lines(&functions[GLIBC], addresses, count);
    CHECK(ours != NULL && theirs != NULL);
    for (int i = 0; i < count; i++) {
        CHECK_STR(ours[i], theirs[i]);
    }
    CHECK_STR(our_text, their_text);
    free(our_text);
    free(their_text);
    free(ours); /* one heap block, as from glibc */
    free(theirs);
}

TEST(the_same_names)
{
    recurse(20, 100);
    check_same_names(pcs[OURS], counts[OURS]);
}

/* Odd addresses: none, of no object, of data, of the last byte of everything. */
TEST(names_of_odd_addresses)
{
    static int data;
    uintptr_t function = (uintptr_t)&printf;
    void *addresses[10] = {NULL, (void *)1, (void *)-1, &data, &data + 1};
    addresses[5] = addresses;
    addresses[6] = (void *)function;
    addresses[7] = (void *)(function + 1);
    addresses[8] = (void *)(function - 1);
    addresses[9] = (void *)(uintptr_t)&recurse;
    check_same_names(addresses, sizeof addresses / sizeof addresses[0]);
}

struct sweep {
    uint64_t seen;
    unsigned images;
};

/* Addresses all over an image, dense enough to hit every symbol of small images. */
static int sweep_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
    enum { AT_ONCE = 512 };
    struct sweep *sweep = ctx;
    void *addresses[AT_ONCE];
    (void)size;
    sweep->images++;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD) {
            continue;
        }
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        uint64_t count = segment->p_memsz < 40000 ? segment->p_memsz : test_long() ? 200000 : 20000;
        uint64_t step = segment->p_memsz / (count != 0 ? count : 1);
        int filled = 0;
        for (uint64_t k = 0; k < count; k++) {
            addresses[filled++] = (void *)(uintptr_t)(start + k * step);
            if (filled == AT_ONCE || k + 1 == count) {
                check_same_names(addresses, filled);
                sweep->seen += (uint64_t)filled;
                filled = 0;
            }
        }
    }
    return 0;
}

TEST_TIMEOUT(names_all_over_the_images, 200)
{
    struct sweep sweep = {0};
    dl_iterate_phdr(sweep_image, &sweep);
    CHECK(sweep.images >= 5);
    CHECK(sweep.seen > 100000);
}

/* A library is loaded, unloaded, and replaced by another. */
TEST(names_after_unloading)
{
    static const char *const names[] = {"libm.so.6", "libz.so.1", "libutil.so.1", "libm.so.6"};
    for (int round = 0; round < 3; round++) {
        void *old = NULL;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            void *handle = dlopen(names[i], RTLD_NOW);
            struct link_map *map = handle;
            if (handle == NULL) {
                continue;
            }
            void *addresses[] = {(char *)map->l_addr + 0x10000, (char *)map->l_addr + 0x14321, old,
                                 map->l_ld};
            check_same_names(addresses, 4);
            old = addresses[0];
            dlclose(handle);
            check_same_names(addresses, 4);
        }
    }
}

/* --- preloaded --- */

/* Without the addresses in brackets, which differ from run to run. */
static void drop_addresses(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        *to++ = *at;
        if (at[0] == '[' && at[1] == '0' && at[2] == 'x') {
            while (*at != ']' && at[1] != '\0') {
                at++;
            }
            *to++ = ']';
        }
    }
    *to = '\0';
}

static struct test_run run_with(const char *const argv[], bool is_preloaded)
{
    char preload[4200];
    const char *const env[] = {preload, NULL};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s/execinfo/libsonde-execinfo.so",
             test_build_dir());
    struct test_run run = test_run(argv, is_preloaded ? env : NULL, NULL, 60);
    drop_addresses(run.out);
    drop_addresses(run.err);
    return run;
}

static void check_prints_the_same(const char *program)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/integration/execinfo/execinfo_print_%s", test_build_dir(),
             program);
    const char *const argv[] = {path, NULL};
    struct test_run plain = run_with(argv, false), preloaded = run_with(argv, true);
    CHECK_EQ(plain.status, 0);
    CHECK_EQ(preloaded.status, 0);
    CHECK_STR(preloaded.out, plain.out);
    CHECK_STR(preloaded.err, "");
    CHECK_CONTAINS(plain.out, "handler: 8\n");
    test_run_done(&plain);
    test_run_done(&preloaded);
}

/* Names and offsets of a relocated program, whose own functions are exported. */
TEST(a_preloaded_program)
{
    check_prints_the_same("pie");
}

/* A program at a fixed address, whose functions have no name for dladdr(). */
TEST(a_preloaded_program_at_a_fixed_address)
{
    check_prints_the_same("fixed");
}

/* --- stock programs that print their own stack --- */

/* Addresses of 16 digits, as LLVM prints them, become 0x*. */
static void drop_long_numbers(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        size_t digits = at[0] == '0' && at[1] == 'x' ? strspn(at + 2, "0123456789abcdef") : 0;
        if (digits == 16) {
            memcpy(to, "0x*", 3);
            to += 3;
            at += 1 + digits;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

/* A signal ends the compiler, which prints its stack with its own names for libraries. */
TEST_TIMEOUT(the_stack_of_a_compiler, 200)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/crash.c", test_folder());
    test_write_file(path, "#pragma clang __debug crash\n", 28);
    const char *const argv[] = {"clang", "-cc1", "-fsyntax-only", path, NULL};
    struct test_run plain = run_with(argv, false), preloaded = run_with(argv, true);
    drop_long_numbers(plain.err);
    drop_long_numbers(preloaded.err);
    CHECK_CONTAINS(plain.err, "Stack dump:");
    CHECK_CONTAINS(plain.err, "main");
    CHECK_STR(preloaded.err, plain.err);
    test_run_done(&plain);
    test_run_done(&preloaded);
}

/* With JavaScript on the stack glibc's backtrace ends at its first frame; ours goes on to
 * _start. */
TEST_TIMEOUT(the_stack_of_a_javascript_engine, 200)
{
    const char *const argv[] = {"node", "-e", "process.abort()", NULL};
    struct test_run plain = run_with(argv, false), preloaded = run_with(argv, true);
    const char *begin = strstr(plain.err, " 1: 0x"), *end = strstr(plain.err, "\n\n-----");
    const char *ours = strstr(preloaded.err, " 1: 0x");
    if (begin == NULL || end == NULL) {
        SKIP("this node prints no native stack: %s", plain.err);
    }
    CHECK(ours != NULL && end > begin);
    CHECK_EQ(strncmp(begin, ours, (size_t)(end - begin)), 0);
    CHECK_CONTAINS(ours, " node::Start(");
    CHECK_CONTAINS(ours, " _start [");
    test_run_done(&plain);
    test_run_done(&preloaded);
}
