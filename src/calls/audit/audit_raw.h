// SPDX-License-Identifier: Apache-2.0
/* Blind spots: system calls that modules make themselves. Context: any thread. */
#ifndef SONDE_AUDIT_RAW_H
#define SONDE_AUDIT_RAW_H

#include "record_page.h"
#include "report_say.h"
#include "symfile_cache.h"

/* Say one line for each such call of each loaded module ("libfoo.so: system call
 * openat by f+0x12, no call of a function"); with their number only for modules that define listed
 * functions or make more than a few. page: a copy (audit_page.h) */
void sonde__audit_say_raw(const struct sonde__record_page *page,
                          struct sonde__symfile_cache *symbols, struct sonde__say say);

#endif
