// SPDX-License-Identifier: Apache-2.0
/* Does /proc tell the truth about a thread that is blocked in a call? See host_process.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base_status.h"
#include "host_process.h"
#include "os.h"

enum { STACK_BYTES = 131072, TRIES = 2000, PAUSE_NS = 50000 };

struct probe {
    int pipe[2];
    int32_t tid;
    char buffer[8]; /* its address is an argument of the call */
};

static void *block_in_read(void *arg)
{
    struct probe *p = arg;
    ssize_t n;
    __atomic_store_n(&p->tid, sonde__os_tid(), __ATOMIC_RELEASE);
    do {
        n = read(p->pipe[0], p->buffer, sizeof p->buffer);
    } while (n < 0 && errno == EINTR);
    return NULL;
}

/* The thread needs a moment to get into the call; until then it is running, or in another one. */
static enum sonde_status watch(struct probe *p, uint64_t stack, struct sonde_error *ret_error)
{
    struct sonde__os_wait wait = {.running = true};
    int32_t fd = -1, tid, os_error = 0;
    enum sonde_status status = SONDE_OK;
    for (unsigned i = 0; i < TRIES && status == SONDE_OK; i++) {
        tid = __atomic_load_n(&p->tid, __ATOMIC_ACQUIRE);
        if (tid != 0 && fd < 0) {
            status = sonde__os_thread_open(0, tid, SONDE__OS_THREAD_SYSCALL, &fd, &os_error);
        }
        if (fd >= 0) {
            status = sonde__os_read_wait(fd, &wait, &os_error);
            if (status == SONDE_OK && wait.in_syscall && wait.syscall == SYS_read &&
                wait.args[0] == (uint64_t)p->pipe[0] &&
                wait.args[1] == (uint64_t)(uintptr_t)p->buffer && wait.sp >= stack &&
                wait.sp < stack + STACK_BYTES) {
                sonde__os_close(fd);
                return SONDE_OK;
            }
        }
        sonde__host_sleep(PAUSE_NS);
    }
    if (fd >= 0) {
        sonde__os_close(fd);
    }
    if (status != SONDE_OK) {
        return sonde__base_fail(ret_error, status, "cannot read /proc/self/task/TID/syscall", NULL,
                                os_error, 0);
    }
    return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                            "/proc shows the registers of another machine: this runs under an "
                            "emulator, where threads cannot be read passively",
                            NULL, 0, (uint64_t)wait.syscall);
}

enum sonde_status sonde__host_passive_works(struct sonde_error *ret_error)
{
    struct probe p = {.tid = 0};
    pthread_attr_t attr;
    pthread_t thread;
    void *stack = sonde__os_map(STACK_BYTES);
    enum sonde_status status = SONDE_OS;
    if (stack == NULL || pipe2(p.pipe, O_CLOEXEC) != 0) {
        if (stack != NULL) {
            sonde__os_unmap(stack, STACK_BYTES);
        }
        return sonde__base_fail(ret_error, SONDE_OS, "cannot make a pipe", NULL, errno, 0);
    }
    pthread_attr_init(&attr);
    if (pthread_attr_setstack(&attr, stack, STACK_BYTES) == 0 &&
        pthread_create(&thread, &attr, block_in_read, &p) == 0) {
        status = watch(&p, (uint64_t)(uintptr_t)stack, ret_error);
        close(p.pipe[1]); /* end of file wakes it */
        pthread_join(thread, NULL);
    } else {
        close(p.pipe[1]);
        status = sonde__base_fail(ret_error, SONDE_OS, "cannot start a thread", NULL, 0, 0);
    }
    pthread_attr_destroy(&attr);
    close(p.pipe[0]);
    sonde__os_unmap(stack, STACK_BYTES);
    return status;
}
