// SPDX-License-Identifier: Apache-2.0
/* Finds the libraries that `sonde run` preloads. */
#ifndef SONDE_CLI_LIBRARY_H
#define SONDE_CLI_LIBRARY_H

/* The path of libsonde-preload.so; null: not found. Valid until the next call of either
 * function. */
const char *sonde__cli_find_probe(void);
/* The same for another library. folder: its place in a build tree, relative to the program's
 * folder. */
const char *sonde__cli_find_library(const char *name, const char *folder);

#endif
