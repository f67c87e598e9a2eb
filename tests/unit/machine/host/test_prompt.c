// SPDX-License-Identifier: Apache-2.0
/* Short time slices, as the kernel shows them. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_prompt.h"
#include "test.h"

/* struct sched_attr (sched_setattr(2)), first version */
struct slice {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static struct slice read_slice(void)
{
    struct slice slice = {.size = sizeof slice};
    if (syscall(SYS_sched_getattr, 0, &slice, sizeof slice, 0) != 0) {
        SKIP("no sched_getattr");
    }
    return slice;
}

/* Does the kernel keep a slice that a thread asks for? */
static bool has_slices(void)
{
    struct slice slice = read_slice();
    slice.size = sizeof slice;
    slice.runtime = 7000000;
    return syscall(SYS_sched_setattr, 0, &slice, 0) == 0 && read_slice().runtime == 7000000;
}

static void *be_prompt(void *ctx)
{
    struct slice *slices = ctx;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 3);
    slices[0] = read_slice();
    sonde__host_be_prompt();
    slices[1] = read_slice();
    return NULL;
}

TEST(a_prompt_thread_has_short_slices_and_nothing_else)
{
    struct slice slices[2];
    pthread_t thread;
    if (!has_slices()) {
        SKIP("this kernel has no slices");
    }
    CHECK_EQ(pthread_create(&thread, NULL, be_prompt, slices), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(slices[1].runtime, SONDE__HOST_PROMPT_SLICE_NS);
    CHECK_EQ(slices[1].nice, 3);
    slices[1].runtime = slices[0].runtime;
    CHECK(memcmp(&slices[1], &slices[0], sizeof slices[0]) == 0);
    CHECK_EQ(read_slice().runtime, 7000000); /* of this thread */
}

static void *be_batch(void *ctx)
{
    const struct sched_param none = {0};
    CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_BATCH, &none), 0);
    return be_prompt(ctx);
}

TEST(a_prompt_thread_keeps_its_policy)
{
    struct slice slices[2];
    pthread_t thread;
    if (!has_slices()) {
        SKIP("this kernel has no slices");
    }
    CHECK_EQ(pthread_create(&thread, NULL, be_batch, slices), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(slices[1].policy, SCHED_BATCH);
    CHECK_EQ(slices[1].runtime, SONDE__HOST_PROMPT_SLICE_NS);
}
