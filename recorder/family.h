// SPDX-License-Identifier: Apache-2.0
/* Children under `sonde run --record --follow`: a fork child gets a recording of its own, and
 * programs are executed through `sonde run --join` (record_family.h). Only in the library that
 * `sonde run` puts into programs. */
#ifndef SONDE_RECORDER_FAMILY_H
#define SONDE_RECORDER_FAMILY_H

#include "recorder.h"

/* fd: of the memory that recorder_page is in. record: where that of recorder_record is mapped.
 * Context: start */
void recorder_enter_family(int fd, const struct sonde__probe_page *page, void *record);

/* redirect.c: look up the functions that are called instead of libc's. Context: start, before
 * anything is hooked. */
void recorder_start_redirects(void);

#endif
