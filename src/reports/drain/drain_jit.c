// SPDX-License-Identifier: Apache-2.0
#include "drain_jit.h"

#include <string.h>

#include "mem_heap.h"
#include "os.h"
#include "symfile_jit.h"

#define PAUSE_NS     1000000000u
#define PAUSE_FACTOR 50u /* of the time that reading took */

/* GDB's list: so many entries, bytes of one, bytes of all. LLVM makes one for each module that it
 * compiles, of some KiB. What is beyond has no names. */
#define LIST_MAX  65536u
#define ELF_BYTES ((uint64_t)16 << 20)
#define ALL_BYTES ((uint64_t)256 << 20)

void drain_jit_done(struct drain_jit *jit)
{
    sonde__jit_done(&jit->names);
}

/* --- GDB's list --- */

static bool read_words(struct sonde__target *target, uint64_t address, void *ret, size_t size)
{
    return address != 0 && sonde__target_read(target, address, ret, size) == size;
}

/* struct jit_descriptor { uint32_t version, action_flag; entry *relevant, *first; }
 * struct jit_code_entry { entry *next, *prev; const char *symfile_addr; uint64_t symfile_size; } */
static enum sonde_status read_list(struct drain_jit *jit, uint64_t descriptor)
{
    struct {
        uint32_t version, action;
        uint64_t relevant, first;
    } list;
    struct {
        uint64_t next, before, elf, size;
    } entry;
    uint64_t bytes = 0;
    enum sonde_status status = SONDE_OK;
    if (!read_words(jit->target, descriptor, &list, sizeof list) || list.version != 1) {
        return SONDE_OK;
    }
    uint64_t at = list.first;
    for (unsigned i = 0; i < LIST_MAX && status == SONDE_OK; i++, at = entry.next) {
        void *elf;
        if (!read_words(jit->target, at, &entry, sizeof entry)) {
            break;
        }
        if (entry.size == 0 || entry.size > ELF_BYTES || bytes + entry.size > ALL_BYTES) {
            jit->names.bad++;
            continue;
        }
        bytes += entry.size;
        elf = sonde__mem_alloc((size_t)entry.size);
        if (elf == NULL) {
            return SONDE_MEMORY;
        }
        if (read_words(jit->target, entry.elf, elf, (size_t)entry.size)) {
            status = sonde__jit_add_elf(&jit->names, elf, (size_t)entry.size);
            status = status == SONDE_UNSUPPORTED ? SONDE_OK : status;
        }
        sonde__mem_free(elf);
    }
    return status;
}

static bool find_in(const struct sonde__elf_symbols *table, uint64_t *ret_vaddr)
{
    static const char name[] = "__jit_debug_descriptor";
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 0; sonde__elf_symbols_at(table, i, &symbol); i++) {
        if (symbol.name[0] == '_' && symbol.section != SONDE__SHN_UNDEF &&
            strcmp(symbol.name, name) == 0) {
            *ret_vaddr = symbol.value;
            return true;
        }
    }
    return false;
}

/* The descriptor of an image; as for debuggers, of its symbols of any kind. */
static bool find_descriptor(struct drain_jit *jit, const struct sonde__image *image,
                            uint64_t *ret_address)
{
    const struct sonde__elf *elf;
    struct sonde__elf_section section;
    struct sonde__elf_symbols table;
    uint64_t vaddr = 0;
    if ((image->flags & SONDE__IMAGE_VDSO) != 0 ||
        sonde__symfile_elf(jit->symbols, image, NULL, 0, &elf, NULL) != SONDE_OK) {
        return false;
    }
    bool found = (sonde__elf_dynamic_symbols(elf, &table) && find_in(&table, &vaddr)) ||
                 (sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &section) &&
                  sonde__elf_symbols(elf, &section, &table) && find_in(&table, &vaddr));
    *ret_address = vaddr + image->bias;
    return found;
}

static enum sonde_status read_lists(struct drain_jit *jit, const struct sonde__image_set *set)
{
    enum sonde_status status = SONDE_OK;
    for (uint32_t i = 0; i < set->image_count && status == SONDE_OK; i++) {
        uint64_t descriptor;
        if (find_descriptor(jit, &set->images[i], &descriptor)) {
            status = read_list(jit, descriptor);
        }
    }
    return status;
}

/* --- both --- */

static void read_all(struct drain_jit *jit, struct sonde__report *report,
                     const struct sonde__image_set *set)
{
    char note[SONDE__SYMFILE_JIT_NOTE] = "";
    uint64_t begin_ns = sonde__os_now_ns();
    enum sonde_status status = SONDE_OK;
    sonde__jit_done(&jit->names);
    if (sonde__target_is_live(jit->target)) {
        status = sonde__symfile_jit(sonde__target_pid(jit->target), sonde__target_root(jit->target),
                                    &jit->names, note);
    }
    if (status == SONDE_OK) {
        status = read_lists(jit, set);
    }
    if (status != SONDE_OK || sonde__jit_settle(&jit->names) != SONDE_OK) {
        sonde__jit_done(&jit->names);
    }
    if (note[0] != '\0' && jit->noted == 0) {
        sonde__report_add_note(report, note);
        jit->noted++;
    }
    jit->is_read = true;
    uint64_t now_ns = sonde__os_now_ns();
    jit->next_ns = now_ns + PAUSE_NS + PAUSE_FACTOR * (now_ns - begin_ns);
}

bool drain_jit_find(struct drain_jit *jit, struct sonde__report *report,
                    const struct sonde__image_set *set, uint64_t address,
                    struct sonde__jit_code *ret_code)
{
    if (jit->target == NULL || jit->symbols == NULL) {
        return false;
    }
    if (!jit->is_read || sonde__os_now_ns() >= jit->next_ns) {
        read_all(jit, report, set);
    }
    return sonde__jit_find(&jit->names, address, ret_code);
}
