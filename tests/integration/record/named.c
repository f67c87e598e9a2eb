// SPDX-License-Identifier: Apache-2.0
/* Functions with names as of C++: ns::f(int), ns::f(char), ns::g(int). */
#pragma GCC visibility push(default)
int f_int(int x) __asm__("_ZN2ns1fEi");
int f_char(char x) __asm__("_ZN2ns1fEc");
int g_int(int x) __asm__("_ZN2ns1gEi");

int f_int(int x)
{
    return x + 1;
}

int f_char(char x)
{
    return x + 2;
}

int g_int(int x)
{
    return x + 3;
}
