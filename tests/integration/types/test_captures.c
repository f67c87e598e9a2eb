// SPDX-License-Identifier: Apache-2.0
/* Captures of blocks from debug information: each capture of the corpus's blocks has a name and a
 * type, and the same place as in the running block, at each level of optimisation. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corpus.h"
#include "corpus/truth.h"
#include "symfile_types.h"
#include "test.h"
#include "types_block.h"

enum { CAPTURES_MAX = 64, ALIGNMENT_MAX = 64, HEADER = 32 };

struct literal {
    void *isa;
    int flags, reserved;
    void *invoke;
    const unsigned long *descriptor; /* reserved, size, … */
};

static struct sonde__symfile_types file;
static uint64_t bias;
static unsigned blocks, captures, checked, constants;

static int by_offset(const void *a, const void *b)
{
    const struct sonde__types_capture *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void must_have_a_type(const struct shown *shown, const struct sonde__types_capture *capture)
{
    char text[2048];
    if (capture->name == NULL) { /* no variable: the capture is the lambda */
        CHECK_CONTAINS(shown->name, "lambda_to_block");
    }
    CHECK_OK(sonde__type_text(file.types, capture->type, capture->name, text, sizeof text));
    if (strstr(text, "unknown type") != NULL || strstr(text, "...") == text || capture->size == 0 ||
        (capture->is_byref && capture->variable_size == 0)) {
        FAIL("%s: %s", shown->name, text);
    }
}

/* Captures fill the block's bytes, with no larger gaps than alignment needs. */
static void must_fill(const struct shown *shown, struct sonde__types_capture *all, unsigned count,
                      uint64_t size)
{
    uint64_t end = HEADER;
    qsort(all, count, sizeof *all, by_offset);
    for (unsigned i = 0; i < count; i++) {
        if (all[i].offset < end || all[i].offset - end >= ALIGNMENT_MAX) {
            FAIL("%s: %s is at %llu, what comes before ends at %llu", shown->name, all[i].name,
                 (unsigned long long)all[i].offset, (unsigned long long)end);
        }
        end = all[i].offset + all[i].size;
    }
    if (end != size) {
        FAIL("%s: captures end at %llu, the block at %llu", shown->name, (unsigned long long)end,
             (unsigned long long)size);
    }
}

/* Each capture of the running block is one of the captures, of the same kind. */
static void must_agree(const struct shown *shown, const struct corpus_capture *truth,
                       const struct sonde__types_capture *all, unsigned count)
{
    uint64_t at = truth->byref >= 0 ? (uint64_t)truth->byref : truth->offset;
    const struct sonde__types_capture *capture = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (all[i].offset <= at && at < all[i].offset + all[i].size) {
            capture = &all[i];
        }
    }
    CHECK(capture != NULL);
    bool in_box = truth->byref >= 0 && truth->offset >= capture->variable_offset &&
                  truth->offset < capture->variable_offset + capture->variable_size;
    bool whole =
        truth->kind == 's' || truth->kind == 'w' || truth->kind == 'b' || truth->kind == 'p';
    if ((truth->byref >= 0 && !(capture->is_byref && in_box)) ||
        (truth->kind == 'r' && !(capture->is_byref && capture->offset == at)) ||
        (truth->byref < 0 && whole &&
         (capture->size < 8 || at + 8 > capture->offset + capture->size)) ||
        (truth->kind == 'd' && truth->byref < 0 &&
         at + truth->size > capture->offset + capture->size)) {
        FAIL("%s: %c%u is not %s at %llu", shown->name, truth->kind, truth->offset, capture->name,
             (unsigned long long)capture->offset);
    }
    checked++;
}

static void observe(const struct shown *shown)
{
    const struct literal *literal = shown->block;
    const struct corpus_block *truth = corpus_find(shown->name);
    struct sonde__types_captures cursor = {0};
    struct sonde__types_capture all[CAPTURES_MAX], one;
    struct sonde__types_block block;
    enum sonde_status status;
    unsigned count = 0;
    if (sonde__types_block_at(file.types, (uint64_t)(uintptr_t)literal->invoke - bias, &block) !=
        SONDE_OK) {
        FAIL("%s: no block is known at its code", shown->name);
    }
    CHECK_EQ(block.literal.size, literal->descriptor[1]);
    while ((status = sonde__types_next_capture(file.types, &block, &cursor, &one)) == SONDE_OK) {
        must_have_a_type(shown, &one);
        CHECK(count < CAPTURES_MAX);
        if (one.is_stored) {
            all[count++] = one;
        } else {
            constants++;
        }
    }
    CHECK_EQ(status, SONDE_ABSENT);
    must_fill(shown, all, count, block.literal.size);
    CHECK(truth != NULL);
    for (uint32_t i = 0; i < truth->count; i++) {
        must_agree(shown, &truth->captures[i], all, count);
    }
    blocks++;
    captures += count;
}

static void look(const char *level, const char *parts, const char *flavour)
{
    char path[700];
    size_t count;
    bool no_debug;
    struct sonde_error error;
    struct sonde__symfile_options options = {.debug_root = "/nowhere"};
    snprintf(path, sizeof path, "%s/libcorpus-%s.so", corpus_built(level, parts), flavour);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        FAIL("%s", dlerror());
    }
    void (**observer)(const struct shown *) = dlsym(library, "corpus_observer");
    void (*corpus)(void) = (void (*)(void))dlsym(library, "corpus_run");
    unsigned (*corpus_done)(void) = (unsigned (*)(void))dlsym(library, "corpus_end");
    Dl_info info;
    CHECK(observer != NULL && corpus != NULL && dladdr(dlsym(library, "corpus_run"), &info) != 0);
    bias = (uint64_t)(uintptr_t)info.dli_fbase;
    CHECK_OK(sonde__symfile_types_open(&options, path, NULL, &file, &no_debug, &error));
    blocks = captures = checked = constants = 0;
    *observer = observe;
    corpus();
    (void)corpus_done();
    sonde__symfile_types_close(&file);
    (void)corpus_truth(&count);
    count = strcmp(parts, CORPUS_ALL) == 0 ? count : 70;
    printf("    %s %s: %u blocks, %u captures named and typed, %u constants; %u of them in the "
           "running blocks\n",
           level, parts, blocks, captures, constants, checked);
    CHECK(blocks >= count && captures > blocks);
}

/* In a child: memory that the corpus leaves on the heap is no leak of ours. */
static void run(const char *level, const char *parts, const char *flavour)
{
    int status;
    (void)corpus_built(level, parts); /* may skip the test */
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        look(level, parts, flavour);
        fflush(stdout);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

TEST_TIMEOUT(captures_of_the_corpus, 250)
{
    run("-O0", CORPUS_ALL, "apple");
    run("-O2", CORPUS_ALL, "apple");
}

TEST_TIMEOUT(captures_at_each_level, 280)
{
    static const char *const levels[] = {"-O1", "-Os", "-Oz"};
    if (!test_long()) {
        SKIP("other levels only with --long");
    }
    for (unsigned i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        run(levels[i], CORPUS_ALL, "apple");
    }
    run("-O1", "gnu-arc gnu-mrc", "libobjc2");
}
