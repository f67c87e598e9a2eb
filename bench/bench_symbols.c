// SPDX-License-Identifier: Apache-2.0
/* Names in process: building the index, and look-ups compared with a linear scan and with dladdr.
 * Peers and the index run interleaved; each figure is the median of the rounds, in CPU time of the
 * thread. Addresses are random over all of the code, padding included; of each answer the name's
 * address and the offset in the function are used. `ns` is for look-ups that do not wait for each
 * other, `latency_ns` for look-ups that do. `build_ms` is in memory that the process has used
 * before, `build_new_memory_ms` in new pages of the kernel. */
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_strings.h"
#include "harness.h"
#include "host_file.h"
#include "made_elf.h"
#include "symbol_index.h"

#define ROUNDS 15

static volatile uint64_t sink;

/* CPU time of this thread, which other programs disturb less than wall time. A look-up is too short
 * for the harness's calls through a pointer. */
static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return values[count / 2];
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_symbols: %s\n", what);
    exit(1);
}

/* `count` functions of 64 to 319 bytes, mostly aligned to 16, in random order as in real tables. */
static struct made_symbol *make_symbols(size_t count, char **ret_names, uint64_t *ret_text_size)
{
    struct made_symbol *symbols = calloc(count, sizeof *symbols);
    char *names = malloc(count * 40);
    uint64_t at = MADE_TEXT, state = 88172645463325252u;
    if (symbols == NULL || names == NULL) {
        fail("no memory");
    }
    for (size_t i = 0; i < count; i++) {
        char *name = names + i * 40;
        uint64_t size = 64 + next_random(&state) % 256;
        snprintf(name, 40, "_ZN5sonde5bench8functionIXT%zuEEEvv", i);
        symbols[i] = (struct made_symbol){name, at, size, 2, i % 3 != 0, 1};
        at = (at + size + 15) & ~(uint64_t)15;
    }
    for (size_t i = count - 1; i > 0; i--) {
        size_t other = next_random(&state) % (i + 1);
        struct made_symbol keep = symbols[i];
        symbols[i] = symbols[other];
        symbols[other] = keep;
    }
    *ret_names = names;
    *ret_text_size = at - MADE_TEXT;
    return symbols;
}

/* The sum of the answers, so that the compiler cannot drop a look-up. */
static inline uint64_t look_up(const struct sonde__symbol_index *index, uint64_t vaddr)
{
    struct sonde__symbol symbol;
    return sonde__symbol_find(index, vaddr, &symbol)
               ? (uintptr_t)symbol.name + (vaddr - symbol.start)
               : 0;
}

/* A linear scan for every frame, as in the articles that we started from. */
static const char *scan(const struct made_symbol *symbols, size_t count, uint64_t vaddr)
{
    const struct made_symbol *best = symbols;
    uint64_t best_distance = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (vaddr >= symbols[i].value && vaddr - symbols[i].value <= best_distance) {
            best = &symbols[i];
            best_distance = vaddr - symbols[i].value;
        }
    }
    return best->name;
}

