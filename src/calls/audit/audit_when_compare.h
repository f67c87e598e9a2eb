// SPDX-License-Identifier: Apache-2.0
/* The tests of a condition: the word of an argument, and the number, pattern or network that it is
 * compared with. Context: any thread. */
#ifndef SONDE_AUDIT_WHEN_COMPARE_H
#define SONDE_AUDIT_WHEN_COMPARE_H

#include "audit_when_parser.h"

/* Parse one test and add it to the tree. False: the parser has the error. */
bool audit_when_parse_test(struct audit_when_parser *p, uint16_t *ret_index);

#endif
