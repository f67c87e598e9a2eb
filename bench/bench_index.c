// SPDX-License-Identifier: Apache-2.0
/* Index files of the largest debug information that Debian ships, compared with llvm-symbolizer,
 * llvm-gsymutil, addr2line and eu-addr2line on the same addresses. `./dev bench index` fetches and
 * inflates the input (a gigabyte) and passes its path; without it nothing is measured.
 *
 * Times are CPU time of the working thread, which other programs disturb less; with two threads,
 * and with one in comparison, wall time. Each figure is a median. A tool's time is that of the
 * whole tool per further address, with its text; ours is that of a look-up with all names and paths
 * as pointers. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "host_file.h"
#include "image_elf.h"
#include "mem_heap.h"
#include "symfile_sections.h"
#include "symindex.h"
#include "symindex_convert.h"

enum {
    CONVERSIONS = 5,
    INFLATIONS = 3,
    ROUNDS = 5,
    ADDRESSES = 1000000,
    TOOL_FIRST = 50000,
    TOOL_MORE = 100000,
    SLOW_TOOL_FIRST = 500,
    SLOW_TOOL_MORE = 500,
    COLD = 201
};
enum { FRAMES_MAX = 256, PATH_BYTES = 4096 };

static volatile uint64_t sink;

static void fail(const char *what)
{
    fprintf(stderr, "bench_index: %s\n", what);
    exit(1);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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

/* --- memory: our largest private memory, read every millisecond --- */

static atomic_bool watching;
static atomic_long most_kib;

static long private_kib(void)
{
    char text[8192];
    size_t size = 0;
    const char *line;
    if (sonde__host_file_read("/proc/self/status", text, sizeof text, &size, NULL) != SONDE_OK ||
        (line = strstr(text, "RssAnon:")) == NULL) {
        return 0;
    }
    return strtol(line + 8, NULL, 10);
}

static void *watch_memory(void *unused)
{
    (void)unused;
    while (atomic_load(&watching)) {
        long now = private_kib();
        if (now > atomic_load(&most_kib)) {
            atomic_store(&most_kib, now);
        }
        usleep(1000);
    }
    return NULL;
}

/* --- ours --- */

struct corpus {
    const char *key;
    const char *path;
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__symindex_made made;
    uint64_t *addresses;
};

static void convert(struct corpus *corpus, unsigned threads)
{
    struct sonde__symindex_source source = {.debug = &corpus->elf, .threads = threads};
    struct sonde_error error;
    sonde__mem_free(corpus->made.data);
    if (sonde__symindex_convert(&source, &corpus->made, &error) != SONDE_OK) {
        fail(error.what);
    }
}

/* Peak memory of a conversion. Afterwards the input is in memory, too. */
static double conversion_mb(struct corpus *corpus, unsigned threads)
{
    pthread_t watcher;
    long before = private_kib();
    atomic_store(&most_kib, 0);
    atomic_store(&watching, true);
    if (pthread_create(&watcher, NULL, watch_memory, NULL) != 0) {
        fail("no thread");
    }
    convert(corpus, threads);
    atomic_store(&watching, false);
    pthread_join(watcher, NULL);
    sonde__mem_free(corpus->made.data);
    corpus->made.data = NULL;
    return (double)(atomic_load(&most_kib) - before) * 1024 / 1e6;
}

static void measure_conversion(struct corpus *corpus)
{
    double times[CONVERSIONS], walls[CONVERSIONS], walls2[CONVERSIONS];
    double one_mb = conversion_mb(corpus, 1);
    double two_mb = conversion_mb(corpus, 2);
    for (unsigned i = 0; i < CONVERSIONS; i++) {
        double begin = wall_s();
        convert(corpus, 2);
        walls2[i] = wall_s() - begin;
        begin = wall_s();
        double cpu_begin = cpu_s();
        convert(corpus, 1);
        times[i] = cpu_s() - cpu_begin;
        walls[i] = wall_s() - begin;
    }
    bench_print((double)corpus->made.size / 1e6, "MB", "symbols.%s.index_mb", corpus->key);
    bench_print(median(times, CONVERSIONS), "s", "symbols.%s.convert_cpu_s", corpus->key);
    bench_print(one_mb, "MB", "symbols.%s.convert_private_mb", corpus->key);
    bench_print(median(walls, CONVERSIONS), "s", "symbols.%s.convert_wall_s", corpus->key);
    bench_print(median(walls2, CONVERSIONS), "s", "symbols.%s.convert2_wall_s", corpus->key);
    bench_print(two_mb, "MB", "symbols.%s.convert2_private_mb", corpus->key);
}

