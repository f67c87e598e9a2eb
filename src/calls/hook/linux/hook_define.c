// SPDX-License-Identifier: Apache-2.0
/* Definitions of listed functions: the entries of symbol tables by which the loader finds them.
 * Only the value of an entry is patched, in one store, so that a concurrent reader sees the old or
 * the new one. The value of an ifunc becomes the address of our resolver. */
#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

#include "hook_elf.h"
#include "hook_thunk.h"
#include "mem_heap.h"
#include "probe_hook.h"

struct defining {
    struct sonde__hooks *hooks;
    const struct sonde__hook_known *known;
    const struct sonde__hook_object *object;
    uint32_t function;
    size_t first; /* definition of this object */
};

/* An entry as it was before it was patched. */
struct entry {
    uint64_t value;   /* with the object's base: the function, or its resolver */
    uint64_t address; /* 0: an ifunc that was not asked yet */
    bool is_function, is_ifunc;
};

static struct entry read_entry(uint64_t base, const ElfW(Sym) * symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    uint64_t value = base + __atomic_load_n(&symbol->st_value, __ATOMIC_RELAXED);
    uint32_t index;
    struct entry entry = {
        .value = value,
        .address = type == STT_GNU_IFUNC ? 0 : value,
        .is_function = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE,
        .is_ifunc = type == STT_GNU_IFUNC,
    };
    if (sonde__probe_hook_index(value, &index)) {
        entry.value = entry.address = atomic_load(&sonde__probe_hooks[index].target);
    } else if (sonde__probe_hook_resolver_index(value, &index)) {
        entry.value = sonde__hook_kept_resolver(index);
        entry.address = atomic_load(&sonde__probe_hooks[index].target);
    }
    return entry;
}

static bool is_defined(const struct defining *defining, const ElfW(Sym) * symbol)
{
    const struct sonde__hooks *hooks = defining->hooks;
    for (size_t i = defining->first; i < hooks->port->definition_count; i++) {
        if (hooks->port->definitions[i].symbol == symbol) {
            return true;
        }
    }
    return false;
}

static void learn_name(struct sonde__hooks *hooks, const char *name)
{
    uint32_t hash = sonde__hook_hash(name) % SONDE__HOOK_NAME_BITS;
    hooks->port->name_bits[hash / 64] |= (uint64_t)1 << hash % 64;
}

static void add(const struct defining *defining, const ElfW(Sym) * symbol, struct entry entry,
                uint32_t function)
{
    struct sonde__hooks *hooks = defining->hooks;
    uint32_t index = (uint32_t)(symbol - defining->object->symbols);
    const char *name = sonde__hook_symbol_name(defining->object, index);
    if (!sonde__mem_grow(&hooks->port->definitions, hooks->port->definition_count,
                         &hooks->port->definition_capacity, sizeof hooks->port->definitions[0])) {
        hooks->failed = true;
        return;
    }
    hooks->port->definitions[hooks->port->definition_count++] = (struct sonde__hook_definition){
        .symbol = (ElfW(Sym) *)(uintptr_t)symbol,
        .name = name,
        .value = entry.value,
        .address = entry.address,
        .function = function,
        .owner = defining->known->id,
    };
    hooks->tally[function]++;
    learn_name(hooks, name);
}

static void add_definition(void *ctx, const ElfW(Sym) * symbol)
{
    struct defining *defining = ctx;
    struct sonde__hooks *hooks = defining->hooks;
    const struct sonde__hook_known *known = defining->known;
    const char *name = hooks->names[defining->function];
    struct entry entry = read_entry(defining->object->base, symbol);
    if (!entry.is_function) {
        sonde__hook_add_blind_spot(hooks, known->id, NULL, name, SONDE__HOOK_NO_FUNCTION);
        return;
    }
    sonde__hook_add_blind_spot(hooks, known->id, known->module, name, SONDE__HOOK_INSIDE);
    if (known->is_late) {
        sonde__hook_add_blind_spot(hooks, known->id, known->module, name, SONDE__HOOK_LATE);
    }
    if (!is_defined(defining, symbol)) {
        add(defining, symbol, entry, defining->function);
    }
}

/* Other names of what is listed, in the same object. A non-default version may be an old,
 * different function: a name without a version does not include it, and it does not count as
 * another name. */
