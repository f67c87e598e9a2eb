// SPDX-License-Identifier: Apache-2.0
/* Pins the calling thread to a processor. On another thread's processor, it runs only while that
 * thread does not. Context: any thread, for itself. */
#ifndef SONDE_HOST_PIN_H
#define SONDE_HOST_PIN_H

#include <stdbool.h>
#include <stdint.h>

/* On machines with more processors nothing is changed. */
#define SONDE__HOST_PROCESSORS_MAX 1024u

struct sonde__host_pin {
    uint64_t before[SONDE__HOST_PROCESSORS_MAX / 64]; /* as it was */
    uint32_t bytes;                                   /* of it; 0: not pinned */
    uint32_t processor;
    uint64_t slice_ns; /* as it was; 0: unknown */
};

/* Run only on this processor, and with the shortest time slice. False: not allowed; nothing has
 * changed. */
bool sonde__host_pin(struct sonde__host_pin *pin, uint32_t processor);
/* Leave the processor, if there is another one, and undo the pin. */
void sonde__host_unpin(struct sonde__host_pin *pin);

#endif
