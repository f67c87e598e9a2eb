// SPDX-License-Identifier: Apache-2.0
#include "bench_audit_api.h"

int bench_audit_api(int value)
{
    return value + 1;
}
