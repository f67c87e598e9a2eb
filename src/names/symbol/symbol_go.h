// SPDX-License-Identifier: Apache-2.0
/* Makes a symbol table for a Go program without one, from the runtime's function table
 * (image_go.h). Context: any thread. */
#ifndef SONDE_SYMBOL_GO_H
#define SONDE_SYMBOL_GO_H

#include "symbol_objc.h"

/* Names point into the view. Returns OK (also without functions) | MEMORY. Release with
 * sonde__objc_symbols_done(). */
SONDE_NODISCARD enum sonde_status sonde__go_symbols_make(const struct sonde__elf *elf,
                                                         struct sonde__objc_symbols *ret_symbols);

#endif
