// SPDX-License-Identifier: Apache-2.0
/* Tells reports of other tools apart by their first lines and members. Context: any thread. */
#ifndef SONDE_COLLECTOR_FOREIGN_H
#define SONDE_COLLECTOR_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

/* The form of Apple's crash logs and of MetricKit's JSON (enum journal_form); 0: another text. */
uint32_t foreign_form(const void *bytes, size_t size);

#endif
