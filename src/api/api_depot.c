// SPDX-License-Identifier: Apache-2.0
#include <sonde/depot.h>

#include "base_sized.h"
#include "record.h"

#define FRAMES_DEFAULT 262144u

_Static_assert(SONDE_AUDIT_LABELS == SONDE__RECORD_LABELS &&
                   SONDE_DEPOT_DEPTH == SONDE__RECORD_DEPTH,
               "the public limits are the recorder's");

static const struct sonde__record *record_of(const struct sonde_depot *depot)
{
    return (const struct sonde__record *)(const void *)depot;
}

enum sonde_status sonde_depot_create(uint32_t frames_max, struct sonde_depot **ret_depot)
{
    struct sonde__record *record;
    enum sonde_status status;
    if (ret_depot == NULL) {
        return SONDE_USAGE;
    }
    status = sonde__record_open(frames_max != 0 ? frames_max : FRAMES_DEFAULT, &record);
    if (status == SONDE_OK) {
        *ret_depot = (struct sonde_depot *)(void *)record;
    }
    return status;
}

void sonde_depot_destroy(struct sonde_depot *depot)
{
    sonde__record_close((struct sonde__record *)(void *)depot);
}

enum sonde_status sonde_audit_entries(const struct sonde_depot *depot,
                                      int (*each)(void *ctx, const struct sonde_audit_entry *entry),
                                      void *ctx)
{
    const struct sonde__record *record = record_of(depot);
    struct sonde__record_entry entry;
    if (depot == NULL || each == NULL) {
        return SONDE_USAGE;
    }
    uint32_t numbers = sonde__record_numbers(record);
    for (uint32_t number = 0; number < numbers; number++) {
        if (sonde__record_entry(record, number, &entry) && entry.count != 0) {
            struct sonde_audit_entry out = {entry.label, entry.stack, entry.count};
            if (each(ctx, &out) != 0) {
                break;
            }
        }
    }
    return SONDE_OK;
}

enum sonde_status sonde_depot_stat(const struct sonde_depot *depot,
                                   struct sonde_depot_stat *ret_stat)
{
    const struct sonde__record *record = record_of(depot);
    if (depot == NULL || !sonde__base_sized_is_set(ret_stat)) {
        return SONDE_USAGE;
    }
    const struct sonde__depot_stat inner = sonde__depot_stat(sonde__record_depot(record));
    struct sonde_depot_stat stat = {
        .frames = inner.nodes,
        .dropped = inner.dropped,
        .bytes = inner.bytes,
    };
    for (uint32_t label = 0; label < SONDE__RECORD_LABELS; label++) {
        stat.lost += sonde__record_lost(record, label);
    }
    sonde__base_sized_give(ret_stat, &stat, sizeof stat);
    return SONDE_OK;
}
