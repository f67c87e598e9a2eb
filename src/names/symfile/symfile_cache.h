// SPDX-License-Identifier: Apache-2.0
/* Finds and opens the symbol files of images, once each, and looks up names, files, lines and
 * inlined calls of addresses.
 *
 * Search order (every step checks the build-id): the image's file; in the user's folders,
 * .build-id/xx/rest.debug and a file with the image's name; under each debug root,
 * .build-id/xx/rest.debug; the file of .gnu_debuglink in the user's folders, next to the image, in
 * .debug/, and under the roots (build-id, else CRC); debuginfod's cache; debuginfod. Without a
 * debug file, names also come from the image's mini debug information (.gnu_debugdata). Failures
 * are remembered. Context: any thread, one at a time. */
#ifndef SONDE_SYMFILE_CACHE_H
#define SONDE_SYMFILE_CACHE_H

#include <sonde/status.h>

#include "image_set.h"
#include "symbol_index.h"

struct sonde__symfile_cache;
struct sonde__tail_graph;     /* tail_graph.h */
struct sonde__symfile_places; /* symfile_calls.h */
struct sonde__symfile_making; /* symfile_index_file.h */
struct sonde__symfile_fetch;  /* symfile_fetch.h */

struct sonde__symfile_options {
    const char *root;       /* prefix of image paths (/proc/PID/root of a container), or null */
    const char *debug_root; /* default "/usr/lib/debug" */
    /* the user's folders with index files (ID.sndidx) and debug files, in our own root; copied */
    const char *const *folders;
    unsigned folder_count;
    /* programs, debug files and index files that the user named: each is used for the image with
     * its build-id; must outlive the cache */
    const char *const *files;
    unsigned file_count;
    /* &sonde__symfile_places enables sonde__symfile_calls(); with null it finds nothing. It maps
     * and inflates debug files, and loads a library for that, so programs must opt in. Code that
     * does not refer to it does not link it. */
    const struct sonde__symfile_places *places;
    bool no_inflate; /* ignore compressed sections: load no library for them */
    /* With `places`: use and make indexes in the user's cache (symfile_index_file.h); null:
     * neither. Must outlive the cache. */
    const struct sonde__symfile_making *making;
    /* Fetch debug files (symfile_fetch.h); null: do not. Must outlive the cache. */
    struct sonde__symfile_fetch *fetch;
};

SONDE_NODISCARD enum sonde_status
sonde__symfile_cache_create(const struct sonde__symfile_options *options,
                            struct sonde__symfile_cache **ret_cache);
void sonde__symfile_cache_destroy(struct sonde__symfile_cache *cache);

/* Like options.places; call it before calls are looked up. */
void sonde__symfile_use_places(struct sonde__symfile_cache *cache,
                               const struct sonde__symfile_places *places);

/* The index of an image, opened on first use and cached by build-id, else by path. `memory`,
 * `memory_size`: the bytes of an image without a file (vdso, deleted) from its ELF header on,
 * copied if used; else null, 0. An image without a build-id only matches a file without one.
 * Returns OK | ABSENT (no file, or one with another build-id: no names instead of wrong ones) |
 * DENIED | UNREADABLE | CORRUPT | UNSUPPORTED | LIMIT | MEMORY | OS; a failure other than MEMORY is
 * remembered, until `memory` is given for the first time. Ownership: the cache's. */
SONDE_NODISCARD enum sonde_status sonde__symfile_index(struct sonde__symfile_cache *cache,
                                                       const struct sonde__image *image,
                                                       const void *memory, size_t memory_size,
                                                       const struct sonde__symbol_index **ret_index,
                                                       struct sonde_error *ret_error);

/* The image's checked ELF view (of its file or of `memory`), without an index, for CFI and
 * sections. Statuses and ownership as above. If only the separate debug file was found, the view is
 * that file's and has no code. */
SONDE_NODISCARD enum sonde_status sonde__symfile_elf(struct sonde__symfile_cache *cache,
                                                     const struct sonde__image *image,
                                                     const void *memory, size_t memory_size,
                                                     const struct sonde__elf **ret_elf,
                                                     struct sonde_error *ret_error);

/* The same of a Mach-O: its file, and the dSYM with its names. Returns as above; UNSUPPORTED: not a
 * Mach-O. */
struct sonde__symfile_macho;
SONDE_NODISCARD enum sonde_status
sonde__symfile_macho(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                     const struct sonde__symfile_macho **ret_macho, struct sonde_error *ret_error);

/* The function at a vaddr by its symbols; without one, all fields are unknown. */
void sonde__symfile_function(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                             const void *memory, size_t memory_size, uint64_t vaddr,
                             struct sonde__function *ret_function);

/* Complete an answer that has the function of the symbols: add the calls at `vaddr` from an index
 * file or debug information, found on first use, and the function if no symbol names it. memory,
 * memory_size: as above. Strings belong to the cache. */
void sonde__symfile_calls(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                          const void *memory, size_t memory_size, uint64_t vaddr,
                          struct sonde__answer *answer);

/* Look up everything about a vaddr: sonde__symfile_function() and sonde__symfile_calls(). */
void sonde__symfile_ask(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                        const void *memory, size_t memory_size, uint64_t vaddr,
                        struct sonde__answer *ret_answer);

/* The tail calls in an image's index file, with offsets from *ret_base (a vaddr). False: no such
 * file, or it was made without the code. The graph lives as long as the cache. */
bool sonde__symfile_tails(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                          const void *memory, size_t memory_size,
                          struct sonde__tail_graph *ret_graph, uint64_t *ret_base);

#endif
