// SPDX-License-Identifier: Apache-2.0
#include "loading.h"

int opened(int value)
{
    return chosen(value);
}
