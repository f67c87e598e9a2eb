// SPDX-License-Identifier: Apache-2.0
/* Tables of all images that a program starts with, from its files: the cost of the first look at
 * another process. */
#include "bench_table_program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch_regs.h"
#include "harness.h"
#include "host_file.h"
#include "host_run.h"
#include "image_elf.h"
#include "unwind_rules.h"

extern char **environ;

enum { FILES_MAX = 256 };

struct program {
    struct sonde__host_file files[FILES_MAX];
    struct sonde__cfi cfi[FILES_MAX];
    unsigned count;
    size_t size; /* of the largest table */
    uint64_t bytes;
    void *memory;
};

static void add_file(void *ctx, const char *path)
{
    struct program *program = ctx;
    struct sonde__host_file *file = &program->files[program->count];
    struct sonde__cfi *cfi = &program->cfi[program->count];
    struct sonde__elf elf;
    size_t size = 0;
    if (program->count == FILES_MAX ||
        sonde__host_file_map(NULL, path, (uint64_t)1 << 32, file, NULL) != SONDE_OK) {
        return;
    }
    if (sonde__elf_open(file->data, file->size, &elf, NULL) == SONDE_OK &&
        sonde__elf_cfi(&elf, cfi) &&
        sonde__unwind_rules_size(cfi, SONDE__ARCH_HOST, &size) == SONDE_OK) {
        program->size = size > program->size ? size : program->size;
        program->bytes += cfi->eh_frame_size;
        program->count++;
    } else {
        sonde__host_file_unmap(file);
    }
}

static void build_all(void *ctx)
{
    struct program *program = ctx;
    for (unsigned i = 0; i < program->count; i++) {
        const struct sonde__rules *rules = NULL;
        if (sonde__unwind_rules_build(&program->cfi[i], SONDE__ARCH_HOST, program->memory,
                                      program->size, &rules) == SONDE_OK) {
            bench_keep(rules);
        }
    }
}

void bench_table_program(const char *path)
{
    struct program program = {.count = 0};
    struct bench_method method = {"tables", build_all, &program};
    const char *name = strrchr(path, '/') + 1;
    double ns = 0;
    add_file(&program, path);
    if (program.count == 0 || !sonde__host_startup_libraries(path, environ, add_file, &program)) {
        bench_note("capture: without %s", path);
        return;
    }
    program.memory =
        mmap(NULL, program.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (program.memory != MAP_FAILED) {
        bench_compare(&method, 1, &ns);
        bench_print((double)program.count, "images", "capture.table.%s.images", name);
        bench_print((double)program.bytes / 1e6, "MB", "capture.table.%s.eh_frame", name);
        bench_print(ns / 1e6, "ms", "capture.table.%s.ms", name);
        (void)munmap(program.memory, program.size);
    }
    for (unsigned i = 0; i < program.count; i++) {
        sonde__host_file_unmap(&program.files[i]);
    }
}
