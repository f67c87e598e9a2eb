// SPDX-License-Identifier: Apache-2.0
/* The loader's list by dl_iterate_phdr(). Its callbacks run with a lock that prevents changes of
 * the images. The lock is recursive: a callback may list the images, too. */
#include "target_self_loader.h"

#include <elf.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "target_self_elf.h"

struct hold {
    void (*function)(void *ctx, const struct self_counters *counters);
    void *ctx;
};

/* Called for the first object only. */
static int hold_in_loader(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct hold *hold = ctx;
    bool is_counted = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
    struct self_counters counters = {0};
    if (is_counted) {
        counters = (struct self_counters){info->dlpi_adds, info->dlpi_subs};
    }
    hold->function(hold->ctx, is_counted ? &counters : NULL);
    return 1;
}

void self_loader_hold(void (*function)(void *ctx, const struct self_counters *counters), void *ctx)
{
    struct hold hold = {function, ctx};
    dl_iterate_phdr(hold_in_loader, &hold);
}

bool self_loader_code(const struct self_object *object, uint32_t *at, uint64_t *ret_start,
                      uint64_t *ret_end)
{
    const ElfW(Phdr) *segments = object->segments;
    while (*at < object->segment_count) {
        const ElfW(Phdr) *segment = &segments[(*at)++];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            *ret_start = segment->p_vaddr + object->image.bias;
            *ret_end = *ret_start + segment->p_memsz;
            return true;
        }
    }
    return false;
}

void self_loader_open(struct self_loader *ret_loader)
{
    char *path = ret_loader->program;
    ssize_t length = readlink("/proc/self/exe", path, SELF_PATH_MAX - 1);
    size_t size = length > 0 ? (size_t)length : 0;
    size_t kept = self_path_undeleted(path, size);
    path[kept] = '\0';
    ret_loader->is_program_deleted = kept != size;
}

struct listing {
    const struct self_loader *loader;
    uint64_t vdso; /* address of its ELF header; 0: none, or already listed */
    bool is_first_seen;
    void (*each)(void *ctx, struct self_object *object);
    void *ctx;
};

static void flag(struct listing *listing, struct self_object *object)
{
    struct sonde__image *image = &object->image;
    if (listing->vdso != 0 && image->start == listing->vdso) {
        image->flags |= SONDE__IMAGE_VDSO;
        object->path = "[vdso]";
        listing->vdso = 0;
    } else if (!listing->is_first_seen) {
        image->flags |= SONDE__IMAGE_MAIN; /* it is first in the list, without a name */
        object->path = listing->loader->program;
        if (listing->loader->is_program_deleted) {
            image->flags |= SONDE__IMAGE_DELETED;
            image->file = "/proc/self/exe";
        }
    }
    listing->is_first_seen = true;
}

static int list_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct listing *listing = ctx;
    struct self_object object = {
        .path = info->dlpi_name != NULL ? info->dlpi_name : "",
        .segments = info->dlpi_phdr,
        .segment_count = info->dlpi_phnum,
    };
    (void)size;
    if (!self_image_describe(info, &object.image)) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            object.dynamic =
                (const void *)(uintptr_t)(info->dlpi_phdr[i].p_vaddr + object.image.bias);
        }
    }
    flag(listing, &object);
    listing->each(listing->ctx, &object);
    return 0;
}

/* List the vdso, which not every libc does (a static program, musl). */
static void list_vdso(struct listing *listing)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(uintptr_t)listing->vdso;
    struct dl_phdr_info info = {0};
    if (header == NULL) {
        return;
    }
    info.dlpi_name = "";
    info.dlpi_phdr = (const ElfW(Phdr) *)((const char *)header + header->e_phoff);
    info.dlpi_phnum = header->e_phnum;
    for (unsigned i = 0; i < info.dlpi_phnum; i++) {
        if (info.dlpi_phdr[i].p_type == PT_LOAD) {
            info.dlpi_addr = (ElfW(Addr))listing->vdso - info.dlpi_phdr[i].p_vaddr;
            break;
        }
    }
    list_object(&info, sizeof info, listing);
}

void self_loader_each(const struct self_loader *loader,
                      void (*each)(void *ctx, struct self_object *object), void *ctx)
{
    struct listing listing = {
        .loader = loader, .vdso = getauxval(AT_SYSINFO_EHDR), .each = each, .ctx = ctx};
    dl_iterate_phdr(list_object, &listing);
    list_vdso(&listing);
}
