// SPDX-License-Identifier: Apache-2.0
/* Numbers of system calls are not public here: syscall() is not looked at. */
#include "recorder.h"

void recorder_see_limits(enum sonde__record_event event, const struct sonde__regs *regs)
{
    (void)event;
    (void)regs;
}

bool recorder_is_confined(void)
{
    return false;
}

bool recorder_is_of_process(enum sonde__record_event *event, const struct sonde__regs *regs)
{
    (void)regs;
    return *event != SONDE__RECORD_SYSCALL;
}
