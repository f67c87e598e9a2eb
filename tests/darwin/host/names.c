// SPDX-License-Identifier: Apache-2.0
/* The addresses of names: what images export, and the primitives.
 *
 * An image's exports become a table of hashes when it is loaded: a program starts often, and under
 * an emulator a search of the trie for each of its pointers is most of a start. A table does not
 * change afterwards, so it is read without a lock, also while threads are suspended. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base_hash.h"
#include "host.h"

struct host_name {
    const char *name; /* null: no name is here. It stays valid, as dyld's */
    uint64_t address;
};

static void insert(struct host_names *names, const char *name, uint64_t address)
{
    uint32_t at = (uint32_t)sonde__base_hash_text(name);
    while (names->entries[at & names->mask].name != NULL) {
        at++;
    }
    names->entries[at & names->mask] = (struct host_name){name, address};
}

static uint64_t find(const struct host_names *names, const char *name)
{
    const struct host_name *found = NULL;
    uint32_t at = (uint32_t)sonde__base_hash_text(name);
    do {
        found = &names->entries[at++ & names->mask];
    } while (found->name != NULL && strcmp(found->name, name) != 0);
    return found->name != NULL ? found->address : 0;
}

/* For `count` names, at most half full. */
static void make_table(struct host_names *names, uint32_t count)
{
    uint32_t size = 2;
    while (size < 2 * count) {
        size *= 2;
    }
    names->mask = size - 1;
    names->entries = calloc(size, sizeof *names->entries);
    if (names->entries == NULL) {
        host_fail("no memory");
    }
}

void host_read_exports(struct host_image *image)
{
    static struct sonde__macho_exports exports; /* images are loaded one at a time */
    struct sonde__macho_export found;
    uint32_t count = 0;
    sonde__macho_exports_begin(&image->macho, &exports);
    while (sonde__macho_exports_next(&exports, &found)) {
        count++;
    }
    make_table(&image->exports, count);
    sonde__macho_exports_begin(&image->macho, &exports);
    while (sonde__macho_exports_next(&exports, &found)) {
        if (find(&image->exports, found.name) == 0 && found.vaddr != 0) {
            insert(&image->exports, strdup(found.name), found.vaddr + image->slide);
        }
    }
}

uint64_t host_find_export_in(uint32_t image, const char *name)
{
    return image < host_image_count ? find(&host_images[image].exports, name) : 0;
}

uint64_t host_find_export(const char *name)
{
    uint64_t address = 0;
    for (uint32_t i = 0; i < host_image_count && address == 0; i++) {
        address = host_find_export_in(i, name);
    }
    return address;
}

const char *host_export_at(uint32_t index, uint64_t address)
{
    const struct host_names *names = &host_images[index].exports;
    for (uint32_t i = 0; i <= names->mask; i++) {
        if (names->entries[i].name != NULL && names->entries[i].address == address) {
            return names->entries[i].name;
        }
    }
    return NULL;
}

/* --- code that the host makes --- */

/* The target of calls of a name that no image defines. */
static _Noreturn void call_of_nothing(const char *name)
{
    host_fail("call of %s, which the simulated libSystem lacks", name);
}

enum { STUB_BYTES = 32 };

#if defined(__x86_64__)
enum { WORD_AT = 2, TARGET_AT = 12 };
/* mov $name, %rdi; mov $call_of_nothing, %rax; jmp *%rax */
static const uint8_t missing_code[STUB_BYTES] = {0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0,    0x48,
                                                 0xb8, 0,    0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
/* mov $primitive, %r11; mov $border_primitive, %rax; jmp *%rax */
static const uint8_t primitive_code[STUB_BYTES] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0,    0x48,
                                                   0xb8, 0,    0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
#else
enum { WORD_AT = 16, TARGET_AT = 24 };
/* ldr x0, name; ldr x16, call_of_nothing; br x16; nop */
static const uint8_t missing_code[STUB_BYTES] = {0x80, 0x00, 0x00, 0x58, 0xb0, 0x00, 0x00, 0x58,
                                                 0x00, 0x02, 0x1f, 0xd6, 0x1f, 0x20, 0x03, 0xd5};
/* ldr x16, primitive; ldr x17, border_primitive; br x17; nop */
static const uint8_t primitive_code[STUB_BYTES] = {0x90, 0x00, 0x00, 0x58, 0xb1, 0x00, 0x00, 0x58,
                                                   0x20, 0x02, 0x1f, 0xd6, 0x1f, 0x20, 0x03, 0xd5};
#endif

static uint8_t *begin_code(size_t size)
{
    uint8_t *code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) {
        host_fail("no memory");
    }
    return code;
}

static void end_code(uint8_t *code, size_t size)
{
    mprotect(code, size, PROT_READ | PROT_EXEC);
    __builtin___clear_cache((char *)code, (char *)code + size);
}

/* Make a copy of `stub` with these two words. */
static uint64_t put_stub(uint8_t *code, const uint8_t *stub, uint64_t word, uint64_t target)
{
    memcpy(code, stub, STUB_BYTES);
    memcpy(code + WORD_AT, &word, sizeof word);
    memcpy(code + TARGET_AT, &target, sizeof target);
    return (uint64_t)(uintptr_t)code;
}

/* Make a function that reports the called name: partial ports still run. */
static uint64_t make_missing(const char *name)
{
    if (getenv("MACHOHOST_VERBOSE") != NULL) {
        fprintf(stderr, "machohost: nobody has %s\n", name);
    }
    uint8_t *code = begin_code(STUB_BYTES);
    uint64_t address = put_stub(code, missing_code, (uint64_t)(uintptr_t)name,
                                (uint64_t)(uintptr_t)call_of_nothing);
    end_code(code, STUB_BYTES);
    return address;
}

/* Each primitive by its name: the code that calls it through the border. */
static struct host_names primitives;

void host_read_primitives(void)
{
    const struct host_primitive *lists[] = {host_primitives, host_store_primitives,
                                            host_program_primitives};
    enum { LISTS = sizeof lists / sizeof *lists };
    uint32_t count = 0;
    for (unsigned i = 0; i < LISTS; i++) {
        for (const struct host_primitive *at = lists[i]; at->name != NULL; at++) {
            count++;
        }
    }
    make_table(&primitives, count);
    uint8_t *begin = begin_code((size_t)count * STUB_BYTES), *code = begin;
    for (unsigned i = 0; i < LISTS; i++) {
        for (const struct host_primitive *at = lists[i]; at->name != NULL; at++) {
            insert(
                &primitives, at->name,
                put_stub(code, primitive_code, at->address, (uint64_t)(uintptr_t)border_primitive));
            code += STUB_BYTES;
        }
    }
    end_code(begin, (size_t)count * STUB_BYTES);
}

uint64_t host_resolve(const char *name, bool is_weak)
{
    uint64_t address = find(&primitives, name);
    address = address != 0 ? address : host_find_export(name);
    return address != 0 || is_weak ? address : make_missing(name);
}
