// SPDX-License-Identifier: Apache-2.0
/* Phases for the recorder of another libsonde (record_told.h). Context: as sonde_watch_phase(). */
#ifndef SONDE_API_PHASE_H
#define SONDE_API_PHASE_H

#include <stdint.h>

void sonde__api_phase_tell(const char *name, uint32_t consent);

#endif
