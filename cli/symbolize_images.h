// SPDX-License-Identifier: Apache-2.0
/* The images of `sonde symbolize`: each is found and opened once. */
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

/* An image that a report names by the last part of its path. */
struct symbolize_report_image {
    const char *name, *path;
    char build_id[SONDE__SYMFILE_ID_TEXT];
};

struct symbolize_images {
    const struct sonde__cli_command *command;
    struct sonde__cli_symbols *symbols; /* started */
    struct sonde__cli_list files;       /* --image */
    const char *arch;                   /* --arch, or null */
    struct symbolize_report_image *report_images;
    uint32_t report_image_count;
    struct symbolize_image *opened; /* the one found last first */
    unsigned opened_count;
    bool named_opened; /* all of --image are opened */
    bool too_many;
    bool asked;    /* the current image was named by the user, not by a log */
    bool said;     /* why the last one was not found */
    int exit_code; /* of the first that failed */
};

/* "DFC6A3E1-9F0C-3B2A-8E55-0123456789AB" -> 32 lower-case digits (room for 33 bytes). False: it is
 * no UUID. */
bool symbolize_uuid(const char *text, size_t size, char *ret_digits);

/* The image of that name. build_id: hexadecimal, which must match that of the image if it has
 * one; or null. Returns null if there is none, which is reported once. */
struct symbolize_image *symbolize_open_image(struct symbolize_images *images, const char *name,
                                             const char *build_id);
/* A image as one of several images (symbol_answer.h); a image with two names is one image.
 * Numbers stay when further images are opened. */
uint32_t symbolize_image_number(const struct symbolize_images *images,
                                const struct symbolize_image *image);
struct symbolize_image *symbolize_image_at(const struct symbolize_images *images, uint32_t number);
/* Open all of --image, once, including those that no address names. */
void symbolize_open_named(struct symbolize_images *images);
void symbolize_images_done(struct symbolize_images *images);

#endif
