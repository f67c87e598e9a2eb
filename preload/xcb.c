// SPDX-License-Identifier: Apache-2.0
/* Finds out what libxcb waits for from its exported functions on the stack. Their addresses come
 * from the library's symbol table, read in place: dlsym() takes a lock that a handler must not
 * take. Context: handler. */
#include "xcb.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base_mem.h"
#include "base_text.h"
#include "level.h"

#pragma weak _dl_find_object

static const struct {
    const char *name;
    enum preload_xcb_purpose purpose;
} functions[] = {
    {"xcb_wait_for_event", PRELOAD_XCB_EVENT},
    {"xcb_wait_for_reply", PRELOAD_XCB_REPLY},
    {"xcb_wait_for_reply64", PRELOAD_XCB_REPLY},
    {"xcb_request_check", PRELOAD_XCB_REPLY},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Addresses in the libxcb with this base; 0: not looked up. Any thread may store them; the values
 * are always the same. */
static _Atomic uint64_t known_base;
static _Atomic uint64_t known[FUNCTIONS];

static const struct link_map *find_xcb(uint64_t pc)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)pc, &found) != 0 ||
        found.dlfo_link_map == NULL || found.dlfo_link_map->l_name == NULL) {
        return NULL;
    }
    const char *name = sonde__base_file_name(found.dlfo_link_map->l_name);
    return sonde__base_starts_with(name, "libxcb.so") ? found.dlfo_link_map : NULL;
}

bool preload_in_xcb(uint64_t pc)
{
    return find_xcb(pc) != NULL;
}

struct table {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; /* DT_GNU_HASH (gabi of GNU: buckets, then chains with an end bit) */
};

/* glibc has relocated the pointers in the dynamic section. */
static bool read_table(const struct link_map *map, struct table *ret)
{
    struct table table = {NULL, NULL, NULL};
    for (const ElfW(Dyn) *d = map->l_ld; d != NULL && d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)(uintptr_t)d->d_un.d_ptr;
        table.symbols = d->d_tag == DT_SYMTAB ? at : table.symbols;
        table.strings = d->d_tag == DT_STRTAB ? at : table.strings;
        table.hash = d->d_tag == DT_GNU_HASH ? at : table.hash;
    }
    *ret = table;
    return table.symbols != NULL && table.strings != NULL && table.hash != NULL &&
           table.hash[0] != 0;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

/* 0: not found. */
static uint64_t look_up(const struct table *table, uint64_t base, const char *name)
{
    uint32_t buckets = table->hash[0], first = table->hash[1], words = table->hash[2];
    const uint32_t *bucket = table->hash + 4 + (size_t)words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = hash_of(name);
    uint32_t i = bucket[hash % buckets];
    while (i >= first && i != 0) {
        uint32_t of = chain[i - first];
        const ElfW(Sym) *symbol = &table->symbols[i];
        if ((of | 1) == (hash | 1) &&
            sonde__base_str_compare(table->strings + symbol->st_name, name) == 0) {
            return base + symbol->st_value;
        }
        if ((of & 1) != 0) {
            break;
        }
        i++;
    }
    return 0;
}

static void learn(const struct link_map *map)
{
    struct table table;
    if (atomic_load_explicit(&known_base, memory_order_acquire) == map->l_addr) {
        return;
    }
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        uint64_t at = read_table(map, &table) ? look_up(&table, map->l_addr, functions[i].name) : 0;
        atomic_store_explicit(&known[i], at, memory_order_relaxed);
    }
    atomic_store_explicit(&known_base, map->l_addr, memory_order_release);
}

static enum preload_xcb_purpose purpose_of(uint64_t pc)
{
    const struct link_map *map = find_xcb(pc);
    uint64_t begin;
    if (map == NULL || !preload_function_begin(pc, &begin)) {
        return PRELOAD_XCB_UNKNOWN;
    }
    learn(map);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (atomic_load_explicit(&known[i], memory_order_relaxed) == begin) {
            return functions[i].purpose;
        }
    }
    return PRELOAD_XCB_UNKNOWN;
}

static bool note_frame(void *ctx, uint64_t pc, uint64_t level)
{
    struct preload_xcb_wait *wait = ctx;
    if (!preload_in_xcb(pc)) {
        wait->caller = pc + 1;
        wait->level = level;
        return false;
    }
    enum preload_xcb_purpose purpose = purpose_of(pc);
    wait->purpose = purpose != PRELOAD_XCB_UNKNOWN ? purpose : wait->purpose;
    return true;
}

bool preload_xcb_wait(uint64_t caller, struct preload_xcb_wait *ret_wait)
{
    *ret_wait = (struct preload_xcb_wait){.purpose = PRELOAD_XCB_UNKNOWN};
    return preload_walk(caller, note_frame, ret_wait);
}
