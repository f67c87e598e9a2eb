// SPDX-License-Identifier: Apache-2.0
#include "symfile_open.h"

#include "base_status.h"
#include "mem_heap.h"
#include "symfile_find.h"

/* Limit far above today's programs and debug files; mapped, not read. */
#define FILE_BYTES_MAX ((uint64_t)64 << 30)

bool symfile_has_debug_information(const struct sonde__elf *elf)
{
    struct sonde__elf_section section;
    return (sonde__elf_section_by_name(elf, ".debug_info", &section) ||
            sonde__elf_section_by_name(elf, ".zdebug_info", &section)) &&
           section.data != NULL;
}

enum sonde_status sonde__symfile_open(const struct sonde__symfile_options *options,
                                      const char *path, struct sonde__symfile_pair *ret_pair,
                                      struct sonde_error *ret_error)
{
    struct sonde__symfile_pair pair = {0};
    struct sonde__image image = {.path = path};
    struct sonde__elf_section symtab;
    struct symfile_view view;
    enum sonde_status status;
    SONDE_TRY(sonde__host_file_map(options->root, path, FILE_BYTES_MAX, &pair.own_file, ret_error));
    status = sonde__elf_open(pair.own_file.data, pair.own_file.size, &pair.own, ret_error);
    if (status != SONDE_OK) {
        sonde__host_file_unmap(&pair.own_file);
        return status;
    }
    pair.debug = pair.own;
    (void)sonde__elf_build_id(&pair.own, &image.build_id);
    if (!symfile_has_debug_information(&pair.own) &&
        symfile_find_debug(options, &image, &pair.own, &view)) {
        pair.debug = view.elf;
        pair.debug_file = view.file;
        pair.debug_path = view.path;
        pair.separate = true;
    } else {
        if (!sonde__elf_section_by_type(&pair.own, SONDE__SHT_SYMTAB, &symtab) &&
            symfile_mini_open(&pair.own, &pair.mini)) {
            pair.debug = pair.mini.elf;
            pair.separate = true;
        }
        pair.debug_path = sonde__mem_copy_string(path);
    }
    pair.own_path = sonde__mem_copy_string(path);
    if (pair.own_path == NULL || pair.debug_path == NULL) {
        sonde__symfile_close(&pair);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for a path", path, 0, 0);
    }
    *ret_pair = pair;
    return SONDE_OK;
}

void sonde__symfile_close(struct sonde__symfile_pair *pair)
{
    symfile_mini_close(&pair->mini);
    sonde__host_file_unmap(&pair->debug_file);
    sonde__host_file_unmap(&pair->own_file);
    sonde__mem_free(pair->own_path);
    sonde__mem_free(pair->debug_path);
    *pair = (struct sonde__symfile_pair){0};
}
