// SPDX-License-Identifier: Apache-2.0
/* Two calls of ns::f(int), three of ns::f(char), five of ns::g(int). */
int f_int(int x) __asm__("_ZN2ns1fEi");
int f_char(char x) __asm__("_ZN2ns1fEc");
int g_int(int x) __asm__("_ZN2ns1gEi");

int main(void)
{
    int sum = f_int(1) + f_int(2);
    for (char c = 0; c < 3; c++) {
        sum += f_char(c);
    }
    for (int i = 0; i < 5; i++) {
        sum += g_int(i);
    }
    return sum == 0;
}
