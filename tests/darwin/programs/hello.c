// SPDX-License-Identifier: Apache-2.0
/* Checks that the host runs a program: its arguments, an initialiser, thread-local variables, calls
 * of the simulated libSystem, and pointers in data. */
#include <stdio.h>
#include <string.h>

static _Thread_local int counted = 7;
static _Thread_local char empty[100];
static const char *const words[] = {"pointers", "in data"};
static int (*const print)(const char *restrict format, ...) = printf;
static int initialised;

__attribute__((constructor)) static void initialise(void)
{
    initialised = 41;
}

int main(int argc, char **argv)
{
    counted += initialised;
    if (argc != 2 || strcmp(argv[1], "argument") != 0 || counted != 48 || empty[99] != 0) {
        return 1;
    }
    printf("hello from %s\n", "Mach-O");
    print("%s %s %d %u %lx\n", words[0], words[1], -12, 34u, 0xabcdef0123ul);
    return 3;
}
