// SPDX-License-Identifier: Apache-2.0
/* Signals to threads. Darwin sends them by pthread_t only, which says nothing about a thread that
 * may have ended: here no thread is signalled by its number. Captures of other threads do not need
 * it. What does: a memo whose thread has ended is used again only by a thread with the same
 * pthread_t, and not taken away for want of others. Context: handler. */
#include <unistd.h>

#include "os.h"

struct sonde__os_sender sonde__os_sender(void)
{
    return (struct sonde__os_sender){.pid = getpid(), .uid = getuid()};
}

enum sonde_status sonde__os_signal_thread(struct sonde__os_sender sender, uint64_t tid,
                                          int32_t signal, uint64_t value)
{
    (void)sender;
    (void)tid;
    (void)signal;
    (void)value;
    return SONDE_UNSUPPORTED;
}
