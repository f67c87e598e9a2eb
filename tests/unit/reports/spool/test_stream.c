// SPDX-License-Identifier: Apache-2.0
/* The live file: whole records and then zero bytes at every moment, whoever is killed when. */
#include "spool_stream.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report_read.h"
#include "runs.h"
#include "test.h"

static int open_file(char *path, size_t capacity)
{
    snprintf(path, capacity, "%s/live", test_folder());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

TEST(stream_has_the_records_and_zero_bytes)
{
    struct sonde__spool_stream stream;
    char path[512];
    size_t size;
    int fd = open_file(path, sizeof path);
    CHECK_EQ(sonde__spool_stream_open(&stream, fd), 0);
    CHECK_OK(sonde__spool_stream_write(&stream, "\nfirst", 6));
    CHECK_OK(sonde__spool_stream_write(&stream, "\nsecond", 7));
    char *bytes = test_read_file(path, &size);
    CHECK_EQ(size, SONDE__SPOOL_STREAM_BYTES);
    CHECK(memcmp(bytes, "\nfirst\nsecond\0\0", 15) == 0);
    free(bytes);
    sonde__spool_stream_reset(&stream);
    bytes = test_read_file(path, &size);
    for (size_t i = 0; i < size; i++) {
        CHECK_EQ(bytes[i], 0);
    }
    free(bytes);
    CHECK_OK(sonde__spool_stream_write(&stream, "\nthird", 6));
    sonde__spool_stream_close(&stream);
    bytes = test_read_file(path, &size);
    CHECK(memcmp(bytes, "\nthird\0\0", 8) == 0);
    free(bytes);
    close(fd);
}

TEST(stream_grows_up_to_its_maximum)
{
    static char record[100000];
    struct sonde__spool_stream stream;
    char path[512];
    size_t written = 0;
    int fd = open_file(path, sizeof path);
    memset(record, 'r', sizeof record);
    CHECK_EQ(sonde__spool_stream_open(&stream, fd), 0);
    while (sonde__spool_stream_write(&stream, record, sizeof record) == SONDE_OK) {
        written += sizeof record;
    }
    CHECK(written > SONDE__SPOOL_STREAM_BYTES_MAX - 2 * sizeof record);
    CHECK(written < SONDE__SPOOL_STREAM_BYTES_MAX);
    CHECK_EQ(stream.used, written);
    CHECK_OK(sonde__spool_stream_write(&stream, record, sonde__spool_stream_left(&stream)));
    CHECK_EQ(stream.live.bytes[stream.live.size - 1], 0);
    CHECK_EQ(sonde__spool_stream_write(&stream, record, 1), SONDE_LIMIT);
    sonde__spool_stream_close(&stream);
    close(fd);
}

/* A disk that has no room, as far as a test can have one: a limit on the size of files. The signal
 * that comes with it must not end us. */
TEST(stream_without_room_keeps_what_it_has)
{
    static char record[200000];
    struct sonde__spool_stream stream;
    const struct rlimit limit = {300000, RLIM_INFINITY};
    char path[512];
    size_t size;
    int fd = open_file(path, sizeof path);
    memset(record, 'r', sizeof record);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_EQ(sonde__spool_stream_open(&stream, fd), 0);
    CHECK_OK(sonde__spool_stream_write(&stream, record, sizeof record));
    CHECK_EQ(sonde__spool_stream_write(&stream, record, sizeof record), SONDE_LIMIT);
    CHECK_OK(sonde__spool_stream_write(&stream, "\nmore", 5));
    sonde__spool_stream_close(&stream);
    char *bytes = test_read_file(path, &size);
    CHECK_EQ(size, SONDE__SPOOL_STREAM_BYTES);
    CHECK(memcmp(bytes + sizeof record, "\nmore\0", 6) == 0);
    free(bytes);
    close(fd);
}

TEST(stream_that_cannot_be_made_is_refused)
{
    struct sonde__spool_stream stream;
    const struct rlimit limit = {1000, RLIM_INFINITY};
    char path[512];
    int fd = open_file(path, sizeof path);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK(sonde__spool_stream_open(&stream, fd) != 0);
    CHECK(stream.live.bytes == NULL);
    sonde__spool_stream_close(&stream);
    close(fd);
}

/* A child that writes as fast as it can is killed at any moment; it also begins the file anew.
 * shared: how many parts it has written, before and after each. */
static void write_until_killed(volatile uint64_t *shared)
{
    struct run run;
    run_begin(&run, (int32_t)getpid());
    for (uint32_t i = 0; i < 1000000; i++) {
        shared[0] = i;
        run_add_part(&run, 5, i, true);
        shared[1] = i + 1;
    }
    _exit(0);
}

TEST_TIMEOUT(stream_survives_a_kill_at_any_moment, 60)
{
    volatile uint64_t *shared =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    for (unsigned i = 0; i < 40; i++) {
        char run[SONDE__SPOOL_NAME], name[SONDE__SPOOL_NAME];
        struct sonde__spool_runs runs;
        int status;
        shared[0] = shared[1] = 0;
        pid_t child = fork();
        if (child == 0) {
            write_until_killed(shared);
        }
        while (shared[1] < 100 + i * 37) {
            usleep(50);
        }
        CHECK_EQ(kill(child, SIGKILL), 0);
        CHECK_EQ(waitpid(child, &status, 0), child);
        int32_t folder = runs_open_folder();
        CHECK_OK(sonde__spool_find_runs(folder, SONDE__SPOOL_LIVE, &runs));
        snprintf(run, sizeof run, "%s", runs.names[runs.count - 1]);
        sonde__spool_file_name(run, SONDE__SPOOL_LIVE, name);
        struct sonde__report *live = runs_read(name);
        CHECK_EQ(sonde__report_stall_count(live), 1);
        const struct sonde__report_stall *stall = sonde__report_stall(live, 0);
        CHECK(stall->sample_count >= shared[1] && stall->sample_count <= shared[0] + 1);
        for (uint32_t k = 0; k < stall->sample_count; k++) {
            CHECK_EQ(stall->samples[k].time_ns, (uint64_t)k * 10 * MS);
        }
        sonde__report_destroy(live);
        free(runs.names);
        CHECK_EQ(unlinkat(folder, name, 0), 0);
        close(folder);
    }
    munmap((void *)(uintptr_t)shared, 4096);
}
