// SPDX-License-Identifier: Apache-2.0
#include "rules_load.h"

#include <string.h>

#include "host_file.h"
#include "mem_heap.h"
#include "rules_file.h"
#include "rules_plan.h"

static void print_line(void *ctx, const char *line)
{
    sonde__cli_error(ctx, "%s", line);
}

/* Read the bytes of a compiled file. False: it is something else, or cannot be read. */
static bool take_compiled(const char *path, struct sonde__rules_loaded *loaded)
{
    struct sonde_error error;
    struct sonde__host_file file;
    if (sonde__host_file_map(NULL, path, SONDE__AUDIT_BLOB_MAX, &file, &error) != SONDE_OK) {
        return false;
    }
    if (sonde__audit_blob_is(file.data, file.size)) {
        loaded->bytes = sonde__mem_alloc(file.size);
        loaded->size = file.size;
    }
    if (loaded->bytes != NULL) {
        memcpy(loaded->bytes, file.data, file.size);
    }
    sonde__host_file_unmap(&file);
    return loaded->bytes != NULL;
}

static int compile_text(const struct sonde__cli_command *command, const char *path,
                        struct sonde__rules_loaded *loaded)
{
    struct sonde__rules rules = {0};
    struct sonde__rules_plan plan = {0};
    struct sonde_error error = {0};
    int exit_code = SONDE__CLI_MALFORMED;
    if (sonde__rules_open(path, print_line, (void *)(uintptr_t)command, &rules)) {
        enum sonde_status status = sonde__rules_plan(&rules, &plan);
        bool is_printed = status == SONDE_UNSUPPORTED;
        if (status == SONDE_OK) {
            status = sonde__audit_blob_write(&plan.audit, &loaded->bytes, &loaded->size, &error);
        } else if (status == SONDE_ABSENT) {
            error.status = status;
            snprintf(error.what, sizeof error.what, "no rule is in it");
        }
        exit_code = status == SONDE_OK ? SONDE__CLI_OK
                    : is_printed       ? SONDE__CLI_UNSUPPORTED
                                       : sonde__cli_fail(command, path, status, &error);
    }
    sonde__rules_plan_done(&plan);
    sonde__rules_done(&rules);
    return exit_code;
}

int sonde__rules_load(const struct sonde__cli_command *command, const char *path,
                      struct sonde__rules_loaded *ret_loaded)
{
    struct sonde__rules_loaded loaded = {.size = 0};
    struct sonde_error error = {0};
    int exit_code =
        take_compiled(path, &loaded) ? SONDE__CLI_OK : compile_text(command, path, &loaded);
    if (exit_code == SONDE__CLI_OK) {
        enum sonde_status status =
            sonde__audit_blob_read(loaded.bytes, loaded.size, &loaded.blob, &error);
        exit_code = status == SONDE_OK ? exit_code : sonde__cli_fail(command, path, status, &error);
    }
    if (exit_code != SONDE__CLI_OK) {
        sonde__mem_free(loaded.bytes);
        return exit_code;
    }
    *ret_loaded = loaded;
    return exit_code;
}

void sonde__rules_unload(struct sonde__rules_loaded *loaded)
{
    sonde__audit_blob_done(&loaded->blob);
    sonde__mem_free(loaded->bytes);
}
