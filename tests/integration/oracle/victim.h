// SPDX-License-Identifier: Apache-2.0
/* Programs for the stepper: they call stock libraries, and check nothing. */
#ifndef TEST_ORACLE_VICTIM_H
#define TEST_ORACLE_VICTIM_H

/* Stepping may start here (x86-64; the program is always traced). */
#if defined(__x86_64__)
#    define MARK() __asm__ volatile("int3")
#else
#    define MARK() ((void)0)
#endif

#define NOINLINE __attribute__((noinline))

#endif
