// SPDX-License-Identifier: Apache-2.0
/* Where the libraries are that `sonde run` preloads. */
#ifndef SONDE_CLI_LIBRARY_H
#define SONDE_CLI_LIBRARY_H

/* The path of libsonde-preload.so, or null: it is not beside the program. Valid until the next
 * call, as that of sonde__cli_find_library(). */
const char *sonde__cli_find_probe(void);
/* The same of another library. folder: where a build tree has it, from the folder of the program.
 */
const char *sonde__cli_find_library(const char *name, const char *folder);

#endif
