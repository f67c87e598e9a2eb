// SPDX-License-Identifier: Apache-2.0
/* Names the calls that the kernel resumes by restart_syscall: those that keep a time limit over a
 * stop (Linux, users of restart_block: kernel/time, kernel/futex, fs/select.c). They keep their
 * arguments. The kernel function that waits tells them apart; a resumed sleep has no function of
 * its own there. See host_wait.h. */
#include "host_wait.h"

#include <string.h>

#include "arch_syscall.h"
#include "os.h"

/* A clock's id is a small number, or a negative one (a process' CPU clock), extended by its sign or
 * by zeros; nanosleep has the address of its time there. */
static const char *sleep_call(const struct sonde__os_call *call)
{
    uint64_t first = call->args[0];
    bool has_clock = first < 4096 || (int64_t)first < 0 || (first >> 32 == 0 && first >> 31 != 0);
    return has_clock && call->args[1] <= 1 ? "clock_nanosleep" : "nanosleep";
}

void sonde__host_wait_resumed(int32_t pid, uint64_t tid, struct sonde__os_wait *wait)
{
    const struct sonde__os_call call = sonde__os_wait_call(wait);
    const char *name =
        call.number >= 0 ? sonde__arch_syscall_name(SONDE__ARCH_HOST, call.number) : NULL;
    char channel[64];
    if (name == NULL || strcmp(name, "restart_syscall") != 0) {
        return;
    }
    sonde__host_wait_channel(pid, tid, channel, sizeof channel);
    const char *made = strstr(channel, "poll") != NULL    ? "poll"
                       : strstr(channel, "futex") != NULL ? "futex"
                       : channel[0] != '\0'               ? sleep_call(&call)
                                                          : "";
    int64_t number = sonde__arch_syscall_number(SONDE__ARCH_HOST, made);
    if (number >= 0) {
        sonde__os_wait_renumber(wait, number);
    }
}
