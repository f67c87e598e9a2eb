// SPDX-License-Identifier: Apache-2.0
/* What is taken out of texts before they are kept (scrub.h): files, environment and option. */
#ifndef SONDE_CLI_SCRUB_H
#define SONDE_CLI_SCRUB_H

#include "cli.h"

/* Before any command: the defaults, /etc/sonde/scrub, the user's file, and SONDE_SCRUB. False: one
 * of them cannot be read, which was said: nothing is written then that somebody wanted scrubbed. */
bool sonde__cli_scrub_start(void);
/* Rules, separated by commas; they have no member. */
sonde__cli_take sonde__cli_take_scrub;
/* All rules, each ended by a newline: internal, of --follow. */
sonde__cli_take sonde__cli_take_scrub_rules;
/* The rules in use, as that option takes them; null: too long. */
const char *sonde__cli_scrub_rules(void);

// clang-format off
#define SONDE__CLI_SCRUB_OPTION                                                                    \
    {"scrub", 0, "RULES",                                                                          \
     "what is taken out of texts before they are kept (sonde(1), PRIVACY), as ip,-user; may be "   \
     "repeated",                                                                                   \
     sonde__cli_take_scrub, 0}
// clang-format on

#endif
