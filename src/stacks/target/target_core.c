// SPDX-License-Identifier: Apache-2.0
/* A core file as a target, of either architecture on any host.
 *
 * Memory comes from the dump. Memory that the dump leaves out because a file has it (program
 * text) comes from that file; its build-id is checked if the image's first page was dumped (the
 * kernel's default). From a truncated core the rest is used, and a stack that ends for this
 * reason says so. */
#include "target_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "base_status.h"
#include "mem_heap.h"
#include "mem_sort.h"

#define CORE_BYTES_MAX ((uint64_t)1 << 44)

struct core {
    struct sonde__target base;
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__core_notes notes;
    struct sonde__core_load *loads; /* sorted by start */
    size_t load_capacity;
    uint32_t load_count;
    uint64_t missing_bytes; /* in the headers, but beyond the end of the file */
};

static struct core *core_of(struct sonde__target *target)
{
    return (struct core *)target;
}

static void close_core(struct sonde__target *target)
{
    struct core *c = core_of(target);
    sonde__target_base_done(target);
    sonde__core_notes_done(&c->notes);
    sonde__mem_free(c->loads);
    sonde__host_file_unmap(&c->file);
    sonde__mem_free(c);
}

/* --- memory --- */

/* Of overlapping segments (no kernel writes these), keep the first. */
static void drop_overlaps(struct core *c)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->load_count; i++) {
        if (kept == 0 || c->loads[i].start >= c->loads[kept - 1].end) {
            c->loads[kept++] = c->loads[i];
        }
    }
    c->load_count = kept;
}

static bool collect_loads(struct core *c)
{
    struct sonde__elf_segment s;
    for (uint32_t i = 0; sonde__elf_segment(&c->elf, i, &s); i++) {
        struct sonde__core_load load = {s.vaddr, s.vaddr + s.memsz, s.offset, s.filesz, s.flags};
        uint64_t there = s.offset < c->file.size ? c->file.size - s.offset : 0;
        if (s.type != SONDE__PT_LOAD || load.end <= load.start) {
            continue;
        }
        load.size = load.size < s.memsz ? load.size : s.memsz;
        if (load.size > there) {
            c->missing_bytes += load.size - there;
            load.size = there;
        }
        if (!sonde__mem_grow(&c->loads, c->load_count, &c->load_capacity, sizeof load)) {
            return false;
        }
        c->loads[c->load_count++] = load;
    }
    SONDE__SORT_BY(c->loads, c->load_count, start);
    drop_overlaps(c);
    return true;
}

static const struct sonde__core_load *find_load(const struct core *c, uint64_t address)
{
    uint32_t after = SONDE__SEARCH(0, c->load_count, i, c->loads[i].start <= address);
    return after > 0 && address < c->loads[after - 1].end ? &c->loads[after - 1] : NULL;
}

/* Read text that was not dumped from the image's file. */
static size_t read_file_part(struct core *c, uint64_t address, uint8_t *to, size_t size)
{
    const struct sonde__target_images *images = &c->base.images;
    for (uint32_t i = 0; i < images->image_count; i++) {
        const struct sonde__image *image = &images->images[i];
        const uint8_t *bytes;
        uint64_t left = 0;
        if (address < image->start || address >= image->end || images->loaded[i].memory != NULL ||
            !images->loaded[i].readable) {
            continue;
        }
        bytes = sonde__elf_from_vaddr(&images->loaded[i].elf, address - image->bias, &left);
        if (bytes != NULL) {
            size = size < left ? size : (size_t)left;
            memcpy(to, bytes, size);
            return size;
        }
    }
    return 0;
}

static size_t read_core(struct sonde__target *target, uint64_t address, void *ret_bytes,
                        size_t size)
{
    struct core *c = core_of(target);
    uint8_t *to = ret_bytes;
    size_t done = 0;
    while (done < size && address + done >= address) {
        uint64_t at = address + done;
        const struct sonde__core_load *load = find_load(c, at);
        size_t part = size - done;
        if (load != NULL && at - load->start < load->size) {
            uint64_t left = load->size - (at - load->start);
            part = part < left ? part : (size_t)left;
            memcpy(to + done,
                   (const uint8_t *)c->file.data + load->file_offset + (at - load->start), part);
        } else {
            part = read_file_part(c, at, to + done, part);
        }
        if (part == 0) {
            break;
        }
        done += part;
    }
    return done;
}

