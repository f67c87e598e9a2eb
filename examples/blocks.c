// SPDX-License-Identifier: Apache-2.0
/* What a block holds, read by callbacks. The block is made by hand, as a C compiler lays it out, so
 * that any compiler can build this. A program with blocks uses sonde_blocks_open() instead of
 * callbacks; for a core, use sonde_blocks_open_core(). */
#include <stdio.h>
#include <string.h>

#include <sonde/block.h>

struct literal {
    const void *isa;
    uint32_t flags, reserved;
    const void *invoke;
    const void *descriptor;
    int number;
    void *other; /* a block that the block has captured */
};

static const char encoding[] = "v12@?0i8";
static const struct {
    uintptr_t reserved, size;
    const char *signature;
    const void *layout;
} descriptor = {0, sizeof(struct literal), encoding, NULL};

static int read_self(void *ctx, uint64_t address, void *buffer, size_t size_bytes)
{
    const uint64_t *bounds = ctx; /* only this example's own memory */
    if (address < bounds[0] || address + size_bytes > bounds[1] || address + size_bytes < address) {
        return 0;
    }
    memcpy(buffer, (const void *)(uintptr_t)address, size_bytes);
    return 1;
}

struct all {
    struct literal literal;
    char copy_of_descriptor[sizeof descriptor];
    char copy_of_encoding[sizeof encoding];
};

static int describe(void *ctx, uint64_t object, const char *class_name, char *text,
                    size_t size_bytes)
{
    (void)ctx;
    snprintf(text, size_bytes, "<%s %#llx>", class_name, (unsigned long long)object);
    return 1;
}

/* List the blocks of a core file made by gcore or the kernel. */
static int list_core(const char *path)
{
    static struct sonde_block items[1000] = {{.struct_bytes = sizeof items[0]}};
    struct sonde_blocks *blocks;
    struct sonde_error error;
    size_t count = 0;
    enum sonde_status status = sonde_blocks_open_core(path, NULL, &blocks, &error);
    if (status != SONDE_OK) {
        fprintf(stderr, "%s: %s\n", path, error.what);
        return 1;
    }
    status = sonde_blocks_scan(blocks, items, 1000, &count);
    for (size_t i = 0; i < count && i < 1000; i++) {
        printf("%#llx: %u bytes, %u references\n", (unsigned long long)items[i].address,
               items[i].size_bytes, items[i].references);
    }
    struct sonde_block_search search = {.struct_bytes = sizeof search};
    if (sonde_blocks_searched(blocks, &search) == SONDE_OK) {
        printf("%llu bytes searched\n", (unsigned long long)search.searched_bytes);
    }
    sonde_blocks_close(blocks);
    return status == SONDE_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct all all;
    uint64_t bounds[2] = {(uintptr_t)&all, (uintptr_t)(&all + 1)};
    struct sonde_block_memory memory = {
        .struct_bytes = sizeof memory, .arch = SONDE_ARCH_X86_64, .read = read_self, .ctx = bounds};
    struct sonde_blocks *blocks;
    struct sonde_block block = {.struct_bytes = sizeof block};
    struct sonde_block_wrapped wrapped = {.struct_bytes = sizeof wrapped};
    struct sonde_block_capture captures[8] = {{.struct_bytes = sizeof captures[0]}};
    char text[80];
    const char *signature = all.copy_of_encoding;
    size_t count = 0;
    if (argc > 1) {
        return list_core(argv[1]);
    }
    memcpy(all.copy_of_encoding, encoding, sizeof encoding);
    memcpy(all.copy_of_descriptor, &descriptor, sizeof descriptor);
    memcpy(all.copy_of_descriptor + 16, &signature, sizeof signature);
    all.literal = (struct literal){
        &all, SONDE_BLOCK_HAS_SIGNATURE, 0, all.copy_of_encoding, all.copy_of_descriptor, 42, NULL};
    if (sonde_blocks_open_memory(&memory, &blocks) != SONDE_OK) {
        return 1;
    }
    if (sonde_block_inspect(blocks, (uintptr_t)&all.literal, &block) != SONDE_OK ||
        sonde_block_captures(blocks, block.address, captures, 8, &count) != SONDE_OK) {
        fprintf(stderr, "no block\n");
        return 1;
    }
    printf("a block of %u bytes with %zu captures\n", block.size_bytes, count);
    if (sonde_block_unwrap(blocks, block.address, &wrapped) == SONDE_OK) { /* not this one */
        printf("  it runs %#llx\n", (unsigned long long)wrapped.function);
    }
    /* in its own process, an object can be asked to describe itself */
    if (sonde_blocks_set_describer(blocks, describe, NULL) == SONDE_OK &&
        sonde_block_describe(blocks, block.address, 32, -1, text, sizeof text) == SONDE_OK) {
        printf("  +32 says: %s\n", text);
    }
    for (size_t i = 0; i < count; i++) {
        printf("  +%u  %s, %u bytes, the first as a number: %d\n", captures[i].offset,
               sonde_block_kind_text(captures[i].kind), captures[i].size_bytes,
               (int)captures[i].value);
    }
    sonde_blocks_close(blocks);
    return 0;
}
