// SPDX-License-Identifier: Apache-2.0
/* What crash reporters install: handlers of signals, and ports for Mach exceptions. sonde installs
 * none, so that they keep working: each call is counted, and does nothing. */
#include <mach/mach_port.h>
#include <mach/task.h>
#include <mach/thread_act.h>
#include <signal.h>

#include "sim.h"

extern uint64_t sim_handlers;
uint64_t sim_handlers;

static kern_return_t count(void)
{
    sim_handlers++;
    return KERN_SUCCESS;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *ret_before)
{
    (void)number, (void)ret_before;
    sim_handlers += action != 0;
    return 0;
}

void (*signal(int number, void (*handler)(int)))(int)
{
    (void)number, (void)handler;
    sim_handlers++;
    return SIG_DFL;
}

int sigaltstack(const stack_t *stack, stack_t *ret_before)
{
    (void)ret_before;
    sim_handlers += stack != 0;
    return 0;
}

kern_return_t task_set_exception_ports(task_t task, exception_mask_t mask, mach_port_t port,
                                       exception_behavior_t behavior, thread_state_flavor_t flavor)
{
    (void)task, (void)mask, (void)port, (void)behavior, (void)flavor;
    return count();
}

kern_return_t thread_set_exception_ports(thread_act_t thread, exception_mask_t mask,
                                         mach_port_t port, exception_behavior_t behavior,
                                         thread_state_flavor_t flavor)
{
    (void)thread, (void)mask, (void)port, (void)behavior, (void)flavor;
    return count();
}

kern_return_t mach_port_allocate(ipc_space_t task, mach_port_right_t right, mach_port_name_t *name)
{
    (void)task, (void)right, (void)name;
    return count();
}
