// SPDX-License-Identifier: Apache-2.0
/* The list of objects, and which of them are new.
 *
 * Loaders append new objects to their list, behind those of the last sweep. The loader's
 * counters tell how many objects are certainly old: if nothing was unloaded, all of the last
 * list; else all but as many as were loaded since (objects loaded and unloaded meanwhile, or in
 * another namespace, only make this number smaller). Addresses prove nothing: an object may be
 * unloaded and loaded again at the same place, with fresh slots. (glibc counts each object in
 * dlpi_adds and dlpi_subs; musl counts calls of dlopen() and never unloads.) */
#include <string.h>

#include "hook_elf.h"
#include "mem_heap.h"

struct listing {
    struct sonde__hooks *hooks;
    struct sonde__hook_known *next; /* the new list */
    uint64_t adds, subs;
    size_t count, certain;
    size_t index, cursor;
};

static int count_objects(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct listing *listing = ctx;
    (void)size;
    listing->adds = info->dlpi_adds;
    listing->subs = info->dlpi_subs;
    listing->count++;
    return 0;
}

static size_t count_certain(const struct listing *listing)
{
    const struct sonde__hooks *hooks = listing->hooks;
    if (listing->subs == hooks->port->subs) {
        return hooks->port->known_count < listing->count ? hooks->port->known_count
                                                         : listing->count;
    }
    uint64_t added = listing->adds - hooks->port->adds;
    return added < listing->count ? listing->count - (size_t)added : 0;
}

/* Find the entry in the previous list. It is mostly next to the one found last. */
static struct sonde__hook_known *find(struct listing *listing, const struct dl_phdr_info *info)
{
    struct sonde__hooks *hooks = listing->hooks;
    for (size_t i = 0; i < hooks->port->known_count; i++) {
        size_t at = (listing->cursor + i) % hooks->port->known_count;
        struct sonde__hook_known *known = &hooks->port->known[at];
        const char *module = info->dlpi_name != NULL ? info->dlpi_name : "";
        if (known->id != 0 && known->base == info->dlpi_addr && known->phdrs == info->dlpi_phdr &&
            known->module != NULL && strcmp(known->module, module) == 0) {
            listing->cursor = at + 1;
            return known;
        }
    }
    return NULL;
}

static int list_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct listing *listing = ctx;
    struct sonde__hooks *hooks = listing->hooks;
    struct sonde__hook_object object;
    (void)size;
    if (info->dlpi_adds != listing->adds || info->dlpi_subs != listing->subs ||
        listing->index == listing->count) {
        return 1;
    }
    struct sonde__hook_known *known = &listing->next[listing->index];
    struct sonde__hook_known *before = find(listing, info);
    if (before != NULL) {
        *known = *before;
        *before = (struct sonde__hook_known){0};
    } else {
        *known = (struct sonde__hook_known){.base = info->dlpi_addr, .phdrs = info->dlpi_phdr};
        known->module = sonde__mem_copy_string(info->dlpi_name != NULL ? info->dlpi_name : "");
        known->id = ++hooks->port->last_id;
        known->is_late = hooks->sweeps != 0;
        hooks->failed |= known->module == NULL;
    }
    if (before == NULL || listing->index >= listing->certain) {
        sonde__hook_object_read(info, &object);
        known->is_swept = false;
        sonde__hook_undefine(hooks, known->id);
        sonde__hook_drop_blind_spots(hooks, known->id);
        size_t count = hooks->port->definition_count;
        sonde__hook_define(hooks, known, &object);
        hooks->port->must_look_all |= hooks->port->definition_count != count;
    }
    listing->index++;
    return 0;
}

static void forget(struct sonde__hooks *hooks, struct sonde__hook_known *known)
{
    if (known->id != 0) {
        sonde__hook_undefine(hooks, known->id);
        sonde__hook_drop_blind_spots(hooks, known->id);
        sonde__mem_free(known->module);
    }
}

void sonde__hook_list_done(struct sonde__hooks *hooks)
{
    for (size_t i = 0; i < hooks->port->known_count; i++) {
        forget(hooks, &hooks->port->known[i]);
    }
    sonde__mem_free(hooks->port->known);
    hooks->port->known = NULL;
    hooks->port->known_count = 0;
}

bool sonde__hook_list(struct sonde__hooks *hooks)
{
    struct listing listing = {.hooks = hooks};
    (void)dl_iterate_phdr(count_objects, &listing);
    listing.certain = count_certain(&listing);
    listing.next = sonde__mem_alloc_array(listing.count, sizeof listing.next[0]);
    if (listing.next == NULL) {
        hooks->failed = true;
        return false;
    }
    (void)dl_iterate_phdr(list_object, &listing);
    if (listing.index == 0) { /* another list already */
        sonde__mem_free(listing.next);
        return false;
    }
    sonde__hook_list_done(hooks);
    hooks->port->known = listing.next;
    hooks->port->known_count = listing.index;
    hooks->port->adds = listing.adds;
    hooks->port->subs = listing.subs;
    hooks->is_swept = false;
    return true;
}
