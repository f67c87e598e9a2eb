// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct elf_file elf_file_open(const char *path)
{
    struct elf_file file = {0};
    struct sonde_error error;
    file.data = test_read_file(path, &file.size);
    if (sonde__elf_open(file.data, file.size, &file.elf, &error) != SONDE_OK) {
        FAIL("%s: %s", path, error.what);
    }
    return file;
}

void elf_file_done(struct elf_file *file)
{
    free(file->data);
}

static int compare_starts(const void *a, const void *b)
{
    const struct oracle_symbol *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

struct oracle oracle_read(const char *path, bool dynamic)
{
    const char *const argv[] = {
        "nm", "--format=sysv", "--defined-only", dynamic ? "-D" : "-a", path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    struct oracle oracle = {0};
    size_t capacity = 0;
    CHECK_EQ(run.status, 0);
    /* name|value|class|type|size|line|section */
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *fields[7], *at = line;
        int n = 0;
        while (n < 7 && at != NULL) {
            fields[n++] = at;
            at = strchr(at, '|');
            if (at != NULL) {
                *at++ = '\0';
            }
        }
        if (n < 7 || (strchr(fields[2], 'i') == NULL && strstr(fields[3], "FUNC") == NULL &&
                      strstr(fields[3], "NOTYPE") == NULL)) {
            continue;
        }
        if (oracle.count == capacity) {
            capacity = capacity == 0 ? 1024 : 2 * capacity;
            oracle.symbols = realloc(oracle.symbols, capacity * sizeof *oracle.symbols);
        }
        fields[0][strcspn(fields[0], " @")] = '\0';
        oracle.symbols[oracle.count++] = (struct oracle_symbol){
            .start = strtoull(fields[1], NULL, 16),
            .size = strtoull(fields[4], NULL, 16),
            .type = strstr(fields[3], "NOTYPE") == NULL ? 'F' : 'N',
            .name = strdup(fields[0]),
        };
    }
    test_run_done(&run);
    qsort(oracle.symbols, oracle.count, sizeof *oracle.symbols, compare_starts);
    return oracle;
}

void oracle_join(struct oracle *a, struct oracle *b)
{
    a->symbols = realloc(a->symbols, (a->count + b->count + 1) * sizeof *a->symbols);
    memcpy(a->symbols + a->count, b->symbols, b->count * sizeof *b->symbols);
    a->count += b->count;
    free(b->symbols);
    b->symbols = NULL;
    b->count = 0;
    qsort(a->symbols, a->count, sizeof *a->symbols, compare_starts);
}

void oracle_done(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++) {
        free(oracle->symbols[i].name);
    }
    free(oracle->symbols);
}

bool oracle_has(const struct oracle *oracle, uint64_t start, const char *name)
{
    size_t low = 0, high = oracle->count, length = strcspn(name, "@");
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (oracle->symbols[middle].start < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < oracle->count && oracle->symbols[low].start == start; low++) {
        if (strlen(oracle->symbols[low].name) == length &&
            memcmp(oracle->symbols[low].name, name, length) == 0) {
            return true;
        }
    }
    return false;
}

bool oracle_covers(const struct oracle *oracle, uint64_t vaddr)
{
    for (size_t i = 0; i < oracle->count && oracle->symbols[i].start <= vaddr; i++) {
        if (oracle->symbols[i].type == 'F' &&
            vaddr - oracle->symbols[i].start < oracle->symbols[i].size) {
            return true;
        }
    }
    return false;
}

void debug_path(const struct sonde__elf *elf, char *ret_path, size_t capacity)
{
    struct sonde__build_id id;
    int n;
    CHECK(sonde__elf_build_id(elf, &id));
    n = snprintf(ret_path, capacity, "/usr/lib/debug/.build-id/%02x/", id.bytes[0]);
    for (unsigned i = 1; i < id.size; i++) {
        n += snprintf(ret_path + n, capacity - (size_t)n, "%02x", id.bytes[i]);
    }
    snprintf(ret_path + n, capacity - (size_t)n, ".debug");
    if (access(ret_path, R_OK) != 0) {
        SKIP("no debug file %s", ret_path);
    }
}
