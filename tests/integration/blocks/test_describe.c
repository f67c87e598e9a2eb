// SPDX-License-Identifier: Apache-2.0
/* sonde requests the description of objects that the corpus's blocks own, and of no others. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/block.h>

#include "corpus.h"
#include "corpus/truth.h"
#include "test.h"

static struct sonde_blocks *blocks;
static uint64_t asked_object;
static unsigned calls, described, refused, boxes, wrong;

static int describe(void *ctx, uint64_t object, const char *class_name, char *text,
                    size_t size_bytes)
{
    CHECK(ctx == &calls);
    CHECK(strcmp(class_name, "Thing") == 0 || strcmp(class_name, "Ctl") == 0);
    asked_object = object;
    calls++;
    snprintf(text, size_bytes, "<%s of the test>", class_name);
    return 1;
}

static void check_one(const struct shown *shown, uint32_t offset, int32_t box_offset, char kind)
{
    char text[64] = "";
    unsigned before = calls;
    uint64_t word;
    enum sonde_status status = sonde_block_describe(blocks, (uintptr_t)shown->block, offset,
                                                    box_offset, text, sizeof text);
    /* a NOESCAPE block is on a stack */
    bool is_right = kind == 's' && !shown->here ? status == SONDE_OK && calls == before + 1 &&
                                                      strstr(text, " of the test>") != NULL
                                                : status == SONDE_DENIED && calls == before;
    memcpy(&word, (const char *)shown->block + offset, sizeof word);
    if (is_right && status == SONDE_OK && box_offset < 0) {
        is_right = asked_object == word;
    }
    described += status == SONDE_OK;
    refused += status == SONDE_DENIED;
    if (!is_right) {
        dprintf(STDOUT_FILENO, "    %s: %c%u in %d: %d\n", shown->name, kind, offset, box_offset,
                (int)status);
        wrong++;
    }
}

/* The same block without a count, like one on a stack: it may be dead. */
static void check_copy(const struct shown *shown, uint32_t size, uint32_t offset)
{
    uint64_t copy[64];
    char text[64];
    unsigned before = calls;
    uint32_t flags;
    CHECK(size <= sizeof copy);
    memcpy(copy, shown->block, size);
    memcpy(&flags, (char *)copy + 8, sizeof flags);
    flags &= ~(SONDE_BLOCK_HEAP | 0xffff);
    memcpy((char *)copy + 8, &flags, sizeof flags);
    if (sonde_block_describe(blocks, (uintptr_t)copy, offset, -1, text, sizeof text) !=
            SONDE_DENIED ||
        calls != before) {
        wrong++;
    }
    refused++;
}

/* A heap block whose box is on a stack, where the contents may be stale. */
static void check_box(const struct shown *shown, uint32_t offset, int32_t box_offset)
{
    enum { FORWARDING = 8, FLAGS = 16, SIZE = 20 };
    char *at = (char *)(uintptr_t)shown->block + offset, text[64];
    char box[512] __attribute__((aligned(64)));
    unsigned before = calls;
    uint32_t size, flags;
    const char *real;
    char *kept, *copy = box;
    memcpy(&kept, at, sizeof kept);
    memcpy(&real, kept + FORWARDING, sizeof real);
    memcpy(&size, real + SIZE, sizeof size);
    memcpy(&flags, real + FLAGS, sizeof flags);
    CHECK(size <= sizeof box);
    memcpy(box, real, size);
    memcpy(box + FORWARDING, &copy, sizeof copy);
    flags &= ~(SONDE_BLOCK_HEAP | 0xffff);
    memcpy(box + FLAGS, &flags, sizeof flags);
    memcpy(at, &copy, sizeof copy);
    if (sonde_block_describe(blocks, (uintptr_t)shown->block, offset, box_offset, text,
                             sizeof text) != SONDE_DENIED ||
        calls != before) {
        dprintf(STDOUT_FILENO, "    %s: asked by a box on a stack\n", shown->name);
        wrong++;
    }
    memcpy(at, &kept, sizeof kept);
    boxes++;
}

static void check(const struct shown *shown)
{
    const struct corpus_block *truth = corpus_find(shown->name);
    CHECK(truth != NULL);
    for (uint32_t i = 0; i < truth->count; i++) {
        const struct corpus_capture *t = &truth->captures[i];
        if (t->byref < 0) {
            check_one(shown, t->offset, -1, t->kind);
            if (t->kind == 's') {
                check_copy(shown, truth->size, t->offset);
            }
        } else {
            check_one(shown, (uint32_t)t->byref, (int32_t)t->offset, t->kind);
            if (t->kind == 's' && !shown->here) {
                check_box(shown, (uint32_t)t->byref, (int32_t)t->offset);
            }
        }
    }
}

