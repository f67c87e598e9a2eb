// SPDX-License-Identifier: Apache-2.0
/* Does /proc show the true registers of a thread that is blocked in a call? See host_process.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base_status.h"
#include "host_process.h"
#include "os.h"

#define START_NS 10000000000ull
enum { STACK_BYTES = 131072, OTHERS_MAX = 2000, PAUSE_NS = 50000 };

struct probe {
    int pipe[2];
    uint64_t tid;
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

static bool is_in_read(const struct probe *p, uint64_t stack, const struct sonde__os_wait *wait)
{
    struct sonde__os_call call = sonde__os_wait_call(wait);
    uint64_t sp = sonde__os_wait_sp(wait);
    return call.number == SYS_read && call.args[0] == (uint64_t)p->pipe[0] &&
           call.args[1] == (uint64_t)(uintptr_t)p->buffer && sp >= stack &&
           sp < stack + STACK_BYTES;
}

/* On a busy machine the thread reaches the call late. It makes no other call: if it seems blocked
 * in another call, these are not its registers. */
static enum sonde_status look_until_blocked(struct probe *p, uint64_t stack, int32_t *ret_fd,
                                            int32_t *ret_os_error)
{
    struct sonde__os_wait wait;
    uint64_t begin_ns = sonde__os_now_ns();
    unsigned others = 0;
    while (others < OTHERS_MAX && sonde__os_now_ns() - begin_ns < START_NS) {
        uint64_t tid = __atomic_load_n(&p->tid, __ATOMIC_ACQUIRE);
        if (tid != 0 && *ret_fd < 0) {
            SONDE_TRY(
                sonde__os_thread_open(0, tid, SONDE__OS_THREAD_SYSCALL, ret_fd, ret_os_error));
        }
        if (*ret_fd >= 0) {
            SONDE_TRY(sonde__os_read_wait(*ret_fd, &wait, ret_os_error));
            if (is_in_read(p, stack, &wait)) {
                return SONDE_OK;
            }
            others += sonde__os_wait_call(&wait).number >= 0;
        }
        sonde__host_sleep(PAUSE_NS);
    }
    return others == OTHERS_MAX ? SONDE_UNSUPPORTED : SONDE_TIMEOUT;
}

static enum sonde_status watch(struct probe *p, uint64_t stack, struct sonde_error *ret_error)
{
    int32_t fd = -1, os_error = 0;
    enum sonde_status status = look_until_blocked(p, stack, &fd, &os_error);
    if (fd >= 0) {
        sonde__os_close(fd);
    }
    switch (status) {
    case SONDE_OK:
        return SONDE_OK;
    case SONDE_UNSUPPORTED:
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "/proc shows the registers of another machine: this runs under an "
                                "emulator, where threads cannot be read passively",
                                NULL, 0, 0);
    case SONDE_TIMEOUT:
        return sonde__base_fail(ret_error, SONDE_OS,
                                "cannot try /proc/self/task/TID/syscall: no CPU", NULL, 0, 0);
    default:
        return sonde__base_fail(ret_error, status, "cannot read /proc/self/task/TID/syscall", NULL,
                                os_error, 0);
    }
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
