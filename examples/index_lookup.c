// SPDX-License-Identifier: Apache-2.0
/* Look up functions, inlined calls, files and lines of a program's addresses, offline. By default
 * the program is this one. With arguments: FILE OFFSET... (hexadecimal). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/image.h>
#include <sonde/index.h>
#include <sonde/symbol.h>

enum { FRAMES = 64, MANY = 128 };

static void print_offset(struct sonde_index *index, uint64_t offset)
{
    struct sonde_index_frame frames[FRAMES];
    struct sonde_index_symbol symbol = {.struct_bytes = sizeof symbol};
    size_t count = 0;
    enum sonde_status status = sonde_index_lookup(index, offset, frames, FRAMES, &count);
    printf("0x%" PRIx64 "\n", offset);
    for (size_t i = 0; (status == SONDE_OK || status == SONDE_LIMIT) && i < count; i++) {
        char name[256];
        (void)!sonde_name_demangle(sonde_index_name(index, frames[i].name), name, sizeof name);
        printf("  %s  %s:%" PRIu32 "%s\n", name, sonde_index_file(index, frames[i].file),
               frames[i].line, i + 1 < count ? "  inlined into" : "");
    }
    if (sonde_index_symbol(index, offset, &symbol) == SONDE_OK) {
        printf("  in the symbol %s+0x%" PRIx64 "\n", sonde_index_name(index, symbol.name),
               offset - symbol.start);
        for (uint32_t i = 0; i < symbol.alias_count; i++) {
            printf("  which is also %s\n",
                   sonde_index_name(index, sonde_index_alias(index, offset, i)));
        }
    }
}

static int remember_bias(void *ctx, const struct sonde_image *image)
{
    *(uint64_t *)ctx = image->bias;
    return 1;
}

int main(int argc, char **argv)
{
    struct sonde_index *index;
    struct sonde_index_info info = {.struct_bytes = sizeof info};
    struct sonde_index_bad_unit unit = {.struct_bytes = sizeof unit};
    struct sonde_error error;
    uint64_t offsets[2];
    struct sonde_index_frame frames[MANY];
    uint32_t first[2], counts[2];
    uint64_t bias = 0;

    if (sonde_index_open(argc > 1 ? argv[1] : "/proc/self/exe", 2, &index, &error) != SONDE_OK ||
        sonde_index_info(index, &info) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    printf("%" PRIu32 " units, %" PRIu32 " functions and symbols\n", info.units, info.names);
    for (uint32_t i = 0; sonde_index_bad_unit(index, i, &unit) == SONDE_OK; i++) {
        printf("unit %s: %s\n", unit.name, unit.what);
    }
    for (int i = 2; i < argc; i++) {
        print_offset(index, strtoull(argv[i], NULL, 16));
    }
    if (argc == 1) {
        if (sonde_image_find((uintptr_t)main, remember_bias, &bias) != SONDE_OK) {
            return 1;
        }
        offsets[0] = (uintptr_t)main - bias;
        offsets[1] = (uintptr_t)print_offset - bias;
        print_offset(index, offsets[0]);
        /* many addresses at once, ids only; with functions hidden by tail calls: none here */
        if (sonde_index_lookup_many(index, offsets, 2, frames, MANY, first, counts) != SONDE_OK) {
            return 1;
        }
        printf("%s is on line %" PRIu32 "\n",
               sonde_index_name(index, frames[first[1] + counts[1] - 1].name),
               frames[first[1] + counts[1] - 1].line);
        uint64_t place;
        size_t count;
        if (sonde_index_tails(index, offsets[0], offsets[1], &place, 1, &count) == SONDE_OK) {
            printf("%zu frames are missing\n", count);
        }
        if (info.build_id_size != 0) { /* the same by build-id, if this system knows it */
            struct sonde_index *same;
            if (sonde_index_open_build_id(info.build_id, info.build_id_size, NULL, 0, 1, &same,
                                          NULL) == SONDE_OK) {
                puts("it is known by its build-id");
                sonde_index_close(same);
            }
        }
    }
    sonde_index_close(index);
    return 0;
}
