// SPDX-License-Identifier: Apache-2.0
/* One function with three names. */
#define ALIAS __attribute__((visibility("default"), alias("alias_one")))

__attribute__((visibility("default"))) int alias_one(void);
int alias_two(void) ALIAS;
int alias_three(void) ALIAS;

int alias_one(void)
{
    return 2;
}
