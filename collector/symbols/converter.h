// SPDX-License-Identifier: Apache-2.0
/* The process that reads an uploaded symbol file: what a stranger sent is parsed here, and nowhere
 * else in the collector. It has a jail (jail.h), and these descriptors:
 *
 *     0  the file
 *     1  a pipe: a line for each part of the file, CONVERTER_LINE_MAX bytes at most
 *     3  a file for the indexes that it makes
 *
 * A line has fields that tabs separate:
 *
 *     made ID ARCH OFFSET SIZE UNITS BAD_UNITS DEBUG NAME   an index, at OFFSET of the output;
 *                                                           DEBUG 1: the whole file is an ELF with
 *                                                           debug information
 *     left REASON NAME                                      a part that gives none
 *
 * NAME is a part's name in an archive, or "". */
#ifndef SONDE_COLLECTOR_CONVERTER_H
#define SONDE_COLLECTOR_CONVERTER_H

#include <stdint.h>

enum { CONVERTER_OUTPUT_FD = 3, CONVERTER_LINE_MAX = 1024, CONVERTER_PARTS_MAX = 256 };
/* Offsets are multiples of it, so that a part can be mapped on any system. */
#define CONVERTER_ALIGN ((uint64_t)65536)

/* The word that makes the program this process. */
#define CONVERTER_WORD "convert-symbols"

/* Run it; memory_mb: the address space that it may have. Returns the exit code. */
int converter_main(const char *memory_mb);

#endif
