// SPDX-License-Identifier: Apache-2.0
// Blocks that ARC makes and lets go, by the runtime of the corpus as a library of its own. It prints
// "live N", what it knows to live, then "ready", and waits for SIGTERM. Built by build.sh.
#include "../blocks/corpus/corpus.h"

int printf(const char *format, ...);
int fflush(void *file);
unsigned sleep(unsigned seconds);
void corpus_use(const void *first, ...) {}

enum { KEPT = 40, ROUNDS = 1000 };

static corpus_block kept[KEPT];
static int nested[KEPT];

// One; what was kept there before goes.
__attribute__((noinline)) static void make_one(unsigned at, long n)
{
    kept[at] = ^{ NUMBER(n); };
    nested[at] = 0;
}

// Two: the one that is captured goes with the other.
__attribute__((noinline)) static void make_two(unsigned at, long n)
{
    corpus_block inner = ^{ NUMBER(n); };
    kept[at] = ^{ inner(); };
    nested[at] = 1;
}

__attribute__((noinline)) static void share(unsigned at, unsigned other)
{
    corpus_block taken = kept[other];
    kept[at] = taken;
    kept[at] = 0;
    nested[at] = 0;
}

int main(void)
{
    unsigned random = 1, live = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        unsigned at = random / 65536 % KEPT, other = (at + 1) % KEPT;
        switch (random / 16777216 % 3) {
        case 0:
            make_one(at, i);
            break;
        case 1:
            make_two(at, i);
            break;
        default:
            share(at, other);
        }
    }
    for (unsigned i = 0; i < KEPT; i++) {
        live += kept[i] != 0 ? 1 + nested[i] : 0;
    }
    printf("live %u\nready\n", live);
    fflush(0);
    for (;;) {
        sleep(100);
    }
}
