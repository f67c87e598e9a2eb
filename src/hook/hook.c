// SPDX-License-Identifier: Apache-2.0
/* Two passes, each in one callback of dl_iterate_phdr, which keeps objects from being unloaded: the
 * first finds definitions, the second writes slots. What asks the loader stands between them,
 * because it takes a lock that must not be taken inside. */
#include "hook.h"

#include <dlfcn.h>
#include <string.h>

#include "base_status.h"
#include "hook_method.h"
#include "hook_object.h"
#include "hook_thunk.h"
#include "hook_write.h"
#include "mem_arena.h"
#include "mem_heap.h"
#include "probe_hook.h"

struct definition { /* of a listed function, or of another name of one */
    const char *name;
    uint64_t address; /* 0: decided by the loader (an ifunc) and not known */
    uint32_t function;
    bool is_only; /* no other address has this name */
};

struct slot {
    uint64_t *at;
    uint64_t old;
    uint64_t thunk;
};

struct sonde__hooks {
    const char *const *names;
    uint32_t count;
    uint32_t flags;
    uint64_t adds, subs; /* of the loader, at the last sweep */
    struct definition *definitions;
    size_t definition_count, definition_capacity;
    struct slot *slots;
    size_t slot_count, slot_capacity;
    struct sonde__hook_method *methods; /* of the names, those that are of methods */
    uint32_t method_count;
    struct sonde__hook_blind *blinds;
    size_t blind_count, blind_capacity;
    struct sonde__arena texts;
    struct sonde__hook_writer writer;
    bool failed; /* out of memory */
    /* of the pass: */
    const struct sonde__hook_object *object;
    const char *module;
    uint32_t function;
    const char *name;
};

static struct sonde__hooks *current;

static void add_blind(struct sonde__hooks *hooks, const char *module, const char *function,
                      enum sonde__hook_reason reason)
{
    for (size_t i = 0; i < hooks->blind_count; i++) {
        const struct sonde__hook_blind *blind = &hooks->blinds[i];
        if (blind->reason == reason && blind->function == function &&
            (blind->module == module ||
             (blind->module != NULL && module != NULL && strcmp(blind->module, module) == 0))) {
            return;
        }
    }
    if (!sonde__mem_grow(&hooks->blinds, hooks->blind_count, &hooks->blind_capacity,
                         sizeof hooks->blinds[0])) {
        hooks->failed = true;
        return;
    }
    const char *copy = module == NULL ? NULL : sonde__arena_copy_string(&hooks->texts, module);
    if (module != NULL && copy == NULL) {
        hooks->failed = true;
        return;
    }
    hooks->blinds[hooks->blind_count++] = (struct sonde__hook_blind){copy, function, reason};
}

/* --- the first pass: definitions --- */

static void add_definition(void *ctx, const ElfW(Sym) * symbol)
{
    struct sonde__hooks *hooks = ctx;
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) {
        add_blind(hooks, NULL, hooks->name, SONDE__HOOK_NO_FUNCTION);
        return;
    }
    uint64_t address = type == STT_GNU_IFUNC ? 0 : hooks->object->base + symbol->st_value;
    bool is_only = true;
    add_blind(hooks, hooks->module, hooks->name, SONDE__HOOK_INSIDE);
    for (size_t i = 0; i < hooks->definition_count; i++) {
        struct definition *other = &hooks->definitions[i];
        if (strcmp(other->name, hooks->name) != 0) {
            continue;
        }
        if (other->address == address && address != 0) {
            return;
        }
        other->is_only = is_only = false;
    }
    if (!sonde__mem_grow(&hooks->definitions, hooks->definition_count, &hooks->definition_capacity,
                         sizeof hooks->definitions[0])) {
        hooks->failed = true;
        return;
    }
    hooks->definitions[hooks->definition_count++] =
        (struct definition){hooks->name, address, hooks->function, is_only};
}

static bool is_own(const struct sonde__hook_object *object, const struct dl_phdr_info *info)
{
    return info->dlpi_name != NULL && info->dlpi_name[0] != '\0' &&
           sonde__hook_segment(object, (uint64_t)(uintptr_t)sonde__probe_hooks) != NULL;
}

