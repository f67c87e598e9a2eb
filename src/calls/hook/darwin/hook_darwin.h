// SPDX-License-Identifier: Apache-2.0
/* The port for dyld. Private to hook/darwin.
 *
 * An image's file lists every pointer that dyld binds to a function of another image: lazy and
 * non-lazy symbol pointers, and pointers in data (image_macho.h). dyld has overwritten the chains
 * of these lists in memory, so the file is read. The slots are words of the mapped image.
 *
 * Slots are read and written only while the list of images is held (os_images.h): they are mapped.
 * Meanwhile nothing here calls dyld. */
#ifndef SONDE_HOOK_DARWIN_H
#define SONDE_HOOK_DARWIN_H

#include <mach-o/loader.h>

#include "hook_state.h"
#include "image_macho.h"
#include "os_images.h"

/* An image of the loader's list. */
struct sonde__hook_image {
    struct sonde__os_image image;
    char *path;         /* "" is the main program */
    const char *module; /* the same, or the path of the main program's file */
    uint32_t id;
    bool is_late; /* its code may have run before it was looked at */
    bool is_read; /* its slots are hooked */
    bool is_here; /* during a look at the list */
};

/* How the loader signs a slot; none: `is_signed` is false. */
struct sonde__hook_signing {
    bool is_signed, is_blended;
    uint8_t key;
    uint16_t diversity;
};

/* A slot that leads to a function of the list. */
struct sonde__hook_slot {
    uint64_t *at;
    uint64_t before, now; /* the words that it had, and that were written */
    uint64_t target;      /* of the thunk, if dyld had not bound it; else 0 */
    uint32_t function;
    uint32_t owner; /* id of the image */
};

/* A slot that an image's file lists under a function's name. */
struct sonde__hook_found {
    uint64_t at; /* address */
    uint32_t function;
    struct sonde__hook_signing signing;
    int32_t library;    /* that the file names for it; <= 0: none in particular */
    const char *symbol; /* in the file */
    uint64_t target;    /* of one that dyld has not bound yet; 0: the slot has it */
    bool is_unbound;
};

struct sonde__hook_gathered {
    struct sonde__hook_found *found;
    size_t count, capacity;
    bool asks;                    /* it imports dlsym() */
    bool failed;                  /* no memory */
    const char *library_commands; /* its load commands, in the file */
    uint32_t library_commands_size;
};

enum { SONDE__HOOK_NAME_PLACES = 4096 }; /* four times as many as names */

struct sonde__hook_port {
    struct sonde__hook_image *images;
    size_t image_count, image_capacity;
    struct sonde__hook_slot *slots;
    size_t slot_count, slot_capacity;
    struct sonde__os_image_counts counts; /* as of the last sweep */
    uint32_t next_id;
    bool has_swept;
    uint16_t name_places[SONDE__HOOK_NAME_PLACES]; /* hook_names.c */
};

/* --- hook_images.c: the loader's list --- */

/* From now on sonde__hook_tell_loaded() is called for each load. One thread at a time. */
void sonde__hook_be_told(void);
/* Note what was added, forget what is gone. */
void sonde__hook_look_at_list(struct sonde__hooks *hooks);
/* Null: none of that address is known. */
struct sonde__hook_image *sonde__hook_find_image(struct sonde__hook_port *port, uint64_t start);
/* While the list is held: was it changed since the last look? */
bool sonde__hook_is_list_changed(const struct sonde__hook_port *port);
/* While the list is held: is the image still there? */
bool sonde__hook_is_listed(const struct sonde__hook_image *image);

static inline const struct mach_header_64 *sonde__hook_header(const struct sonde__os_image *image)
{
    return (const struct mach_header_64 *)(uintptr_t)image->start;
}

/* --- hook_patch.c: what a slot becomes. The list is held --- */

/* Lead the slots of an image through thunks. */
void sonde__hook_patch_all(struct sonde__hooks *hooks, const struct sonde__hook_image *of,
                           const struct sonde__hook_gathered *gathered);
/* A first call of a slot's function that had begun when the slot was hooked ends with dyld binding
 * the slot. Is there such a one? */
bool sonde__hook_is_overwritten(const struct sonde__hook_port *port);
/* Hook those again. The list is that of the last sweep. */
void sonde__hook_patch_again(struct sonde__hooks *hooks);
/* Unless it was changed since. */
void sonde__hook_restore(const struct sonde__hook_slot *slot);
/* Is there an instruction at the address, by the sections of its image? */
bool sonde__hook_is_code(const struct sonde__os_image *image, uint64_t address);

/* --- hook_names.c: which function of the list a symbol is --- */

void sonde__hook_names_fill(struct sonde__hooks *hooks);
/* `symbol` as in the file: with its underscore, and perhaps with "$" and a variant. False: none. */
bool sonde__hook_names_find(const struct sonde__hooks *hooks, const char *symbol,
                            uint32_t *ret_function);

/* --- hook_gather.c: the slots of an image --- */

/* List the slots of `image`, by the bytes of its file, which stay needed. False: this is not the
 * file that was loaded. Context: the list of images is held. */
bool sonde__hook_gather(const struct sonde__hooks *hooks, const struct sonde__os_image *image,
                        const void *file, size_t size, struct sonde__hook_gathered *ret_gathered);
/* Find the targets of slots that dyld has not bound yet. Calls dyld: the list is not held. */
void sonde__hook_resolve_unbound(struct sonde__hook_gathered *gathered);

/* --- hook_ahead.c --- */

/* Call once what is called while the list is held, by this folder's files: an app for systems
 * before macOS 12 binds a function when it is first called, and waits for dyld's lock meanwhile. A
 * thread that loads an image has that, and waits for the list. */
void sonde__hook_bind_ahead(void);

/* --- hook_write.c --- */

/* Store a word in an image's data, which may be read-only: its page is as before afterwards. False:
 * the system refuses. */
bool sonde__hook_write(uint64_t *at, uint64_t value);

#endif
