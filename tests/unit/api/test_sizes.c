// SPDX-License-Identifier: Apache-2.0
/* Callers built against an older or newer header: their structs are smaller or larger than the
 * library's. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "test.h"

enum { DEPTH = 64, LARGER = 64 };

static uint64_t pcs[DEPTH];
static uint8_t how[DEPTH];
static struct sonde_stack stack;

/* A struct, followed by the members of a newer header, or by other memory. */
#define SIZED(type)                                                                                \
    union {                                                                                        \
        struct type known;                                                                         \
        uint8_t bytes[sizeof(struct type) + LARGER];                                               \
    }
/* The size in an older header, without `member` and the members after it. */
#define OLDER(type, member) offsetof(struct type, member)
#define NEWER(type)         (sizeof(struct type) + LARGER)

static void prepare(void *sized, size_t size, size_t struct_bytes)
{
    memset(sized, 0xa5, size);
    memcpy(sized, &struct_bytes, sizeof struct_bytes);
}

static void check_untouched(const uint8_t *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        CHECK_EQ(bytes[i], 0xa5);
    }
}

static enum sonde_status capture(const void *options)
{
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    return sonde_thread_capture(sonde_thread_self(), options, &stack, NULL);
}

TEST(options_of_other_headers)
{
    SIZED(sonde_capture_options) options;
    memset(&options, 0, sizeof options);
    options.known.struct_bytes = NEWER(sonde_capture_options);
    CHECK_OK(capture(&options));
    options.bytes[sizeof options - 1] = 1; /* an option that this library does not have */
    CHECK_EQ(capture(&options), SONDE_USAGE);
    options.known.struct_bytes = sizeof options.known;
    CHECK_OK(capture(&options));
    options.known.flags = 0x80;
    CHECK_EQ(capture(&options), SONDE_USAGE);
    options.known.struct_bytes = OLDER(sonde_capture_options, flags); /* which it did not have */
    CHECK_OK(capture(&options));
    options.known.struct_bytes = 0;
    CHECK_EQ(capture(&options), SONDE_USAGE);
    options.known.struct_bytes = SIZE_MAX;
    CHECK_EQ(capture(&options), SONDE_USAGE);
}

static int read_nothing(void *ctx, uint64_t address, void *buffer, size_t size_bytes)
{
    (void)ctx, (void)address, (void)buffer, (void)size_bytes;
    return 0;
}

TEST(a_memory_of_blocks_of_other_headers)
{
    SIZED(sonde_block_memory) memory;
    struct sonde_blocks *blocks;
    memset(&memory, 0, sizeof memory);
    memory.known.arch = SONDE_ARCH_AARCH64;
    memory.known.read = read_nothing;
    memory.known.struct_bytes = NEWER(sonde_block_memory);
    CHECK_OK(sonde_blocks_open_memory(&memory.known, &blocks));
    sonde_blocks_close(blocks);
    memory.known.struct_bytes = OLDER(sonde_block_memory, name);
    CHECK_OK(sonde_blocks_open_memory(&memory.known, &blocks));
    sonde_blocks_close(blocks);
    memory.known.struct_bytes = OLDER(sonde_block_memory, read); /* which must be there */
    CHECK_EQ(sonde_blocks_open_memory(&memory.known, &blocks), SONDE_USAGE);
}

TEST(results_of_other_headers)
{
    SIZED(sonde_captured) captured;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    prepare(&captured, sizeof captured, OLDER(sonde_captured, syscall));
    CHECK_OK(sonde_thread_capture(sonde_thread_self(), NULL, &stack, &captured.known));
    CHECK_EQ(captured.known.struct_bytes, OLDER(sonde_captured, syscall));
    CHECK_EQ(captured.known.by, SONDE_CAPTURED_SELF);
    check_untouched(captured.bytes, OLDER(sonde_captured, syscall), sizeof captured);
    prepare(&captured, sizeof captured, NEWER(sonde_captured));
    CHECK_OK(sonde_thread_capture(sonde_thread_self(), NULL, &stack, &captured.known));
    CHECK_EQ(captured.known.struct_bytes, NEWER(sonde_captured));
    CHECK_EQ(captured.known.syscall, -1);
    check_untouched(captured.bytes, sizeof captured.known, sizeof captured);
    captured.known.struct_bytes = 0;
    CHECK_EQ(sonde_thread_capture(sonde_thread_self(), NULL, &stack, &captured.known), SONDE_USAGE);
}

