// SPDX-License-Identifier: Apache-2.0
/* The images that sweeps know, and dyld's callback. */
#include <mach-o/dyld.h>
#include <string.h>

#include "hook_darwin.h"
#include "mem_heap.h"
#include "probe_hook.h"

static bool is_told;    /* loads are: not while dyld lists what is loaded already */
static uint64_t teller; /* the thread in the callback; 0: none */

static void see_load(const struct mach_header *header, intptr_t slide)
{
    (void)header, (void)slide;
    if (is_told) {
        __atomic_store_n(&teller, sonde__os_thread_pointer(), __ATOMIC_RELAXED);
        sonde__hook_tell_loaded();
        __atomic_store_n(&teller, 0, __ATOMIC_RELAXED);
    }
}

void sonde__hook_be_told(void)
{
    if (!is_told) {
        _dyld_register_func_for_add_image(see_load);
        is_told = true;
    }
}

static bool is_equal(struct sonde__os_image_counts a, struct sonde__os_image_counts b)
{
    return a.added == b.added && a.removed == b.removed;
}

bool sonde__hook_is_list_changed(const struct sonde__hook_port *port)
{
    return !is_equal(port->counts, sonde__os_images_counts());
}

bool sonde__hook_port_is_changed(const struct sonde__hooks *hooks)
{
    sonde__os_images_hold();
    bool is_changed =
        sonde__hook_is_list_changed(hooks->port) || sonde__hook_is_overwritten(hooks->port);
    sonde__os_images_release();
    return is_changed;
}

struct sonde__hook_image *sonde__hook_find_image(struct sonde__hook_port *port, uint64_t start)
{
    for (size_t i = 0; i < port->image_count; i++) {
        if (port->images[i].image.start == start) {
            return &port->images[i];
        }
    }
    return NULL;
}

static void add_image(struct sonde__hooks *hooks, const struct sonde__os_image *image,
                      const char *path)
{
    struct sonde__hook_port *port = hooks->port;
    char *copy = sonde__mem_copy_string(path);
    bool is_main = sonde__hook_header(image)->filetype == MH_EXECUTE;
    bool is_loading = __atomic_load_n(&teller, __ATOMIC_RELAXED) == sonde__os_thread_pointer();
    if (copy == NULL ||
        !SONDE__MEM_ADD(port->images, port->image_count, port->image_capacity,
                        (struct sonde__hook_image){.image = *image,
                                                   .path = copy,
                                                   .module = is_main ? "" : copy,
                                                   .id = ++port->next_id,
                                                   .is_late = port->has_swept && !is_loading,
                                                   .is_here = true})) {
        sonde__mem_free(copy);
        hooks->failed = true;
    }
}

static void forget(struct sonde__hooks *hooks, struct sonde__hook_image *image)
{
    struct sonde__hook_port *port = hooks->port;
    size_t kept = 0;
    for (size_t i = 0; i < port->slot_count; i++) {
        if (port->slots[i].owner != image->id) {
            port->slots[kept++] = port->slots[i];
        }
    }
    port->slot_count = kept;
    sonde__hook_drop_blind_spots(hooks, image->id);
    sonde__mem_free(image->path);
}

void sonde__hook_look_at_list(struct sonde__hooks *hooks)
{
    struct sonde__hook_port *port = hooks->port;
    struct sonde__os_image image;
    const char *path;
    size_t kept = 0;
    for (size_t i = 0; i < port->image_count; i++) {
        port->images[i].is_here = false;
    }
    sonde__os_images_hold();
    for (uint32_t at = 0; sonde__os_images_next(&at, &image, &path);) {
        struct sonde__hook_image *known = sonde__hook_find_image(port, image.start);
        if (known != NULL && strcmp(known->path, path) == 0) {
            known->is_here = true;
        } else {
            add_image(hooks, &image, path);
        }
    }
    port->counts = sonde__os_images_counts();
    sonde__os_images_release();
    for (size_t i = 0; i < port->image_count; i++) {
        if (port->images[i].is_here) {
            port->images[kept++] = port->images[i];
        } else {
            forget(hooks, &port->images[i]);
        }
    }
    port->image_count = kept;
}

bool sonde__hook_is_listed(const struct sonde__hook_image *image)
{
    struct sonde__os_image listed;
    const char *path;
    for (uint32_t at = 0; sonde__os_images_next(&at, &listed, &path);) {
        if (listed.start == image->image.start && strcmp(path, image->path) == 0) {
            return true;
        }
    }
    return false;
}

/* Data of other images is apart: what counts is code. */
bool sonde__hook_own_image(uint64_t *ret_start, uint64_t *ret_end)
{
    struct sonde__os_image own;
    if (!sonde__os_find_image(sonde__probe_hook_thunk(0), &own) ||
        sonde__hook_header(&own)->filetype == MH_EXECUTE) {
        return false;
    }
    *ret_start = own.start;
    *ret_end = own.end;
    return true;
}
