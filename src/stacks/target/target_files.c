// SPDX-License-Identifier: Apache-2.0
#include "target_files.h"

#include "base_status.h"
#include "os.h"
#include "target_process.h"

void sonde__target_files_close(struct sonde__target_files *files)
{
    if (files->tid == 0) {
        return;
    }
    sonde__os_close(files->stat);
    if (files->syscall >= 0) {
        sonde__os_close(files->syscall);
    }
    if (files->schedstat >= 0) {
        sonde__os_close(files->schedstat);
    }
    files->tid = 0;
    files->is_fresh = false;
}

enum sonde_status sonde__target_files_read(struct sonde__target_files *files, int32_t pid,
                                           uint64_t tid, struct sonde__host_thread *ret_now,
                                           bool *ret_opened)
{
    files->is_fresh = false;
    *ret_opened = files->tid != tid || tid == 0 ||
                  sonde__host_thread_read_again(files->stat, &files->now) != SONDE_OK;
    if (*ret_opened) {
        int32_t fd;
        sonde__target_files_close(files);
        SONDE_TRY(sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_STAT, &fd, NULL));
        files->tid = tid;
        files->stat = fd;
        files->syscall = files->schedstat = -1;
        enum sonde_status status = sonde__host_thread_read_again(fd, &files->now);
        if (status != SONDE_OK) {
            sonde__target_files_close(files);
            return status;
        }
    }
    *ret_now = files->now;
    return SONDE_OK;
}

enum sonde_status sonde__target_files_wait(struct sonde__target_files *files, int32_t pid)
{
    if (files->syscall >= 0) {
        return SONDE_OK;
    }
    SONDE_TRY(
        sonde__os_thread_open(pid, files->tid, SONDE__OS_THREAD_SYSCALL, &files->syscall, NULL));
    if (sonde__os_thread_open(pid, files->tid, SONDE__OS_THREAD_SCHEDSTAT, &files->schedstat,
                              NULL) != SONDE_OK) {
        files->schedstat = -1;
    }
    if (sonde__host_thread_read_again(files->stat, &files->now) != SONDE_OK) {
        sonde__target_files_close(files); /* the number may be of another thread by now */
        return SONDE_BUSY;
    }
    return SONDE_OK;
}

enum sonde_status sonde__target_process_state(struct sonde__target_process *p, uint64_t tid,
                                              struct sonde__host_thread *ret_now)
{
    bool opened;
    SONDE_TRY(sonde__target_files_read(&p->files, p->base.pid, tid, ret_now, &opened));
    if (opened && !sonde__host_identity_holds(&p->process)) {
        sonde__target_files_close(&p->files);
        return SONDE_ABSENT;
    }
    return SONDE_OK;
}
