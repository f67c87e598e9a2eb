// SPDX-License-Identifier: Apache-2.0
/* What the machine gives while a test runs (test_machine.c). */
#ifndef SONDE_TEST_MACHINE_H
#define SONDE_TEST_MACHINE_H

#define TEST_MACHINE_LOOK_MS      200
#define TEST_MACHINE_RECENT       5  /* looks that make the peak: a second */
#define TEST_MACHINE_SLOWDOWN_MAX 10 /* a hang is told after ten time limits at the latest */

struct test_machine {
    unsigned looks;
    double sum;
    double recent[TEST_MACHINE_RECENT];
    double peak; /* threads that could run for each processor, in the worst second */
};

/* Look once; callers do so every TEST_MACHINE_LOOK_MS. */
void test_machine_look(struct test_machine *machine);
/* How many times longer than on a quiet machine work takes: 1 or more. Time limits are multiplied
 * by it. */
double test_machine_slowdown(const struct test_machine *machine);

#endif
