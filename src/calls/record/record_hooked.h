// SPDX-License-Identifier: Apache-2.0
/* The recorder of hooked functions (probe_hook.h) that counts in a record; the label of a call is
 * its function. Context: handler. */
#ifndef SONDE_RECORD_HOOKED_H
#define SONDE_RECORD_HOOKED_H

#include "probe_hook.h"
#include "record.h"

/* Null: calls are not counted. */
void sonde__record_set_hooked(struct sonde__record *record);

uint64_t sonde__record_hooked(const struct sonde__probe_hook *hook, const struct sonde__regs *regs);

#endif
