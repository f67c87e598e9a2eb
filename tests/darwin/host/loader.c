// SPDX-License-Identifier: Apache-2.0
/* Map Mach-O files as images that can run, as sonde's reader parses them.
 *
 * Unlike dyld, this loader does not search for libraries (they are given in order), and has no
 * two-level names (it looks a name up in all images, in order, as with -flat_namespace), no weak
 * definitions across images and no unloading. Images may be loaded later, if they have no
 * thread-local variables. Lazy pointers are bound by their first call; with SONDE_BIND_NOW=1 in the
 * environment, as by DYLD_BIND_AT_LAUNCH, when their image is loaded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch_sign.h"
#include "host.h"

/* Types of sections (mach-o/loader.h) that the reader does not need. */
enum {
    S_INIT_POINTERS = 0x9,
    S_THREAD_LOCAL_REGULAR = 0x11,
    S_THREAD_LOCAL_ZERO = 0x12,
    S_THREAD_LOCAL_DESCRIPTORS = 0x13,
    S_INIT_OFFSETS = 0x16,
};
enum { PROT_MACH_READ = 1, PROT_MACH_WRITE = 2, PROT_MACH_EXECUTE = 4, IMAGE_ALIGN = 1 << 14 };

struct host_image host_images[HOST_IMAGES_MAX];
unsigned host_image_count;
__thread uint8_t *host_tls;
static uint8_t tls_template[HOST_TLS_BYTES]; /* the initial values */
static uint64_t tls_used;                    /* bytes of it that images have */

static void open_image(struct host_image *image, const char *path)
{
    struct stat status;
    struct sonde_error error;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        host_fail("%s: cannot be read", path);
    }
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED ||
        sonde__macho_open(bytes, (size_t)status.st_size, &image->macho, &error) != SONDE_OK ||
        image->macho.damage != NULL) {
        host_fail("%s: not a Mach-O that can be loaded", path);
    }
    image->path = realpath(path, NULL); /* dyld has absolute ones */
}

/* A segment without protection (__PAGEZERO) takes no memory. */
static bool is_mapped(const struct sonde__macho_segment *segment)
{
    return segment->vmsize != 0 && (segment->protection != 0 || segment->filesize != 0);
}

