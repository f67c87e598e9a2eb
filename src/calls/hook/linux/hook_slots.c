// SPDX-License-Identifier: Apache-2.0
/* Slots that the loader bound before the definitions were patched. All slots of a new object are
 * checked; of the others only those of the linkage table, when a new function appeared that the
 * loader may have bound them to. A slot that is not bound yet is left to the loader, which will
 * find the thunk. */
#include <string.h>
#include <sys/auxv.h>

#include "hook_elf.h"
#include "probe_hook.h"

struct pass {
    struct sonde__hooks *hooks;
    struct sonde__hook_known *known;
    struct sonde__hook_object object;
    size_t index;
    bool is_of_slots; /* the second of two */
};

static void inspect_slot(struct pass *pass, const ElfW(Rela) * rela, uint64_t *at)
{
    struct sonde__hooks *hooks = pass->hooks;
    const char *name = sonde__hook_symbol_name(&pass->object, (uint32_t)ELF64_R_SYM(rela->r_info));
    uint64_t value = __atomic_load_n(at, __ATOMIC_RELAXED);
    const struct sonde__hook_definition *definition =
        value != 0 ? sonde__hook_find_definition(hooks, name, value) : NULL;
    if (definition != NULL &&
        !sonde__hook_write(&hooks->port->writer, at, definition->thunk,
                           sonde__hook_protection(&pass->object, (uint64_t)(uintptr_t)at))) {
        sonde__hook_add_blind_spot(hooks, pass->known->id, pass->known->module,
                                   hooks->names[definition->function], SONDE__HOOK_REFUSED);
    }
}

/* Null: it is none of the three kinds. */
static uint64_t *slot_of(const struct sonde__hook_object *object, const ElfW(Rela) * rela)
{
    uint64_t address = object->base + rela->r_offset;
    return sonde__hook_is_slot(rela) && address % 8 == 0 &&
                   sonde__hook_segment(object, address) != NULL
               ? (uint64_t *)(uintptr_t)address
               : NULL;
}

/* Does the object import a function of this name? Asked only of functions that return addresses. */
static void inspect_import(struct pass *pass, const char *name)
{
    struct sonde__hook_known *known = pass->known;
    bool asks = strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0;
    if (asks && (pass->hooks->flags & SONDE__HOOK_FIRST) == 0 && !known->is_late) {
        sonde__hook_add_blind_spot(pass->hooks, known->id, known->module, NULL, SONDE__HOOK_ASKS);
    } else if (strcmp(name, "dlmopen") == 0) {
        sonde__hook_add_blind_spot(pass->hooks, known->id, known->module, NULL,
                                   SONDE__HOOK_OTHER_SPACE);
    }
}

static void inspect_table(struct pass *pass, unsigned table)
{
    const struct sonde__hook_object *object = &pass->object;
    for (uint64_t k = 0; k < object->counts[table]; k++) {
        const ElfW(Rela) *rela = &object->tables[table][k];
        uint64_t *at = slot_of(object, rela);
        if (at != NULL) {
            inspect_slot(pass, rela, at);
        }
        if (!pass->known->is_swept && ELF64_R_SYM(rela->r_info) != 0) {
            inspect_import(pass,
                           sonde__hook_symbol_name(object, (uint32_t)ELF64_R_SYM(rela->r_info)));
        }
    }
}

/* The loader calls the program's allocator through its own pointers: words of its data that hold
 * the function's address. */
static void each_pointer_of_loader(const struct sonde__hook_object *object,
                                   void (*each)(void *ctx, uint64_t *at, uint64_t value), void *ctx)
{
    uint64_t loader = getauxval(AT_BASE);
    if (loader == 0 || object->base != loader) {
        return;
    }
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *segment = &object->phdrs[i];
        uint64_t from = (object->base + segment->p_vaddr + 7) / 8 * 8;
        uint64_t to = object->base + segment->p_vaddr + segment->p_memsz;
        bool is_data = segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0;
        for (uint64_t at = from; is_data && at + 8 <= to; at += 8) {
            uint64_t *word = (uint64_t *)(uintptr_t)at;
            each(ctx, word, __atomic_load_n(word, __ATOMIC_RELAXED));
        }
    }
}

