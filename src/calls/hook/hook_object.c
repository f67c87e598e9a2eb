// SPDX-License-Identifier: Apache-2.0
#include "hook_object.h"

#include <sys/mman.h>
#include <unistd.h>

#include "arch_regs.h"

/* psABI AMD64 1.0 §4.4.1; aaelf64 §5.7.16. By enum sonde__arch. */
static const struct {
    uint32_t absolute, glob_dat, jump_slot;
} relocations[] = {{1, 6, 7}, {257, 1025, 1026}};

/* glibc has relocated the pointers of a dynamic section, but of a read-only one; musl has not. */
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
        object->symbols = NULL; /* nothing can be told */
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

/* Not strcmp(): recorder/early.c asks before it may call libc. */
static bool is_same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* gABI draft, "GNU hash": buckets, then chains whose last value has its low bit set. */
void sonde__hook_each_definition(const struct sonde__hook_object *object, const char *name,
                                 void (*each)(void *ctx, const ElfW(Sym) * symbol), void *ctx)
{
    const uint32_t *table = object->gnu_hash;
    if (object->symbols == NULL || table == NULL || table[0] == 0) {
        return;
    }
    uint32_t hash = 5381;
    for (const char *c = name; *c != '\0'; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    const uint64_t *bloom = (const uint64_t *)(const void *)(table + 4);
    uint64_t word = bloom[hash / 64 % table[2]];
    if ((word >> hash % 64 & word >> (hash >> table[3]) % 64 & 1) == 0) {
        return;
    }
    const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + table[2]);
    const uint32_t *chains = buckets + table[0];
    uint32_t index = buckets[hash % table[0]];
    if (index < table[1]) {
        return;
    }
    for (;; index++) {
        uint32_t value = chains[index - table[1]];
        if ((value | 1) == (hash | 1) && object->symbols[index].st_shndx != SHN_UNDEF &&
            is_same(sonde__hook_symbol_name(object, index), name)) {
            each(ctx, &object->symbols[index]);
        }
        if ((value & 1) != 0) {
            return;
        }
    }
}

bool sonde__hook_is_slot(const ElfW(Rela) * rela, bool *ret_absolute, bool *ret_jump)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
    *ret_absolute = type == relocations[SONDE__ARCH_HOST].absolute;
    *ret_jump = type == relocations[SONDE__ARCH_HOST].jump_slot;
    return ELF64_R_SYM(rela->r_info) != 0 &&
           (*ret_jump || type == relocations[SONDE__ARCH_HOST].glob_dat ||
            (*ret_absolute && rela->r_addend == 0));
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

int sonde__hook_protection(const struct sonde__hook_object *object, uint64_t address)
{
    const ElfW(Phdr) *segment = sonde__hook_segment(object, address);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t vaddr = address - object->base;
    for (uint32_t i = 0; i < object->phdr_count; i++) {
        const ElfW(Phdr) *relro = &object->phdrs[i];
        /* the loader protects whole pages: from the first down, to the last that is full */
        if (relro->p_type == PT_GNU_RELRO && vaddr >= relro->p_vaddr / page * page &&
            vaddr < (relro->p_vaddr + relro->p_memsz) / page * page) {
            return PROT_READ;
        }
    }
    return ((segment->p_flags & PF_R) != 0 ? PROT_READ : 0) |
           ((segment->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
           ((segment->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}
