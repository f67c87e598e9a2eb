// SPDX-License-Identifier: Apache-2.0
/* sonde blocks --core: the corpus's blocks in a core by gdb's gcore, against the program's own
 * report and the earlier answer for the live process; also truncated and forged cores. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/block.h>

#include "corpus.h"
#include "json.h"
#include "programs.h"
#include "test.h"

static struct program made;

/* The program waits for the end of its input, a pipe that is never closed. */
static void start(const char *name, const char *until)
{
    char line[1600];
    snprintf(line, sizeof line, "cd '%s' && mkfifo in && exec '%s/%s' <>in", test_folder(),
             corpus_built("-O2", CORPUS_ALL), name);
    const char *argv[] = {"sh", "-c", line, NULL};
    made = program_start(argv);
    program_await(&made, until, 60);
}

static struct test_run blocks(const char *option, const char *value, const char *operand,
                              const char *other)
{
    const char *argv[] = {program_sonde(), "blocks", option, value, operand, other, NULL};
    return test_run(argv, NULL, NULL, 100);
}

/* Offset, kind and ownership of a listed capture. */
static bool has_capture(const struct json *kind, unsigned offset, const char *text, bool owned)
{
    JSON_EACH(capture, json_need(kind, "captures"))
    {
        if (json_int(capture, "offset") == offset &&
            strcmp(json_text(capture, "kind"), text) == 0 && json_bool(capture, "owned") == owned) {
            return true;
        }
    }
    return false;
}

/* C++ objects count as owned and have no offsets in the truth. */
static unsigned count_owned(const struct json *kind)
{
    unsigned count = 0;
    JSON_EACH(capture, json_need(kind, "captures"))
    {
        if (strcmp(json_text(capture, "kind"), "C++ object") == 0) {
            CHECK(json_bool(capture, "owned"));
            continue;
        }
        count += json_bool(capture, "owned") || strcmp(json_text(capture, "kind"), "weak") == 0;
    }
    return count;
}

static const struct json *kind_of(const struct json *root, const char *address)
{
    JSON_EACH(kind, json_need(root, "kinds"))
    {
        JSON_EACH(one, json_need(kind, "addresses"))
        {
            if (strcmp(one->text, address) == 0) {
                return kind;
            }
        }
    }
    return NULL;
}

/* `owned`: " s32 b40 r48(s40) c56 ... found": the observed actions of the helpers. */
static unsigned check_owned(const char *name, const char *owned, const struct json *kind)
{
    unsigned wanted = 0, depth = 0;
    for (const char *at = owned; strncmp(at, "found", 5) != 0; at++) {
        const char *text = at[0] == 's'   ? "strong"
                           : at[0] == 'w' ? "weak"
                           : at[0] == 'b' ? "block"
                           : at[0] == 'r' ? "byref"
                                          : NULL;
        CHECK(at[0] != '\0');
        if (text != NULL && depth == 0) {
            unsigned offset = (unsigned)strtoul(at + 1, NULL, 10);
            if (!has_capture(kind, offset, text, at[0] != 'w')) {
                FAIL("%s: %s at %u is not told of", name, text, offset);
            }
            wanted++;
        }
        depth += at[0] == '(';
        depth -= at[0] == ')';
    }
    if (count_owned(kind) != wanted) {
        FAIL("%s: %u owned, %u told of", name, wanted, count_owned(kind));
    }
    return wanted;
}

/* The same except for the path of the core. */
static void check_same(const char *live, const char *of_core)
{
    const char *key = strstr(of_core, "\"core\": "), *rest;
    CHECK(key != NULL);
    rest = strstr(key, "\"blocks\": ");
    CHECK(rest != NULL);
    CHECK_EQ(strncmp(live, of_core, (size_t)(key - of_core)), 0);
    CHECK_STR(live + (key - of_core), rest);
}

static int say_nothing(void *ctx, uint64_t object, const char *class_name, char *text,
                       size_t size_bytes)
{
    (void)ctx, (void)object, (void)class_name, (void)text, (void)size_bytes;
    return 0;
}

