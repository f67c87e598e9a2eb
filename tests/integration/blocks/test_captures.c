// SPDX-License-Identifier: Apache-2.0
/* The corpus's running blocks, read in this process, against its truth: with all names, and with
 * the runtimes' names only, as in a stripped program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch_regs.h"
#include "binary.h"
#include "block_captures.h"
#include "corpus.h"
#include "test.h"

#include "corpus/truth.h"

enum { MOST = 64 };

static struct binary binary;
static uint64_t bias;
static bool is_stripped;
static unsigned seen, wrong;
static const char *level;

static bool read_self(void *ctx, uint64_t address, void *buffer, size_t size)
{
    struct iovec to = {buffer, size}, from = {(void *)(uintptr_t)address, size};
    (void)ctx;
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

static const char *name_of(void *ctx, uint64_t address)
{
    Dl_info info;
    const char *name = binary.memory.name(&binary, address - bias);
    (void)ctx;
    if (name == NULL) {
        return dladdr((void *)(uintptr_t)address, &info) != 0 &&
                       (uintptr_t)info.dli_saddr == address
                   ? info.dli_sname
                   : NULL;
    }
    /* without the names that describe captures */
    return is_stripped && (strncmp(name, "__", 2) == 0 || strncmp(name, "_Z", 2) == 0) ? NULL
                                                                                       : name;
}

static const struct sonde__block_memory memory = {
    .arch = SONDE__ARCH_HOST, .read = read_self, .name = name_of};

static char letter(const struct sonde__block_capture *capture)
{
    return "?swubrcd"[capture->kind];
}

/* The capture at that offset: the part rather than the object. */
static const struct sonde__block_capture *at(const struct sonde__block_captures *captures,
                                             uint32_t offset)
{
    const struct sonde__block_capture *found = NULL;
    for (size_t i = 0; i < captures->count; i++) {
        const struct sonde__block_capture *capture = &captures->items[i];
        if (capture->offset == offset && (found == NULL || capture->kind != SONDE_BLOCK_OBJECT)) {
            found = capture;
        }
    }
    return found;
}

/* True if that byte is in data or in a C++ object without known parts. */
static bool is_in_bytes(const struct sonde__block_captures *captures, uint32_t offset)
{
    for (size_t i = captures->count; i-- > 0;) {
        const struct sonde__block_capture *capture = &captures->items[i];
        if (capture->offset <= offset && !capture->inside) {
            return (capture->kind == SONDE_BLOCK_DATA &&
                    offset < capture->offset + capture->size) ||
                   capture->kind == SONDE_BLOCK_OBJECT;
        }
    }
    return false;
}

/* Owned captures must be the same, and all others in their places. */
static bool is_right(const struct corpus_block *truth, int32_t byref,
                     const struct sonde__block_captures *captures)
{
    for (uint32_t i = 0; i < truth->count; i++) {
        const struct corpus_capture *t = &truth->captures[i];
        const struct sonde__block_capture *ours = at(captures, t->offset);
        if (t->byref != byref) {
            continue;
        }
        if (strchr("sbrw", t->kind) != NULL) {
            /* a box is moved, not copied: its block is released as any object */
            bool is_moved = byref >= 0 && t->kind == 'b' && ours != NULL && letter(ours) == 's';
            if (ours == NULL || (letter(ours) != t->kind && !is_moved)) {
                return false;
            }
        } else if (t->kind == 'c') {
            if (!(ours != NULL && ours->kind == SONDE_BLOCK_OBJECT) &&
                !is_in_bytes(captures, t->offset)) {
                return false;
            }
        } else if (ours != NULL && is_stripped && ours->sources == 1u << SONDE_BLOCK_BY_LAYOUT) {
            continue; /* the layout is its only source, and the report says so */
        } else if (ours != NULL && (letter(ours) == '?' || (is_stripped && letter(ours) == 'd'))) {
            continue;
        } else if (t->kind == 'u') {
            /* in a NOESCAPE block a weak reference still has a slot */
            if (ours == NULL ? !is_in_bytes(captures, t->offset)
                             : letter(ours) != 'u' &&
                                   !(strcmp(truth->where, "here") == 0 && letter(ours) == 'w')) {
                return false;
            }
        } else if (!is_in_bytes(captures, t->offset)) {
            return false;
        }
    }
    for (size_t i = 0; i < captures->count; i++) {
        const struct sonde__block_capture *ours = &captures->items[i];
        bool is_found =
            strchr("sbrw", letter(ours)) == NULL && (letter(ours) != 'u' || is_stripped);
        for (uint32_t k = 0; k < truth->count && !is_found; k++) {
            is_found =
                truth->captures[k].byref == byref && truth->captures[k].offset == ours->offset;
        }
        if (!is_found) {
            return false;
        }
    }
    return true;
}

