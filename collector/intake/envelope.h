// SPDX-License-Identifier: Apache-2.0
/* Sentry's envelopes: a JSON line, and items, each a JSON line and its payload.
 * Source: https://develop.sentry.dev/sdk/foundations/transport/envelopes/. Context: any thread. */
#ifndef SONDE_COLLECTOR_ENVELOPE_H
#define SONDE_COLLECTOR_ENVELOPE_H

#include "ids.h"

struct sonde_error;

struct envelope {
    const char *event; /* the payload of its event, in the envelope; null: it has none */
    size_t event_size;
    struct report_id id; /* the event's, or a hash of its bytes if it has none */
    uint32_t items;      /* of all types */
};

/* An envelope has at most one event. More items than this are refused. */
enum { ENVELOPE_ITEMS_MAX = 1000 };

/* Returns false if it is none, or damaged; ret_error says why. */
bool envelope_read(const void *bytes, size_t size, struct envelope *ret_envelope,
                   struct sonde_error *ret_error);

#endif
