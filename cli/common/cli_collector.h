// SPDX-License-Identifier: Apache-2.0
/* Requests of commands to a collector, beside reports. */
#ifndef SONDE_CLI_COLLECTOR_H
#define SONDE_CLI_COLLECTOR_H

#include "cli.h"
#include "upload_sender.h"

struct sonde__cli_collector {
    const struct sonde__cli_command *command;
    struct sonde__upload_sender sender;    /* the last answer is in its reply */
    char base[SONDE__UPLOAD_URL_MAX + 64]; /* of the collector, without a path of its own */
};

/* how: address, key and transport. what: that is sent, for messages. Reports a failure; returns an
 * exit code. Ownership: sonde__cli_collector_done(), if it is OK. */
int sonde__cli_collector_make(const struct sonde__cli_command *command,
                              const struct sonde_upload_options *how, const char *what,
                              struct sonde__cli_collector *ret_collector);
void sonde__cli_collector_done(struct sonde__cli_collector *collector);

/* POST a body to a path of the collector, "/api/symbols". Returns the status; 0: no answer. */
int sonde__cli_collector_post(struct sonde__cli_collector *collector, const char *path,
                              const char *type, const void *body, size_t size);

/* Texts of the last answer: why it was refused, and the first part that was left out. */
struct sonde__cli_collector_words {
    char error[SONDE__UPLOAD_WHY], left_out[SONDE__UPLOAD_WHY];
};
struct sonde__cli_collector_words
sonde__cli_collector_words(const struct sonde__cli_collector *collector);

#endif
