// SPDX-License-Identifier: Apache-2.0
/* What a set of hooks knows of the objects of its process. Private to hook*.c.
 *
 * A sweep takes four steps. List: which objects there are, which of them are new, and what these
 * define; in a callback of dl_iterate_phdr, which keeps objects from being unloaded. Resolve: what
 * the loader decides is asked of it, outside, because that takes a lock that must not be taken
 * inside. Lead, in a callback again: the definitions first, so that what the loader binds from now
 * on is bound to thunks; then the slots that it has bound before. If the list is another one by
 * then, all begins anew. */
#ifndef SONDE_HOOK_STATE_H
#define SONDE_HOOK_STATE_H

#include "hook.h"
#include "hook_object.h"
#include "hook_write.h"

struct sonde__hook_definition { /* of a listed function, or of another name of one */
    ElfW(Sym) * symbol;         /* and its name: of the object */
    const char *name;
    uint64_t value;   /* of the symbol, with the object's base, without us */
    uint64_t address; /* of the function; 0: an ifunc that was not asked yet */
    uint64_t thunk;   /* 0: none yet */
    uint32_t function;
    uint32_t owner; /* id of the object */
};

/* One object, in the loader's order. */
struct sonde__hook_known {
    uint64_t base;
    const ElfW(Phdr) * phdrs;
    char *module;
    uint32_t id; /* not 0; no other object of this set has or had it */
    bool is_swept;
    bool is_late; /* it was not there when the hooks were set */
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
    bool must_look_all; /* functions came that objects which were swept may call */
    struct sonde__hook_definition *definitions;
    size_t definition_count, definition_capacity;
    uint32_t *tally;                    /* of the names: how many definitions */
    struct sonde__hook_method *methods; /* of the names, those that are of methods */
    uint32_t method_count;
    struct sonde__hook_said *said;
    size_t said_count, said_capacity;
    struct sonde__hook_blind *blind_spots; /* the same for others, as of the last sweep */
    size_t blind_count, blind_capacity;
    struct sonde__hook_writer writer;
    bool failed; /* out of memory */
};

/* hook_list.c. False: it changed meanwhile, or there was no memory (hooks->failed). */
bool sonde__hook_list(struct sonde__hooks *hooks);
void sonde__hook_list_done(struct sonde__hooks *hooks);
/* Is the list the loader's? Asked of the info of any callback. */
bool sonde__hook_is_listed_now(const struct sonde__hooks *hooks, const struct dl_phdr_info *info);

/* hook_define.c: definitions of an object; those of one that is gone; what the loader decides; the
 * entries of an object's symbol table lead to thunks, or to where they did. */
void sonde__hook_define(struct sonde__hooks *hooks, const struct sonde__hook_known *known,
                        const struct sonde__hook_object *object);
void sonde__hook_undefine(struct sonde__hooks *hooks, uint32_t owner);
void sonde__hook_resolve(struct sonde__hooks *hooks);
void sonde__hook_lead_definitions(struct sonde__hooks *hooks, const struct sonde__hook_known *known,
                                  const struct sonde__hook_object *object);
void sonde__hook_restore_definitions(struct sonde__hooks *hooks,
                                     const struct sonde__hook_object *object);
void sonde__hook_learn_name(struct sonde__hooks *hooks, const char *name);
/* Which has a thunk; null: none. Two names of different functions may share an address. */
const struct sonde__hook_definition *
sonde__hook_find_definition(const struct sonde__hooks *hooks, const char *name, uint64_t address);

/* hook_slots.c: definitions and slots of all objects that are new. */
void sonde__hook_lead_all(struct sonde__hooks *hooks);
/* Slots that lead to a thunk lead to its target. */
void sonde__hook_restore_slots(struct sonde__hooks *hooks, const struct sonde__hook_object *object);

/* hook_blind_spots.c. owner: null, nobody in particular */
void sonde__hook_add_blind_spot(struct sonde__hooks *hooks, const struct sonde__hook_known *owner,
                                const char *module, const char *function,
                                enum sonde__hook_reason reason);
/* What an object that is gone was said to be. */
void sonde__hook_unsay(struct sonde__hooks *hooks, uint32_t owner);
void sonde__hook_publish_blind_spots(struct sonde__hooks *hooks);

/* Is it the library that this code is part of? */
bool sonde__hook_is_own(const struct sonde__hook_object *object, const char *module);

#endif