static void complain(const struct corpus_block *truth, const char *of,
                     const struct sonde__block_captures *captures)
{
    char text[1500];
    int used = 0;
    for (size_t i = 0; i < captures->count && used < 1300; i++) {
        const struct sonde__block_capture *capture = &captures->items[i];
        used += snprintf(text + used, sizeof text - (size_t)used, " %s%c%u.%u(%x/%x)",
                         capture->inside ? "+" : "", letter(capture), capture->offset,
                         capture->size, capture->sources, capture->against);
    }
    text[used] = '\0';
    fprintf(stderr, "%s%s %s%s:%s %s\n", level, is_stripped ? " stripped" : "", truth->name, of,
            text, captures->helper_problem != NULL ? captures->helper_problem : "");
    wrong++;
}

static void look(const struct shown *shown)
{
    static struct sonde__block_scratch scratch;
    struct sonde__block_capture items[MOST], box_items[MOST];
    struct sonde__block_captures captures = {.items = items, .capacity = MOST};
    struct sonde__block_captures in_box = {.items = box_items, .capacity = MOST};
    const struct corpus_block *truth = corpus_find(shown->name);
    struct sonde__block_literal literal;
    struct sonde__block_desc desc;
    CHECK(truth != NULL);
    CHECK_OK(sonde__block_literal_read(&memory, (uintptr_t)shown->block, &literal));
    CHECK_OK(sonde__block_desc_read(&memory, literal.descriptor, literal.flags, &desc));
    CHECK_EQ(desc.size, truth->size);
    sonde__block_captures(&memory, &desc, NULL, 0, &scratch, &captures);
    CHECK_EQ(captures.lost, 0);
    seen++;
    if (captures.helper_problem != NULL || !is_right(truth, -1, &captures)) {
        complain(truth, "", &captures);
    }
    for (size_t i = 0; i < captures.count; i++) {
        struct sonde__block_byref box;
        uint64_t address;
        char of[20];
        if (items[i].kind != SONDE_BLOCK_BYREF) {
            continue;
        }
        CHECK(read_self(NULL, (uintptr_t)shown->block + items[i].offset, &address, 8));
        CHECK_OK(sonde__block_byref_read(&memory, address, &box));
        sonde__block_byref_captures(&memory, &box, NULL, &scratch, &in_box);
        snprintf(of, sizeof of, " r%u", items[i].offset);
        if (in_box.helper_problem != NULL || !is_right(truth, (int32_t)items[i].offset, &in_box)) {
            complain(truth, of, &in_box);
        }
    }
}

static void run(const char *of_level)
{
    char path[700];
    Dl_info info;
    level = of_level;
    snprintf(path, sizeof path, "%s/libcorpus-apple.so", corpus_built(level, CORPUS_ALL));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    void (**observer)(const struct shown *) = dlsym(library, "corpus_observer");
    void (*corpus)(void);
    unsigned (*end)(void);
    *(void **)&corpus = dlsym(library, "corpus_run");
    *(void **)&end = dlsym(library, "corpus_end");
    CHECK(observer != NULL && corpus != NULL && end != NULL);
    CHECK(dladdr((void *)observer, &info) != 0);
    bias = (uintptr_t)info.dli_fbase;
    binary_open(&binary, path);
    *observer = look;
    for (unsigned i = 0; i < 2; i++) {
        is_stripped = i != 0;
        seen = 0;
        corpus();
        CHECK_EQ(end(), 0);
        CHECK(seen >= 140);
    }
    binary_done(&binary);
    dlclose(library);
}

TEST_TIMEOUT(captures_equal_those_of_the_source, 280)
{
    static const char *const levels[] = {"-O2", "-O0", "-O1", "-Os", "-Oz"};
    for (unsigned i = 0; i < (test_long() ? 5 : 1); i++) {
        int status;
        (void)corpus_built(levels[i], CORPUS_ALL); /* may skip the test */
        /* in a child: the C++ library keeps memory until the process ends */
        pid_t child = fork();
        if (child == 0) {
            run(levels[i]);
            _exit(wrong != 0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ(status, 0);
    }
}
