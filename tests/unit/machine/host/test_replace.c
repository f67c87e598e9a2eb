// SPDX-License-Identifier: Apache-2.0
/* Files that appear whole, and a limit on their size: no signal, no action, no file is changed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_replace.h"
#include "host_run.h"
#include "host_scratch.h"
#include "test.h"

enum { LIMIT_BYTES = 1 << 16, LARGE_BYTES = 1 << 20 };

static volatile sig_atomic_t handled;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    handled++;
}

static void limit_files(void)
{
    const struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    CHECK_OK(setrlimit(RLIMIT_FSIZE, &limit));
}

/* Everything that makes a file larger than the limit allows. */
static void exceed(void)
{
    static const char bytes[LARGE_BYTES];
    struct sonde__host_scratch scratch;
    struct sonde_error error;
    char path[512];
    void *memory;
    int32_t fd;
    CHECK_EQ(sonde__host_shared_create(LARGE_BYTES, &fd, &memory, &error), SONDE_OS);
    CHECK_EQ(error.os_error, EFBIG);
    CHECK_EQ(sonde__host_landmark_create("large", bytes, LARGE_BYTES, &memory), SONDE_OS);
    CHECK_EQ(sonde__host_scratch_open(LARGE_BYTES, &scratch, &error), SONDE_LIMIT);
    snprintf(path, sizeof path, "%s/large", test_folder());
    CHECK_EQ(sonde__host_file_replace(path, bytes, LARGE_BYTES, 0600), EFBIG);
    CHECK(access(path, F_OK) != 0);
}

static void check_action_stays(const struct sigaction *action)
{
    struct sigaction before, after;
    CHECK_OK(sigaction(SIGXFSZ, action, NULL));
    CHECK_OK(sigaction(SIGXFSZ, NULL, &before));
    exceed();
    CHECK_OK(sigaction(SIGXFSZ, NULL, &after));
    CHECK(after.sa_sigaction == before.sa_sigaction);
    CHECK_EQ(after.sa_flags, before.sa_flags);
    CHECK_EQ(memcmp(&after.sa_mask, &before.sa_mask, 8), 0); /* what the kernel has */
}

TEST(beyond_the_limit_no_action_is_changed_and_no_signal_comes)
{
    struct sigaction own = {.sa_sigaction = on_signal,
                            .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER | SA_ONSTACK};
    const struct sigaction by_default = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
    sigset_t pending;
    limit_files();
    sigaddset(&own.sa_mask, SIGUSR1);
    check_action_stays(&own);
    check_action_stays(&by_default); /* which would end us */
    check_action_stays(&ignored);
    CHECK_EQ(handled, 0);
    CHECK_OK(sigpending(&pending));
    CHECK_EQ(sigismember(&pending, SIGXFSZ), 0);
}

TEST(a_signal_that_the_thread_holds_back_stays)
{
    const struct sigaction own = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigset_t set, now;
    limit_files();
    CHECK_OK(sigaction(SIGXFSZ, &own, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    raise(SIGXFSZ);
    exceed();
    CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, &now));
    CHECK_EQ(sigismember(&now, SIGXFSZ), 1);
    CHECK_EQ(handled, 1);
}

/* --- replaced --- */

static const char *in_folder(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

TEST(a_file_is_replaced_whole)
{
    struct stat st;
    umask(022);
    CHECK_OK(sonde__host_file_replace(in_folder("f"), "hello", 5, 0666));
    CHECK_OK(stat(in_folder("f"), &st));
    CHECK_EQ(st.st_mode & 0777, 0644);
    CHECK_EQ(st.st_size, 5);
    CHECK_OK(sonde__host_file_replace(in_folder("f"), "", 0, 0600));
    CHECK_OK(stat(in_folder("f"), &st));
    CHECK_EQ(st.st_mode & 0777, 0600);
    CHECK_EQ(st.st_size, 0);
    CHECK_EQ(sonde__host_file_replace(in_folder("none/f"), "hello", 5, 0600), ENOENT);
}

/* Names left by earlier writers with this pid are no obstacle. */
TEST(leftovers_of_a_writer_block_nobody)
{
    char name[64];
    struct stat st;
    for (int pid = getpid() - 2; pid <= getpid() + 2; pid++) {
        snprintf(name, sizeof name, "f.%d.part", pid);
        test_write_file(in_folder(name), "cut", 3);
    }
    CHECK_OK(sonde__host_file_replace(in_folder("f"), "hello", 5, 0600));
    CHECK_OK(stat(in_folder("f"), &st));
    CHECK_EQ(st.st_size, 5);
}

static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *folder = opendir(test_folder());
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count - 2; /* . and .. */
}

