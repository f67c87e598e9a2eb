// SPDX-License-Identifier: Apache-2.0
/* Where the recorder is not ported to. */
#include <sonde/audit.h>

#include "api_phase.h"
#include "base_status.h"
#include "record_inside.h"

enum sonde_status sonde_audit_begin(const void *rules, size_t size_bytes,
                                    const struct sonde_audit_options *options,
                                    struct sonde_audit_run **ret_run, struct sonde_error *ret_error)
{
    (void)rules, (void)size_bytes, (void)options, (void)ret_run;
    return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "audits run only on Linux", NULL, 0, 0);
}

enum sonde_status sonde_audit_finish(struct sonde_audit_run *run, struct sonde_error *ret_error)
{
    (void)run, (void)ret_error;
    return SONDE_OK;
}

void sonde__api_phase_tell(const char *name, uint32_t consent)
{
    (void)name, (void)consent;
}

void sonde__record_inside_phase(const char *name, uint32_t consent)
{
    (void)name, (void)consent;
}