static void add_other_names(struct defining *defining)
{
    struct sonde__hooks *hooks = defining->hooks;
    const struct sonde__hook_object *object = defining->object;
    size_t until = hooks->port->definition_count;
    uint64_t values[64] = {0};
    for (size_t i = defining->first; i < until; i++) {
        uint64_t value = hooks->port->definitions[i].value;
        values[value / 64 % 64] |= (uint64_t)1 << value % 64;
    }
    uint32_t count = until > defining->first ? sonde__hook_symbol_count(object) : 0;
    for (uint32_t n = 1; n < count; n++) {
        const ElfW(Sym) *symbol = &object->symbols[n];
        struct entry entry = read_entry(object->base, symbol);
        bool may_be = symbol->st_shndx != SHN_UNDEF && entry.is_function &&
                      (values[entry.value / 64 % 64] >> entry.value % 64 & 1) != 0 &&
                      !sonde__hook_is_hidden(object, n);
        for (size_t i = defining->first; may_be && i < until; i++) {
            const struct sonde__hook_definition *other = &hooks->port->definitions[i];
            uint32_t index = (uint32_t)(other->symbol - object->symbols);
            if (other->value == entry.value && !sonde__hook_is_hidden(object, index)) {
                if (!is_defined(defining, symbol)) {
                    add(defining, symbol, entry, other->function);
                }
                break;
            }
        }
    }
}

bool sonde__hook_is_own(const struct sonde__hook_object *object, const char *module)
{
    return module != NULL && module[0] != '\0' &&
           sonde__hook_segment(object, (uint64_t)(uintptr_t)sonde__probe_hooks) != NULL;
}

void sonde__hook_define(struct sonde__hooks *hooks, const struct sonde__hook_known *known,
                        const struct sonde__hook_object *object)
{
    struct defining defining = {
        .hooks = hooks, .known = known, .object = object, .first = hooks->port->definition_count};
    if (object->symbols == NULL || sonde__hook_is_own(object, known->module) ||
        sonde__hook_is_kernel(object)) {
        return;
    }
    for (unsigned any = 0; any < 2; any++) { /* a name with its version before the same without */
        for (uint32_t i = 0; i < hooks->count; i++) {
            if (hooks->names[i] != NULL && (strchr(hooks->names[i], '@') == NULL) == (any == 1)) {
                defining.function = i;
                sonde__hook_each_definition(object, hooks->names[i], add_definition, &defining);
            }
        }
    }
    add_other_names(&defining);
}

void sonde__hook_undefine(struct sonde__hooks *hooks, uint32_t owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < hooks->port->definition_count; i++) {
        if (hooks->port->definitions[i].owner != owner) {
            hooks->port->definitions[kept++] = hooks->port->definitions[i];
        } else {
            hooks->tally[hooks->port->definitions[i].function]--;
        }
    }
    hooks->port->definition_count = kept;
}

static const struct sonde__hook_known *owner_of(const struct sonde__hooks *hooks,
                                                const struct sonde__hook_definition *definition)
{
    for (size_t i = 0; i < hooks->port->known_count; i++) {
        if (hooks->port->known[i].id == definition->owner) {
            return &hooks->port->known[i];
        }
    }
    return NULL;
}

/* Arguments of a resolver: psABI of aarch64, "GNU indirect functions"; resolvers of x86-64 use
 * none. */
