// SPDX-License-Identifier: Apache-2.0
/* What the system says of the network. Context: any thread; not handler. */
#ifndef SONDE_HOST_NETWORK_H
#define SONDE_HOST_NETWORK_H

enum sonde__host_metered {
    SONDE__HOST_METERED_UNKNOWN, /* also: there is no network */
    SONDE__HOST_METERED,         /* somebody pays for it, or wants to save it */
    SONDE__HOST_UNMETERED,
};
/* Blocks: until the system answers, at most a second. */
enum sonde__host_metered sonde__host_network_metered(void);

#endif
