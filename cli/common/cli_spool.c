// SPDX-License-Identifier: Apache-2.0
#include "cli_spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host_folder.h"
#include "host_run.h"

int sonde__cli_spool_path(const struct sonde__cli_command *command, const char *folder,
                          char ret_path[SONDE__SPOOL_PATH])
{
    char here[SONDE__SPOOL_PATH] = "";
    if (folder == NULL || strcmp(folder, "auto") == 0) {
        if (sonde__spool_own_folder(ret_path)) {
            return SONDE__CLI_OK;
        }
        sonde__cli_error(command, "no spool folder of your own without XDG_STATE_HOME and "
                                  "HOME: name a folder");
        return SONDE__CLI_FAILED;
    }
    if (folder[0] != '/' && getcwd(here, sizeof here) == NULL) {
        return sonde__cli_fail_os(command, folder, errno);
    }
    int size =
        snprintf(ret_path, SONDE__SPOOL_PATH, "%s%s%s", here, here[0] != '\0' ? "/" : "", folder);
    if (size <= 0 || (unsigned)size >= SONDE__SPOOL_PATH) {
        return sonde__cli_fail_os(command, folder, ENAMETOOLONG);
    }
    while (size > 1 && ret_path[size - 1] == '/') { /* link/ is the target */
        ret_path[--size] = '\0';
    }
    return SONDE__CLI_OK;
}

int sonde__cli_spool_check(const struct sonde__cli_command *command, const char *path)
{
    struct sonde_error error = {0};
    int32_t folder;
    enum sonde_status status = sonde__host_folder_open(path, true, &folder, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, path, status, &error);
    }
    sonde__host_close(folder);
    return SONDE__CLI_OK;
}
