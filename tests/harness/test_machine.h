// SPDX-License-Identifier: Apache-2.0
/* Load of the machine while a test runs (test_machine.c). */
#ifndef SONDE_TEST_MACHINE_H
#define SONDE_TEST_MACHINE_H

#define TEST_MACHINE_LOOK_MS      200
#define TEST_MACHINE_RECENT       5  /* looks averaged for the peak: a second */
#define TEST_MACHINE_SLOWDOWN_MAX 10 /* a hang is reported after at most ten time limits */

struct test_machine {
    unsigned looks;
    double sum;
    double recent[TEST_MACHINE_RECENT];
    double peak; /* runnable threads per processor, in the worst second */
};

/* Look once; callers do so every TEST_MACHINE_LOOK_MS. */
void test_machine_look(struct test_machine *machine);
/* How many times longer work takes than on a quiet machine: 1 or more. Time limits are multiplied
 * by it. */
double test_machine_slowdown(const struct test_machine *machine);

#endif
