// SPDX-License-Identifier: Apache-2.0
#include "ruled.h"

#include <stdlib.h>

void ask_in_library(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        (void)!getenv("LIBRARY");
    }
}

void ask_otherwise(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        (void)!getenv("OTHER");
    }
}
