// SPDX-License-Identifier: Apache-2.0
#include "../hook_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch_regs.h"
#include "base_bytes.h"
#include "base_text.h"
#include "hook_elf.h"
#include "hook_raw_find.h"
#include "mem_heap.h"

enum { SEGMENTS_MAX = 8 };

/* Code that was changed. */
struct patch {
    uint64_t at; /* of the jump */
    uint8_t old[SONDE__RAW_JUMP], jump[SONDE__RAW_JUMP];
};

static const struct sonde__hook_raw_options *options;
static struct patch *patches;
static size_t patch_count, patch_capacity;

void sonde__hook_set_raw_options(const struct sonde__hook_raw_options *now)
{
    options = now;
}

static const uint8_t *memory_at(const struct sonde__hook_object *object, uint64_t vaddr)
{
    return (const uint8_t *)(uintptr_t)(object->base + vaddr);
}

/* The segment of `vaddr`, to its end in the file. */
static uint64_t bytes_at(const struct sonde__hook_object *object, uint64_t vaddr)
{
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *segment = &object->phdrs[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) != 0 &&
            vaddr - segment->p_vaddr < segment->p_filesz) {
            return segment->p_filesz - (vaddr - segment->p_vaddr);
        }
    }
    return 0;
}

/* .eh_frame where it is loaded, as its header says. Without a header there is none. */
static bool read_cfi(const struct sonde__hook_object *object, struct sonde__cfi *ret_cfi)
{
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        uint64_t vaddr = object->phdrs[i].p_vaddr, size = bytes_at(object, vaddr);
        struct sonde__bytes b;
        if (object->phdrs[i].p_type != PT_GNU_EH_FRAME || size < object->phdrs[i].p_memsz) {
            continue;
        }
        sonde__base_bytes_init(&b, memory_at(object, vaddr), (size_t)object->phdrs[i].p_memsz);
        uint32_t start = sonde__base_bytes_u32(&b);
        uint64_t section = vaddr + 4 + (uint64_t)(int64_t)(int32_t)sonde__base_bytes_u32(&b);
        uint64_t section_size = bytes_at(object, section);
        if (b.failed || (start & 0xffff) != 0x1b01 || section_size == 0) { /* pcrel sdata4 */
            return false;
        }
        *ret_cfi = (struct sonde__cfi){
            .eh_frame = memory_at(object, section),
            .eh_frame_size = (size_t)section_size,
            .eh_frame_vaddr = section,
            .eh_frame_hdr = memory_at(object, vaddr),
            .eh_frame_hdr_size = (size_t)object->phdrs[i].p_memsz,
            .eh_frame_hdr_vaddr = vaddr,
            .absolute_bias = 0 - object->base,
        };
        return true;
    }
    return false;
}

static void find_definition(void *ctx, const ElfW(Sym) * symbol)
{
    (void)symbol;
    *(bool *)ctx = true;
}

/* The parts of the C library, the loader, the vdso: their functions exist to make these calls. */
static bool is_system(const struct sonde__hook_object *object, const char *module)
{
    static const char *const parts[] = {"libpthread.so", "librt.so", "libanl.so", "libdl.so"};
    const char *name = sonde__base_file_name(module);
    bool is_libc = false;
    if (object->symbols != NULL) {
        sonde__hook_each_definition(object, "__libc_start_main", find_definition, &is_libc);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        is_libc |= strncmp(name, parts[i], strlen(parts[i])) == 0;
    }
    return is_libc || object->base == getauxval(AT_BASE) || strncmp(name, "linux-vdso", 10) == 0;
}

