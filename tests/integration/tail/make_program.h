// SPDX-License-Identifier: Apache-2.0
/* The source of a program whose functions call and tail-call each other at random, and which prints
 * its stacks: "S" and offsets from its image's start, innermost first. Built with and without
 * sibling-call optimisation it makes the same calls. For Darwin it calls nobody: who runs it
 * (run_macho.c) prints the stacks, with addresses as they were linked. */
#ifndef SONDE_TEST_MAKE_PROGRAM_H
#define SONDE_TEST_MAKE_PROGRAM_H

#include <stdint.h>

/* Write the program number `seed` to `path`. */
void make_program(const char *path, uint64_t seed);

#endif
