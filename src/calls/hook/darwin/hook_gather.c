// SPDX-License-Identifier: Apache-2.0
/* The slots of an image, from its file. */
#include <dlfcn.h>
#include <mach-o/loader.h>
#include <string.h>

#include "hook_darwin.h"
#include "mem_heap.h"

struct gathering {
    const struct sonde__hooks *hooks;
    const struct sonde__os_image *image;
    struct sonde__hook_gathered *gathered;
    struct sonde__macho_section helpers; /* of lazy slots; size 0: none */
    uint64_t slide;
    bool is_it;
};

static bool add(struct gathering *gathering, const struct sonde__macho_fixup *fixup,
                uint32_t function)
{
    struct sonde__hook_gathered *gathered = gathering->gathered;
    const struct sonde__macho_section *helpers = &gathering->helpers;
    uint64_t at = fixup->vaddr + gathering->slide;
    uint64_t value = __atomic_load_n((const uint64_t *)(uintptr_t)at, __ATOMIC_RELAXED);
    if (!SONDE__MEM_ADD(
            gathered->found, gathered->count, gathered->capacity,
            (struct sonde__hook_found){
                .at = at,
                .function = function,
                .signing = {fixup->authenticated, fixup->is_blended, fixup->key, fixup->diversity},
                .library = fixup->ordinal,
                .symbol = fixup->import,
                .is_unbound = value - gathering->slide - helpers->vaddr < helpers->size,
            })) {
        gathered->failed = true;
        return false;
    }
    return true;
}

/* A pointer to a function is aligned; one with an addend leads elsewhere; keys DA and DB are of
 * data. */
static bool see_fixup(void *ctx, const struct sonde__macho_fixup *fixup)
{
    struct gathering *gathering = ctx;
    uint32_t function;
    if (fixup->import == NULL) {
        return true;
    }
    gathering->gathered->asks |= strcmp(fixup->import, "_dlsym") == 0;
    if (fixup->addend != 0 || fixup->vaddr % sizeof(uint64_t) != 0 || fixup->key > 1 ||
        !sonde__hook_names_find(gathering->hooks, fixup->import, &function)) {
        return true;
    }
    return add(gathering, fixup, function);
}

static void gather(struct gathering *gathering, const struct sonde__macho *macho)
{
    gathering->slide = gathering->image->start - macho->base;
    if (!sonde__macho_section_by_name(macho, "__TEXT", "__stub_helper", &gathering->helpers)) {
        gathering->helpers.size = 0;
    }
    const char *damage = sonde__macho_each_fixup(macho, see_fixup, gathering);
    gathering->is_it = damage == NULL && macho->damage == NULL;
}

/* The file that was loaded has the same header and load commands as the memory. */
static bool see_member(void *ctx, const struct sonde__macho_member *member)
{
    struct gathering *gathering = ctx;
    const struct mach_header_64 *header = (const void *)(uintptr_t)gathering->image->start;
    size_t size = sizeof *header + header->sizeofcmds;
    struct sonde__macho macho;
    struct sonde_error unused;
    if (member->size >= size && memcmp(member->data, header, size) == 0 &&
        sonde__macho_open(member->data, member->size, &macho, &unused) == SONDE_OK) {
        gathering->gathered->library_commands = (const char *)member->data + sizeof *header;
        gathering->gathered->library_commands_size = header->sizeofcmds;
        gather(gathering, &macho);
        return false;
    }
    return true;
}

bool sonde__hook_gather(const struct sonde__hooks *hooks, const struct sonde__os_image *image,
                        const void *file, size_t size, struct sonde__hook_gathered *ret_gathered)
{
    struct gathering gathering = {.hooks = hooks, .image = image, .gathered = ret_gathered};
    struct sonde_error unused;
    return sonde__macho_each(file, size, see_member, &gathering, &unused) == SONDE_OK &&
           gathering.is_it;
}

/* --- not bound yet --- */

static bool is_library(uint32_t command)
{
    return command == LC_LOAD_DYLIB || command == LC_LOAD_WEAK_DYLIB ||
           command == LC_REEXPORT_DYLIB || command == LC_LOAD_UPWARD_DYLIB ||
           command == LC_LAZY_LOAD_DYLIB;
}

/* The name of library `number`, from 1 on; null: there is none. sonde__macho_open() has checked the
 * commands against the file's size, dyld what is in them. */
static const char *library_name(const struct sonde__hook_gathered *gathered, int32_t number)
{
    uint32_t at = 0;
    while (at + sizeof(struct load_command) <= gathered->library_commands_size) {
        const struct dylib_command *command = (const void *)(gathered->library_commands + at);
        if (is_library(command->cmd) && --number == 0) {
            return (const char *)command + command->dylib.name.offset;
        }
        at += command->cmdsize;
    }
    return NULL;
}

/* As dyld does it when the slot's function is called for the first time. */
static uint64_t resolve(const struct sonde__hook_gathered *gathered,
                        const struct sonde__hook_found *found)
{
    const char *name = found->library > 0 ? library_name(gathered, found->library) : NULL;
    void *library = name != NULL ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *function = dlsym(library != NULL ? library : RTLD_DEFAULT, found->symbol + 1);
    if (library != NULL) {
        (void)dlclose(library);
    }
    return (uint64_t)(uintptr_t)function;
}

void sonde__hook_resolve_unbound(struct sonde__hook_gathered *gathered)
{
    for (size_t i = 0; i < gathered->count; i++) {
        struct sonde__hook_found *found = &gathered->found[i];
        if (found->is_unbound) {
            found->target = resolve(gathered, found);
        }
    }
}
