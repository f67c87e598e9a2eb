// SPDX-License-Identifier: Apache-2.0
/* Blocks of some functions, made, shared and released by four threads. At its end it prints which
 * are alive: "NAME BLOCKS BYTES", by the function that made them. Built by build.sh.
 *
 * `blocks N`: so many operations of each thread. As a library it is loaded by loads.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *_Block_copy(const void *block);
void _Block_release(const void *block);

typedef int (^block_ref)(void);

enum { THREADS = 4, MAILBOXES = 32, SITES = 4 };
static const char *const names[SITES] = {"make_plain", "make_large", "make_nested", "make_holder"};

/* Of Debian's runtime. */
struct literal {
    void *isa;
    int flags, reserved;
    void *invoke;
    const unsigned long *descriptor;
};
static size_t size_of(const void *block)
{
    return ((const struct literal *)block)->descriptor[1];
}

#define SITE __attribute__((noinline))

SITE block_ref make_plain(int a)
{
    block_ref made = _Block_copy(^{
      return a;
    });
    __asm__ volatile("" : : : "memory");
    return made;
}

SITE block_ref make_large(int a)
{
    struct {
        long words[20];
    } large = {{a}};
    block_ref made = _Block_copy(^{
      return (int)large.words[0];
    });
    __asm__ volatile("" : : : "memory");
    return made;
}

/* Two: the captured one is copied inside of the runtime. */
SITE block_ref make_nested(int a)
{
    block_ref inner = ^{
      return a;
    };
    block_ref made = _Block_copy(^{
      return inner() + 1;
    });
    __asm__ volatile("" : : : "memory");
    return made;
}

/* Holds one that is alive already. */
SITE block_ref make_holder(block_ref other)
{
    block_ref made = _Block_copy(^{
      return other() + 1;
    });
    __asm__ volatile("" : : : "memory");
    return made;
}

static _Atomic(block_ref) mailboxes[MAILBOXES];

static void post(block_ref ref, unsigned at)
{
    block_ref old = atomic_exchange(&mailboxes[at % MAILBOXES], ref);
    if (old != NULL) {
        _Block_release(old);
    }
}

static unsigned operations;

static void *work(void *seed)
{
    unsigned random = (unsigned)(size_t)seed;
    for (unsigned i = 0; i < operations; i++) {
        unsigned at = rand_r(&random);
        block_ref taken = atomic_exchange(&mailboxes[at / 8 % MAILBOXES], NULL);
        switch (taken == NULL ? at % 3 : at % 8) {
        case 0:
            post(make_plain((int)i), rand_r(&random));
            break;
        case 1:
            post(make_large((int)i), rand_r(&random));
            break;
        case 2:
            post(make_nested((int)i), rand_r(&random));
            break;
        case 3: /* sometimes: else chains would grow */
            post(at / 512 % 2 != 0 ? make_holder(taken) : make_plain(1), rand_r(&random));
            break;
        default:
            for (unsigned k = 0; k < at % 8 - 2; k++) {
                post(_Block_copy(taken), rand_r(&random));
            }
        }
        if (taken != NULL) {
            _Block_release(taken);
        }
    }
    return NULL;
}

/* The live blocks are those of the mailboxes and what they capture; each counts once. */
struct known {
    const void *block;
    int site;
} * known;
static size_t known_count;
static const void *invokes[SITES], *inner_invoke;

static void note(const void *ref)
{
    const struct literal *literal = ref;
    for (size_t i = 0; i < known_count; i++) {
        if (known[i].block == ref) {
            return;
        }
    }
    known = realloc(known, (known_count + 1) * sizeof *known);
    struct known *one = &known[known_count++];
    *one = (struct known){ref, -1};
    for (int i = 0; i < SITES; i++) {
        one->site = literal->invoke == invokes[i] ? i : one->site;
    }
    one->site = literal->invoke == inner_invoke ? 2 : one->site;
    if (one->site == 2 && literal->invoke == invokes[2]) {
        note(((void *const *)ref)[4]);
    } else if (one->site == 3) {
        note(((void *const *)ref)[4]);
    }
}

static void print_known(void)
{
    for (int site = 0; site < SITES; site++) {
        size_t blocks = 0, bytes = 0;
        for (size_t i = 0; i < known_count; i++) {
            blocks += known[i].site == site;
            bytes += known[i].site == site ? size_of(known[i].block) : 0;
        }
        printf("%s %zu %zu\n", names[site], blocks, bytes);
    }
}

static void learn(void)
{
    block_ref plain = make_plain(1),
              refs[SITES] = {plain, make_large(1), make_nested(1), make_holder(plain)};
    for (int i = 0; i < SITES; i++) {
        invokes[i] = ((const struct literal *)refs[i])->invoke;
    }
    inner_invoke = (*(struct literal *const *)((void *const *)refs[2] + 4))->invoke;
    for (int i = 0; i < SITES; i++) {
        _Block_release(refs[i]);
    }
}

int run_blocks(unsigned count)
{
    pthread_t threads[THREADS];
    operations = count;
    learn();
    pid_t child = fork(); /* makes blocks, too, unrecorded */
    if (child == 0) {
        for (int i = 0; i < 100; i++) {
            make_plain(i);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < MAILBOXES; i++) {
        if (mailboxes[i] != NULL) {
            note(mailboxes[i]);
        }
    }
    print_known();
    return 0;
}

#ifndef PLUGIN
int main(int argc, char **argv)
{
    return run_blocks(argc > 1 ? (unsigned)atoi(argv[1]) : 1000);
}
#endif
