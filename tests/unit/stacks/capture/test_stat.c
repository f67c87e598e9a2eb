// SPDX-License-Identifier: Apache-2.0
/* /proc/self/task/T/stat: our reading against what we set ourselves, and against bad texts. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arch_regs.h"
#include "capture_thread.h"
#include "test.h"

TEST(masks_and_letter_of_this_thread)
{
    struct sonde__capture_stat stat;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigaddset(&set, SIGUSR2);
    prctl(PR_SET_NAME, "odd) R 1 (", 0, 0, 0);
    CHECK_OK(sonde__capture_read_stat((uint64_t)getpid(), &stat));
    CHECK_EQ(stat.letter, 'R');
    CHECK_EQ(stat.blocked >> (SIGURG - 1) & 1, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    CHECK_OK(sonde__capture_read_stat((uint64_t)getpid(), &stat));
    CHECK_EQ(stat.blocked >> (SIGURG - 1) & 1, 1);
    CHECK_EQ(stat.blocked >> (SIGUSR2 - 1) & 1, 1);
    CHECK_EQ(stat.blocked >> (SIGUSR1 - 1) & 1, 0);
    CHECK_EQ(stat.pending >> (SIGUSR2 - 1) & 1, 0);
    raise(SIGUSR2);
    CHECK_OK(sonde__capture_read_stat((uint64_t)getpid(), &stat));
    CHECK_EQ(stat.pending >> (SIGUSR2 - 1) & 1, 1);
    CHECK_EQ(sonde__capture_read_stat(1, &stat), SONDE_ABSENT);
}

TEST(bad_texts)
{
    static const char *const texts[] = {"",        "1",          ")",          "1 (a",
                                        "1 (a) S", "1 (a)S 2 3", "1 (a) S 1\n"};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sonde__capture_stat stat;
        CHECK(!sonde__capture_parse_stat(texts[i], strlen(texts[i]), &stat));
    }
}

TEST(offsets_of_the_assembler)
{
    CHECK_EQ(offsetof(struct sonde__regs, r), 0);
    CHECK_EQ(offsetof(struct sonde__regs, pc), 280);
    CHECK_EQ(offsetof(struct sonde__regs, known), 288);
    CHECK_EQ(offsetof(struct sonde__regs, arch), 296);
    CHECK_EQ(sizeof(struct sonde__regs), 304);
}