static size_t read_for_images(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    return read_core(ctx, address, ret_bytes, size);
}

static bool read_for_walk(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    return read_core(ctx, address, ret_bytes, size) == size;
}

/* --- images --- */

static const struct sonde__core_file *find_mapped(const struct core *c, uint64_t address)
{
    for (uint32_t i = 0; i < c->notes.file_count; i++) {
        if (address >= c->notes.files[i].start && address < c->notes.files[i].end) {
            return &c->notes.files[i];
        }
    }
    return NULL;
}

static struct sonde__host_map map_of_load(const struct core *c, const struct sonde__core_load *load)
{
    const struct sonde__core_file *file = find_mapped(c, load->start);
    struct sonde__host_map map = {.start = load->start, .end = load->end, .path = ""};
    map.flags = ((load->flags & SONDE__PF_R) != 0 ? (uint32_t)SONDE__MAP_READ : 0) |
                ((load->flags & SONDE__PF_W) != 0 ? (uint32_t)SONDE__MAP_WRITE : 0) |
                ((load->flags & SONDE__PF_X) != 0 ? (uint32_t)SONDE__MAP_EXECUTE : 0);
    if (file != NULL) {
        map.path = file->path;
        map.offset = file->offset + (load->start - file->start);
    } else if (c->notes.vdso >= load->start && c->notes.vdso < load->end) {
        map.path = "[vdso]";
    } else if (c->notes.execfn >= load->start && c->notes.execfn < load->end) {
        map.path = "[stack]";
    }
    return map;
}

/* List the segments, and the mapped files without a segment (gcore leaves these out). */
static bool join_maps(const struct core *c, struct sonde__host_maps *ret_maps)
{
    size_t most = (size_t)c->load_count + c->notes.file_count + 1;
    struct sonde__host_map *items = sonde__mem_alloc_array(most, sizeof *items);
    uint32_t count = 0, kept = 0;
    if (items == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < c->load_count; i++) {
        items[count++] = map_of_load(c, &c->loads[i]);
    }
    for (uint32_t i = 0; i < c->notes.file_count; i++) {
        const struct sonde__core_file *file = &c->notes.files[i];
        if (find_load(c, file->start) == NULL) {
            items[count++] = (struct sonde__host_map){.start = file->start,
                                                      .end = file->end,
                                                      .offset = file->offset,
                                                      .flags = SONDE__MAP_UNKNOWN,
                                                      .path = file->path};
        }
    }
    SONDE__SORT_BY(items, count, start);
    for (uint32_t i = 0; i < count; i++) { /* drop a file that a segment or another file overlaps */
        if (kept == 0 || items[i].start >= items[kept - 1].end) {
            items[kept++] = items[i];
        }
    }
    count = kept;
    *ret_maps = (struct sonde__host_maps){.items = items, .count = count};
    return true;
}

static enum sonde_status build_images(struct core *c, const struct sonde__target_options *options,
                                      struct sonde_error *ret_error)
{
    struct sonde__host_maps maps;
    struct sonde__target_source from = {.read = read_for_images,
                                        .ctx = c,
                                        .root = sonde__target_root(&c->base),
                                        .main_address = c->notes.entry,
                                        .main_instead = options->executable,
                                        .trust_path = true,
                                        .arch = c->base.arch};
    enum sonde_status status;
    if (!join_maps(c, &maps)) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "core", NULL, 0, 0);
    }
    status = sonde__target_images_build(&c->base.images, &maps, &from);
    sonde__host_maps_done(&maps);
    return status;
}

/* Limited to the bytes that the file has. Bytes shared by several segments (no kernel writes
 * these) count once, so that a small file cannot stand for a large memory. */
static enum sonde_status own_memory_of_core(struct sonde__target *target,
                                            struct sonde__target_memory *ret_memory,
                                            struct sonde_error *ret_error)
{
    struct core *c = core_of(target);
    struct sonde__target_memory memory;
    struct sonde__host_maps maps;
    enum sonde_status status;
    uint64_t left = c->file.size;
    uint32_t kept = 0;
    if (!join_maps(c, &maps)) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "core", NULL, 0, 0);
    }
    status = sonde__target_memory_of(&maps, &memory, ret_error);
    sonde__host_maps_done(&maps);
    if (status != SONDE_OK) {
        return status;
    }
    memory.missing = c->missing_bytes;
    for (uint32_t i = 0; i < memory.count; i++) {
        const struct sonde__core_load *load = find_load(c, memory.ranges[i].start);
        uint64_t size = load != NULL ? load->size : 0;
        if (size > left) {
            memory.missing += size - left;
            size = left;
        }
        left -= size;
        if (size != 0) {
            memory.ranges[kept].start = memory.ranges[i].start;
            memory.ranges[kept++].end = memory.ranges[i].start + size;
        }
    }
    memory.count = kept;
    *ret_memory = memory;
    return SONDE_OK;
}

