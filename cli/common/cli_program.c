// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

const struct sonde__cli_program sonde__cli_program = {
    .name = "sonde",
    .about = "sonde shows what a running native program is doing: which calls led here, and\n"
             "why it is stuck.\n",
};
