// SPDX-License-Identifier: Apache-2.0
/* Code without call frame information of which it is known that each function that calls another
 * one keeps a frame record at the top of its frame: the code of V8, that in its image and that
 * which it makes.
 *
 * Then its frame pointer leads to its caller, whose stack pointer is behind the record (what gcc
 * makes for arm64 has the record at the bottom), and no search is needed. A scan of the stack costs
 * some hundred times as much, and has a limit. The ranges of generated code are learnt as the
 * system names them (capture_code.h). A program that has V8 may have another compiler whose code
 * keeps no records; its frames would be left out. None is known that is used in one process with
 * V8. Context: handler, unless said otherwise. */
#ifndef SONDE_CAPTURE_RECORD_H
#define SONDE_CAPTURE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/* From now on all code that is generated keeps records, and that in [start, end) of an image.
 * start: 0: there is none. Context: any thread, once */
void sonde__capture_expect_records(uint64_t start, uint64_t end);

/* This is code of no image. Does nothing if generated code need not keep records. */
void sonde__capture_note_made(uint64_t start, uint64_t end);

/* Does the code at a pc keep a frame record for each of its calls? */
bool sonde__capture_keeps_record(uint64_t pc);

#endif
