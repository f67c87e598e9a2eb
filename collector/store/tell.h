// SPDX-License-Identifier: Apache-2.0
/* Messages for hooks, in the transaction of the event that they are about: a message is there if
 * and only if the event is. For the writer. */
#ifndef SONDE_COLLECTOR_TELL_H
#define SONDE_COLLECTOR_TELL_H

#include "hook.h"
#include "store.h"

struct tell;

struct tell *tell_begin(void);
void tell_end(struct tell *tell);
/* A transaction begins: hooks may have changed. */
void tell_renew(struct tell *tell);
/* It was rolled back: what was counted in it is forgotten. */
void tell_forget(struct tell *tell);

struct tell_event {
    const struct store_report *report;
    const struct digest_event *event;
    int64_t group;
};

/* Tell the project's hooks that want to know. what: NEW or REGRESSED. */
enum store_status tell_hooks(struct store *store, const struct tell_event *about,
                             enum hook_event what);
/* Count an event of this hour, and tell hooks if the group spikes now. */
enum store_status tell_spike(struct store *store, const struct tell_event *about);

#endif
