// SPDX-License-Identifier: Apache-2.0
/* See cause.h. System calls are matched by name, which is the same on all architectures. */
#include "cause.h"

#include <string.h>

#include "arch_syscall.h"
#include "cause_private.h"
#include "host_process.h"
#include "mem_heap.h"
#include "os.h"

enum {
    RETURN_LOOK_NS = 500000,
    RETURN_CPU_NS = 2000000, /* a thread that ran longer since its release does something else */
};

enum sonde_status sonde__causes_create(struct sonde__target *target,
                                       struct sonde__causes **ret_causes)
{
    struct sonde__causes *causes = sonde__mem_alloc_zeroed(sizeof *causes);
    if (causes == NULL) {
        return SONDE_MEMORY;
    }
    causes->target = target;
    causes->pid = sonde__target_pid(target);
    causes->arch = sonde__target_arch(target);
    causes->other_numbers = sonde__host_inner_pid(causes->pid) != causes->pid;
    causes->search_ns = SONDE__CAUSE_SEARCH_NS;
    enum sonde_status status = cause_functions_create(target, &causes->functions);
    if (status != SONDE_OK) {
        sonde__mem_free(causes);
        return status;
    }
    *ret_causes = causes;
    return SONDE_OK;
}

void sonde__causes_destroy(struct sonde__causes *causes)
{
    if (causes != NULL) {
        sonde__host_holders_done(&causes->holders);
        cause_functions_destroy(causes->functions);
        sonde__mem_free(causes);
    }
}

void sonde__causes_search_again(struct sonde__causes *causes, uint64_t cpu_ns)
{
    sonde__host_holders_done(&causes->holders);
    causes->searched = false;
    causes->search_ns = cpu_ns;
}

void sonde__causes_await_returns(struct sonde__causes *causes, uint64_t most_ns)
{
    causes->return_ns = most_ns;
}

static bool read_own_wait(int32_t pid, uint64_t tid, struct sonde__os_wait *ret_wait)
{
    int32_t fd;
    if (sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SYSCALL, &fd, NULL) != SONDE_OK) {
        return false;
    }
    enum sonde_status status = sonde__os_read_wait(fd, ret_wait, NULL);
    sonde__os_close(fd);
    return status == SONDE_OK;
}

static bool read_wait(int32_t pid, uint64_t tid, struct sonde__os_wait *ret_wait)
{
    bool is_read = read_own_wait(pid, tid, ret_wait);
    if (is_read) {
        sonde__host_wait_resumed(pid, tid, ret_wait);
    }
    return is_read;
}

static bool read_schedstat(int32_t pid, uint64_t tid, struct sonde__os_schedstat *ret_stat)
{
    int32_t fd;
    if (sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SCHEDSTAT, &fd, NULL) != SONDE_OK) {
        return false;
    }
    enum sonde_status status = sonde__os_read_schedstat(fd, ret_stat, NULL);
    sonde__os_close(fd);
    return status == SONDE_OK;
}

static bool is_in_call(const struct sonde__os_wait *wait, const struct sonde__capture *capture)
{
    struct sonde__os_call call = sonde__os_wait_call(wait);
    return call.number == capture->syscall &&
           memcmp(call.args, capture->syscall_args, sizeof call.args) == 0;
}

/* Is the thread still in the call in which it was captured? A call that was resumed before a stop
 * has its own number in /proc, and restart_syscall in the registers of the stopped thread.
 * *ret_returns: not now, but it runs, and may be on its way back. */
static bool is_still_in(const struct sonde__causes *causes, uint64_t tid,
                        const struct sonde__capture *capture, bool *ret_returns)
{
    struct sonde__os_wait now;
    *ret_returns = false;
    if (!read_own_wait(causes->pid, tid, &now)) {
        return false;
    }
    *ret_returns = sonde__os_wait_call(&now).number < 0;
    if (is_in_call(&now, capture)) {
        return true;
    }
    sonde__host_wait_resumed(causes->pid, tid, &now);
    return is_in_call(&now, capture);
}

/* CPU time of a thread; 0: not known. */
static uint64_t cpu_ns(int32_t pid, uint64_t tid)
{
    struct sonde__os_schedstat stat = {0};
    return read_schedstat(pid, tid, &stat) ? stat.cpu_ns : 0;
}

/* A stop ends the call; once released, the thread makes it again when it gets a CPU. */
static void await_return(struct sonde__causes *causes, uint64_t tid,
                         const struct sonde__capture *capture)
{
    uint64_t cpu_begin_ns = cpu_ns(causes->pid, tid);
    bool returns = true;
    while (causes->return_ns > 0 && !is_still_in(causes, tid, capture, &returns) && returns &&
           cpu_ns(causes->pid, tid) - cpu_begin_ns < RETURN_CPU_NS) {
        uint64_t begin_ns = sonde__os_now_ns();
        sonde__host_sleep(RETURN_LOOK_NS);
        uint64_t slept_ns = sonde__os_now_ns() - begin_ns;
        causes->return_ns -= slept_ns < causes->return_ns ? slept_ns : causes->return_ns;
    }
}

