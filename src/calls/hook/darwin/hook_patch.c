// SPDX-License-Identifier: Apache-2.0
/* What a slot becomes, and back. */
#include <mach-o/loader.h>
#include <string.h>

#include "arch_regs.h"
#include "arch_sign.h"
#include "hook_darwin.h"
#include "hook_thunk.h"
#include "mem_heap.h"
#include "probe_hook.h"

static uint64_t sign(const struct sonde__hook_found *found, uint64_t address)
{
    uint64_t diversity = found->signing.diversity;
    if (!found->signing.is_signed) {
        return address;
    }
    return sonde__arch_sign(address,
                            found->signing.is_blended
                                ? sonde__arch_sign_blend(found->at, (uint16_t)diversity)
                                : diversity,
                            found->signing.key);
}

bool sonde__hook_is_code(const struct sonde__os_image *image, uint64_t address)
{
    const struct mach_header_64 *header = sonde__hook_header(image);
    const char *at = (const char *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)at;
        const struct section_64 *sections = (const void *)(segment + 1);
        bool is_text = segment->cmd == LC_SEGMENT_64 && strcmp(segment->segname, "__TEXT") == 0;
        for (uint32_t k = 0; is_text && k < segment->nsects; k++) {
            uint64_t offset = address - image->start - (sections[k].addr - segment->vmaddr);
            if (offset < sections[k].size) {
                return (sections[k].flags &
                        (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS)) != 0;
            }
        }
        at += segment->cmdsize;
    }
    return false;
}

/* Note where the function is defined. False: there is none. */
static bool check_target(struct sonde__hooks *hooks, uint32_t function, uint64_t target)
{
    struct sonde__os_image found;
    const struct sonde__hook_image *definer = sonde__os_find_image(target, &found)
                                                  ? sonde__hook_find_image(hooks->port, found.start)
                                                  : NULL;
    const char *name = hooks->names[function];
    if (definer == NULL || !sonde__hook_is_code(&definer->image, target)) {
        sonde__hook_add_blind_spot(hooks, 0, NULL, name, SONDE__HOOK_NO_FUNCTION);
        return false;
    }
    hooks->tally[function]++;
    sonde__hook_add_blind_spot(hooks, definer->id, definer->module, name, SONDE__HOOK_INSIDE);
    return true;
}

/* A slot of a missing weak import stays null. */
static enum sonde__hook_reason patch(struct sonde__hooks *hooks, const struct sonde__hook_image *of,
                                     const struct sonde__hook_found *found)
{
    struct sonde__hook_port *port = hooks->port;
    uint64_t *at = (uint64_t *)(uintptr_t)found->at;
    uint64_t before = __atomic_load_n(at, __ATOMIC_RELAXED);
    uint64_t address =
        found->signing.is_signed ? sonde__arch_strip_pac(SONDE__ARCH_HOST, before) : before;
    uint64_t target = found->is_unbound ? found->target : address;
    uint32_t index;
    if (address == 0 || sonde__probe_hook_index(address, &index)) {
        return SONDE__HOOK_INSIDE;
    }
    if (target == 0 || sign(found, address) != before) {
        return SONDE__HOOK_REFUSED;
    }
    if (!check_target(hooks, found->function, target)) {
        return SONDE__HOOK_NO_FUNCTION;
    }
    if (!sonde__hook_thunk_of(target, found->function, &index)) {
        return SONDE__HOOK_FULL;
    }
    uint64_t now = sign(found, sonde__probe_hook_thunk(index));
    struct sonde__hook_slot slot = {
        at, before, now, found->is_unbound ? target : 0, found->function, of->id};
    if (!SONDE__MEM_ADD(port->slots, port->slot_count, port->slot_capacity, slot)) {
        hooks->failed = true;
        return SONDE__HOOK_INSIDE;
    }
    if (!sonde__hook_write(at, now)) {
        port->slot_count--;
        return SONDE__HOOK_REFUSED;
    }
    return SONDE__HOOK_INSIDE;
}

void sonde__hook_patch_all(struct sonde__hooks *hooks, const struct sonde__hook_image *of,
                           const struct sonde__hook_gathered *gathered)
{
    for (size_t i = 0; i < gathered->count; i++) {
        const struct sonde__hook_found *found = &gathered->found[i];
        enum sonde__hook_reason reason = patch(hooks, of, found);
        if (reason == SONDE__HOOK_REFUSED || reason == SONDE__HOOK_FULL) {
            sonde__hook_add_blind_spot(hooks, of->id, of->module, hooks->names[found->function],
                                       reason);
        }
        if (of->is_late) {
            sonde__hook_add_blind_spot(hooks, of->id, of->module, hooks->names[found->function],
                                       SONDE__HOOK_LATE);
        }
    }
    if (gathered->asks) {
        sonde__hook_add_blind_spot(hooks, of->id, of->module, NULL, SONDE__HOOK_ASKS);
    }
}

static bool is_overwritten(const struct sonde__hook_slot *slot)
{
    return slot->target != 0 && __atomic_load_n(slot->at, __ATOMIC_RELAXED) == slot->target;
}

bool sonde__hook_is_overwritten(const struct sonde__hook_port *port)
{
    for (size_t i = 0; i < port->slot_count; i++) {
        if (is_overwritten(&port->slots[i])) {
            return true;
        }
    }
    return false;
}

static const char *module_of(const struct sonde__hook_port *port, uint32_t id)
{
    for (size_t i = 0; i < port->image_count; i++) {
        if (port->images[i].id == id) {
            return port->images[i].module;
        }
    }
    return NULL;
}

void sonde__hook_patch_again(struct sonde__hooks *hooks)
{
    struct sonde__hook_port *port = hooks->port;
    for (size_t i = 0; i < port->slot_count; i++) {
        struct sonde__hook_slot *slot = &port->slots[i];
        if (is_overwritten(slot)) {
            bool is_written = sonde__hook_write(slot->at, slot->now);
            slot->before = slot->target;
            sonde__hook_add_blind_spot(hooks, slot->owner, module_of(port, slot->owner),
                                       hooks->names[slot->function],
                                       is_written ? SONDE__HOOK_OVERWRITTEN : SONDE__HOOK_REFUSED);
        }
    }
}

void sonde__hook_restore(const struct sonde__hook_slot *slot)
{
    if (__atomic_load_n(slot->at, __ATOMIC_RELAXED) == slot->now) {
        (void)sonde__hook_write(slot->at, slot->before);
    }
}
