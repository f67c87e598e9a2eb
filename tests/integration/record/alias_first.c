// SPDX-License-Identifier: Apache-2.0
/* Defines the name that the next library has as another one of its function. */
__attribute__((visibility("default"))) int alias_two(void);

int alias_two(void)
{
    return 1;
}
