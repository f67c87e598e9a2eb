// SPDX-License-Identifier: Apache-2.0
/* Options of commands for the destination of reports. */
#ifndef SONDE_CLI_UPLOAD_H
#define SONDE_CLI_UPLOAD_H

#include <sonde/upload.h>

#include "cli.h"

struct sonde__cli_upload {
    const char *to, *key_file;
    enum sonde_upload_policy policy;
    uint64_t timeout_ns;
    bool plain_http;
};

#define SONDE__CLI_UPLOAD_OPTIONS(request, member)                                                 \
    {"to",                                                                                         \
     0,                                                                                            \
     "ADDRESS",                                                                                    \
     "the URL of a collector, or a Sentry DSN (default: SONDE_UPLOAD_TO in the environment)",      \
     sonde__cli_take_text,                                                                         \
     offsetof(request, member.to)},                                                                \
        {"key-file",                                                                               \
         0,                                                                                        \
         "FILE",                                                                                   \
         "the collector's ingest key is the first line of FILE (default: SONDE_UPLOAD_KEY in the " \
         "environment)",                                                                           \
         sonde__cli_take_text,                                                                     \
         offsetof(request, member.key_file)},                                                      \
    {                                                                                              \
        "policy", 'p', "WHEN",                                                                     \
            "unmetered (the default; not where the network costs by the byte), always or never",   \
            sonde__cli_take_word, offsetof(request, member.policy),                                \
            .words = sonde__cli_upload_policies                                                    \
    }

extern const char *const sonde__cli_upload_policies[];

/* Options for the sender, with its transport loaded. Strings are valid until the next call. Returns
 * SONDE__CLI_GO_ON, or an exit code after an error message. */
int sonde__cli_upload_options(const struct sonde__cli_command *command,
                              const struct sonde__cli_upload *upload,
                              struct sonde_upload_options *ret_options);

/* The argv of a `sonde upload` that will send the folder silently in the background; static.
 * Reports now what would make it fail, and why earlier ones failed. False: an error was
 * reported. */
bool sonde__cli_upload_later(const struct sonde__cli_command *command,
                             const struct sonde__cli_upload *upload, const char *folder,
                             const char *const **ret_argv);

#endif