static uint64_t ask(uint64_t resolver)
{
    const struct {
        unsigned long size, hwcap, hwcap2;
    } more = {sizeof more, getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    uint64_t is_more = (uint64_t)1 << 62;
    return ((uint64_t(*)(uint64_t, const void *))(uintptr_t)resolver)(more.hwcap | is_more, &more);
}

/* Another thread may be loading this object (it is not relocated yet) or unloading it. That
 * thread holds the loader's lock, and dladdr() takes the same lock: when dladdr() returns, the
 * load or unload is over, and if the list is unchanged the object is there. Opening the object
 * instead could run its constructors too early. */
static bool is_ready(const struct sonde__hooks *hooks, uint64_t resolver)
{
    Dl_info unused;
    return dladdr((const void *)(uintptr_t)resolver, &unused) != 0 &&
           sonde__hook_is_current(hooks->port);
}

void sonde__hook_resolve(struct sonde__hooks *hooks)
{
    for (size_t i = 0; i < hooks->port->definition_count; i++) {
        struct sonde__hook_definition *definition = &hooks->port->definitions[i];
        const struct sonde__hook_known *owner = owner_of(hooks, definition);
        if (definition->address != 0 || owner == NULL) {
            continue;
        }
        bool is_first = !owner->is_late && (hooks->flags & SONDE__HOOK_FIRST) != 0;
        if (is_first || is_ready(hooks, definition->value)) {
            definition->address = ask(definition->value);
        }
    }
}

static void patch(struct sonde__hooks *hooks, struct sonde__hook_definition *definition,
                  const struct sonde__hook_known *known, const struct sonde__hook_object *object)
{
    const char *name = hooks->names[definition->function];
    bool is_ifunc = ELF64_ST_TYPE(definition->symbol->st_info) == STT_GNU_IFUNC;
    uint64_t at = (uint64_t)(uintptr_t)&definition->symbol->st_value;
    uint32_t index;
    if (definition->address == 0) {
        sonde__hook_add_blind_spot(hooks, known->id, known->module, name, SONDE__HOOK_REFUSED);
        return;
    }
    if (!sonde__hook_thunk_of(definition->address, definition->function, &index)) {
        sonde__hook_add_blind_spot(hooks, known->id, known->module, name, SONDE__HOOK_FULL);
        return;
    }
    definition->thunk = sonde__probe_hook_thunk(index);
    if (is_ifunc) {
        sonde__hook_keep_resolver(index, definition->value);
    }
    uint64_t to = (is_ifunc ? sonde__probe_hook_resolver(index) : definition->thunk) - object->base;
    if (definition->symbol->st_value != to &&
        (sonde__hook_segment(object, at) == NULL ||
         !sonde__hook_write(&hooks->port->writer, &definition->symbol->st_value, to,
                            sonde__hook_protection(object, at)))) {
        sonde__hook_add_blind_spot(hooks, known->id, known->module, name, SONDE__HOOK_REFUSED);
    }
}

void sonde__hook_patch_definitions(struct sonde__hooks *hooks,
                                   const struct sonde__hook_known *known,
                                   const struct sonde__hook_object *object)
{
    for (size_t i = 0; i < hooks->port->definition_count; i++) {
        if (hooks->port->definitions[i].owner == known->id &&
            hooks->port->definitions[i].thunk == 0) {
            patch(hooks, &hooks->port->definitions[i], known, object);
        }
    }
}

void sonde__hook_restore_definitions(struct sonde__hooks *hooks,
                                     const struct sonde__hook_object *object)
{
    for (size_t i = 0; i < hooks->port->definition_count; i++) {
        const struct sonde__hook_definition *definition = &hooks->port->definitions[i];
        uint64_t at = (uint64_t)(uintptr_t)&definition->symbol->st_value;
        uint32_t unused;
        if (definition->thunk == 0 || sonde__hook_segment(object, at) == NULL) {
            continue;
        }
        /* another object may be mapped here by now */
        uint64_t patched =
            object->base + __atomic_load_n(&definition->symbol->st_value, __ATOMIC_RELAXED);
        if (sonde__probe_hook_index(patched, &unused) ||
            sonde__probe_hook_resolver_index(patched, &unused)) {
            (void)sonde__hook_write(&hooks->port->writer, &definition->symbol->st_value,
                                    definition->value - object->base,
                                    sonde__hook_protection(object, at));
        }
    }
}

const struct sonde__hook_definition *sonde__hook_find_definition(const struct sonde__hooks *hooks,
                                                                 const char *name, uint64_t address)
{
    uint32_t hash = sonde__hook_hash(name) % SONDE__HOOK_NAME_BITS;
    bool may_be = (hooks->port->name_bits[hash / 64] >> hash % 64 & 1) != 0;
    for (size_t i = 0; may_be && i < hooks->port->definition_count; i++) {
        const struct sonde__hook_definition *definition = &hooks->port->definitions[i];
        if (definition->address == address && definition->thunk != 0 &&
            strcmp(definition->name, name) == 0) {
            return definition;
        }
    }
    return NULL;
}
