// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <string.h>

#include "hook_state.h"
#include "mem_heap.h"
#include "probe_hook.h"

struct defining {
    struct sonde__hooks *hooks;
    const struct sonde__hook_known *known;
    uint64_t base;
    uint32_t function;
};

static void add_definition(void *ctx, const ElfW(Sym) * symbol)
{
    const struct defining *defining = ctx;
    struct sonde__hooks *hooks = defining->hooks;
    const char *name = hooks->names[defining->function];
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) {
        sonde__hook_say(hooks, defining->known, NULL, name, SONDE__HOOK_NO_FUNCTION);
        return;
    }
    uint64_t address = type == STT_GNU_IFUNC ? 0 : defining->base + symbol->st_value;
    sonde__hook_say(hooks, defining->known, defining->known->module, name, SONDE__HOOK_INSIDE);
    for (size_t i = 0; i < hooks->definition_count; i++) {
        const struct sonde__hook_definition *other = &hooks->definitions[i];
        if (other->address == address && address != 0 && strcmp(other->name, name) == 0) {
            return;
        }
    }
    if (!sonde__mem_grow(&hooks->definitions, hooks->definition_count, &hooks->definition_capacity,
                         sizeof hooks->definitions[0])) {
        hooks->failed = true;
        return;
    }
    hooks->definitions[hooks->definition_count++] = (struct sonde__hook_definition){
        .name = name,
        .address = address,
        .function = defining->function,
        .owner = defining->known->id,
    };
    hooks->tally[defining->function]++;
}

bool sonde__hook_is_own(const struct sonde__hook_object *object, const char *module)
{
    return module != NULL && module[0] != '\0' &&
           sonde__hook_segment(object, (uint64_t)(uintptr_t)sonde__probe_hooks) != NULL;
}

void sonde__hook_define(struct sonde__hooks *hooks, const struct sonde__hook_known *known,
                        const struct sonde__hook_object *object)
{
    struct defining defining = {.hooks = hooks, .known = known, .base = object->base};
    if (sonde__hook_is_own(object, known->module)) {
        return;
    }
    for (; defining.function < hooks->count; defining.function++) {
        sonde__hook_each_definition(object, hooks->names[defining.function], add_definition,
                                    &defining);
    }
}

void sonde__hook_undefine(struct sonde__hooks *hooks, uint32_t owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < hooks->definition_count; i++) {
        if (hooks->definitions[i].owner != owner) {
            hooks->definitions[kept++] = hooks->definitions[i];
        } else {
            hooks->tally[hooks->definitions[i].function]--;
        }
    }
    hooks->definition_count = kept;
}

static bool is_swept(const struct sonde__hooks *hooks, uint32_t owner)
{
    for (size_t i = 0; i < hooks->known_count; i++) {
        if (hooks->known[i].id == owner) {
            return hooks->known[i].is_swept;
        }
    }
    return false;
}

void sonde__hook_resolve(struct sonde__hooks *hooks)
{
    for (size_t i = 0; i < hooks->definition_count; i++) {
        struct sonde__hook_definition *definition = &hooks->definitions[i];
        definition->is_only = hooks->tally[definition->function] == 1;
        if (definition->address == 0 && definition->is_only) {
            definition->address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, definition->name);
            /* slots that were swept may have held it all the time */
            hooks->must_look_all |= definition->address != 0 && is_swept(hooks, definition->owner);
        }
    }
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash % SONDE__HOOK_NAME_BITS;
}

void sonde__hook_learn_names(struct sonde__hooks *hooks)
{
    for (uint32_t i = 0; i < hooks->count; i++) {
        uint32_t hash = hash_of(hooks->names[i]);
        hooks->name_bits[hash / 64] |= (uint64_t)1 << hash % 64;
    }
}

bool sonde__hook_has_name(const struct sonde__hooks *hooks, const char *name)
{
    uint32_t hash = hash_of(name);
    bool may_be = (hooks->name_bits[hash / 64] >> hash % 64 & 1) != 0;
    for (uint32_t i = 0; may_be && i < hooks->count; i++) {
        if (strcmp(hooks->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

const struct sonde__hook_definition *sonde__hook_by_address(const struct sonde__hooks *hooks,
                                                            uint64_t address)
{
    for (size_t i = 0; i < hooks->definition_count; i++) {
        if (hooks->definitions[i].address == address) {
            return &hooks->definitions[i];
        }
    }
    return NULL;
}

const struct sonde__hook_definition *sonde__hook_by_name(const struct sonde__hooks *hooks,
                                                         const char *name)
{
    for (size_t i = 0; i < hooks->definition_count; i++) {
        if (strcmp(hooks->definitions[i].name, name) == 0) {
            return &hooks->definitions[i];
        }
    }
    return NULL;
}
