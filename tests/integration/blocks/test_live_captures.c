// SPDX-License-Identifier: Apache-2.0
/* The reported captures of each block of the corpus, in this process, against its helpers'
 * actions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blockheap_graph.h"
#include "corpus.h"
#include "corpus/truth.h"
#include "symfile_cache.h"
#include "target.h"
#include "test.h"

static struct sonde__target *target;
static struct sonde__symfile_cache *symbols;
static struct sonde__blockheap *heap;
static unsigned right, wrong;
/* Inlined constructors may do nothing with the capture. */
static bool inlined;

static char letter_of(uint8_t kind)
{
    switch (kind) {
    case SONDE_BLOCK_STRONG:
        return 's';
    case SONDE_BLOCK_WEAK:
        return 'w';
    case SONDE_BLOCK_BLOCK:
        return 'b';
    case SONDE_BLOCK_BYREF:
        return 'r';
    case SONDE_BLOCK_OBJECT:
        return 'c';
    case SONDE_BLOCK_UNRETAINED:
        return 'u';
    default:
        return 'd';
    }
}

static void describe(const struct sonde__blockheap_captures *captures, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < captures->count && used < size; i++) {
        const struct sonde__blockheap_capture *c = &captures->items[i];
        used += (size_t)snprintf(text + used, size - used, " %c%u%s", letter_of(c->kind), c->offset,
                                 c->owned ? "!" : "");
    }
}

static bool has(const struct sonde__blockheap_captures *captures,
                const struct corpus_capture *truth, bool escapes)
{
    bool owned = strchr("sbrc", truth->kind) != NULL;
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *c = &captures->items[i];
        char letter = letter_of(c->kind);
        bool covers =
            truth->offset >= c->offset && truth->offset < c->offset + (c->size != 0 ? c->size : 8);
        if (strchr(inlined ? "dpuc" : "dpu", truth->kind) != NULL && covers &&
            (letter == 'd' || letter == 'c')) {
            return true; /* plain bytes of an unknown owner */
        }
        if (strchr("dp", truth->kind) == NULL && c->offset == truth->offset) {
            /* an object that is not owned may go unrecognised */
            if (truth->kind == 'u' ? !c->owned && (letter == 'u' || letter == 'd' || !escapes)
                                   : letter == truth->kind && c->owned == owned) {
                return true;
            }
            /* the release of a box's variable tells its kind: a block counts as an object */
            if (truth->kind == 'b' && truth->byref >= 0 && letter == 's' && c->owned) {
                return true;
            }
        }
    }
    return false;
}

/* No capture is wrongly reported as owned or weak. A struct may be an offset that nothing
 * retains. */
static bool says_more(const struct sonde__blockheap_captures *captures,
                      const struct corpus_block *truth, int32_t byref)
{
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *c = &captures->items[i];
        bool known = (!c->owned || c->kind == SONDE_BLOCK_OBJECT) && c->kind != SONDE_BLOCK_WEAK;
        for (uint32_t t = 0; t < truth->count && !known; t++) {
            known = truth->captures[t].byref == byref && truth->captures[t].offset == c->offset;
        }
        if (!known) {
            return true;
        }
    }
    return false;
}

static bool check_byref(const struct corpus_block *truth, const void *block, uint32_t offset,
                        char *text, size_t size)
{
    static struct sonde__blockheap_captures captures;
    struct sonde__block_byref byref;
    uint64_t address;
    memcpy(&address, (const char *)block + offset, 8);
    CHECK_OK(sonde__blockheap_byref(heap, address, NULL, &byref, &captures));
    CHECK_EQ(byref.address, byref.asked);
    describe(&captures, text, size);
    for (uint32_t i = 0; i < truth->count; i++) {
        if (truth->captures[i].byref == (int32_t)offset &&
            !has(&captures, &truth->captures[i], true)) {
            return false;
        }
    }
    return !says_more(&captures, truth, (int32_t)offset);
}

static void check(const struct shown *shown)
{
    const struct corpus_block *truth = corpus_find(shown->name);
    struct sonde__block_literal literal;
    char text[600], box[600] = "";
    bool good = true;
    CHECK(truth != NULL);
    CHECK_OK(sonde__block_literal_read(sonde__blockheap_memory(heap), (uintptr_t)shown->block,
                                       &literal));
    const struct sonde__blockheap_captures *captures =
        sonde__blockheap_captures(heap, literal.descriptor, literal.flags, 0);
    CHECK(captures != NULL);
    describe(captures, text, sizeof text);
    for (uint32_t i = 0; i < truth->count; i++) {
        const struct corpus_capture *t = &truth->captures[i];
        good = good && (t->byref >= 0 || has(captures, t, !shown->here));
        if (good && t->kind == 'r') {
            good = check_byref(truth, shown->block, t->offset, box, sizeof box);
        }
    }
    good = good && !says_more(captures, truth, -1);
    right += good;
    wrong += !good;
    if (!good) {
        dprintf(STDOUT_FILENO, "    %s:%s (%s ) truth%s found%s\n", shown->name, text, box,
                shown->owned, shown->found);
    }
}

static void *loaded_library(const char *level, const char *parts)
{
    char path[700];
    snprintf(path, sizeof path, "%s/libcorpus-apple.so", corpus_built(level, parts));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    return library;
}

static void run_corpus(const char *level, const char *parts)
{
    void *library = loaded_library(level, parts);
    struct sonde_error error = {0};
    struct sonde__symfile_options options = {0};
    void (*run)(void);
    *(void **)&run = dlsym(library, "corpus_run");
    inlined = strcmp(level, "-O0") != 0;
    CHECK_OK(sonde__target_open_process(getpid(), NULL, &target, &error));
    CHECK_OK(sonde__symfile_cache_create(&options, &symbols));
    CHECK_OK(sonde__blockheap_open(target, symbols, true, &heap, &error));
    *(void (**)(const struct shown *))dlsym(library, "corpus_observer") = check;
    run();
    dprintf(STDOUT_FILENO, "    %s %s: %u right, %u wrong\n", level, parts, right, wrong);
    _exit(wrong == 0 && right >= 20 ? 0 : 1);
}

/* In a child: the corpus is never unloaded. */
static void in_child(const char *level, const char *parts)
{
    int status = -1;
    (void)corpus_built(level, parts);
    pid_t pid = fork();
    if (pid == 0) {
        run_corpus(level, parts);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

TEST_TIMEOUT(describes_every_capture_of_the_corpus, 200)
{
    in_child("-O0", CORPUS_ALL);
    in_child("-O2", CORPUS_ALL);
}

TEST_TIMEOUT(describes_every_capture_in_gnusteps_abi, 200)
{
    in_child("-O1", "gnu-arc gnu-mrc");
}
TEST_TIMEOUT(describes_every_capture_of_c_in_debians_runtime, 200)
{
    in_child("-O1", "debian");
}
