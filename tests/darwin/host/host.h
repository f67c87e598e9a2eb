// SPDX-License-Identifier: Apache-2.0
/* The Mach-O host: parts of a Linux program that loads Mach-O images and runs them.
 *
 * ../README.md has the picture. The loader knows the format (through sonde's own reader), the
 * border knows how control passes between the two worlds, and the primitives are the calls of the
 * simulated libSystem to Linux. */
#ifndef SONDE_DARWIN_HOST_H
#define SONDE_DARWIN_HOST_H

#include <stdint.h>

#include "image_macho.h"

enum { HOST_IMAGES_MAX = 16, HOST_TLS_BYTES = 1 << 16 };

struct host_image {
    const char *path;
    struct sonde__macho macho; /* of the file's bytes, which are kept */
    uint8_t *header;           /* where its first segment, with the header, is mapped */
    uint64_t slide;            /* address - vaddr */
    uint64_t size;             /* of the mapping */
};

extern struct host_image host_images[HOST_IMAGES_MAX];
extern unsigned host_image_count;

/* Print a message and end the program with status 125: a feature that the simulation lacks must not
 * look like a failed test or like success. */
_Noreturn void host_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Map the images in this order, bind each to those before it and to the primitives, and run their
 * initialisers. */
void host_load(const char *const *paths, unsigned count);
/* The address of an exported symbol ("_main") in any image; 0: none. */
uint64_t host_find_export(const char *name);

/* The address of a primitive (host_primitives.c), "_host_write"; 0: there is none. */
uint64_t host_find_primitive(const char *name);

/* --- the border (border_ARCH.S) --- */

/* Run start(argc, argv, envp, main) on a stack of its own, with no caller and no frame pointer, as
 * a kernel starts a program. Does not return. */
_Noreturn void border_start(uint64_t start, uint64_t stack_end, int argc, char **argv, char **envp,
                            uint64_t main);
/* The thunk of a thread-local variable's descriptor. Only code of images calls it. It preserves all
 * registers except the result. */
void border_thread_local(void);

/* Memory of this thread's thread-local variables, of all images. */
extern __thread uint8_t *host_tls;

#endif
