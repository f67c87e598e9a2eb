// SPDX-License-Identifier: Apache-2.0
/* A library that makes a system call itself, for raw_forms.c. x86-64. */
long raw_loaded(void);
long raw_pads(long number, void (*may_throw)(void));

static volatile int let_go;

static void let(const int *held)
{
    let_go += *held;
}

/* -fexceptions: a place that is reached when may_throw() does. */
__attribute__((noinline, visibility("default"))) long raw_pads(long number, void (*may_throw)(void))
{
    __attribute__((cleanup(let), unused)) const int held = 1;
    long result;
    may_throw();
    __asm__ volatile("mov %1, %0\n\tsyscall"
                     : "=&a"(result)
                     : "D"(number)
                     : "rcx", "r11", "memory");
    return result;
}

__attribute__((noinline, visibility("default"))) long raw_loaded(void)
{
    long result = 110;
    __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return result;
}
