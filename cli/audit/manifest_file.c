// SPDX-License-Identifier: Apache-2.0
#include "manifest_file.h"

#include "cli_input.h"

static bool may_begin(const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    return true;
}

int sonde__cli_manifest_add(const struct sonde__cli_command *command, const char *path,
                            struct sonde__manifest *manifest)
{
    struct sonde__cli_input input;
    struct sonde_error error;
    int exit_code = sonde__cli_input_read(command, path, may_begin, &input);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    enum sonde_status status = sonde__manifest_read(input.data, input.size, manifest, &error);
    sonde__cli_input_done(&input);
    if (status != SONDE_OK) {
        sonde__cli_error(command, "%s: %s", sonde__cli_input_name(path), error.what);
        return status == SONDE_MEMORY ? SONDE__CLI_FAILED : SONDE__CLI_MALFORMED;
    }
    return SONDE__CLI_OK;
}