/* --- threads --- */

static int compare_threads(const void *a, const void *b)
{
    const struct sonde__thread *x = a, *y = b;
    return x->main != y->main ? SONDE__ORDER(y, x, main) : SONDE__ORDER(x, y, tid);
}

static enum sonde_status list_core(struct sonde__target *target, struct sonde_error *ret_error)
{
    struct core *c = core_of(target);
    uint32_t count = c->notes.thread_count;
    struct sonde__thread *threads = sonde__mem_alloc_array((size_t)count + 1, sizeof *threads);
    if (threads == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "threads", NULL, 0, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        threads[i] =
            (struct sonde__thread){.tid = c->notes.threads[i].tid,
                                   .state = SONDE_THREAD_UNKNOWN,
                                   .letter = '?',
                                   .main = c->notes.threads[i].tid == (uint64_t)c->notes.pid};
        if (threads[i].main) { /* a core has only the main thread's name */
            memcpy(threads[i].name, c->notes.name, sizeof c->notes.name);
        }
    }
    if (count > 1) {
        qsort(threads, count, sizeof *threads, compare_threads);
    }
    sonde__mem_free(target->threads);
    target->threads = threads;
    target->thread_count = count;
    return SONDE_OK;
}

/* True in a file without a dumped segment: the core does not say which parts were executable. */
static bool may_be_code_in_core(struct sonde__target *target, uint64_t address)
{
    const struct core *c = core_of(target);
    for (uint32_t i = 0; i < c->notes.file_count; i++) {
        const struct sonde__core_file *file = &c->notes.files[i];
        if (address >= file->start && address < file->end) {
            return find_load(c, address) == NULL;
        }
    }
    return false;
}

static void capture_core(struct sonde__target *target, const struct sonde__thread *thread,
                         struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    struct core *c = core_of(target);
    for (uint32_t i = 0; i < c->notes.thread_count; i++) {
        const struct sonde__core_thread *t = &c->notes.threads[i];
        if (t->tid != thread->tid) {
            continue;
        }
        ret_capture->status = SONDE_OK;
        ret_capture->by = SONDE__CAPTURED_CORE;
        ret_capture->regs = t->regs;
        ret_capture->syscall = t->syscall;
        memcpy(ret_capture->syscall_args, t->args, sizeof t->args);
        sonde__target_walk(target, &t->regs, false, read_for_walk, c, stack);
        sonde__target_read_resting(target, t->tid, stack);
        sonde__target_join_script(target, NULL, stack);
        if (stack->end != SONDE_END_ROOT && c->missing_bytes > 0) {
            sonde__target_note(ret_capture,
                               "the core is cut short: %llu bytes of memory are not in it",
                               (unsigned long long)c->missing_bytes);
        }
        return;
    }
    sonde__target_note(ret_capture, "the core has no registers of this thread");
}

static enum sonde_status find_in_core(struct sonde__target *target, uint64_t tid,
                                      struct sonde__thread *ret_thread)
{
    struct sonde_error error;
    if (target->thread_count == 0) {
        SONDE_TRY(list_core(target, &error));
    }
    for (uint32_t i = 0; i < target->thread_count; i++) {
        if (target->threads[i].tid == tid) {
            *ret_thread = target->threads[i];
            return SONDE_OK;
        }
    }
    return SONDE_ABSENT;
}

static const struct sonde__target_ops core_ops = {.close = close_core,
                                                  .list = list_core,
                                                  .find = find_in_core,
                                                  .read = read_core,
                                                  .own_memory = own_memory_of_core,
                                                  .capture = capture_core,
                                                  .may_be_code = may_be_code_in_core};

static enum sonde_status check_core(struct core *c, const char *path, struct sonde_error *ret_error)
{
    SONDE_TRY(sonde__elf_open(c->file.data, c->file.size, &c->elf, ret_error));
    if (c->elf.type != SONDE__ET_CORE) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "an ELF file, but not a core", path,
                                0, c->elf.type);
    }
    if (!c->elf.is64) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "a core of a 32-bit program", path, 0,
                                0);
    }
    if (c->elf.arch == SONDE_ARCH_OTHER) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "a core of another architecture",
                                path, 0, c->elf.machine);
    }
    c->base.arch = c->elf.arch;
    return SONDE_OK;
}

