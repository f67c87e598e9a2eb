// SPDX-License-Identifier: Apache-2.0
#include "entry_names.h"

#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "drain_stack.h"
#include "mem_heap.h"
#include "symfile_cache.h"

/* Larger code is not searched for tail calls, because the program's end waits for its report. */
#define CODE_BYTES_MAX ((uint64_t)8 << 20)

struct sonde__entry_names {
    struct sonde__symfile_options options;
    struct sonde__symfile_cache *symbols; /* created with the first target, and uses its root */
    bool is_made;
    struct sonde__drain *drain;
    struct sonde__target *target;
};

enum sonde_status sonde__entry_names_create(const struct sonde__symfile_options *symbols,
                                            struct sonde__entry_names **ret_names)
{
    struct sonde__entry_names *names = sonde__mem_alloc_zeroed(sizeof *names);
    if (names == NULL) {
        return SONDE_MEMORY;
    }
    if (symbols != NULL) {
        names->options = *symbols;
    }
    *ret_names = names;
    return SONDE_OK;
}

void sonde__entry_names_destroy(struct sonde__entry_names *names)
{
    if (names == NULL) {
        return;
    }
    sonde__drain_destroy(names->drain);
    if (names->symbols != NULL) {
        sonde__symfile_cache_destroy(names->symbols);
    }
    sonde__mem_free(names);
}

enum sonde_status sonde__entry_names_begin(struct sonde__entry_names *names,
                                           struct sonde__target *target,
                                           struct sonde__report *report)
{
    sonde__entry_names_end(names);
    if (!names->is_made) {
        names->options.root = sonde__target_root(target);
        names->is_made = true;
        /* stacks without names are better than none */
        if (sonde__symfile_cache_create(&names->options, &names->symbols) != SONDE_OK) {
            names->symbols = NULL;
        }
    }
    SONDE_TRY(sonde__drain_create(report, target, names->symbols, &names->drain));
    sonde__drain_limit_code(names->drain, CODE_BYTES_MAX);
    names->target = target;
    return SONDE_OK;
}

void sonde__entry_names_end(struct sonde__entry_names *names)
{
    sonde__drain_destroy(names->drain);
    names->drain = NULL;
    names->target = NULL;
}

uint32_t sonde__entry_resolve(struct sonde__entry_names *names, const struct sonde__sample *sample,
                              uint32_t *ret_script_stack)
{
    *ret_script_stack = 0;
    return names->drain != NULL
               ? sonde__drain_sample(names->drain, sonde__target_images(names->target), sample,
                                     ret_script_stack)
               : 0;
}

void sonde__entry_resolve_thread(struct sonde__entry_names *names,
                                 const struct sonde__sample *sample,
                                 struct sonde__report_thread *ret_thread)
{
    sonde__drain_thread(names->drain, sonde__target_images(names->target), sample, ret_thread);
    ret_thread->end = sample->stack.end; /* also for a thread that moved each time it was read */
}

void sonde__entry_resolve_tasks(struct sonde__entry_names *names,
                                const struct sonde__sample *sample,
                                const struct sonde__report_thread *thread)
{
    sonde__drain_tasks(names->drain, sample, thread);
}

void sonde__entry_place(struct sonde__entry_names *names, uint64_t pc, char *ret_text,
                        size_t capacity)
{
    const struct sonde__image *image =
        names->target != NULL ? sonde__image_find(sonde__target_images(names->target), pc) : NULL;
    if (image == NULL) {
        snprintf(ret_text, capacity, "0x%llx", (unsigned long long)pc);
    } else {
        snprintf(ret_text, capacity, "%.80s+0x%llx", sonde__base_file_name(image->path),
                 (unsigned long long)(pc - image->bias));
    }
}
