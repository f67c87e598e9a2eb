// SPDX-License-Identifier: Apache-2.0
/* A library loaded late: it defines a function that others miss, and second definitions of two
 * names. */
#include "api.h"

int api_later(int value)
{
    return value + 10;
}

int api_open(int value)
{
    return value + 20;
}

int api_open64(int value)
{
    return value + 30;
}
