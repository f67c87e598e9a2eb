// SPDX-License-Identifier: Apache-2.0
/* The description of the API (openapi.json), which the build puts into the program. */
#ifndef SONDE_COLLECTOR_ANSWER_OPENAPI_H
#define SONDE_COLLECTOR_ANSWER_OPENAPI_H

#include <stddef.h>

extern const unsigned char answer_openapi_json[];
extern const size_t answer_openapi_size;

#endif
