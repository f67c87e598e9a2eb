// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a core file of any content. First its notes alone, for both architectures; then all
 * that `sonde stacks --core` does, without files of this machine. */
#include <sys/mman.h>
#include <unistd.h>

#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "target_core.h"

enum { FRAMES = 64, THREADS_WALKED = 20 };

static volatile uint64_t sink;

static void read_notes(const struct sonde__elf *elf, unsigned arch)
{
    struct sonde__core_notes notes;
    sonde__core_notes_read(elf, arch, &notes);
    for (uint32_t i = 0; i < notes.thread_count; i++) {
        FUZZ_MUST(notes.threads[i].regs.arch == arch);
        sink += notes.threads[i].regs.pc;
    }
    for (uint32_t i = 0; i < notes.file_count; i++) {
        FUZZ_MUST(notes.files[i].start < notes.files[i].end);
        FUZZ_MUST(i == 0 || notes.files[i - 1].start <= notes.files[i].start);
        sink += strlen(notes.files[i].path);
    }
    sink += strlen(notes.name);
    sonde__core_notes_done(&notes);
}

static void walk(struct sonde__target *target)
{
    const struct sonde__thread *threads;
    uint32_t count;
    struct sonde_error error;
    const struct sonde__image_set *images = sonde__target_images(target);
    for (uint32_t i = 0; i < images->range_count; i++) {
        const struct sonde__image_range *range = &images->ranges[i];
        FUZZ_MUST(range->start < range->end);
        FUZZ_MUST(i == 0 || images->ranges[i - 1].end <= range->start);
        FUZZ_MUST(range->image < images->image_count || range->image == SONDE__IMAGE_NONE);
    }
    if (sonde__target_threads(target, &threads, &count, &error) != SONDE_OK) {
        return;
    }
    for (uint32_t i = 0; i < count && i < THREADS_WALKED; i++) {
        struct sonde__capture capture;
        struct sonde_stack stack;
        uint64_t pcs[FRAMES + SONDE_OUTER_FRAMES];
        uint8_t how[FRAMES + SONDE_OUTER_FRAMES];
        sonde_stack_init(&stack, pcs, how, FRAMES + SONDE_OUTER_FRAMES, SONDE_OUTER_FRAMES);
        sonde__target_capture(target, &threads[i], &stack, &capture);
        FUZZ_MUST(stack.count <= FRAMES + SONDE_OUTER_FRAMES);
        FUZZ_MUST(capture.status != SONDE_OK || stack.count > 0 ||
                  stack.end == SONDE_END_NO_REGISTERS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sonde__target_options nowhere = {.root = "/nonexistent"};
    struct sonde__elf elf;
    struct sonde__target *target = NULL;
    struct sonde_error error;
    char path[64];
    int fd;
    if (sonde__elf_open(data, size, &elf, &error) != SONDE_OK) {
        return 0;
    }
    read_notes(&elf, SONDE_ARCH_X86_64);
    read_notes(&elf, SONDE_ARCH_AARCH64);
    fd = memfd_create("core", MFD_CLOEXEC);
    FUZZ_MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sonde__target_open_core(path, &nowhere, &target, &error) == SONDE_OK) {
        walk(target);
        sonde__target_close(target);
    } else {
        FUZZ_MUST(error.what[0] != '\0' && strchr(error.what, '\n') == NULL);
    }
    close(fd);
    return 0;
}