static double measure_lookups(struct corpus *corpus)
{
    struct sonde__symindex_frame frames[FRAMES_MAX];
    struct sonde__symindex index;
    struct sonde_error error;
    double ids[ROUNDS], strings[ROUNDS], result;
    if (sonde__symindex_open(corpus->made.data, corpus->made.size, &index, &error) != SONDE_OK) {
        fail(error.what);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct sonde__symindex_strings s;
        uint64_t sum = 0;
        double begin = cpu_s();
        for (size_t i = 0; i < ADDRESSES; i++) {
            sum += sonde__symindex_find(&index, corpus->addresses[i], frames, FRAMES_MAX);
        }
        ids[round] = (cpu_s() - begin) / ADDRESSES * 1e6;
        begin = cpu_s();
        if (sonde__symindex_strings_init(&s, &index) != SONDE_OK) {
            fail("no memory");
        }
        for (size_t i = 0; i < ADDRESSES; i++) {
            size_t n = sonde__symindex_find(&index, corpus->addresses[i], frames, FRAMES_MAX);
            for (size_t k = 0; k < n; k++) {
                sum += (uint8_t)*sonde__symindex_name(&s, frames[k].name);
                sum += (uint8_t)*sonde__symindex_file(&s, frames[k].file);
            }
        }
        strings[round] = (cpu_s() - begin) / ADDRESSES * 1e6;
        sonde__symindex_strings_done(&s);
        sink += sum;
    }
    result = median(strings, ROUNDS);
    bench_print(median(ids, ROUNDS), "us", "symbols.%s.lookup_ids_us", corpus->key);
    bench_print(result, "us", "symbols.%s.lookup_strings_us", corpus->key);
    return result;
}

/* The whole first query: map the file, open it, look up, name. */
static void measure_cold(struct corpus *corpus, const char *folder)
{
    struct sonde__symindex_frame frames[FRAMES_MAX];
    double times[COLD];
    char path[PATH_BYTES];
    FILE *file;
    snprintf(path, sizeof path, "%s/bench-%s.sndidx", folder, corpus->key);
    file = fopen(path, "we");
    if (file == NULL ||
        fwrite(corpus->made.data, 1, corpus->made.size, file) != corpus->made.size ||
        fclose(file) != 0) {
        fail("cannot write the index");
    }
    for (unsigned i = 0; i < COLD; i++) {
        struct sonde__host_file mapped;
        struct sonde__symindex index;
        struct sonde__symindex_strings strings;
        struct sonde_error error;
        double begin = cpu_s();
        if (sonde__host_file_map(NULL, path, UINT64_MAX, &mapped, &error) != SONDE_OK ||
            sonde__symindex_open(mapped.data, mapped.size, &index, &error) != SONDE_OK ||
            sonde__symindex_strings_init(&strings, &index) != SONDE_OK) {
            fail("cannot open the index");
        }
        size_t n = sonde__symindex_find(&index, corpus->addresses[i], frames, FRAMES_MAX);
        for (size_t k = 0; k < n; k++) {
            sink += (uint8_t)*sonde__symindex_name(&strings, frames[k].name);
            sink += (uint8_t)*sonde__symindex_file(&strings, frames[k].file);
        }
        times[i] = (cpu_s() - begin) * 1e6;
        sonde__symindex_strings_done(&strings);
        sonde__host_file_unmap(&mapped);
    }
    unlink(path);
    bench_print(median(times, COLD), "us", "symbols.%s.cold_us", corpus->key);
}

/* --- peers --- */

/* CPU seconds of a shell command; negative: it failed. */
static double command_s(const char *command)
{
    struct rusage usage;
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        return -1;
    }
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void write_addresses(const struct corpus *corpus, const char *path, size_t count,
                            const char *suffix)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        fail("cannot write the addresses");
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "0x%llx%s\n", (unsigned long long)corpus->addresses[i], suffix);
    }
    fclose(file);
}

/* Microseconds per further address: the tool runs with `first_count` addresses, after which most
 * units have been read, and with `more` added. `format` takes another file and the addresses. 0:
 * the tool is not installed, or failed. */
static double tool_us(const struct corpus *corpus, const char *folder, const char *format,
                      const char *other, const char *suffix, size_t first_count, size_t more)
{
    char path[PATH_BYTES];
    char command[3 * PATH_BYTES];
    double first, both;
    snprintf(path, sizeof path, "%s/bench-addresses", folder);
    snprintf(command, sizeof command, format, other, path);
    write_addresses(corpus, path, first_count, suffix);
    first = command_s(command);
    write_addresses(corpus, path, first_count + more, suffix);
    both = command_s(command);
    unlink(path);
    return first < 0 || both < first ? 0 : (both - first) / (double)more * 1e6;
}

/* Tools that read debug information address by address. */
static void measure_slow_peer(const struct corpus *corpus, const char *folder, double ours_us,
                              const char *name, const char *key)
{
    char format[256];
    snprintf(format, sizeof format, "%s -i -f -e '%%s' <'%%s' >/dev/null 2>&1", name);
    double us = tool_us(corpus, folder, format, corpus->path, "", SLOW_TOOL_FIRST, SLOW_TOOL_MORE);
    if (us > 0) {
        bench_print(us, "us", "symbols.%s.%s_us", corpus->key, key);
        bench_print(us / ours_us, "x", "symbols.%s.vs_%s", corpus->key, key);
    } else {
        bench_note("no figure of %s: it is not there, failed, or took no longer for more", name);
    }
}