TEST(a_symbol_of_other_headers)
{
    struct sonde_symbolizer *symbolizer;
    SIZED(sonde_symbol) symbol;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
    CHECK_OK(sonde_symbolizer_create(&symbolizer));
    prepare(&symbol, sizeof symbol, OLDER(sonde_symbol, image));
    CHECK_OK(sonde_symbolize(symbolizer, &stack, 0, &symbol.known));
    CHECK_STR(symbol.known.name, "a_symbol_of_other_headers");
    check_untouched(symbol.bytes, OLDER(sonde_symbol, image), sizeof symbol);
    prepare(&symbol, sizeof symbol, NEWER(sonde_symbol));
    CHECK_OK(sonde_symbolize_prepared(symbolizer, &stack, 0, &symbol.known));
    CHECK_EQ(symbol.known.source, SONDE_NAME_SYMTAB);
    check_untouched(symbol.bytes, sizeof symbol.known, sizeof symbol);
    symbol.known.struct_bytes = 12;
    CHECK_EQ(sonde_symbolize(symbolizer, &stack, 0, &symbol.known), SONDE_USAGE);
    sonde_symbolizer_destroy(symbolizer);
}

TEST(a_stat_of_other_headers)
{
    SIZED(sonde_depot_stat) stat;
    struct sonde_depot *depot;
    CHECK_OK(sonde_depot_create(1000, &depot));
    prepare(&stat, sizeof stat, OLDER(sonde_depot_stat, lost));
    CHECK_OK(sonde_depot_stat(depot, &stat.known));
    CHECK_EQ(stat.known.dropped, 0);
    check_untouched(stat.bytes, OLDER(sonde_depot_stat, lost), sizeof stat);
    stat.known.struct_bytes = 0;
    CHECK_EQ(sonde_depot_stat(depot, &stat.known), SONDE_USAGE);
    sonde_depot_destroy(depot);
}

/* The size in the first element is the distance between the elements. */
TEST(arrays_of_other_headers)
{
    SIZED(sonde_thread) larger[2];
    struct {
        size_t struct_bytes;
        uint64_t tid;
        uint8_t state, rest[3];
    } smaller[2];
    uint32_t count = 0;
    prepare(larger, sizeof larger, sizeof larger[0]);
    if (sonde_threads_list(&larger[0].known, 2, &count) != SONDE_OK || count != 1) {
        SKIP("a thread of the emulator or of the sanitizer");
    }
    CHECK_EQ(larger[0].known.struct_bytes, sizeof larger[0]);
    CHECK_EQ(larger[0].known.tid, getpid());
    CHECK_EQ(larger[0].known.is_self, 1);
    check_untouched(larger[0].bytes, sizeof(struct sonde_thread), sizeof larger[0]);
    check_untouched(larger[1].bytes, 0, sizeof larger[1]);
    prepare(smaller, sizeof smaller, sizeof smaller[0]);
    CHECK_OK(sonde_threads_list((struct sonde_thread *)(void *)smaller, 2, &count));
    CHECK_EQ(smaller[0].tid, getpid());
    check_untouched((const uint8_t *)&smaller[1], 0, sizeof smaller[1]);
    smaller[0].struct_bytes = 0;
    CHECK_EQ(sonde_threads_list((struct sonde_thread *)(void *)smaller, 2, &count), SONDE_USAGE);
    CHECK_EQ(sonde_threads_list(NULL, 0, &count), SONDE_LIMIT);
}