static int find_definitions(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct sonde__hooks *hooks = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    hooks->object = &object;
    hooks->module = info->dlpi_name != NULL ? info->dlpi_name : "";
    if (is_own(&object, info)) {
        return 0;
    }
    for (uint32_t i = 0; i < hooks->count; i++) {
        hooks->function = i;
        hooks->name = hooks->names[i];
        sonde__hook_each_definition(&object, hooks->name, add_definition, hooks);
    }
    return 0;
}

/* Between the passes: ask the loader for the functions that it decides on itself. */
static void resolve(struct sonde__hooks *hooks)
{
    for (size_t i = 0; i < hooks->definition_count; i++) {
        struct definition *definition = &hooks->definitions[i];
        if (definition->address == 0 && definition->is_only) {
            definition->address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, definition->name);
        }
    }
    for (uint32_t i = 0; i < hooks->count; i++) {
        struct sonde__hook_method_name method;
        bool is_there = sonde__hook_method_parse(hooks->names[i], &method);
        for (size_t k = 0; k < hooks->definition_count; k++) {
            is_there |= hooks->definitions[k].function == i;
        }
        for (size_t k = 0; k < hooks->blind_count; k++) {
            is_there |= hooks->blinds[k].reason == SONDE__HOOK_NO_FUNCTION &&
                        hooks->blinds[k].function == hooks->names[i];
        }
        if (!is_there) {
            add_blind(hooks, NULL, hooks->names[i], SONDE__HOOK_ABSENT);
        }
    }
}

/* --- the second pass: slots --- */

static const struct definition *by_address(const struct sonde__hooks *hooks, uint64_t address)
{
    for (size_t i = 0; i < hooks->definition_count; i++) {
        if (hooks->definitions[i].address == address) {
            return &hooks->definitions[i];
        }
    }
    return NULL;
}

static const struct definition *by_name(const struct sonde__hooks *hooks, const char *name)
{
    for (size_t i = 0; i < hooks->definition_count; i++) {
        if (strcmp(hooks->definitions[i].name, name) == 0) {
            return &hooks->definitions[i];
        }
    }
    return NULL;
}

/* Not bound yet: the slot leads back into its own object, whose stub asks the loader. */
static bool is_unbound(const struct sonde__hook_object *object, const ElfW(Sym) * symbol,
                       uint64_t value)
{
    const ElfW(Phdr) *segment = sonde__hook_segment(object, value);
    return segment != NULL && (segment->p_flags & PF_X) != 0 &&
           (symbol->st_shndx == SHN_UNDEF || value != object->base + symbol->st_value);
}

static void hook_slot(struct sonde__hooks *hooks, uint64_t *at, uint64_t old,
                      const struct definition *definition)
{
    uint64_t thunk = sonde__hook_thunk_of(definition->address, definition->function);
    if (thunk == 0) {
        add_blind(hooks, hooks->module, hooks->names[definition->function], SONDE__HOOK_FULL);
        return;
    }
    if (!sonde__mem_grow(&hooks->slots, hooks->slot_count, &hooks->slot_capacity,
                         sizeof hooks->slots[0])) {
        hooks->failed = true;
        return;
    }
    if (!sonde__hook_write(&hooks->writer, at, thunk,
                           sonde__hook_protection(hooks->object, (uint64_t)(uintptr_t)at))) {
        add_blind(hooks, hooks->module, hooks->names[definition->function], SONDE__HOOK_REFUSED);
        return;
    }
    hooks->slots[hooks->slot_count++] = (struct slot){at, old, thunk};
}

