// SPDX-License-Identifier: Apache-2.0
/* A file during writing, and the condition that its reader waits for. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_writer.h"
#include "test.h"

#define PATIENCE_NS 30000000000u

static char path[512];

static int32_t ended_pid(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    return (int32_t)pid;
}

static int start_writing(void)
{
    snprintf(path, sizeof path, "%s/report", test_folder());
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    sonde__host_writer_lock(fd);
    return fd;
}

/* A read without an end may be older than the writer's last words. */
TEST(a_writer_that_has_ended_may_have_written_since)
{
    close(start_writing());
    CHECK(sonde__host_writer_await(path, ended_pid(), PATIENCE_NS));
    CHECK(sonde__host_writer_await(path, (int32_t)getpid(), PATIENCE_NS));
}

TEST(a_writer_is_waited_for)
{
    int fd = start_writing();
    pid_t writer = fork();
    if (writer == 0) { /* has the lock's descriptor, too */
        usleep(50000);
        _exit(0);
    }
    close(fd);
    CHECK(sonde__host_writer_await(path, ended_pid(), PATIENCE_NS));
    CHECK_EQ(waitpid(writer, NULL, 0), writer);
}

TEST(a_program_that_runs_is_not_waited_for)
{
    int fd = start_writing();
    CHECK(!sonde__host_writer_await(path, (int32_t)getpid(), PATIENCE_NS));
    CHECK(!sonde__host_writer_await(path, ended_pid(), 20000000));
    close(fd);
}

TEST(a_file_that_is_not_there)
{
    snprintf(path, sizeof path, "%s/none", test_folder());
    CHECK(!sonde__host_writer_await(path, ended_pid(), PATIENCE_NS));
}
