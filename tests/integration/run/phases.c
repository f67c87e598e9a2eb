// SPDX-License-Identifier: Apache-2.0
/* A loop whose turns are stalls of several phases, each a function of its own: SEED COUNT. Phases
 * come in random order and length, and the longest leads the next by a tenth of it or more. One
 * line a stall: "MILLISECONDS LONGEST", by the program's own clock, from wait to wait. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PHASES = 5 };

static uint64_t seed;

static unsigned random_below(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* No two of them may be folded into one, nor inlined. */
#define PHASE(letter)                                                                              \
    __attribute__((noinline)) static void phase_##letter(double ms, int burns)                     \
    {                                                                                              \
        double end = now_ms() + ms;                                                                \
        __asm__ volatile("# " #letter);                                                            \
        while (burns && now_ms() < end) {                                                          \
        }                                                                                          \
        while (!burns && now_ms() < end) {                                                         \
            double left = end - now_ms();                                                          \
            struct timespec t = {0, left > 0 ? (long)(left * 1e6) : 0};                            \
            nanosleep(&t, NULL);                                                                   \
        }                                                                                          \
        __asm__ volatile("" ::: "memory");                                                         \
    }
PHASE(a)
PHASE(b)
PHASE(c)
PHASE(d)
PHASE(e)

static void (*const phases[PHASES])(double, int) = {phase_a, phase_b, phase_c, phase_d, phase_e};

/* Returns the letter of the longest phase. */
static char stall(void)
{
    static const unsigned counts[] = {2, 3, 5};
    unsigned count = counts[random_below(3)], longest = random_below(count);
    double parts[PHASES], sum = 0, total = 300 + random_below(400);
    for (unsigned i = 0; i < count; i++) {
        parts[i] = i == longest ? 1.1 : 0.2 + random_below(1000) * 0.0008;
        sum += parts[i];
    }
    for (unsigned i = 0; i < count; i++) {
        phases[i](parts[i] / sum * total, (int)random_below(2));
    }
    return (char)('a' + longest);
}

int main(int argc, char **argv)
{
    int own[2];
    struct pollfd p = {-1, POLLIN, 0};
    if (argc < 3 || pipe(own) != 0) {
        return 1;
    }
    p.fd = own[0];
    seed = strtoull(argv[1], NULL, 10);
    for (int i = 0; i < 20; i++) { /* so that the loop is known */
        (void)poll(&p, 1, 2);
    }
    for (int i = 0; i < atoi(argv[2]); i++) {
        /* A watch that may use a hundredth of a processor cannot afford a stall of half a second
         * each half second where the machine is slow: this is about what it blames. */
        (void)poll(&p, 1, 700 + (int)random_below(30));
        double begin = now_ms();
        char longest = stall();
        printf("%.0f %c\n", now_ms() - begin, longest);
    }
    (void)poll(&p, 1, 10);
    return 0;
}
