// SPDX-License-Identifier: Apache-2.0
/* Names of the variables of objects, from the compiler's lists for three runtimes, against the
 * places that its own code uses (corpus/variables.m). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blockheap_graph.h"
#include "corpus.h"
#include "symfile_cache.h"
#include "target.h"
#include "test.h"

enum { VARIABLES = 8, OBJECT_BYTES = 256 };

static void *loaded(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        FAIL("%s", dlerror());
    }
    return library;
}

static struct sonde__blockheap *heap;

/* The name at one offset of an object; "": none. */
static const char *name_at(uint64_t class_at, uint32_t offset)
{
    static char text[256];
    struct sonde__blockheap_variable variable;
    text[0] = '\0';
    if (sonde__blockheap_object_variable(heap, class_at, offset, &variable)) {
        snprintf(text, sizeof text, "%s.%s", variable.of, variable.name);
    }
    return text;
}

static void check_library(void *library)
{
    void *(*class_of)(void);
    void (*fill)(unsigned long *);
    unsigned long places[VARIABLES];
    const char *const *names = dlsym(library, "variables_names");
    *(void **)&class_of = dlsym(library, "variables_class");
    *(void **)&fill = dlsym(library, "variables_places");
    CHECK(names != NULL && class_of != NULL && fill != NULL);
    uint64_t object[OBJECT_BYTES / 8] = {(uintptr_t)class_of()};
    struct sonde__blockheap_object seen;
    CHECK(object[0] != 0);
    CHECK(sonde__blockheap_object_at(heap, (uintptr_t)object, &seen));
    CHECK_STR(seen.name, "Derived");
    CHECK_EQ(seen.size, 88);
    fill(places);
    for (uint32_t offset = 1; offset < OBJECT_BYTES; offset++) {
        const char *expected = "";
        for (unsigned i = 0; i < VARIABLES; i++) {
            expected = places[i] == offset ? names[i] : expected;
        }
        if (strcmp(name_at(seen.class_at, offset), expected) != 0 &&
            strcmp(name_at(seen.class_at, offset), "Derived._bit") != 0) {
            FAIL("at %u: %s, not %s", offset, name_at(seen.class_at, offset), expected);
        }
    }
    for (unsigned i = 0; i < VARIABLES; i++) { /* all are in the range that was checked */
        CHECK(places[i] > 0 && places[i] < OBJECT_BYTES);
    }
}

/* A list outside images is ignored, whatever its content. */
static void check_copy(void *library)
{
    static uint64_t words[OBJECT_BYTES] = {1}; /* in the file, as what compilers write */
    void *(*class_of)(void);
    *(void **)&class_of = dlsym(library, "variables_class");
    uint64_t *copy = malloc(sizeof words);
    CHECK(copy != NULL);
    memcpy(copy, class_of(), 64);
    CHECK_STR(name_at((uintptr_t)copy, 8), "");
    memcpy(words, class_of(), 64); /* a class in an image, with a list that is in none */
    words[1] = 0;
    words[6] = (uintptr_t)copy;
    copy[0] = 1;
    copy[1] = words[2];
    copy[3] = 8;
    CHECK_STR(name_at((uintptr_t)words, 8), "");
    words[6] = (uintptr_t)memcpy(&words[100], copy, 64);
    CHECK_STR(name_at((uintptr_t)words, 8), "Derived.Derived"); /* the same in an image is */
    words[101] = (uintptr_t)strcpy((char *)copy, "name");       /* a name elsewhere is not */
    CHECK_STR(name_at((uintptr_t)words, 8), "");
    free(copy);
}

static void look(const char *folder)
{
    static const char *const runtimes[] = {"apple", "gnustep", "gcc"};
    struct sonde__target *target;
    struct sonde__symfile_cache *symbols;
    struct sonde__symfile_options options = {0};
    void *libraries[3];
    char path[700];
    snprintf(path, sizeof path, "%s/libcorpus-apple.so", folder);
    (void)loaded(path);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/libvariables-%s.so", folder, runtimes[i]);
        libraries[i] = loaded(path);
    }
    CHECK_OK(sonde__target_open_process(getpid(), NULL, &target, NULL));
    CHECK_OK(sonde__symfile_cache_create(&options, &symbols));
    CHECK_OK(sonde__blockheap_open(target, symbols, true, &heap, NULL));
    for (unsigned i = 0; i < 3; i++) {
        check_library(libraries[i]);
    }
    check_copy(libraries[2]);
    sonde__blockheap_close(heap);
    sonde__symfile_cache_destroy(symbols);
    sonde__target_close(target);
}

/* In a child: libraries are never unloaded. */
TEST_TIMEOUT(names_variables_of_objects, 200)
{
    int status = -1;
    const char *folder = corpus_built("-O2", CORPUS_ALL);
    pid_t pid = fork();
    if (pid == 0) {
        look(folder);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}
