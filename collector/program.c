// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

const struct sonde__cli_program sonde__cli_program = {
    .name = "sonde-collector",
    .about = "sonde-collector receives reports of sonde, groups what has one cause, and answers\n"
             "questions about them over HTTP.\n",
};
