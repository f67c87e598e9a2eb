// SPDX-License-Identifier: Apache-2.0
/* Rules for scrubbing texts (scrub.h), from files, environment and options. */
#ifndef SONDE_CLI_SCRUB_H
#define SONDE_CLI_SCRUB_H

#include "cli.h"

/* Called before any command: loads the defaults, /etc/sonde/scrub, the user's file and SONDE_SCRUB.
 * False: one is unreadable, which was reported; then sonde must not write what the user wants
 * scrubbed. */
bool sonde__cli_scrub_start(void);
/* Rules separated by commas; the option has no member. */
sonde__cli_take sonde__cli_take_scrub;
/* All rules, each ended by a newline. Internal, for --follow. */
sonde__cli_take sonde__cli_take_scrub_rules;
/* The current rules in the form of that option; null: too long. */
const char *sonde__cli_scrub_rules(void);

// clang-format off
#define SONDE__CLI_SCRUB_OPTION                                                                    \
    {"scrub", 0, "RULES",                                                                          \
     "what to remove from texts before they are stored (sonde(1), PRIVACY), as ip,-user; may "     \
     "be repeated",                                                                                   \
     sonde__cli_take_scrub, 0}
// clang-format on

#endif
