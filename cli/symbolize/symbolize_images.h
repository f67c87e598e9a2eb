// SPDX-License-Identifier: Apache-2.0
/* The images of `sonde symbolize`; each is found and opened once. */
#ifndef SONDE_SYMBOLIZE_IMAGES_H
#define SONDE_SYMBOLIZE_IMAGES_H

#include "cli_symbols.h"
#include "tail_graph.h"

struct symbolize_image {
    char *name;     /* as requested: a path, a base name or a build-id */
    char *build_id; /* requested with it, or null */
    bool found;
    struct sonde__symfile_index_file index;
    struct sonde__tail_graph tails;
    struct symbolize_image *next;
};

struct symbolize_images {
    const struct sonde__cli_command *command;
    struct sonde__cli_symbols *symbols; /* started */
    struct sonde__cli_list files;       /* --image */
    const char *arch;                   /* --arch, or null */
    struct symbolize_image *opened;     /* newest first */
    unsigned opened_count;
    bool named_opened; /* all of --image were opened */
    bool too_many;
    bool asked;    /* the user, not a log, named the current image */
    bool said;     /* a reason was printed */
    int exit_code; /* of the first failure */
};

/* The file of "FILE" or "NAME=FILE". */
const char *symbolize_given_file(const char *given);

/* Find and open an image. build_id: hexadecimal, must match the image's if it has one; or null.
 * Returns null if there is none; the first such call reports it. */
struct symbolize_image *symbolize_open_image(struct symbolize_images *images, const char *name,
                                             const char *build_id);
/* Number of an image (symbol_answer.h). An image with two names has one number. Opening further
 * images does not change numbers. */
uint32_t symbolize_image_number(const struct symbolize_images *images,
                                const struct symbolize_image *image);
struct symbolize_image *symbolize_image_at(const struct symbolize_images *images, uint32_t number);
/* Open all of --image, including those that no address refers to. */
void symbolize_open_named(struct symbolize_images *images);
void symbolize_images_done(struct symbolize_images *images);

#endif
