// SPDX-License-Identifier: Apache-2.0
/* The recorder of hooked functions (probe_hook.h) for the registry. Context: handler. */
#ifndef SONDE_REGISTRY_HOOKED_H
#define SONDE_REGISTRY_HOOKED_H

#include "registry_call.h"

/* Null: record nothing. */
void sonde__registry_set_hooked(const struct sonde__registry_calls *calls);

uint64_t sonde__registry_hooked(const struct sonde__probe_hook *hook,
                                const struct sonde__regs *regs);

#endif
