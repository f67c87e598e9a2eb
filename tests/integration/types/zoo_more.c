// SPDX-License-Identifier: Apache-2.0
/* What zoo.c only declares; and a structure of a name that it has, too. */
#include "zoo.h"

struct elsewhere {
    long a;
    char b;
};
struct twice {
    char here;
};
struct elsewhere the_elsewhere;
struct twice the_twice;

int zoo_more(void)
{
    return the_elsewhere.b + the_twice.here;
}
