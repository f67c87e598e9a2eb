// SPDX-License-Identifier: Apache-2.0
/* Our own calls. The loader has bound them as everybody's: what the list names leads to our thunks,
 * which have no target yet and are not to record us. Handler code, so that nothing here calls libc;
 * our slots are writable (-z norelro). */
#include "hook_object.h"
#include "recorder.h"

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); /* NOLINT */

static void read_object(uint64_t base, const ElfW(Ehdr) * header, struct sonde__hook_object *object)
{
    const struct dl_phdr_info info = {
        .dlpi_addr = base,
        .dlpi_phdr = (const ElfW(Phdr) *)(const void *)((const char *)header + header->e_phoff),
        .dlpi_phnum = header->e_phnum,
    };
    sonde__hook_object_read(&info, object);
}

struct found {
    uint64_t base, address;
    bool is_ifunc;
};

static void take(void *ctx, const ElfW(Sym) * symbol)
{
    struct found *found = ctx;
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (found->address == 0 && (type == STT_FUNC || type == STT_GNU_IFUNC)) {
        found->address = found->base + symbol->st_value;
        found->is_ifunc = type == STT_GNU_IFUNC;
    }
}

static bool defines(const struct sonde__hook_object *object, const char *name)
{
    struct found found = {.base = 1};
    sonde__hook_each_definition(object, name, take, &found);
    return found.address != 0;
}

/* The first definition in the order of the objects, but for the program's own (which would have
 * come before ours) and ours; and beside which `beside` is defined (null: any). */
static uint64_t find(const char *name, const char *beside)
{
    for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
        const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
        struct sonde__hook_object object;
        if (map == _r_debug.r_map || header == NULL || header == &__ehdr_start) {
            continue;
        }
        read_object(map->l_addr, header, &object);
        struct found found = {.base = map->l_addr};
        if (beside != NULL && !defines(&object, beside)) {
            continue;
        }
        sonde__hook_each_definition(&object, name, take, &found);
        if (found.is_ifunc) {
            return ((uint64_t(*)(void))(uintptr_t)found.address)();
        }
        if (found.address != 0) {
            return found.address;
        }
    }
    return 0;
}

/* ThreadSanitizer's begins behind us, and needs dlsym() for that, whose thunk has to have a target
 * first: that is found without the functions that it has put before libc's. */
static bool is_too_early(const char *name)
{
    static const char dl_iterate_phdr_name[] = "dl_iterate_phdr";
    size_t at = 0;
    while (name[at] != '\0' && name[at] == dl_iterate_phdr_name[at]) {
        at++;
    }
    return __tsan_init != NULL && name[at] == dl_iterate_phdr_name[at];
}

void recorder_bind_own_calls(void)
{
    struct sonde__hook_object own;
    uint64_t base = (uint64_t)(uintptr_t)&__ehdr_start;
    read_object(base, &__ehdr_start, &own);
    for (unsigned i = 0; i < 2; i++) {
        for (uint64_t k = 0; k < own.counts[i]; k++) {
            const ElfW(Rela) *rela = &own.tables[i][k];
            uint64_t *at = (uint64_t *)(uintptr_t)(base + rela->r_offset);
            bool is_absolute, is_jump;
            uint32_t thunk;
            if (!sonde__hook_is_slot(rela, &is_absolute, &is_jump)) {
                continue;
            }
            const char *name = sonde__hook_symbol_name(&own, (uint32_t)ELF64_R_SYM(rela->r_info));
            if (is_too_early(name)) {
                *at = find(name, "__libc_start_main");
            } else if (sonde__probe_hook_index(*at, &thunk)) {
                *at = find(name, NULL);
            }
        }
    }
}
