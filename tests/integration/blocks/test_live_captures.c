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
#include "live.h"
#include "symfile_cache.h"
#include "target.h"
#include "test.h"

static struct sonde__target *target;
static struct sonde__symfile_cache *symbols;

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
    corpus_live.inlined = strcmp(level, "-O0") != 0;
    CHECK_OK(sonde__target_open_process(getpid(), NULL, &target, &error));
    CHECK_OK(sonde__symfile_cache_create(&options, &symbols));
    CHECK_OK(sonde__blockheap_open(target, symbols, true, &corpus_live.heap, &error));
    *(void (**)(const struct shown *))dlsym(library, "corpus_observer") = corpus_live_check;
    run();
    printf("    %s %s: %u right, %u wrong\n", level, parts, corpus_live.right, corpus_live.wrong);
    fflush(stdout);
    _exit(corpus_live.wrong == 0 && corpus_live.right >= 20 ? 0 : 1);
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
