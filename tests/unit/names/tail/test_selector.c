// SPDX-License-Identifier: Apache-2.0
/* The selector of a message, from instructions before it: each that may change the register, or
 * that another way joins, makes it unknown. */
#include <string.h>

#include <sonde/arch.h>

#include "tail_selector.h"
#include "test.h"

enum { MAP_BYTES = 16, VADDR = 0x10000400 };

struct code {
    uint8_t bytes[8 * MAP_BYTES], starts[MAP_BYTES], targets[MAP_BYTES];
    uint32_t size;
};

static void put(struct code *c, const void *bytes, uint32_t size)
{
    memcpy(c->bytes + c->size, bytes, size);
    c->starts[c->size >> 3] |= (uint8_t)(1u << (c->size & 7));
    c->size += size;
}

static uint64_t selector(const struct code *c, unsigned arch)
{
    const struct tail_flow flow = {arch, c->bytes, VADDR, c->starts, c->targets};
    return tail_selector(&flow, c->size);
}

/* A load of the selector, then another instruction, then the message. */
static uint64_t after_load(const char *bytes, uint32_t size, bool is_target)
{
    struct code c = {.size = 0};
    put(&c, "\x90", 1);
    put(&c, "\x48\x8b\x35\x10\x00\x00\x00", 7);
    if (is_target) {
        c.targets[c.size >> 3] |= (uint8_t)(1u << (c.size & 7));
    }
    put(&c, bytes, size);
    return selector(&c, SONDE_ARCH_X86_64);
}

TEST(selector_of_x86_64)
{
    static const struct {
        const char *bytes;
        uint32_t size;
        bool keeps;
    } cases[] = {
        {"\x48\x89\xdf", 3, true},             /* mov %rbx, %rdi */
        {"\x48\x89\xde", 3, false},            /* mov %rbx, %rsi */
        {"\x49\x89\xde", 3, true},             /* mov %rbx, %r14 */
        {"\xbe\x05\x00\x00\x00", 5, false},    /* mov $5, %esi */
        {"\xba\x05\x00\x00\x00", 5, true},     /* mov $5, %edx */
        {"\x5e", 1, false},                    /* pop %rsi */
        {"\x41\x5e", 2, true},                 /* pop %r14 */
        {"\x48\x8b\x31", 3, false},            /* mov (%rcx), %rsi */
        {"\x48\x8b\x3e", 3, true},             /* mov (%rsi), %rdi */
        {"\x31\xf6", 2, false},                /* xor %esi, %esi */
        {"\x31\xc0", 2, true},                 /* xor %eax, %eax */
        {"\x0f\xb6\xf0", 3, false},            /* movzbl %al, %esi: a form that is not known */
        {"\xe8\x00\x00\x00\x00", 5, false},    /* call */
        {"\x74\x10", 2, true},                 /* je */
        {"\x0f\x84\x10\x00\x00\x00", 6, true}, /* je, far */
        {"\xeb\x00", 2, false},                /* jmp */
    };
    const uint64_t wanted = VADDR + 8 + 0x10;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ(after_load(cases[i].bytes, cases[i].size, false), cases[i].keeps ? wanted : 0);
        CHECK_EQ(after_load(cases[i].bytes, cases[i].size, true), 0);
    }
}

static uint64_t of_words(const uint32_t *words, unsigned count, unsigned target)
{
    struct code c = {.size = 0};
    for (unsigned i = 0; i < count; i++) {
        if (i == target) {
            c.targets[c.size >> 3] |= (uint8_t)(1u << (c.size & 7));
        }
        put(&c, &words[i], 4);
    }
    return selector(&c, SONDE_ARCH_AARCH64);
}

TEST(selector_of_aarch64)
{
    /* nop; adrp x8, next page; (1) mov x0, x19; ldr x1, [x8, 16]; (2) mov x2, x20 */
    static const uint32_t plain[] = {0xd503201f, 0xb0000008, 0xaa1303e0, 0xf9400901, 0xaa1403e2};
    const uint64_t wanted = (VADDR & ~(uint64_t)0xfff) + 0x1000 + 0x10;
    uint32_t words[5];
    CHECK_EQ(of_words(plain, 5, 9), wanted);
    for (unsigned target = 2; target < 5; target++) {
        CHECK_EQ(of_words(plain, 5, target), 0);
    }
    static const uint32_t changes[][2] = {
        {2, 0x91000508}, /* add x8, x8, 1 */
        {2, 0x94000001}, /* bl */
        {4, 0xaa1303e1}, /* mov x1, x19 */
        {4, 0xa94007e0}, /* ldp x0, x1, [sp] */
        {4, 0x94000001}, /* bl */
    };
    for (unsigned i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        memcpy(words, plain, sizeof words);
        words[changes[i][0]] = changes[i][1];
        CHECK_EQ(of_words(words, 5, 9), 0);
    }
    /* over branches that were not taken */
    static const uint32_t branches[] = {
        0x54000041, /* b.ne */
        0xb4000041, /* cbz x1 */
        0x36000041, /* tbz w1 */
    };
    for (unsigned i = 0; i < sizeof branches / sizeof branches[0]; i++) {
        for (unsigned at = 2; at < 5; at += 2) {
            memcpy(words, plain, sizeof words);
            words[at] = branches[i];
            CHECK_EQ(of_words(words, 5, 9), wanted);
            CHECK_EQ(of_words(words, 5, at), 0); /* another way joins */
        }
    }
    memcpy(words, plain, sizeof words);
    words[4] = 0x14000001; /* b */
    CHECK_EQ(of_words(words, 5, 9), 0);
    /* ldr x1, 8 bytes ahead */
    static const uint32_t near[] = {0xd503201f, 0x58000041, 0xaa1303e0};
    CHECK_EQ(of_words(near, 3, 9), VADDR + 4 + 8);
}
