// SPDX-License-Identifier: Apache-2.0
/* The collector's symbols: index files by build-id or UUID, of each project and of all, and the
 * debug files that they were made from.
 *
 *     symbols/PROJECT/ID.sndidx   PROJECT is its number; 0: of all projects
 *     symbols/PROJECT/ID.debug    an ELF with debug information, as it was uploaded
 *     symbols/none/               empty: where paths of reports lead
 *
 * A file is written whole or not at all, and is on the disk when symbols_add() returns. Context:
 * any thread. Conversions of two threads run beside each other, each in a process of its own. */
#ifndef SONDE_COLLECTOR_SYMBOLS_H
#define SONDE_COLLECTOR_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "image_set.h"

struct symbols;

struct symbols_options {
    const char *data;    /* the data folder */
    const char *program; /* sonde-collector; null: this program */
    uint32_t memory_mb;  /* that a conversion may use */
    uint32_t seconds;    /* that it may take */
};

/* The largest file that is taken. */
#define SYMBOLS_FILE_MAX ((uint64_t)4 << 30)

/* Returns 0 or an errno. Ownership: symbols_close(). */
int symbols_open(const struct symbols_options *options, struct symbols **ret_symbols);
void symbols_close(struct symbols *symbols);
/* End a conversion that runs, and convert no more. */
void symbols_end(struct symbols *symbols);
bool symbols_is_ending(struct symbols *symbols);

/* Has a project an index, or have all? */
bool symbols_has(struct symbols *symbols, uint32_t project, const struct sonde__build_id *id);
/* Grows when there are more. */
uint64_t symbols_version(struct symbols *symbols);
/* Take the next of the indexes that came since symbols_open(), which were all there before it.
 * Waits for one; false: symbols_end() was called. One thread. */
bool symbols_next(struct symbols *symbols, uint32_t *ret_project, struct sonde__build_id *ret_id);
/* "DATA/symbols/3", and the empty folder. */
void symbols_folder(struct symbols *symbols, uint32_t project, char *ret_path, unsigned size);
void symbols_folder_of_none(struct symbols *symbols, char *ret_path, unsigned size);

/* A new file without a name, for what is uploaded. Returns a descriptor, or -1 with errno. */
int symbols_new_file(struct symbols *symbols);

enum symbols_stored { SYMBOLS_LEFT, SYMBOLS_NEW, SYMBOLS_BETTER, SYMBOLS_KNOWN };
struct symbols_part {
    enum symbols_stored stored;
    struct sonde__build_id id;
    const char *arch, *name;
    const char *why; /* of LEFT: the reason */
    uint64_t size;
    uint32_t units, bad_units;
};
typedef void symbols_each_part(void *ctx, const struct symbols_part *part);
/* Convert an uploaded file, and keep what it gives. An index that is there is replaced only by one
 * with more of the debug information. claimed: the build-id that the sender says it has: any other
 * is left; size 0: any. Returns null, or why the conversion did not come to its end; what came
 * before is kept. */
const char *symbols_add(struct symbols *symbols, uint32_t project, int file,
                        const struct sonde__build_id *claimed, symbols_each_part *each, void *ctx);

/* The debug file of a project, or of all. Returns a descriptor, or -1 with errno. */
int symbols_open_debug(struct symbols *symbols, uint32_t project, const struct sonde__build_id *id);

#endif
