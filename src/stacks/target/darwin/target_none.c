// SPDX-License-Identifier: Apache-2.0
/* For apps (Package.swift), which have no targets but the own process and no script that is read:
 * in place of the readers of cores, scripts and system calls. */
#include "base_status.h"
#include "target_cause.h"
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

/* --- scripts, and calls of the system --- */

const struct sonde__target_script *sonde__target_script(const struct sonde__target *target)
{
    return &target->scripts.last;
}

bool sonde__target_is_interpreter(const struct sonde__target *target,
                                  const struct sonde__image *image)
{
    (void)target, (void)image;
    return false;
}

bool sonde__target_is_node(const struct sonde__target *target, const struct sonde__image *image)
{
    (void)target, (void)image;
    return false;
}

bool sonde__target_has_script(struct sonde__target *target)
{
    (void)target;
    return false;
}

void sonde__target_want_tasks(struct sonde__target *target, bool wanted)
{
    (void)target, (void)wanted;
}

void sonde__target_cause(struct sonde__target *target, const struct sonde__capture *capture,
                         char *ret_text, size_t capacity)
{
    (void)target, (void)capture;
    if (capacity > 0) {
        ret_text[0] = '\0';
    }
}