void sonde__causes_name_resumed(struct sonde__causes *causes, struct sonde__sample *sample)
{
    struct sonde__capture *capture = &sample->capture;
    const char *name = sonde__arch_syscall_name(causes->arch, capture->syscall);
    struct sonde__os_wait wait;
    if (capture->by != SONDE__CAPTURED_PTRACE || name == NULL ||
        strcmp(name, "restart_syscall") != 0) {
        return;
    }
    await_return(causes, sample->thread.tid, capture);
    if (!read_own_wait(causes->pid, sample->thread.tid, &wait) || !is_in_call(&wait, capture) ||
        sonde__os_wait_sp(&wait) != capture->regs.r[sonde__arch_sp(capture->regs.arch)]) {
        return;
    }
    sonde__host_wait_resumed(causes->pid, sample->thread.tid, &wait);
    capture->syscall = sonde__os_wait_call(&wait).number;
    sonde__sample_describe_call(causes->target, sample);
}

uint64_t cause_slices(int32_t pid, uint64_t tid)
{
    struct sonde__os_schedstat stat = {0};
    return read_schedstat(pid, tid, &stat) ? stat.slices : 0;
}

void cause_look_call(struct cause_look *look)
{
    static bool (*const kinds[])(struct cause_look *) = {
        cause_look_futex, cause_look_lock, cause_look_connect, cause_look_fd,
        cause_look_set,   cause_look_path, cause_look_child};
    sonde__host_wait_channel(look->causes->pid, look->tid, look->channel, sizeof look->channel);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i](look)) {
            return;
        }
    }
}

/* A page fault: the thread is blocked outside of a call, on memory that is not there yet. */
static void describe_fault(const struct cause_look *look)
{
    struct sonde__text text = cause_resource(look->cause);
    look->cause->kind = SONDE__CAUSE_MEMORY;
    sonde__base_text_str(&text, "memory that is not there yet (a page fault)");
    if (look->channel[0] != '\0') {
        cause_put(&text, " in %s", look->channel);
    }
}

void sonde__causes_look(struct sonde__causes *causes, const struct sonde__sample *sample,
                        struct sonde__cause *ret_cause)
{
    const struct sonde__capture *capture = &sample->capture;
    struct cause_look look = {
        .causes = causes,
        .tid = sample->thread.tid,
        .args = capture->syscall_args,
        .stack = &sample->stack,
        .script = sample->script.script.state == SONDE__SCRIPT_READ ? &sample->script.script : NULL,
        .cause = ret_cause};
    memset(ret_cause, 0, sizeof *ret_cause);
    ret_cause->tid = sample->thread.tid;
    bool is_blocked = sample->thread.letter == 'S' || sample->thread.letter == 'D';
    bool is_fault = capture->syscall < 0 && is_blocked && capture->by == SONDE__CAPTURED_PASSIVE;
    /* kernel threads of a process (io_uring) run none of its code, and show another thread's call
     * or none */
    bool has_code = sample->stack.count > 0 && sample->stack.pcs[0] != 0;
    if (!has_code || (!is_fault && capture->syscall < 0)) {
        return;
    }
    if (capture->by == SONDE__CAPTURED_PTRACE) {
        await_return(causes, look.tid, capture);
    }
    ret_cause->slices = cause_slices(causes->pid, look.tid);
    if (is_fault) {
        sonde__host_wait_channel(causes->pid, look.tid, look.channel, sizeof look.channel);
        describe_fault(&look);
        return;
    }
    look.call = sonde__arch_syscall_name(causes->arch, capture->syscall);
    if (look.call != NULL) {
        cause_look_call(&look);
    }
    bool ignored;
    if (!is_still_in(causes, look.tid, capture, &ignored)) {
        memset(ret_cause, 0, sizeof *ret_cause);
        ret_cause->tid = sample->thread.tid;
    }
}

bool cause_look_now(struct sonde__causes *causes, uint64_t tid, struct sonde__cause *ret_cause)
{
    struct sonde__os_wait wait, after;
    memset(ret_cause, 0, sizeof *ret_cause);
    ret_cause->tid = tid;
    ret_cause->slices = cause_slices(causes->pid, tid);
    if (!read_wait(causes->pid, tid, &wait)) {
        return false;
    }
    struct sonde__os_call call = sonde__os_wait_call(&wait);
    if (call.number < 0) {
        return false;
    }
    struct cause_look look = {.causes = causes, .tid = tid, .args = call.args, .cause = ret_cause};
    look.call = sonde__arch_syscall_name(causes->arch, call.number);
    if (look.call != NULL) {
        cause_look_call(&look);
    }
    return ret_cause->kind != SONDE__CAUSE_NONE && read_wait(causes->pid, tid, &after) &&
           sonde__os_wait_is_same(&wait, &after);
}
