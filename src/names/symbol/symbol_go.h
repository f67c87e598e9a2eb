// SPDX-License-Identifier: Apache-2.0
/* The functions of a Go program without a symbol table, as a symbol table made from its runtime's
 * table (image_go.h). Context: any thread. */
#ifndef SONDE_SYMBOL_GO_H
#define SONDE_SYMBOL_GO_H

#include "symbol_objc.h"

/* The names stay in the view. Returns OK (also when there are none) | MEMORY. Release with
 * sonde__objc_symbols_done(). */
SONDE_NODISCARD enum sonde_status sonde__go_symbols_make(const struct sonde__elf *elf,
                                                         struct sonde__objc_symbols *ret_symbols);

#endif
