// SPDX-License-Identifier: Apache-2.0
/* dyld's images, from the list that the port keeps (os_images.h): dyld itself is not asked, because
 * a stopped thread may have its lock. Headers and unwind tables are mapped as long as the list is
 * held, and are parsed in place. Sources: mach-o/loader.h. */
#include "target_self_loader.h"

#include <mach-o/loader.h>

#include "arch_regs.h"
#include "base_mem.h"
#include "image_app.h"
#include "os_images.h"
#include "target_self_images.h"

void self_loader_hold(void (*function)(void *ctx, const struct self_counters *counters), void *ctx)
{
    sonde__os_images_hold();
    struct sonde__os_image_counts counts = sonde__os_images_counts();
    const struct self_counters counters = {counts.added, counts.removed};
    function(ctx, &counters);
    sonde__os_images_release();
}

bool self_loader_code(const struct self_object *object, uint32_t *at, uint64_t *ret_start,
                      uint64_t *ret_end)
{
    *ret_start = object->image.start; /* of __TEXT, the only segment with code */
    *ret_end = object->image.end;
    return (*at)++ == 0;
}

void self_loader_open(struct self_loader *ret_loader)
{
    ret_loader->program[0] = '\0'; /* the list has its path */
    ret_loader->is_program_deleted = false;
}

/* --- images --- */

static void take_uuid(struct sonde__image *image, const struct uuid_command *command)
{
    image->build_id.size = sizeof command->uuid;
    sonde__base_mem_copy(image->build_id.bytes, command->uuid, sizeof command->uuid);
    image->build_id_at = command->uuid;
}

/* Take UUID and bias from the load commands. */
static void read_commands(struct sonde__image *image, const struct mach_header_64 *header)
{
    const char *at = (const char *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct load_command *command = (const void *)at;
        const struct segment_command_64 *segment = (const void *)at;
        if (command->cmd == LC_UUID) {
            take_uuid(image, (const void *)at);
        } else if (command->cmd == LC_SEGMENT_64 && segment->fileoff == 0 &&
                   segment->filesize != 0) { /* __TEXT: it has the header */
            image->bias = image->start - segment->vmaddr;
        }
        at += command->cmdsize;
    }
}

/* The tables' coordinates are vaddrs. */
static void take_tables(struct sonde__image *image, const struct sonde__os_image *found)
{
    image->encodings.text = (const uint8_t *)(uintptr_t)found->start;
    image->encodings.text_size = (size_t)(found->end - found->start);
    (void)sonde__unwind_info_open((const uint8_t *)(uintptr_t)found->unwind_info,
                                  (size_t)found->unwind_info_size, found->start - image->bias,
                                  &image->encodings.info);
    image->cfi.eh_frame = (const uint8_t *)(uintptr_t)found->eh_frame;
    image->cfi.eh_frame_size = (size_t)found->eh_frame_size;
    image->cfi.eh_frame_vaddr = found->eh_frame - image->bias;
    image->cfi.absolute_bias = 0 - image->bias;
}

static struct sonde__image describe(const struct sonde__os_image *found)
{
    const struct mach_header_64 *header = (const void *)(uintptr_t)found->start;
    struct sonde__image image = {
        .path = "", .start = found->start, .end = found->end, .arch = SONDE__ARCH_HOST};
    image.flags = header->filetype == MH_EXECUTE ? (uint32_t)SONDE__IMAGE_MAIN : 0;
    read_commands(&image, header);
    if (found->unwind_info != 0) {
        take_tables(&image, found);
    }
    return image;
}

void self_loader_each(const struct self_loader *loader,
                      void (*each)(void *ctx, struct self_object *object), void *ctx)
{
    (void)loader;
    for (int is_main = 1; is_main >= 0; is_main--) {
        struct sonde__os_image found;
        struct self_object object = {.path = ""};
        for (uint32_t at = 0; sonde__os_images_next(&at, &found, &object.path);) {
            object.image = describe(&found);
            if ((object.image.flags & SONDE__IMAGE_MAIN) == (is_main ? SONDE__IMAGE_MAIN : 0u)) {
                if (is_main) {
                    sonde__image_app_program(object.path);
                }
                each(ctx, &object);
            }
        }
    }
}

/* --- what snapshots ask --- */

/* dyld's paths are absolute. */
bool self_path_is_asked(const struct sonde__image *image, const char *path)
{
    (void)image;
    (void)path;
    return false;
}

void self_snapshot_ask_paths(struct self_snapshot *snapshot)
{
    (void)snapshot;
}
