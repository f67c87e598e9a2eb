// SPDX-License-Identifier: Apache-2.0
/* Names of JIT code: what was said last holds, and what cannot be read is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_names.h"
#include "test.h"

enum { SPACE = 300 };

static const char *name_at(const struct sonde__jit *jit, uint64_t address)
{
    struct sonde__jit_code code;
    return sonde__jit_find(jit, address, &code) ? code.name : "";
}

/* Random ranges over each other, against painting every address. */
TEST(later_ones_hold)
{
    uint32_t state = 7;
    for (int round = 0; round < 300; round++) {
        struct sonde__jit jit;
        char painted[SPACE][8] = {{0}};
        sonde__jit_init(&jit);
        for (int i = 0; i < round % 40; i++) {
            char name[8];
            state = state * 1664525u + 1013904223u;
            uint32_t start = (state >> 8) % SPACE, size = (state >> 20) % 60;
            snprintf(name, sizeof name, "f%d", i);
            CHECK_OK(sonde__jit_add(&jit, start, start + size, name, strlen(name)));
            for (uint32_t k = start; k < start + size && k < SPACE; k++) {
                strcpy(painted[k], name);
            }
        }
        CHECK_OK(sonde__jit_settle(&jit));
        for (uint32_t k = 0; k < SPACE; k++) {
            CHECK_STR(name_at(&jit, k), painted[k]);
        }
        sonde__jit_done(&jit);
    }
}

TEST(lines_of_a_perf_map)
{
    static const char text[] = "1000 20 LazyCompile:~f /a b.js:1\n"
                               "0x2000 0X10 second\r\n"
                               "\n"
                               "not a line\n"
                               "3000 10\n"
                               "3000 10 \n"
                               "11112222333344445 10 long\n"
                               "fffffffffffffff0 20 over the end\n"
                               "4000 0 empty\n"
                               "5000 10 being writt";
    struct sonde__jit jit;
    sonde__jit_init(&jit);
    CHECK_OK(sonde__jit_add_map(&jit, text, sizeof text - 1));
    CHECK_OK(sonde__jit_settle(&jit));
    CHECK_STR(name_at(&jit, 0x1000), "LazyCompile:~f /a b.js:1");
    CHECK_STR(name_at(&jit, 0x101f), "LazyCompile:~f /a b.js:1");
    CHECK_STR(name_at(&jit, 0x1020), "");
    CHECK_STR(name_at(&jit, 0x200f), "second");
    CHECK_STR(name_at(&jit, 0x3000), "");
    CHECK_STR(name_at(&jit, 0x5000), ""); /* its name may go on */
    CHECK_EQ(jit.count, 2);
    CHECK_EQ(jit.bad, 6);
    sonde__jit_done(&jit);
    CHECK_OK(sonde__jit_add_map(&jit, "", 0));
    CHECK_OK(sonde__jit_settle(&jit));
    CHECK_STR(name_at(&jit, 0), "");
    sonde__jit_done(&jit);
}

static size_t put(unsigned char *to, size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        to[at++] = i < 8 ? (unsigned char)(value >> 8 * i) : 0;
    }
    return at;
}

static size_t put_load(unsigned char *to, size_t at, uint64_t start, uint64_t size,
                       const char *name)
{
    size_t code = (size_t)size;
    at = put(to, at, 0, 4);
    at = put(to, at, 56 + strlen(name) + 1 + size, 4);
    at = put(to, at, 1, 8);
    at = put(to, at, 0, 8);
    at = put(to, at, start, 8);
    at = put(to, at, start, 8);
    at = put(to, at, size, 8);
    at = put(to, at, 0, 8);
    memcpy(to + at, name, strlen(name) + 1);
    memset(to + at + strlen(name) + 1, 0x90, code);
    return at + strlen(name) + 1 + code;
}

static size_t put_move(unsigned char *to, size_t at, uint64_t from, uint64_t start, uint64_t size)
{
    at = put(to, at, 1, 4);
    at = put(to, at, 64, 4);
    at = put(to, at, 0, 8);
    at = put(to, at, 0, 16);
    at = put(to, at, from, 8);
    at = put(to, at, start, 8);
    at = put(to, at, size, 8);
    return put(to, at, 0, 8);
}

static size_t put_dump_header(unsigned char *to)
{
    size_t at = put(to, 0, 0x4a695444, 4);
    at = put(to, at, 1, 4);
    (void)put(to, at, 40, 4);
    return 40;
}

TEST(records_of_a_jitdump)
{
    unsigned char data[1024] = {0};
    struct sonde__jit jit;
    size_t at = put(data, put_dump_header(data), 2, 4); /* lines: passed over */
    at = put(data, at, 24, 4);
    at = put(data, at, 0, 16);
    at = put_load(data, at, 0x1000, 16, "one");
    at = put_load(data, at, 0x1008, 16, "two");
    at = put_move(data, at, 0x1000, 0x3000, 16); /* "one" */
    sonde__jit_init(&jit);
    CHECK_OK(sonde__jit_add_dump(&jit, data, at));
    CHECK_OK(sonde__jit_settle(&jit));
    CHECK_STR(name_at(&jit, 0x1007), "one");
    CHECK_STR(name_at(&jit, 0x1008), "two");
    CHECK_STR(name_at(&jit, 0x300f), "one");
    CHECK_EQ(jit.bad, 0);
    sonde__jit_done(&jit);
    for (size_t cut = 0; cut < at; cut++) { /* it is being written */
        enum sonde_status status = sonde__jit_add_dump(&jit, data, cut);
        CHECK_EQ(status, cut < 40 ? SONDE_UNSUPPORTED : SONDE_OK);
        CHECK_OK(sonde__jit_settle(&jit));
        sonde__jit_done(&jit);
    }
}

/* Each move of nothing is looked for among all: after some thousand none is any more. */
TEST(moves_of_nothing_take_bounded_time)
{
    enum { LOADS = 65536, MOVES = 2000 };
    unsigned char *data = calloc(LOADS + MOVES + 2, 64);
    struct sonde__jit jit;
    size_t at = put_dump_header(data);
    for (uint64_t i = 0; i < LOADS; i++) {
        at = put_load(data, at, 0x1000 + i, 1, "f");
    }
    at = put_move(data, at, 0x1000 + LOADS - 1, 0x100000, 1);
    for (unsigned i = 0; i < MOVES; i++) {
        at = put_move(data, at, 1, 2, 1);
    }
    at = put_move(data, at, 0x1000 + LOADS - 1, 0x200000, 1);
    sonde__jit_init(&jit);
    CHECK_OK(sonde__jit_add_dump(&jit, data, at));
    CHECK_EQ(jit.count, LOADS + 1);
    CHECK_EQ(jit.bad, MOVES + 1);
    sonde__jit_done(&jit);
    free(data);
}
