// SPDX-License-Identifier: Apache-2.0
#include "named_file.h"

#include <stdlib.h>

#include "mem_heap.h"
#include "test.h"

void named_file_open(const char *path, struct named_file *f)
{
    struct sonde_error error;
    size_t size;
    f->bytes = (uint8_t *)test_read_file(path, &size);
    CHECK_OK(sonde__macho_open(f->bytes, size, &f->macho, &error));
    CHECK_OK(sonde__symbol_index_create_macho(&f->macho, NULL, &f->live, &error));
    struct sonde__symindex_source source = {.macho_debug = &f->macho};
    CHECK_OK(sonde__symindex_convert(&source, &f->made, &error));
    CHECK_OK(sonde__symindex_open(f->made.data, f->made.size, &f->index, &error));
    CHECK_OK(sonde__symindex_strings_init(&f->strings, &f->index));
}

void named_file_close(struct named_file *f)
{
    sonde__symindex_strings_done(&f->strings);
    sonde__mem_free(f->made.data);
    sonde__symbol_index_destroy(f->live);
    free(f->bytes);
}

const char *named_file_indexed(struct named_file *f, uint64_t vaddr)
{
    struct sonde__symindex_frame frames[8];
    size_t n = sonde__symindex_find(&f->index, vaddr, frames, 8);
    return n != 0 ? sonde__symindex_name(&f->strings, frames[n - 1].name) : "";
}