/* A program that was built with another header gets the members that it knows. */
static void check_sizes(struct sonde_blocks *open, uint64_t address,
                        const struct sonde_block_capture *captures, size_t count)
{
    static const size_t sizes[] = {offsetof(struct sonde_block_capture, value),
                                   sizeof *captures + 16};
    for (size_t s = 0; s < 2; s++) {
        uint64_t other[(CORPUS_CAPTURES + 1) * (sizeof *captures + 16) / 8] = {sizes[s]};
        const size_t head = sizeof captures->struct_bytes;
        const size_t bytes = sizes[s] < sizeof *captures ? sizes[s] : sizeof *captures;
        size_t found;
        CHECK_OK(sonde_block_captures(open, address, (void *)other, CORPUS_CAPTURES, &found));
        CHECK_EQ(found, count);
        for (size_t n = 0; n < count; n++) {
            const char *one = (const char *)other + n * sizes[s];
            CHECK_EQ(*(const size_t *)(const void *)one, sizes[s]);
            struct sonde_block_capture got = {.value = captures[n].value};
            memcpy((char *)&got + head, one + head, bytes - head);
            CHECK(got.offset == captures[n].offset && got.size_bytes == captures[n].size_bytes);
            CHECK(got.kind == captures[n].kind && got.is_owned == captures[n].is_owned);
            CHECK(got.is_part == captures[n].is_part && got.denied == captures[n].denied);
            CHECK(got.denied_by == captures[n].denied_by && got.sources == captures[n].sources);
            CHECK_EQ(got.value, captures[n].value);
        }
    }
}

/* The library gives the same: as many blocks with as many captures. */
static void check_api(const char *core, const struct json *root)
{
    enum { MOST = 1000 };
    static struct sonde_block items[MOST] = {{.struct_bytes = sizeof items[0]}};
    struct sonde_block_capture captures[CORPUS_CAPTURES] = {{.struct_bytes = sizeof captures[0]}};
    struct sonde_blocks *open;
    size_t count;
    char address[32];
    CHECK_OK(sonde_blocks_open_core(core, NULL, &open, NULL));
    CHECK_OK(sonde_blocks_scan(open, items, MOST, &count));
    CHECK_EQ(count, json_int(root, "blocks"));
    for (size_t i = 0; i < count; i++) {
        size_t found;
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)items[i].address);
        const struct json *kind = kind_of(root, address);
        CHECK(kind != NULL);
        CHECK_OK(sonde_block_captures(open, items[i].address, captures, CORPUS_CAPTURES, &found));
        CHECK_EQ(found, items[i].captures);
        check_sizes(open, items[i].address, captures, found);
        for (size_t n = 0; n < found; n++) {
            /* only debug information may know captures that are not owned */
            CHECK(!captures[n].is_owned ||
                  has_capture(kind, captures[n].offset, sonde_block_kind_text(captures[n].kind),
                              true));
        }
    }
    CHECK_EQ(sonde_blocks_set_describer(open, say_nothing, NULL), SONDE_UNSUPPORTED);
    sonde_blocks_close(open);
    CHECK_EQ(sonde_blocks_open_core("/bin/true", NULL, &open, NULL), SONDE_UNSUPPORTED);
    CHECK_EQ(sonde_blocks_open_core("/nonexistent", NULL, &open, NULL), SONDE_ABSENT);
    CHECK_EQ(sonde_blocks_open_core(NULL, NULL, &open, NULL), SONDE_USAGE);
}

TEST_TIMEOUT(finds_the_blocks_of_the_corpus, 250)
{
    char pid[32];
    start("corpus-apple", "shown\n");
    snprintf(pid, sizeof pid, "%d", (int)made.pid);
    struct test_run live = blocks("--pid", pid, "--json", NULL);
    CHECK_EQ(live.status, 0);
    const char *core = core_of_program(made.pid);
    char *list = program_output(&made), *rest = list;
    (void)program_stop(&made, 30);
    struct test_run run = blocks("--core", core, "--json", NULL);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    check_same(live.out, run.out);
    struct json *root = json_parse(run.out);
    unsigned heap = 0, captures = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char name[64], address[32], where[16];
        const char *owned = strstr(line, " owned");
        if (owned == NULL || sscanf(line, "%63s %31s %15s", name, address, where) != 3 ||
            strcmp(where, "heap") != 0) {
            continue;
        }
        const struct json *kind = kind_of(root, address);
        if (kind == NULL) {
            FAIL("%s at %s was not found", name, address);
        }
        captures += check_owned(name, owned + 6, kind);
        heap++;
    }
    CHECK(heap >= 100);
    CHECK(captures >= 130);
    CHECK(json_int(root, "blocks") >= heap);
    check_api(core, root);
    json_free(root);
    test_run_done(&live);
    test_run_done(&run);
    free(list);
}

/* --- cores that are not whole --- */

static char *bytes;
static size_t size;

static struct test_run of_bytes(const char *option)
{
    char path[300];
    snprintf(path, sizeof path, "%s/forged", test_folder());
    test_write_file(path, bytes, size);
    return blocks("--core", path, option, NULL);
}

static Elf64_Phdr *segment(unsigned i)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    return (Elf64_Phdr *)(void *)(bytes + header->e_phoff) + i;
}

