// SPDX-License-Identifier: Apache-2.0
/* Many blocks on the heap, most of them released again: what is left in memory of those must not be
 * taken for blocks. As a program it writes the addresses of the live ones to standard output, each
 * as 8 bytes behind their number, and waits until its input ends.
 * usage: churn COUNT KEEP_ONE_OF */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

void *_Block_copy(const void *block);
void _Block_release(const void *block);
void corpus_use(const void *first, ...)
{
    (void)first;
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

struct wide {
    char pad[160];
};

static void *make(uint64_t which, int n, corpus_block other)
{
    __block int shared = n;
    long l = n, m = n + 1;
    struct wide wide = {{(char)n}};
    switch (which % 4) {
    case 0:
        return _Block_copy(^{
          NUMBER(n);
        });
    case 1: /* so large that free() joins it with its neighbours and leaves its class */
        return _Block_copy(^{
          NUMBER(l + m + wide.pad[3]);
        });
    case 2:
        return _Block_copy(^{
          shared++;
        });
    default:
        return _Block_copy(^{
          other();
          NUMBER(n);
        });
    }
}

enum { OTHERS = 32 };

/* live: room for `count` and OTHERS. Returns how many live on. Others are made and released in
 * between, and memory that held one is used again for what is none. */
size_t churn(size_t count, unsigned keep_one_of, void **live)
{
    uint64_t state = count;
    size_t kept = 0;
    corpus_block others[OTHERS];
    void **all = malloc(count * sizeof *all);
    for (unsigned i = 0; i < OTHERS; i++) { /* a count has 15 bits only */
        others[i] = _Block_copy(^{
          NUMBER(count + i);
        });
    }
    for (size_t i = 0; i < count; i++) {
        all[i] = make(random_next(&state), (int)i, others[i % OTHERS]);
        if (random_next(&state) % 4 == 0) {
            char *junk = malloc(48); /* what was there stays, but for its first bytes */
            if (random_next(&state) % 8 == 0) {
                free(junk);
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (random_next(&state) % keep_one_of == 0) {
            live[kept++] = all[i];
        } else {
            _Block_release(all[i]);
        }
    }
    free(all);
    memcpy(live + kept, others, sizeof others);
    kept += OTHERS;
    return kept;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    unsigned keep = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2;
    void **live = malloc((count + OTHERS) * sizeof *live);
    uint64_t kept = churn(count, keep, live);
    fwrite(&kept, 8, 1, stdout);
    fwrite(live, 8, kept, stdout);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
