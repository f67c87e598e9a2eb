// SPDX-License-Identifier: Apache-2.0
/* Finds what is installed with sonde: the libraries that `sonde run` preloads, packs of rules. */
#ifndef SONDE_CLI_LIBRARY_H
#define SONDE_CLI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd.h"

/* The path of libsonde-preload.so; null: not found. Valid until the next call of either
 * function. */
const char *sonde__cli_find_probe(void);
/* The same for another library. folder: its place in a build tree, relative to the program's
 * folder. */
const char *sonde__cli_find_library(const char *name, const char *folder);

/* The path of a pack of rules by its name, without slash. False: there is none. */
bool sonde__cli_find_pack(const char *name, char *ret_path, size_t capacity);

/* Print which libraries were needed to decompress debug information, and were not found. */
void sonde__cli_print_missing(const struct sonde__cli_command *command);

#endif
