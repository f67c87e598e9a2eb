// SPDX-License-Identifier: Apache-2.0
#include "symfile_types.h"

#include <stdlib.h>
#include <string.h>

#include "base_status.h"

static enum sonde_status open_elf(const struct sonde__symfile_options *options, const char *path,
                                  struct sonde__symfile_types *types,
                                  struct sonde__types_source *source, struct sonde_error *ret_error)
{
    SONDE_TRY(sonde__symfile_open(options, path, &types->pair, ret_error));
    types->has_pair = true;
    SONDE_TRY(sonde__symfile_dwarf_open(options, &types->pair, &types->dwarf, ret_error));
    types->has_dwarf = true;
    types->damage = types->dwarf.damage;
    *source = (struct sonde__types_source){.sections = &types->dwarf.sections,
                                           .split = sonde__symfile_dwarf_split,
                                           .split_type = sonde__symfile_dwarf_type,
                                           .split_type_at = sonde__symfile_dwarf_type_at,
                                           .ctx = &types->dwarf};
    return SONDE_OK;
}

static enum sonde_status open_macho(const struct sonde__symfile_options *options, const char *path,
                                    const struct sonde__symfile_index_wanted *wanted,
                                    struct sonde__symfile_types *types,
                                    struct sonde__types_source *source,
                                    struct sonde_error *ret_error)
{
    struct sonde__symfile_macho_wanted which = {.folders = options->folders,
                                                .folder_count = options->folder_count};
    if (wanted != NULL) {
        which.uuid = &wanted->uuid;
        which.arch = wanted->arch;
    }
    SONDE_TRY(sonde__symfile_macho_open(path, &which, &types->macho, ret_error));
    types->has_macho = true;
    if (!sonde__dwarf_sections_of_macho(&types->macho.debug, &types->sections)) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "compressed debug information of a Mach-O is not supported", NULL,
                                0, 0);
    }
    *source = (struct sonde__types_source){.sections = &types->sections};
    return SONDE_OK;
}

static bool is_macho(const char *path)
{
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    return sonde__symfile_macho_slices(path, slices) != 0;
}

enum sonde_status sonde__symfile_types_open(const struct sonde__symfile_options *options,
                                            const char *path,
                                            const struct sonde__symfile_index_wanted *wanted,
                                            struct sonde__symfile_types *ret_types,
                                            bool *ret_no_debug, struct sonde_error *ret_error)
{
    struct sonde__types_source source;
    char *absolute = realpath(path, NULL);
    const char *found = absolute != NULL ? absolute : path;
    *ret_types = (struct sonde__symfile_types){0};
    *ret_no_debug = false;
    enum sonde_status status =
        is_macho(found) ? open_macho(options, found, wanted, ret_types, &source, ret_error)
                        : open_elf(options, found, ret_types, &source, ret_error);
    free(absolute);
    if (status == SONDE_OK) {
        status = sonde__types_open(&source, &ret_types->types);
        *ret_no_debug = status == SONDE_ABSENT;
        if (status != SONDE_OK) {
            (void)sonde__base_fail(ret_error, status,
                                   status == SONDE_ABSENT ? "no debug information"
                                                          : "its debug information was not read",
                                   NULL, 0, 0);
        }
    }
    if (status != SONDE_OK) {
        sonde__symfile_types_close(ret_types);
    }
    return status;
}

void sonde__symfile_types_close(struct sonde__symfile_types *types)
{
    sonde__types_close(types->types);
    if (types->has_dwarf) {
        sonde__symfile_dwarf_close(&types->dwarf);
    }
    if (types->has_pair) {
        sonde__symfile_close(&types->pair);
    }
    if (types->has_macho) {
        sonde__symfile_macho_close(&types->macho);
    }
    memset(types, 0, sizeof *types);
}
