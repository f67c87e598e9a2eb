// SPDX-License-Identifier: Apache-2.0
/* The simulated port keeps the same contract. */
#include <errno.h>
#include <string.h>

#include "os.h"
#include "sim.h"
#include "test.h"

TEST(scripted_threads_and_texts)
{
    uint64_t tids[4];
    int32_t fd;
    size_t total;
    struct sonde__os_wait wait;
    sonde__sim_reset();
    sonde__sim_add_thread(100);
    sonde__sim_add_thread(101);
    sonde__sim_add_text(101, SONDE__OS_THREAD_SYSCALL, "running\n");
    sonde__sim_add_text(101, SONDE__OS_THREAD_SYSCALL, "7 0x1 0x2 0x3 0x4 0x5 0x6 0x1000 0x2000\n");
    CHECK_OK(sonde__os_list_threads(0, tids, 4, &total, NULL));
    CHECK_EQ(total, 2);
    CHECK_EQ(tids[1], 101);
    CHECK_OK(sonde__os_thread_open(0, 101, SONDE__OS_THREAD_SYSCALL, &fd, NULL));
    CHECK_OK(sonde__os_read_wait(fd, &wait, NULL));
    CHECK(!sonde__os_wait_is_blocked(&wait));
    CHECK_OK(sonde__os_read_wait(fd, &wait, NULL));
    CHECK_OK(sonde__os_read_wait(fd, &wait, NULL));
    CHECK_EQ(sonde__os_wait_call(&wait).number, 7);
    CHECK_EQ(sonde__os_wait_sp(&wait), 0x1000);
    sonde__sim_deny(101, SONDE__OS_THREAD_SYSCALL, EACCES);
    CHECK_EQ(sonde__os_read_wait(fd, &wait, NULL), SONDE_DENIED);
    sonde__sim_end_thread(101);
    CHECK_EQ(sonde__os_read_wait(fd, &wait, NULL), SONDE_ABSENT);
    CHECK_EQ(sonde__os_thread_open(0, 101, SONDE__OS_THREAD_STAT, &fd, NULL), SONDE_ABSENT);
}

TEST(memory_with_holes)
{
    static const uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    uint8_t to[32];
    sonde__sim_reset();
    sonde__sim_map(0x1000, bytes, sizeof bytes);
    sonde__sim_poison(0x1008, 4);
    CHECK_EQ(sonde__os_read(0x1000, to, 16), 8);
    CHECK_EQ(to[7], 8);
    CHECK_EQ(sonde__os_read(0x1008, to, 4), 0);
    CHECK_EQ(sonde__os_read(0x100c, to, 16), 4);
    CHECK_EQ(to[0], 13);
    CHECK_EQ(sonde__os_read((uint64_t)(uintptr_t)bytes, to, 4), 0);
    sonde__sim_allow_real_memory(true);
    CHECK_EQ(sonde__os_read((uint64_t)(uintptr_t)bytes, to, 4), 4);
    CHECK_EQ(sonde__sim_read_count(), 5);
}

static uint32_t *waited;
static void let_go(const uint32_t *word)
{
    waited = (uint32_t *)(uintptr_t)word;
    *waited = 1;
}

TEST(virtual_clock)
{
    uint32_t word = 0;
    uint64_t start;
    sonde__sim_reset();
    start = sonde__os_now_ns();
    sonde__sim_advance(250);
    CHECK_EQ(sonde__os_now_ns() - start, 250);
    CHECK_EQ(sonde__os_sleep(&word, 0, 1000, false), SONDE_TIMEOUT);
    CHECK_EQ(sonde__os_now_ns() - start, 1250);
    sonde__sim_on_wait(let_go);
    CHECK_OK(sonde__os_sleep(&word, 0, SONDE__OS_FOREVER, false));
    CHECK(waited == &word);
}
