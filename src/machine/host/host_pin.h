// SPDX-License-Identifier: Apache-2.0
/* The processors that the calling thread may use. On the processor of another thread, it runs only
 * while that one does not. Context: any thread; each for itself. */
#ifndef SONDE_HOST_PIN_H
#define SONDE_HOST_PIN_H

#include <stdbool.h>
#include <stdint.h>

/* Sets of more processors are left alone. */
#define SONDE__HOST_PROCESSORS_MAX 1024u

struct sonde__host_pin {
    uint64_t before[SONDE__HOST_PROCESSORS_MAX / 64]; /* as it was */
    uint32_t bytes;                                   /* of it; 0: not pinned */
    uint32_t processor;
    uint64_t slice_ns; /* as it was; 0: not known */
};

/* Run on this processor only, and soon when there is something to do. False: the system does not
 * allow it, and nothing has changed. */
bool sonde__host_pin(struct sonde__host_pin *pin, uint32_t processor);
/* Leave the processor, if there is another one, and run as before. */
void sonde__host_unpin(struct sonde__host_pin *pin);

#endif