/* A note whose owner is Go: its linker's build id. */
static bool is_go(const struct sonde__hook_object *object)
{
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *note = &object->phdrs[i];
        if (note->p_type != PT_NOTE || bytes_at(object, note->p_vaddr) < note->p_filesz) {
            continue;
        }
        for (uint64_t at = 0; at + 16 <= note->p_filesz; at += 4) {
            if (memcmp(memory_at(object, note->p_vaddr + at), "\4\0\0\0", 4) == 0 &&
                memcmp(memory_at(object, note->p_vaddr + at + 12), "Go\0", 4) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* --- memory near the code --- */

struct gap {
    uint64_t low, high; /* where it may begin, and end */
    uint64_t before, behind;
    size_t size;
    uint64_t from; /* the end of the mapping before */
    uint64_t below, above;
};

static void inspect_gap(struct gap *gap, uint64_t from, uint64_t to)
{
    from = from > gap->low ? from : gap->low;
    to = to < gap->high ? to : gap->high;
    if (to <= from || to - from < gap->size) {
        return;
    }
    if (to <= gap->before) {
        gap->below = to - gap->size; /* the nearest is the last */
    } else if (from >= gap->behind && gap->above == 0) {
        gap->above = from;
    }
}

/* Preferably below the image: the heap of the main program grows behind it. */
static void *map_near(uint64_t start, uint64_t end, size_t size)
{
    const uint64_t reach = ((uint64_t)1 << 31) - ((uint64_t)1 << 20), lowest = (uint64_t)1 << 20;
    struct gap gap = {.before = start, .behind = end, .size = size, .from = lowest};
    uint64_t first, last;
    char line[512];
    gap.low = end > reach + lowest ? end - reach : lowest;
    gap.high = start + reach;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return NULL;
    }
    while (fgets(line, sizeof line, maps) != NULL) {
        char *at;
        first = strtoull(line, &at, 16);
        last = *at == '-' ? strtoull(at + 1, &at, 16) : 0;
        if (last > first && *at == ' ') { /* else the rest of a long line */
            inspect_gap(&gap, gap.from, first);
            gap.from = last;
        }
    }
    fclose(maps);
    inspect_gap(&gap, gap.from, gap.high);
    uint64_t wanted[] = {gap.below, gap.above};
    for (unsigned i = 0; i < 2; i++) {
        void *hint = (void *)(uintptr_t)wanted[i];
        void *got = wanted[i] == 0 ? MAP_FAILED
                                   : mmap(hint, size, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == hint) {
            return got;
        }
        if (got != MAP_FAILED) { /* a kernel before 4.17 */
            (void)munmap(got, size);
        }
    }
    return NULL;
}

/* --- one object --- */

struct work {
    const struct sonde__hook_object *object;
    const char *module;
    const struct sonde__hook_writer *writer;
    struct sonde__hook_raw_site *sites;
    size_t count;
    uint8_t *made;
    size_t made_used;
    uint64_t taken; /* code before this address was moved for an earlier site */
};

static bool lead(struct work *w, const struct sonde__hook_raw_site *site,
                 const struct sonde__raw_plan *plan)
{
    uint8_t *made = w->made + w->made_used;
    uint64_t near = w->object->base + site->near;
    struct patch now = {.at = near + plan->start};
    if (!sonde__mem_grow(&patches, patch_count, &patch_capacity, sizeof patches[0]) ||
        !sonde__arch_raw_make(plan, site->code, (size_t)(site->vaddr - site->near), near,
                              (uint64_t)(uintptr_t)made, options->stub, made, now.jump)) {
        return false;
    }
    memcpy(now.old, site->code + plan->start, sizeof now.old);
    patches[patch_count++] = now;
    w->made_used += SONDE__RAW_BYTES;
    return true;
}

static enum sonde__raw_result plan_site(struct work *w, const struct sonde__hook_raw_site *site)
{
    struct sonde__raw_plan plan = {0};
    enum sonde__raw_result result =
        site->is_decoded ? sonde__arch_raw_plan(SONDE__ARCH_HOST, site->code,
                                                (size_t)(site->function_end - site->near),
                                                (size_t)(site->vaddr - site->near), site->targets,
                                                site->is_certain, &plan)
                         : SONDE__RAW_CODE;
    if (result != SONDE__RAW_PATCHED) {
        return result;
    }
    uint64_t start = site->near + plan.start;
    if (start < w->taken) {
        return SONDE__RAW_FIXED;
    }
    if (w->made == NULL || !lead(w, site, &plan)) {
        return SONDE__RAW_REFUSED;
    }
    w->taken = start + plan.size;
    return SONDE__RAW_PATCHED;
}

static bool write_code(const struct sonde__hook_object *object,
                       const struct sonde__hook_writer *writer, uint64_t at, const uint8_t *bytes)
{
    int protection = PROT_READ | PROT_EXEC;
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *segment = &object->phdrs[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0 &&
            at - object->base - segment->p_vaddr < segment->p_memsz) {
            protection |= PROT_WRITE;
        }
    }
    return sonde__hook_write_code(writer, at, bytes, SONDE__RAW_JUMP, protection);
}

/* All code is made before it can be reached, and is never writable again. */
static void lead_all(struct work *w)
{
    size_t first = patch_count, size = w->count * SONDE__RAW_BYTES;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t start = w->object->base + w->sites[0].vaddr;
    uint64_t end = w->object->base + w->sites[w->count - 1].vaddr;
    size = (size + page - 1) / page * page;
    enum sonde__raw_result *results = sonde__mem_alloc_array(w->count, sizeof *results);
    if (results == NULL) {
        return;
    }
    w->made = map_near(start, end, size);
    for (size_t i = 0; i < w->count; i++) {
        results[i] = plan_site(w, &w->sites[i]);
    }
    bool is_made = w->made != NULL && mprotect(w->made, size, PROT_READ | PROT_EXEC) == 0;
    size_t next = first;
    for (size_t i = 0; i < w->count; i++) {
        if (results[i] == SONDE__RAW_PATCHED) {
            if (!is_made ||
                !write_code(w->object, w->writer, patches[next].at, patches[next].jump)) {
                results[i] = SONDE__RAW_REFUSED;
                patches[next].at = 0;
            }
            next++;
        }
        options->say(w->module, w->sites[i].vaddr, results[i]);
    }
    if (w->made != NULL && (!is_made || w->made_used == 0)) {
        (void)munmap(w->made, size);
    }
    sonde__mem_free(results);
}

static void refuse_all(const struct work *w, enum sonde__raw_result result)
{
    for (size_t i = 0; i < w->count; i++) {
        options->say(w->module, w->sites[i].vaddr, result);
    }
}

static bool is_still_patched(const struct patch *now)
{
    return memcmp((const void *)(uintptr_t)now->at, now->jump, sizeof now->jump) == 0;
}

/* Was this object here before? Then its code is still patched; else it took the place of an
 * unloaded one. */
static bool was_here(const struct sonde__hook_object *object)
{
    bool is_here = false;
    for (size_t i = 0; i < patch_count; i++) {
        if (patches[i].at != 0 &&
            bytes_at(object, patches[i].at - object->base) >= SONDE__RAW_JUMP) {
            if (is_still_patched(&patches[i])) {
                is_here = true;
            } else {
                patches[i].at = 0;
            }
        }
    }
    return is_here;
}

/* Most code has none: no need to decode it. */
static bool has_call(const struct sonde__hook_raw_code *code)
{
    return memmem(code->bytes, (size_t)code->size, "\x0f\x05", 2) != NULL;
}

void sonde__hook_raw_look(const struct sonde__hook_object *object, const char *module,
                          const struct sonde__hook_writer *writer)
{
    struct sonde__hook_raw_code codes[SEGMENTS_MAX], datas[SEGMENTS_MAX];
    struct sonde__cfi cfi;
    struct sonde__hook_raw_image image = {.arch = SONDE__ARCH_HOST,
                                          .base = object->base,
                                          .codes = codes,
                                          .datas = datas,
                                          .cfi = &cfi};
    struct work w = {.object = object, .module = module, .writer = writer};
    bool any = false;
    if (options == NULL || options->stub == 0 || is_system(object, module) || was_here(object)) {
        return;
    }
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *segment = &object->phdrs[i];
        struct sonde__hook_raw_code now = {memory_at(object, segment->p_vaddr), segment->p_vaddr,
                                           segment->p_filesz};
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_R) == 0) {
            continue;
        }
        if (image.code_count == SEGMENTS_MAX || image.data_count == SEGMENTS_MAX) {
            return; /* branches from the rest would be missed */
        }
        if ((segment->p_flags & PF_X) != 0) {
            codes[image.code_count++] = now;
            any |= has_call(&now);
        } else {
            datas[image.data_count++] = now;
        }
    }
    if (!any || !read_cfi(object, &cfi) ||
        !sonde__hook_raw_find(&image, options->is_wanted, &w.sites, &w.count)) {
        return;
    }
    if (w.count != 0) {
        if (is_go(object)) {
            refuse_all(&w, SONDE__RAW_STACKS);
        } else if (!options->is_alone()) {
            refuse_all(&w, SONDE__RAW_THREADS);
        } else {
            lead_all(&w);
        }
    }
    sonde__mem_free(w.sites);
}

void sonde__hook_raw_restore(const struct sonde__hook_object *object,
                             const struct sonde__hook_writer *writer)
{
    for (size_t i = 0; i < patch_count; i++) {
        struct patch *now = &patches[i];
        if (now->at != 0 && bytes_at(object, now->at - object->base) >= SONDE__RAW_JUMP &&
            is_still_patched(now)) {
            (void)write_code(object, writer, now->at, now->old);
            now->at = 0;
        }
    }
}

void sonde__hook_raw_end(void)
{
    sonde__mem_free(patches);
    patches = NULL;
    patch_count = patch_capacity = 0;
    options = NULL;
}
