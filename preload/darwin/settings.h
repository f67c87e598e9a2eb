// SPDX-License-Identifier: Apache-2.0
/* What libsonde-preload.dylib is asked for, by variables of the environment: those of a scheme in
 * Xcode, or of a shell. docs/guide/apple.md lists them. */
#ifndef SONDE_PRELOAD_SETTINGS_H
#define SONDE_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct preload_settings {
    uint64_t watch_ns;  /* SONDE_WATCH: the shortest stall; 0: no watch */
    const char *audit;  /* SONDE_AUDIT: the path of compiled rules; null: no audit */
    bool blocks;        /* SONDE_BLOCKS */
    const char *report; /* SONDE_REPORT: the path of the audit's report; null: none */
    const char *spool;  /* SONDE_SPOOL: a folder; null: none, "": the app's own */
    const char *build;  /* SONDE_BUILD; null: none */
    const char *phase;  /* SONDE_PHASE: the phase that has begun already; null: none */
};

/* Read the variables of the environment; texts are those of the environment. `tell` is called for
 * each that is wrong, or is not known, with a line for the console. Returns how many are wrong. */
unsigned preload_settings_read(char *const *environment, void (*tell)(void *ctx, const char *line),
                               void *ctx, struct preload_settings *ret_settings);

#endif