static void lead_allocator(void *ctx, uint64_t *at, uint64_t value)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "free"};
    const struct pass *pass = ctx;
    struct sonde__hooks *hooks = pass->hooks;
    for (unsigned i = 0; value != 0 && i < sizeof names / sizeof *names; i++) {
        const struct sonde__hook_definition *definition =
            sonde__hook_find_definition(hooks, names[i], value);
        if (definition != NULL &&
            !sonde__hook_write(&hooks->port->writer, at, definition->thunk,
                               sonde__hook_protection(&pass->object, (uint64_t)(uintptr_t)at))) {
            sonde__hook_add_blind_spot(hooks, pass->known->id, pass->known->module,
                                       hooks->names[definition->function], SONDE__HOOK_REFUSED);
        }
    }
}

static void inspect_slots(struct pass *pass)
{
    const struct sonde__hook_object *object = &pass->object;
    struct sonde__hook_known *known = pass->known;
    bool is_own = sonde__hook_is_own(object, known->module);
    if (!known->is_swept && !is_own) {
        sonde__hook_raw_look(object, known->module, &pass->hooks->port->writer);
    }
    /* a static program at any address (static-pie) has a dynamic section for its own start */
    if (!object->is_dynamic || (known->module[0] == '\0' && !object->has_loader)) {
        sonde__hook_add_blind_spot(pass->hooks, known->id, known->module, NULL, SONDE__HOOK_STATIC);
    }
    if (object->symbols != NULL && !is_own) {
        /* an object loaded after the start may have been swept before its dependencies */
        for (unsigned table = known->is_swept && !known->is_late ? 1 : 0; table < 2; table++) {
            inspect_table(pass, table);
        }
    }
    if (!known->is_swept) {
        each_pointer_of_loader(object, lead_allocator, pass);
    }
    known->is_swept = true;
}

static int inspect_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct pass *pass = ctx;
    struct sonde__hooks *hooks = pass->hooks;
    (void)size;
    if (!sonde__hook_is_listed_now(hooks->port, info) || pass->index == hooks->port->known_count) {
        return 1;
    }
    pass->known = &hooks->port->known[pass->index++];
    if (pass->known->is_swept && !hooks->port->must_look_all) {
        return 0;
    }
    sonde__hook_object_read(info, &pass->object);
    if (pass->is_of_slots) {
        inspect_slots(pass);
    } else if (!pass->known->is_swept) {
        sonde__hook_patch_definitions(hooks, pass->known, &pass->object);
    }
    return 0;
}

static bool pass_over(struct sonde__hooks *hooks, bool is_of_slots)
{
    struct pass pass = {.hooks = hooks, .is_of_slots = is_of_slots};
    (void)dl_iterate_phdr(inspect_object, &pass);
    return pass.index == hooks->port->known_count;
}

void sonde__hook_patch_all(struct sonde__hooks *hooks)
{
    sonde__hook_writer_open(&hooks->port->writer, (hooks->flags & SONDE__HOOK_NO_MEM) == 0);
    hooks->is_swept = pass_over(hooks, false) && pass_over(hooks, true);
    sonde__hook_writer_close(&hooks->port->writer);
    hooks->port->must_look_all = hooks->port->must_look_all && !hooks->is_swept;
}

struct restoring {
    struct sonde__hooks *hooks;
    const struct sonde__hook_object *object;
};

static void restore(void *ctx, uint64_t *at, uint64_t value)
{
    const struct restoring *restoring = ctx;
    uint32_t thunk;
    if (sonde__probe_hook_index(value, &thunk)) {
        (void)sonde__hook_write(&restoring->hooks->port->writer, at,
                                atomic_load(&sonde__probe_hooks[thunk].target),
                                sonde__hook_protection(restoring->object, (uint64_t)(uintptr_t)at));
    }
}

void sonde__hook_restore_slots(struct sonde__hooks *hooks, const struct sonde__hook_object *object)
{
    struct restoring restoring = {hooks, object};
    each_pointer_of_loader(object, restore, &restoring);
    for (unsigned table = 0; table < 2 && object->symbols != NULL; table++) {
        for (uint64_t k = 0; k < object->counts[table]; k++) {
            uint64_t *at = slot_of(object, &object->tables[table][k]);
            if (at != NULL) {
                restore(&restoring, at, __atomic_load_n(at, __ATOMIC_RELAXED));
            }
        }
    }
}
