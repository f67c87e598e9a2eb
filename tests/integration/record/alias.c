// SPDX-License-Identifier: Apache-2.0
/* Calls a function by its name once, by another name of it twice, and another library's function of
 * a third name of it. */
int alias_one(void);
int alias_two(void);
int alias_three(void);

int main(void)
{
    return alias_one() + alias_three() + alias_three() + alias_two() == 7 ? 0 : 1;
}
