// SPDX-License-Identifier: Apache-2.0
/* A library that makes a system call itself, for raw_forms.c. x86-64. */
long raw_loaded(void);
__attribute__((noinline, visibility("default"))) long raw_loaded(void)
{
    long result = 110;
    __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return result;
}
