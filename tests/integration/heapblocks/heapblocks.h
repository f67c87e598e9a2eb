// SPDX-License-Identifier: Apache-2.0
/* Build the programs of this folder when a test needs them. */
#ifndef SONDE_TEST_HEAPBLOCKS_H
#define SONDE_TEST_HEAPBLOCKS_H

/* Build one program, or all for null; skips the test if tools are missing. */
void heapblocks_build(const char *name);
/* A file in the test's folder. Static, four at a time (they go round). */
const char *heapblocks_built(const char *name);

#endif
