// SPDX-License-Identifier: Apache-2.0
/* A program that a debugger stops while its heap's lock and the loader's are held: the first by the
 * thread that stops in here(), the second by another one. Whoever wants one of them waits for good.
 * Its heap is its own, so that this holds with any C library. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { HEAP_BYTES = 1 << 22, HEAD = 16 };

/* A block as a compiler for C lays it out, by hand: any compiler can build this. */
void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32];
struct literal {
    void *isa;
    uint32_t flags, reserved;
    void (*invoke)(struct literal *block);
    const void *descriptor;
    struct literal *other;
    uint32_t number;
};
static const struct {
    uintptr_t reserved, size;
    const char *signature;
} descriptor = {0, 44, "v8@?0"};

static void everywhere_block_invoke(struct literal *block)
{
    block->number++;
}
struct literal everywhere = {
    _NSConcreteGlobalBlock, 5u << 28, 0, everywhere_block_invoke, &descriptor, NULL, 0};

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) unsigned char heap[HEAP_BYTES];
static size_t used;
static int stops;

void here(const struct literal *block);
void __attribute__((noinline)) here(const struct literal *block)
{
    __asm__ volatile("" : : "r"(block) : "memory");
}

static const struct literal *shown;

__attribute__((noinline)) void *malloc(size_t size)
{
    pthread_mutex_lock(&heap_lock);
    unsigned char *at = heap + used;
    used += HEAD + (size + 15) / 16 * 16;
    if (used > HEAP_BYTES) {
        _exit(3);
    }
    memcpy(at, &size, sizeof size);
    if (stops) {
        here(shown);
    }
    pthread_mutex_unlock(&heap_lock);
    return at + HEAD;
}

void free(void *memory)
{
    (void)memory;
    pthread_mutex_lock(&heap_lock);
    pthread_mutex_unlock(&heap_lock);
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* of zeroed memory, each byte once */
}

void *realloc(void *memory, size_t size)
{
    void *fresh = malloc(size);
    size_t before = 0;
    if (memory != NULL) {
        memcpy(&before, (unsigned char *)memory - HEAD, sizeof before);
        memcpy(fresh, memory, before < size ? before : size);
    }
    return fresh;
}

int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
    unsigned char *memory = malloc(size + alignment);
    *ret_memory = memory + (alignment - (uintptr_t)memory % alignment) % alignment;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *memory;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static sem_t held;

int hold_loader(struct dl_phdr_info *info, size_t size, void *ctx);
int __attribute__((noinline)) hold_loader(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)info;
    (void)size;
    (void)ctx;
    sem_post(&held);
    for (;;) {
        pause();
    }
}

static void *run_holder(void *ctx)
{
    pthread_setname_np(pthread_self(), "holder");
    dl_iterate_phdr(hold_loader, NULL);
    return ctx;
}

static void handler_block_invoke(struct literal *block)
{
    block->number++;
}

int main(void)
{
    struct literal inner = {_NSConcreteStackBlock, 1u << 30, 0,         handler_block_invoke,
                            &descriptor,           NULL,     0x12345678};
    pthread_t thread;
    sem_init(&held, 0, 0);
    pthread_create(&thread, NULL, run_holder, NULL);
    while (sem_wait(&held) != 0 && errno == EINTR) {
    }
    inner.other = &inner;
    shown = &inner;
    stops = 1;
    inner.invoke(malloc(sizeof inner));
    return 0;
}
