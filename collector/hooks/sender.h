// SPDX-License-Identifier: Apache-2.0
/* The sender: a thread that sends what waits for hooks. A hook gets one message at a time, and some
 * hooks at once, so one that hangs holds up itself. Each message is claimed first (store.h):
 * several collectors send it once, and one that ends leaves it to the next. */
#ifndef SONDE_COLLECTOR_SENDER_H
#define SONDE_COLLECTOR_SENDER_H

#include "post.h"
#include "schedule.h"
#include "store.h"

struct sender;

struct sender_options {
    struct posts_options posts;
    struct schedule schedule;
};

struct sender_counts {
    uint64_t sent, failed, given_up, disabled; /* failed: tries; disabled: hooks */
};

/* Start it. Returns 0 or an errno; 0 and a null sender if the program has no libcurl. Ownership:
 * sender_stop(). */
int sender_start(struct store *store, const struct sender_options *options,
                 struct sender **ret_sender);
/* Null is allowed, in these two. */
void sender_stop(struct sender *sender);
struct sender_counts sender_counts(struct sender *sender);

#endif
