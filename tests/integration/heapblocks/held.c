// SPDX-License-Identifier: Apache-2.0
/* Blocks that hold each other; some begin or end unseen by a registry. It prints "NAME ADDRESS"
 * lines, "tid N" of the thread that made `holder`, then "ready", and waits for SIGTERM. Built by
 * build.sh.
 *
 * `held SEED`: first it overwrites the memory that it shares with its `sonde run`. With REGISTRY
 * defined it keeps a registry itself. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef REGISTRY
#    include <sonde/block_registry.h>
#endif

void *_Block_copy(const void *block);
void _Block_release(const void *block);

typedef int (^block_ref)(void);

#define SITE __attribute__((noinline))
enum { HEADER = 32 };

SITE block_ref make_plain(int a)
{
    block_ref made = _Block_copy(^{
      return a;
    });
    __asm__ volatile("" : : : "memory");
    return made;
}

SITE block_ref make_other(int a)
{
    block_ref made = _Block_copy(^{
      return a + 2;
    });
    __asm__ volatile("" : : : "memory");
    return made;
}

SITE block_ref make_holder(block_ref other)
{
    block_ref made = _Block_copy(^{
      return other() + 1;
    });
    __asm__ volatile("" : : : "memory");
    return made;
}

static block_ref plain, holder;

static void *make_in_thread(void *unused)
{
    holder = make_holder(plain);
    printf("tid %ld\n", syscall(SYS_gettid));
    return unused;
}

static void scribble_at(unsigned char *at, size_t size, unsigned *seed)
{
    for (size_t i = 0; i < size; i++) {
        unsigned what = (unsigned)rand_r(seed);
        if (what % 8 < 3) {
            at[i] = what % 8 == 0 ? 0xff : (unsigned char)(what >> 8);
        }
    }
}

/* Spares the first page, which identifies it; every other seed also spares the head of the next
 * part, which identifies that. */
static void scribble(unsigned seed)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end, offset;
        if (strstr(line, "/memfd:sonde-turns") == NULL ||
            sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3 || offset == 0) {
            continue;
        }
        size_t size = end - start, spared = seed % 2 != 0 ? 64 : 0;
        size = size > 3000000 ? 3000000 : size;
        scribble_at((unsigned char *)start + spared, size - spared, &seed);
    }
    if (maps != NULL) {
        fclose(maps);
    }
}

static void start_registry(void)
{
#ifdef REGISTRY
    struct sonde_depot *depot;
    struct sonde_block_registry *registry;
    struct sonde_error error;
    if (sonde_depot_create(1 << 16, &depot) != SONDE_OK ||
        sonde_block_registry_start(depot, &registry, &error) != SONDE_OK) {
        abort();
    }
#endif
}

int main(int argc, char **argv)
{

    pthread_t thread;
    sigset_t wanted;
    int signal;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    start_registry();
    plain = make_plain(1);
    pthread_create(&thread, NULL, make_in_thread, NULL);
    pthread_join(thread, NULL);
    /* ends, and nobody is told */
    block_ref gone = make_plain(2);
    memset((void *)gone, 0, HEADER);
    /* its address goes to another block, unseen */
    block_ref other = make_other(3), replaced = make_holder(plain);
    memcpy((void *)replaced, (void *)other, HEADER);
    /* is made, and nobody is told */
    void *copy = malloc(HEADER + 8);
    memcpy(copy, (void *)holder, HEADER + 8);
    printf("plain %p\nholder %p\ngone %p\nother %p\nreplaced %p\nunseen %p\n", (void *)plain,
           (void *)holder, (void *)gone, (void *)other, (void *)replaced, copy);
    for (int i = 0; i < 100; i++) {
        _Block_release(make_plain(i));
    }
    if (argc > 1) {
        scribble((unsigned)atoi(argv[1]));
    }
    printf("ready\n");
    fflush(stdout);
    sigwait(&wanted, &signal);
    _exit(0);
}
