// SPDX-License-Identifier: Apache-2.0
#include "hook_object.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch_regs.h"

/* psABI AMD64 1.0 §4.4.1; aaelf64 §5.7.16. By enum sonde_arch. */
static const struct {
    uint32_t absolute, glob_dat, jump_slot;
} relocations[] = {[SONDE_ARCH_X86_64] = {1, 6, 7}, [SONDE_ARCH_AARCH64] = {257, 1025, 1026}};

/* glibc relocates the pointers in a dynamic section unless it is read-only; musl does not. */
static const void *pointer(const struct sonde__hook_object *object, uint64_t value)
{
    return (const void *)(uintptr_t)(value < object->base ? value + object->base : value);
}

static bool is_mapped(const struct sonde__hook_object *object, const void *start, uint64_t size)
{
    uint64_t from = (uint64_t)(uintptr_t)start - object->base;
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *segment = &object->phdrs[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) != 0 &&
            from >= segment->p_vaddr && from - segment->p_vaddr <= segment->p_memsz &&
            size <= segment->p_memsz - (from - segment->p_vaddr)) {
            return true;
        }
    }
    return false;
}

static void read_dynamic(struct sonde__hook_object *object, const ElfW(Dyn) * dynamic)
{
    uint64_t sizes[2] = {0, 0};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uint64_t value = dynamic->d_un.d_val;
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            object->symbols = pointer(object, value);
            break;
        case DT_STRTAB:
            object->strings = pointer(object, value);
            break;
        case DT_STRSZ:
            object->strings_size = value;
            break;
        case DT_GNU_HASH:
            object->gnu_hash = pointer(object, value);
            break;
        case DT_HASH:
            object->hash = pointer(object, value);
            break;
        case DT_VERSYM:
            object->versions = pointer(object, value);
            break;
        case DT_VERDEF:
            object->verdefs = pointer(object, value);
            break;
        case DT_RELA:
            object->tables[0] = pointer(object, value);
            break;
        case DT_RELASZ:
            sizes[0] = value;
            break;
        case DT_JMPREL:
            object->tables[1] = pointer(object, value);
            break;
        case DT_PLTRELSZ:
            sizes[1] = value;
            break;
        default:
            break;
        }
    }
    if (object->symbols == NULL || object->strings == NULL ||
        !is_mapped(object, object->strings, object->strings_size)) {
        object->symbols = NULL; /* unknown */
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (object->tables[i] != NULL && is_mapped(object, object->tables[i], sizes[i])) {
            object->counts[i] = sizes[i] / sizeof(ElfW(Rela));
        }
    }
}

void sonde__hook_object_read(const struct dl_phdr_info *info, struct sonde__hook_object *ret_object)
{
    *ret_object = (struct sonde__hook_object){0};
    ret_object->base = info->dlpi_addr;
    ret_object->phdrs = info->dlpi_phdr;
    ret_object->phdr_count = info->dlpi_phnum;
    for (uint32_t i = 0; i < ret_object->phdr_count; i++) {
        ret_object->has_loader |= ret_object->phdrs[i].p_type == PT_INTERP;
        if (ret_object->phdrs[i].p_type == PT_DYNAMIC) {
            ret_object->is_dynamic = true;
            read_dynamic(ret_object, (const ElfW(Dyn) *)(uintptr_t)(info->dlpi_addr +
                                                                    ret_object->phdrs[i].p_vaddr));
        }
    }
}

const char *sonde__hook_symbol_name(const struct sonde__hook_object *object, uint32_t index)
{
    uint64_t name = object->symbols[index].st_name;
    return name < object->strings_size ? object->strings + name : "";
}

enum { VERSION_GLOBAL = 1, VERSION_HIDDEN = 0x8000, VERDEFS_MAX = 4096 };

/* The version of a definition; "" where it has none, or that of the object. gABI, "Symbol
 * Versioning". */
static const char *version_of(const struct sonde__hook_object *object, uint32_t index)
{
    if (object->versions == NULL || object->verdefs == NULL) {
        return "";
    }
    uint16_t version = object->versions[index] & (VERSION_HIDDEN - 1);
    const ElfW(Verdef) *verdef = object->verdefs;
    for (unsigned i = 0; version > VERSION_GLOBAL && i < VERDEFS_MAX; i++) {
        if (verdef->vd_ndx == version) {
            const ElfW(Verdaux) *aux =
                (const ElfW(Verdaux) *)(const void *)((const char *)verdef + verdef->vd_aux);
            return aux->vda_name < object->strings_size ? object->strings + aux->vda_name : "";
        }
        if (verdef->vd_next == 0) {
            break;
        }
        verdef = (const ElfW(Verdef) *)(const void *)((const char *)verdef + verdef->vd_next);
    }
    return "";
}

bool sonde__hook_is_hidden(const struct sonde__hook_object *object, uint32_t index)
{
    return object->versions != NULL && (object->versions[index] & VERSION_HIDDEN) != 0;
}

