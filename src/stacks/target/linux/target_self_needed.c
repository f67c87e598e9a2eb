// SPDX-License-Identifier: Apache-2.0
/* What images need by name, from their dynamic sections. Sources: gABI 4.1 chapter 5, Dynamic
 * Section. */
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

const char *self_needed_name(const struct self_snapshot *snapshot, uint32_t image, uint32_t index)
{
    return find_string(snapshot, image, DT_NEEDED, index);
}

bool self_image_is_named(const struct self_snapshot *snapshot, uint32_t image, const char *name)
{
    const char *soname = find_string(snapshot, image, DT_SONAME, 0);
    const char *file = sonde__base_file_name(snapshot->images[image].path);
    return (soname != NULL && sonde__base_str_compare(soname, name) == 0) ||
           sonde__base_str_compare(file, sonde__base_file_name(name)) == 0;
}
