// SPDX-License-Identifier: Apache-2.0
/* What Apple's systems ask of an app's files: no lock while it is suspended, no backup, readable
 * while the device is locked; and whose a file is, when no lock shows it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "darwin/darwin_xattr.h"
#include "host_folder.h"
#include "host_folder_port.h"
#include "host_run.h"
#include "runs.h"
#include "spool_finish.h"
#include "test.h"

#define OWNER "dev.sonde.owner"
enum { NSFILEPROTECTION_NONE = 4, CHILD_MS = 60000 };

/* Of the simulated libSystem. */
extern uint64_t sim_locks, sim_full_syncs;

static void check_file(const char *run, const char *suffix)
{
    char name[SONDE__SPOOL_NAME];
    int32_t folder = runs_open_folder(), fd;
    sonde__spool_file_name(run, suffix, name);
    CHECK_EQ(sonde__host_folder_look(folder, name, &fd), 0);
    CHECK_EQ(fcntl(fd, F_GETPROTECTIONCLASS), NSFILEPROTECTION_NONE);
    sonde__host_close(fd);
    sonde__host_close(folder);
}

TEST(files_of_a_run_hold_no_lock_and_are_not_protected)
{
    struct run run;
    run_begin(&run, 1);
    run_add_part(&run, 5, 1, true);
    CHECK_EQ(sim_locks, 0);
    check_file(run.session.run, SONDE__SPOOL_LIVE);
    check_file(run.session.run, SONDE__SPOOL_REPORT);
    CHECK_EQ(sonde__spool_rewrite(&run.session, run.live), 0);
    CHECK_EQ(sim_locks, 0);
    check_file(run.session.run, SONDE__SPOOL_LIVE);
    run_kill(&run);
}

TEST(finished_reports_are_on_the_disk_and_not_protected)
{
    const struct sonde__spool_finishing how = {0};
    struct run run;
    run_begin(&run, 1);
    run_add_part(&run, 5, 1, true);
    run_kill(&run);
    int32_t folder = runs_open_folder();
    CHECK_EQ(sim_full_syncs, 0);
    CHECK_OK(sonde__spool_finish(folder, &how));
    CHECK_EQ(sim_full_syncs, 1);
    CHECK_EQ(sim_locks, 0);
    sonde__host_close(folder);
    check_file(run.session.run, SONDE__SPOOL_REPORT);
}

/* run.sh gives the printed bytes to a reader of property lists. */
TEST(folders_are_not_in_backups)
{
    uint8_t value[128];
    int32_t folder = runs_open_folder();
    ssize_t size = fgetxattr(folder, "com.apple.metadata:com_apple_backup_excludeItem", value,
                             sizeof value, 0, 0);
    CHECK(size > 0);
    printf("excluded ");
    for (ssize_t i = 0; i < size; i++) {
        printf("%02x", value[i]);
    }
    printf("\n");
    sonde__host_close(folder);
}

/* --- whose a file is --- */

static int32_t make_file(int32_t folder)
{
    int32_t fd;
    CHECK_EQ(sonde__host_folder_make(folder, "a", &fd), 0);
    return fd;
}

/* A child that claims the file, and a parent that waits for that. */
static pid_t claim_in_child(int32_t folder, int32_t *ret_fd)
{
    volatile int32_t *is_claimed =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        int32_t fd;
        *is_claimed = sonde__host_folder_make(folder, "a", &fd) == 0 ? 1 : 2;
        for (unsigned i = 0; i < CHILD_MS; i++) { /* it is killed earlier, unless the test fails */
            usleep(1000);
        }
        _exit(0);
    }
    while (*is_claimed == 0) {
        usleep(100);
    }
    CHECK_EQ(*is_claimed, 1);
    CHECK_EQ(sonde__host_folder_look(folder, "a", ret_fd), 0);
    return child;
}

TEST(a_file_is_its_writers_until_that_is_killed)
{
    int32_t folder = runs_open_folder(), fd;
    int status;
    pid_t child = claim_in_child(folder, &fd);
    CHECK_EQ(sonde__host_claim(fd), EWOULDBLOCK);
    CHECK_EQ(kill(child, SIGKILL), 0);
    while (sonde__host_claim(fd) == EWOULDBLOCK) { /* a zombie counts as ended */
        usleep(1000);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(sonde__host_claim(fd), 0); /* again, by the same descriptor */
    sonde__host_close(fd);
    sonde__host_close(folder);
}

/* As sonde writes it: pid, 4 bytes, start, boot. */
static void change_owner(int32_t fd, size_t at, const void *bytes, size_t size)
{
    uint8_t owner[56];
    CHECK_EQ(fgetxattr(fd, OWNER, owner, sizeof owner, 0, 0), sizeof owner);
    memcpy(owner + at, bytes, size);
    CHECK_EQ(fsetxattr(fd, OWNER, owner, sizeof owner, 0, 0), 0);
}

static void check_changed(size_t at, const void *bytes, size_t size, int wanted)
{
    int32_t folder = runs_open_folder(), fd;
    int status;
    pid_t child = claim_in_child(folder, &fd);
    change_owner(fd, at, bytes, size);
    CHECK_EQ(sonde__host_claim(fd), wanted);
    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    sonde__host_close(fd);
    sonde__host_close(folder);
}

TEST(a_pid_of_another_boot_owns_nothing)
{
    check_changed(16, "0B5D0F5E", 8, 0);
}

TEST(a_pid_that_is_used_again_owns_nothing)
{
    const uint64_t start_us = 1;
    check_changed(8, &start_us, sizeof start_us, 0);
}

/* What the system does not show speaks for the owner. */
TEST(a_pid_whose_start_is_not_known_owns_its_file)
{
    const uint64_t start_us = 0;
    check_changed(8, &start_us, sizeof start_us, EWOULDBLOCK);
}

TEST(a_file_whose_owner_cannot_be_read_is_nobodys)
{
    int32_t folder = runs_open_folder(), fd = make_file(folder), again;
    CHECK_EQ(sonde__host_folder_look(folder, "a", &again), 0);
    close(fd); /* as a crash leaves it */
    CHECK_EQ(fsetxattr(again, OWNER, "?", 1, 0, 0), 0);
    sonde__host_unclaim(fd);
    CHECK_EQ(sonde__host_claim(again), 0);
    sonde__host_close(again);
    sonde__host_close(folder);
}

TEST(children_of_fork_own_nothing_and_take_nothing_away)
{
    int32_t folder = runs_open_folder(), fd = make_file(folder);
    int status;
    pid_t child = fork();
    if (child == 0) {
        bool is_free = sonde__host_claim(fd) == 0;
        sonde__host_close(fd);
        _exit(is_free);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    uint8_t owner[64];
    CHECK(fgetxattr(fd, OWNER, owner, sizeof owner, 0, 0) > 0);
    sonde__host_close(fd);
    sonde__host_close(folder);
}
