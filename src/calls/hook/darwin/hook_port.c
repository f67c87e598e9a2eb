// SPDX-License-Identifier: Apache-2.0
/* Sweeps over the images of dyld's list. Each is looked at once; what dyld binds later it binds in
 * new images. */
#include <dlfcn.h>

#include "hook_darwin.h"
#include "host_file.h"
#include "mem_heap.h"

/* Other threads may load and unload while a sweep works; the next one does what this one could not.
 */
enum { TRIES = 8 };

/* Larger than any app's binary. */
#define FILE_MAX ((uint64_t)4 << 30)

struct sonde__hook_port *sonde__hook_port_create(void)
{
    sonde__hook_bind_ahead();
    sonde__hook_be_told();
    return sonde__mem_alloc_zeroed(sizeof(struct sonde__hook_port));
}

/* Calls inside of the system's libraries have no slots of their own, and no file. */
static bool is_of_cache(const struct sonde__hook_image *image)
{
    return (sonde__hook_header(&image->image)->flags & MH_DYLIB_IN_CACHE) != 0;
}

/* The library itself, unless it is a part of the program. */
static bool is_own(const struct sonde__hook_image *image)
{
    uint64_t start, end;
    return sonde__hook_own_image(&start, &end) && start == image->image.start;
}

enum found_file { FILE_GONE, FILE_NOT_NEEDED, FILE_READ, FILE_OTHER };

static enum found_file gather(const struct sonde__hooks *hooks,
                              const struct sonde__hook_image *image,
                              const struct sonde__host_file *file,
                              struct sonde__hook_gathered *gathered)
{
    enum found_file result = FILE_GONE;
    sonde__os_images_hold();
    if (sonde__hook_is_listed(image)) {
        result = is_of_cache(image) || is_own(image) ? FILE_NOT_NEEDED
                 : file->data != NULL &&
                         sonde__hook_gather(hooks, &image->image, file->data, file->size, gathered)
                     ? FILE_READ
                     : FILE_OTHER;
    }
    sonde__os_images_release();
    return result;
}

static void read_image(struct sonde__hooks *hooks, struct sonde__hook_image *image)
{
    struct sonde__hook_gathered gathered = {.found = NULL};
    struct sonde__host_file file = {.data = NULL};
    struct sonde_error unused;
    bool is_mapped = sonde__host_file_map(NULL, image->path, FILE_MAX, &file, &unused) == SONDE_OK;
    enum found_file result = gather(hooks, image, &file, &gathered);
    if (result == FILE_OTHER) {
        sonde__hook_add_blind_spot(hooks, image->id, image->module, NULL, SONDE__HOOK_UNREADABLE);
    } else if (result == FILE_READ) {
        sonde__hook_resolve_unbound(&gathered);
        sonde__os_images_hold();
        if (sonde__hook_is_listed(image)) {
            sonde__hook_patch_all(hooks, image, &gathered);
        }
        sonde__os_images_release();
    }
    hooks->failed |= gathered.failed;
    image->is_read = true;
    sonde__mem_free(gathered.found);
    if (is_mapped) {
        sonde__host_file_unmap(&file);
    }
}

/* A function that no image imports may be called where it is defined. */
static void look_for_definition(struct sonde__hooks *hooks, uint32_t function)
{
    Dl_info info;
    const char *name = hooks->names[function];
    uint64_t address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name);
    if (address == 0 || dladdr((const void *)(uintptr_t)address, &info) == 0) {
        return;
    }
    sonde__os_images_hold();
    const struct sonde__hook_image *definer =
        sonde__hook_find_image(hooks->port, (uint64_t)(uintptr_t)info.dli_fbase);
    if (definer == NULL || !sonde__hook_is_listed(definer)) {
        hooks->tally[function]++; /* on the way in or out: another sweep looks */
    } else if (sonde__hook_is_code(&definer->image, address)) {
        hooks->tally[function]++;
        sonde__hook_add_blind_spot(hooks, definer->id, definer->module, name, SONDE__HOOK_INSIDE);
    } else {
        sonde__hook_add_blind_spot(hooks, 0, NULL, name, SONDE__HOOK_NO_FUNCTION);
    }
    sonde__os_images_release();
}

void sonde__hook_port_sweep(struct sonde__hooks *hooks)
{
    struct sonde__hook_port *port = hooks->port;
    if (!port->has_swept) {
        sonde__hook_names_fill(hooks);
    }
    hooks->is_swept = false;
    for (unsigned tries = 0; tries < TRIES && !hooks->is_swept; tries++) {
        sonde__hook_look_at_list(hooks);
        for (size_t i = 0; i < port->image_count; i++) {
            if (!port->images[i].is_read) {
                read_image(hooks, &port->images[i]);
            }
        }
        sonde__os_images_hold();
        hooks->is_swept = !sonde__hook_is_list_changed(port);
        if (hooks->is_swept) {
            sonde__hook_patch_again(hooks);
        }
        sonde__os_images_release();
    }
    for (uint32_t i = 0; i < hooks->count; i++) {
        if (hooks->names[i] != NULL && hooks->tally[i] == 0) {
            look_for_definition(hooks, i);
        }
    }
    port->has_swept = true;
}

void sonde__hook_port_destroy(struct sonde__hooks *hooks)
{
    struct sonde__hook_port *port = hooks->port;
    if (port == NULL) {
        return;
    }
    sonde__os_images_hold();
    for (size_t i = 0; i < port->image_count; i++) {
        for (size_t k = 0; sonde__hook_is_listed(&port->images[i]) && k < port->slot_count; k++) {
            if (port->slots[k].owner == port->images[i].id) {
                sonde__hook_restore(&port->slots[k]);
            }
        }
    }
    sonde__os_images_release();
    for (size_t i = 0; i < port->image_count; i++) {
        sonde__mem_free(port->images[i].path);
    }
    sonde__mem_free(port->images);
    sonde__mem_free(port->slots);
    sonde__mem_free(port);
}
