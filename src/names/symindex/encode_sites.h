// SPDX-License-Identifier: Apache-2.0
/* Call sites of the debug information as input for src/names/tail. */
#ifndef SONDE_ENCODE_SITES_H
#define SONDE_ENCODE_SITES_H

#include "convert.h"
#include "tail_make.h"

struct encode_sites {
    struct sonde__tail_input input;
    struct sonde__tail_function *functions;
    struct sonde__tail_jump *jumps;
    struct sonde__tail_call *calls;
};

/* False: there are none, or no memory (status). Free with _done() in any case. */
bool encode_sites_make(struct convert *c, struct encode_sites *ret_sites);
void encode_sites_done(struct encode_sites *sites);

#endif
