// SPDX-License-Identifier: Apache-2.0
/* Signals to threads. Darwin sends them only by pthread_t, which is unsafe if the thread may have
 * ended, so no thread is signalled by its number here. Captures of other threads do not need that.
 * One consequence: the memo of an ended thread is reused only by a thread with the same pthread_t,
 * not by others. Context: handler. */
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
