// SPDX-License-Identifier: Apache-2.0
/* A library with a recorded function, like libc's: with an alias, and called inside by its own
 * linkage table and directly. */
#include "forms.h"

static volatile int sum;

int api_call(int value)
{
    sum = sum + value;
    return sum;
}
extern __typeof__(api_call) api_alias __attribute__((alias("api_call")));
static __typeof__(api_call) hidden __attribute__((alias("api_call")));

FORM void form_inside_by_table(void)
{
    CALL(api_call, FORM_INSIDE_BY_TABLE);
}

FORM void form_inside_hidden(void)
{
    CALL(hidden, FORM_INSIDE_HIDDEN);
}
