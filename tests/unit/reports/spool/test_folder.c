// SPDX-License-Identifier: Apache-2.0
/* Which folders and files are used, and which are refused. */
#include "spool_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_folder.h"
#include "host_run.h"
#include "runs.h"
#include "test.h"

static enum sonde_status open_folder(const char *name, bool make, struct sonde_error *ret_error)
{
    char path[700];
    int32_t folder = -1;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    enum sonde_status status = sonde__host_folder_open(path, make, &folder, ret_error);
    if (folder >= 0) {
        close(folder);
    }
    return status;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    CHECK_EQ(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

TEST(folder_and_files_are_the_owners_alone)
{
    struct run run;
    char path[700];
    umask(0);
    snprintf(path, sizeof path, "%s/state/sonde/spool", test_folder());
    CHECK_OK(open_folder("state/sonde/spool", true, NULL));
    CHECK_EQ(mode_of(path), 0700);
    run_begin(&run, 1);
    snprintf(path, sizeof path, "%s/%s.sonde", runs_folder(), run.session.run);
    CHECK_EQ(mode_of(path), 0600);
    snprintf(path, sizeof path, "%s/%s.live", runs_folder(), run.session.run);
    CHECK_EQ(mode_of(path), 0600);
    run_kill(&run);
}

TEST(folders_that_others_may_write_to_are_refused)
{
    struct sonde_error error = {0};
    char path[700], link_path[700];
    snprintf(path, sizeof path, "%s/shared", test_folder());
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_EQ(chmod(path, 01777), 0);
    CHECK_EQ(open_folder("shared", true, &error), SONDE_DENIED);
    CHECK_CONTAINS(error.what, "other users may write");
    CHECK_EQ(chmod(path, 0770), 0);
    CHECK_EQ(open_folder("shared", true, &error), SONDE_DENIED);
    CHECK_EQ(chmod(path, 0755), 0); /* they may look at the names */
    CHECK_OK(open_folder("shared", true, &error));
    snprintf(link_path, sizeof link_path, "%s/link", test_folder());
    CHECK_EQ(symlink(path, link_path), 0);
    CHECK_EQ(open_folder("link", true, &error), SONDE_UNSUPPORTED);
    snprintf(path, sizeof path, "%s/file", test_folder());
    test_write_file(path, "", 0);
    CHECK_EQ(open_folder("file", true, &error), SONDE_UNSUPPORTED);
    CHECK_EQ(open_folder("file/below", true, &error), SONDE_UNSUPPORTED);
    CHECK_EQ(open_folder("nothing", false, &error), SONDE_ABSENT);
}

TEST(folders_of_others_are_refused)
{
    struct sonde_error error = {0};
    char path[700];
    if (geteuid() != 0) {
        SKIP("only root can make a folder of another user");
    }
    snprintf(path, sizeof path, "%s/foreign", test_folder());
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_EQ(chown(path, 12345, 12345), 0);
    CHECK_EQ(open_folder("foreign", true, &error), SONDE_DENIED);
    CHECK_CONTAINS(error.what, "another user");
}

TEST(folders_that_may_not_be_written_are_refused)
{
    struct sonde__spool_session session;
    struct sonde_error error = {0};
    char path[700];
    snprintf(path, sizeof path, "%s/closed", test_folder());
    CHECK_EQ(mkdir(path, 0500), 0);
    if (geteuid() == 0 && (seteuid(12345) != 0 || chmod(path, 0) == 0)) {
        SKIP("root may write anywhere, and cannot be somebody else");
    }
    if (geteuid() == 12345) { /* the folder is root's: then it is foreign, which comes first */
        CHECK_EQ(open_folder("closed/below", true, &error), SONDE_DENIED);
        return;
    }
    CHECK_EQ(sonde__spool_begin(path, 1, true, &session, &error), SONDE_DENIED);
}

#if defined(__APPLE__)
TEST(own_folder_is_in_the_caches)
{
    char path[SONDE__SPOOL_PATH];
    static char me[] = "HOME=/me", none[] = "HOME=";
    putenv(me);
    CHECK(sonde__spool_own_folder(path));
    CHECK_STR(path, "/me/Library/Caches/sonde/spool");
    putenv(none);
    CHECK(!sonde__spool_own_folder(path));
}
#else
TEST(own_folder_follows_the_environment)
{
    char path[SONDE__SPOOL_PATH];
    static char state[] = "XDG_STATE_HOME=/state", relative[] = "XDG_STATE_HOME=relative";
    static char me[] = "HOME=/me", none[] = "HOME=";
    putenv(state);
    putenv(me);
    CHECK(sonde__spool_own_folder(path));
    CHECK_STR(path, "/state/sonde/spool");
    putenv(relative);
    CHECK(sonde__spool_own_folder(path));
    CHECK_STR(path, "/me/.local/state/sonde/spool");
    putenv(none);
    CHECK(!sonde__spool_own_folder(path));
}
#endif

TEST(names_of_runs)
{
    static const char *const not [] = {"",
                                       "x.sonde",
                                       "counts.sonde",
                                       "20261123T164012Z-.sonde",
                                       "20261123T164012Z.sonde",
                                       "../20261123T164012Z-1.sonde",
                                       "20261123T164012Z-1.sondf",
                                       "2026112aT164012Z-1.sonde",
                                       "20261123T164012Z-1/2.sonde",
                                       "20261123T164012Z--1.sonde.sonde"};
    char name[SONDE__SPOOL_NAME], run[SONDE__SPOOL_NAME];
    sonde__spool_run_name(1700000000123456789u, 4242, 1, name);
    CHECK_STR(name, "20231114T221320Z-4242");
    sonde__spool_run_name(1700000000123456789u, 4242, 2, name);
    CHECK_STR(name, "20231114T221320Z-4242-2");
    sonde__spool_file_name(name, SONDE__SPOOL_LIVE, run);
    CHECK(sonde__spool_is_run(run, SONDE__SPOOL_LIVE, name));
    CHECK_STR(name, "20231114T221320Z-4242-2");
    sonde__spool_run_name(UINT64_MAX, INT32_MIN, 1000, name); /* a clock of nowhere */
    CHECK(strlen(name) + sizeof SONDE__SPOOL_REPORT < SONDE__SPOOL_NAME);
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++) {
        CHECK(!sonde__spool_is_run(not [i], SONDE__SPOOL_REPORT, run));
    }
}

/* A lock that was taken on a file that has lost its name since says so. */
TEST(locks_are_of_the_file_of_that_name)
{
    int32_t folder = runs_open_folder(), fd, again;
    CHECK_EQ(sonde__host_folder_make(folder, "a", &fd), 0);
    CHECK_EQ(sonde__host_folder_make(folder, "a", &again), EEXIST);
    CHECK_EQ(sonde__host_folder_look(folder, "a", &again), 0);
    CHECK_EQ(sonde__host_folder_lock(folder, "a", again), EWOULDBLOCK);
    sonde__host_close(fd);
    CHECK_EQ(sonde__host_folder_lock(folder, "a", again), 0);
    CHECK_EQ(sonde__host_folder_remove(folder, "a"), 0);
    CHECK_EQ(sonde__host_folder_make(folder, "a", &fd), 0);
    CHECK_EQ(sonde__host_folder_lock(folder, "a", again), ESTALE);
    sonde__host_close(again);
    sonde__host_close(fd);
    sonde__host_close(folder);
}
