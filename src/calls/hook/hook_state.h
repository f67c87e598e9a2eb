// SPDX-License-Identifier: Apache-2.0
/* A set of hooks: the portable part, and the port's part. Private to hook. */
#ifndef SONDE_HOOK_STATE_H
#define SONDE_HOOK_STATE_H

#include "hook.h"

struct sonde__hook_noted { /* a blind spot until the object is unloaded */
    struct sonde__hook_blind blind;
    uint32_t owner; /* id of the object */
};

struct sonde__hooks {
    const char *const *names;
    uint32_t count;
    uint32_t flags;
    uint32_t *tally; /* of the names: how many definitions */
    uint64_t sweeps; /* that looked at anything */
    bool is_swept;   /* all that is loaded */
    bool failed;     /* out of memory */
    struct sonde__hook_port *port;
    struct sonde__hook_method *methods; /* of the names, those that are of methods */
    uint32_t method_count;
    struct sonde__hook_noted *noted;
    size_t noted_count, noted_capacity;
    struct sonde__hook_blind *blind_spots; /* the same for others, as of the last sweep */
    size_t blind_count, blind_capacity;
};

/* --- the port: definitions and slots of the loader's tables --- */

/* Null: no memory. */
struct sonde__hook_port *sonde__hook_port_create(void);
/* Restore everything and free it. */
void sonde__hook_port_destroy(struct sonde__hooks *hooks);
/* Has anything been loaded or unloaded since the last sweep? */
bool sonde__hook_port_is_changed(const struct sonde__hooks *hooks);
/* Hook what is loaded now; hooks->is_swept: all of it (else the loader's list changed meanwhile).
 */
void sonde__hook_port_sweep(struct sonde__hooks *hooks);

/* Call what sonde__hook_set_loaded() has set. */
void sonde__hook_tell_loaded(void);

/* --- hook_blind_spots.c --- */

void sonde__hook_add_blind_spot(struct sonde__hooks *hooks, uint32_t owner, const char *module,
                                const char *function, enum sonde__hook_reason reason);
/* Those of an object that is gone. */
void sonde__hook_drop_blind_spots(struct sonde__hooks *hooks, uint32_t owner);
void sonde__hook_publish_blind_spots(struct sonde__hooks *hooks);

#endif
