// SPDX-License-Identifier: Apache-2.0
/* Finds the images that are never unloaded: the main program and all that it needs by name,
 * directly or indirectly.
 *
 * The loader keeps these as long as the process lives. They were all loaded before anything that
 * the program opened later, and the loader's list has that order: the first image of a name is the
 * needed one. The set cannot grow, so it is computed for the first snapshot only. An image that is
 * not recognized is only checked more often. Sources: gABI 4.1 chapter 5, Dynamic Section. */
#include <elf.h>

#include "base_mem.h"
#include "base_text.h"
#include "target_self_elf.h"

enum { ENTRIES_MAX = 4096 /* of a dynamic section; real ones have a few dozen */ };

/* Find the strings of the dynamic section; null: none. glibc relocates the pointer, musl does
 * not. */
static const char *find_strings(const struct sonde__image *image, const ElfW(Dyn) * dynamic,
                                uint64_t *ret_size)
{
    uint64_t at = 0, size = 0;
    for (unsigned i = 0; i < ENTRIES_MAX && dynamic[i].d_tag != DT_NULL; i++) {
        if (dynamic[i].d_tag == DT_STRTAB) {
            at = dynamic[i].d_un.d_ptr;
        } else if (dynamic[i].d_tag == DT_STRSZ) {
            size = dynamic[i].d_un.d_val;
        }
    }
    at = at < image->start ? at + image->bias : at;
    if (at < image->start || at >= image->end || image->end - at < size) {
        return NULL;
    }
    *ret_size = size;
    return (const char *)(uintptr_t)at;
}

/* Find string number `index` with this tag in the dynamic section; null: none. */
static const char *find_string(const struct self_snapshot *snapshot, uint32_t image, int64_t tag,
                               uint32_t index)
{
    const ElfW(Dyn) *dynamic = snapshot->dynamics[image];
    uint64_t size = 0;
    const char *strings =
        dynamic != NULL ? find_strings(&snapshot->images[image], dynamic, &size) : NULL;
    for (unsigned i = 0; strings != NULL && i < ENTRIES_MAX && dynamic[i].d_tag != DT_NULL; i++) {
        if (dynamic[i].d_tag == tag && index-- == 0) {
            return dynamic[i].d_un.d_val < size ? strings + dynamic[i].d_un.d_val : NULL;
        }
    }
    return NULL;
}

static bool is_equal(const char *a, const char *b)
{
    size_t size = sonde__base_str_length(a);
    return size == sonde__base_str_length(b) && sonde__base_mem_compare(a, b, size) == 0;
}

static bool is_named(const struct self_snapshot *snapshot, uint32_t image, const char *name)
{
    const char *soname = find_string(snapshot, image, DT_SONAME, 0);
    return (soname != NULL && is_equal(soname, name)) ||
           is_equal(sonde__base_file_name(snapshot->images[image].path),
                    sonde__base_file_name(name));
}

static bool mark_needed_by(struct self_snapshot *snapshot, uint32_t image)
{
    bool is_new = false;
    const char *name;
    for (uint32_t i = 0; (name = find_string(snapshot, image, DT_NEEDED, i)) != NULL; i++) {
        for (uint32_t j = 0; j < snapshot->set.image_count; j++) {
            if (is_named(snapshot, j, name)) {
                is_new |= !snapshot->images[j].is_permanent;
                snapshot->images[j].is_permanent = true;
                break;
            }
        }
    }
    return is_new;
}

static void copy_marks(struct self_snapshot *snapshot, const struct self_snapshot *previous)
{
    for (uint32_t i = 0; i < previous->set.image_count; i++) {
        for (uint32_t j = 0; j < snapshot->set.image_count; j++) {
            if (previous->images[i].start == snapshot->images[j].start) {
                snapshot->images[j].is_permanent = previous->images[i].is_permanent;
                break;
            }
        }
    }
}

void self_snapshot_mark_needed(struct self_snapshot *snapshot, const struct self_snapshot *previous)
{
    if (previous != NULL) {
        copy_marks(snapshot, previous);
        return;
    }
    for (uint32_t i = 0; i < snapshot->set.image_count; i++) {
        snapshot->images[i].is_permanent =
            (snapshot->images[i].flags & (SONDE__IMAGE_MAIN | SONDE__IMAGE_VDSO)) != 0;
    }
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = 0; i < snapshot->set.image_count; i++) {
            if (snapshot->images[i].is_permanent) {
                is_new |= mark_needed_by(snapshot, i);
            }
        }
    }
}