static void look_at_relocation(struct sonde__hooks *hooks, const ElfW(Rela) * rela)
{
    const struct sonde__hook_object *object = hooks->object;
    bool is_absolute = false;
    bool is_jump = false;
    uint64_t address = object->base + rela->r_offset;
    if (!sonde__hook_is_slot(rela, &is_absolute, &is_jump) || address % 8 != 0 ||
        sonde__hook_segment(object, address) == NULL) {
        return;
    }
    uint64_t *at = (uint64_t *)(uintptr_t)address;
    uint64_t value = __atomic_load_n(at, __ATOMIC_RELAXED);
    uint32_t thunk = 0;
    if (value == 0 || sonde__probe_hook_index(value, &thunk)) {
        return; /* a weak function that is not there; done by an earlier sweep */
    }
    const struct definition *definition = by_address(hooks, value);
    if (definition == NULL && !is_absolute) {
        uint32_t index = (uint32_t)ELF64_R_SYM(rela->r_info);
        definition = by_name(hooks, sonde__hook_symbol_name(object, index));
        if (definition == NULL) {
            return;
        }
        if (!is_jump || !is_unbound(object, &object->symbols[index], value) ||
            !definition->is_only || definition->address == 0) {
            add_blind(hooks, hooks->module, definition->name, SONDE__HOOK_UNRESOLVED);
            return;
        }
    }
    if (definition != NULL) {
        hook_slot(hooks, at, value, definition);
    }
}

/* Does the object import a function of this name? Only names of functions that give addresses. */
static void look_at_import(struct sonde__hooks *hooks, const char *name)
{
    if (strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0) {
        add_blind(hooks, hooks->module, NULL, SONDE__HOOK_ASKS);
    } else if (strcmp(name, "dlmopen") == 0) {
        add_blind(hooks, hooks->module, NULL, SONDE__HOOK_OTHER_SPACE);
    }
}

static int sweep_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct sonde__hooks *hooks = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    hooks->adds = info->dlpi_adds;
    hooks->subs = info->dlpi_subs;
    hooks->object = &object;
    hooks->module = info->dlpi_name != NULL ? info->dlpi_name : "";
    if (!object.is_dynamic) {
        add_blind(hooks, hooks->module, NULL, SONDE__HOOK_STATIC);
    }
    if (object.symbols == NULL || is_own(&object, info)) {
        return 0;
    }
    for (unsigned i = 0; i < 2; i++) {
        for (uint64_t k = 0; k < object.counts[i]; k++) {
            const ElfW(Rela) *rela = &object.tables[i][k];
            look_at_relocation(hooks, rela);
            if (ELF64_R_SYM(rela->r_info) != 0) {
                look_at_import(
                    hooks, sonde__hook_symbol_name(&object, (uint32_t)ELF64_R_SYM(rela->r_info)));
            }
        }
    }
    return 0;
}

/* --- restoring --- */

static int restore_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct sonde__hooks *hooks = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    for (size_t i = 0; i < hooks->slot_count; i++) {
        struct slot *slot = &hooks->slots[i];
        uint64_t address = (uint64_t)(uintptr_t)slot->at;
        if (sonde__hook_segment(&object, address) != NULL &&
            __atomic_load_n(slot->at, __ATOMIC_RELAXED) == slot->thunk) {
            (void)sonde__hook_write(&hooks->writer, slot->at, slot->old,
                                    sonde__hook_protection(&object, address));
        }
    }
    return 0;
}

/* Slots of objects that are gone, or that the program has written since, are no longer ours. */
static int mark_living(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct sonde__hooks *hooks = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    for (size_t i = 0; i < hooks->slot_count; i++) {
        struct slot *slot = &hooks->slots[i];
        if (slot->thunk % 2 == 0 && sonde__hook_segment(&object, (uint64_t)(uintptr_t)slot->at) &&
            __atomic_load_n(slot->at, __ATOMIC_RELAXED) == slot->thunk) {
            slot->thunk |= 1; /* thunks are aligned */
        }
    }
    return 0;
}

static void drop_dead_slots(struct sonde__hooks *hooks)
{
    size_t kept = 0;
    (void)dl_iterate_phdr(mark_living, hooks);
    for (size_t i = 0; i < hooks->slot_count; i++) {
        if (hooks->slots[i].thunk % 2 != 0) {
            hooks->slots[kept] = hooks->slots[i];
            hooks->slots[kept++].thunk &= ~(uint64_t)1;
        }
    }
    hooks->slot_count = kept;
}

static int read_counts(struct dl_phdr_info *info, size_t size, void *ctx)
{
    uint64_t *counts = ctx;
    (void)size;
    counts[0] = info->dlpi_adds;
    counts[1] = info->dlpi_subs;
    return 1;
}

