// SPDX-License-Identifier: Apache-2.0
/* The event in an envelope (upload_envelope.h), as JSON on one line. */
#ifndef SONDE_UPLOAD_EVENT_H
#define SONDE_UPLOAD_EVENT_H

#include "report_json.h"
#include "upload_envelope.h"

/* How much of it, to stay below Sentry's limit. */
struct sonde__upload_extent {
    uint32_t frames_max;  /* of a stack: the innermost ones */
    uint32_t threads_max; /* beside the stalled one */
};

/* False: out of memory. */
bool sonde__upload_put_event(struct sonde__report_out *out, const struct sonde__upload_event *event,
                             const struct sonde__upload_extent *extent);

#endif
