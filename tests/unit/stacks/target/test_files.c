// SPDX-License-Identifier: Apache-2.0
/* The kept files of a thread (target_files.h), also when another one has got its number. */
#include <dirent.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target_files.h"
#include "test.h"

enum { LOOKS_MAX = 10000, LOOK_US = 1000 };

static struct sonde__target_files files;

/* 0: the kernel chooses the number, also under an emulator without clone3(). */
static pid_t start(pid_t pid)
{
    const struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    long got = pid != 0 ? syscall(SYS_clone3, &args, sizeof args) : fork();
    if (got == 0) {
        for (;;) {
            pause();
        }
    }
    return (pid_t)got;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* The system frees the number a moment after the process is gone. */
static void replace(pid_t pid)
{
    end(pid);
    pid_t got = start(pid);
    for (unsigned n = 0; n < LOOKS_MAX && got != pid; n++) {
        usleep(LOOK_US);
        got = start(pid);
    }
    CHECK_EQ(got, pid);
}

static pid_t start_replaceable(void)
{
    pid_t pid = start(0);
    CHECK(pid > 0);
    end(pid);
    if (start(pid) != pid) {
        SKIP("this user may not choose a process' number");
    }
    return pid;
}

static bool read_state(pid_t pid)
{
    struct sonde__host_thread now = {.letter = '?'};
    bool opened;
    CHECK_OK(sonde__target_files_read(&files, pid, (uint64_t)pid, &now, &opened));
    CHECK(now.letter != '?');
    CHECK_EQ(now.tid, pid);
    return opened;
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

TEST(files_stay_open_for_one_thread)
{
    unsigned before = count_descriptors();
    pid_t one = start(0), other = start(0);
    CHECK(one > 0 && other > 0);
    CHECK(read_state(one));
    CHECK_OK(sonde__target_files_wait(&files, one));
    int32_t syscall_fd = files.syscall;
    CHECK(!read_state(one));
    CHECK_OK(sonde__target_files_wait(&files, one));
    CHECK_EQ(files.syscall, syscall_fd);
    CHECK(count_descriptors() <= before + 3);
    CHECK(read_state(other));
    CHECK_EQ(files.syscall, -1);
    CHECK_EQ(count_descriptors(), before + 1);
    sonde__target_files_close(&files);
    CHECK_EQ(count_descriptors(), before);
    end(one);
    end(other);
}

TEST(files_of_an_ended_thread_are_opened_anew)
{
    struct sonde__host_thread now;
    bool opened;
    pid_t pid = start_replaceable();
    CHECK(read_state(pid));
    replace(pid);
    CHECK(read_state(pid));
    CHECK(!read_state(pid));
    end(pid);
    CHECK_EQ(sonde__target_files_read(&files, pid, (uint64_t)pid, &now, &opened), SONDE_ABSENT);
    CHECK_EQ(files.tid, 0);
}

/* Its state was that of the ended one, so its wait is not shown with it. */
TEST(files_are_not_those_of_two_threads)
{
    pid_t pid = start_replaceable();
    CHECK(read_state(pid));
    replace(pid);
    CHECK_EQ(sonde__target_files_wait(&files, pid), SONDE_BUSY);
    CHECK_EQ(files.tid, 0);
    end(pid);
}