/* Build the index; twice if its memory is to have been used before. */
static double time_build(const struct sonde__elf *elf, bool new_memory,
                         struct sonde__symbol_index **index)
{
    double start = 0;
    /* new memory: each large block is a mapping of its own, which a free gives back; else none
     * is */
    mallopt(M_MMAP_THRESHOLD, new_memory ? 64 << 10 : 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (int i = 0; i < (new_memory ? 1 : 2); i++) {
        sonde__symbol_index_destroy(*index);
        start = now_ns();
        if (sonde__symbol_index_create(elf, NULL, index, NULL) != SONDE_OK) {
            fail("cannot build the index");
        }
    }
    return (now_ns() - start) / 1e6;
}

static void bench_made(size_t count, const char *label)
{
    enum { ADDRESSES = 1 << 16, LOOKUPS = 4 * ADDRESSES };
    uint64_t text_size, state = 0x2545f4914f6cdd1du;
    char *names = NULL;
    struct made_symbol *symbols = make_symbols(count, &names, &text_size);
    double build[ROUNDS], new_memory[ROUNDS], find[ROUNDS], chained[ROUNDS], scanned[ROUNDS];
    uint32_t *offsets = malloc(ADDRESSES * sizeof *offsets);
    struct sonde__symbol_index *index = NULL;
    struct sonde__elf elf;
    size_t size;
    void *file = made_elf(symbols, count, text_size, &size);
    if (offsets == NULL || sonde__elf_open(file, size, &elf, NULL) != SONDE_OK) {
        fail("cannot make the table");
    }
    for (size_t i = 0; i < ADDRESSES; i++) {
        offsets[i] = (uint32_t)(next_random(&state) % text_size);
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t sum = 0;
        double start;
        new_memory[round] = time_build(&elf, true, &index);
        build[round] = time_build(&elf, false, &index);
        start = now_ns();
        for (size_t i = 0; i < LOOKUPS; i++) {
            sum += look_up(index, MADE_TEXT + offsets[i % ADDRESSES]);
        }
        find[round] = (now_ns() - start) / LOOKUPS;
        start = now_ns();
        for (size_t i = 0; i < LOOKUPS; i++) { /* each look-up waits for the previous one */
            sum += look_up(index, MADE_TEXT + offsets[i % ADDRESSES] + (sum & 1));
        }
        chained[round] = (now_ns() - start) / LOOKUPS;
        start = now_ns();
        for (size_t i = 0; i < 20; i++) {
            sum += (uintptr_t)scan(symbols, count, MADE_TEXT + offsets[i]);
        }
        scanned[round] = (now_ns() - start) / 20;
        sink += sum;
    }
    bench_print(median(find, ROUNDS), "ns", "symbols.inprocess.%s.ns", label);
    bench_print(median(chained, ROUNDS), "ns", "symbols.inprocess.%s.latency_ns", label);
    bench_print(median(build, ROUNDS), "ms", "symbols.inprocess.%s.build_ms", label);
    bench_print(median(build, ROUNDS) * 1e5 / (double)count, "ms",
                "symbols.inprocess.%s.build_ms_per_1e5", label);
    bench_print(median(new_memory, ROUNDS), "ms", "symbols.inprocess.%s.build_new_memory_ms",
                label);
    bench_print((double)sonde__symbol_index_bytes(index) / (double)sonde__symbol_count(index), "B",
                "symbols.inprocess.%s.bytes_per_symbol", label);
    bench_print(median(scanned, ROUNDS) / median(find, ROUNDS), "x",
                "symbols.inprocess.%s.vs_linear_scan", label);
    sonde__symbol_index_destroy(index);
    free(file);
    free(offsets);
    free(names);
    free(symbols);
}

/* dladdr() and the index on the same library and addresses. Most random addresses are code that
 * .dynsym does not name; for these the index looks up the bounds of the FDE. `named_ns` and
 * `stack50` are for the others. */
static void bench_dladdr(const char *path)
{
    enum { LOOKUPS = 1 << 16, ASKED = 20, FRAMES = 50 };
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map;
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__symbol_index *index = NULL;
    struct sonde__symbol symbol;
    double ours[ROUNDS], theirs[ROUNDS], named[ROUNDS];
    uint64_t start_vaddr, end_vaddr, state = 88172645463325252u, sum = 0, named_count = 0;
    static uint64_t vaddrs[LOOKUPS], named_vaddrs[LOOKUPS];
    if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 ||
        sonde__host_file_map(NULL, map->l_name, UINT64_MAX, &file, NULL) != SONDE_OK ||
        sonde__elf_open(file.data, file.size, &elf, NULL) != SONDE_OK ||
        !sonde__elf_text_range(&elf, &start_vaddr, &end_vaddr) ||
        sonde__symbol_index_create(&elf, NULL, &index, NULL) != SONDE_OK) {
        bench_note("no %s: dladdr is not compared", path);
        return;
    }
    for (size_t i = 0; i < LOOKUPS; i++) {
        vaddrs[i] = start_vaddr + next_random(&state) % (end_vaddr - start_vaddr);
        if (sonde__symbol_find(index, vaddrs[i], &symbol) && symbol.name[0] != '\0') {
            named_vaddrs[named_count++] = vaddrs[i];
        }
    }
    if (named_count < FRAMES) {
        fail("a library without names");
    }
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (size_t i = 0; i < LOOKUPS; i++) {
            sum += look_up(index, vaddrs[i]);
        }
        ours[round] = (now_ns() - start) / LOOKUPS;
        start = now_ns();
        for (size_t i = 0; i < LOOKUPS; i++) {
            sum += look_up(index, named_vaddrs[i % named_count]);
        }
        named[round] = (now_ns() - start) / LOOKUPS;
        start = now_ns();
        for (size_t i = 0; i < ASKED; i++) {
            Dl_info info;
            const char *at = (const char *)map->l_addr + vaddrs[(size_t)round * ASKED + i];
            sum += dladdr(at, &info) != 0 ? (uintptr_t)info.dli_saddr : 0;
        }
        theirs[round] = (now_ns() - start) / ASKED;
    }
    sink += sum;
    bench_print(sonde__symbol_count(index), "symbols", "symbols.inprocess.library.symbols");
    bench_print(median(ours, ROUNDS), "ns", "symbols.inprocess.library.ns");
    bench_print(median(named, ROUNDS), "ns", "symbols.inprocess.library.named_ns");
    bench_print(median(theirs, ROUNDS), "ns", "symbols.inprocess.library.dladdr_ns");
    bench_print(median(theirs, ROUNDS) / median(ours, ROUNDS), "x",
                strstr(path, "libLLVM") != NULL ? "symbols.inprocess.vs_dladdr_libllvm"
                                                : "symbols.inprocess.library.vs_dladdr");
    bench_print(median(named, ROUNDS) * FRAMES / 1e3, "us", "symbols.inprocess.stack50.us");
    bench_print(median(ours, ROUNDS) * FRAMES / 1e3, "us", "symbols.inprocess.stack50_nameless.us");
    sonde__symbol_index_destroy(index);
    sonde__host_file_unmap(&file);
    dlclose(library);
}

int main(void)
{
    static const char *const libraries[] = {"libLLVM-19.so.1",      "libLLVM.so.19.1",
                                            "libLLVM-15.so.1",      "libLLVM-14.so.1",
                                            "libpython3.11.so.1.0", "libstdc++.so.6"};
    bench_made(10000, "1e4");
    bench_made(100000, "1e5");
    bench_made(1000000, "1e6");
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        if (library != NULL) {
            bench_dladdr(libraries[i]);
            dlclose(library);
            break;
        }
    }
    bench_strings();
    return 0;
}