/* The segment of the heap: where the blocks are. */
static Elf64_Phdr *segment_of(uint64_t address)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr *one = segment(i);
        if (one->p_type == PT_LOAD && address >= one->p_vaddr &&
            address - one->p_vaddr < one->p_memsz) {
            return one;
        }
    }
    FAIL("no segment has the address");
}

static void cut_off(Elf64_Phdr *heap, uint64_t at)
{
    Elf64_Phdr saved = *heap;
    uint64_t kept = at - heap->p_vaddr;
    /* move `kept` bytes of the heap to the end of the file */
    bytes = realloc(bytes, size + kept);
    CHECK(bytes != NULL);
    memcpy(bytes + size, bytes + saved.p_offset, kept);
    heap = segment_of(saved.p_vaddr);
    heap->p_offset = size;
    size += kept;
}

/* The running process with the core's pid is not read. */
TEST_TIMEOUT(reads_the_core_and_not_its_living_process, 200)
{
    unsigned long address = 0;
    start("cycles-apple", "made\n");
    char *list = program_output(&made);
    const char *at = strstr(list, "byref_cycle_block 0x");
    CHECK(at != NULL && sscanf(at, "byref_cycle_block %lx", &address) == 1);
    bytes = test_read_file(core_of_program(made.pid), &size);
    memset(bytes + segment_of(address)->p_offset, 0, segment_of(address)->p_filesz);
    struct test_run run = of_bytes("--json");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "\"blocks\": 0, ");
    test_run_done(&run);
    (void)program_stop(&made, 30);
    free(bytes);
    free(list);
}

/* Blocks after the cut are reported missing; blocks before it are found. */
TEST_TIMEOUT(reads_a_truncated_core, 200)
{
    unsigned long address = 0;
    char text[32];
    start("cycles-apple", "made\n");
    char *list = program_output(&made);
    const char *core = core_of_program(made.pid);
    (void)program_stop(&made, 30);
    const char *at = strstr(list, "byref_cycle_block 0x");
    CHECK(at != NULL && sscanf(at, "byref_cycle_block %lx", &address) == 1);
    bytes = test_read_file(core, &size);
    cut_off(segment_of(address), address + 8);
    struct test_run run = of_bytes("--json");
    CHECK_EQ(run.status, 5);
    CHECK_CONTAINS(run.err, "the core is cut short: ");
    struct json *root = json_parse(run.out);
    CHECK(json_int(root, "unreadable_bytes") > 0);
    CHECK(json_int(root, "blocks") > 0 && json_int(root, "blocks") < 11);
    snprintf(text, sizeof text, "0x%lx", address);
    CHECK(kind_of(root, text) == NULL);
    json_free(root);
    test_run_done(&run);
    run = of_bytes(text);
    CHECK_EQ(run.status, 5);
    CHECK_CONTAINS(run.err, "no live block of the heap is there");
    test_run_done(&run);
    free(bytes);
    free(list);
}

/* Segments that claim terabytes, and many segments over the same part of the file, take no
 * longer. */
TEST_TIMEOUT(survives_forged_segments, 200)
{
    start("cycles-apple", "made\n");
    const char *core = core_of_program(made.pid);
    (void)program_stop(&made, 30);
    enum { MORE = 60000, LARGE = 1 << 22 };
    char *first = test_read_file(core, &size);
    Elf64_Ehdr header;
    memcpy(&header, first, sizeof header);
    size_t table = (size_t)(header.e_phnum + MORE) * sizeof(Elf64_Phdr), begin = size + LARGE;
    bytes = calloc(1, begin + table);
    CHECK(bytes != NULL);
    memcpy(bytes, first, size);
    memcpy(bytes + begin, first + header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
    header.e_phoff = begin;
    Elf64_Phdr *more = (Elf64_Phdr *)(void *)(bytes + begin) + header.e_phnum;
    header.e_phnum += MORE;
    memcpy(bytes, &header, sizeof header);
    for (unsigned i = 0; i < MORE; i++) { /* 240 GB in 7 MB */
        more[i] = (Elf64_Phdr){.p_type = PT_LOAD,
                               .p_flags = PF_R | PF_W,
                               .p_offset = size,
                               .p_vaddr = 0x100000000000 + (uint64_t)i * LARGE,
                               .p_filesz = LARGE,
                               .p_memsz = LARGE};
    }
    more[MORE - 1].p_memsz = (uint64_t)1 << 45;
    free(first);
    size = begin + table;
    struct test_run run = of_bytes("--json");
    CHECK_EQ(run.status, 5);
    struct json *root = json_parse(run.out);
    CHECK(json_int(root, "searched_bytes") <= (int64_t)size);
    CHECK(json_int(root, "unreadable_bytes") > (int64_t)MORE / 2 * LARGE);
    json_free(root);
    test_run_done(&run);
    free(bytes);
}
