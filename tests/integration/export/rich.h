// SPDX-License-Identifier: Apache-2.0
/* Reports with all that exports must carry: inlined calls, tail calls, gaps, names of any bytes,
 * several threads and stalls, and time without samples. */
#ifndef RICH_H
#define RICH_H

#include "report_model.h"

struct sonde__report *rich_watch(void);
struct sonde__report *rich_calls(void);

#endif