uint32_t sonde__hook_symbol_count(const struct sonde__hook_object *object)
{
    const uint32_t *table = object->gnu_hash;
    if (object->symbols == NULL || table == NULL || table[0] == 0) {
        return object->symbols != NULL && object->hash != NULL ? object->hash[1] : 0;
    }
    const uint32_t *buckets = table + 4 + (size_t)table[2] * 2;
    const uint32_t *chains = buckets + table[0];
    uint32_t last = 0;
    for (uint32_t i = 0; i < table[0]; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    if (last < table[1]) {
        return table[1];
    }
    while ((chains[last - table[1]] & 1) == 0) {
        last++;
    }
    return last + 1;
}

/* "realpath@GLIBC_2.3" means that version of the name, "realpath" each. */
static bool is_called(const char *symbol_name, const char *name)
{
    while (*symbol_name != '\0' && *symbol_name == *name) {
        symbol_name++;
        name++;
    }
    return *symbol_name == '\0' && (*name == '\0' || *name == '@');
}

struct look_up {
    const struct sonde__hook_object *object;
    const char *name, *version; /* "": any */
    void (*each)(void *ctx, const ElfW(Sym) * symbol);
    void *ctx;
};

static void inspect_entry(const struct look_up *look_up, uint32_t index)
{
    const struct sonde__hook_object *object = look_up->object;
    if (object->symbols[index].st_shndx != SHN_UNDEF &&
        is_called(sonde__hook_symbol_name(object, index), look_up->name) &&
        (*look_up->version == '\0' || strcmp(version_of(object, index), look_up->version) == 0)) {
        look_up->each(look_up->ctx, &object->symbols[index]);
    }
}

/* gABI draft, "GNU hash": buckets, then chains whose last value has its low bit set. */
static void look_up_gnu(const struct look_up *look_up)
{
    const uint32_t *table = look_up->object->gnu_hash;
    uint32_t hash = sonde__hook_hash(look_up->name);
    const uint64_t *bloom = (const uint64_t *)(const void *)(table + 4);
    uint64_t word = bloom[hash / 64 % table[2]];
    if ((word >> hash % 64 & word >> (hash >> table[3]) % 64 & 1) == 0) {
        return;
    }
    const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + table[2]);
    const uint32_t *chains = buckets + table[0];
    uint32_t index = buckets[hash % table[0]];
    for (; index >= table[1]; index++) {
        uint32_t value = chains[index - table[1]];
        if ((value | 1) == (hash | 1)) {
            inspect_entry(look_up, index);
        }
        if ((value & 1) != 0) {
            return;
        }
    }
}

uint32_t sonde__hook_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0' && *name != '@'; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

void sonde__hook_each_definition(const struct sonde__hook_object *object, const char *name,
                                 void (*each)(void *ctx, const ElfW(Sym) * symbol), void *ctx)
{
    struct look_up look_up = {object, name, name + strcspn(name, "@"), each, ctx};
    look_up.version += strspn(look_up.version, "@");
    if (object->symbols != NULL && object->gnu_hash != NULL && object->gnu_hash[0] != 0) {
        look_up_gnu(&look_up);
        return;
    }
    uint32_t count = sonde__hook_symbol_count(object); /* few objects have only the old table */
    for (uint32_t i = 1; i < count; i++) {
        inspect_entry(&look_up, i);
    }
}

bool sonde__hook_is_slot(const ElfW(Rela) * rela)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
    return ELF64_R_SYM(rela->r_info) != 0 &&
           (type == relocations[SONDE__ARCH_HOST].jump_slot ||
            type == relocations[SONDE__ARCH_HOST].glob_dat ||
            (type == relocations[SONDE__ARCH_HOST].absolute && rela->r_addend == 0));
}

const ElfW(Phdr) * sonde__hook_segment(const struct sonde__hook_object *object, uint64_t address)
{
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *segment = &object->phdrs[i];
        uint64_t from = address - object->base - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && from < segment->p_memsz && segment->p_memsz - from >= 8) {
            return segment;
        }
    }
    return NULL;
}

bool sonde__hook_is_kernel(const struct sonde__hook_object *object)
{
    uint64_t header = getauxval(AT_SYSINFO_EHDR);
    return header != 0 && sonde__hook_segment(object, header) != NULL;
}

int sonde__hook_protection(const struct sonde__hook_object *object, uint64_t address)
{
    const ElfW(Phdr) *segment = sonde__hook_segment(object, address);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t vaddr = address - object->base;
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *relro = &object->phdrs[i];
        /* the loader protects whole pages: the start rounded down, the end rounded down, too */
        if (relro->p_type == PT_GNU_RELRO && vaddr >= relro->p_vaddr / page * page &&
            vaddr < (relro->p_vaddr + relro->p_memsz) / page * page) {
            return PROT_READ;
        }
    }
    return ((segment->p_flags & PF_R) != 0 ? PROT_READ : 0) |
           ((segment->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
           ((segment->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}
