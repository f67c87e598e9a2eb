// SPDX-License-Identifier: Apache-2.0
/* What a set of hooks knows of the ELF objects of its process. Private to this folder.
 *
 * A sweep takes four steps. List: which objects there are, which of them are new, and what these
 * define; in a callback of dl_iterate_phdr, which keeps objects from being unloaded. Resolve:
 * ask the loader what it decides, outside the callback, because that takes a lock that the
 * callback must not take. Patch, in a callback again: the definitions first, so that the loader
 * binds to thunks from now on; then the slots that it has already bound. If the list has
 * changed, the sweep restarts. */
#ifndef SONDE_HOOK_ELF_H
#define SONDE_HOOK_ELF_H

#include "../hook_state.h"
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
    uint32_t id; /* not 0; never reused in this set */
    bool is_swept;
    bool is_late; /* it was not there when the hooks were set */
};

enum { SONDE__HOOK_NAME_BITS = 4096 };

struct sonde__hook_port {
    uint64_t name_bits[SONDE__HOOK_NAME_BITS / 64]; /* a hash filter of the listed names */
    uint64_t adds, subs;                            /* of the loader, for this list */
    struct sonde__hook_known *known;
    size_t known_count;
    uint32_t last_id;
    bool must_look_all; /* new functions appeared that swept objects may call */
    struct sonde__hook_definition *definitions;
    size_t definition_count, definition_capacity;
    struct sonde__hook_writer writer;
};

/* hook_loader.c. Is the list the loader's? The first is asked of the info of any callback. */
bool sonde__hook_is_listed_now(const struct sonde__hook_port *port,
                               const struct dl_phdr_info *info);
bool sonde__hook_is_current(const struct sonde__hook_port *port);

/* hook_list.c. False: it changed meanwhile, or there was no memory (hooks->failed). */
bool sonde__hook_list(struct sonde__hooks *hooks);
void sonde__hook_list_done(struct sonde__hooks *hooks);

/* hook_define.c: find the definitions of an object; forget those of an unloaded one; resolve
 * ifuncs; patch the entries of an object's symbol table, and restore them. */
void sonde__hook_define(struct sonde__hooks *hooks, const struct sonde__hook_known *known,
                        const struct sonde__hook_object *object);
void sonde__hook_undefine(struct sonde__hooks *hooks, uint32_t owner);
void sonde__hook_resolve(struct sonde__hooks *hooks);
void sonde__hook_patch_definitions(struct sonde__hooks *hooks,
                                   const struct sonde__hook_known *known,
                                   const struct sonde__hook_object *object);
void sonde__hook_restore_definitions(struct sonde__hooks *hooks,
                                     const struct sonde__hook_object *object);
/* One that has a thunk; null: none. Two names of different functions may share an address. */
const struct sonde__hook_definition *
sonde__hook_find_definition(const struct sonde__hooks *hooks, const char *name, uint64_t address);

/* hook_slots.c: definitions and slots of all objects that are new. */
void sonde__hook_patch_all(struct sonde__hooks *hooks);
/* Restore slots that hold a thunk. */
void sonde__hook_restore_slots(struct sonde__hooks *hooks, const struct sonde__hook_object *object);

/* hook_raw.c: an object of the sweep, in a callback of dl_iterate_phdr. */
void sonde__hook_raw_look(const struct sonde__hook_object *object, const char *module,
                          const struct sonde__hook_writer *writer);
void sonde__hook_raw_restore(const struct sonde__hook_object *object,
                             const struct sonde__hook_writer *writer);
void sonde__hook_raw_end(void);

/* Is it the library that this code is part of? */
bool sonde__hook_is_own(const struct sonde__hook_object *object, const char *module);

#endif
