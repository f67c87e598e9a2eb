// SPDX-License-Identifier: Apache-2.0
/* Opening the program for samples. Context: the thread that samples. */
#ifndef SONDE_WATCH_SAMPLER_H
#define SONDE_WATCH_SAMPLER_H

#include "watch_session.h"

/* False: the program cannot be read now, which is reported once. */
bool sonde__watch_open_sampler(struct sonde__watch_session *session, uint64_t now_ns);

#endif
