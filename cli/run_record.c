// SPDX-License-Identifier: Apache-2.0
#include "run_record.h"

#include "audit_run.h"
#include "cmd.h"
#include "host_run.h"
#include "watch_program.h"

int sonde__cli_prepare_record(const struct sonde__cli_command *command, const char *list,
                              bool app_only, struct sonde__watch_options *options)
{
    static struct sonde__watch_guest guest;
    static struct sonde__watch_program program;
    static char path[SONDE__WATCH_PATH_MAX];
    struct sonde_error error = {0};
    struct sonde__audit *audit;
    if (sonde__host_find_program(options->argv[0], path, sizeof path, &error) != 0) {
        return 0; /* it is said when it is executed */
    }
    sonde__watch_inspect(path, &program);
    const struct sonde__audit_options from = {
        .list = list,
        .library = sonde__cli_find_library("libsonde-record.so", "../recorder/"),
        .program = program.binary,
        .envp = options->envp,
        .symbols = options->symbols,
        .blinds = options->verbose,
    };
    if (from.library == NULL) {
        sonde__cli_error(command, "libsonde-record.so was not found beside sonde");
        return 125;
    }
    enum sonde_status status = sonde__audit_create(&from, &audit, &error);
    if (status != SONDE_OK) {
        if (error.at != 0) {
            sonde__cli_error(command, "%s:%llu: %s", list, (unsigned long long)error.at,
                             error.what);
        } else {
            (void)sonde__cli_fail(command, list, status, &error);
        }
        return 125;
    }
    guest = (struct sonde__watch_guest){
        .size = sonde__audit_shared_size(),
        .fd = sonde__audit_library_fd(audit),
        .app_only = app_only,
        .ctx = audit,
        .begin = sonde__audit_begin,
        .end = sonde__audit_end,
    };
    options->probe = sonde__audit_library(audit);
    options->guest = &guest;
    return 0;
}
