// SPDX-License-Identifier: Apache-2.0
/* For builds of the package (Package.swift), which has no targets but the own process: what the
 * readers of cores and of scripts define elsewhere. */
#include "base_status.h"
#include "target_private.h"
#include "target_script.h"

enum sonde_status sonde__target_open_core(const char *path,
                                          const struct sonde__target_options *options,
                                          struct sonde__target **ret_target,
                                          struct sonde_error *ret_error)
{
    (void)options;
    (void)ret_target;
    return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "this build reads no cores", path, 0, 0);
}

void sonde__target_scripts_done(struct sonde__target_scripts *scripts)
{
    (void)scripts;
}