/* Copy the segments to an address that the system chooses. */
static void map_image(struct host_image *image)
{
    const struct sonde__macho *macho = &image->macho;
    uint64_t end = 0;
    for (uint32_t i = 0; i < macho->segment_count; i++) {
        const struct sonde__macho_segment *segment = &macho->segments[i];
        if (is_mapped(segment) && segment->vaddr + segment->vmsize > end) {
            end = segment->vaddr + segment->vmsize;
        }
    }
    image->size = end - macho->base;
    uint8_t *memory = mmap(NULL, image->size + IMAGE_ALIGN, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        host_fail("%s: no memory", image->path);
    }
    image->header = memory + (-(uintptr_t)memory & (IMAGE_ALIGN - 1));
    image->slide = (uint64_t)(uintptr_t)image->header - macho->base;
    image->size = (image->size + HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE;
    image->protections = calloc(image->size / HOST_PAGE, 1);
    for (uint32_t i = 0; i < macho->segment_count; i++) {
        const struct sonde__macho_segment *segment = &macho->segments[i];
        if (is_mapped(segment)) {
            memcpy((void *)(uintptr_t)(segment->vaddr + image->slide),
                   macho->file.begin + segment->offset, segment->filesize);
        }
    }
}

/* dyld makes these read-only when their pointers are set (SG_READ_ONLY, which Apple's linker sets
 * for them). */
static bool is_constant(const struct sonde__macho_segment *segment)
{
    return strcmp(segment->name, "__DATA_CONST") == 0 || strcmp(segment->name, "__AUTH_CONST") == 0;
}

static const struct host_image *image_at(uint64_t address)
{
    for (unsigned i = 0; i < host_image_count; i++) {
        if (address - (uint64_t)(uintptr_t)host_images[i].header < host_images[i].size) {
            return &host_images[i];
        }
    }
    return NULL;
}

int host_is_image(uint64_t address)
{
    return image_at(address) != NULL;
}

int32_t host_protect(void *memory, uint64_t size, int32_t protection)
{
    const struct host_image *image = image_at((uint64_t)(uintptr_t)memory);
    for (uint64_t at = 0; image != NULL && at < size; at += HOST_PAGE) {
        uint64_t page =
            ((uint64_t)(uintptr_t)memory + at - (uint64_t)(uintptr_t)image->header) / HOST_PAGE;
        if (page < image->size / HOST_PAGE) {
            image->protections[page] = (uint8_t)protection;
        }
    }
    int32_t result = mprotect(memory, size,
                              ((protection & PROT_MACH_READ) != 0 ? PROT_READ : 0) |
                                  ((protection & PROT_MACH_WRITE) != 0 ? PROT_WRITE : 0) |
                                  ((protection & PROT_MACH_EXECUTE) != 0 ? PROT_EXEC : 0));
    host_note_mappings();
    return result;
}

int32_t host_image_protection(uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
    const struct host_image *image = image_at(address);
    if (image == NULL) {
        return -1;
    }
    uint64_t start = (uint64_t)(uintptr_t)image->header, count = image->size / HOST_PAGE;
    uint64_t first = (address - start) / HOST_PAGE, end = first;
    while (first > 0 && image->protections[first - 1] == image->protections[end]) {
        first--;
    }
    while (end < count && image->protections[end] == image->protections[first]) {
        end++;
    }
    *ret_start = start + first * HOST_PAGE;
    *ret_end = start + end * HOST_PAGE;
    return image->protections[first];
}

static void protect_image(const struct host_image *image)
{
    const struct sonde__macho *macho = &image->macho;
    for (uint32_t i = 0; i < macho->segment_count; i++) {
        const struct sonde__macho_segment *segment = &macho->segments[i];
        uint32_t protection =
            segment->protection & (is_constant(segment) ? ~(uint32_t)PROT_MACH_WRITE : ~0u);
        if (is_mapped(segment)) {
            (void)host_protect((void *)(uintptr_t)(segment->vaddr + image->slide), segment->vmsize,
                               (int32_t)protection);
        }
    }
}

/* --- pointers --- */

static bool is_bound_now(void)
{
    const char *now = getenv("SONDE_BIND_NOW");
    return now != NULL && now[0] == '1';
}

/* A lazy pointer keeps what the rebases made it: the address of its code in __stub_helper. */
static bool apply_fixup(void *ctx, const struct sonde__macho_fixup *fixup)
{
    const struct host_image *image = ctx;
    if (fixup->lazy && !is_bound_now()) {
        return true;
    }
    uint64_t value = fixup->target + image->slide;
    if (fixup->import != NULL) {
        value = host_resolve(fixup->import, fixup->weak) + (uint64_t)fixup->addend;
    }
    uint64_t at = fixup->vaddr + image->slide;
    if (fixup->authenticated && value != 0) {
        value = sonde__arch_sign(value,
                                 fixup->is_blended ? sonde__arch_sign_blend(at, fixup->diversity)
                                                   : fixup->diversity,
                                 fixup->key);
    }
    memcpy((void *)(uintptr_t)at, &value, sizeof value);
    return true;
}

struct lazy {
    const struct host_image *image;
    uint64_t function, *slot;
    const char *name;
};

static bool take_lazy(void *ctx, const struct sonde__macho_fixup *fixup)
{
    struct lazy *lazy = ctx;
    lazy->function = host_resolve(fixup->import, fixup->weak) + (uint64_t)fixup->addend;
    lazy->name = fixup->import;
    lazy->slot = (uint64_t *)(uintptr_t)(fixup->vaddr + lazy->image->slide);
    return false;
}

uint64_t host_find_lazy(const void *in_image, uint64_t offset, uint64_t **ret_slot,
                        const char **ret_name)
{
    struct lazy lazy = {.image = image_at((uint64_t)(uintptr_t)in_image)};
    if (lazy.image == NULL || offset >= lazy.image->macho.lazy_binds.size) {
        host_fail("no lazy pointer at %llu", (unsigned long long)offset);
    }
    struct sonde__macho entry = lazy.image->macho; /* what the reader shall see: one entry */
    entry.rebases.size = entry.binds.size = entry.weak_binds.size = 0;
    entry.lazy_binds.offset += offset;
    entry.lazy_binds.size -= offset;
    (void)sonde__macho_each_fixup(&entry, take_lazy, &lazy);
    if (lazy.slot == NULL) {
        host_fail("%s: no lazy pointer at %llu", lazy.image->path, (unsigned long long)offset);
    }
    *ret_slot = lazy.slot;
    *ret_name = lazy.name;
    return lazy.function;
}

/* --- sections --- */

/* Thread-local variables: each thread has a copy of the image's template at one offset. The
 * descriptors hold that offset in the word that dyld uses for its key. */
static void place_thread_locals(const struct host_image *image)
{
    struct sonde__macho_section section;
    uint64_t start = UINT64_MAX, end = 0;
    for (uint32_t i = 0; sonde__macho_section(&image->macho, i, &section); i++) {
        uint32_t type = section.flags & SONDE__S_TYPE;
        if (type == S_THREAD_LOCAL_REGULAR || type == S_THREAD_LOCAL_ZERO) {
            start = section.vaddr < start ? section.vaddr : start;
            end = section.vaddr + section.size > end ? section.vaddr + section.size : end;
        }
    }
    for (uint32_t i = 0; sonde__macho_section(&image->macho, i, &section); i++) {
        if ((section.flags & SONDE__S_TYPE) != S_THREAD_LOCAL_DESCRIPTORS) {
            continue;
        }
        uint64_t *words = (uint64_t *)(uintptr_t)(section.vaddr + image->slide);
        for (uint64_t at = 0; at + 24 <= section.size; at += 24, words += 3) {
            words[0] = (uint64_t)(uintptr_t)border_thread_local;
            words[1] = tls_used; /* thunk, key, offset in the template */
        }
    }
    if (end == 0) {
        return;
    }
    if (end - start > HOST_TLS_BYTES - tls_used) {
        host_fail("%s: too many thread-local variables", image->path);
    }
    memcpy(tls_template + tls_used, (void *)(uintptr_t)(start + image->slide), end - start);
    tls_used += (end - start + 63) & ~(uint64_t)63;
}

void host_make_thread_locals(void)
{
    host_tls = malloc(HOST_TLS_BYTES);
    if (host_tls == NULL) {
        host_fail("no memory");
    }
    memcpy(host_tls, tls_template, HOST_TLS_BYTES);
}

/* Initialiser `number` of the image; 0: no more. */
static uint64_t initialiser(const struct host_image *image, uint32_t number)
{
    struct sonde__macho_section section;
    for (uint32_t i = 0; sonde__macho_section(&image->macho, i, &section); i++) {
        uint32_t type = section.flags & SONDE__S_TYPE;
        unsigned unit = type == S_INIT_OFFSETS ? 4 : 8;
        if (type != S_INIT_POINTERS && type != S_INIT_OFFSETS) {
            continue;
        }
        if (number < section.size / unit) {
            uint64_t value = 0;
            memcpy(&value,
                   (void *)(uintptr_t)(section.vaddr + image->slide + (uint64_t)number * unit),
                   unit);
            return value + (type == S_INIT_OFFSETS ? (uint64_t)(uintptr_t)image->header : 0);
        }
        number -= (uint32_t)(section.size / unit);
    }
    return 0;
}

static struct host_image *add_image(const char *path)
{
    struct host_image *image = &host_images[host_image_count];
    if (host_image_count == HOST_IMAGES_MAX) {
        host_fail("%s: too many images", path);
    }
    open_image(image, path);
    map_image(image);
    host_read_exports(image);
    host_image_count++;
    return image;
}

/* Returns the bytes of its thread-local variables. */
static uint64_t bind_image(struct host_image *image)
{
    uint64_t tls_before = tls_used;
    const char *problem = sonde__macho_each_fixup(&image->macho, apply_fixup, image);
    if (problem != NULL) {
        host_fail("%s: %s", image->path, problem);
    }
    place_thread_locals(image);
    protect_image(image);
    return tls_used - tls_before;
}

void host_load(const char *const *paths, unsigned count)
{
    host_read_primitives();
    for (unsigned i = 0; i < count; i++) {
        (void)add_image(paths[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        (void)bind_image(&host_images[i]);
    }
    host_begin_threads();
}

/* Libraries of the system are beneath the folder of MACHOHOST_ROOT. */
int32_t host_load_later(const char *path)
{
    const char *root = getenv("MACHOHOST_ROOT");
    char under[PATH_MAX];
    if (root != NULL && path[0] == '/' &&
        snprintf(under, sizeof under, "%s%s", root, path) < (int)sizeof under &&
        access(under, R_OK) == 0) {
        path = under;
    }
    if (access(path, R_OK) != 0) {
        return -1;
    }
    if (bind_image(add_image(path)) != 0) {
        host_fail("%s: thread-local variables in an image that is loaded later", path);
    }
    return (int32_t)host_image_count - 1;
}

uint64_t host_initialiser(uint32_t image, uint32_t number)
{
    return initialiser(&host_images[image], number);
}

/* LC_MAIN has the offset of main() from the header. A program need not export the name. */
uint64_t host_entry(uint32_t index)
{
    enum { HEADER_BYTES = 32, LC_MAIN_COMMAND = 0x80000028 };
    const uint8_t *at = host_images[index].header + HEADER_BYTES;
    for (uint32_t i = 0; i < host_images[index].macho.command_count; i++) {
        uint32_t command, size;
        uint64_t offset;
        memcpy(&command, at, sizeof command);
        memcpy(&size, at + 4, sizeof size);
        memcpy(&offset, at + 8, sizeof offset);
        if (command == LC_MAIN_COMMAND) {
            return (uint64_t)(uintptr_t)host_images[index].header + offset;
        }
        at += size;
    }
    return 0;
}