static void run_corpus(void)
{
    char path[700], text[8];
    void (*run)(void);
    snprintf(path, sizeof path, "%s/libcorpus-apple.so", corpus_built("-O2", CORPUS_ALL));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    *(void **)&run = dlsym(library, "corpus_run");
    CHECK_OK(sonde_blocks_open(&blocks, NULL));
    CHECK_EQ(sonde_block_describe(blocks, (uintptr_t)library, 32, -1, text, sizeof text),
             SONDE_ABSENT); /* off */
    CHECK_OK(sonde_blocks_set_describer(blocks, describe, &calls));
    *(void (**)(const struct shown *))dlsym(library, "corpus_observer") = check;
    run();
    CHECK_OK(sonde_blocks_set_describer(blocks, NULL, NULL));
    sonde_blocks_close(blocks);
    dprintf(STDOUT_FILENO, "    %u described, %u refused, %u wrong\n", described, refused, wrong);
    _exit(wrong == 0 && boxes >= 3 && described >= 100 && refused >= 100 && calls == described ? 0
                                                                                               : 1);
}

TEST_TIMEOUT(describes_owned_objects_only, 200)
{
    int status = -1;
    (void)corpus_built("-O2", CORPUS_ALL);
    pid_t pid = fork(); /* in a child: the corpus is not freed */
    if (pid == 0) {
        run_corpus();
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static int nothing(void *ctx, uint64_t address, void *buffer, size_t size_bytes)
{
    (void)ctx, (void)address, (void)buffer, (void)size_bytes;
    return 0;
}

TEST(refuses_a_describer_for_memory_of_callbacks)
{
    struct sonde_block_memory memory = {
        .struct_bytes = sizeof memory, .arch = SONDE_ARCH_X86_64, .read = nothing};
    CHECK_OK(sonde_blocks_open_memory(&memory, &blocks));
    CHECK_EQ(sonde_blocks_set_describer(blocks, describe, NULL), SONDE_UNSUPPORTED);
    sonde_blocks_close(blocks);
    CHECK_EQ(sonde_blocks_set_describer(NULL, describe, NULL), SONDE_USAGE);
}

/* A block with useless helpers and without names: captures that only its layout calls strong are
 * shown as strong, not as owned. */
static struct {
    uint64_t isa;
    uint32_t flags, reserved;
    uint64_t invoke, descriptor, object;
    uint64_t description[6];
    uint8_t code[16]; /* x86-64 has no such instruction */
} forged = {.flags = SONDE_BLOCK_HEAP | SONDE_BLOCK_HAS_HELPERS | SONDE_BLOCK_HAS_LAYOUT | 2,
            .code = {0x06, 0x06, 0x06, 0x06}};

static int read_forged(void *ctx, uint64_t address, void *buffer, size_t size_bytes)
{
    uint64_t begin = (uintptr_t)&forged;
    (void)ctx;
    if (address < begin || size_bytes > sizeof forged ||
        address - begin > sizeof forged - size_bytes) {
        return 0;
    }
    memcpy(buffer, (const char *)&forged + (address - begin), size_bytes);
    return 1;
}

TEST(a_capture_known_by_layout_alone_is_not_owned)
{
    struct sonde_block_memory memory = {
        .struct_bytes = sizeof memory, .arch = SONDE_ARCH_X86_64, .read = read_forged};
    struct sonde_block_capture captures[4] = {{.struct_bytes = sizeof captures[0]}};
    size_t count = 0;
    forged.isa = forged.invoke = (uintptr_t)&forged;
    forged.descriptor = (uintptr_t)forged.description;
    forged.description[1] = 40;
    forged.description[2] = forged.description[3] = (uintptr_t)forged.code;
    forged.description[5] = 0x100; /* one strong */
    CHECK_OK(sonde_blocks_open_memory(&memory, &blocks));
    CHECK_OK(sonde_block_captures(blocks, (uintptr_t)&forged, captures, 4, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(captures[0].offset, 32);
    CHECK_EQ(captures[0].kind, SONDE_BLOCK_STRONG);
    CHECK_EQ(captures[0].sources, 1u << SONDE_BLOCK_BY_LAYOUT);
    CHECK_EQ(captures[0].is_owned, 0);
    sonde_blocks_close(blocks);
}
