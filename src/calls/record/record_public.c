// SPDX-License-Identifier: Apache-2.0
/* The public functions of sonde/depot.h that may be called in a handler (capture_public.c says why
 * they live here). A public depot is a record. */
#include <sonde/depot.h>

#include "capture_walk.h"
#include "record.h"

static struct sonde__record *record_of(struct sonde_depot *depot)
{
    return (struct sonde__record *)(void *)depot;
}

/* The C halves of record_entry.S: `caller` is frame 0. */
enum sonde_status sonde__record_public_stack(struct sonde_depot *depot, uint32_t skip,
                                             uint32_t *ret_id, const struct sonde__regs *caller);
enum sonde_status sonde__record_public_call(struct sonde_depot *depot, uint32_t label,
                                            uint32_t skip, const struct sonde__regs *caller);

enum sonde_status sonde__record_public_stack(struct sonde_depot *depot, uint32_t skip,
                                             uint32_t *ret_id, const struct sonde__regs *caller)
{
    if (depot == NULL || ret_id == NULL) {
        return SONDE_USAGE;
    }
    uint32_t id = sonde__record_stack(record_of(depot), caller, skip);
    if (id == SONDE__DEPOT_NONE) {
        return SONDE_LIMIT;
    }
    *ret_id = id;
    return SONDE_OK;
}

enum sonde_status sonde__record_public_call(struct sonde_depot *depot, uint32_t label,
                                            uint32_t skip, const struct sonde__regs *caller)
{
    if (depot == NULL || label >= SONDE_AUDIT_LABELS) {
        return SONDE_USAGE;
    }
    struct sonde__record *record = record_of(depot);
    return sonde__record_call(record, label, sonde__record_stack(record, caller, skip))
               ? SONDE_OK
               : SONDE_LIMIT;
}

enum sonde_status sonde_depot_stack(const struct sonde_depot *depot, uint32_t id,
                                    struct sonde_stack *ret_stack)
{
    if (depot == NULL || !sonde__capture_is_usable(ret_stack)) {
        return SONDE_USAGE;
    }
    const struct sonde__record *record = (const struct sonde__record *)(const void *)depot;
    return sonde__depot_get(sonde__record_depot(record), id, ret_stack) ? SONDE_OK : SONDE_ABSENT;
}
