// SPDX-License-Identifier: Apache-2.0
/* Indexes through the public header alone (it is also linked with the shared library), against
 * addr2line and nm. */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sonde/index.h>

#include "test.h"

/* Load both libraries and make the heaps of threads before the harness counts the heap. */
static void *allocate(void *unused)
{
    char *volatile block = malloc(100);
    usleep(20000);
    free(block);
    return unused;
}

__attribute__((constructor)) static void load_libraries(void)
{
    pthread_t threads[8];
    (void)dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    setenv("XDG_CACHE_HOME", "/nonexistent", 1); /* not the user's indexes */
    for (unsigned i = 0; i < 8; i++) {
        if (pthread_create(&threads[i], NULL, allocate, NULL) != 0) {
            abort();
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
}

static char *sh(const char *script)
{
    char command[4096];
    snprintf(command, sizeof command, "set -e; cd \"$0\"; %s", script);
    const char *argv[] = {"sh", "-c", command, test_folder(), NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    char *out = strdup(run.out);
    test_run_done(&run);
    return out;
}

static const char *in_folder(const char *name)
{
    static char paths[4][600];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

/* A program with inlined calls, aliases and tail calls; its build-id. */
static char *build(void)
{
    static const char source[] =
        "#include <stdio.h>\n"
        "static inline int inner(volatile int *p) {\n"
        "    return *p;\n"
        "}\n"
        "static inline int middle(volatile int *p) {\n"
        "    return inner(p) + inner(p + 1);\n"
        "}\n"
        "__attribute__((noinline)) int leaf(volatile int *p) { return p[3]; }\n"
        "__attribute__((noinline)) int last(volatile int *p) { *p = 5; return leaf(p) + 1; }\n"
        "__attribute__((noinline)) int by_jump(volatile int *p) { *p = 1; return last(p); }\n"
        "__attribute__((noinline)) int outer(volatile int *p) {\n"
        "    return middle(p) + by_jump(p) + 2;\n"
        "}\n"
        "int outer_alias(volatile int *p) __attribute__((alias(\"outer\")));\n"
        "int main(int n, char **v) { int a[9] = {n}; return printf(\"%d\", outer(a)) + !v; }\n";
    test_write_file(in_folder("p.c"), source, sizeof source - 1);
    char *id = sh("gcc -O2 -g -gz=zlib -Wl,--build-id -o p p.c; "
                  "readelf -n p 2>/dev/null | sed -n 's/.*Build ID: //p' | tr -d '\\n'");
    CHECK_EQ(strlen(id), 40);
    return id;
}

static uint64_t value_of(const char *name)
{
    char script[200];
    snprintf(script, sizeof script, "nm p | awk '$3 == \"%s\" {print $1}'", name);
    char *out = sh(script);
    uint64_t value = strtoull(out, NULL, 16);
    CHECK(value != 0);
    free(out);
    return value;
}

static struct sonde_index *open_index(const char *path)
{
    struct sonde_index *index;
    struct sonde_error error;
    enum sonde_status status = sonde_index_open(path, 2, &index, &error);
    if (status != SONDE_OK) {
        FAIL("%s: %s", path, error.what);
    }
    return index;
}

/* Every byte of main, outer and the others gives addr2line's answer. */
TEST_TIMEOUT(api_index_agrees_with_addr2line, 100)
{
    struct sonde_index_frame frames[SONDE_INDEX_FRAMES_MAX];
    unsigned compared = 0;
    size_t n, i = 0;
    uint64_t at = 0;
    free(build());
    struct sonde_index *index = open_index(in_folder("p"));
    char *out = sh("nm -S p | awk '$3 == \"T\" && $4 ~ /^(main|outer|by_jump|last|leaf)$/ "
                   "{print $1, $2}' | while read a s; do i=0; while [ $i -lt $((0x$s)) ]; do "
                   "printf '%x\\n' $((0x$a + i)); i=$((i + 1)); done; done | "
                   "addr2line -a -i -f -s -e p");
    n = 0;
    for (char *line = strtok(out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "0x", 2) == 0) {
            CHECK_EQ(i, n); /* as many frames as addr2line had for the address before */
            at = strtoull(line, NULL, 16);
            CHECK_OK(sonde_index_lookup(index, at, frames, SONDE_INDEX_FRAMES_MAX, &n));
            i = 0;
            continue;
        }
        char *place = strtok(NULL, "\n");
        CHECK(place != NULL && i < n);
        CHECK_STR(sonde_index_name(index, frames[i].name), line);
        if (strchr(place, '?') == NULL) {
            char text[300];
            const char *file = sonde_index_file(index, frames[i].file);
            CHECK(strrchr(file, '/') != NULL);
            snprintf(text, sizeof text, "%s:%" PRIu32, strrchr(file, '/') + 1, frames[i].line);
            size_t length = strcspn(place, " "); /* "(discriminator 3)" follows */
            CHECK(strlen(text) == length && memcmp(text, place, length) == 0);
        }
        compared++;
        i++;
    }
    CHECK_EQ(i, n);
    CHECK(compared > 60);
    free(out);
    sonde_index_close(index);
}

TEST_TIMEOUT(api_index_ids_and_strings, 100)
{
    struct sonde_index_frame frames[16], many[32];
    struct sonde_index_symbol symbol = {.struct_bytes = sizeof symbol};
    struct sonde_index_info info = {.struct_bytes = sizeof info};
    struct sonde_index_bad_unit unit = {.struct_bytes = sizeof unit};
    uint64_t offsets[3];
    uint32_t first[3], counts[3];
    size_t n;
    char *id = build();
    uint64_t outer = value_of("outer");
    struct sonde_index *index = open_index(in_folder("p"));
    CHECK_OK(sonde_index_info(index, &info));
    CHECK_EQ(info.units, 1);
    CHECK_EQ(info.bad_units, 0);
    CHECK_EQ(sonde_index_bad_unit(index, 0, &unit), SONDE_ABSENT);
    CHECK(outer >= info.first_offset && outer < info.first_offset + info.code_bytes);
    CHECK_EQ(info.build_id_size, 20);
    for (unsigned i = 0; i < 20; i++) {
        char two[3];
        snprintf(two, sizeof two, "%02x", info.build_id[i]);
        CHECK(memcmp(two, id + 2 * (size_t)i, 2) == 0);
    }
    CHECK_OK(sonde_index_lookup(index, outer, frames, 16, &n));
    CHECK(n >= 1);
    CHECK_STR(sonde_index_name(index, frames[n - 1].name), "outer");
    CHECK_OK(sonde_index_symbol(index, outer + 1, &symbol));
    CHECK_EQ(symbol.start, outer);
    CHECK_STR(sonde_index_name(index, symbol.name), "outer");
    CHECK(sonde_index_name(index, symbol.name) == sonde_index_name(index, symbol.name));
    CHECK_EQ(symbol.alias_count, 1);
    CHECK_STR(sonde_index_name(index, sonde_index_alias(index, outer + 1, 0)), "outer_alias");
    CHECK_EQ(sonde_index_alias(index, outer + 1, 1), 0);
    CHECK_STR(sonde_index_name(index, 0), "");
    CHECK_STR(sonde_index_name(index, UINT32_MAX), "");
    CHECK_STR(sonde_index_name(index, info.names + 1), "");
    CHECK(sonde_index_name(index, info.names)[0] != '\0');
    CHECK_STR(sonde_index_file(index, info.files + 1), "");
    CHECK(sonde_index_file(index, info.files)[0] != '\0');
    offsets[0] = outer + 8;
    offsets[1] = 0;
    offsets[2] = value_of("main");
    CHECK_OK(sonde_index_lookup_many(index, offsets, 3, many, 32, first, counts));
    CHECK_EQ(counts[1], 0);
    for (unsigned i = 0; i < 3; i += 2) {
        CHECK_OK(sonde_index_lookup(index, offsets[i], frames, 16, &n));
        CHECK_EQ(n, counts[i]);
        CHECK(memcmp(frames, many + first[i], n * sizeof frames[0]) == 0);
    }
    CHECK_EQ(sonde_index_lookup_many(index, offsets, 3, many, 1, first, counts), SONDE_LIMIT);
    CHECK_EQ(sonde_index_lookup(index, 0, frames, 16, &n), SONDE_ABSENT);
    CHECK_EQ(n, 0);
    CHECK_EQ(sonde_index_lookup(index, UINT64_MAX, frames, 16, &n), SONDE_ABSENT);
    unsigned cut = 0;
    for (uint64_t i = 0; i < symbol.size_bytes; i++) { /* middle and inner are inlined in it */
        if (sonde_index_lookup(index, outer + i, frames, 1, &n) == SONDE_LIMIT) {
            CHECK_EQ(n, 1);
            CHECK(strcmp(sonde_index_name(index, frames[0].name), "outer") != 0);
            cut++;
        }
    }
    CHECK(cut > 0);
    sonde_index_close(index);
    free(id);
}

/* outer calls by_jump, which jumps to last, which calls leaf. While leaf runs the stack has last
 * and outer. */
TEST_TIMEOUT(api_index_finds_tail_calls, 100)
{
    uint64_t places[4];
    struct sonde_index_frame frames[4];
    size_t n, depth;
    free(build());
    uint64_t outer = value_of("outer"), last = value_of("last"), main_at = value_of("main");
    char *out = sh("objdump -d --no-show-raw-insn p | grep -A1 'call.*<by_jump>' | tail -1");
    uint64_t back = strtoull(out, NULL, 16);
    struct sonde_index *index = open_index(in_folder("p"));
    CHECK(back > outer);
    CHECK_OK(sonde_index_tails(index, back, last + 1, places, 4, &n));
    CHECK_EQ(n, 1);
    CHECK_OK(sonde_index_lookup(index, places[0], frames, 4, &depth));
    CHECK_STR(sonde_index_name(index, frames[depth - 1].name), "by_jump");
    CHECK_EQ(sonde_index_tails(index, back, last + 1, places, 0, &n), SONDE_LIMIT);
    CHECK_EQ(sonde_index_tails(index, back, value_of("by_jump"), places, 4, &n), SONDE_ABSENT);
    CHECK_EQ(sonde_index_tails(index, back, main_at, places, 4, &n), SONDE_ABSENT);
    CHECK_EQ(sonde_index_tails(index, UINT64_MAX, last, places, 4, &n), SONDE_ABSENT);
    CHECK_EQ(n, 0);
    sonde_index_close(index);
    free(out);
}

TEST_TIMEOUT(api_index_by_build_id, 100)
{
    struct sonde_index *index = NULL;
    struct sonde_error error;
    struct sonde_index_info info = {.struct_bytes = sizeof info};
    uint8_t bytes[20], other[20];
    char *id = build();
    char script[600];
    for (unsigned i = 0; i < 20; i++) {
        char two[3] = {id[2 * (size_t)i], id[2 * (size_t)i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(two, NULL, 16);
        other[i] = (uint8_t)(bytes[i] ^ 1);
    }
    snprintf(script, sizeof script,
             "mkdir -p made tree/.build-id/%.2s wrong; "
             "objcopy --only-keep-debug p tree/.build-id/%.2s/%s.debug; "
             "echo 'int x; int f(void){return 1;}' >o.c; gcc -shared -fPIC -g -Wl,--build-id "
             "-o wrong/%s.sndidx o.c",
             id, id, id + 2, id);
    free(sh(script));
    char folders[3][600];
    snprintf(folders[0], sizeof folders[0], "%s", in_folder("made"));
    snprintf(folders[1], sizeof folders[1], "%s", in_folder("wrong"));
    snprintf(folders[2], sizeof folders[2], "%s", in_folder("tree"));
    const char *const list[] = {folders[0], folders[1], folders[2]};
    CHECK_EQ(sonde_index_open_build_id(bytes, 20, NULL, 0, 1, &index, &error), SONDE_ABSENT);
    CHECK_EQ(sonde_index_open_build_id(bytes, 20, list, 2, 1, &index, &error), SONDE_ABSENT);
    CHECK_CONTAINS(error.what, "build-id");
    CHECK(index == NULL);
    CHECK_OK(sonde_index_open_build_id(bytes, 20, list, 3, 1, &index, &error));
    CHECK_OK(sonde_index_info(index, &info));
    CHECK_EQ(info.units, 1);
    CHECK(memcmp(info.build_id, bytes, 20) == 0);
    sonde_index_close(index);
    CHECK_EQ(sonde_index_open_build_id(other, 20, list, 3, 1, &index, &error), SONDE_ABSENT);
    /* an index file with that id in the first folder */
    snprintf(script, sizeof script, "%s/cli/sonde", test_build_dir());
    if (access(script, X_OK) == 0) {
        snprintf(script, sizeof script, "%s/cli/sonde index -o made p", test_build_dir());
        free(sh(script));
        CHECK_OK(sonde_index_open_build_id(bytes, 20, list, 1, 1, &index, &error));
        sonde_index_close(index);
    }
    free(id);
}

TEST_TIMEOUT(api_index_refuses, 100)
{
    struct sonde_index *index = NULL;
    struct sonde_error error;
    struct sonde_index_info info = {.struct_bytes = sizeof info};
    struct sonde_index_symbol symbol = {.struct_bytes = sizeof symbol};
    struct sonde_index_frame frame;
    uint8_t id[4] = {1, 2, 3, 4};
    size_t n;
    CHECK_EQ(sonde_index_open(in_folder("nothing"), 1, &index, &error), SONDE_ABSENT);
    CHECK(error.what[0] != '\0');
    CHECK_EQ(sonde_index_open(in_folder("nothing"), 1, &index, NULL), SONDE_ABSENT);
    test_write_file(in_folder("text"), "just text, for long", 19);
    CHECK_EQ(sonde_index_open(in_folder("text"), 1, &index, &error), SONDE_UNSUPPORTED);
    test_write_file(in_folder("cut"), "SONDEIDX\1\0\0\0\0\0", 14);
    CHECK(sonde_index_open(in_folder("cut"), 1, &index, &error) != SONDE_OK);
    CHECK_EQ(sonde_index_open(NULL, 1, &index, &error), SONDE_USAGE);
    CHECK_EQ(sonde_index_open(in_folder("text"), 65, &index, &error), SONDE_USAGE);
    CHECK_EQ(sonde_index_open_build_id(id, 0, NULL, 0, 1, &index, &error), SONDE_USAGE);
    CHECK_EQ(sonde_index_open_build_id(id, 4, NULL, 1, 1, &index, &error), SONDE_USAGE);
    CHECK_EQ(sonde_index_open_build_id(id, 99, NULL, 0, 1, &index, &error), SONDE_USAGE);
    CHECK(index == NULL);
    CHECK_EQ(sonde_index_info(NULL, &info), SONDE_USAGE);
    CHECK_EQ(sonde_index_lookup(NULL, 1, &frame, 1, &n), SONDE_USAGE);
    CHECK_EQ(sonde_index_symbol(NULL, 1, &symbol), SONDE_USAGE);
    CHECK_STR(sonde_index_name(NULL, 1), "");
    sonde_index_close(NULL);
}

/* --- threads: look-ups and strings of one index --- */

static struct sonde_index *common;
static uint32_t name_count;

static void *ask_all(void *ctx)
{
    const char **names = ctx;
    for (uint32_t i = 1; i <= name_count; i++) {
        names[i - 1] = sonde_index_name(common, i);
    }
    return NULL;
}

TEST_TIMEOUT(api_index_strings_from_many_threads, 100)
{
    enum { THREADS = 4 };
    struct sonde_index_info info = {.struct_bytes = sizeof info};
    pthread_t threads[THREADS];
    const char **names[THREADS];
    common = open_index("/proc/self/exe");
    CHECK_OK(sonde_index_info(common, &info));
    name_count = info.names;
    CHECK(name_count > 20);
    for (unsigned i = 0; i < THREADS; i++) {
        names[i] = calloc(name_count, sizeof *names[i]);
        CHECK(names[i] != NULL);
        CHECK_EQ(pthread_create(&threads[i], NULL, ask_all, names[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(memcmp(names[i], names[0], name_count * sizeof *names[0]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        free(names[i]);
    }
    sonde_index_close(common);
}