/* Check a given program, so that a mistyped path does not silently lose all names. */
static enum sonde_status check_program(const char *path, struct sonde_error *ret_error)
{
    struct sonde__host_file file;
    struct sonde__elf elf;
    enum sonde_status status;
    if (path == NULL) {
        return SONDE_OK;
    }
    SONDE_TRY(sonde__host_file_map("", path, CORE_BYTES_MAX, &file, ret_error));
    status = sonde__elf_open(file.data, file.size, &elf, NULL);
    sonde__host_file_unmap(&file);
    return status == SONDE_OK
               ? SONDE_OK
               : sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                  "the core's program is not an ELF file", path, 0, 0);
}

static enum sonde_status map_core(struct core *c, const char *path, struct sonde_error *ret_error)
{
    enum sonde_status status = sonde__host_file_map("", path, CORE_BYTES_MAX, &c->file, ret_error);
    if (status == SONDE_UNSUPPORTED) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "a core is read in place, and this is no regular file", path, 0, 0);
    }
    return status;
}

/* Are the notes cut off? gdb writes them last. */
static bool notes_are_cut(const struct core *c)
{
    struct sonde__elf_segment s;
    for (uint32_t i = 0; sonde__elf_segment(&c->elf, i, &s); i++) {
        if (s.type == SONDE__PT_NOTE &&
            (s.offset > c->file.size || s.filesz > c->file.size - s.offset)) {
            return true;
        }
    }
    return false;
}

static enum sonde_status fill_core(struct core *c, const char *path,
                                   const struct sonde__target_options *options,
                                   struct sonde_error *ret_error)
{
    SONDE_TRY(check_program(options->executable, ret_error));
    SONDE_TRY(map_core(c, path, ret_error));
    SONDE_TRY(check_core(c, path, ret_error));
    c->base.root = sonde__mem_copy_string(options->root != NULL ? options->root : "");
    sonde__core_notes_read(&c->elf, c->base.arch, &c->notes);
    if (c->base.root == NULL || c->notes.no_memory || !collect_loads(c)) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, path, NULL, 0, 0);
    }
    if (c->notes.thread_count == 0 && notes_are_cut(c)) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT,
                                "the core is cut short, before its threads' registers", path, 0,
                                c->file.size);
    }
    if (c->notes.thread_count == 0) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "the core holds no thread's registers",
                                path, 0, c->notes.bad_notes);
    }
    if (c->notes.pid == 0) { /* no NT_PRPSINFO: the first thread is the one that died */
        c->notes.pid = (int32_t)c->notes.threads[0].tid;
    }
    c->base.pid = c->notes.pid;
    return build_images(c, options, ret_error);
}

static const char *main_path(const struct core *c, const struct sonde__target_options *options)
{
    if (options->executable != NULL && c->base.images.instead_used) {
        return options->executable;
    }
    for (uint32_t i = 0; i < c->base.images.image_count; i++) {
        if ((c->base.images.images[i].flags & SONDE__IMAGE_MAIN) != 0) {
            return c->base.images.images[i].path;
        }
    }
    return c->notes.name;
}

enum sonde_status sonde__target_open_core(const char *path,
                                          const struct sonde__target_options *options,
                                          struct sonde__target **ret_target,
                                          struct sonde_error *ret_error)
{
    static const struct sonde__target_options defaults;
    struct core *c = sonde__mem_alloc_zeroed(sizeof *c);
    enum sonde_status status;
    options = options != NULL ? options : &defaults;
    if (c == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, path, NULL, 0, 0);
    }
    c->base.ops = &core_ops;
    c->base.scripts.wanted = options->scripts;
    status = fill_core(c, path, options, ret_error);
    if (status == SONDE_OK && options->executable != NULL && !c->base.images.instead_used) {
        snprintf(c->base.doubt, sizeof c->base.doubt,
                 "%.200s is not the program of this core (another build-id), and was not used",
                 options->executable);
    }
    if (status == SONDE_OK) {
        c->base.executable = sonde__mem_copy_string(main_path(c, options));
        *ret_target = &c->base;
        return SONDE_OK;
    }
    close_core(&c->base);
    return status;
}
