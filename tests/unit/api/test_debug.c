// SPDX-License-Identifier: Apache-2.0
/* The functions for debuggers, called by the program itself: compared with captures, and given
 * invalid blocks. integration/debugger calls them by debuggers. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/block.h>
#include <sonde/text.h>
#include <sonde/thread.h>

#include "test.h"

#define NOINLINE __attribute__((noinline))

enum { DEPTH = 256, HOSTILE = 150, WORDS = 10, JUNK = 4096 };

/* --- standard error, as a file --- */

static char path[4200];

static void begin(void)
{
    snprintf(path, sizeof path, "%s/printed", test_folder());
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    CHECK(fd >= 0);
    CHECK(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
    close(fd);
}

static char *printed(void)
{
    return test_read_file(path, NULL);
}

/* --- stacks --- */

static sem_t ready, done;
static uint64_t sleeper_tid;

NOINLINE void debug_test_sleeps(void);
NOINLINE void debug_test_sleeps(void)
{
    while (sem_wait(&done) != 0) {
    }
    __asm__ volatile("");
}

static void *sleeper(void *ctx)
{
    pthread_setname_np(pthread_self(), "sleeper");
    sleeper_tid = sonde_thread_self();
    sem_post(&ready);
    debug_test_sleeps();
    return ctx;
}

static unsigned lines_of(const char *from, const char *begins)
{
    unsigned count = 0;
    while (strncmp(from, begins, strlen(begins)) == 0) {
        const char *end = strchr(from, '\n');
        count++;
        from = end != NULL ? end + 1 : "";
    }
    return count;
}

NOINLINE void debug_test_prints(void);
NOINLINE void debug_test_prints(void)
{
    sonde_stacks_print();
    __asm__ volatile("");
}

TEST(stacks_are_those_of_captures)
{
    static uint64_t pcs[DEPTH];
    static uint8_t how[DEPTH];
    struct sonde_stack stack;
    struct sonde_captured captured = {.struct_bytes = sizeof captured};
    pthread_t thread;
    begin();
    sem_init(&ready, 0, 0);
    sem_init(&done, 0, 0);
    CHECK_OK(pthread_create(&thread, NULL, sleeper, NULL));
    while (sem_wait(&ready) != 0) {
    }
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    enum sonde_status status = SONDE_BUSY;
    for (unsigned i = 0; i < 2000 && status != SONDE_OK && status != SONDE_UNSUPPORTED; i++) {
        struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                                .flags = SONDE_CAPTURE_PASSIVE_ONLY};
        usleep(1000); /* until it sleeps */
        status = sonde_thread_capture(sleeper_tid, &options, &stack, &captured);
    }
    errno = ERANGE;
    debug_test_prints();
    CHECK_EQ(errno, ERANGE);
    char *text = printed();
    const char *own = strstr(text, ", which prints this\n");
    const char *other = strstr(text, " \"sleeper\"\n");
    CHECK(own != NULL && other != NULL);
    own = strchr(own, '\n') + 1;
    CHECK_EQ(strncmp(own, "#0  0x", 6), 0);
    CHECK_CONTAINS(own, "  debug_test_prints+0x");
    CHECK(strstr(own, "  debug_test_prints+0x") < strchr(own, '\n'));
    CHECK_CONTAINS(own, "  main+0x");
    other = strchr(other, '\n') + 1;
    if (status == SONDE_UNSUPPORTED) { /* an emulator */
        CHECK_CONTAINS(other, "does not show where");
    } else {
        CHECK_OK(status);
        CHECK_EQ(lines_of(other, "#"), stack.count);
        CHECK_CONTAINS(other, "  debug_test_sleeps+0x");
    }
    free(text);
    sem_post(&done);
    CHECK_OK(pthread_join(thread, NULL));
}

/* --- blocks --- */

void *_NSConcreteStackBlock[32];
struct literal {
    void *isa;
    uint32_t flags, reserved;
    void *invoke, *descriptor;
    uintptr_t words[WORDS];
};

static uint32_t state = 7;
static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Blocks, descriptors, helpers, layouts and boxes with random content only give text. */
TEST_TIMEOUT(what_is_no_block_is_survived, 300)
{
    static struct literal block;
    static uintptr_t desc[8], junk[JUNK / sizeof(uintptr_t)];
    begin();
    errno = ERANGE;
    for (unsigned i = 0; i < HOSTILE; i++) {
        for (size_t k = 0; k < sizeof junk / sizeof junk[0]; k++) {
            junk[k] = (uintptr_t)next() << 40 ^ (uintptr_t)next() << 20 ^ next();
        }
        const uintptr_t pool[16] = {0,
                                    1,
                                    8,
                                    (uintptr_t)&sonde_block_print,
                                    (uintptr_t)junk,
                                    (uintptr_t)&junk[next() % 400],
                                    (uintptr_t)&block,
                                    (uintptr_t)desc,
                                    UINTPTR_MAX,
                                    UINTPTR_MAX / 2,
                                    (uintptr_t)pool,
                                    (uintptr_t)&printf,
                                    (uintptr_t)next() << 24,
                                    64,
                                    48,
                                    0x321};
#define ANY pool[next() % 16]
        block = (struct literal){_NSConcreteStackBlock, next() << 8 ^ next(), next(),
                                 (void *)ANY, /* NOLINT(performance-no-int-to-ptr) */
                                 desc};
        if (next() % 2 != 0) {
            block.flags &= ~SONDE_BLOCK_SMALL_DESCRIPTOR;
        }
        for (unsigned k = 0; k < WORDS; k++) {
            block.words[k] = ANY;
        }
        for (unsigned k = 0; k < 8; k++) {
            desc[k] = ANY;
        }
        if (next() % 4 != 0) {
            desc[0] = 0;
            desc[1] = 32 + next() % 80;
        }
        if (next() % 2 != 0) { /* a box */
            junk[1] = (uintptr_t)junk;
            junk[2] = (uintptr_t)(24 + next() % 100) << 32 | (next() << 8 ^ next());
            junk[3] = ANY;
            junk[4] = ANY;
        }
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        sonde_block_print(next() % 16 != 0 ? (const void *)&block : (const void *)ANY);
    }
    CHECK_EQ(errno, ERANGE);
    char *text = printed();
    CHECK_CONTAINS(text, " is no block");
    CHECK_CONTAINS(text, " cannot be read");
    CHECK_CONTAINS(text, ", on a stack, ");
    CHECK_CONTAINS(text, "    +32    ");
    free(text);
}
