// SPDX-License-Identifier: Apache-2.0
/* Slots. Those of an object that is new are all looked at; of the others only what may have become
 * something else since: a slot that the loader had not bound, and one with a listed name that led
 * to no listed function that is known, could mean several, or could not be written. */
#include <string.h>

#include "hook_raw.h"
#include "hook_state.h"
#include "hook_thunk.h"
#include "mem_heap.h"
#include "probe_hook.h"

struct pass {
    struct sonde__hooks *hooks;
    struct sonde__hook_known *known;
    struct sonde__hook_object object;
    size_t index;
};

enum outcome { DONE, OPEN, OPEN_LISTED };

/* Not bound yet: the slot leads back into its own object, whose stub asks the loader. */
static bool is_unbound(const struct sonde__hook_object *object, const ElfW(Sym) * symbol,
                       uint64_t value)
{
    const ElfW(Phdr) *segment = sonde__hook_segment(object, value);
    return segment != NULL && (segment->p_flags & PF_X) != 0 &&
           (symbol->st_shndx == SHN_UNDEF || value != object->base + symbol->st_value);
}

static enum outcome hook_slot(struct pass *pass, uint64_t *at, uint64_t old,
                              const struct sonde__hook_definition *definition)
{
    struct sonde__hooks *hooks = pass->hooks;
    struct sonde__hook_known *known = pass->known;
    const char *name = hooks->names[definition->function];
    uint64_t thunk = sonde__hook_thunk_of(definition->address, definition->function);
    if (thunk == 0) {
        sonde__hook_say(hooks, known, known->module, name, SONDE__HOOK_FULL);
        return OPEN_LISTED;
    }
    if (!sonde__mem_grow(&known->slots, known->slot_count, &known->slot_capacity,
                         sizeof known->slots[0])) {
        hooks->failed = true;
        return OPEN_LISTED;
    }
    if (!sonde__hook_write(&hooks->writer, at, thunk,
                           sonde__hook_protection(&pass->object, (uint64_t)(uintptr_t)at))) {
        sonde__hook_say(hooks, known, known->module, name, SONDE__HOOK_REFUSED);
        return OPEN_LISTED;
    }
    known->slots[known->slot_count++] = (struct sonde__hook_slot){at, old, thunk};
    return DONE;
}

static enum outcome look_at_slot(struct pass *pass, const ElfW(Rela) * rela, uint64_t *at,
                                 uint64_t value, bool is_absolute, bool is_jump)
{
    const struct sonde__hook_object *object = &pass->object;
    struct sonde__hooks *hooks = pass->hooks;
    uint32_t thunk = 0;
    if (value == 0 || sonde__probe_hook_index(value, &thunk)) {
        return DONE; /* a weak function that is not there; done by an earlier sweep */
    }
    const struct sonde__hook_definition *definition = sonde__hook_by_address(hooks, value);
    if (definition != NULL) {
        return hook_slot(pass, at, value, definition);
    }
    if (is_absolute) {
        return DONE;
    }
    uint32_t index = (uint32_t)ELF64_R_SYM(rela->r_info);
    const char *name = sonde__hook_symbol_name(object, index);
    bool may_be_bound = is_jump && is_unbound(object, &object->symbols[index], value);
    if (!sonde__hook_has_name(hooks, name)) {
        return may_be_bound ? OPEN : DONE; /* perhaps another name of a listed function */
    }
    definition = sonde__hook_by_name(hooks, name);
    if (definition != NULL && may_be_bound && definition->is_only && definition->address != 0) {
        return hook_slot(pass, at, value, definition);
    }
    if (definition != NULL) {
        sonde__hook_say(hooks, pass->known, pass->known->module, definition->name,
                        SONDE__HOOK_UNRESOLVED);
    }
    return OPEN_LISTED;
}

static void look_at_relocation(struct pass *pass, unsigned table, uint64_t k)
{
    const struct sonde__hook_object *object = &pass->object;
    struct sonde__hook_known *known = pass->known;
    const ElfW(Rela) *rela = &object->tables[table][k];
    bool is_absolute = false;
    bool is_jump = false;
    uint64_t address = object->base + rela->r_offset;
    if (!sonde__hook_is_slot(rela, &is_absolute, &is_jump) || address % 8 != 0 ||
        sonde__hook_segment(object, address) == NULL) {
        return;
    }
    uint64_t *at = (uint64_t *)(uintptr_t)address;
    uint64_t value = __atomic_load_n(at, __ATOMIC_RELAXED);
    enum outcome outcome = look_at_slot(pass, rela, at, value, is_absolute, is_jump);
    if (outcome == DONE || k >= SONDE__HOOK_LOW_TABLE) {
        return;
    }
    if (!sonde__mem_grow(&known->open, known->open_count, &known->open_capacity,
                         sizeof known->open[0])) {
        pass->hooks->failed = true;
        return;
    }
    known->open[known->open_count++] = (struct sonde__hook_open){
        .at = at,
        .value = value,
        .relocation = (uint32_t)k | (table == 0 ? SONDE__HOOK_LOW_TABLE : 0),
        .is_listed = outcome == OPEN_LISTED,
    };
}

