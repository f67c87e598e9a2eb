// SPDX-License-Identifier: Apache-2.0
/* An app that knows nothing of sonde: libsonde-preload.dylib is inserted. It asks a method for 500
 * thumbnails when it starts, and its run loop has an input, which is handled too slowly if there is
 * an argument. */
#include <Block.h>
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include "../sim/foundation.h"

#define STALL_NS 700000000u

static uint64_t stall_ns;

@interface Photos : NSObject
- (int)thumbnail:(int)index;
@end

@implementation Photos
- (int)thumbnail:(int)index
{
    return index;
}
@end

__attribute__((noinline)) static int show_album(void)
{
    Photos *photos = [Photos alloc];
    int sum = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 500; i++) {
        sum += [photos thumbnail:i];
    }
    return sum;
}

/* Three blocks, of which one ends. */
__attribute__((noinline)) static int make_blocks(int number)
{
    int (^blocks[3])(void);
    for (int i = 0; i < 3; i++) {
        blocks[i] = Block_copy(^{
          return number + i;
        });
    }
    int sum = blocks[0]() + blocks[1]() + blocks[2]();
    Block_release(blocks[1]);
    return sum;
}

static volatile unsigned long turns;

__attribute__((noinline)) static void load_photos(void *info)
{
    uint64_t begin = clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID); /* whatever else runs */
    (void)info;
    while (clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID) - begin < stall_ns) {
        turns++;
    }
}

struct context { /* CFRunLoopSourceContext */
    long version;
    void *info;
    const void *unused[7];
    void (*perform)(void *info);
};

__attribute__((noinline)) static void run_loop(void)
{
    struct context context = {.perform = load_photos};
    int (*run)(const void *, double, unsigned char) = dlsym(RTLD_DEFAULT, "CFRunLoopRunInMode");
    void *(*loop)(void) = dlsym(RTLD_DEFAULT, "CFRunLoopGetMain");
    void *(*make)(void *, long, void *) = dlsym(RTLD_DEFAULT, "CFRunLoopSourceCreate");
    void (*add)(void *, void *, const void *) = dlsym(RTLD_DEFAULT, "CFRunLoopAddSource");
    void (*signal)(void *) = dlsym(RTLD_DEFAULT, "CFRunLoopSourceSignal");
    const void *const *mode = dlsym(RTLD_DEFAULT, "kCFRunLoopDefaultMode");
    if (run != NULL) {
        void *source = make(NULL, 0, &context);
        add(loop(), source, *mode);
        (void)run(*mode, 0.2, 0);
        signal(source);
        (void)run(*mode, 1.5, 0);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    stall_ns = argc > 1 ? STALL_NS : STALL_NS / 100;
    int sum = show_album() + make_blocks(-1);
    run_loop();
    printf("sum %d\n", sum);
    return 0;
}
