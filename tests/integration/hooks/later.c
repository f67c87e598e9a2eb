// SPDX-License-Identifier: Apache-2.0
/* A library that comes late: with a function that others wait for, and second ones of
 * two names. */
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
