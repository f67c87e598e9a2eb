// SPDX-License-Identifier: Apache-2.0
/* Runs a Mach-O program of make_program.c on Linux: its code is that of this machine (or of
 * qemu's), and it calls nobody but us. Segments are mapped where they were linked to, so nothing is
 * to be relocated. Stacks are walked by frame pointers, which Darwin's code always has. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct header {
    uint32_t magic, cpu, subtype, type, count, size, flags, reserved;
};
struct segment {
    uint32_t command, command_size;
    char name[16];
    uint64_t vaddr, size, offset, file_size;
};
struct symtab {
    uint32_t command, command_size, symbols, count, strings, strings_size;
};
struct symbol {
    uint32_t name;
    uint8_t type, section;
    uint16_t desc;
    uint64_t value;
};

static uint64_t low = UINT64_MAX, high;

static int capture(void)
{
    uint64_t pcs[256];
    int n = 0;
    for (uint64_t *fp = __builtin_frame_address(0); n < 256 && fp[1] >= low && fp[1] < high;
         fp = (uint64_t *)fp[0]) {
        pcs[n++] = fp[1];
    }
    if (n < 100) {
        printf("S");
        for (int i = 0; i < n; i++) {
            printf(" %llx", (unsigned long long)pcs[i]);
        }
        printf("\n");
    }
    return n;
}

static int fail(const char *what)
{
    perror(what);
    return 1;
}

int main(int argc, char **argv)
{
    static char file[1 << 24];
    const struct header *header = (const struct header *)file;
    const char *at = file + sizeof *header;
    const struct symtab *table = NULL;
    int (*start)(void) = NULL;
    int fd = open(argv[argc - 1], O_RDONLY);
    if (fd < 0 || read(fd, file, sizeof file) < (ssize_t)sizeof *header) {
        return fail(argv[argc - 1]);
    }
    for (uint32_t i = 0; i < header->count; i++, at += ((const struct segment *)at)->command_size) {
        const struct segment *s = (const struct segment *)at;
        if (s->command == 2) {
            table = (const struct symtab *)at;
        }
        if (s->command != 0x19 || strcmp(s->name, "__PAGEZERO") == 0 ||
            strcmp(s->name, "__LINKEDIT") == 0) {
            continue;
        }
        void *to = mmap((void *)s->vaddr, s->size, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (to != (void *)s->vaddr) {
            return fail("mmap");
        }
        memcpy(to, file + s->offset, s->file_size);
        __builtin___clear_cache((char *)to, (char *)to + s->size);
        if (strcmp(s->name, "__TEXT") == 0) {
            low = s->vaddr;
            high = s->vaddr + s->size;
        }
    }
    for (uint32_t i = 0; table != NULL && i < table->count; i++) {
        const struct symbol *symbol = (const struct symbol *)(file + table->symbols) + i;
        const char *name = file + table->strings + symbol->name;
        if (strcmp(name, "_capture_hook") == 0) {
            *(int (**)(void))symbol->value = capture;
        } else if (strcmp(name, "_main") == 0) {
            start = (int (*)(void))symbol->value;
        }
    }
    return start != NULL ? start() : 1;
}
