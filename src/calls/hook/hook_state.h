// SPDX-License-Identifier: Apache-2.0
/* What a set of hooks knows of the objects of its process. Private to hook*.c.
 *
 * A sweep takes three steps. List: which objects there are, which of them are new, and what these
 * define; in a callback of dl_iterate_phdr, which keeps objects from being unloaded. Resolve: what
 * the loader decides is asked of it, outside, because that takes a lock that must not be taken
 * inside. Slots: in a callback again; if the list is another one by then, all begins anew. */
#ifndef SONDE_HOOK_STATE_H
#define SONDE_HOOK_STATE_H

#include "hook.h"
#include "hook_object.h"
#include "hook_write.h"

struct sonde__hook_definition { /* of a listed function, or of another name of one */
    const char *name;
    uint64_t address; /* 0: decided by the loader (an ifunc) and not known */
    uint32_t function;
    uint32_t owner; /* id of the object */
    bool is_only;   /* no other address has this name */
};

struct sonde__hook_slot {
    uint64_t *at;
    uint64_t old;
    uint64_t thunk;
};

/* A slot that a later sweep has to look at again. */
struct sonde__hook_open {
    uint64_t *at;
    uint64_t value;      /* not bound yet: the loader will write it */
    uint32_t relocation; /* of table 1; with LOW_TABLE, of table 0 */
    bool is_listed;      /* has a listed name, or could not be written: whatever its value is */
};
#define SONDE__HOOK_LOW_TABLE ((uint32_t)1 << 31)

/* One object, in the loader's order. */
struct sonde__hook_known {
    uint64_t base;
    const ElfW(Phdr) * phdrs;
    char *module;
    uint32_t id; /* not 0; no other object of this set has or had it */
    bool is_swept;
    struct sonde__hook_slot *slots;
    size_t slot_count, slot_capacity;
    struct sonde__hook_open *open;
    size_t open_count, open_capacity;
};

struct sonde__hook_said { /* a blind spot, until the object goes */
    struct sonde__hook_blind blind;
    uint32_t owner;
};

enum { SONDE__HOOK_NAME_BITS = 4096 };

struct sonde__hooks {
    const char *const *names;
    uint32_t count;
    uint32_t flags;
    uint64_t name_bits[SONDE__HOOK_NAME_BITS / 64]; /* by a hash: is it no listed name? */
    uint64_t adds, subs;                            /* of the loader, for this list */
    struct sonde__hook_known *known;
    size_t known_count;
    uint32_t last_id;
    uint64_t sweeps;    /* that looked at anything */
    bool is_swept;      /* all of the list */
    bool must_look_all; /* at objects that were swept, too */
    struct sonde__hook_definition *definitions;
    size_t definition_count, definition_capacity;
    uint32_t *tally;                    /* of the names: how many definitions */
    struct sonde__hook_method *methods; /* of the names, those that are of methods */
    uint32_t method_count;
    struct sonde__hook_said *said;
    size_t said_count, said_capacity;
    struct sonde__hook_blind *blinds; /* the same for others, as of the last sweep */
    size_t blind_count, blind_capacity;
    struct sonde__hook_writer writer;
    bool failed; /* out of memory */
};

/* hook_list.c. False: it changed meanwhile, or there was no memory (hooks->failed). */
bool sonde__hook_list(struct sonde__hooks *hooks);
void sonde__hook_list_done(struct sonde__hooks *hooks);
/* Is the list the loader's? Asked of the info of any callback. */
bool sonde__hook_is_listed_now(const struct sonde__hooks *hooks, const struct dl_phdr_info *info);

/* hook_define.c: definitions of an object; those of one that is gone; what the loader decides. */
void sonde__hook_define(struct sonde__hooks *hooks, const struct sonde__hook_known *known,
                        const struct sonde__hook_object *object);
void sonde__hook_undefine(struct sonde__hooks *hooks, uint32_t owner);
void sonde__hook_resolve(struct sonde__hooks *hooks);
void sonde__hook_learn_names(struct sonde__hooks *hooks);
bool sonde__hook_has_name(const struct sonde__hooks *hooks, const char *name);
const struct sonde__hook_definition *sonde__hook_by_address(const struct sonde__hooks *hooks,
                                                            uint64_t address);
const struct sonde__hook_definition *sonde__hook_by_name(const struct sonde__hooks *hooks,
                                                         const char *name);

/* hook_slots.c: slots of all objects that are new, and those of others that were left open. */
void sonde__hook_look_at_slots(struct sonde__hooks *hooks);

/* hook_blinds.c. owner: null, nobody in particular */
void sonde__hook_say(struct sonde__hooks *hooks, const struct sonde__hook_known *owner,
                     const char *module, const char *function, enum sonde__hook_reason reason);
/* What an object that is gone was said to be, or what is found out anew of all slots. */
void sonde__hook_unsay(struct sonde__hooks *hooks, uint32_t owner);
void sonde__hook_unsay_slots(struct sonde__hooks *hooks);
void sonde__hook_publish_blinds(struct sonde__hooks *hooks);

/* Is it the library that this code is part of? */
bool sonde__hook_is_own(const struct sonde__hook_object *object, const char *module);

#endif