static void measure_peers(const struct corpus *corpus, const char *folder, double ours_us)
{
    char gsym[PATH_BYTES];
    char suffix[PATH_BYTES + 2];
    char command[3 * PATH_BYTES];
    double llvm =
        tool_us(corpus, folder, "llvm-symbolizer-19 --inlines --obj='%s' <'%s' >/dev/null",
                corpus->path, "", TOOL_FIRST, TOOL_MORE);
    double convert_s;
    if (llvm > 0) {
        bench_print(llvm, "us", "symbols.%s.llvm_symbolizer_us", corpus->key);
        bench_print(llvm / ours_us, "x", "symbols.%s.vs_llvm_symbolizer", corpus->key);
    } else {
        bench_note("no llvm-symbolizer-19");
    }
    snprintf(gsym, sizeof gsym, "%s/bench-%s.gsym", folder, corpus->key);
    snprintf(
        command, sizeof command,
        "llvm-gsymutil-19 --num-threads=1 --quiet --convert='%s' --out-file='%s' >/dev/null 2>&1",
        corpus->path, gsym);
    convert_s = command_s(command);
    if (convert_s < 0) {
        bench_note("no llvm-gsymutil-19, or it failed");
        return;
    }
    bench_print(convert_s, "s", "symbols.%s.gsymutil_convert_s", corpus->key);
    snprintf(suffix, sizeof suffix, " %s", gsym);
    double gsymutil =
        tool_us(corpus, folder, "llvm-gsymutil-19 --addresses-from-stdin '%.0s' <'%s' >/dev/null",
                "", suffix, TOOL_FIRST, TOOL_MORE);
    unlink(gsym);
    if (gsymutil > 0) {
        bench_print(gsymutil, "us", "symbols.%s.gsymutil_us", corpus->key);
        bench_print(gsymutil / ours_us, "x", "symbols.%s.vs_gsymutil", corpus->key);
    }
}

static void measure(const char *key, const char *path, const char *folder)
{
    struct corpus corpus = {.key = key, .path = path};
    struct sonde__elf_section text;
    struct sonde_error error;
    uint64_t state = 12345;
    if (sonde__host_file_map(NULL, path, UINT64_MAX, &corpus.file, &error) != SONDE_OK ||
        sonde__elf_open(corpus.file.data, corpus.file.size, &corpus.elf, &error) != SONDE_OK) {
        fail(error.what);
    }
    if (!sonde__elf_section_by_name(&corpus.elf, ".text", &text) || text.size == 0) {
        fail("no .text");
    }
    corpus.addresses = malloc(ADDRESSES * sizeof *corpus.addresses);
    if (corpus.addresses == NULL) {
        fail("no memory");
    }
    measure_conversion(&corpus);
    for (size_t i = 0; i < ADDRESSES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        corpus.addresses[i] = text.vaddr + (state >> 20) % text.size;
    }
    double ours_us = measure_lookups(&corpus);
    measure_cold(&corpus, folder);
    measure_peers(&corpus, folder, ours_us);
    measure_slow_peer(&corpus, folder, ours_us, "addr2line", "addr2line");
    measure_slow_peer(&corpus, folder, ours_us, "eu-addr2line", "eu_addr2line");
    sonde__mem_free(corpus.made.data);
    free(corpus.addresses);
    sonde__host_file_unmap(&corpus.file);
}

/* The extra cost if the same file is shipped with compressed sections. */
static void measure_inflation(const char *key, const char *path)
{
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde_error error;
    double times[INFLATIONS];
    if (sonde__host_file_map(NULL, path, UINT64_MAX, &file, &error) != SONDE_OK ||
        sonde__elf_open(file.data, file.size, &elf, &error) != SONDE_OK) {
        fail(error.what);
    }
    for (unsigned i = 0; i < INFLATIONS; i++) {
        struct sonde__symfile_sections sections;
        double begin = cpu_s();
        if (sonde__symfile_sections_open(&elf, false, &sections, &error) != SONDE_OK ||
            sections.inflated_bytes == 0) {
            fail("not inflated");
        }
        times[i] = cpu_s() - begin;
        sonde__symfile_sections_close(&sections);
    }
    bench_print(median(times, INFLATIONS), "s", "symbols.%s.inflate_cpu_s", key);
    sonde__host_file_unmap(&file);
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc % 3 != 2) {
        bench_note("bench_index FOLDER KEY FILE SHIPPED [KEY FILE SHIPPED]...: see "
                   "tools/dev/bench.sh");
        return 0;
    }
    for (int i = 2; i + 2 < argc; i += 3) {
        measure_inflation(argv[i], argv[i + 2]);
        measure(argv[i], argv[i + 1], argv[1]);
    }
    return 0;
}
