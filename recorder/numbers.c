// SPDX-License-Identifier: Apache-2.0
/* Records listed system calls. Handler code, as call.c. */
#include "os.h"
#include "probe_raw.h"
#include "recorder.h"

struct recorder_numbers recorder_numbers = {.syscall_function = UINT32_MAX};

void recorder_start_numbers(void)
{
    const struct sonde__record_page *page = recorder_page;
    for (uint32_t i = 0; i < page->function_count; i++) {
        uint32_t number = page->functions[i].number;
        if (number != 0 && number <= SONDE__ARCH_SYSCALLS) {
            recorder_numbers.functions[number - 1] = (uint16_t)(i + 1);
        }
    }
    recorder_numbers.is_syscall_listed = page->is_syscall_listed != 0;
    recorder_numbers.syscall_function = page->syscall_function - 1;
}

static uint32_t function_of(uint64_t number)
{
    return number < SONDE__ARCH_SYSCALLS ? recorder_numbers.functions[number] : 0;
}

/* Code that makes system calls directly may also have created its threads directly. Such a thread
 * may share its thread-local variables, which select the row of counters, with another running
 * thread. */
static bool is_own_thread(void)
{
    static __thread uint64_t owner;
    uint64_t tid = sonde__os_tid();
    owner = owner != 0 ? owner : tid;
    return owner == tid;
}

static void count_raw(const struct sonde__regs *regs)
{
    uint32_t function = function_of(sonde__probe_raw_number(regs));
    if (function == 0 || preload_page() == NULL) { /* a fork child */
        return;
    }
    recorder_count(regs, function - 1, is_own_thread() ? RECORDER_RAW : RECORDER_RAW_STRANGER);
}

static bool is_wanted(uint32_t number)
{
    return function_of(number) != 0;
}

static bool is_alone(void)
{
    size_t count;
    return sonde__os_count_threads(&count) == SONDE_OK && count == 1;
}

void recorder_start_raw(void)
{
    static struct sonde__hook_raw_options options = {
        .is_wanted = is_wanted,
        .is_alone = is_alone,
        .say = recorder_log_site,
    };
    if (recorder_page->patches_raw != 0) {
        (void)is_own_thread();
        options.stub = sonde__probe_raw_stub_address();
        sonde__probe_raw_set_recorder(count_raw);
        sonde__hook_set_raw_options(&options);
    }
}

bool recorder_count_syscall(const struct sonde__regs *regs)
{
    uint32_t function = function_of(sonde__probe_hook_argument(regs, 0));
    if (function != 0) {
        recorder_count(regs, function - 1, RECORDER_BY_NUMBER);
    }
    return recorder_numbers.is_syscall_listed;
}
