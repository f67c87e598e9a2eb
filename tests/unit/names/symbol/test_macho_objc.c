// SPDX-License-Identifier: Apache-2.0
/* Objective-C in invented Mach-O files whose parts overlap: the file's size bounds the work. */
#include <stdlib.h>
#include <string.h>

#include "symbol_macho_objc.h"
#include "test.h"

enum { SIZE = 64 << 10, COMMANDS = 32, SECTIONS_AT = COMMANDS + 72 };

struct made {
    uint8_t *data; /* vaddr 0 is its first byte */
    struct sonde__macho macho;
};

static void put(struct made *made, uint64_t at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        made->data[at + i] = (uint8_t)(value >> 8 * i);
    }
}

static void begin(struct made *made, uint32_t cpu, uint32_t sections)
{
    uint32_t bytes = 72 + sections * SONDE__MACHO_SECTION64_BYTES;
    made->data = calloc(1, SIZE);
    put(made, 0, SONDE__MH_MAGIC_64, 4);
    put(made, 4, cpu, 4);
    put(made, 12, SONDE__MH_DYLIB, 4);
    put(made, 16, 1, 4);
    put(made, 20, bytes, 4);
    put(made, COMMANDS, SONDE__LC_SEGMENT_64, 4);
    put(made, COMMANDS + 4, bytes, 4);
    memcpy(made->data + COMMANDS + 8, "__TEXT", 6);
    put(made, COMMANDS + 32, SIZE, 8); /* vmsize */
    put(made, COMMANDS + 48, SIZE, 8); /* filesize */
    put(made, COMMANDS + 64, sections, 4);
}

static void section(struct made *made, uint32_t index, const char *name, uint64_t at, uint64_t size)
{
    uint64_t header = SECTIONS_AT + (uint64_t)index * SONDE__MACHO_SECTION64_BYTES;
    memcpy(made->data + header, name, strnlen(name, 16));
    put(made, header + 32, at, 8);
    put(made, header + 40, size, 8);
    put(made, header + 48, at, 4);
}

struct found {
    unsigned count;
    char last[32];
};

static bool see_method(void *ctx, const struct sonde__macho_method *method)
{
    struct found *found = ctx;
    found->count++;
    strncpy(found->last, method->selector, sizeof found->last - 1);
    return true;
}

static bool see_sender(void *ctx, const struct sonde__macho_sender *sender)
{
    struct found *found = ctx;
    found->count++;
    strncpy(found->last, sender->selector, sizeof found->last - 1);
    return true;
}

/* Returns the work that is left after all methods and senders were read. */
static uint64_t read_all(struct made *made, struct found *methods, struct found *senders)
{
    struct sonde_error error;
    struct sonde__macho_objc objc;
    CHECK_OK(sonde__macho_open(made->data, SIZE, &made->macho, &error));
    CHECK_OK(sonde__macho_objc_open(&made->macho, &objc));
    sonde__macho_objc_methods(&objc, see_method, methods);
    sonde__macho_objc_senders(&objc, see_sender, senders);
    uint64_t left = objc.work_left;
    sonde__macho_objc_close(&objc);
    free(made->data);
    return left;
}

enum {
    CLASS = 0x1000,
    RO = 0x1100,
    LIST = 0x1200,
    NAME = 0x2000,
    POINTERS = 0x4000,
    CODE = 0xc000
};

/* A list of `count` pointers to one class with one method, whose name is `name`. */
static void add_classes(struct made *made, uint32_t count, const char *name)
{
    section(made, 0, "__objc_classlist", POINTERS, (uint64_t)count * 8);
    for (uint32_t i = 0; i < count; i++) {
        put(made, POINTERS + (uint64_t)i * 8, CLASS, 8);
    }
    put(made, CLASS + 32, RO, 8);
    put(made, RO + 24, NAME, 8);
    put(made, RO + 32, LIST, 8);
    put(made, LIST, 24, 4);
    put(made, LIST + 4, 1, 4);
    put(made, LIST + 8, RO + 64, 8);
    memcpy(made->data + RO + 64, "count", 6);
    put(made, LIST + 24, CODE, 8);
    memcpy(made->data + NAME, name, strlen(name));
}

TEST(class_with_a_method)
{
    struct made made;
    struct found methods = {0}, senders = {0};
    begin(&made, SONDE__CPU_ARM64, 1);
    add_classes(&made, 1, "Shape");
    CHECK(read_all(&made, &methods, &senders) > SIZE);
    CHECK_EQ(methods.count, 1);
    CHECK_STR(methods.last, "count");
}

/* 4000 classes with a text of 1024 bytes that is no name. */
TEST(names_without_end_cost_work)
{
    static char name[2048];
    struct made made;
    struct found methods = {0}, senders = {0};
    memset(name, 'a', sizeof name - 1);
    begin(&made, SONDE__CPU_ARM64, 1);
    add_classes(&made, 4000, name);
    CHECK_EQ(read_all(&made, &methods, &senders), 0);
    CHECK_EQ(methods.count, 0);
}

static const uint8_t stub_x86_64[] = {0x48, 0x8b, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0};

/* `count` sections of stubs that are all the same bytes, with one stub. */
static void add_stubs(struct made *made, uint32_t count, uint64_t size)
{
    section(made, 0, "__objc_selrefs", POINTERS, 8);
    put(made, POINTERS, NAME, 8);
    memcpy(made->data + NAME, "count", 6);
    memcpy(made->data + CODE, stub_x86_64, sizeof stub_x86_64);
    put(made, CODE + 3, (uint64_t)POINTERS - (CODE + 7), 4);
    for (uint32_t i = 0; i < count; i++) {
        section(made, 1 + i, "__objc_stubs", CODE, size);
    }
}

TEST(stub_that_sends_a_message)
{
    struct made made;
    struct found methods = {0}, senders = {0};
    begin(&made, SONDE__CPU_X86_64, 2);
    add_stubs(&made, 1, 16);
    CHECK(read_all(&made, &methods, &senders) > SIZE);
    CHECK_EQ(senders.count, 1);
    CHECK_STR(senders.last, "count");
}

TEST(sections_of_stubs_that_overlap_cost_work)
{
    struct made made;
    struct found methods = {0}, senders = {0};
    begin(&made, SONDE__CPU_X86_64, 41);
    add_stubs(&made, 40, SIZE - CODE);
    CHECK_EQ(read_all(&made, &methods, &senders), 0);
    CHECK(senders.count >= 30 && senders.count < 40);
}
