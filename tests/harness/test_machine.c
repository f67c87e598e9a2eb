// SPDX-License-Identifier: Apache-2.0
/* Load of the machine while a test runs: runnable threads per processor.
 *
 * The fourth field of /proc/loadavg counts the threads that run or wait to run now. Reading it
 * needs no privilege and no kernel option. Without it the machine counts as quiet, and no failure
 * is excused. */
#include <sched.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "test.h"
#include "test_machine.h"

static unsigned processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

bool test_kernel_is(unsigned major, unsigned minor)
{
    struct utsname name;
    unsigned here = 0, below = 0;
    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &here, &below) == 2 &&
           (here > major || (here == major && below >= minor));
}

void test_machine_look(struct test_machine *machine)
{
    FILE *file = fopen("/proc/loadavg", "re");
    unsigned runnable = 0;
    double share;
    if (file == NULL || fscanf(file, "%*s %*s %*s %u/", &runnable) != 1) {
        runnable = 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    share = runnable > 1 ? (double)(runnable - 1) / processors() : 0; /* not the caller */
    machine->sum += share;
    machine->recent[machine->looks++ % TEST_MACHINE_RECENT] = share;
    if (machine->looks > 1) { /* a single look may be chance */
        unsigned count =
            machine->looks < TEST_MACHINE_RECENT ? machine->looks : TEST_MACHINE_RECENT;
        double sum = 0;
        for (unsigned i = 0; i < count; i++) {
            sum += machine->recent[i];
        }
        machine->peak = sum / count > machine->peak ? sum / count : machine->peak;
    }
}

double test_machine_slowdown(const struct test_machine *machine)
{
    double mean = machine->looks > 0 ? machine->sum / machine->looks : 0;
    return mean < 1 ? 1 : mean > TEST_MACHINE_SLOWDOWN_MAX ? TEST_MACHINE_SLOWDOWN_MAX : mean;
}
