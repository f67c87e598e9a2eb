// SPDX-License-Identifier: Apache-2.0
/* Calls from different stacks in code without call frame information and frame pointers: each walk
 * must search. Prints its calls and its CPU time in milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned seed = 1;

static int left(int depth);
static int right(int depth);

static __attribute__((noinline)) int go_on(int depth)
{
    volatile char room[24];
    room[0] = (char)depth;
    seed = seed * 1103515245 + 12345;
    if (depth == 0) {
        return getppid() != 0 ? room[0] : 1;
    }
    return ((seed >> 16 & 1) != 0 ? left(depth - 1) : right(depth - 1)) + room[0];
}

static __attribute__((noinline)) int left(int depth)
{
    volatile char room[40];
    room[1] = 1;
    return go_on(depth) + room[1];
}

static __attribute__((noinline)) int right(int depth)
{
    volatile char room[104];
    room[2] = 2;
    return go_on(depth) + room[2];
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 1, sum = 0;
    for (int i = 0; i < calls; i++) {
        sum += go_on(10 + i % 7);
    }
    printf("%d calls, %ld ms\n", calls, (long)(clock() / (CLOCKS_PER_SEC / 1000)));
    return sum == 0;
}
