// SPDX-License-Identifier: Apache-2.0
/* The recorder's library under other names, as nm reads the file; and files that are not it. */
#include "audit_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#if defined(SONDE_SANITIZED)
enum { DAMAGES = 60 };
#else
enum { DAMAGES = 1500 };
#endif

static uint8_t *read_library(size_t *ret_size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/recorder/libsonde-record.so", test_build_dir());
    return (uint8_t *)test_read_file(path, ret_size);
}

static char *names_of(const char *path)
{
    const char *argv[] = {"nm", "-D", "--defined-only", path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    char *text = strdup(run.out);
    test_run_done(&run);
    return text;
}

/* The address of a name; 0: it is not there. */
static uint64_t address_of(const char *text, const char *name)
{
    char line[300];
    snprintf(line, sizeof line, " %s\n", name);
    const char *at = strstr(text, line);
    while (at != NULL && at > text && at[-1] != '\n') {
        at--;
    }
    return at != NULL ? strtoull(at, NULL, 16) : 0;
}

TEST(thunks_have_the_names)
{
    static char longest[SONDE__AUDIT_NAME_MAX + 1];
    char path[600];
    size_t size;
    struct sonde_error error;
    memset(longest, 'x', SONDE__AUDIT_NAME_MAX);
    const struct sonde__audit_name names[] = {
        {"getenv", 0}, {"a", 1}, {longest, 511}, {"dlopen", 1023}};
    uint8_t *bytes = read_library(&size);
    CHECK_OK(sonde__audit_name_thunks(bytes, size, names, 4, &error));
    snprintf(path, sizeof path, "%s/named.so", test_folder());
    test_write_file(path, bytes, size);
    char *text = names_of(path);
    uint64_t first = address_of(text, "getenv");
    CHECK(first != 0);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(address_of(text, names[i].name), first + 16 * (uint64_t)names[i].thunk);
    }
    CHECK(strstr(text, "sonde_thunk_") == NULL); /* the others are nobody's */
    free(text);
    free(bytes);
}

TEST(what_is_not_the_library_is_refused)
{
    char longer[SONDE__AUDIT_NAME_MAX + 2];
    uint8_t nothing[64] = {0};
    size_t size;
    struct sonde_error error;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const struct sonde__audit_name too_long = {longer, 0}, fine = {"getenv", 0},
                                   no_thunk = {"getenv", 1024};
    uint8_t *bytes = read_library(&size);
    CHECK_EQ(sonde__audit_name_thunks(bytes, size, &too_long, 1, &error), SONDE_USAGE);
    CHECK_EQ(sonde__audit_name_thunks(bytes, size, &no_thunk, 1, &error), SONDE_CORRUPT);
    CHECK_EQ(sonde__audit_name_thunks(nothing, sizeof nothing, &fine, 1, &error), SONDE_CORRUPT);
    CHECK_EQ(sonde__audit_name_thunks(nothing, 0, &fine, 1, &error), SONDE_CORRUPT);
    free(bytes);
    bytes = (uint8_t *)test_read_file("/proc/self/exe", &size);
    CHECK_EQ(sonde__audit_name_thunks(bytes, size, &fine, 1, &error), SONDE_CORRUPT);
    free(bytes);
}

/* Cut, or with other bytes in it: an answer, and nothing written outside. */
TEST_TIMEOUT(damaged_libraries, 120)
{
    const struct sonde__audit_name fine = {"getenv", 7};
    struct sonde_error error;
    uint64_t random = 1;
    size_t size;
    uint8_t *good = read_library(&size);
    for (unsigned round = 0; round < DAMAGES; round++) {
        size_t now = round % 3 == 0 ? size * round / DAMAGES : size;
        uint8_t *bytes = malloc(now + 1);
        memcpy(bytes, good, now);
        for (unsigned i = 0; i < 1 + round % 20 && now > 0; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            /* mostly in the headers and the dynamic tables, which lie at the front */
            size_t at = (size_t)(random >> 20) % (round % 2 == 0 ? (now < 4096 ? now : 4096) : now);
            bytes[at] = (uint8_t)(random >> 50);
        }
        (void)!sonde__audit_name_thunks(bytes, now, &fine, 1, &error);
        free(bytes);
    }
    free(good);
}
