// SPDX-License-Identifier: Apache-2.0
/* How the recorder of `sonde run --audit` learns of sonde_watch_phase(), in a shared and in a
 * static libsonde, stripped or not: an ELF note of each image with a libsonde gives the address of
 * a pointer, which the recorder sets. Layout: owner "sonde", this type, the distance of the pointer
 * from the description, in 64 bits. */
#ifndef SONDE_RECORD_TOLD_H
#define SONDE_RECORD_TOLD_H

#include <stdint.h>

#define SONDE__RECORD_TOLD_OWNER "sonde"
#define SONDE__RECORD_TOLD_TYPE  1 /* also in the assembly of api_phase.c */

/* name: not null */
typedef void sonde__record_told(const char *name, uint32_t consent);

#endif
