// SPDX-License-Identifier: Apache-2.0
/* Files of rules, and the packs that they use. */
#ifndef SONDE_RULES_FILE_H
#define SONDE_RULES_FILE_H

#include "rules.h"

/* Read a file and all that it uses, once each. A name with a slash is a path, relative to the
 * folder of the file that uses it; any other name is a pack: NAME.ini in ../share/sonde/packs from
 * the program's folder, or in the build's. rules: zeroed. Errors were printed by `print`, one line
 * each. False: there were some. Ownership: sonde__rules_done(), in either case. */
bool sonde__rules_open(const char *path, void (*print)(void *ctx, const char *line), void *ctx,
                       struct sonde__rules *ret_rules);

#endif
