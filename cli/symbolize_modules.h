// SPDX-License-Identifier: Apache-2.0
/* The modules of `sonde symbolize`: each is found and opened once. */
#ifndef SONDE_SYMBOLIZE_MODULES_H
#define SONDE_SYMBOLIZE_MODULES_H

#include "cli_symbols.h"
#include "tail_graph.h"

struct symbolize_module {
    char *name;     /* as requested: a path, a base name or a build-id */
    char *build_id; /* requested with it, or null */
    bool found;
    struct sonde__symfile_index_file index;
    struct sonde__tail_graph tails;
    struct symbolize_module *next;
};

/* An image that a report names by the last part of its path. */
struct symbolize_image {
    const char *name, *path;
    char build_id[SONDE__SYMFILE_ID_TEXT];
};

struct symbolize_modules {
    const struct sonde__cli_command *command;
    struct sonde__cli_symbols *symbols; /* started */
    struct sonde__cli_list files;       /* --module */
    const char *arch;                   /* --arch, or null */
    struct symbolize_image *images;     /* of a report */
    uint32_t image_count;
    struct symbolize_module *opened; /* the one found last first */
    unsigned opened_count;
    bool named_opened; /* all of --module are opened */
    bool too_many;
    bool asked;    /* the current module was named by the user, not by a log */
    bool said;     /* why the last one was not found */
    int exit_code; /* of the first that failed */
};

/* "DFC6A3E1-9F0C-3B2A-8E55-0123456789AB" -> 32 lower-case digits (room for 33 bytes). False: it is
 * no UUID. */
bool symbolize_uuid(const char *text, size_t size, char *ret_digits);

/* The module of that name. build_id: hexadecimal, which must match that of the module if it has
 * one; or null. Returns null if there is none, which is reported once. */
struct symbolize_module *symbolize_module(struct symbolize_modules *modules, const char *name,
                                          const char *build_id);
/* A module as one of several images (symbol_answer.h); a module with two names is one image.
 * Numbers stay when further modules are opened. */
uint32_t symbolize_module_number(const struct symbolize_modules *modules,
                                 const struct symbolize_module *module);
struct symbolize_module *symbolize_module_at(const struct symbolize_modules *modules,
                                             uint32_t number);
/* Open all of --module, once, including those that no address names. */
void symbolize_open_named(struct symbolize_modules *modules);
void symbolize_modules_done(struct symbolize_modules *modules);

#endif