TEST(the_next_writer_of_a_file_removes_leftovers_of_it_alone)
{
    static const char *const others[] = {"g.0123456789abcdef.part", "f.0123456789abcde.part",
                                         "f.0123456789abcdeg.part", "f.0123456789abcdef.parts",
                                         "f0123456789abcdef.part",  "f.0123456789abcdef0.part"};
    enum { OTHERS = sizeof others / sizeof others[0] };
    for (unsigned i = 0; i < OTHERS; i++) {
        test_write_file(in_folder(others[i]), "cut", 3);
    }
    test_write_file(in_folder("f.0123456789abcdef.part"), "cut", 3);
    test_write_file(in_folder("f.0000000000000000.part"), "cut", 3);
    int written = open(in_folder("f.ffffffffffffffff.part"), O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK_OK(flock(written, LOCK_EX));
    CHECK_OK(sonde__host_file_replace(in_folder("f"), "hello", 5, 0600));
    CHECK_EQ(count_files(), OTHERS + 2);
    close(written);
    CHECK_OK(chdir(test_folder()));
    CHECK_OK(sonde__host_file_replace("f", "hello", 5, 0600));
    CHECK_EQ(count_files(), OTHERS + 1);
    CHECK_OK(chdir("/"));
}

TEST(only_what_nobody_writes_is_removed)
{
    int folder = open(test_folder(), O_RDONLY | O_DIRECTORY);
    CHECK(sonde__host_may_be_unfinished("a.sndidx.00ff.part"));
    CHECK(!sonde__host_may_be_unfinished(".part"));
    CHECK(!sonde__host_may_be_unfinished("part"));
    CHECK(!sonde__host_may_be_unfinished("a.parts"));
    test_write_file(in_folder("left.part"), "cut", 3);
    int written = open(in_folder("written.part"), O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK_OK(flock(written, LOCK_EX));
    CHECK_OK(mkdir(in_folder("folder.part"), 0700));
    CHECK_OK(symlink("left", in_folder("link.part")));
    CHECK_OK(mkfifo(in_folder("fifo.part"), 0600));
    CHECK(sonde__host_remove_unfinished(folder, "left.part"));
    CHECK(access(in_folder("left.part"), F_OK) != 0);
    CHECK(!sonde__host_remove_unfinished(folder, "left.part"));
    CHECK(!sonde__host_remove_unfinished(folder, "written.part"));
    CHECK(!sonde__host_remove_unfinished(folder, "folder.part"));
    CHECK(!sonde__host_remove_unfinished(folder, "link.part"));
    CHECK(!sonde__host_remove_unfinished(folder, "fifo.part"));
    close(written);
    CHECK(sonde__host_remove_unfinished(folder, "written.part"));
    close(folder);
}

/* Two writers at a time, one of them often killed in the middle: the file is always whole. */
TEST_TIMEOUT(a_killed_writer_leaves_the_file_as_it_was, 120)
{
    enum { WRITERS = 40 };
    char *bytes = calloc(1, LARGE_BYTES);
    struct stat st;
    CHECK_OK(sonde__host_file_replace(in_folder("f"), bytes, LARGE_BYTES, 0600));
    for (int i = 0; i < WRITERS; i++) {
        pid_t writer = fork();
        if (writer == 0) {
            while (sonde__host_file_replace(in_folder("f"), bytes, LARGE_BYTES, 0600) == 0) {
            }
            _exit(1);
        }
        for (int n = 0; n <= i % 4; n++) {
            CHECK_OK(sonde__host_file_replace(in_folder("f"), bytes, LARGE_BYTES, 0600));
        }
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
        CHECK_OK(stat(in_folder("f"), &st));
        CHECK_EQ(st.st_size, LARGE_BYTES);
    }
    CHECK_OK(sonde__host_file_replace(in_folder("f"), bytes, LARGE_BYTES, 0600));
    CHECK_EQ(count_files(), 1);
    free(bytes);
}
