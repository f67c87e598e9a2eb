// SPDX-License-Identifier: Apache-2.0
/* The event of an envelope (upload_envelope.h), as one line of JSON. */
#ifndef SONDE_UPLOAD_EVENT_H
#define SONDE_UPLOAD_EVENT_H

#include "report_json.h"
#include "upload_envelope.h"

/* Limits that keep the event below Sentry's maximum. */
struct sonde__upload_extent {
    uint32_t frames_max;  /* innermost frames of each stack */
    uint32_t threads_max; /* in addition to the stalled one */
};

/* False: no memory. */
bool sonde__upload_put_event(struct sonde__report_out *out, const struct sonde__upload_event *event,
                             const struct sonde__upload_extent *extent);

#endif
