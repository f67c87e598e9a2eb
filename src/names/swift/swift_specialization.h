// SPDX-License-Identifier: Apache-2.0
/* What the two kinds of specializations share. */
#ifndef SONDE_SWIFT_SPECIALIZATION_H
#define SONDE_SWIFT_SPECIALIZATION_H

#include "swift_node.h"

/* Read the letters in front of the compiler's pass, and the pass. *ret_serialized: `q`. False:
 * malformed. */
bool sonde__swift_pass(struct sonde__swift *p, bool *ret_serialized, bool *ret_changed);
/* The node's text is what kind of specialization it is; its children are the arguments. */
swift_ref sonde__swift_specialized(struct sonde__swift *p, const char *text, size_t count,
                                   const swift_ref *children);
/* Nodes that are printed as they are. */
swift_ref sonde__swift_words(struct sonde__swift *p, const char *text);
swift_ref sonde__swift_numbered(struct sonde__swift *p, const char *format, int32_t number);
/* After `Tf`. */
swift_ref sonde__swift_signature_specialization(struct sonde__swift *p);

#endif
