// SPDX-License-Identifier: Apache-2.0
/* Rules of an audit from a file, as people write them or compiled (audit_blob.h). Both become the
 * same: text is compiled, and what is compiled is read. */
#ifndef SONDE_RULES_LOAD_H
#define SONDE_RULES_LOAD_H

#include "audit_blob.h"
#include "cli.h"

struct sonde__rules_loaded {
    struct sonde__audit_blob blob; /* its rules */
    uint8_t *bytes;                /* the compiled form */
    size_t size;
};

/* Reports errors. Returns an exit code. Ownership: sonde__rules_unload(), if OK. */
int sonde__rules_load(const struct sonde__cli_command *command, const char *path,
                      struct sonde__rules_loaded *ret_loaded);
void sonde__rules_unload(struct sonde__rules_loaded *loaded);

#endif
