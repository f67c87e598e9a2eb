// SPDX-License-Identifier: Apache-2.0
/* A program that runs code which no image has, and says its names in the way that it is told:
 * "none", "map" FILE, "dump" (jit-PID.dump in the current folder), "list" ELF (GDB's), "many" COUNT
 * (the same, of many). Code, by an ELF that was linked to the place: main -> made_outer ->
 * made_inner -> wait_here. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct jit_code_entry {
    struct jit_code_entry *next, *before;
    const char *symfile;
    uint64_t symfile_size;
};
struct jit_descriptor {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
};
__attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

__attribute__((noinline)) static void wait_here(void)
{
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        pause();
    }
}

static char *read_all(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "re");
    char *data = malloc(1 << 20);
    *ret_size = f != NULL ? fread(data, 1, 1 << 20, f) : 0;
    return data;
}

static void put(FILE *f, uint64_t value, unsigned bytes)
{
    fwrite(&value, bytes, 1, f);
}

static void dump_code(FILE *f, const char *name, const char *code, uint64_t size, unsigned index)
{
    put(f, 0, 4);
    put(f, 16 + 40 + strlen(name) + 1 + size, 4);
    put(f, 1, 8);
    put(f, (uint64_t)getpid(), 4);
    put(f, (uint64_t)getpid(), 4);
    put(f, (uintptr_t)code, 8);
    put(f, (uintptr_t)code, 8);
    put(f, size, 8);
    put(f, index, 8);
    fwrite(name, strlen(name) + 1, 1, f);
    fwrite(code, size, 1, f);
}

static void write_dump(const char *code, uint64_t outer_size, uint64_t size)
{
    char path[64];
    FILE *f;
    snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
    f = fopen(path, "w+e");
    put(f, 0x4a695444, 4);
    put(f, 1, 4);
    put(f, 40, 4);
    put(f, EM_X86_64, 4);
    put(f, 0, 4);
    put(f, (uint64_t)getpid(), 4);
    put(f, 1, 8);
    put(f, 0, 8);
    dump_code(f, "older_name", code, size, 0);
    dump_code(f, "dumped_outer", code, outer_size, 1);
    dump_code(f, "dumped_inner", code + outer_size, size - outer_size, 2);
    fflush(f);
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED) {
        exit(1);
    }
}

static void write_map(const char *path, const char *code, uint64_t outer_size, uint64_t size)
{
    FILE *f = fopen(path, "we");
    fprintf(f, "%lx %lx older_name\n", (unsigned long)code, (unsigned long)size);
    fprintf(f, "%lx %lx LazyCompile:~outer /app/main.js:1:2\n", (unsigned long)code,
            (unsigned long)outer_size);
    fprintf(f, "0x%lx 0x%lx mapped_inner\n", (unsigned long)(code + outer_size),
            (unsigned long)(size - outer_size));
    fclose(f);
}

/* The ELF as it would be at another address; no code is there. */
static char *shifted_copy(const char *elf, size_t size, uint64_t shift)
{
    char *copy = malloc(size);
    memcpy(copy, elf, size);
    Elf64_Ehdr *header = (void *)copy;
    Elf64_Phdr *segments = (void *)(copy + header->e_phoff);
    Elf64_Shdr *sections = (void *)(copy + header->e_shoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        segments[i].p_vaddr += shift;
    }
    for (unsigned i = 0; i < header->e_shnum; i++) {
        sections[i].sh_addr += sections[i].sh_addr != 0 ? shift : 0;
    }
    return copy;
}

/* The ELF of the code that runs, `count` - 1 other ones, and last one for another machine. */
static void list_many(char *elf, size_t size, unsigned count)
{
    struct jit_code_entry *entries = calloc(count + 1, sizeof *entries);
    char *bad = shifted_copy(elf, size, 1 << 20);
    ((Elf64_Ehdr *)bad)->e_machine = EM_SPARCV9;
    for (unsigned i = 0; i < count; i++) {
        char *good = shifted_copy(elf, size, (uint64_t)i << 21);
        entries[i] = (struct jit_code_entry){&entries[i + 1], NULL, good, size};
    }
    entries[count] = (struct jit_code_entry){NULL, NULL, bad, size};
    __jit_debug_descriptor.first = entries;
}

int main(int argc, char **argv)
{
    size_t size, text_size = 0;
    char *elf = read_all(argv[1], &size);
    const Elf64_Ehdr *header = (const void *)elf;
    const Elf64_Shdr *sections = (const void *)(elf + header->e_shoff);
    const char *names = elf + sections[header->e_shstrndx].sh_offset;
    char *code = NULL;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, ".text") == 0) {
            text_size = sections[i].sh_size;
            code = mmap((void *)sections[i].sh_addr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if ((uintptr_t)code != sections[i].sh_addr) {
                return 1;
            }
            memcpy(code, elf + sections[i].sh_offset, text_size);
        }
    }
    if (code == NULL || argc < 3) {
        return 1;
    }
    if (strcmp(argv[2], "map") == 0) {
        char path[64];
        snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
        write_map(argc > 3 ? argv[3] : path, code, 16, text_size);
        if (argc > 3) {
            (void)!symlink(argv[3], path);
        }
    } else if (strcmp(argv[2], "dump") == 0) {
        write_dump(code, 16, text_size);
    } else if (strcmp(argv[2], "many") == 0) {
        list_many(elf, size, argc > 3 ? (unsigned)atoi(argv[3]) : 1);
    } else if (strcmp(argv[2], "list") == 0) {
        static struct jit_code_entry entry, junk = {&entry, NULL, "no ELF", 6};
        entry = (struct jit_code_entry){NULL, &junk, elf, size};
        __jit_debug_descriptor.first = &junk;
        __jit_debug_descriptor.relevant = &entry;
        __jit_debug_descriptor.action = 1;
        __jit_debug_register_code();
    }
    ((void (*)(void (*)(void)))(uintptr_t)code)(wait_here);
    return 0;
}