/* Does the object import a function of this name? Only names of functions that give addresses. */
static void look_at_import(struct pass *pass, const char *name)
{
    struct sonde__hook_known *known = pass->known;
    if (strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0) {
        sonde__hook_say(pass->hooks, known, known->module, NULL, SONDE__HOOK_ASKS);
    } else if (strcmp(name, "dlmopen") == 0) {
        sonde__hook_say(pass->hooks, known, known->module, NULL, SONDE__HOOK_OTHER_SPACE);
    }
}

static void sweep_object(struct pass *pass)
{
    const struct sonde__hook_object *object = &pass->object;
    struct sonde__hook_known *known = pass->known;
    if (!known->is_swept && !sonde__hook_is_own(object, known->module)) {
        sonde__hook_raw_look(object, known->module, &pass->hooks->writer);
    }
    known->is_swept = true;
    known->open_count = 0;
    /* a static program at any address (static-pie) has a dynamic section for its own start */
    if (!object->is_dynamic || (known->module[0] == '\0' && !object->has_loader)) {
        sonde__hook_say(pass->hooks, known, known->module, NULL, SONDE__HOOK_STATIC);
    }
    if (object->symbols == NULL || sonde__hook_is_own(object, known->module)) {
        return;
    }
    for (unsigned table = 0; table < 2; table++) {
        for (uint64_t k = 0; k < object->counts[table]; k++) {
            uint32_t symbol = (uint32_t)ELF64_R_SYM(object->tables[table][k].r_info);
            look_at_relocation(pass, table, k);
            if (symbol != 0) {
                look_at_import(pass, sonde__hook_symbol_name(object, symbol));
            }
        }
    }
}

static void look_again(struct pass *pass)
{
    struct sonde__hook_known *known = pass->known;
    size_t kept = 0;
    for (size_t i = 0; i < known->open_count; i++) {
        struct sonde__hook_open open = known->open[i];
        uint64_t value = __atomic_load_n(open.at, __ATOMIC_RELAXED);
        enum outcome outcome = OPEN;
        if (open.is_listed || value != open.value) {
            bool is_absolute = false;
            bool is_jump = false;
            const ElfW(Rela) *rela =
                &pass->object.tables[(open.relocation & SONDE__HOOK_LOW_TABLE) == 0]
                                    [open.relocation & ~SONDE__HOOK_LOW_TABLE];
            (void)sonde__hook_is_slot(rela, &is_absolute, &is_jump);
            outcome = look_at_slot(pass, rela, open.at, value, is_absolute, is_jump);
            open.value = value;
            open.is_listed = outcome == OPEN_LISTED;
        }
        if (outcome != DONE) {
            known->open[kept++] = open;
        }
    }
    known->open_count = kept;
}

/* Slots that the program has written since are no longer ours; nor are those of an object that was
 * here before. */
static void drop_slots(struct pass *pass)
{
    struct sonde__hook_known *known = pass->known;
    size_t kept = 0;
    for (size_t i = 0; i < known->slot_count; i++) {
        const struct sonde__hook_slot *slot = &known->slots[i];
        if (sonde__hook_segment(&pass->object, (uint64_t)(uintptr_t)slot->at) != NULL &&
            __atomic_load_n(slot->at, __ATOMIC_RELAXED) == slot->thunk) {
            known->slots[kept++] = *slot;
        }
    }
    known->slot_count = kept;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct pass *pass = ctx;
    struct sonde__hooks *hooks = pass->hooks;
    (void)size;
    if (!sonde__hook_is_listed_now(hooks, info) || pass->index == hooks->known_count) {
        return 1;
    }
    if (pass->index == 0) {
        sonde__hook_unsay_slots(hooks);
    }
    pass->known = &hooks->known[pass->index++];
    if (pass->known->slot_count == 0 && pass->known->open_count == 0 && pass->known->is_swept &&
        !hooks->must_look_all) {
        return 0;
    }
    sonde__hook_object_read(info, &pass->object);
    drop_slots(pass);
    if (!pass->known->is_swept || hooks->must_look_all) {
        sweep_object(pass);
    } else {
        look_again(pass);
    }
    return 0;
}

void sonde__hook_look_at_slots(struct sonde__hooks *hooks)
{
    struct pass pass = {.hooks = hooks};
    sonde__hook_writer_open(&hooks->writer, (hooks->flags & SONDE__HOOK_NO_MEM) == 0);
    (void)dl_iterate_phdr(look_at_object, &pass);
    sonde__hook_writer_close(&hooks->writer);
    hooks->is_swept = pass.index == hooks->known_count;
    if (hooks->is_swept) {
        hooks->must_look_all = false;
    }
}
