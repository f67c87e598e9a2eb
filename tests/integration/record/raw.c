// SPDX-License-Identifier: Apache-2.0
/* System calls without a function: one whose number is a constant, one whose is not. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#    define RAW_CALL(number_)                                                                      \
        long result = (number_);                                                                   \
        __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory")
#else
#    define RAW_CALL(number_)                                                                      \
        register long number __asm__("x8") = (number_);                                            \
        register long result __asm__("x0");                                                        \
        __asm__ volatile("svc 0" : "=r"(result) : "r"(number) : "memory")
#endif

__attribute__((noinline)) static long raw_constant(void)
{
    RAW_CALL(SYS_getppid);
    return result;
}

__attribute__((noinline)) static long raw_variable(long which)
{
    RAW_CALL(which);
    return result;
}

int main(int argc, char **argv)
{
    volatile long which = SYS_getppid;
    int times = argc > 1 ? atoi(argv[1]) : 1;
    long parent = 0;
    for (int i = 0; i < times; i++) {
        parent |= raw_constant();
        parent |= raw_variable(which);
    }
    printf("%d\n", parent == raw_constant());
    return 0;
}
