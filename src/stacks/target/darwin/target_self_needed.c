// SPDX-License-Identifier: Apache-2.0
/* What images need by name, from their load commands. Names are compared as they are written there:
 * the static linker copies a library's own name into each image that it links with it. What is
 * loaded lazily is left out. Sources: mach-o/loader.h. */
#include <mach-o/loader.h>

#include "base_mem.h"
#include "base_text.h"
#include "target_self_images.h"

static bool is_needed(uint32_t command)
{
    return command == LC_LOAD_DYLIB || command == LC_LOAD_WEAK_DYLIB ||
           command == LC_REEXPORT_DYLIB || command == LC_LOAD_UPWARD_DYLIB;
}

static bool is_own_name(uint32_t command)
{
    return command == LC_ID_DYLIB;
}

/* The name in load command number `index` of those; null: there is none. dyld has checked them. */
static const char *find_name(uint64_t start, bool (*is_wanted)(uint32_t command), uint32_t index)
{
    const struct mach_header_64 *header = (const void *)(uintptr_t)start;
    const char *at = (const char *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct dylib_command *command = (const void *)at;
        if (is_wanted(command->cmd) && index-- == 0) {
            return at + command->dylib.name.offset;
        }
        at += command->cmdsize;
    }
    return NULL;
}

const char *self_needed_name(const struct self_snapshot *snapshot, uint32_t image, uint32_t index)
{
    return find_name(snapshot->images[image].start, is_needed, index);
}

bool self_image_is_named(const struct self_snapshot *snapshot, uint32_t image, const char *name)
{
    const char *own = find_name(snapshot->images[image].start, is_own_name, 0);
    return own != NULL && sonde__base_str_compare(own, name) == 0;
}
