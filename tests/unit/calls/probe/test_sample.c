// SPDX-License-Identifier: Apache-2.0
/* A thread that samples itself in a handler: which requests it answers, and the fate of withdrawn
 * ones. Registers and stack are compared with those that the kernel gives to the handler. */
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "os.h"
#include "probe_sample.h"
#include "test.h"

static struct sonde__probe_sample sample;
static int32_t supervisor;
static ucontext_t seen;
static unsigned calls;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    calls++;
    memcpy(&seen, context, sizeof seen);
    sonde__probe_sample_answer(&sample, supervisor, info, context);
}

static void prepare(void)
{
    const struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGURG, &ours, NULL));
    supervisor = getpid();
}

static uint64_t ask(void)
{
    uint64_t value = 0;
    CHECK(sonde__probe_sample_ask(&sample, &value));
    return value;
}

static void send(uint64_t value)
{
    unsigned before = calls;
    CHECK_OK(sonde__os_signal_thread(sonde__os_sender(), sonde__os_tid(), SIGURG, value));
    CHECK_EQ(calls, before + 1);
}

static uint64_t interrupted_sp(void)
{
#if defined(__x86_64__)
    return (uint64_t)seen.uc_mcontext.gregs[REG_RSP];
#else
    return seen.uc_mcontext.sp;
#endif
}

TEST(sample_has_registers_and_stack)
{
    prepare();
    volatile uint64_t mark = 0x5eed5eed5eed5eed;
    uint64_t value = ask();
    CHECK_EQ(sonde__probe_sample_look(&sample, value), SONDE__PROBE_ASKED);
    CHECK(sonde__probe_sample_busy(&sample));
    send(value);
    CHECK_EQ(sonde__probe_sample_look(&sample, value), SONDE__PROBE_ANSWERED);
    CHECK(!sonde__probe_sample_busy(&sample));
    CHECK_EQ(sample.stack_address, interrupted_sp());
    CHECK_EQ(sample.regs.r[sonde__arch_sp(SONDE__ARCH_HOST)], interrupted_sp());
    /* this frame is in the copy, at its place */
    uint64_t at = (uint64_t)(uintptr_t)&mark - sample.stack_address;
    uint64_t copy;
    CHECK(at + sizeof copy <= sample.stack_size);
    memcpy(&copy, sample.stack + at, sizeof copy);
    CHECK(copy == mark);
}

TEST(sample_taken_back_is_left_alone)
{
    prepare();
    uint64_t value = ask();
    CHECK(!sonde__probe_sample_drop(&sample, value));
    memset(&sample.regs, 7, sizeof sample.regs);
    send(value);
    CHECK_EQ(sample.regs.arch, 7);
    CHECK_EQ(atomic_load(&sample.late), 1);
    uint64_t next = ask(); /* an old delivery does not answer a new request */
    send(value);
    CHECK_EQ(sonde__probe_sample_look(&sample, next), SONDE__PROBE_ASKED);
    CHECK_EQ(atomic_load(&sample.late), 2);
    send(next);
    CHECK_EQ(sonde__probe_sample_look(&sample, next), SONDE__PROBE_ANSWERED);
    CHECK(sonde__probe_sample_drop(&sample, next)); /* too late to withdraw: the sample is there */
}

TEST(sample_is_nobody_elses)
{
    prepare();
    uint64_t value = ask();
    supervisor = getpid() + 1;
    send(value);
    CHECK_EQ(sonde__probe_sample_look(&sample, value), SONDE__PROBE_ASKED);
    supervisor = getpid();
    send(value & UINT32_MAX); /* without our mark */
    CHECK_OK(raise(SIGURG));
    CHECK_EQ(sonde__probe_sample_look(&sample, value), SONDE__PROBE_ASKED);
    CHECK_EQ(atomic_load(&sample.late), 0);
}

/* A request withdrawn while the handler writes: no other until the handler has ended. */
TEST(sample_left_behind_blocks_the_next)
{
    prepare();
    uint64_t value = ask(), next;
    enum { COPYING = 2, WAITING = 1 };
    atomic_store(&sample.state, (uint32_t)value - WAITING + COPYING); /* as in the handler */
    CHECK_EQ(sonde__probe_sample_look(&sample, value), SONDE__PROBE_ANSWERING);
    CHECK(!sonde__probe_sample_ask(&sample, &next));
    CHECK(!sonde__probe_sample_drop(&sample, value));
    CHECK(!sonde__probe_sample_ask(&sample, &next));
}