enum sonde_status sonde__hook_sweep(struct sonde__hooks *hooks)
{
    uint64_t counts[2] = {0, 0};
    (void)dl_iterate_phdr(read_counts, counts);
    if (hooks->adds == counts[0] && hooks->subs == counts[1]) {
        return SONDE_OK;
    }
    drop_dead_slots(hooks);
    hooks->definition_count = 0;
    hooks->blind_count = 0;
    sonde__arena_done(&hooks->texts);
    sonde__hook_writer_open(&hooks->writer, (hooks->flags & SONDE__HOOK_NO_MEM) == 0);
    (void)dl_iterate_phdr(find_definitions, hooks);
    resolve(hooks);
    (void)dl_iterate_phdr(sweep_object, hooks);
    sonde__hook_writer_close(&hooks->writer);
    return hooks->failed ? SONDE_MEMORY : SONDE_OK;
}

static bool list_methods(struct sonde__hooks *hooks)
{
    struct sonde__hook_method_name method;
    hooks->methods = sonde__mem_alloc_array(hooks->count, sizeof *hooks->methods);
    for (uint32_t i = 0; hooks->methods != NULL && i < hooks->count; i++) {
        if (sonde__hook_method_parse(hooks->names[i], &method)) {
            hooks->methods[hooks->method_count++] =
                (struct sonde__hook_method){.name = hooks->names[i], .function = i};
        }
    }
    return hooks->methods != NULL;
}

uint32_t sonde__hook_look_for_methods(struct sonde__hooks *hooks)
{
    return sonde__hook_methods_look(hooks->methods, hooks->method_count, sonde__hook_thunk_of);
}

const struct sonde__hook_method *sonde__hook_methods(const struct sonde__hooks *hooks,
                                                     uint32_t *ret_count)
{
    *ret_count = hooks->method_count;
    return hooks->methods;
}

enum sonde_status sonde__hook_start(const char *const *names, uint32_t count, uint32_t flags,
                                    struct sonde__hooks **ret_hooks, struct sonde_error *ret_error)
{
    if (current != NULL) {
        return sonde__base_fail(ret_error, SONDE_BUSY, "functions are hooked already", NULL, 0, 0);
    }
    struct sonde__hooks *hooks = sonde__mem_alloc_zeroed(sizeof *hooks);
    if (hooks == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for hooks", NULL, 0, 0);
    }
    sonde__arena_init(&hooks->texts);
    hooks->names = names;
    hooks->count = count;
    hooks->flags = flags;
    current = hooks;
    if (!list_methods(hooks) || sonde__hook_sweep(hooks) != SONDE_OK) {
        sonde__hook_stop(hooks);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for hooks", NULL, 0, 0);
    }
    *ret_hooks = hooks;
    return SONDE_OK;
}

uint64_t sonde__hook_lead(struct sonde__hooks *hooks, uint64_t address)
{
    const struct definition *definition = by_address(hooks, address);
    uint64_t thunk =
        definition != NULL ? sonde__hook_thunk_of(definition->address, definition->function) : 0;
    return thunk != 0 ? thunk : address;
}

uint64_t sonde__hook_slots(const struct sonde__hooks *hooks)
{
    return hooks->slot_count;
}

const struct sonde__hook_blind *sonde__hook_blinds(const struct sonde__hooks *hooks,
                                                   size_t *ret_count)
{
    *ret_count = hooks->blind_count;
    return hooks->blinds;
}

void sonde__hook_stop(struct sonde__hooks *hooks)
{
    sonde__hook_writer_open(&hooks->writer, (hooks->flags & SONDE__HOOK_NO_MEM) == 0);
    (void)dl_iterate_phdr(restore_object, hooks);
    sonde__hook_writer_close(&hooks->writer);
    sonde__hook_methods_restore(hooks->methods, hooks->method_count);
    sonde__hook_thunks_off();
    sonde__mem_free(hooks->methods);
    sonde__mem_free(hooks->definitions);
    sonde__mem_free(hooks->slots);
    sonde__mem_free(hooks->blinds);
    sonde__arena_done(&hooks->texts);
    sonde__mem_free(hooks);
    current = NULL;
}
