// SPDX-License-Identifier: Apache-2.0
/* Objective-C in a 64-bit Mach-O: the methods of its classes and categories, and the stubs that
 * send one message ("objc_msgSend$count"). The runtime needs their names, so they remain in
 * stripped files. Sources: objc4's objc-runtime-new.h (class_ro_t, method_list_t, category_t); the
 * stubs' code as ld64 and lld write it.
 *
 * Supports lists of pointers and of relative offsets. Lists of the shared cache are not read: their
 * selectors are relative to the cache. Pointers are read as the loader sets them. Hostile input:
 * all reads are in the file, whose size limits the methods. Sans I/O; any thread. */
#ifndef SONDE_SYMBOL_MACHO_OBJC_H
#define SONDE_SYMBOL_MACHO_OBJC_H

#include <sonde/status.h>

#include "image_macho.h"

/* Longer names are left out. A method's text has three. */
#define SONDE__MACHO_OBJC_NAME_BYTES 1024u
#define SONDE__MACHO_METHOD_BYTES    (3 * SONDE__MACHO_OBJC_NAME_BYTES + 16)

struct objc_pointer {
    uint64_t at, value; /* vaddr */
    const char *import; /* its name, if it points to another image; else null */
};

struct sonde__macho_objc {
    const struct sonde__macho *macho;
    struct objc_pointer *pointers; /* sorted by place */
    size_t count, capacity;
    uint64_t work_left; /* steps and bytes of names */
    bool is_failed;     /* no memory */
};

struct sonde__macho_method {
    bool is_class_method;
    const char *class_name;
    const char *category; /* null: of the class itself */
    const char *selector;
    uint64_t code; /* vaddr */
};

/* Returns OK (also without Objective-C) | MEMORY. Release with _close(), also after a failure. */
SONDE_NODISCARD enum sonde_status sonde__macho_objc_open(const struct sonde__macho *macho,
                                                         struct sonde__macho_objc *ret_objc);
void sonde__macho_objc_close(struct sonde__macho_objc *objc);

/* Call `each` with all methods until it returns false. */
void sonde__macho_objc_methods(struct sonde__macho_objc *objc,
                               bool (*each)(void *ctx, const struct sonde__macho_method *method),
                               void *ctx);

/* A stub that sends `selector` to its first argument. */
struct sonde__macho_sender {
    const char *selector;
    uint64_t start, end; /* vaddr */
};
void sonde__macho_objc_senders(struct sonde__macho_objc *objc,
                               bool (*each)(void *ctx, const struct sonde__macho_sender *sender),
                               void *ctx);
/* The words from which code loads the selectors of messages. */
void sonde__macho_objc_selectors(struct sonde__macho_objc *objc,
                                 bool (*each)(void *ctx, const struct sonde__macho_sender *word),
                                 void *ctx);

#endif
